"""Find rows that vanish at stray quotes: a quote joins several rows to one.

In a file without quoting, a text may begin with a quote, and a later text may end with a quote. A
reader of CSV takes everything between them as one value. A value with paragraphs looks similar. The
other columns show the difference: lines that are rows have a label, a number or an identifier, as
other rows have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Literal, TextIO

LINE_END = re.compile(r"\r\n|\r|\n")
#: A number, perhaps with separators of thousands.
NUMERIC_VALUE = re.compile(r"\s*[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?\s*")
#: A column with at most so many values, each twice or more on average, holds categories.
MAX_CATEGORIES = 100
#: A value that occurs so often among the joined lines is a category, too.
REPEATED = 3
#: Fewest lines of a row that is suspicious though other columns are blank, or there are none.
MIN_LINES = 3
#: Fewest words of each line in a row of fewer lines, in a file with one column.
MIN_WORDS = 3
#: Share of the other rows with a value in quotes, from which quoting is usual in the file.
USUAL = 0.1
#: Share of the rows on several lines that must seem to be several where other columns say little,
#: and where they say more.
MIN_SHARE, MIN_LIKELY = 0.5, 0.05
#: With one column: share of rows on several lines up to which they are suspicious, and the factor
#: by which the lengths of their lines may differ from those of other rows if they are more.
FEW_JOINED, ALIKE_LENGTH = 0.1, 1.5

#: First and last line of a row.
Span = tuple[int, int]
#: What other columns say of a row on several lines: it is several rows; it is likely to be; it may
#: be; there are no other columns; or it is one row.
Evidence = Literal["strong", "likely", "weak", "alone", "none"]
#: Common properties of the values of a column, see `_Column`.
Kind = Literal["ids", "categories", "blank", "shape", "words"]


@dataclass(frozen=True)
class _Column:
    """Properties that all values of a column have, and that lines of a paragraph seldom have."""

    #: "ids" are whole numbers that increase, "categories" are few different values, "blank" means
    #: no values, "shape" means values of one form such as `user 7`, and "words" are texts without
    #: blanks.
    kind: Kind
    #: The categories, or the form.
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, values: Sequence[str]) -> _Column | None:
        """Return the kind of a column; None if its values are any text."""
        known = frozenset(values)
        if not any(map(str.strip, known)):
            return cls("blank")
        if _increase(values):
            return cls("ids")
        if len(known) <= MAX_CATEGORIES and 2 * len(known) <= len(values):
            return cls("categories", known)
        shapes = frozenset(map(_shape, known))
        if len(shapes) == 1 and len(known) >= REPEATED:
            return cls("shape", shapes)
        if all(value and not re.search(r"\s", value) for value in known):
            return cls("words")
        return None

    def alike(self, texts: Sequence[str], following: str) -> list[bool]:
        """Return True for each text that is like the values of the column, else False."""
        if self.kind == "ids":
            ids = [*texts, following] if following else texts
            return [_increase(ids)] * len(texts)
        if self.kind == "words":
            return [bool(text) and not re.search(r"\s", text) for text in texts]
        if self.kind == "blank":
            return [not text.strip() for text in texts]
        if self.kind == "shape":
            return [_shape(text) in self.known for text in texts]
        times = Counter(texts)
        return [
            text in self.known or (times[text] >= REPEATED and bool(re.search(r"\w", text)))
            for text in texts
        ]

    def evidence(
        self, texts: Sequence[str], cell: str, *, all_rows: bool, at_end: bool
    ) -> Evidence:
        """Return a measure of how unlikely lines that are like the values are a paragraph."""
        # `cell`: The value of the column as it was read; one of the texts.
        # `at_end`: True if tabs separate the columns and this column follows the text. Hardly any
        # paragraph has a tab at the end of each line, but tabs at the start indent lines.
        if self.kind == "ids":
            return "strong"
        if self.kind == "blank":
            if all_rows and at_end:
                return "strong"
            return "likely" if all_rows and len(texts) >= MIN_LINES else "weak"
        if self.kind == "shape":  # a form with letters or signs beside digits
            (shape,) = self.known
            return "strong" if "9" in shape and not NUMERIC_VALUE.fullmatch(shape) else "weak"
        others = [text for text in texts if text.strip()]
        if cell in others:
            others.remove(cell)
        if self.kind == "words" or not others:
            return "weak"
        numeric = all(map(NUMERIC_VALUE.fullmatch, filter(str.strip, self.known)))
        return "strong" if not numeric or len(others) > 1 or all_rows else "weak"


def _shape(text: str) -> str:
    """Return the form of a value: `a` for letters and `9` for digits, so `user 7` is `a 9`."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))


def _increase(texts: Sequence[str]) -> bool:
    """Return True if texts are whole numbers, each larger than the one before."""
    digits = [text.lstrip("0") for text in texts if text.isdecimal()]
    pairs = pairwise(digits)  # int refuses numbers of more than 4,300 digits
    return len(digits) == len(texts) and all((len(a), a) < (len(b), b) for a, b in pairs)


