"""Every number and every order in the prose of the documentation follows from the committed runs.

statements.yaml lists the sentences with the cells of their numbers; its head explains the form.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from jinja2 import Environment

from transferbench import experiments
from transferbench.evidence import boards, claims, readings, regret, tables
from transferbench.evidence.frame import Cell, read_cells

LISTED = yaml.safe_load(Path(__file__).with_name("statements.yaml").read_text(encoding="utf-8"))
#: Prose of results. The first group has no order without a test either.
ORDERED = ("README.md", "docs/findings.md", "docs/choose.md", "docs/modern.md")
PAGES = [
    path.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "docs/*.md", "docs/[!_r]*/*.md", "experiments/*.yaml")
    for path in sorted(ROOT.glob(pattern))
]
WORDS = [
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
    "twenty",
]  # fmt: skip
ANY = rf"(?:\d[\d,]*(?:\.\d+)?|\.\d+|{'|'.join(WORDS)}\b)"
COUNT = rf"(?:\d[\d,]*|{'|'.join(WORDS[1:])})"
#: What is a result unless the list says otherwise.
NUMBER = re.compile(
    rf"(?<![\w.,])\d*\.\d+(?![\w.]*\d)|\b\d+(?= per cent| ?%)"
    rf"|\b{COUNT}(?: [a-z]+){{0,2}} of (?:the )?{COUNT}\b",
    re.I,
)
ORDER = re.compile(
    r"\b(best|worst|better|worse|highest|lowest|leads?|ahead|beats?|twice|nearer|nearest|falls?"
    r"|exceeds?|gains? most|fails|enough|everywhere|helps?|reproduces?)\b"
)
#: Code, and numbers of sections and theorems.
LABEL = re.compile(
    r"`[^`]*`|\b(?:[Ee]qs?\.|Sections?|Theorems?|Lemmas?|Definitions?) [\d.–]+|\| \d(?:\.\d)+ \|"
)
HOLE = re.compile(r"\{([^{}]+)\}")
#: Number of standard errors of a difference that is clear.
CLEAR = 2


class Value(float):
    """A value of a table, and its standard error: of seeds and of the scored documents."""

    error: float

    def __new__(cls, value: float, error: float = 0.0) -> Value:
        made = super().__new__(cls, value)
        made.error = error
        return made


def above(one: Value, other: Value) -> bool:
    """Return whether a value is above another by more than the noise of both."""
    return one - other > CLEAR * math.hypot(one.error, other.error)


@dataclass(frozen=True)
class Statement:
    """A sentence of a page, with holes for its numbers, and what its words imply beyond them."""

    page: str
    says: str
    within: str = ""
    holds: list[str] = field(default_factory=list)

    @property
    def addresses(self) -> list[str]:
        return HOLE.findall(self.says)

    def found(self, text: str) -> list[re.Match[str]]:
        """Return where the page has the words, whatever the numbers are."""
        parts = [re.escape(part) for part in HOLE.sub("\0", folded(self.says)).split("\0")]
        return list(re.finditer(rf"(?<![\w.]){f'([-−]?{ANY})'.join(parts)}", text))

    def complaints(self, text: str) -> list[str]:
        """Return what is wrong with the page, and what it should say."""
        places = self.found(text)
        if not places:
            words = HOLE.sub("…", folded(self.says))
            return [f"{self.page} does not have these words; mend it or statements.yaml: {words}"]
        values = [value(address, self.within) for address in self.addresses]
        wrong = []
        for place in places:
            pairs = list(zip(place.groups(), values, strict=True))
            if not all(shows(*pair) for pair in pairs):
                holes = iter([shown if shows(shown, v) else f"[{v:.6g}]" for shown, v in pairs])
                now = HOLE.sub(lambda _, holes=holes: next(holes), folded(self.says))
                wrong.append(f"{self.page} says:\n  {place[0]}\nbut the tables say:\n  {now}")
        for relation in self.holds:
            if not true(relation, values, self.within):
                known = [f"n{n} = {v:.6g}" for n, v in enumerate(values, 1) if v == v]
                known += [f"{a} = {value(a, self.within)}" for a in HOLE.findall(relation)]
                wrong.append(
                    f"{self.page} says:\n  {places[0][0]}\nwhich needs {relation}\n  "
                    f"but {'; '.join(known)}"
                )
        return wrong


def folded(text: str) -> str:
    return " ".join(text.split())


def shows(shown: str, value: float) -> bool:
    """Return whether a printed number is the value, to the printed digits."""
    word = shown.lower()
    number = WORDS.index(word) if word in WORDS else float(word.replace(",", "").replace("−", "-"))
    return abs(number - value) <= 0.5 * 10 ** -len(word.partition(".")[2]) + 1e-9


def true(relation: str, values: list[Value], within: str) -> bool:
    """Evaluate a relation between numbers of a statement (n1, n2 …) and cells ({address})."""
    names: dict[str, Any] = {f"n{i}": each for i, each in enumerate(values, 1)} | {"above": above}

    def name(match: re.Match[str]) -> str:
        names[f"c{len(names)}"] = value(match[1], within)
        return f"c{len(names) - 1}"

    expression = HOLE.sub(name, relation)
    return bool(Environment().compile_expression(expression, undefined_to_none=False)(**names))


@cache
def loaded(name: str) -> tuple[experiments.Experiment, list[Cell]]:
    experiment = experiments.load(name)
    cells = read_cells(experiment, ROOT / "results" / name)
    return experiment, cells if experiment.spec.figure else tables.with_averages(experiment, cells)


@cache
def regrets(name: str) -> pd.DataFrame:
    experiment, cells = loaded(name)
    return regret.summary(experiment, [cell for cell in cells if cell.row in experiment.spec.rows])


@cache
def standings(name: str) -> boards.Board:
    return boards.of(*loaded(name), ROOT / "results")


@cache
def judged(name: str) -> list[claims.ClaimResult]:
    experiment = experiments.load(name)
    cells = read_cells(experiment, ROOT / "results" / name)
    return claims.judge(experiment, cells, claims.others(experiment, ROOT / "results"))


@cache
def value(address: str, within: str = "") -> Any:
    """Return what an address of statements.yaml stands for."""
    if " minus " in address:
        one, other = (value(each, within) for each in address.split(" minus "))
        return Value(one - other, math.hypot(one.error, other.error))
    parts = [part.strip() for part in address.split("|")]
    if split(parts[0])[0] not in experiments.names():
        parts.insert(0, within)
    name, kind, *rest = parts
    if kind == "claim":
        return next(each for each in judged(name) if each.claim.says.startswith(rest[0])).outcome
    if kind == "regret":
        shown = regrets(name)
        for axis, _, chosen in (each.partition("=") for each in rest[2:]):
            shown = shown[shown[axis] == chosen]
        return Value(shown.set_index("strategy").at[rest[0], rest[1]])
    if kind == "board":
        board = standings(name)
        counts = {"methods": len(board.standings), "corpora": len(board.corpora)}
        return Value(counts.get(rest[1]) or board.standings.set_index("method").at[*rest])
    if kind == "readings":
        return of_readings(*loaded(name), rest[0])
    columns, kept = rest[0], rest[1] if len(rest) > 1 else "ours"
    chosen = [cell for each in split(name) for cell in cells_at(each, kind, columns)]
    assert chosen, f"no cell of {name} is at {address!r}"
    if kept.startswith("runs below "):
        [cell], limit = chosen, value(f"{kind} | {kept.removeprefix('runs below ')}", name)
        return Value(sum(each < limit for each in cell.by_seed.values()))
    return of(chosen, kept)


def split(names: str) -> list[str]:
    """Return the names of a list, with those of `sets` in place of a set's name."""
    found = [each.strip() for each in names.split(";")]
    sets = LISTED["sets"]
    return [name for each in found for name in (split(sets[each]) if each in sets else [each])]


