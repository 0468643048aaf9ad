"""The report of `run` finds the published value of a run, and of no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_experiment import GOOD, PATH

from transferbench import experiments
from transferbench.evidence import published
from transferbench.runs.record import Record

ONE, WITH = "gtl/comp-vs-rec", "gtl/comp-vs-rec:min_df=7"


@pytest.mark.parametrize(
    ("options", "task", "found"),
    [
        ("", ONE, ("81.71", "mine, one")),
        ("", WITH, ("", "")),
        ("    options: {min_df: 7}\n", WITH, ("81.71", "mine, one")),
        ("    options: {min_df: 7}\n", ONE, ("", "")),
    ],
)
def test_a_published_value_belongs_to_the_task_of_its_column(monkeypatch, options, task, found):
    text = GOOD.replace("    model: lr\n", f"    model: lr\n{options}")
    file = experiments.read(text, PATH)
    key = ("comp-vs-rec", "lr")
    monkeypatch.setattr(published, "_candidates", lambda: {key: [file.name]})
    monkeypatch.setattr(published.experiments, "load", {file.name: file}.__getitem__)
    run = next(planned.run for planned in file.runs() if planned.column == "LG")
    record = Record.of(replace(run, task=task), "done")
    record = replace(record, metrics={"target": {"accuracy": 0.8}})
    assert shown(published.find(record, "target", "accuracy")) == found


def shown(found):
    """Return the value and the place, as `run` prints them."""
    if found is None:
        return "", ""
    return f"{found.value:.2f}", f"{found.experiment.name}, {found.row}"


def test_a_control_has_the_published_value_of_its_table():
    """The README shows this line."""
    for planned in experiments.load("gtl-unit-length").runs(1):
        if (planned.row, planned.column) == ("comp vs rec", "GCMF"):
            record = replace(Record.of(planned.run, "done"), metrics={"target": {"accuracy": 0.9}})
            place = shown(published.find(record, "target", "accuracy"))
            assert place == ("92.36", "gtl-unit-length, comp vs rec")
            return
    raise AssertionError("no such cell")
