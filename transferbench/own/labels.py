"""Warn of labels that differ only in notation, because one class may have become two.

Labels are never changed. A warning names those that look alike.
"""

from __future__ import annotations

import html
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal
from unicodedata import category, decimal, is_normalized, normalize

#: Characters that look like a Latin letter: Cyrillic, Greek and Armenian ones, and ı, ɡ, ɑ.
LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԌҮѴ" "аеѕіјорсухһԁԛԝӏкмтнвгпьүѵ" "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" "οανιυκρχγητϲϳ" "օսհոց" "ıɡɑ",
    "ABESIJKMHOPCTYXGYV" "aesijopcyxhdqwlkmthbrnbyv" "ABEZHIKMNOPTYX" "oaviukpxyntcj" "ouhng" "iga",
)  # fmt: skip
#: Characters of other categories than Cf that show nothing.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f]"
)
#: Signs in several forms, and the usual one. Other dashes are of the category Pd.
SIGNS = str.maketrans(
    "\u2212\u2043\u2018\u2019\u201a\u201b\u2039\u203a\u02bc\u2032`\u00b4"
    "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033",
    "--" + 10 * "'" + 7 * '"',
)
#: The small form of İ, which has its dot as a character of its own.
DOTTED = "i\u0307"
#: A number in one of its notations.
NOTATION = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*)|,([0-9]{1,2}))?(?:e([+-]?[0-9]{1,6}))?")
#: A whole number with separators of thousands.
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:([.,'_])[0-9]{3})(?:\1[0-9]{3})*")
#: Signs that join words, one of which ends or begins with a letter.
JOINTS = re.compile(r"(?<=[^\W\d_])[-_]+(?=[^\W_])|(?<=[^\W_])[-_]+(?=[^\W\d_])")
#: A code of a section or an industry, such as 1.10, which is another one than 1.1.
CODE = re.compile(r"(0?[1-9][0-9]*)\.[1-9][0-9]*")
#: Codes with the same first number in one file, from which they are no decimal numbers.
MIN_CODES = 3
#: Most groups of alike labels that are named, and most labels that are compared.
MAX_GROUPS, MAX_COMPARED = 5, 10_000


def warn_of_alike(counts: Mapping[tuple[str, str], int], path: Path) -> None:
    """Warn of labels that differ only in Unicode form, case, blanks or notation."""
    # Codes such as 1.1 and 1.10 are different labels, although these decimal numbers are equal; see
    # `_are_codes`.
    names = sorted({name for name, _ in counts})
    if len(names) > MAX_COMPARED:
        return
    by_form: dict[str, list[str]] = {}
    for name in names:
        for form in _forms(name):
            by_form.setdefault(form, []).append(name)
    groups = dict.fromkeys(tuple(group) for group in by_form.values() if len(group) > 1)
    largest = [g for g in groups if not any(set(g) < set(other) for other in groups)]
    largest = [group for group in largest if not _are_codes(group, counts)]
    for group in largest[:MAX_GROUPS]:
        kind = _kind(group)
        where = "; ".join(
            f"{_shown(name, kind)} is {_documents(counts, name)}" for name in group[:MAX_GROUPS]
        )
        listed = ", ".join(_shown(name, kind) for name in group[:10])
        warnings.warn(
            f"{path}: labels {listed} differ only by {kind} ({where}); each is a class of its own; "
            "write them alike if they are one",
            stacklevel=2,
        )
    if len(largest) > MAX_GROUPS:
        more = len(largest) - MAX_GROUPS
        warnings.warn(f"{path}: {more} more groups of labels look alike", stacklevel=2)


def _are_codes(group: Sequence[str], counts: Mapping[tuple[str, str], int]) -> bool:
    """Return True if labels are codes: one file has all of them, and others like them."""
    first = {match[1] if (match := CODE.fullmatch(name)) else "" for name in group}
    if len(first) > 1 or "" in first:
        return False
    (number,) = first
    for file in {file for _, file in counts}:
        names = {name for name, of_file in counts if of_file == file}
        codes = [n for n in names if (match := CODE.fullmatch(n)) and match[1] == number]
        if names.issuperset(group) and len(codes) >= MIN_CODES:
            return True
    return False


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


def difference(name: str, other: str) -> str:
    """Return in words how a label differs from another one that looks like it."""
    kind = _kind((name, other))
    return f"{_shown(name, kind)} differs from {_shown(other, kind)} only by {kind}"


def _shown(name: str, kind: str) -> str:
    """Return a label in quotes, with escapes for invisible characters and for lookalikes."""
    hidden = "".join(INVISIBLE.findall(name))  # repr escapes the other invisible characters
    if kind == "letters that look alike":
        hidden += "".join(c for c in name if c != c.translate(LOOKALIKES))
    elif kind == "Unicode form" and not is_normalized("NFC", name):
        hidden += "".join(c for c in name if not c.isascii())
    text = repr(name)
    for character in {*hidden}:
        text = text.replace(character, ascii(character)[1:-1])
    return text


def _kind(group: Collection[str]) -> str:
    """Return in words the difference of alike labels: the first step that makes them equal."""
    for kind, step in STEPS.items():
        if len({step(name) for name in group}) == 1:
            return kind
    return "Unicode form, case, blanks or notation"


def _forms(name: str) -> set[str]:
    """Return plain forms of a label; alike labels have one in common."""
    texts = {name, html.unescape(name), _redecoded(name)}
    plain = {_plain(form) for text in texts for form in (text, text.translate(LOOKALIKES))}
    return plain | {_number(_without_thousands(_folded(name))) or form for form in plain}


def _plain(text: str) -> str:
    """Return a text without case, blanks, invisible characters and enclosing quotes."""
    # Numbers get one notation: 1, +1, 01, 1.0 and 1e0 become 1. Words get no signs between them.
    folded = _folded(text)
    return _number(folded) or normalize("NFKC", _joined(folded))


def _folded(text: str) -> str:
    visible = "".join(f"{decimal(c)}" if c.isdecimal() else c for c in _visible(text, "NFKC"))
    return _unquoted(_with_plain_signs("".join(visible.split())).casefold()).replace(DOTTED, "i")


def _joined(text: str) -> str:
    """Return a text without hyphens and underscores between words, as in very-good."""
    return JOINTS.sub("", text)


def _without_thousands(text: str) -> str:
    """Return a whole number without separators of thousands, any other text as it is."""
    return re.sub("[.,'_]", "", text) if THOUSANDS.fullmatch(text) else text


def _redecoded(text: str) -> str:
    """Return the true text if UTF-8 was read as cp1252; return any other text as it is."""
    with suppress(UnicodeError):
        return text.encode("cp1252").decode()
    return text


def _visible(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """Return a normalized text without invisible characters but blanks."""
    text = INVISIBLE.sub("", normalize(form, text))
    return "".join(c for c in text if category(c) != "Cf")


def _with_plain_signs(text: str) -> str:
    """Return a text with the usual dashes and quotes."""
    return "".join("-" if category(c) == "Pd" else c for c in text).translate(SIGNS)


def _unquoted(text: str) -> str:
    """Return a text without enclosing quotes."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _number(text: str) -> str | None:
    """Return the one notation of a folded number; None for another text."""
    match = NOTATION.fullmatch(text)
    if not match or not (match[2] or match[3] or match[4]):
        return None
    sign, whole, point, comma, exponent = (part or "" for part in match.groups())
    fraction = point or comma
    digits = (whole + fraction).lstrip("0")
    shift = int(exponent or 0) - len(fraction) + len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    return f"{sign.strip('+')}{digits}e{shift}" if digits else "0"


#: What alike labels may differ by, and what makes them equal then.
STEPS: dict[str, Callable[[str], str]] = {
    "a blank at the end": str.rstrip,
    "a blank at the beginning": str.lstrip,
    "blanks": lambda text: "".join(text.split()),
    "Unicode form": lambda text: normalize("NFC", text),
    "width or another form of characters": lambda text: normalize("NFKC", text),
    "case": lambda text: text.casefold().replace(DOTTED, "i"),
    "invisible characters": _visible,
    "letters that look alike": lambda text: text.translate(LOOKALIKES),
    "kinds of dashes or quotes": _with_plain_signs,
    "enclosing quotes": lambda text: _unquoted(_with_plain_signs(text)),
    "signs between words": lambda text: _joined("".join(text.split())),
    "the notation of a number": lambda text: _number(_folded(text)) or text,
    "separators of thousands": lambda text: _number(_without_thousands(_folded(text))) or text,
    "HTML entities": html.unescape,
    "encoding (UTF-8 that was read as cp1252)": _redecoded,
}
