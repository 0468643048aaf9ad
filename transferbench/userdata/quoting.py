"""Rows that vanish at stray quotes: lines that a quote joins to one row though each is a row.

In a file without quoting, a text may begin with a quote and a later one end with a quote. A reader
of CSV takes all between for one value. A value with paragraphs looks similar. What tells them apart
are the other columns: its lines have a label, a number or an identifier as other rows have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO

LINE_END = re.compile(r"\r\n|\r|\n")
NUMBER = re.compile(r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s*")
#: A column with at most so many values, each twice or more on average, holds categories.
MAX_CATEGORIES = 100
#: A value that occurs so often among the joined lines is a category, too.
REPEATED = 3
#: Largest share of rows that stray quotes join if no column tells rows from paragraphs.
MAX_JOINED = 0.1

#: First and last line of a row.
Span = tuple[int, int]
Rows = Mapping[int, Sequence[str]]


def joined_rows(rows: Rows, spans: Mapping[int, Span], delimiter: str, lines: TextIO) -> list[Span]:
    """Return the lines of each row that seems to be several rows, joined by stray quotes.

    A row seems so if its first line and at least half of its others have as many columns as the
    table, and in each of the other columns a value like those of rows on one line: one of few
    categories, a number, or a text without blanks. If no column is such, the whole file must have
    as many separators in every line and no value whose quotes end on its own line.

    Parameters
    ----------
    rows
        Values of the table by last line.
    spans
        First and last line of each row on several lines, by last line.
    delimiter
        Separator of the columns.
    lines
        The text of the file, which is rewound.
    """
    single = [row for line, row in rows.items() if line not in spans] or [*rows.values()]
    tests: dict[int, Callable[[str], bool] | None] = {}
    found, undecided = [], []
    for line, span in spans.items():
        row = rows[line]
        pieces = [piece.split(delimiter) for piece in LINE_END.split(delimiter.join(row))]
        regular = [piece for piece in pieces[1:] if len(piece) == len(row) and any(piece)]
        if len(pieces[0]) != len(row) or len(regular) < max(1, (len(pieces) - 1) / 2):
            continue
        others = [j for j, cell in enumerate(row) if not LINE_END.search(cell)]
        for j in others:
            if j not in tests:
                tests[j] = _test([row[j] for row in single])
        used = {j: test for j in others if (test := tests[j])}
        if not used:
            undecided.append((span, len(regular) == len(pieces) - 1 and '"' not in "".join(row)))
            continue
        often = {j: Counter(piece[j] for piece in regular) for j in used}
        alike = [
            all(
                test(piece[j]) or (piece[j].strip() and often[j][piece[j]] >= REPEATED)
                for j, test in used.items()
            )
            for piece in regular
        ]
        if all(test(pieces[0][j]) for j, test in used.items()):
            if sum(alike) >= max(1, (len(pieces) - 1) / 2):
                found.append(span)
    few = len(undecided) <= max(1, MAX_JOINED * len(rows))
    if undecided and few and all(whole for _, whole in undecided):
        columns = len(next(iter(rows.values())))
        if is_regular(lines, delimiter, columns) and not _has_quoted(lines, delimiter, undecided):
            found += [span for span, _ in undecided]
    return sorted(found)


def _test(values: Sequence[str]) -> Callable[[str], bool] | None:
    """Return whether a text is like the values of a column; None if any text may be."""
    known = set(values)
    if not any(map(str.strip, known)):
        return None
    if len(known) <= MAX_CATEGORIES and 2 * len(known) <= len(values):
        return known.__contains__
    if all(map(NUMBER.fullmatch, known)):
        return lambda text: bool(NUMBER.fullmatch(text))
    if all(value and not re.search(r"\s", value) for value in known):
        return lambda text: bool(text and not re.search(r"\s", text))
    return None


def is_regular(lines: TextIO, delimiter: str, columns: int) -> bool:
    """Return True if every line is a row without quoting: it has as many columns or is blank.

    Parameters
    ----------
    lines
        The text of the file, which is rewound.
    delimiter
        Separator of the columns.
    columns
        Number of columns.
    """
    lines.seek(0)
    head = lines.readline()
    if '"' in head or head.count(delimiter) != columns - 1:
        return False
    return all(line.count(delimiter) == columns - 1 or not line.strip() for line in lines)


def _has_quoted(lines: TextIO, delimiter: str, joined: Iterable[tuple[Span, bool]]) -> bool:
    """Return True if a line outside the joined ones has a value in quotes."""
    d = re.escape(delimiter)
    quoted = re.compile(rf'(?:^|{d})"(?:[^"]|"")*"(?:{d}|\s*$)')
    inside: set[int] = set()
    for (first, last), _ in joined:
        inside.update(range(first, last + 1))
    lines.seek(0)
    return any(
        number not in inside and '"' in line and quoted.search(line)
        for number, line in enumerate(lines, start=1)
    )


def unquoted_rows(lines: TextIO, delimiter: str) -> Iterator[list[str]]:
    """Yield the values of each line; quotes are characters.

    A line is one value if the first one has no separator.
    """
    several = None
    for line in lines:
        text = line.rstrip("\r\n")
        several = delimiter in text if several is None else several
        yield (text.split(delimiter) if several else [text]) if text else []
