"""A run is one small record: what identifies it, where it lies, how it is read and written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transferbench import models
from transferbench.files import write_text
from transferbench.source import fingerprint

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run: a task by full name, a model, all its parameters, a seed if it takes one."""

    task: str
    model: str
    params: dict[str, Any] = field(hash=False)
    seed: int | None

    def __str__(self) -> str:
        return f"{self.model} on {self.task}" + ("" if self.seed is None else f", seed {self.seed}")

    @property
    def source(self) -> str:
        """Fingerprint of the model's code and of what it is built on."""
        return fingerprint(models.get(self.model).path)

    def key(self, facts: dict[str, Any]) -> str:
        """Digest of all the result depends on; `facts` are those of the built task."""
        state = [facts, self.task, self.model, self.params, self.seed, self.source]
        text = json.dumps(state, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


class Store:
    """The folder of records: one JSON file for each run, by its key."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "records"

    def path(self, key: str) -> Path:
        """Where the record of a key lies."""
        return self.folder / key[:2] / f"{key}.json"

    def find(self, key: str) -> Record | None:
        """The record of a key, or None where there is none that can be read."""
        try:
            record = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and record.get("key") == key else None

    def write(self, record: Record) -> Path:
        """Written to a temporary name and renamed. Raises UserError where that is impossible."""
        path = self.path(record["key"])
        write_text(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        return path

    def __iter__(self) -> Iterator[Record]:
        for path in sorted(self.folder.glob("*/*.json")):
            record = self.find(path.stem)
            if record:
                yield record
