"""A user's files: check them, find their folder, digest them, and read small tables."""

import csv
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from transferbench import settings
from transferbench.errors import Unavailable, UserError
from transferbench.files import open_regular, open_zip, user_path

#: Suffixes of matrices, see `data.matrices`.
MATRICES = (".svm", ".svmlight", ".libsvm", ".npz")
#: Bytes of a line of a text file.
MAX_LINE = 2**24
#: Separators of columns; of equally frequent ones the first is taken.
SEPARATORS = ",;\t"


def check_files(
    files: Iterable[Path], max_bytes: int | None = None, content: str = "documents"
) -> None:
    """Check that the files exist, and are neither empty nor too large, packed or unpacked."""
    # `max_bytes`: Largest size of a packed file; by default the setting.
    max_bytes = max_bytes or settings.load().max_bytes
    remedy = "split it into several files"
    if content == "documents":
        remedy += ", or raise the setting max_size"
    for file in files:
        if not os.path.isfile(file):  # noqa: PTH113
            problem = "not a file" if os.path.exists(file) else "no such file"  # noqa: PTH110
            raise UserError(f"{file}: {problem}; give the path of a file of {content}.")
        size = file.stat().st_size
        if not size:
            raise UserError(f"{file}: the file is empty; expected {content}.")
        if size > max_bytes:
            raise UserError(f"{file}: {size:,} bytes, expected at most {max_bytes:,}; {remedy}.")
        if zipfile.is_zipfile(file):
            try:
                with open_zip(file, sys.maxsize) as archive:
                    unpacked = sum(member.file_size for member in archive.infolist())
            except (ValueError, zipfile.BadZipFile) as error:
                raise UserError(f"{file}: {error}; pack it anew.") from None
            if unpacked > 4 * max_bytes:
                expected = f"expected at most {4 * max_bytes:,}"
                raise UserError(f"{file}: {unpacked:,} bytes unpacked, {expected}.")


def file_digests(files: Iterable[Path], start: Path) -> list[str]:
    """Return the path and the SHA-256 of each file, with a blank between them."""
    folder = start if start.is_dir() else start.parent
    digests = []
    for file in files:
        try:
            with open_regular(file) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{file}: cannot be read ({error.strerror}); correct that.") from error
        digests.append(f"{Path(os.path.relpath(file, folder)).as_posix()} {digest}")
    return digests


def user_folder(path: str, task: str, problem: str, remedy: str) -> Path:
    """Return the user's folder."""
    # `path`: The folder as the user named it; "" if it was not named.
    default = f"own/{task.partition('/')[0]} of the data folder"
    if not path:
        raise Unavailable(problem, f"{remedy}, in {default} or one you name: {task}:path=FOLDER.")
    folder = user_path(path)
    if not folder.is_dir():
        raise UserError(f"{task}: {folder} is no folder; {remedy}, in {default} or one you name.")
    return folder


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, whose lines have at most MAX_LINE bytes."""
    content = path.read_bytes()
    for number, line in enumerate(io.BytesIO(content), start=1):
        if len(line) > MAX_LINE:
            expected = f"expected at most {MAX_LINE:,}"
            raise UserError(f"{path}:{number}: a line of {len(line):,} bytes, {expected}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{number}: not UTF-8; save the file in UTF-8.") from None


def read_table(path: Path) -> tuple[list[str], dict[int, list[str]]]:
    """Return the names of the columns of a CSV or TSV file, and its rows by their last line."""
    # The text is UTF-8, values with separators are in quotes (RFC 4180), and the most frequent
    # separator of the first line counts. Blank rows are left out, as are columns without a name and
    # a value. Short rows are filled. Other files raise UserError.
    text = read_text(path)
    first = text.partition("\n")[0]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=first.count), strict=True
    )
    header, rows = list[str](), dict[int, list[str]]()
    try:
        for row in reader:
            if not "".join(row).strip():
                continue
            if len(row) > len(header) and header:
                raise csv.Error(f"{len(row)} values, expected {len(header)} as in the first line")
            if header:
                rows[reader.line_num] = row + [""] * (len(header) - len(row))
            header = header or row
    except csv.Error as error:
        remedy = "put values that contain separators, quotes or line ends in '\"'"
        raise UserError(f"{path}:{reader.line_num}: {error}; {remedy}.") from None
    if not rows:
        raise UserError(f"{path}: no rows in it; expected a line of names, then rows.")
    used = [j for j, name in enumerate(header) if name.strip()]
    for line, row in rows.items():
        if any(row[j].strip() for j in range(len(header)) if j not in used):
            raise UserError(f"{path}:{line}: a value in a column without a name; name it.")
    return [header[j] for j in used], {line: [row[j] for j in used] for line, row in rows.items()}
