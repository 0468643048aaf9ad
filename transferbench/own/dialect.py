"""The dialect of a text file: encoding, byte order mark, separator, quoting and line ends.

Readers find the dialect of a file. Predictions are written in the dialect of the target.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from transferbench.errors import UserError, brief
from transferbench.messages import counted
from transferbench.own import encodings
from transferbench.user_files import MAX_LINE as MAX_LINE

#: Byte order marks. That of UTF-32 begins with that of UTF-16, so it comes first.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
#: Encodings by the bytes of each four that are NUL in ASCII text.
NUL_BYTES = {
    (1, 3): "utf-16-le",
    (0, 2): "utf-16-be",
    (1, 2, 3): "utf-32-le",
    (0, 1, 2): "utf-32-be",
}
#: Number of bytes at the start of a file that `NUL_BYTES` looks at.
START = 64
#: Separators that are tried; | only if it separates a column that is wanted.
DELIMITERS = (",", ";", "\t", "|")
#: Names of separators that are hard to type.
NAMED_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
#: Encodings of Excel by region: Western Europe, Korea, Japan, China and Taiwan.
EXAMPLES = ("cp1252", "cp949", "cp932", "gb18030", "cp950")
#: Characters that every encoding which extends ASCII writes as ASCII does.
ASCII = '\n\r\t ",;|0Aa'


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


def decode(path: Path, encoding: str) -> tuple[TextIO, Dialect]:
    """Return the text of a file, and its encoding and byte order mark as a Dialect."""
    # A file with a byte order mark has the encoding of the mark. For other files UTF-8 is tried
    # first, and the named encoding is used if this fails. If the encoding is not the named one, a
    # warning says so.
    # Raises UserError: if the encoding is unknown, if it does not have some bytes (the message has
    # their line), or if a line has more than MAX_LINE bytes.
    content = path.read_bytes()
    for number, row in enumerate(io.BytesIO(content), start=1):
        if len(row) > MAX_LINE < (size := max(map(len, row.split(b"\r")))):
            remedy = "split the document, or correct the line ends of the file"
            fault = f"a line of {size:,} bytes, expected at most {MAX_LINE:,}"
            raise UserError(f"{path}:{number}: {fault}; {remedy}.")
    name = _codec(encoding)
    mark = next((mark for mark in MARKS if content.startswith(mark)), b"")
    if mark:
        used = MARKS[mark]
        if name != "utf-8" and not used.startswith(name.removesuffix("-sig")):
            why = f"it begins with the byte order mark of {used.upper()}"
            warn(f"{path}: {why} and is read so, not as {name.upper()}")
    else:
        used = _without_mark(path, content, name)
    # A stream of the codec `utf-16` skips the mark, also after it is rewound.
    of_stream = {"utf-8": "utf-8-sig"}.get(used, used.rpartition("-")[0]) if mark else used
    try:
        content.decode(of_stream)
    except UnicodeDecodeError as error:
        raise _wrong_byte(path, content, used, error, bool(mark)) from None
    # StringIO would take four bytes for each character.
    lines = io.TextIOWrapper(io.BytesIO(content), of_stream, newline="")
    return lines, Dialect(used, bool(mark))


def _codec(encoding: str) -> str:
    """Return Python's name of an encoding of texts."""
    try:
        "a".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        expected = "expected one such as utf-8, cp1252 or shift_jis"
        raise UserError(f"encoding {brief(encoding)}: {expected}.") from None