def cells_at(name: str, rows: str, columns: str) -> list[Cell]:
    """Return the cells of rows and columns, or the change from rows to other rows (ROWS → ROWS).

    * and patterns leave out averages; * also second readings and, of columns, those without print.
    """
    experiment, cells = loaded(name)
    spec = experiment.spec
    before, _, after = rows.partition(" → ")
    if after:
        pairs = [
            (cells_at(name, a, columns), cells_at(name, b, columns))
            for a, b in zip(split(before), split(after), strict=True)
        ]
        return [
            replace(new, mean=new.mean - old.mean, published=0.0)
            for olds, news in pairs for old, new in zip(olds, news, strict=True)
        ]  # fmt: skip

    def in_row(cell: Cell, row: str) -> bool:
        own = spec.rows.get(cell.row)
        return cell.row == row or bool(
            own and fnmatchcase(cell.row, row) and not (row == "*" and own.reading_of)
        )

    def in_column(cell: Cell, column: str) -> bool:
        if column == "*":
            own = spec.columns.get(cell.column)
            return bool(own and not own.reading_of and not math.isnan(cell.published))
        label, _, x = column.partition(" @ ")
        return cell.column == label and (not x or cell.x == float(x))

    return [
        cell
        for row in split(rows)
        for column in split(columns)
        for cell in cells
        if in_row(cell, row) and in_column(cell, column)
    ]


