"""The fields of a record that the worker fills in; artefacts that runs share."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_multilabel, make_problem

from transferbench import artefacts, models, parameters, tasks
from transferbench.artefacts import Folder
from transferbench.core import graph
from transferbench.data.facts import Facts
from transferbench.problem import Truth
from transferbench.runs import worker
from transferbench.runs.record import Job, Record, Run
from transferbench.tasks import BuiltTask, Task


@pytest.fixture
def perform(home, monkeypatch):
    """Function that performs a run of GCMF on a small problem: (folder, truth) → record."""
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    problem, right = make_problem()
    run = Run(Task("own/small"), "gcmf", {"k": 4, "p": 3, "max_iter": 3}, 0)
    home.data.mkdir()

    def of(folder: Folder | None, truth: Truth = right, **params):
        tasks.write(path := home.data / "small.task", problem, truth)
        built = BuiltTask(path, Facts.from_problem(problem, right))
        changed = replace(run, params=run.params | params)
        record = Record.from_line(
            worker.run_job(Job(changed, built, artefacts=folder), lambda line: None)
        )
        assert record.done, record.traceback
        return record

    return of


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "artefacts").mkdir()
    return Folder(tmp_path / "artefacts", 2**20)


def result(record):
    return record.metrics, record.objective


def test_artefacts_change_no_result(perform, folder, monkeypatch):
    plain = perform(None)
    assert plain.reused_seconds == 0
    made = perform(folder)
    files = sorted(folder.path.iterdir())
    # Two feature graphs, the graph of the target's documents and a regression.
    assert [path.name.partition("-")[0] for path in files] == ["_train", *["cosine_graph"] * 3]
    reusing = perform(folder)
    assert result(made) == result(reusing) == result(plain)
    assert made.reused_seconds == 0
    assert 0 < reusing.reused_seconds <= reusing.seconds
    for path in files:
        path.write_bytes(path.read_bytes()[:-1])
    damaged = perform(folder)
    assert damaged.reused_seconds == 0
    assert perform(folder).reused_seconds > 0
    monkeypatch.setattr(os, "fsync", _full_disk)
    for path in files:
        path.unlink()
    unwritten = perform(folder)
    assert not list(folder.path.iterdir())
    assert result(damaged) == result(unwritten) == result(plain)


def test_the_time_to_find_artefacts_is_none_of_the_model(perform, folder, monkeypatch):
    key, clock, late = artefacts._Cache._key, time.perf_counter, [0.0]

    def slow_key(*args):
        late[0] += 1000
        return key(*args)

    monkeypatch.setattr(time, "perf_counter", lambda: clock() + late[0])
    monkeypatch.setattr(artefacts._Cache, "_key", slow_key)
    for reused in (False, True):
        record = perform(folder)
        assert record.seconds < 1000 <= late[0]
        assert (record.reused_seconds > 0) == reused


def _full_disk(handle):
    raise OSError(28, "No space left on device")


def test_runs_with_other_parameters_share_what_does_not_depend_on_them(perform, folder):
    perform(folder)
    before = sorted(folder.path.iterdir())
    assert perform(folder, k=5, lam=7.0).reused_seconds > 0
    assert sorted(folder.path.iterdir()) == before
    perform(folder, p=4)
    assert len(list(folder.path.iterdir())) == len(before) + 3


def test_hidden_labels_have_no_part_in_artefacts(perform, folder):
    first = perform(folder)
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    right = make_problem()[1]
    wrong = replace(right, Y=tuple(1 - Y for Y in right.Y))
    second = perform(folder, wrong)
    assert second.metrics != first.metrics
    assert second.objective == first.objective
    assert before == {path.name: path.read_bytes() for path in folder.path.iterdir()}


def test_the_recall_of_an_approximate_graph_reaches_the_record(tmp_path, monkeypatch):
    problem, truth = make_problem()
    tasks.write(tmp_path / "t", problem, truth)
    built = BuiltTask(tmp_path / "t", Facts.from_problem(problem, truth))
    monkeypatch.setattr(graph, "_recall", lambda *_: 0.96)
    for model, search, expected in (
        ("graph-only", "rare-words", {"graph_recall": 0.96}),
        ("graph-only", "auto", {"graph_recall": 1.0}),
        ("lr", None, {}),
    ):
        given = {"search": search} if search else {}
        params = parameters.resolve(models.load(model), given, model)
        job = Job(Run(Task("t"), model, params, None), built)
        record = Record.from_line(worker.run_job(job, lambda line: None))
        assert record.diagnostics == expected


def test_the_scored_documents_of_each_measured_domain_are_counted(tmp_path):
    problem, truth = make_multilabel(tasks=3)
    truth = replace(truth, scored=(*truth.scored[:2], np.zeros_like(truth.scored[2])))
    tasks.write(tmp_path / "t", problem, truth)
    built = BuiltTask(tmp_path / "t", Facts.from_problem(problem, truth))
    params = parameters.resolve(models.load("linear-svm"), {}, "linear-svm")
    job = Job(Run(Task("t"), "linear-svm", params, None), built)
    record = Record.from_line(worker.run_job(job, print))
    one, two = (int(rows.sum()) for rows in truth.scored[:2])
    assert record.documents == {"task-1": one, "task-2": two, "all": one + two}


def test_a_file_that_changed_places_since_is_not_read(perform, home):
    """Its name and facts are checked before runs start; a worker checks the name again."""
    problem, truth = make_problem()
    path = home.data / "small.task"
    home.data.mkdir(exist_ok=True)
    tasks.write(path, problem, truth, name="another")
    built = BuiltTask(path, Facts.from_problem(problem, truth), "own/small-0.task")
    job = Job(Run(Task("own/small"), "lr", {}, None), built)
    record = Record.from_line(worker.run_job(job, print))
    assert record.status == "failed"
    assert "was written under another name" in record.reason