def _without_mark(path: Path, content: bytes, name: str) -> str:
    """Return the encoding of a file without byte order mark."""
    # It is UTF-8 if the file is valid UTF-8 with other characters than ASCII, else the named one.
    of_bytes = ASCII.encode(name) == ASCII.encode()
    if not of_bytes and not name.startswith(("utf-16", "utf-32")):
        return name  # such as ISO-2022, which looks like ASCII
    if b"\0" in content:
        columns = [content[i:START:4] for i in range(4)]
        nul = tuple(i for i in range(4) if columns[i].count(0) > len(columns[i]) / 2)
        likely = NUL_BYTES.get(nul, "")
        if likely and not likely.startswith(name[:6]):
            raise UserError(
                f"{path}: it has NUL bytes as {likely.upper()} has and no byte order mark, so it "
                f"is not {name.upper()}; name the encoding: --encoding {likely}."
            )
        if not of_bytes:
            return name if name.endswith(("-le", "-be")) else likely or f"{name}-le"
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        remedy = "remove them, or name another encoding (--encoding)"
        warn(
            f"{path}: {counted(content.count(0), 'NUL character')}, first in line {line}; {remedy}"
        )
    if name.startswith("utf-8") or (of_bytes and content.isascii()):
        return name
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        valid, wrong = _count_valid(content)
        likely, language = encodings.likely(content) if name in encodings.LATIN else ("", "")
        if valid <= wrong and likely and likely not in encodings.LATIN:
            why = f"it is read as {name.upper()}, but its letters look {language}"
            warn(f"{path}: {why}; if they are, name --encoding {likely}")
        elif valid > wrong or (name in encodings.LATIN and valid > max(1, wrong / 5)):
            # Two Latin letters or signs that are a character of UTF-8, such as Ã©, are rare.
            why = f"{counted(valid, 'character')} of it are UTF-8, {counted(wrong, 'byte')} not"
            where = f"first in line {_line(content, error.start)}"
            remedy = "if it is UTF-8, correct these bytes"
            warn(f"{path}: {why}, {where}; it is read as {name.upper()}: {remedy}")
        return name
    warn(f"{path}: it is valid UTF-8 and is read so, not as {name.upper()}")
    return "utf-8"


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
    path: Path, content: bytes, used: str, error: UnicodeDecodeError, mark: bool
) -> UserError:
    """Return the error for a byte that is not in the encoding."""
    start = error.start + (len(codecs.BOM_UTF8) if mark and used == "utf-8" else 0)
    line = _line(content, start)
    byte = start - content.rfind(b"\n" if b"\n" in content else b"\r", 0, start)
    fault = f"{path}:{line}: byte {byte} is not {used.upper()}"
    if mark:
        why = "whose byte order mark the file has"
        return UserError(f"{fault}, {why}; save the whole file in one encoding.")
    if used.startswith("utf-8"):
        valid, wrong = _count_valid(content)
        if valid > wrong:
            why = f"but {valid} other characters are"
            return UserError(f"{fault}, {why}; correct this line, or save the file in UTF-8.")
    likely, language = encodings.likely(content)
    if likely:
        example = f"Excel: --encoding {likely}, as its letters look {language}"
    else:
        names = " or ".join(name for name in EXAMPLES if encodings.is_valid(content, name))
        example = f"Excel: --encoding {names}; " if names else ""
        example += "latin-1 reads every byte, but may show wrong letters"
    another = "the" if used.startswith("utf-8") else "another"
    return UserError(f"{fault}; name {another} encoding ({example}), or save it in UTF-8.")


def find_delimiter(
    head: str, suffix: str, wanted: Collection[str] = (), *, quoted: bool = True
) -> str:
    """Return the separator of the columns of a table, by its first line."""
    # It is a tab in a .tsv whose first line has one. Otherwise it is the separator that separates
    # most of the wanted columns. If several do, the most frequent one is taken, and on a tie that
    # of the suffix. Spreadsheets write semicolons where the comma is the decimal sign.
    usual = "\t" if suffix == ".tsv" else ","
    plain = re.sub('"[^"]*"', "", head) if quoted else head
    if usual == "\t" and "\t" in plain:
        return usual
    folded = {name.casefold() for name in wanted}

    def found(delimiter: str) -> int:
        cells = (
            next(csv.reader([head], delimiter=delimiter), []) if quoted else head.split(delimiter)
        )
        return len(folded & {cell.strip().casefold() for cell in cells})

    tried = [d for d in dict.fromkeys((usual, *DELIMITERS)) if d in plain]
    tried = [d for d in tried if d != "|" or found(d)]
    return max(tried, key=lambda d: (found(d), plain.count(d)), default=usual)


def named_delimiter(name: str) -> str:
    """Return the separator that the user names."""
    delimiter = NAMED_DELIMITERS.get(name.casefold(), name)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        expected = f"expected one character, or one of {', '.join(NAMED_DELIMITERS)}"
        raise UserError(f"delimiter {brief(name)}: {expected}.")
    return delimiter


def warn(message: str) -> None:
    """Print a warning about the way in which a file was read."""
    warnings.warn(message, stacklevel=4)
