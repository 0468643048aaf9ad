"""A dry run is short: a line for each column, or for each of several experiments."""

from __future__ import annotations

from transferbench import experiments
from transferbench.cli._runs import planned_table


def test_a_table_has_a_line_for_each_column(call):
    code, out, _ = call("reproduce", "gtl-unit-length", "--dry-run")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) < 40
    assert next(line.split() for line in lines if " gcmf " in line) == [
        "GCMF", "gcmf", "10", "0", "90"
    ]  # fmt: skip
    assert lines[-1].startswith("1 experiment: 495 runs to do, 0 finished; ")


def test_a_run_of_several_rows_counts_once():
    runs = list(experiments.load("himls-table6").runs())  # its rows are measures of the same runs
    done = dict.fromkeys((each.run for each in runs), True)
    rows = planned_table("column", [(each.column, each.run) for each in runs], done)
    assert sum(int(row[-2]) for row in rows[1:]) == len(done)


def test_several_experiments_have_a_line_each(call):
    code, out, _ = call("reproduce", "gtl-table3", "gtl-figure2a", "--dry-run")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4)
    assert {line.split()[0] for line in lines[1:3]} == {"gtl-table3", "gtl-figure2a"}
    assert lines[-1].startswith("2 experiments: ")