def joined_rows(
    rows: Mapping[int, Sequence[str]], spans: Mapping[int, Span], delimiter: str, lines: TextIO
) -> list[Span]:
    """Return the lines of each row that seems to be several rows, joined by stray quotes."""
    # A row seems so if two conditions hold for its first line and for at least half of its other
    # lines. First, the line has as many columns as the table. Second, its columns other than the
    # text are like those of rows on one line: a category, a form, or an identifier between those of
    # its neighbours. If these columns are little evidence, every line must be a row, and half of
    # the rows on several lines must seem so. Quoting must then not be usual in the file, because
    # where it is usual, a value with a line end in quotes is no surprise.
    single = [row for line, row in rows.items() if line not in spans]
    table = single or [*rows.values()]
    next_row = dict(pairwise(rows))
    columns = [_Column.of([row[j] for row in table]) for j in range(len(table[0]))]
    # Paragraphs have a blank after a comma; rows hardly ever have.
    with_blank = [any(row[j][:1].isspace() for row in table) for j in range(len(table[0]))]
    by_evidence: dict[Evidence, list[Span]] = {
        "strong": [],
        "likely": [],
        "weak": [],
        "alone": [],
        "none": [],
    }
    for line, span in spans.items():
        following = rows.get(next_row.get(line, 0), [""] * len(columns))
        evidence = _evidence(rows[line], following, columns, with_blank, delimiter)
        by_evidence[evidence].append(span)
    found, likely, weak, alone, _ = by_evidence.values()
    if len(found) + len(likely) >= MIN_LIKELY * len(spans):
        found = found + likely
    if len(found) + len(weak) < MIN_SHARE * len(spans):
        weak = []
    if alone and len(alone) > max(1, FEW_JOINED * len(rows)):
        texts = [text for line, span in spans.items() for text in LINE_END.split(rows[line][0])]
        lengths = sorted((median(map(len, texts)), median(len(row[0]) for row in table)))
        if not single or len(alone) < len(spans) or lengths[1] > ALIKE_LENGTH * lengths[0]:
            alone = []
    if (weak or alone) and _quoted(lines, delimiter, spans.values()) < USUAL * len(single) + 1:
        found += weak
        if alone and not _quoted(lines, delimiter, spans.values()):
            found += alone
    return sorted(found)


def _evidence(
    row: Sequence[str],
    following: Sequence[str],
    columns: Sequence[_Column | None],
    with_blank: Sequence[bool],
    delimiter: str,
) -> Evidence:
    """Return a measure of how likely a row on several lines is several rows."""
    # `with_blank`: True for a column where values of rows on one line begin with a blank.
    texts = LINE_END.split(delimiter.join(row))
    pieces = [text.split(delimiter) if len(row) > 1 else [text] for text in texts]

    def may_be_row(piece: Sequence[str]) -> bool:
        if len(piece) != len(row) or not any(piece):
            return False
        # A decimal number is no end of one value and start of the next.
        decimal = delimiter == "," and any(a[-1:].isdigit() and b[:1].isdigit()
                                           for a, b in pairwise(piece))  # fmt: skip
        blank = any(
            cell[:1].isspace() and bool(cell.strip()) and not usual
            for cell, usual in zip(piece[1:], with_blank[1:], strict=True)
        )
        return not decimal and not blank

    regular = [piece for piece in pieces if may_be_row(piece)]
    needed = 1 + max(1, (len(pieces) - 1) / 2)
    if not may_be_row(pieces[0]) or len(regular) < needed:
        return "none"
    if len(row) == 1:
        all_rows = len(regular) == len(pieces) and all(map(str.strip, texts))
        plain = '"' not in row[0] and delimiter not in row[0]
        enough = len(texts) >= MIN_LINES or (
            delimiter != "\t" and min(len(text.split()) for text in texts) >= MIN_WORDS
        )
        return "alone" if all_rows and plain and enough else "none"
    others = [j for j, cell in enumerate(row) if not LINE_END.search(cell)]
    used = {j: column for j in others if (column := columns[j])}
    alike = [
        column.alike([piece[j] for piece in regular], following[j]) for j, column in used.items()
    ]
    are_rows = [all(flags) for flags in zip(*alike, strict=True)] if used else [True] * len(regular)
    if not are_rows[0] or sum(are_rows) < needed:
        return "none"
    kept = [piece for piece, is_row in zip(regular, are_rows, strict=True) if is_row]
    all_rows = len(kept) == len(pieces)
    text = next((j for j, cell in enumerate(row) if LINE_END.search(cell)), len(row))
    found = {
        column.evidence(
            [piece[j] for piece in kept],
            row[j],
            all_rows=all_rows,
            at_end=delimiter == "\t" and j > text,
        )
        for j, column in used.items()
    }
    if "strong" in found or "likely" in found:
        return "strong" if "strong" in found else "likely"
    return "weak" if all_rows and '"' not in "".join(row) else "none"


def is_regular(lines: TextIO, delimiter: str, columns: int) -> bool:
    """Return True if every line is a row without quoting: it has `columns` columns or is blank."""
    # If there is one column, every line is a row.
    lines.seek(0)
    head = lines.readline()
    if '"' in head or head.count(delimiter) != columns - 1:
        return False
    if columns == 1:
        return True
    return all(line.count(delimiter) == columns - 1 or not line.strip() for line in lines)


def _quoted(lines: TextIO, delimiter: str, spans: Iterable[Span]) -> int:
    """Return the number of lines outside the spans that have a value in quotes."""
    d = re.escape(delimiter)
    quoted = re.compile(rf'(?:^|{d})"(?:[^"]|"")*"(?:{d}|\s*$)')
    inside: set[int] = set()
    for first, last in spans:
        inside.update(range(first, last + 1))
    lines.seek(0)
    return sum(
        number not in inside and '"' in line and bool(quoted.search(line))
        for number, line in enumerate(lines, start=1)
    )


def unquoted_rows(lines: TextIO, delimiter: str) -> Iterator[list[str]]:
    """Yield the values of each line; quotes are characters."""
    # A line is one value if the first one has no separator.
    several = None
    for line in lines:
        text = line.rstrip("\r\n")
        several = delimiter in text if several is None else several
        yield (text.split(delimiter) if several else [text]) if text else []
