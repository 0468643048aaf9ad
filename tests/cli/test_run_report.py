"""The report of `run` finds the published value of a run, and of no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_experiment import GOOD, PATH

from transferbench import experiments
from transferbench.cli import run as command
from transferbench.runs.record import Record

ONE, WITH = "gtl/comp-vs-rec", "gtl/comp-vs-rec:min_df=7"


@pytest.mark.parametrize(
    ("options", "task", "published"),
    [
        ("", ONE, ("81.71", "mine, one")),
        ("", WITH, ("", "")),
        ("    options: {min_df: 7}\n", WITH, ("81.71", "mine, one")),
        ("    options: {min_df: 7}\n", ONE, ("", "")),
    ],
)
def test_a_published_value_belongs_to_the_task_of_its_column(monkeypatch, options, task, published):
    text = GOOD.replace("    model: lr\n", f"    model: lr\n{options}")
    file = experiments.read(text, PATH)
    monkeypatch.setattr(command, "_experiments", lambda record: [file])
    run = next(planned.run for planned in file.runs() if planned.column == "LG")
    record = Record.of(replace(run, task=task), "done")
    record = replace(record, metrics={"target": {"accuracy": 0.8}})
    assert command._published(record, "target", "accuracy") == published
