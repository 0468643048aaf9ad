"""BibTeX that BibTeX can read: a strict parser of what `cite` prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

from transferbench import __version__, citing, datasets, experiments, models

#: Fields that BibTeX demands.
DEMANDED = {
    "inproceedings": {"author", "title", "booktitle", "year"},
    "article": {"author", "title", "journal", "year"},
    "misc": {"title"},
}
NOWHERE = Path("nowhere")


def parse(text: str) -> dict[str, dict[str, str]]:
    """Return the entries by key; fail for anything that is not plain BibTeX."""
    entries = {}
    for entry in text.split("\n\n"):
        head, *lines, end = entry.strip("\n").split("\n")
        kind, key = re.fullmatch(r"@(\w+)\{([a-z0-9-]+),", head).groups()
        assert end == "}"
        fields = {}
        for line in lines:
            name, value = re.fullmatch(r"  (\w+) = \{(.+)\},", line).groups()
            assert value.count("{") == value.count("}"), line
            plain = re.sub(r"\\url\{[^{}]*\}|\$\\\w+\$", "", value)
            assert not re.search(r"(?<!\\)[&%$#_]", plain), line
            assert name not in fields
            fields[name] = value
        assert DEMANDED[kind] <= fields.keys(), entry
        assert "author" in fields or "key" in fields  # else BibTeX cannot sort it
        assert key not in entries
        entries[key] = fields
    return entries


def test_every_experiment_dataset_and_model_has_valid_entries():
    names = [*experiments.names(), *experiments.papers(), *datasets.modules(), *models.registry()]
    for name in names:
        entries = parse(citing.bibtex(name, NOWHERE))
        assert list(entries)[-1] == "transferbench", name


OF_A_TABLE = [
    "long2012transfer", "data-newsgroups-bydate", "data-newsgroups-19997", "data-reuters",
    "data-zhuang", "transferbench",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("", ["transferbench"]),
        ("gtl-table3", OF_A_TABLE),
        ("cocc", ["dai2007coclustering", "transferbench"]),
        ("arrls", ["long2014adaptation", "transferbench"]),
        ("cd-plsa", ["zhuang2010collaborative", "transferbench"]),
        ("comp-vs-rec", ["data-newsgroups", "transferbench"]),
        ("rcv1", ["lewis2004rcv1", "data-rcv1", "transferbench"]),
        ("lr", ["transferbench"]),
    ],
)
def test_models_tasks_and_datasets(call, name, keys):
    assert list(parse(call("cite", *name.split())[1])) == keys


def test_a_number_has_an_identity_that_follows_its_runs(call, tmp_path):
    results = str(ROOT / "results")
    where = ("gtl-unit-length", "comp vs rec", "GCMF")
    code, out, err = call("--results", results, "cite", *where)
    assert code == 0, err
    (key, number), *others = parse(out).items()
    explained = call("--results", results, "explain", *where)[1]
    identity = re.search(r"(?m)^ +number +(\S+)$", explained)[1]
    page, digest = identity.split("@")
    assert page == "gtl-unit-length#comp-vs-rec/GCMF"
    assert digest
    assert identity.replace("#", r"\#") in number["note"]
    assert call("--results", results, "cite", identity)[1] == out
    assert f"has other runs now: {identity}" in call("--results", results, "cite", f"{page}@0")[2]
    assert call("--results", results, "explain", identity)[1] == explained
    other = identity.replace("comp-vs-rec", "comp-vs-rek")
    assert (
        "Did you mean 'gtl-unit-length#comp-vs-rec" in call("--results", results, "cite", other)[2]
    )
    assert number["version"] == __version__
    assert [name for name, _ in others][-1] == "transferbench"
    folder = tmp_path / "gtl-unit-length"
    folder.mkdir()
    lines = (ROOT / "results" / "gtl-unit-length" / "runs.jsonl").read_text("utf-8")
    for field, value, is_same in (("seconds", 1.5, True), ("data", "0" * 16, False)):
        changed = [json.loads(line) | {field: value} for line in lines.splitlines()]
        (folder / "runs.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in changed))
        again = call("--results", str(tmp_path), "cite", *where)[1]
        assert again.startswith(f"@misc{{{key},") == is_same, field


def test_a_number_needs_a_row_and_a_column(call):
    code, out, err = call("cite", "gtl-unit-length", "comp vs rec")
    assert (code, out) == (2, "")
    assert "name both" in err
