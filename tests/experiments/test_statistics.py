"""The papers' printed data statistics: complete, judged by the facts of the tasks, up to date."""

from __future__ import annotations

import copy

import pytest
from conftest import ROOT

from transferbench import datasets
from transferbench.evidence import pages, statistics

FOLDER = ROOT / "results" / statistics.NAME


def test_committed_pages_are_what_the_facts_yield():
    assert pages.changed_files(FOLDER, statistics.render()) == []


def test_a_page_is_outdated_once_a_fact_changes(monkeypatch):
    facts = copy.deepcopy(datasets.facts("mtc/webkb4"))
    facts["documents"]["cornell"] = 227
    monkeypatch.setitem(datasets.read_json("facts.json"), "mtc/webkb4", facts)
    assert [path.name for path in pages.changed_files(FOLDER, statistics.render())] == [
        "table.csv",
        "table.md",
    ]
    assert "| 227 |" in statistics.render()["table.md"]


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        ("2.880", 2.8797, "equal"), ("2.880", 2.8950, "differs"), ("0.029", 0.02851, "equal"),
        ("227", 226, "differs"), ("about 8000", 7862, "rough"), ("ibm, mac", "ibm, mac", "equal"),
        ("ibm, mac", "mac, ibm", "differs"),
    ],
)  # fmt: skip
def test_a_figure_is_compared_to_the_printed_decimals(printed, ours, verdict):
    assert statistics.judge(printed, ours) == verdict


def test_a_command_writes_the_pages(call, home):
    assert call("tables", statistics.NAME)[0] == 0
    assert pages.changed_files(home.results / statistics.NAME, statistics.render()) == []
