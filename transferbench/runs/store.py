"""The folder of records: one JSON file for each run, named by its key."""

from __future__ import annotations

from pathlib import Path

from transferbench.files import exclusive, write_text
from transferbench.runs.record import Record


class Store:
    """Reads and writes records in the subfolder `records` of a folder of results."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "records"

    def path(self, key: str) -> Path:
        """Return the path of the record with this key."""
        return self.folder / key[:2] / f"{key}.json"

    def find(self, key: str) -> Record | None:
        """Return the record with this key; None if it is missing or damaged."""
        try:
            record = Record.from_json(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError, TypeError):
            return None
        return record if record.key == key else None

    def write(self, record: Record) -> Path:
        """Write a record atomically, unless it would replace a finished run by an unfinished one.

        Raise UserError if it cannot be written.
        """
        path = self.path(record.key)
        with exclusive(path.with_name(".lock"), lambda: None):  # one for all keys of the folder
            old = None if record.done else self.find(record.key)
            if not (old and old.done):
                write_text(path, record.to_json() + "\n")
        return path

    def probe(self) -> None:
        """Raise UserError if records cannot be written; called before any run starts."""
        probe = self.folder / "probe"
        write_text(probe, "")
        probe.unlink(missing_ok=True)
