"""Labels that differ in notation only: one class that became two.

Labels stay the texts that they are. A warning names those that look alike.
"""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from unicodedata import category, decimal, normalize

#: Characters that look like a Latin letter: Cyrillic and Greek ones, and ı, ɡ, ℓ.
LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԌ" "аеѕіјорсухһԁԛԝӏ" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" "οανιυ" "ıɡ",
    "ABESIJKMHOPCTYXG" "aesijopcyxhdqwl" "ABEZHIKMNOPTYX" "oaviu" "ig",
)  # fmt: skip
#: Characters of other categories than Cf that show nothing.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f]"
)
#: Signs in several forms, and the usual one. Other dashes are of the category Pd.
SIGNS = str.maketrans("\u2212\u2043\u2018\u2019\u02bc\u2032`\u00b4\u201c\u201d\u201e\u2033",
                      "--''''''\"\"\"\"")  # fmt: skip
NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*)|,([0-9]{1,2}))?(?:e([+-]?[0-9]{1,6}))?")
#: Most groups of alike labels that are named, and most labels that are compared.
MAX_GROUPS, MAX_COMPARED = 5, 10_000


def warn_of_alike(counts: Mapping[tuple[str, str], int], path: Path) -> None:
    """Warn of labels that differ only in Unicode form, case, blanks or notation.

    Parameters
    ----------
    counts
        Numbers of documents by label and file.
    path
        The file or folder that the warning begins with.
    """
    names = sorted({name for name, _ in counts})
    if len(names) > MAX_COMPARED:
        return
    by_form: dict[str, list[str]] = {}
    for name in names:
        for form in _forms(name):
            by_form.setdefault(form, []).append(name)
    groups = dict.fromkeys(tuple(group) for group in by_form.values() if len(group) > 1)
    largest = [g for g in groups if not any(set(g) < set(other) for other in groups)]
    for group in largest[:MAX_GROUPS]:
        where = "; ".join(f"{name!a} is {_documents(counts, name)}" for name in group[:MAX_GROUPS])
        listed = ", ".join(map(ascii, group[:10]))
        warnings.warn(
            f"{path}: labels {listed} differ only in Unicode form, case, blanks or notation "
            f"({where}); each is a class of its own; write them alike if they are one",
            stacklevel=2,
        )
    if len(largest) > MAX_GROUPS:
        more = len(largest) - MAX_GROUPS
        warnings.warn(f"{path}: {more} more groups of labels look alike", stacklevel=2)


def _documents(counts: Mapping[tuple[str, str], int], name: str) -> str:
    """Return the number of documents of a label in each file, in words."""
    parts = [(n, file) for (label, file), n in counts.items() if label == name]
    return ", ".join(f"{n} {'document' if n == 1 else 'documents'} of {file}" for n, file in parts)


def like(name: str, names: Collection[str]) -> str:
    """Return the first other name that looks like a name, "" if none does."""
    if len(names) > MAX_COMPARED:
        return ""
    forms = _forms(name)
    return next((other for other in names if other != name and forms & _forms(other)), "")


def _forms(name: str) -> set[str]:
    """Return plain forms of a label; alike labels have one in common."""
    texts = {name, html.unescape(name)}
    with suppress(UnicodeError):  # UTF-8 that was read as cp1252
        texts.add(name.encode("cp1252").decode())
    return {_plain(form) for text in texts for form in (text, text.translate(LOOKALIKES))}


def _plain(text: str) -> str:
    """Return a text without case, blanks, invisible characters and enclosing quotes.

    Numbers have one notation: 1, +1, 01, 1.0 and 1e0 are 1.
    """
    text = INVISIBLE.sub("", normalize("NFKC", text))
    text = "".join(
        "-" if category(c) == "Pd" else f"{decimal(c)}" if c.isdecimal() else c
        for c in text
        if not c.isspace() and category(c) != "Cf"
    )
    plain = text.translate(SIGNS).casefold()
    if len(plain) > 2 and plain[0] == plain[-1] and plain[0] in "\"'":
        plain = plain[1:-1]
    match = NUMBER.fullmatch(plain)
    if not match or not (match[2] or match[3] or match[4]):
        return normalize("NFKC", plain)
    sign, whole, point, comma, exponent = (part or "" for part in match.groups())
    fraction = point or comma
    digits = (whole + fraction).lstrip("0")
    shift = int(exponent or 0) - len(fraction) + len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    return f"{sign.strip('+')}{digits}e{shift}" if digits else "0"
