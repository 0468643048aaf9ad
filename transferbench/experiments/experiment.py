"""A validated experiment: the runs of a published table or figure, and its published values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from transferbench import experiments, models, parameters
from transferbench.data import tasks
from transferbench.errors import UserError, unknown
from transferbench.experiments.measures import COSTS, METRICS
from transferbench.experiments.schema import Printed, Schema
from transferbench.parameters import Params
from transferbench.runs.record import Run
from transferbench.strict_yaml import LineMap


class PlannedRun(NamedTuple):
    """A run of an experiment: its row, column and, in some figures, place on the x axis."""

    row: str
    column: str
    x: float | None
    run: Run


@dataclass(frozen=True)
class Experiment:
    """A validated experiment: the name of its file and the contents."""

    name: str
    spec: Schema

    def runs(self, repeats: int | None = None) -> Iterator[PlannedRun]:
        """Yield every run of the table or figure, with seeds 0, 1, … for random models."""
        settings = cache(self._settings)  # the same on every row
        readings = self.spec.readings is not None
        curve = bool(self.spec.figure and self.spec.figure.iterations)
        for label, row in self.spec.rows.items():
            for name, column in self.spec.columns.items():
                task = tasks.Task.named(row.task, **column.options).name
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
                            self.spec.regret is not None,
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
        if self.spec.tolerance is None:
            return None
        own = self.spec.rows[row].tolerance
        return self.spec.tolerance.value if own is None else own

    def published(self, row: str, column: str) -> tuple[float, float | None] | None:
        """Return the printed mean and standard deviation (None if not printed) of a cell."""
        value = self.spec.published.get(row, {}).get(column)
        return value if value is None or isinstance(value, tuple) else (value, None)

    def printed(self, source: Printed) -> dict[str, float]:
        """Return the printed means that `source` refers to, by row; see `Row.printed`."""
        cells = {}
        for label, row in self.spec.rows.items():
            name, printed_row = row.printed or (source.experiment, label)
            cells[label] = experiments.load(name).published(printed_row, source.column)
        return {label: cell[0] for label, cell in cells.items() if cell}


def check_names(spec: Schema, lines: LineMap) -> None:
    """Check what the file names: tasks, domains, models, parameters, measures, experiments.

    Raise UserError with file and line at the first that does not exist.
    """
    _check_rows(spec, lines)
    _check_columns(spec, lines)
    _check_measures(spec, lines)
    for i, claim in enumerate(spec.claims):
        with lines.at("claims", i, "also"):
            for name in claim.also:
                if name not in experiments.names():
                    raise unknown("experiment", name, experiments.names())
    if spec.figure and spec.figure.levels:
        _check_printed(spec.figure.levels, lines, "figure", "levels")
    if spec.readings:
        for label, row in spec.rows.items():
            name, printed_row = row.printed or (spec.readings.experiment, label)
            place = ("rows", label, "printed") if row.printed else ("readings",)
            printed = spec.readings.model_copy(update={"experiment": name})
            table = _check_printed(printed, lines, *place)
            if table.published(printed_row, printed.column) is None:
                known = [row for row in table.spec.rows if table.published(row, printed.column)]
                with lines.at(*place):
                    raise unknown("row with a published value", printed_row, known)


def _check_printed(printed: Printed, lines: LineMap, *keys: str) -> Experiment:
    """Return the experiment that has the printed values. Raise UserError if it does not exist."""
    with lines.at(*keys):
        table = experiments.load(printed.experiment)
        if printed.column not in table.spec.columns:
            raise unknown("column", printed.column, table.spec.columns)
    return table


def _check_rows(spec: Schema, lines: LineMap) -> None:
    for label, row in spec.rows.items():
        with lines.at("rows", label, "task"):
            task = tasks.Task.named(row.task)
        with lines.at("rows", label, "domain"):
            domains = tasks.documents(task)
            if row.domain and domains and row.domain not in ("all", *domains):
                raise unknown("domain", row.domain, domains)


def _check_columns(spec: Schema, lines: LineMap) -> None:
    for label, column in spec.columns.items():
        with lines.at("columns", label, "model"):
            fit = models.load(column.model)
        with lines.at("columns", label, "grid"):
            for name, values in column.grid.items():
                for value in values:
                    parameters.resolve(fit, {name: value}, column.model)
        with lines.at("columns", label, "params"):
            parameters.resolve(fit, column.params, column.model)
            stated = column.params | column.grid
            missing = [name for name in parameters.schema(fit) if name not in stated]
            if missing:
                raise UserError(
                    f"{column.model}: missing {', '.join(missing)}; an experiment states every "
                    "parameter."
                )
        with lines.at("columns", label, "options"):
            for row in spec.rows.values() if column.options else ():
                tasks.Task.named(row.task, **column.options)


def _check_measures(spec: Schema, lines: LineMap) -> None:
    """Check that all models are of one family and every measure is one of that family."""
    families = {label: models.get(column.model).family for label, column in spec.columns.items()}
    if len(set(families.values())) > 1:
        raise lines.error(("columns",), f"models of several families: {families}")
    measures = METRICS[next(iter(families.values()))]
    places: list[tuple[tuple[str, ...], str | None]] = [(("metric",), spec.metric)]
    places += [(("rows", label, "metric"), row.metric) for label, row in spec.rows.items()]
    places += [(("columns", n, "choose"), m) for n, c in spec.columns.items() for m in c.choose]
    for keys, measure in places:
        if measure and measure not in measures:
            expected = " or ".join(measures)
            raise lines.error(keys, f"expected {expected} for these models, got {measure}.")
