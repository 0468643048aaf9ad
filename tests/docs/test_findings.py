"""Every number with a decimal point in the findings is in a committed table that its text links.

A table carries a number if it has it, or if it is the mean of a column over all rows of one corpus
and measure, ours or published, in one or all linked experiments, to the digits shown. Only columns
that the sentence names count. The tables of README.md, choose.md and modern.md are compared cell by
cell.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Set
from functools import cache
from statistics import fmean

import pytest
from conftest import ROOT

from transferbench import experiments
from transferbench.data.tasks import Task

PAGES = ("README.md", "docs/findings.md", "docs/choose.md")
LINK = re.compile(r"results/([\w-]+)(?:\.html|/\w+\.md)")
NUMBER = re.compile(r"(?<![\w.,])\d*\.\d+(?![\w.]*\d)")
SENTENCE = re.compile(r"(?<=[.:;])\s+(?=[A-Z*[(])")
#: Columns that a text names otherwise; longer names first, as they contain shorter ones.
NAMES = {
    "logistic regression followed by k-means": {"LG → k-means", "LR → k-means"},
    "label spreading over the document graph": {"graph only"},
    "document graph alone": {"graph only"},
    "among the documents of both domains": {"neighbours among all"},
    "As we read the paper": {"as in the table"},
    "rows at the moment of Algorithm 1": {"rows, later"},
    "not scaled to unit length": {"raw length"},
    "rows of U": {"rows of U"},
    "After 500": {"500 iterations"},
    "at least one label": {"HiMLS ≥ 1 label", "MLS ≥ 1 label"},
    "labels of training documents alone": {"MLS train-label tasks"},
    "random tasks": {"MLS random tasks"},
    "b = 10": {"LNKMTC b=10", "b = 10"},
    "of all tasks together": {"All Kmeans"},
    "pages together": {"All Kmeans"},
    "plain k-means": {"Kmeans"},
    "kernel k-means": {"KKM"},
    "normalised cut of single tasks": {"NCut"},
    "transductive SVM": {"TSVM"},
    "linear SVM": {"linear SVM"},
    "logistic regression": {"LG", "LR"},
    "second layer": {"L = 1", "L = 2"},
    "a third": {"L = 3"},
    "a fourth": {"L = 4"},
}


def paragraphs() -> Iterator[tuple[str, str, list[str]]]:
    """Yield page, text without links and code, and the linked experiments of each paragraph.

    An item of a list has also the links of the sentence that introduces it. Tables are left out.
    """
    for page in PAGES:
        introduced: list[str] = []
        text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)
        for paragraph in re.split(r"\n\n|\n(?=- )", text):
            names = LINK.findall(paragraph)
            if paragraph.rstrip().endswith(":"):
                introduced = names
            elif paragraph.startswith("|"):
                continue
            elif paragraph.startswith("- "):
                names = names + introduced
            bare = re.sub(r"\([^()]*\.md\)|`[^`]*`", "", paragraph)
            if names and NUMBER.search(bare):
                yield page, bare, names


def named(text: str, columns: Set[str]) -> set[str]:
    """Return the columns that a text names, by themselves or by NAMES."""
    found = set()
    names = {**{name: {name} for name in columns}, **NAMES}
    for name in sorted(names, key=len, reverse=True):
        pattern = rf"(?<![\w-]){re.escape(name)}(?![\w₀₁-])"
        text, times = re.subn(pattern, " ", text, flags=re.I if name in NAMES else 0)
        found |= names[name] & columns if times else set()
    return found


@cache
def carried(names: tuple[str, ...]) -> tuple[dict[str, set[float]], dict[str, set[float]]]:
    """Return by column the values and means, and the points from published values.

    Points under "" are the means of the nearest readings.
    """
    columns = defaultdict(list)
    values: dict[str, set[float]] = defaultdict(set)
    points: dict[str, set[float]] = defaultdict(set)
    for name in dict.fromkeys(names):
        folder, spec = ROOT / "results" / name, experiments.load(name).spec
        for page in folder.glob("readings.md"):
            text = page.read_text(encoding="utf-8")
            nearest = re.findall(r"\d+\.\d+(?= away on average)", text)
            points[""] |= {float(each) for each in nearest}
        if not (folder / "table.csv").exists():
            continue
        with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                row = spec.rows.get(line["row"])
                if row and not row.reading_of:
                    corpus = Task.named(row.task).base.rpartition("/")[0], row.metric
                    for value in ("ours", "published"):
                        if line[value]:
                            number = float(line[value])
                            values[line["column"]].add(number)
                            for one in (name, "all linked ones"):
                                columns[one, *corpus, line["column"], value].append(number)
                            group = (name, row.group, row.metric)
                            columns[*group, line["column"], value].append(number)
                    if line["difference"]:
                        points[line["column"]].add(abs(float(line["difference"])))
    for (*_, column, _), each in columns.items():
        values[column].add(fmean(each))
    return values, points


@pytest.mark.parametrize(
    ("page", "text", "names"),
    list(paragraphs()),
    ids=lambda each: str(each)[:40].replace("\n", " "),
)
def test_numbers_are_in_the_linked_tables(page, text, names):
    values, points = carried(tuple(names))
    before: set[str] = set()
    for sentence in SENTENCE.split(" ".join(text.split())):
        before = columns = named(sentence, values.keys()) or before
        for match in NUMBER.finditer(sentence):
            number = match[0]
            of_column = points if sentence[match.end() :].startswith(" points") else values
            known = of_column[""].union(*(of_column[column] for column in columns))
            digits = len(number.partition(".")[2])
            close = [value for value in known if abs(value - float(number)) <= 0.51 * 10**-digits]
            where = f"{page}: {number} in {sentence!r} is in none of {names}, columns {columns}"
            assert close, where


def test_findings_with_numbers_are_found():
    assert len(list(paragraphs())) >= 15


def table(page: str, start: str, after: str = "") -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns, and row → cells, of the first table that starts with `start`.

    after: a text of the page; only what follows is searched.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = text[text.index(after) :].splitlines()
    first = next(i for i, line in enumerate(lines) if re.sub(r" +", " ", line).startswith(start))
    shown = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        shown.append([cell.strip() for cell in line.strip("|").split("|")])
    head, _, *rows = shown
    return head[1:], {row[0]: row[1:] for row in rows}


def means(name: str) -> dict[tuple[str, str], float]:
    """Return group of rows, column → mean of ours over the rows of the group."""
    spec, values = experiments.load(name).spec, defaultdict(list)
    with (ROOT / "results" / name / "table.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["row"] in spec.rows and line["ours"]:
                values[spec.rows[line["row"]].group, line["column"]].append(float(line["ours"]))
    return {place: fmean(each) for place, each in values.items()}


def assert_shown(cell: str, value: float) -> None:
    digits = len(cell.partition(".")[2])
    assert abs(float(cell.replace(",", "")) - value) <= 0.51 * 10**-digits, (cell, value)


def test_the_table_of_the_readme_is_that_of_the_results():
    head, rows = table("README.md", "| | LG |")
    columns, committed = table("results/gtl-table3/table.md", "| | NMF |")
    assert len(rows) == 10
    for row, shown in rows.items():
        assert shown == [committed[row][columns.index(column)] for column in head]


STRATEGIES = {
    "always logistic regression": "LR",
    "always GCMF": "GCMF",
    "always CoCC": "CoCC",
    "vote of graph only, TSVM and CoCC": "vote of three",
    "vote of the quick models": "vote of quick ones",
    "CoCC, or LR where its reverse accuracy is below .55": "CoCC with a check",
    "in each task the model with the highest reverse accuracy": "reverse",
    "the best single model, chosen on the other corpora": "best always chosen elsewhere",
    "the best vote, chosen on the other corpora": "best vote chosen elsewhere",
}


@pytest.mark.parametrize(("name", "rows"), [("choice", 8), ("choice-unequal", 6)])
def test_the_tables_of_regrets_are_those_of_the_results(name, rows):
    _, shown = table("docs/choose.md", "| choice |", after=f"[{name}](results/")
    columns, committed = table(f"results/{name}/regret.md", "| strategy |")
    assert len(shown) == rows
    for choice, cells in shown.items():
        line = committed[STRATEGIES[choice]]
        assert cells == [line[columns.index(name)] for name in ("mean", "worst", "below LR")]


def test_the_table_of_class_shares_is_that_of_the_results():
    head, rows = table("docs/choose.md", "| first class to second |")
    found, given = means("class-shares"), means("class-shares-given")
    shown = 0
    for row, cells in rows.items():
        group = f"{row.replace(' in the target', ' in target')} (macro-F1)"
        model = ""
        for name, cell in zip(head, cells, strict=True):
            model, _, prior = (
                name.partition(": ") if ": " in name or name == "LR" else (model, "", name)
            )
            if cell:
                column = model if name == "LR" or prior == "given" else f"{model}, {prior}"
                assert_shown(cell, (given if prior == "given" else found)[group, column])
                shown += 1
    assert shown == 41


MODERN = {
    "GCMF": "GCMF",
    "the document graph alone": "graph only",
    "embeddings, logistic regression, k-means": "embeddings → LR → k-means",
    "SVD, logistic regression, k-means": "LR → k-means on SVD",
    "logistic regression, k-means": "LR → k-means",
    "DTL": "DTL",
    "JDOT": "JDOT",
    "logistic regression": "LR",
    "OT mapping": "OT mapping",
    "embeddings, logistic regression": "embeddings → LR",
    "CORAL": "CORAL",
}


def test_the_table_of_current_methods_is_that_of_the_results():
    _, rows = table("docs/modern.md", "| | newsgroups |")
    found = means("modern-baselines")
    assert rows.keys() == MODERN.keys()
    for row, cells in rows.items():
        for group, cell in zip(("20 Newsgroups", "Reuters", "seconds", "MiB"), cells, strict=True):
            if cell != "–":
                assert_shown(cell.partition(", and")[0], found[group, MODERN[row]])
