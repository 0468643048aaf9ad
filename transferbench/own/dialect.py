"""The dialect of a text file: encoding, byte order mark, separator, quoting and line ends.

Readers find the dialect of a file. Predictions are written in the dialect of the target.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from transferbench.errors import UserError, brief
from transferbench.messages import counted
from transferbench.user_files import MAX_LINE as MAX_LINE

if TYPE_CHECKING:
    from transferbench.own.documents import ReadOptions

#: Byte order marks. That of UTF-32 begins with that of UTF-16, so it comes first.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
#: Encodings of several bytes a character, whose order of bytes the mark names.
WIDE = ("utf-16", "utf-32")
#: Bytes, from the first line that is not ASCII on, by which chardet recognises an encoding.
SAMPLE_BYTES = 2**18
#: Confidence of chardet from which another script than the named encoding's is likely.
MIN_CONFIDENCE = 0.1
#: Separators that are tried; | only if it separates a column that is wanted.
DELIMITERS = (",", ";", "\t", "|")
#: Names of separators that are hard to type.
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class Dialect:
    """The dialect of a text file."""

    #: Encoding of the text after the byte order mark.
    encoding: str = "utf-8"
    #: True if the file begins with a byte order mark.
    mark: bool = False
    delimiter: str = ","
    #: False if quotes are characters of the texts, as in TSV without quoting.
    quoted: bool = True
    line_end: str = "\n"


#: Of files that are no tables, and of JSON lines.
DEFAULT = Dialect()


def decode(path: Path, options: ReadOptions) -> tuple[TextIO, Dialect]:
    """Return the text of a file, and its encoding and byte order mark as a Dialect."""
    # The encoding is that of the byte order mark, else UTF-8 if the file is valid UTF-8, else the
    # named one. A warning says if it is not the named one.
    # Raises UserError: if the encoding is unknown, if it does not have some bytes (the message has
    # their line), or if a line has more than MAX_LINE bytes.
    content = path.read_bytes()
    for number, row in enumerate(io.BytesIO(content), start=1):
        if len(row) > MAX_LINE < (size := max(map(len, row.split(b"\r")))):
            remedy = "split the document, or correct the line ends of the file"
            fault = f"a line of {size:,} bytes, expected at most {MAX_LINE:,}"
            raise UserError(f"{path}:{number}: {fault}; {remedy}.")
    named = _codec(options.encoding)
    mark = next((mark for mark in MARKS if content.startswith(mark)), b"")
    used = MARKS[mark] if mark else _without_mark(path, content, named, options)
    if mark and named != "utf-8" and not used.startswith(named.removesuffix("-sig")):
        why = f"it begins with the byte order mark of {used.upper()}"
        warn(f"{path}: {why} and is read so, not as {named.upper()}")
    # A stream of the codec `utf-16` skips the mark, also after it is rewound.
    of_stream = {"utf-8": "utf-8-sig"}.get(used, used.rpartition("-")[0]) if mark else used
    dialect = Dialect(used, bool(mark))
    try:
        content.decode(of_stream)
    except UnicodeDecodeError as error:
        start = error.start + len(mark) * (of_stream == "utf-8-sig")
        raise _wrong_byte(path, content, dialect, start, options) from None
    # StringIO would take four bytes for each character.
    return io.TextIOWrapper(io.BytesIO(content), of_stream, newline=""), dialect


def _codec(encoding: str) -> str:
    """Return Python's name of an encoding of texts."""
    try:
        "a".encode(encoding)
        "é".encode().decode(encoding, "replace")  # an error of codecs that are for no texts
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        expected = "expected one such as utf-8, cp1252 or shift_jis"
        raise UserError(f"encoding {brief(encoding)}: {expected}.") from None


def _without_mark(path: Path, content: bytes, named: str, options: ReadOptions) -> str:
    """Return the encoding of a file without byte order mark; warn if it seems to be another."""
    is_wide, has_nul = named.startswith(WIDE), b"\0" in content
    if has_nul and named in WIDE:
        names = " or ".join(options.setting("encoding", f"{named}-{end}") for end in ("le", "be"))
        raise UserError(f"{path}: it has no byte order mark of {named.upper()}; name {names}.")
    # Encodings that shift by an escape look like ASCII.
    unusual = re.compile(rb"\0" if named.startswith("iso2022") else rb"[\0-\x08\x0e-\x1f]")
    if not is_wide and (first := unusual.search(content)):
        number = len(unusual.findall(content))
        line = content.count(b"\n", 0, first.start()) + 1
        count = f"{counted(number, 'control character')}, first in line {line}"
        remedy = options.setting("encoding", likely(content) or "NAME")
        warn(f"{path}: {count}; remove them, or name the encoding of the file: {remedy}")
    # Files of UTF-16 and UTF-32 have NUL bytes; those of ISO-2022 look like ASCII.
    if named.startswith("utf-8") or (has_nul if is_wide else content.isascii()):
        return named
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        _warn_of_another(path, content, named, error.start, options)
        return named
    warn(f"{path}: it is valid UTF-8 and is read so, not as {named.upper()}")
    return "utf-8"


