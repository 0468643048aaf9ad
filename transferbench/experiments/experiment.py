"""A validated experiment: its runs and its published values."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from transferbench import experiments, tasks
from transferbench.experiments import plan
from transferbench.experiments.plan import PlannedRun
from transferbench.experiments.schema import Circular, Schema
from transferbench.measures import COSTS
from transferbench.runs.record import Run


@dataclass(frozen=True)
class Experiment:
    """A validated experiment."""

    name: str
    #: The contents of its file.
    spec: Schema
    #: The text of the file.
    text: str = field(default="", repr=False)
    path: Path = field(default=Path(), repr=False)
    #: The number of repeats that replaces that of the file; None for the file's own.
    repeats: int | None = None

    def with_repeats(self, repeats: int | None) -> "Experiment":
        """Return the experiment with another number of repeats; None for its own."""
        if repeats in (None, self.spec.repeats):
            return self
        spec = self.spec.model_copy(update={"repeats": repeats})
        return replace(self, spec=spec, repeats=repeats)

    @property
    def arguments(self) -> list[str]:
        """The words that name its results on the command line."""
        return [self.name] if self.repeats is None else [self.name, "--repeats", f"{self.repeats}"]

    def folder(self, results: Path) -> Path:
        """Return the folder of its runs and pages in a folder of results."""
        if self.repeats not in (None, experiments.repeats_of(results)):
            results /= f"repeats-{self.repeats}"
        return results / self.name

    def runs(self, repeats: int | None = None) -> Iterator[PlannedRun]:
        """Yield every run of the table or figure; see `plan.runs`."""
        return plan.runs(self.spec, repeats) if repeats else iter(self._runs)

    @cached_property
    def _runs(self) -> tuple[PlannedRun, ...]:
        """Every run, planned once."""
        return tuple(plan.runs(self.spec))

    @cached_property
    def suite_columns(self) -> frozenset[str]:
        """Labels of the columns of the published suite that this experiment extends; often none."""
        suite = self.spec.extends and experiments.load(self.spec.extends)
        return frozenset(suite.spec.columns) if suite else frozenset()

    @property
    def added_runs(self) -> list[Run]:
        """All runs, each once, but those of the published suite that this experiment extends."""
        suite = self.suite_columns
        return [*dict.fromkeys(each.run for each in self.runs() if each.column not in suite)]

    def metric(self, row: str) -> str:
        """Return the measure that a row shows."""
        return self.spec.rows[row].metric or self.spec.metric

    def unit(self, row: str) -> str:
        """Return the unit that a row is a sample of, "" without `units`."""
        if self.spec.units == "group":
            return self.spec.rows[row].group
        task = self.spec.rows[row].data()
        without_options = str(task.options.get("path") or task.base)  # the path of a user's file
        units = {None: "", "task": without_options, "corpus": task.base.split("/")[0]}
        return units[self.spec.units]

    def least_documents(self, row: str) -> int | None:
        """Return the documents of the smallest domain of a row's dataset, None if not stated."""
        uncut = tasks.Task(self.spec.rows[row].data().base)
        return min(tasks.documents(uncut).values(), default=None)

    def corpus(self, row: str) -> str:
        """Return the corpus of a row: its group, or of a paper's table the name of its dataset."""
        group = "" if self.spec.published else self.spec.rows[row].group
        return group or self.spec.rows[row].task.split("/")[0]

    def scale(self, row: str) -> int:
        """Return the factor from a measured value to the unit of the table: 100 or 1."""
        return 1 if self.metric(row) in COSTS else self.spec.scale_max

    @cached_property
    def compared(self) -> Schema:
        """The file with the published values and the tolerance: this one, or the controlled one."""
        return experiments.load(self.spec.control_of).spec if self.spec.control_of else self.spec

    def tolerance(self, row: str) -> float:
        """Return the largest difference from a published value that counts as `within`."""
        # `row`: A reading without a tolerance has that of the row that it reads.
        # Returns: In the table's unit; NaN if none is stated.
        by_row = {
            name: tolerance.value
            for tolerance in self.compared.tolerance
            for name in tolerance.rows or (row,)
        }
        return by_row.get(row, by_row.get(self.spec.rows[row].reading_of, math.nan))

    def published(self, row: str, column: str) -> tuple[float, float | None] | None:
        """Return the printed value of a cell."""
        # `row`, `column`: A reading has the value of the row and column that it reads.
        # Returns: Mean and standard deviation, None if not printed; None for a cell without a
        # value.
        read_row = row in self.spec.rows and self.spec.rows[row].reading_of
        value = self.compared.published.get(read_row or row, {}).get(self.read_column(column))
        return value if value is None or isinstance(value, tuple) else (value, None)

    def published_error(self, row: str, column: str) -> tuple[float, float]:
        """Return the standard error of a printed mean, and its degrees of freedom."""
        # Returns: Without a printed deviation, the number is compared as it stands: its error is 0.
        # If the number of repeats is not stated, or one, a printed deviation counts as that of a
        # single run, and as known: its degrees of freedom are infinite.
        published = self.published(row, column)
        if published is None or not published[1]:
            return 0.0, math.inf
        repeats = self.compared.published_repeats
        if repeats is None or self.read_column(column) in repeats.unstated:
            return published[1], math.inf
        return published[1] / math.sqrt(repeats.number), repeats.number - 1 or math.inf

    def circular(self, row: str, column: str) -> list[Circular]:
        """Return the entries of `circular` that a cell is named by."""
        # `row`, `column`: Labels of the cell; for the cell of a reading, its own column.
        return [
            entry
            for entry in self.spec.circular
            if row in (entry.rows or [row]) and column in (entry.columns or [column])
        ]

    def read_column(self, column: str) -> str:
        """Return the column of which this is a second reading, or the column itself."""
        return (column in self.spec.columns and self.spec.columns[column].reading_of) or column
