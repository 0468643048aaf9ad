"""The papers' printed data statistics: complete, judged by the facts of the tasks, up to date."""

from __future__ import annotations

import pytest
from conftest import ROOT

from transferbench.evidence import pages, statistics

FOLDER = ROOT / "results" / pages.STATISTICS


@pytest.mark.parametrize(
    ("printed", "ours", "comparison"),
    [
        ("2.880", 2.8797, "equal"), ("2.880", 2.8950, "differs"), ("0.029", 0.02851, "equal"),
        ("227", 226, "differs"), ("about 8000", 7862, "rough"), ("ibm, mac", "ibm, mac", "equal"),
        ("ibm, mac", "mac, ibm", "differs"),
    ],
)  # fmt: skip
def test_a_figure_is_compared_to_the_printed_decimals(printed, ours, comparison):
    assert statistics.judge(printed, ours) == comparison


def test_a_command_writes_the_pages(call, home):
    assert call("tables", pages.STATISTICS)[0] == 0
    for folder in (home.results / pages.STATISTICS, FOLDER):  # the written and the committed pages
        assert pages.changed_files(folder, statistics.render()) == []
