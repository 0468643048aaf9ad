"""The contract of the experiments in the folder: names, values and claims of every file."""

from __future__ import annotations

from functools import cache

import pytest
from conftest import ROOT

from transferbench import experiments, models, parameters, tasks
from transferbench.runs import store

load = cache(experiments.load)


@pytest.mark.parametrize("name", experiments.names())
def test_a_file_states_all_that_a_table_needs(name):
    """Loading it checks names, parameters and claims; a table needs more."""
    file = load(name)
    spec = file.spec
    assert all(len(tolerance.reason) > 40 for tolerance in spec.tolerance)
    for label, column in spec.columns.items():
        stated = column.params | column.grid
        assert set(stated) <= set(parameters.schema(models.load(column.model)))
        printed = any(file.published(row, label) for row in spec.rows)
        assert not file.compared.published or printed != column.control
        assert (column.kind is not None) == (label in spec.printed_columns)
        assert column.note or not (column.control or column.reading_of)
    for row in spec.rows.values():
        assert tasks.Task.parse(row.task).base == row.task.partition(":")[0], "full task names"
        read = spec.rows.get(row.reading_of)
        assert read is None or (row.metric == read.metric and row.group != read.group)
    if spec.control_of:
        table = load(spec.control_of)
        printed = [row for row in spec.rows if table.spec.published.get(row)]
        assert printed
        assert spec.unit == table.spec.unit
        assert all(file.metric(row) == table.metric(row) for row in printed)
    planned = list(file.runs())
    assert len({(p.row, p.column, p.x, p.run.identity) for p in planned}) == len(planned)


@pytest.mark.parametrize("name", experiments.names())
def test_a_table_uses_each_finished_run_of_its_file(name):
    file = ROOT / "results" / name / store.NAME
    records = store.read(file) if file.is_file() else {}
    planned = {each.run.identity for each in load(name).runs()}
    assert not [f"{r.run}" for run, r in records.items() if r.done and run not in planned]


def test_each_paper_proposes_a_method_and_its_kind_is_the_same_in_all_its_tables():
    for paper, names in experiments.papers().items():
        specs = [load(name).spec for name in names]
        kinds = {(label, c.kind) for s in specs for label, c in s.columns.items() if c.kind}
        assert "own" in dict(kinds).values(), paper
        assert len(kinds) == len(dict(kinds)), paper


def test_a_paper_stands_for_its_tables_and_figures():
    assert set(experiments.papers()) == {"gtl", "dtl", "mrtl", "mtc", "himls"}
    assert experiments.expand(["gtl-table3", "gtl", "mine.yaml"]) == [
        "gtl-table3",
        *(name for name in experiments.papers()["gtl"] if name != "gtl-table3"),
        "mine.yaml",
    ]
    assert not {"gtl-variants", "dtl-table3-copied"} & {*experiments.expand(["gtl", "dtl"])}


def test_titles_are_those_of_the_loaded_experiments():
    assert experiments.titles() == {n: load(n).spec.title for n in experiments.names()}