def of_readings(experiment: experiments.Experiment, cells: list[Cell], kept: str) -> Any:
    """Return a field of readings, see statements.yaml; shares in per cent."""
    own = [cell for cell in cells if cell.row in experiment.spec.rows]
    if kept == "number":
        return Value(len(experiment.spec.columns))
    if kept == "tried":
        return Value(experiment.spec.readings.tried)
    nearest = readings.nearest(experiment, own)
    if kept in ("others", "alike"):
        limit = readings.LEVEL if kept == "alike" else 1
        return Value(sum(share <= limit for share in nearest.others))
    found = getattr(nearest, kept)
    return found if isinstance(found, str) else Value(found * (1 if kept == "distance" else 100))


def of(cells: list[Cell], kept: str) -> Value:
    """Return a field of cells: a count of verdicts, or a mean."""
    if kept in tables.MARKS:
        return Value(sum(cell.verdict == kept for cell in cells))
    if kept == "cells":
        return Value(sum(not math.isnan(cell.published) for cell in cells))
    if kept == "distance":
        return Value(fmean(abs(cell.difference) for cell in cells))
    if kept.startswith(("least", "greatest")):
        values = [abs(c.difference) if "distance" in kept else c.mean for c in cells]
        return Value(min(values) if kept.startswith("least") else max(values))
    if kept.startswith("moved "):
        kind = kept.removeprefix("moved ")
        moves = [move for cell in cells for move in cell.moves if move.change.startswith(kind)]
        return Value(max(abs(move.moved) for move in moves))
    if kept == "fragile":
        return Value(sum(cell.fragile for cell in cells))
    if kept in ("seconds", "peak_mib"):
        return Value(fmean(getattr(run, kept) for cell in cells for run in cell.outcomes))
    if kept != "ours":
        return Value(fmean(getattr(cell, kept) for cell in cells))
    # Seeds and documents are the noise of a mean of rows; the row of averages has none of its own.
    noise = [c.std**2 / c.runs if c.runs > 1 and not math.isnan(c.std) else 0.0 for c in cells]
    noise += [cell.variance for cell in cells if not math.isnan(cell.variance)]
    noise += [math.nan for cell in cells if not cell.by_seed]
    return Value(fmean(cell.mean for cell in cells), math.sqrt(sum(noise)) / len(cells))


