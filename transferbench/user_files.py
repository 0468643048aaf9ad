"""Files of a user: their checks and digests, and small tables in them."""

import csv
import io
from pathlib import Path

from transferbench.errors import UserError

#: Separators of columns; of equally frequent ones the first is taken.
SEPARATORS = ",;\t"


def read_table(path: Path) -> tuple[list[str], dict[int, list[str]]]:
    """Return the names of the columns of a CSV or TSV file, and its rows by their last line.

    The text is UTF-8, values with separators are in quotes (RFC 4180), and the most frequent
    separator of the first line counts. Blank rows are left out, as are columns without a name and
    a value. Short rows are filled. Other files raise UserError.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}:{line}: not UTF-8; save the table as CSV in UTF-8.") from None
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
    used = [j for j, name in enumerate(header) if name.strip() or any(r[j] for r in rows.values())]
    return [header[j] for j in used], {line: [row[j] for j in used] for line, row in rows.items()}