def _warn_of_another(
    path: Path, content: bytes, named: str, start: int, options: ReadOptions
) -> None:
    """Warn of characters of UTF-8 in another encoding, and of a likely other script."""
    # `start`: The first byte that is not UTF-8.
    is_western = "é".encode().decode(named, "replace") == "Ã©"
    found = likely(content, MIN_CONFIDENCE) if is_western else ""
    letters = {c for c in content.decode(found or "ascii", "ignore") if c > "\x7f" and c.isalpha()}
    valid, wrong = _count_valid(content)
    if letters and not any(unicodedata.name(c, "").startswith("LATIN") for c in letters):
        why = f"it is read as {named.upper()}, but looks like {found.upper()}"
        warn(f"{path}: {why}; if it is, name {options.setting('encoding', found)}")
    elif valid > max(1, wrong / 5 if is_western else wrong):  # Ã© and the like are rare
        why = f"{counted(valid, 'character')} of it are UTF-8, {counted(wrong, 'byte')} not"
        where = f"first in line {_line(content, start)}"
        remedy = "if it is UTF-8, correct these bytes"
        warn(f"{path}: {why}, {where}; it is read as {named.upper()}: {remedy}")


def likely(content: bytes, least: float = 0.0) -> str:
    """Return the encoding that chardet finds with this confidence, "" if it lacks some bytes."""
    import chardet

    first = re.search(rb"[\x80-\xff]", content)
    start = content.rfind(b"\n", 0, first.start()) + 1 if first else 0
    start = 0 if b"\0" in content else start  # UTF-16 has two bytes a line end
    found = chardet.detect(
        content[start : start + SAMPLE_BYTES], prefer_superset=True, max_bytes=SAMPLE_BYTES,
        encoding_era=chardet.EncodingEra.MODERN_WEB,
    )  # fmt: skip
    try:
        name = codecs.lookup(found["encoding"] or "").name
        content.decode(name)
    except (LookupError, UnicodeDecodeError):
        return ""
    return name if found["confidence"] >= least else ""


def _count_valid(content: bytes) -> tuple[int, int]:
    """Return the numbers of characters beyond ASCII that are valid UTF-8, and of wrong bytes."""
    text = content.decode("utf-8", "replace")
    wrong = text.count("\ufffd") - content.count("\ufffd".encode())
    ascii_bytes = len(content.translate(None, bytes(range(128, 256))))
    return len(text) - ascii_bytes - wrong, wrong


def _line(content: bytes, position: int) -> int:
    """Return the number of the line of a byte; lines end with LF, or with CR if there is none."""
    end = b"\n" if b"\n" in content else b"\r"
    return content.count(end, 0, position) + 1


def _wrong_byte(
    path: Path, content: bytes, dialect: Dialect, start: int, options: ReadOptions
) -> UserError:
    """Return the error for a byte that is not in the encoding."""
    name = dialect.encoding
    byte = start - content.rfind(b"\n" if b"\n" in content else b"\r", 0, start)
    valid, wrong = _count_valid(content)
    if dialect.mark:
        why = ", whose byte order mark the file has; save the whole file in one encoding"
    elif name.startswith("utf-8") and valid > wrong:
        why = f", but {valid} other characters are; correct this line, or save the file in UTF-8"
    else:
        found = likely(content)
        why = f"; it looks like {found.upper()}" if found else ""
        remedy = f"name its encoding: {options.setting('encoding', found or 'NAME')}"
        why += f"; {remedy}, or save it in UTF-8"
    return UserError(f"{path}:{_line(content, start)}: byte {byte} is not {name.upper()}{why}.")


def find_delimiter(head: str, suffix: str, options: ReadOptions) -> str:
    """Return the separator of the columns of a table: the named one, or that of its first line."""
    # The first line has the separator that separates most of the wanted columns. If several do, it
    # is the most frequent one, and on a tie that of the suffix. Spreadsheets write semicolons where
    # the comma is the decimal sign.
    if name := options.delimiter:
        delimiter = NAMED_DELIMITERS.get(name.casefold(), name)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            expected = f"expected one character, or one of {', '.join(NAMED_DELIMITERS)}"
            raise UserError(f"delimiter {brief(name)}: {expected}.")
        return delimiter
    usual = "\t" if suffix == ".tsv" else ","
    plain = head if options.quoting == "none" else re.sub('"[^"]*"', "", head)
    wanted = {name.strip().casefold() for name in (options.text, options.label)}

    def found(delimiter: str) -> int:
        cells = next(csv.reader([head], delimiter=delimiter), [])
        if options.quoting == "none":
            cells = head.split(delimiter)
        return len(wanted & {cell.strip().casefold() for cell in cells})

    tried = [d for d in dict.fromkeys((usual, *DELIMITERS)) if d in plain]
    tried = [d for d in tried if d != "|" or found(d)]
    return max(tried, key=lambda d: (found(d), plain.count(d)), default=usual)


def warn(message: str) -> None:
    """Print a warning about the way in which a file was read."""
    warnings.warn(message, stacklevel=4)
