"""Runs made again with changes that should not matter: moves, marks, pages, resumption."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from conftest import reproduce

from transferbench import fragility
from transferbench.runs import runner, worker

EXPERIMENT = """
title: Plain clusters
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
unit: percent
repeats: 3
rows:
  made up: {task: "generated/clusters:documents=200"}
  first: {task: "generated/clusters:documents=200", domain: task-1, metric: nmi}
  cost: {task: "generated/clusters:documents=200", metric: seconds}
columns:
  k-means: {model: kmeans, params: {n_init: 1, pool_tasks: false, max_iter: 100}}
  cut: {model: ncut, params: {p: 10, pool_tasks: false, search: auto}}
published:
  made up: {k-means: 60.0}
tolerance: {value: 5.0, reason: made up}
"""


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    return reproduce(tmp_path_factory.mktemp("plain"), EXPERIMENT)


@pytest.fixture
def folder(reproduced, home) -> Path:
    """The results of an experiment of one's own that has been run."""
    shutil.copytree(reproduced / "data", home.data)
    shutil.copytree(reproduced / "results", home.results)
    return home.results / "plain"


def lines(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "fragility.csv").open(newline="")))


def set_value(folder: Path, by: float, *, moved: bool) -> None:
    """Add to the first value of fragility.csv and, if asked for, to its move."""
    found = lines(folder)
    first = found[0]
    first["value"] = f"{float(first['committed']) + by:.6g}"
    if moved:
        first["moved"] = f"{by:.6g}"
    with (folder / "fragility.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, first, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def test_each_cell_has_a_line_for_each_change(call, folder):
    code, out, err = call("fragility", "plain")
    assert code == 0, err
    assert str(folder / "fragility.md") in out
    found = {(each["row"], each["column"], each["change"].split()[0]) for each in lines(folder)}
    assert found == {
        (row, column, change)
        for row in ("made up", "first")  # costs are left out
        for column in ("k-means", "cut")
        for change in ("order", "threads", "libraries")  # neither model has a dtype
    }
    for each in lines(folder):
        moved = float(each["value"]) - float(each["committed"])
        assert float(each["moved"]) == pytest.approx(moved, abs=1e-3)
        if not each["change"].startswith("order"):
            assert moved == 0
    committed = list(csv.DictReader((folder / "runs.csv").open(newline="")))
    first = {
        (each["column"], each["domain"]): 100 * float(each["nmi"])
        for each in committed
        if each["seed"] in ("", "0")
    }
    for each in lines(folder):
        if each["row"] == "first":
            assert float(each["committed"]) == pytest.approx(first[each["column"], "task-1"], 1e-5)
    assert call("tables", "plain", "--check")[0] == 0


def test_the_changes_are_made(call, folder, home):
    call("fragility", "plain")
    records = [
        json.loads(path.read_text())
        for path in home.results.glob("records/*/records/*/*.json")
        if json.loads(path.read_text())["model"] == "kmeans"
    ]
    found = {
        (r["task"].partition(",")[2] or r["task"][-5:], r["limits"]["threads"]) for r in records
    }
    assert found == {("s=200", 1), ("s=200", 2), ("order=1", 1), ("order=2", 1)}
    assert {record["seed"] for record in records} == {0}


def test_the_other_precision_is_used_where_there_is_one():
    for dtype, other in (("float32", "float64"), ("float64", "float32")):
        (run,) = runner.plan("comp-vs-rec", "gcmf", {"dtype": dtype}, [0])
        ((name, changed),) = fragility.changes(run, ["dtype"])
        assert (name, changed.params) == ("dtype", {**run.params, "dtype": other})
    (run,) = runner.plan("comp-vs-rec", "lr", {}, [0])
    assert list(fragility.changes(run, ["dtype"])) == []


def test_an_order_of_the_task_itself_is_changed_further():
    (run,) = runner.plan("comp-vs-rec:order=3", "lr", {}, [0])
    assert [changed.task.partition(":")[2] for _, changed in fragility.changes(run, ["order"])] == [
        "order=4",
        "order=5",
    ]


def test_a_cell_that_moves_by_more_than_its_tolerance_is_marked(call, folder):
    call("fragility", "plain", "--only", "threads")
    assert "~" not in (folder / "table.md").read_text()
    assert "None." in (folder / "fragility.md").read_text()
    set_value(folder, -5.5, moved=True)
    assert call("tables", "plain")[0] == 0
    table = (folder / "table.md").read_text()
    assert [line.count(" ~ |") for line in table.splitlines() if line.startswith("| made")] == [1]
    assert "see [fragility.md](fragility.md)" in table
    page = (folder / "fragility.md").read_text()
    assert "made up, k-means: threads −5.50" in page
    assert "| k-means | −5.50 |" in page
    assert "threads -5.5" in call("explain", "plain", "made up", "k-means")[1]


def test_an_edited_file_is_outdated(call, folder):
    call("fragility", "plain", "--only", "threads")
    set_value(folder, 1.0, moved=False)
    code, _, err = call("tables", "plain", "--check")
    assert code == 1
    assert "fragility.csv" in err
    assert "fragility.md" in err
    (folder / "fragility.csv").write_text("row,column\n")
    code, _, err = call("tables", "plain", "--check")
    assert code == 2
    assert "delete it, then run `fragility` again" in err


def test_moves_of_a_run_that_has_been_replaced_are_left_out(call, folder):
    call("fragility", "plain", "--only", "threads")
    text = (folder / "fragility.csv").read_text()
    before = lines(folder)[0]["committed"]
    (folder / "fragility.csv").write_text(text.replace(f",{before},", ",1.5,", 1))
    call("tables", "plain")
    assert "| k-means | 0 (1 of 2) |" in (folder / "fragility.md").read_text()


def test_other_libraries_add_their_lines(call, folder, monkeypatch):
    call("fragility", "plain", "--only", "libraries", "--only", "threads")
    before = lines(folder)
    monkeypatch.setattr(worker, "versions", lambda: {"transferbench": "0", "numpy": "2.1.0"})
    call("fragility", "plain", "--only", "libraries")
    after = lines(folder)
    assert [each for each in after if each in before] == before
    added = [each for each in after if each not in before]
    assert {each["change"].partition(", ")[2] for each in added} == {"numpy 2.1.0"}
    assert len(added) == 4
    call("fragility", "plain", "--only", "libraries")
    assert lines(folder) == after


def test_an_interrupted_command_is_resumed(call, folder, monkeypatch):
    perform, calls = runner.run, []

    def once(runs, settings, **options):
        calls.append(len(runs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return perform(runs, settings, **options)

    monkeypatch.setattr(runner, "run", once)
    assert call("fragility", "plain", "--only", "order")[0] == 130
    assert {each["change"] for each in lines(folder)} == {"order 1"}
    records = {path: path.stat().st_mtime_ns for path in folder.parent.rglob("order 1/**/*.json")}
    assert len(records) == 2
    assert call("fragility", "plain", "--only", "order")[0] == 0
    assert {each["change"] for each in lines(folder)} == {"order 1", "order 2"}
    assert records == {path: path.stat().st_mtime_ns for path in records}


def test_slow_runs_are_left_out_and_a_figure_is_refused(call, folder, monkeypatch):
    monkeypatch.setattr(fragility, "MAX_SECONDS", 1e-9)
    assert call("fragility", "plain")[0] == 0
    assert not (folder / "fragility.csv").exists()
    code, _, err = call("fragility", "gtl-figure2a")
    assert (code, err.count("\n")) == (2, 1)
    assert "is a figure" in err
