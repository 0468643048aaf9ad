"""An experiment being rebuilt: its runs as they end, then its folder of results."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

from transferbench.errors import UserError
from transferbench.evidence import tables
from transferbench.evidence.frame import by_cell, finished, read_runs
from transferbench.experiments.experiment import Experiment, PlannedRun
from transferbench.files import write_text
from transferbench.runs.record import Record, Run, runs_csv, short


class Rebuild:
    """Takes the records of an experiment's planned runs and writes its results.

    Where `repeats` is given and not the experiment's own number, they go to a folder of their own:
    a quick look does not replace a table of more runs.
    """

    def __init__(
        self, file: Experiment, planned: list[PlannedRun], results: Path, repeats: int | None
    ) -> None:
        self.file, self.name, self.planned = file, file.name, planned
        usual = repeats in (None, file.spec.repeats)
        self.folder = (results if usual else results / f"repeats-{repeats}") / file.name
        self.waiting = {run.run for run in planned}
        self.records: dict[Run, Record] = {}

    def take(self, cell: Run, record: Record) -> bool:
        """Whether this was the last run that was waited for."""
        if cell not in self.waiting:
            return False
        self.waiting.remove(cell)
        self.records[cell] = record
        return not self.waiting

    def write(self) -> list[Path]:
        """Write runs.csv and all that follows from it; the files.

        Of a run whose data or library cannot be had here, what an earlier one found is kept.
        """
        lines = []
        written = set()
        for row, column, x, run in self.planned:
            # A run that serves several rows of a column stands under the first of them.
            if (column, x, run.identity) in written:
                continue
            written.add((column, x, run.identity))
            record = self.records[run]
            if record.status == "unavailable" and (old := finished(self.before, run)):
                place = {"row": row, "column": column, "x": short(x)}
                lines += [line | place for line in old.values()]
            else:
                lines += record.rows(row, column, x)
        write_text(self.folder / "runs.csv", runs_csv(lines))
        return tables.write(self.file, self.folder)

    @cached_property
    def before(self) -> dict[tuple[str, str, str, str], dict[str, Any]]:
        """Runs of the results that are there, by cell."""
        try:
            return by_cell(read_runs(self.folder / "runs.csv"))
        except UserError:
            return {}

    @property
    def kept(self) -> int:
        """Runs that could not be made here, but were made before."""
        return sum(
            record.status == "unavailable" and bool(finished(self.before, cell))
            for cell, record in self.records.items()
        )

    @property
    def vain(self) -> bool:
        """Whether that is all there is."""
        return self.kept > 0 and not any(r.done for r in self.records.values())

    @property
    def leans(self) -> bool:
        """Whether claims look at runs of other experiments, too, which may end later."""
        return any(claim.also for claim in self.file.spec.claims)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        others = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        kept = f" ({self.kept} kept from earlier runs)" if self.kept else ""
        return f"{self.name}: {counts['done']} of {len(self.records)} runs finished{others}{kept}"
