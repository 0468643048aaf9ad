"""The fields of a record that the worker fills in."""

from __future__ import annotations

import numpy as np
from conftest import make_problem

from transferbench import metrics, models, parameters
from transferbench.core import graph
from transferbench.data.facts import Facts
from transferbench.problem import Fit, Truth
from transferbench.runs import worker
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Record, Run


def test_the_scored_documents_of_each_measured_domain_are_counted():
    Y = np.eye(3)[[0, 1, 2, 0, 1]]
    scored = np.array([1, 1, 0, 0, 1], bool), np.ones(5, bool), np.zeros(5, bool)
    truth = Truth("multilabel", ("p", "q", "r"), ("x", "y", "seen"), (Y,) * 3, scored)
    measured = metrics.evaluate(Fit((Y,) * 3), truth)
    assert worker._documents(truth, measured) == {"x": 3, "y": 5, "all": 8}


def test_the_recall_of_an_approximate_graph_reaches_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_load", lambda task: make_problem())
    monkeypatch.setattr(graph, "_recall", lambda *_: 0.96)
    task = TaskFile("t", tmp_path, b"", Facts("transfer", (), {}, {}, (), 0, 0.0, ""))
    for model, search, expected in (
        ("graph-only", "rare-words", {"graph_recall": 0.96}),
        ("graph-only", "auto", {"graph_recall": 1.0}),
        ("lr", None, {}),
    ):
        given = {"search": search} if search else {}
        params = parameters.resolve(models.load(model), given, model)
        job = Job("key", Run("t", model, params, None), task)
        record = worker._measure(job.record("done"), job, 0.0, 0.0)
        assert record.diagnostics == expected
        assert Record.from_json(record.to_json()).diagnostics == expected
