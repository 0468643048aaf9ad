"""A dry run is short: a line for each experiment."""

from __future__ import annotations


def test_several_experiments_have_a_line_each(call):
    code, out, _ = call("reproduce", "gtl-table3", "gtl-figure2a", "--dry-run")
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4)
    assert {line.split()[0] for line in lines[1:3]} == {"gtl-table3", "gtl-figure2a"}
    assert lines[-1].startswith("2 experiments: ")
