"""A validated experiment: the runs of a published table or figure, and its published values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from transferbench import experiments, models, parameters, strict_yaml
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.experiments.schema import Printed, Schema
from transferbench.measures import COSTS
from transferbench.parameters import Params
from transferbench.runs.record import Run


class PlannedRun(NamedTuple):
    """A run of an experiment: its row, column and, in some figures, place on the x axis."""

    row: str
    column: str
    x: float | None
    run: Run


@dataclass(frozen=True)
class Experiment:
    """A validated experiment: its name, the contents of its file, the file's text and path."""

    name: str
    spec: Schema
    text: str = field(default="", repr=False)
    path: Path = field(default=Path(), repr=False)

    def error(self, keys: tuple[object, ...], message: str) -> UserError:
        """Return an error that shows the file and the line of these keys."""
        return strict_yaml.read(self.text, self.path)[1].error(keys, message)

    def runs(self, repeats: int | None = None) -> Iterator[PlannedRun]:
        """Yield every run of the table or figure, with seeds 0, 1, … for random models."""
        settings = cache(self._settings)  # the same on every row
        readings = self.spec.readings is not None
        curve = bool(self.spec.figure and self.spec.figure.iterations)
        for label, row in self.spec.rows.items():
            for name, column in self.spec.columns.items():
                task = tasks.Task.named(column.task or row.task, **column.options).name
                random = parameters.takes_seed(models.load(column.model))
                seeds = range(repeats or self.spec.repeats) if random else (None,)
                for x, params in settings(name):
                    for seed in seeds:
                        run = Run(
                            task,
                            column.model,
                            params,
                            seed,
                            readings or (curve and not column.control),
                            self.spec.regret is not None and name not in self.spec.regret.votes,
                        )
                        yield PlannedRun(label, name, x, run)

    def _settings(self, label: str) -> list[tuple[float | None, Params]]:
        """Return the settings of a column: all parameters, and x if the figure varies them."""
        column, figure = self.spec.columns[label], self.spec.figure
        changes: list[tuple[float | None, dict[str, object]]] = []
        if figure and figure.varies(label, column):
            changes += ((x, dict.fromkeys(figure.params, x)) for x in figure.values)
        else:  # without a grid, the product is one empty setting
            for values in product(*column.grid.values()):
                changes.append((None, dict(zip(column.grid, values, strict=True))))
        fit = models.load(column.model)
        return [
            (x, parameters.resolve(fit, column.params | changed, column.model))
            for x, changed in changes
        ]

    def metric(self, row: str) -> str:
        """Return the measure that a row shows."""
        return self.spec.rows[row].metric or self.spec.metric

    def problem(self, row: str) -> str:
        """Return the task of a row without options; rows of one problem are not independent."""
        return tasks.Task.named(self.spec.rows[row].task).base

    def scale(self, row: str) -> int:
        """Return the factor from a measured value to the unit of the table: 100 or 1."""
        return 100 if self.spec.unit == "percent" and self.metric(row) not in COSTS else 1

    def tolerance(self, row: str) -> float | None:
        """Return the largest difference from a published value that counts as `within`.

        None if no value is published.
        """
        if self.compared.tolerance is None:
            return None
        rows, others = self.spec.rows, self.compared.rows
        read = rows[row].reading_of or row
        places = (rows[row], rows.get(read), others.get(read))
        own = (each.tolerance for each in places if each and each.tolerance is not None)
        return next(own, self.compared.tolerance.value)

    @property
    def compared(self) -> Schema:
        """The file with the published values and the tolerance: this one, or the controlled one."""
        return experiments.load(self.spec.control_of).spec if self.spec.control_of else self.spec

    def published(self, row: str, column: str) -> tuple[float, float | None] | None:
        """Return the printed mean and standard deviation (None if not printed) of a cell.

        That of a reading is the value of the row and the column that it reads.
        """
        rows, columns = self.spec.rows, self.spec.columns
        row = (row in rows and rows[row].reading_of) or row
        column = (column in columns and columns[column].reading_of) or column
        value = self.compared.published.get(row, {}).get(column)
        return value if value is None or isinstance(value, tuple) else (value, None)

    def printed(self, source: Printed) -> dict[str, float]:
        """Return the printed means that `source` refers to, by row; see `Row.printed`."""
        cells = {}
        for label, row in self.spec.rows.items():
            name, printed_row = row.printed or (source.experiment, label)
            cells[label] = experiments.load(name).published(printed_row, source.column)
        return {label: cell[0] for label, cell in cells.items() if cell}
