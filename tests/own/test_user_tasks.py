"""Tasks described by a YAML file."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml
from user_documents import CAT, SEA, SOURCE, TARGET, refused, write_csv, write_documents

import transferbench
from transferbench import tasks
from transferbench.own.problem import documents_problem


@pytest.fixture
def mine(tmp_path):
    """A YAML file and its data in the same folder."""
    write_documents(tmp_path / "s.csv")
    write_documents(tmp_path / "t.csv", TARGET)
    path = tmp_path / "mine.yaml"
    path.write_text("source: s.csv\ntargets: [t.csv]\noptions:\n  min_df: 1\n")
    return path


def load(name, home):
    return tasks.load(tasks.Task.parse(f"{name}"), home)


def test_a_yaml_path_is_a_task_name(mine, home, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(home.data))
    built, truth = transferbench.load_task(str(mine))
    assert built.name == f"own:path={mine.as_posix()}"
    assert tasks.Task.parse(built.name) == tasks.Task.parse(str(mine))
    expected, known = documents_problem([SOURCE], [TARGET], {"min_df": 1})
    for one, other in zip(built.domains, expected.domains, strict=True):
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(truth.Y[1], known.Y[1])
    monkeypatch.chdir(mine.parent)
    assert transferbench.load_task("./mine.yaml")[0].name == "own:path=mine.yaml"


def test_clustering_tasks_and_other_column_names(mine, home):
    write_csv(mine.parent / "u.csv", [(t, "b", "a") for t in CAT], ("id", "Thema", "Text"))
    write_csv(mine.parent / "v.csv", [("x", "c", "a") for t in CAT], ("id", "Thema", "Text"))
    text = "family: clustering\ntasks: [u.csv, v.csv]\ntext: id\nlabel: Thema\noptions: {min_df: 1}"
    mine.write_text(text + "\n")
    with refused("v.csv: no feature is left"):  # "x" is no word
        load(mine, home)
    write_csv(mine.parent / "v.csv", [(t, "c", "a") for t in SEA], ("id", "Thema", "Text"))
    built, truth = load(mine, home)
    assert (built.family, built.classes, truth.names) == ("clustering", ("b", "c"), ("u", "v"))


def test_several_files_are_one_domain_of_the_same_matrices(mine, home):
    """A list in the list, a text with commas, a folder and a pattern."""
    folder = mine.parent
    rows = list(zip(SOURCE.content, SOURCE.labels, strict=True))
    (folder / "old").mkdir()
    write_csv(folder / "old/a.csv", rows[:3])
    write_csv(folder / "old/b.csv", rows[3:])
    expected, _ = load(mine, home)
    files = "old/b.csv, old/a.csv"
    for source in (f"[[{files}]]", f"'{files}'", "old", "old/*.csv"):
        mine.write_text(f"source: {source}\ntargets: [t.csv]\noptions:\n  min_df: 1\n")
        built, truth = load(mine, home)
        assert truth.names == ("old" if source == "old" else "a", "t")
        for one, other in zip(built.domains, expected.domains, strict=True):
            np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())


@pytest.mark.parametrize("name", ["t.csv", "mine.yaml"])
def test_a_changed_file_changes_the_facts_of_which_a_run_is_known(mine, home, name):
    def key() -> str:
        return tasks.ensure_built(tasks.Task.parse(str(mine)), home).facts.key

    before, path = key(), mine.parent / name
    assert key() == before
    changed = path.read_text() + ("zebra zebra,cat\n" if name.endswith("csv") else "label: label\n")
    path.write_text(changed)
    assert key() != before


def test_sources_have_other_columns_and_another_encoding(mine, home):
    head, rows = ("v1", "v2"), zip(SOURCE.labels, SOURCE.content, strict=True)
    expected, _ = load(mine, home)
    write_csv(mine.parent / "s.csv", [*rows, ("cat", "Käse")], head)
    path = mine.parent / "s.csv"
    path.write_bytes(path.read_text("utf-8").encode("cp1252"))
    path.write_bytes(path.read_bytes().replace(b",", b"^"))
    keys = "source_text: v2\nsource_label: v1\nsource_encoding: cp1252\nsource_quoting: none\n"
    keys += "source_delimiter: ^\n"
    mine.write_text(f"{keys}source: s.csv\ntargets: [t.csv]\noptions:\n  min_df: 2\n")
    built, _ = load(mine, home)
    assert built.classes == expected.classes
    assert [len(domain.seen) for domain in built.domains] == [9, 3]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("source: s.csv\ntargets: t.csv\noptions:\n  quoting: none\n", 4, "beside options, not"),
        ("source: s.csv\ntargets: t.csv\nquoting: maybe\n", 3, "one of auto, minimal, none, got"),
        ("source: s.csv\ntarget: t.csv\n", 2, "Did you mean 'targets'?"),
        ("source: s.csv\ntargets:\n  - t.csv\n  - no.csv\n", 4, "no such file"),
        ("source: s.csv\ntargets:\n  - t.csv\n  - '*.tsv'\n", 4, "no file there"),
        ("source: [s.csv]\n", 1, "a task of transfer needs targets"),
        ("family: clustering\nsource: s.csv\ntasks: t.csv\n", 2, "of clustering has no source"),
        ("family: transfers\n", 1, "expected one of transfer, clustering, multilabel"),
        ("source: 5\n", 1, "expected list of text"),
        ("source: s.csv\ntargets: t.csv\noptions:\n  min_df: few\n", 4, "integer ≥ 1, got 'few'"),
        ("", 1, "expected family, source"),
    ],
)
def test_a_mistake_in_the_yaml_is_reported_with_its_line(mine, home, text, line, message):
    mine.write_text(text)
    with refused(f"^{mine}:{line}: .*{re.escape(message)}"):
        load(mine, home)


def test_other_mistakes_in_own_tasks(mine, home):
    with refused(f"options into {mine}, below the key options"):
        load(f"{mine}:min_df=3", home)
    with refused("cannot be read"):
        load(mine.parent / "no.yaml", home)
    write_csv(mine.parent / "t.csv", [("the cat", "")])
    with refused("t.csv: no document has a label; nothing can be scored"):
        load(mine, home)
    mine.write_bytes(b"\xff\xfe")
    with refused("cannot be read"):
        load(mine, home)


def test_the_example_in_the_documentation_works(mine, home):
    """Build the example in the module's docstring, with files of the same names."""
    from transferbench.own import tasks as user

    example = re.search(r"\n\n((?:    .*\n)+)", user.__doc__)[1]
    data = yaml.safe_load(example)
    rows = list(zip(SOURCE.content, SOURCE.labels, strict=True))
    for i, name in enumerate([data["source"], *data["targets"]]):
        write_csv(mine.parent / name, rows[i:], (data["text"], data["label"]))
    mine.write_text("\n".join(line[4:] for line in example.splitlines()))
    built, _ = load(mine, home)
    assert [domain.name for domain in built.domains] == ["labelled", "mail", "web"]
