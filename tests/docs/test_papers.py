"""The page of a paper links its experiments alone, and has the numbers of the results."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from conftest import ROOT

from transferbench import experiments
from transferbench.evidence import pages, statistics
from transferbench.evidence.totals import NAMES

PAPERS = ROOT / "docs" / "papers"


@pytest.mark.parametrize("paper", statistics.PAPERS)
def test_the_page_of_a_paper_has_its_experiments(paper):
    text = (PAPERS / f"{paper}.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(\.\./\.\./results/([\w-]+)/\w+\.md\)", text))
    own = {name for name in experiments.names() if name.startswith(f"{paper}-")}
    assert own <= linked
    assert f"](../{pages.STATISTICS}.md)" in text
    title = experiments.load(min(own)).spec.paper.title
    for name in linked & set(experiments.names()):
        spec = experiments.load(name).spec
        assert spec.paper.title == title or spec.paper.place.startswith(("not in", "in no")), name


def test_every_paper_has_a_page():
    text = (PAPERS / "index.md").read_text(encoding="utf-8")
    assert all(f"]({paper}.md)" in text for paper in statistics.PAPERS)
    assert {path.stem for path in PAPERS.glob("*.md")} == {*statistics.PAPERS, "index"}


def results_of(paper: str) -> list[list[int]]:
    """Return the whole numbers in the rows of a paper, for each table of the results."""
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(rf"(?m)^\| {re.escape(NAMES[paper])}(?:: data differ)? \|(.*)$", text)
    return [whole_numbers(row) for row in rows]


def whole_numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"(?<![.\d])\d+(?!\.?\d)", text)]


@pytest.mark.parametrize("paper", statistics.PAPERS)
def test_the_numbers_of_a_page_are_those_of_the_results(paper):
    text = (PAPERS / f"{paper}.md").read_text(encoding="utf-8")
    section = re.search(r"\n## How much agrees\?\n(.*?)\n## ", text, re.DOTALL)[1]
    bullets = " ".join(re.search(r"(?s)- .*?(?=\n\n)", section)[0].split())
    bullets = re.sub(r"(?i)tables? \d+( and \d+)?|the 18 cells|5 points", "", bullets)
    rows = results_of(paper)
    assert set(whole_numbers(bullets)) <= {n for row in rows for n in row}
    _, _, compared, same, *_ = rows[1]  # of the table "Counts"
    text = (ROOT / "results" / "README.md").read_text(encoding="utf-8").split("## Robustness")[1]
    chance = int(re.search(rf"(?m)^\| {re.escape(NAMES[paper])} \| \d+ \((\d+), p ", text)[1])
    assert {compared, same, chance} <= set(whole_numbers(bullets))
    assert f"y chance it would be {chance}." in bullets
    index = (PAPERS / "index.md").read_text(encoding="utf-8")
    assert f"| {same} of {compared} ({chance}) |" in index


def test_the_counts_of_the_third_reading_in_findings_follow_from_the_table():
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    table = pd.read_csv(ROOT / "results" / "mrtl-table2" / "table.csv")
    table = table[~table["row"].str.startswith("average")]
    readings = [f"{name} PLSA" for name in ("MRTL", "DTL₀", "DTL₁", "TriTL₀", "TriTL₁")]
    parts = [table[table["column"] == name] for name in (*readings, "TriTL₁ rows")]
    within = [int((p["difference"].abs() <= p["tolerance"]).sum()) for p in parts]
    same = [int((p["verdict"] == "same").sum()) for p in parts]
    for label, counts in {"within the tolerance": within, "the same": same}.items():
        assert f"| {label} | {' | '.join(map(str, counts))} |" in text
