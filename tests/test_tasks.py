"""Building, checking, caching and loading of tasks, on a made-up dataset."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from full_disk import full_disk

from transferbench import datasets, plugins, tasks
from transferbench.data.facts import Facts
from transferbench.errors import UserError
from transferbench.terms import TERMS

DATASET = """
    import numpy as np
    from conftest import make_problem
    from transferbench.parameters import Count
    FILES = {}
    TASKS = {"own/small": "made up"}
    FACTS = {"own/small": {"features": [60]}}
    BUILT = []
    def build(task, files, *, documents: Count = 40):
        BUILT.append(documents)
        return make_problem(documents=documents)
"""


@pytest.fixture
def own(plugin, monkeypatch):
    site = plugin({"own.py": DATASET}, "[transferbench.datasets]\nown = plugged.own\n")
    monkeypatch.syspath_prepend(str(site))
    for name in [name for name in sys.modules if name.startswith("plugged")]:
        monkeypatch.delitem(sys.modules, name)
    plugins.points.cache_clear()
    datasets.of_plugins.cache_clear()
    return datasets.module("own/small")


def same(one, two) -> bool:
    """True if two built tasks have the same arrays."""

    def arrays(problem, truth):
        views = [sp.csr_array(v).toarray() for d in problem.domains for v in d.views]
        labels = [x for d in problem.domains for x in (d.Y, d.seen)]
        return [*views, *labels, *truth.Y, *truth.scored]

    pairs = zip(arrays(*one), arrays(*two), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("dense", [False, True])
def test_a_written_task_is_read_unchanged(tmp_path, dense):
    built = make_problem(targets=2, dense=dense)
    tasks.write(tmp_path / "task.npz", *built)
    problem, truth = tasks.read(tmp_path / "task.npz")
    assert same(built, (problem, truth))
    assert sp.issparse(problem.domains[0].X) is not dense
    assert problem.classes == built[0].classes
    assert truth.names == built[1].names
    assert (
        Facts.from_problem(problem, truth)
        == Facts.from_problem(*built)
        == tasks.read_facts(tmp_path / "task.npz")
    )


def test_a_task_is_built_once(own, home):
    task = tasks.Task.parse("own/small")
    first = tasks.load(task, home)
    assert same(first, tasks.load(task, home))
    assert own.BUILT == [40]


def test_facts_are_read_without_the_matrices(own, home, monkeypatch):
    task = tasks.Task.parse("own/small")
    facts = tasks.ensure_built(task, home).facts  # builds the task
    assert own.BUILT == [40]
    assert facts == Facts.from_problem(*tasks.load(task, home))
    assert facts.family == "transfer"
    monkeypatch.setattr(tasks, "read", None)
    assert tasks.ensure_built(task, home).facts == facts
    assert own.BUILT == [40]


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize(
    ("reader", "damage"),
    [
        (tasks.load, lambda content: flipped(content, len(content) // 2)),
        (tasks.load, lambda content: b""),
        (tasks.ensure_built, lambda content: content[:-200]),
        (tasks.ensure_built, lambda content: flipped(content, 200)),  # in the header
    ],
)
def test_a_damaged_cache_is_rebuilt(own, home, reader, damage):
    task = tasks.Task.parse("own/small")
    first = tasks.load(task, home)
    path = task.built_path(home)
    path.write_bytes(damage(path.read_bytes()))
    reader(task, home)
    assert own.BUILT == [40, 40]
    assert same(first, tasks.load(task, home))
    assert own.BUILT == [40, 40]


def test_options_change_the_task_and_defaults_do_not(own, home):
    other = tasks.Task.parse("own/small:documents=50")
    assert str(other) == "own/small:documents=50"
    assert len(tasks.load(other, home)[0].domains[0].seen) == 50
    assert tasks.load(other, home)[0].name == str(other)
    plain, given = tasks.Task.parse("own/small"), tasks.Task.parse("own/small:documents=40")
    assert given == plain
    assert plain.built_path(home) == given.built_path(home)
    assert plain.built_path(home) != other.built_path(home)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"features": [61], "nonzeros": 1, "classes": ["a"]},
            "own/small was not built as expected: features is [60], expected [61]; nonzeros is ",
        ),
        ({"features": [61]}, 'facts. This build has "own/small": {"classes": ['),
        ({"feature": [60]}, "unknown fact of own/small: 'feature'. Did you mean 'features'?"),
    ],
)
def test_a_task_with_wrong_facts_is_not_cached(own, home, monkeypatch, facts, message):
    monkeypatch.setitem(own.FACTS, "own/small", facts)
    task = tasks.Task.parse("own/small")
    with pytest.raises(UserError) as error:
        tasks.load(task, home)
    assert message in str(error.value)
    assert not task.built_path(home).exists()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda *_, **__: {}["label"], "KeyError: 'label' (tests/test_tasks.py:"),
        (lambda *_, **__: None, "TypeError: cannot unpack"),
        (lambda *_, **__: (1, 2), "AttributeError: "),
        (lambda *_, **__: int("x"), "ValueError: invalid literal for int()"),
    ],
)
def test_a_mistake_in_the_code_of_another_package_names_the_dataset(
    own, home, monkeypatch, build, message
):
    monkeypatch.chdir(Path(__file__).parent.parent)
    monkeypatch.setattr(own, "build", build)
    with pytest.raises(UserError) as error:
        tasks.load(tasks.Task("own/small"), home)
    start = f"dataset own cannot build own/small: {message}"
    assert str(error.value).startswith(start)
    assert str(error.value).endswith("; correct its module or its files.")


@pytest.mark.parametrize(
    ("declared", "terms"),
    [
        (None, {"unknown"}),
        ({}, {"unknown"}),
        ({"terms": []}, set()),
        ({"terms": ["attribution"]}, {"attribution"}),
    ],
)
@pytest.mark.parametrize("borrowed", [False, True])
def test_terms_are_those_of_the_dataset_and_of_each_that_declares_its_files(
    own, home, monkeypatch, declared, terms, borrowed
):
    if declared is not None:
        content = {"tasks": own.TASKS, **declared}
        Path(own.__file__).with_suffix(".json").write_text(json.dumps(content))
        datasets.of_plugins.cache_clear()
    if borrowed:
        pages = datasets.of_task("mtc/webkb4")
        monkeypatch.setattr(own, "FILES", datasets.module("mtc/webkb4").FILES)
        terms = terms | {*pages.terms}
        assert pages.terms
    task = tasks.Task.parse("own/small")
    assert {*tasks.terms_of(task)} == terms
    for term in TERMS:
        why = tasks.left_out(task, replace(home, without_terms=(term,)))
        assert bool(why) == (term in terms)


def test_wrong_facts_of_our_own_dataset_are_no_mistake_of_the_user(home, monkeypatch):
    monkeypatch.setattr("transferbench.datasets.facts", lambda task: {"features": [1]})
    with pytest.raises(ValueError, match="features is") as error:
        tasks.load(tasks.Task.parse("generated/small"), home)
    assert not isinstance(error.value, UserError)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("comp-vs-rek", "unknown task 'comp-vs-rek'. Did you mean 'comp-vs-rec'?"),
        ("dtl/comp-vs-rec", "Did you mean 'dtl/comp-vs-rec-19997'?"),
        ("comp-vs-rec:min_fd=3", "Did you mean 'min_df'?"),
        ("comp-vs-rec:min_df=few", "expected integer"),
        ("comp-vs-rec:min_df", "NAME=VALUE"),
    ],
)
def test_a_bad_name_is_a_user_error(name, message):
    with pytest.raises(UserError) as error:
        tasks.Task.parse(name)
    assert message in str(error.value)


def test_a_full_disk_is_a_user_error_and_leaves_nothing(own, home):
    task = tasks.Task.parse("own/small")
    with full_disk(2000), pytest.raises(UserError, match="cannot write"):
        tasks.load(task, home)
    assert [path for path in home.data.rglob("*") if path.is_file()] == []


def test_a_text_option_that_looks_like_several_is_refused():
    with pytest.raises(UserError, match="path = '/a,tasks=2' looks like several options"):
        tasks.Task.parse("multilabel/own", path="/a,tasks=2")


def rows_of(problem, truth) -> list[list[list[float]]]:
    """Everything that belongs to each document, by domain."""
    rows = []
    for domain, Y, scored in zip(problem.domains, truth.Y, truth.scored, strict=True):
        views = [sp.csr_array(view).toarray() for view in domain.views]
        columns = [domain.seen[:, None], scored[:, None]]
        rows.append(np.hstack([*views, domain.Y, Y, *columns]).tolist())
    return rows


def test_an_order_permutes_the_documents_with_all_that_belongs_to_them(own, home):
    built = rows_of(*tasks.load(tasks.Task.parse("own/small"), home))
    orders = [rows_of(*tasks.load(tasks.Task.parse("own/small", order=n), home)) for n in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    for permuted in orders:
        for before, after in zip(built, permuted, strict=True):
            assert before != after
            assert sorted(before) == sorted(after)
    assert len(list((home.data / "built").rglob("*.task"))) == 1


def test_an_order_is_an_option_of_every_task(own):
    named = tasks.Task.parse
    assert named("own/small", order=0) == named("own/small") == named("own/small:order=0")
    assert str(named("own/small:order=2")) == "own/small:order=2"
    assert str(named("own/small:order=2,documents=50")) == "own/small:documents=50,order=2"
    assert named("own/small:order=2").options == named("own/small").options
    for wrong in ("-1", "one", "true"):
        with pytest.raises(UserError, match="order: expected integer"):
            named(f"own/small:order={wrong}")


def test_a_file_under_the_name_of_another_task_is_built_again(own, home):
    """As by a copy, rsync or a restored backup; also of the same facts."""
    named = [tasks.Task.parse(f"own/small:{options}") for options in
             ("documents=40", "documents=50", "labelled=8", "labelled=8,draw=1")]  # fmt: skip
    right = [tasks.load(task, home) for task in named]
    paths = [task.built_path(home) for task in named]
    contents = [path.read_bytes() for path in paths]
    for task, path, expected in zip(named, paths, right, strict=True):
        for content in contents:
            path.write_bytes(content)
            assert same(tasks.load(task, home), expected)
            assert path.read_bytes() in contents
    paths[0].rename(paths[1])
    assert same(tasks.load(named[1], home), right[1])
    assert same(tasks.load(named[0], home), right[0])


def test_a_task_of_other_files_of_the_user_is_built_again(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    for name in ("one", "two"):
        rows = [f"{name} word{n % 3} word{n % 5},{'ab'[n % 2]}" for n in range(20)]
        Path(f"{name}.csv").write_text("\n".join(["text,label", *rows]))
        Path(f"{name}.yaml").write_text(f"source: {name}.csv\ntargets: [{name}2.csv]\n")
        Path(f"{name}2.csv").write_text("\n".join(["text,label", *rows[5:]]))
        task = tasks.Task.parse(f"{name}.yaml")
        found[name] = task.built_path(home), task, tasks.load(task, home)
    found["one"][0].write_bytes(found["two"][0].read_bytes())
    assert same(tasks.load(found["one"][1], home), found["one"][2])


def test_a_link_in_place_of_a_task_is_replaced_and_its_target_stays(own, home, tmp_path):
    task = tasks.Task.parse("own/small")
    expected, path = tasks.load(task, home), task.built_path(home)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path.unlink()
    path.symlink_to(victim)
    assert same(tasks.load(task, home), expected)
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    # A link that leads to the right task is used, as is a folder on another disk.
    path.rename(tmp_path / "task")
    path.symlink_to(tmp_path / "task")
    (home.data / "built").rename(tmp_path / "disk")
    (home.data / "built").symlink_to(tmp_path / "disk")
    assert same(tasks.load(task, home), expected)
    assert own.BUILT == [40, 40]
    assert path.is_symlink()
    path.unlink()
    assert same(tasks.load(task, home), expected)
    assert (tmp_path / "disk" / "own" / path.name).is_file()


def test_a_builder_that_cannot_be_traced_builds_once_in_each_process(own, home, monkeypatch):
    monkeypatch.setattr(tasks, "untraced", lambda path: "imports by a computed name")
    task = tasks.Task.parse("own/small")
    for _ in range(2):
        tasks.load(task, home)
    assert own.BUILT == [40]
    tasks._built_here.clear()  # another process
    for _ in range(2):
        tasks.load(task, home)
    assert own.BUILT == [40, 40]
