"""Every number with a decimal point in the findings is in a committed table that its text links.

A number is carried by a table if the table has it, or if it is the mean of a column over all rows
of one corpus and measure, ours or published, in one or all linked experiments, to the digits shown.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean

import pytest
from conftest import ROOT

from transferbench import experiments
from transferbench.data.tasks import Task

PAGES = ("README.md", "docs/findings.md", "docs/choose.md")
LINK = re.compile(r"results/([\w-]+)(?:\.md|/\w+\.md)")
NUMBER = re.compile(r"(?<![\w.,])\d*\.\d+(?![\w.]*\d)")


def paragraphs() -> Iterator[tuple[str, str, list[str]]]:
    """Yield page, text without links and code, and the linked experiments of each paragraph.

    An item of a list, or a table, has also the links of the sentence that introduces it.
    """
    for page in PAGES:
        introduced: list[str] = []
        text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
        for paragraph in re.split(r"\n\n|\n(?=- )", text):
            names = LINK.findall(paragraph)
            if paragraph.rstrip().endswith(":"):
                introduced = names
            elif paragraph.startswith(("- ", "|")):
                names = names + introduced
            bare = re.sub(r"\([^()]*\.md\)|`[^`]*`", "", paragraph)
            if names and NUMBER.search(bare):
                yield page, bare, names


def carried(names: list[str]) -> set[float]:
    """Return the numbers that the pages of experiments have, and the means of their columns."""
    found: set[float] = set()
    columns = defaultdict(list)
    for name in dict.fromkeys(names):
        folder, spec = ROOT / "results" / name, experiments.load(name).spec
        for page in folder.glob("*.md"):
            text = page.read_text(encoding="utf-8")
            found |= {float(number) for number in re.findall(r"\d*\.\d+|\d+", text)}
        if not (folder / "table.csv").exists():
            continue
        with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                if row := spec.rows.get(line["row"]):
                    corpus = Task.named(row.task).base.rpartition("/")[0], row.metric
                    for value in ("ours", "published"):
                        if line[value]:
                            for one in (name, "all linked ones"):
                                key = (one, *corpus, line["column"], value)
                                columns[key].append(float(line[value]))
    means = {fmean(values) for values in columns.values()}
    shown = {float(value) for values in columns.values() for value in values}
    return found | means | shown


@pytest.mark.parametrize(
    ("page", "text", "names"),
    list(paragraphs()),
    ids=lambda each: str(each)[:40].replace("\n", " "),
)
def test_numbers_are_in_the_linked_tables(page, text, names):
    known = carried(names)
    for number in NUMBER.findall(text):
        digits = len(number.partition(".")[2])
        close = [value for value in known if abs(value - float(number)) <= 0.51 * 10**-digits]
        assert close, f"{page}: {number} is in none of {', '.join(names)}"


def test_findings_with_numbers_are_found():
    assert len(list(paragraphs())) >= 15


def cells(page: str, start: str) -> dict[tuple[str, str], str]:
    """Return row, column → cell of the page's first table whose first line starts with `start`."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if re.sub(r" +", " ", line).startswith(start))
    table = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *rows = table
    return {(row[0], name): cell for row in rows for name, cell in zip(head, row, strict=True)}


def test_the_table_of_the_readme_is_that_of_the_results():
    shown = cells("README.md", "| | LG |")
    committed = cells("results/gtl-table3/table.md", "| | NMF |")
    assert len(shown) == 60
    assert shown == {place: committed[place] for place in shown}
