"""The table of the README is a part of the committed one."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT


def cells(page: Path) -> dict[tuple[str, str], str]:
    """Return the text of each cell of the first table of a page by row and column."""
    blocks = page.read_text(encoding="utf-8").split("\n\n")
    lines = next(block for block in blocks if block.startswith("|")).splitlines()
    head, _, *rows = [[text.strip() for text in line.split("|")[1:-1]] for line in lines]
    return {
        (label, column): text
        for label, *texts in rows
        for column, text in zip(head[1:], texts, strict=False)
    }


def test_the_table_of_the_readme_is_the_committed_one():
    shown = cells(ROOT / "README.md")
    assert len(shown) == 18
    assert shown.items() <= cells(ROOT / "results" / "gtl-table3" / "table.md").items()
