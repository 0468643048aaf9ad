"""The folder of records: one JSON file for each run, named by its key."""

from __future__ import annotations

from pathlib import Path

from transferbench.files import write_text, writing
from transferbench.runs.record import Record


class Store:
    """Read and write records below a folder of results."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "records"

    def path(self, key: str) -> Path:
        """Where the record of a key lies."""
        return self.folder / key[:2] / f"{key}.json"

    def find(self, key: str) -> Record | None:
        """Return the record of a key, or None if there is none that is readable and whole."""
        try:
            record = Record.from_json(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError, TypeError):
            return None
        return record if record.key == key else None

    def write(self, record: Record) -> Path:
        """Write a record whole; a run that did not finish never replaces one that did.

        Raise UserError if it cannot be written.
        """
        path = self.path(record.key)
        old = None if record.done else self.find(record.key)
        if not (old and old.done):
            write_text(path, record.to_json() + "\n")
        return path

    def probe(self) -> None:
        """Raise UserError if no record could be written, before any run has taken its time."""
        with writing(self.folder / "probe"):
            pass
        (self.folder / "probe").unlink(missing_ok=True)
