"""A dry run is short: a line for each column and state, or for each of several experiments."""

from __future__ import annotations

from transferbench import experiments
from transferbench.cli._runs import planned_table


def planned(name: str) -> list:
    return list(experiments.load(name).runs())


def test_a_table_has_a_line_for_each_column(call):
    code, out, _ = call("reproduce", "gtl-unit-length", "--dry-run")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) < 40
    assert next(line.split() for line in lines if " gcmf " in line) == [
        "all", "9", "GCMF", "gcmf", "10", "0", "90"
    ]  # fmt: skip
    assert lines[-1].startswith("1 experiment: 495 runs to do, 0 finished; ")


def test_varied_parameters_are_shown():
    runs = planned("gtl-figure2a")
    rows = planned_table(runs, dict.fromkeys((each.run for each in runs), False))
    varied = {row[1]: row[3] for row in rows[1:]}
    assert varied["GCMF"].startswith("lam=0.1 … 1000 (5 values); gamma=")
    assert varied["GCMF λ=γ=0"] == ""


def test_rows_in_another_state_have_a_line_of_their_own():
    runs = planned("gtl-unit-length")
    done = {each.run: each.row == "comp vs rec" for each in runs}
    lines = [line for line in planned_table(runs, done) if "MTrick" in line]
    assert lines == [
        ["comp vs rec", "MTrick", "mtrick", "10", "10", "0"],
        ["8 of 9: comp vs sci, …", "MTrick", "mtrick", "10", "0", "80"],
    ]


def test_a_run_of_several_rows_counts_once():
    runs = planned("himls-table6")  # its rows are measures of the same runs
    rows = planned_table(runs, dict.fromkeys((each.run for each in runs), True))
    assert sum(int(row[-2]) for row in rows[1:]) == len({each.run for each in runs})


def test_several_experiments_have_a_line_each(call):
    code, out, _ = call("reproduce", "gtl-table3", "gtl-figure2a", "--dry-run")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4)
    assert {line.split()[0] for line in lines[1:3]} == {"gtl-table3", "gtl-figure2a"}
    assert lines[-1].startswith("2 experiments: ")
