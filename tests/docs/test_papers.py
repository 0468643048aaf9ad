"""The page of a paper links every experiment on it, and no other paper's."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from transferbench import experiments
from transferbench.evidence import statistics

PAPERS = ROOT / "docs" / "papers"


@pytest.mark.parametrize("paper", statistics.PAPERS)
def test_the_page_of_a_paper_has_its_experiments(paper):
    text = (PAPERS / f"{paper}.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(\.\./\.\./results/([\w-]+)/\w+\.md\)", text))
    own = {name for name in experiments.names() if name.startswith(f"{paper}-")}
    assert own <= linked
    assert f"](../{statistics.NAME}.md)" in text
    title = experiments.load(min(own)).spec.paper.title
    for name in linked & set(experiments.names()):
        spec = experiments.load(name).spec
        assert spec.paper.title == title or spec.paper.place.startswith(("not in", "in no")), name


def test_every_paper_has_a_page():
    text = (PAPERS / "index.md").read_text(encoding="utf-8")
    assert all(f"]({paper}.md)" in text for paper in statistics.PAPERS)
    assert {path.stem for path in PAPERS.glob("*.md")} == {*statistics.PAPERS, "index"}
