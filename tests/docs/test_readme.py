"""The README and the site open with the answer, which is that of the results."""

from __future__ import annotations

from conftest import ROOT

from transferbench.evidence.summary import MARK


def test_the_answer_of_the_readme_is_the_one_of_the_results():
    _, answer, _ = (ROOT / "README.md").read_text(encoding="utf-8").split(MARK)
    assert answer.strip() in (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    assert "| the papers' own methods | " in answer


def test_the_site_includes_the_answer():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert text.count(MARK) == 2
    assert "```{include} ../README.md" in text
