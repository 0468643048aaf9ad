"""Warn of labels that look alike, because one class may have become two; no label is changed.

Labels look alike if they are the same number, or the same text in the Unicode form NFKC without
case, dots of i, invisible characters, quotes around it, and forms of dashes, apostrophes and
blanks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from unicodedata import category, is_normalized, normalize

from transferbench.messages import counted

#: Characters of other categories than Cf that show nothing.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
#: Signs and their usual forms; other dashes are of the category Pd.
SIGNS = str.maketrans("\u2212\u2018\u2019\u02bc\u0131", "-'''i")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,6})?")
#: What labels that look alike may differ by.
DIFFERENCES = "case, blanks, Unicode form, invisible characters, signs or a number's notation"
#: Most groups of alike labels that are named.
MAX_GROUPS = 5


def warn_of_alike(counts: Mapping[tuple[str, str], int], path: Path) -> None:
    """Warn of labels that look alike, given the number of documents of each label and file."""
    groups: dict[str | Decimal, dict[tuple[str, str], int]] = {}
    for (name, file), n in sorted(counts.items()):
        groups.setdefault(_form(name), {})[name, file] = n
    alike = []
    for form, group in groups.items():
        # Decimal numbers of one file in two notations, such as 1.1 and 1.10, are codes of sections.
        is_decimal = isinstance(form, Decimal) and form != form.to_integral_value()
        is_one_file = len({file for _, file in group}) < len(group)
        if len({name for name, _ in group}) > 1 and not (is_decimal and is_one_file):
            alike.append(group)
    for group in alike[:MAX_GROUPS]:
        places = [
            f"{_shown(name)} is {counted(n, 'document')} of {file}"
            for (name, file), n in group.items()
        ]
        warnings.warn(
            f"{path}: labels differ only by {DIFFERENCES} ({'; '.join(places[:10])}); each is a "
            "class of its own; write them alike if they are one",
            stacklevel=2,
        )
    if len(alike) > MAX_GROUPS:
        more = len(alike) - MAX_GROUPS
        warnings.warn(f"{path}: {more} more groups of labels look alike", stacklevel=2)


@lru_cache(10_000)
def is_blank(name: str) -> bool:
    """Return True if nothing of a label can be seen."""
    return _form(name) == ""


def like(name: str, names: Collection[str]) -> str:
    """Return the first other name that looks like a name, "" if none does."""
    form = _form(name)
    return next((other for other in names if other != name and _form(other) == form), "")


def difference(name: str, other: str) -> str:
    """Return in words how a label differs from another one that looks like it."""
    return f"{_shown(name)} differs from {_shown(other)} only by {DIFFERENCES}"


def _form(name: str) -> str | Decimal:
    """Return what alike labels have in common."""
    visible = "".join(c for c in normalize("NFKC", name) if category(c) != "Cf")
    text = "".join("-" if category(c) == "Pd" else c for c in visible).translate(SIGNS)
    text = " ".join(INVISIBLE.sub("", text).casefold().replace("i\u0307", "i").split())
    text = text.strip("'\"") or text  # a quote alone can be seen
    return Decimal(text) if NUMBER.fullmatch(text) else text


def _shown(name: str) -> str:
    """Return a label in quotes, with escapes for what cannot be seen."""
    hidden = INVISIBLE.findall(name)  # repr escapes the other invisible characters
    if not is_normalized("NFC", name):
        hidden = [c for c in name if not c.isascii()]
    text = repr(name)
    for character in {*hidden}:
        text = text.replace(character, ascii(character)[1:-1])
    return text
