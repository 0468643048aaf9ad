"""A run is one small record: what identifies it, where it lies, its flat form for tables."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transferbench import models
from transferbench.errors import UserError
from transferbench.files import write_text, writing
from transferbench.source import PACKAGE, fingerprint

Record = dict[str, Any]

MEASURES = ("accuracy", "f1", "nmi", "hamming", "explained")
#: Column of a runs.csv that holds a measure, where its name is another.
MEASURED = {"seconds": "fit_seconds"}
#: Columns of a runs.csv: the records of one experiment, a line for each run and scored domain.
RUNS = (
    "row", "column", "x", "task", "model", "params", "seed", "domain", "status", "reason",
    *MEASURES, "objective", "iterations", "fit_seconds", "load_seconds", "peak_mib", "threads",
    "data", "source", "versions", "finished", "key", "curve", "objectives",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One run: a task by full name, a model, all its parameters, a seed if it takes one.

    With `curve` the record holds the first measure of every domain after each iteration, too.
    """

    task: str
    model: str
    params: dict[str, Any] = field(hash=False)
    seed: int | None
    curve: bool = False

    def __str__(self) -> str:
        return f"{self.model} on {self.task}" + ("" if self.seed is None else f", seed {self.seed}")

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Task, model, parameters and seed, as `by_cell` finds them in a runs.csv."""
        seed = "" if self.seed is None else str(self.seed)
        return self.task, self.model, json.dumps(self.params, sort_keys=True), seed

    @property
    def source(self) -> str:
        """Fingerprint of the model's code and of what it is built on."""
        return fingerprint(models.get(self.model).path)

    def key(self, facts: dict[str, Any]) -> str:
        """Digest of the built task's facts, the run, and the code of model and measures.

        Versions of libraries are recorded, but do not count: a new one repeats no finished run.
        """
        measures = fingerprint(PACKAGE / "metrics.py")
        run = [self.task, self.model, self.params, self.seed, self.curve]
        state = [facts, run, self.source, measures]
        text = json.dumps(state, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def now() -> str:
    """The time, as records have it: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def outcome(key: str, cell: Cell, status: str, reason: str = "") -> Record:
    """What every record says, whatever became of the run; one that ran adds what it measured."""
    return {
        "key": key,
        "status": status,
        "reason": reason,
        "task": cell.task,
        "model": cell.model,
        "params": cell.params,
        "seed": cell.seed,
        "source": cell.source,
        "finished": now(),
    }


class Store:
    """The folder of records: one JSON file for each run, by its key."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "records"

    def path(self, key: str) -> Path:
        """Where the record of a key lies."""
        return self.folder / key[:2] / f"{key}.json"

    def find(self, key: str) -> Record | None:
        """The record of a key, or None where there is none that can be read and is whole."""
        try:
            record = json.loads(self.path(key).read_text(encoding="utf-8"))
            told = record.get("sha256", "")  # which records of an earlier version do not have
            whole = record["key"] == key and (record["status"] != "done" or _whole(record))
            whole = whole and told in ("", _digest(record))
        except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
            return None
        return record if whole else None

    def write(self, record: Record) -> Path:
        """Written whole, with its digest; a run that did not finish never replaces one that did.

        Raises UserError where it cannot be written.
        """
        path = self.path(record["key"])
        old = None if record["status"] == "done" else self.find(record["key"])
        if old and old["status"] == "done":
            return path
        record["sha256"] = _digest(record)
        write_text(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        return path

    def probe(self) -> None:
        """Raises UserError where no record could be written, before any run has taken its time."""
        with writing(self.folder / "probe"):
            pass
        (self.folder / "probe").unlink(missing_ok=True)


def _digest(record: Record) -> str:
    """Of all that a record says, so that a digit that changes on the disk is seen."""
    told = {name: value for name, value in record.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _whole(record: Record) -> bool:
    measures = [value for domain in record["metrics"].values() for value in domain.values()]
    numbers = [*measures, *record["seconds"].values(), *record["trace"]]
    texts = [record["task"], record["model"], record["source"], record["finished"]]
    return bool(measures) and all(isinstance(n, int | float) for n in numbers) and all(texts)


def runs_csv(
    runs: Iterable[tuple[str, str, float | None, Cell, Record]],
    before: Mapping[tuple[str, str, str, str], dict[str, Any]] = {},
) -> str:
    """A line for each run and scored domain: row, column, x, cell and record, in this order.

    A run that serves several rows of a column is told once, under the first of them. One whose data
    or library cannot be had is told as it was `before` (see `by_cell`), where it finished then.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, RUNS, lineterminator="\n")
    writer.writeheader()
    told = set()
    for row, column, x, cell, record in runs:
        if (column, x, cell.identity) in told:
            continue
        told.add((column, x, cell.identity))
        if record["status"] == "unavailable" and (old := finished(before, cell)):
            place = {"row": row, "column": column, "x": short(x)}
            writer.writerows(line | place for line in old.values())
            continue
        seconds, trace = record.get("seconds", {}), record.get("trace", [])
        common = {
            "row": row,
            "column": column,
            "x": short(x),
            "task": cell.task,
            "model": cell.model,
            "params": json.dumps(cell.params),
            "seed": "" if cell.seed is None else cell.seed,
            "status": record["status"],
            "reason": record["reason"],
            "objective": trace[-1] if trace else "",
            "iterations": len(trace) or "",
            "fit_seconds": short(seconds.get("fit")),
            "load_seconds": short(seconds.get("load")),
            "peak_mib": short((record.get("peak_bytes") or 0) / 2**20 or None),
            "threads": max(record.get("threads", {}).values(), default=""),
            "data": record.get("facts", {}).get("digest", ""),
            "source": record["source"],
            "versions": json.dumps(record.get("versions", {})),
            "finished": record["finished"],
            "key": record["key"],
        }
        for domain, measures in (record.get("metrics") or {"": {}}).items():
            line = common | {"domain": domain} | measures
            if cell.curve:
                line["curve"] = _list(record.get("curve", {}).get(domain, []))
                line["objectives"] = _list(trace)
            writer.writerow(line)
    return out.getvalue()


def read_runs(path: Path) -> list[dict[str, str]]:
    """The lines of a runs.csv. Raises UserError where it is missing or not one."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns, lines = tuple(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read ({error}); run `reproduce` to make it.") from None
    if columns != RUNS:
        raise UserError(f"{path}: expected the columns {', '.join(RUNS)}; run `reproduce` again.")
    for number, line in enumerate(lines, start=2):
        try:
            if None in line.values():
                raise ValueError
            numbers = [line["x"], *(line[measure] for measure in MEASURES)]
            _ = [float(text) for text in numbers if text], json.loads(line["params"])
            _ = [json.loads(line[name] or "[]") for name in ("curve", "objectives")]
        except (TypeError, ValueError, RecursionError):
            raise UserError(
                f"{path}:{number}: not a line of runs; run `reproduce` again."
            ) from None
    return lines


def by_cell(lines: Iterable[dict[str, str]]) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Identity of a cell → its lines by domain, from those of a runs.csv."""
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for line in lines:
        params = json.dumps(json.loads(line["params"]), sort_keys=True)
        cell = line["task"], line["model"], params, line["seed"]
        found.setdefault(cell, {})[line["domain"]] = line
    return found


def finished(
    lines: Mapping[tuple[str, str, str, str], dict[str, Any]], cell: Cell
) -> dict[str, Any]:
    """The lines by domain of a cell's run, as `by_cell` has them, if it is there and finished."""
    found = lines.get(cell.identity, {})
    return found if any(line["status"] == "done" for line in found.values()) else {}


def short(value: Any) -> str:
    """Six significant digits, or nothing."""
    return "" if value is None else f"{value:.6g}"


def _list(values: Iterable[float]) -> str:
    return "[" + ",".join(map(short, values)) + "]"
