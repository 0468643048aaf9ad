"""The table of the README is a part of the committed one."""

from __future__ import annotations

from collections import ChainMap
from pathlib import Path

from conftest import ROOT


def tables(page: Path) -> list[dict[tuple[str, str], str]]:
    """Return the text of each cell of each table of a page by row and column."""
    found = []
    for block in page.read_text(encoding="utf-8").split("\n\n"):
        if block.startswith("|"):
            rows_of_block = [line for line in block.splitlines() if line.startswith("|")]
            lines = [line.split("|")[1:-1] for line in rows_of_block]
            head, _, *rows = [[text.strip() for text in line] for line in lines]
            cells = {(row[0], head[i]): row[i] for row in rows for i in range(1, len(head))}
            found.append(cells)
    return found


def test_the_table_of_the_readme_is_the_committed_one():
    shown = tables(ROOT / "README.md")[1]  # after the totals
    assert len(shown) == 18
    committed = tables(ROOT / "results" / "gtl-table3" / "table.md")
    assert shown.items() <= ChainMap(*committed).items()
