"""Building, checking and caching of tasks, on a made-up dataset."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

from transferbench.data import tasks
from transferbench.errors import UserError

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
    from transferbench.data import datasets

    datasets.modules.cache_clear()
    datasets.tasks.cache_clear()
    return datasets.tasks()["own/small"]


def same(one, two) -> bool:
    def arrays(problem, truth):
        views = [sp.csr_array(v).toarray() for d in problem.domains for v in d.views]
        marks = [x for d in problem.domains for x in (d.Y, d.seen)]
        return [*views, *marks, *truth.Y, *truth.scored]

    pairs = zip(arrays(*one), arrays(*two), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("dense", [False, True])
def test_what_is_written_is_read(tmp_path, dense):
    built = make_problem(targets=2, dense=dense)
    tasks.write(tmp_path / "task.npz", *built)
    problem, truth = tasks.read(tmp_path / "task.npz")
    assert same(built, (problem, truth))
    assert sp.issparse(problem.domains[0].X) is not dense
    assert problem.classes == built[0].classes
    assert truth.names == built[1].names
    assert tasks.facts(problem, truth) == tasks.facts(*built)


def test_places_come_back_in_32_bits(tmp_path):
    problem, truth = make_problem()
    X = problem.domains[0].X
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    tasks.write(tmp_path / "task", problem, truth)
    read = tasks.read(tmp_path / "task")[0].domains[0].X
    assert (read.indices.dtype, read.indptr.dtype) == (np.int32, np.int32)
    assert (read != X).nnz == 0


def test_built_once_then_loaded(own, home):
    task = tasks.Task.named("own/small")
    first = tasks.load(task, home)
    assert same(first, tasks.load(task, home))
    assert own.BUILT == [40]


@pytest.mark.parametrize("damage", ["cut", "flip", "header", "empty", "text"])
def test_a_damaged_cache_is_rebuilt(own, home, damage):
    task = tasks.Task.named("own/small")
    first = tasks.load(task, home)
    path = task.cache(home)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    header = bytearray(path.read_bytes())
    header[200] ^= 1
    damaged = {
        "header": header,
        "cut": content[:-200],
        "flip": content,
        "empty": b"",
        "text": b"no archive",
    }
    path.write_bytes(damaged[damage])
    assert same(first, tasks.load(task, home))
    assert own.BUILT == [40, 40]
    assert same(first, tasks.load(task, home))
    assert own.BUILT == [40, 40]


def test_options_make_another_task_and_defaults_the_same(own, home):
    other = tasks.Task.named("own/small:documents=50")
    assert other.name == "own/small:documents=50"
    assert len(tasks.load(other, home)[0].domains[0].seen) == 50
    assert tasks.load(other, home)[0].name == other.name
    plain, given = tasks.Task.named("own/small"), tasks.Task.named("own/small:documents=40")
    assert plain.cache(home) == given.cache(home)
    assert plain.cache(home) != other.cache(home)


def test_options_that_are_the_defaults_name_the_same_task(own):
    assert tasks.Task.named("own/small:documents=40").name == "own/small"
    assert tasks.Task.named("own/small", documents=50).name == "own/small:documents=50"
    text = "comp-vs-rec:token_pattern=[a-z]{3,},min_df=7"
    assert tasks.Task.named(text).options["token_pattern"] == "[a-z]{3,}"
    assert tasks.Task.named(text).options["min_df"] == 7


def test_options_that_cannot_be_built_are_the_users(real):
    with pytest.raises(UserError, match="try other options"):
        tasks.load(tasks.Task.named("gtl/comp-vs-rec:token_pattern=("), real)


def test_facts_that_do_not_hold_stop_the_build_and_nothing_is_cached(own, home, monkeypatch):
    monkeypatch.setitem(own.FACTS, "own/small", {"features": [61]})
    task = tasks.Task.named("own/small")
    with pytest.raises(ValueError, match=r"features is \[60\], expected \[61\]"):
        tasks.load(task, home)
    assert not task.cache(home).exists()


def test_facts_see_a_moved_entry_a_changed_label_and_a_changed_weight():
    problem, truth = make_problem()
    before = tasks.facts(problem, truth)
    X = problem.domains[0].X
    kept = X.indices.copy()
    X.indices[:] = (X.indices + 1) % 60
    assert tasks.facts(problem, truth)["digest"] != before["digest"]
    X.indices[:] = kept
    truth.Y[1][0] = truth.Y[1][0][::-1]
    assert tasks.facts(problem, truth)["digest"] != before["digest"]
    truth.Y[1][0] = truth.Y[1][0][::-1]
    X.data *= 1.01
    assert tasks.facts(problem, truth)["weight"] != before["weight"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("comp-vs-rek", "unknown task 'comp-vs-rek'. Did you mean 'comp-vs-rec'?"),
        ("gtl/comp-vs-rek", "Did you mean 'gtl/comp-vs-rec'?"),
        ("comp-vs-rec:min_fd=3", "Did you mean 'min_df'?"),
        ("comp-vs-rec:min_df=few", "expected integer"),
        ("comp-vs-rec:weighting=bm25", "one of tf, log-tf, tf-idf"),
        ("comp-vs-rec:min_df", "NAME=VALUE"),
    ],
)
def test_names_are_checked(name, message):
    with pytest.raises(UserError) as error:
        tasks.Task.named(name)
    assert message in str(error.value)


def test_a_bare_name_is_the_first_papers():
    assert tasks.Task.named("comp-vs-rec").name == "gtl/comp-vs-rec"
    assert tasks.Task.named("sci-vs-comp").name == "mrtl/sci-vs-comp"


def test_a_full_disk_is_one_line_and_leaves_nothing(own, home):
    """A file-size limit stands for a disk that fills up in the middle of a write."""
    import resource
    import signal

    task = tasks.Task.named("own/small")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, old[1]))
    try:
        with pytest.raises(UserError, match="cannot write"):
            tasks.load(task, home)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert [path for path in home.data.rglob("*") if path.is_file()] == []