@cache
def prose(page: str) -> str:
    """Return the words of a page: without blocks of code, addresses of links and listed tables."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page.endswith(".yaml"):
        spec = yaml.safe_load(text)
        described = [each for kind in ("columns", "rows") for each in dict(spec[kind]).values()]
        notes = [each["note"] for each in described if isinstance(each, dict) and "note" in each]
        return "\n".join(map(folded, [*notes, *spec.get("notes", [])]))
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    for table in LISTED["tables"]:
        if table["page"] == page:
            start = text.index(table["head"], text.index(table.get("after", "")))
            text = text[:start] + re.sub(r"\A(\|.*\n)+", "", text[start:])
    return folded(re.sub(r"\]\([^()]*\)|[\[\]]|\*\*", "", text))


STATEMENTS = [
    Statement(page, each["says"], each.get("in", ""), each.get("holds", []))
    for page, listed in LISTED["statements"].items()
    for each in listed
]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: f"{s.page} {s.says[:40]}")
def test_a_statement_is_what_the_tables_say(statement):
    wrong = statement.complaints(prose(statement.page))
    assert not wrong, "\n".join(wrong)


def uncovered(page: str, text: str, statements: list[Statement]) -> list[str]:
    """Return the numbers, and on pages of results the orders, that no statement covers."""
    numbers = [place.span() for each in statements for place in each.found(text)]
    orders = [p.span() for each in statements if each.holds for p in each.found(text)]
    for pages, phrases in LISTED["no results"].items():
        if fnmatchcase(page, pages):
            for phrase in phrases:
                spans = [m.span() for m in re.finditer(re.escape(folded(phrase)), text)]
                numbers += spans
                orders += spans
    bare = LABEL.sub(lambda label: " " * len(label[0]), text)
    sought = [(NUMBER, numbers), *([(ORDER, orders)] if page in ORDERED else [])]
    return [
        f"{match[0]!r} in: {text[max(0, match.start() - 80) : match.end() + 40]}"
        for pattern, spans in sought
        for match in pattern.finditer(bare)
        if not any(first <= match.start() and match.end() <= last for first, last in spans)
    ]


def test_every_phrase_without_a_result_is_on_a_page():
    for pages, phrases in LISTED["no results"].items():
        texts = [prose(page) for page in PAGES if fnmatchcase(page, pages)]
        missing = [each for each in phrases if not any(folded(each) in text for text in texts)]
        assert not missing, f"{pages} no longer have these words; drop them: {missing}"


@pytest.mark.parametrize("page", PAGES)
def test_every_number_and_order_of_a_page_is_in_a_statement(page):
    statements = [each for each in STATEMENTS if each.page == page]
    missing = uncovered(page, prose(page), statements)
    assert not missing, f"{page}: not in statements.yaml:\n" + "\n".join(missing)


def test_wrong_words_numbers_and_orders_are_found():
    page = Statement(
        "page", "GCMF has {comp vs sci | GCMF}, LG {comp vs sci | LG}", "gtl-table3", ["n1 > n2"]
    )
    right, wrong = (round(value(f"comp vs sci | {c}", "gtl-table3"), 1) for c in ("GCMF", "LG"))
    assert not page.complaints(f"GCMF has {right}, LG {wrong}.")
    [message] = page.complaints(f"GCMF has {wrong}, LG {wrong}.")
    assert "GCMF has [97.1" in message
    assert page.complaints(f"GCMF reaches {right}, LG {wrong}.")
    [message] = Statement(page.page, page.says, page.within, ["n1 < n2"]).complaints(
        f"GCMF has {right}, LG {wrong}."
    )
    assert "n1 < n2" in message
    text = f"GCMF has {right}, LG {wrong}. NMF is best with 64.3."
    assert len(uncovered("README.md", text, [page])) >= 2


def table(page: str, head: str, after: str = "") -> tuple[list[str], dict[str, list[str]]]:
    """Return the columns, and row → cells, of the first table after a text that starts so."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = text[text.index(head, text.index(after)) :].splitlines()
    shown = []
    for line in lines:
        if not line.startswith("|"):
            break
        shown.append([cell.strip() for cell in line.strip("|").split("|")])
    heads, _, *rows = shown
    return heads[1:], {row[0]: row[1:] for row in rows}


LISTED_TABLES = [each for each in LISTED["tables"] if "rows" in each]


@pytest.mark.parametrize("listed", LISTED_TABLES, ids=lambda t: f"{t['page']} {t['head']}")
def test_a_table_of_a_page_is_that_of_the_results(listed):
    _, rows = table(listed["page"], listed["head"], listed.get("after", ""))
    names = listed["rows"] or {row: row for row in rows}
    assert rows.keys() == names.keys()
    wrong = []
    for row, cells in rows.items():
        for column, shown in zip(listed["columns"], cells, strict=True):
            if shown not in ("", "–"):
                now = value(column.format(row=names[row]))
                if not shows(shown.partition(", and")[0], now):
                    wrong.append(f"{row} | {column}: {shown}, but the results have {now:.6g}")
    assert not wrong, f"{listed['page']}:\n" + "\n".join(wrong)


def test_the_table_of_the_readme_is_that_of_the_results():
    head, rows = table("README.md", "|  | LG |")
    columns, committed = table("results/gtl-table3/table.md", "| | NMF |")
    assert len(rows) == 10
    for row, shown in rows.items():
        assert shown == [committed[row][columns.index(column)] for column in head]
