"""The lines of a runs.csv."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transferbench.errors import UserError
from transferbench.runs.record import MEASURES, RUNS_COLUMNS, Run


def read_runs(path: Path) -> list[dict[str, str]]:
    """Return the lines of a runs.csv. Raise UserError if it is missing or not one."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns, lines = tuple(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read ({error}); run `reproduce` to make it.") from None
    if columns != RUNS_COLUMNS:
        expected = ", ".join(RUNS_COLUMNS)
        raise UserError(f"{path}: expected the columns {expected}; run `reproduce` again.")
    for number, line in enumerate(lines, start=2):
        try:
            if None in line.values():
                raise ValueError
            numbers = [line["x"], *(line[measure] for measure in MEASURES)]
            _ = [float(text) for text in numbers if text], json.loads(line["params"])
            _ = [json.loads(line[name] or "[]") for name in ("curve", "trace")]
        except (TypeError, ValueError, RecursionError):
            raise UserError(
                f"{path}:{number}: not a line of runs; run `reproduce` again."
            ) from None
    return lines


def by_cell(lines: Iterable[dict[str, str]]) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Identity of a run → its lines by domain, from those of a runs.csv."""
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for line in lines:
        params = json.dumps(json.loads(line["params"]), sort_keys=True)
        cell = line["task"], line["model"], params, line["seed"]
        found.setdefault(cell, {})[line["domain"]] = line
    return found


def finished(lines: Mapping[tuple[str, str, str, str], dict[str, Any]], run: Run) -> dict[str, Any]:
    """The lines by domain of a run, as `by_cell` has them, if it is there and finished."""
    found = lines.get(run.identity, {})
    return found if any(line["status"] == "done" for line in found.values()) else {}
