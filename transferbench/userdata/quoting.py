"""Rows that vanish at stray quotes: lines that a quote joins to one row though each is a row.

In a file without quoting, a text may begin with a quote and a later one end with a quote. A reader
of CSV takes all between for one value. A value with paragraphs looks similar. What tells them apart
are the other columns: its lines have a label, a number or an identifier as other rows have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TextIO

LINE_END = re.compile(r"\r\n|\r|\n")
#: A number, perhaps with separators of thousands.
NUMERIC_VALUE = re.compile(r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s*")
#: A column with at most so many values, each twice or more on average, holds categories.
MAX_CATEGORIES = 100
#: A value that occurs so often among the joined lines is a category, too.
REPEATED = 3
#: Largest share of rows that stray quotes join if no column tells rows from paragraphs.
MAX_JOINED = 0.1
#: Fewer lines are then a paragraph.
MIN_JOINED = 3

#: First and last line of a row.
Span = tuple[int, int]
#: What other columns say of a row on several lines: it is several rows; it may be; they say
#: nothing, but each line could be a row; or it is one row.
Evidence = Literal["strong", "weak", "undecided", "none"]


@dataclass(frozen=True)
class _Column:
    """What the values of a column have in common, which lines of a paragraph hardly have.

    Parameters
    ----------
    kind
        "ids" are whole numbers that increase, "categories" few different values, and "words" texts
        without blanks.
    known
        The categories.
    """

    kind: Literal["ids", "categories", "words"]
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, values: Sequence[str]) -> _Column | None:
        """Return the kind of a column; None if its values are blank or any text."""
        known = frozenset(values)
        if not any(map(str.strip, known)):
            return None
        if _increase(values):
            return cls("ids")
        if len(known) <= MAX_CATEGORIES and 2 * len(known) <= len(values):
            return cls("categories", known)
        if all(value and not re.search(r"\s", value) for value in known):
            return cls("words")
        return None

    def alike(self, texts: Sequence[str], following: str) -> list[bool]:
        """Return for each text whether it is like the values of the column.

        Parameters
        ----------
        texts
            What stands in the column if each line is a row.
        following
            The value of the next row.
        """
        if self.kind == "ids":
            ids = [*texts, following] if following else texts
            return [_increase(ids)] * len(texts)
        if self.kind == "words":
            return [bool(text) and not re.search(r"\s", text) for text in texts]
        times = Counter(texts)
        return [
            text in self.known or (bool(text.strip()) and times[text] >= REPEATED) for text in texts
        ]

    def is_evidence(self, lines: int) -> bool:
        """Return True if so many lines that are like the values cannot be a paragraph."""
        if self.kind == "categories" and not all(map(str.strip, self.known)):
            return False
        numeric = all(map(NUMERIC_VALUE.fullmatch, self.known))
        return self.kind == "ids" or (self.kind == "categories" and (lines > 1 or not numeric))


def _increase(texts: Sequence[str]) -> bool:
    """Return True if texts are whole numbers, each larger than the one before."""
    digits = [text.lstrip("0") for text in texts if text.isdecimal()]
    pairs = pairwise(digits)  # int refuses numbers of more than 4,300 digits
    return len(digits) == len(texts) and all((len(a), a) < (len(b), b) for a, b in pairs)


def joined_rows(
    rows: Mapping[int, Sequence[str]], spans: Mapping[int, Span], delimiter: str, lines: TextIO
) -> list[Span]:
    """Return the lines of each row that seems to be several rows, joined by stray quotes.

    A row seems so if its first line and at least half of its others have as many columns as the
    table, and in other columns than that of the text what rows on one line have: a category or an
    identifier between those of its neighbours. Where these columns are no evidence, the joined rows
    must be few and every line of the file such a row; and where they are blank or any text, no
    other value may be in quotes.

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
    next_row = dict(pairwise(rows))
    columns = [_Column.of([row[j] for row in single]) for j in range(len(single[0]))]
    by_evidence: dict[Evidence, list[Span]] = {
        "strong": [],
        "weak": [],
        "undecided": [],
        "none": [],
    }
    for line, span in spans.items():
        following = rows.get(next_row.get(line, 0), [""] * len(columns))
        by_evidence[_evidence(rows[line], following, columns, delimiter)].append(span)
    found, weak, undecided = (by_evidence[kind] for kind in ("strong", "weak", "undecided"))
    most = max(1, MAX_JOINED * len(rows))
    weak, undecided = (spans if len(spans) <= most else [] for spans in (weak, undecided))
    if (weak or undecided) and is_regular(lines, delimiter, len(next(iter(rows.values())))):
        quoted = undecided and _has_quoted(lines, delimiter, undecided)
        found += weak + ([] if quoted else undecided)
    return sorted(found)


def _evidence(
    row: Sequence[str], following: Sequence[str], columns: Sequence[_Column | None], delimiter: str
) -> Evidence:
    """Return how likely a row on several lines is several rows.

    Parameters
    ----------
    row
        Its values.
    following
        Values of the next row.
    columns
        What the values of each column have in common.
    delimiter
        Separator of the columns.
    """
    texts = LINE_END.split(delimiter.join(row))
    pieces = [text.split(delimiter) if len(row) > 1 else [text] for text in texts]
    regular = [piece for piece in pieces if len(piece) == len(row) and any(piece)]
    needed = 1 + max(1, (len(pieces) - 1) / 2)
    if len(pieces[0]) != len(row) or len(regular) < needed:
        return "none"
    others = [j for j, cell in enumerate(row) if not LINE_END.search(cell)]
    used = {j: column for j in others if (column := columns[j])}
    if not used:
        all_rows = len(regular) == len(pieces) >= MIN_JOINED and '"' not in "".join(row)
        return "undecided" if all_rows else "none"
    alike = [
        column.alike([piece[j] for piece in regular], following[j]) for j, column in used.items()
    ]
    are_rows = [all(flags) for flags in zip(*alike, strict=True)]
    if not are_rows[0] or sum(are_rows) < needed:
        return "none"
    strong = any(column.is_evidence(sum(are_rows) - 1) for column in used.values())
    return "strong" if strong else "weak"


def is_regular(lines: TextIO, delimiter: str, columns: int) -> bool:
    """Return True if every line is a row without quoting: it has as many columns or is blank.

    With one column every line is a row.

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
    if columns == 1:
        return True
    return all(line.count(delimiter) == columns - 1 or not line.strip() for line in lines)


def _has_quoted(lines: TextIO, delimiter: str, joined: Iterable[Span]) -> bool:
    """Return True if a line outside the joined ones has a value in quotes."""
    d = re.escape(delimiter)
    quoted = re.compile(rf'(?:^|{d})"(?:[^"]|"")*"(?:{d}|\s*$)')
    inside: set[int] = set()
    for first, last in joined:
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
