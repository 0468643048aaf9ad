"""A validated experiment: the runs of a published table or figure, and its published values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from transferbench import experiments, models, parameters, strict_yaml
from transferbench.data import tasks
from transferbench.errors import UserError, did_you_mean, unknown
from transferbench.experiments.fault import Faults
from transferbench.experiments.schema import Column, Figure, Printed, Row, Schema
from transferbench.measures import COSTS, MEASURES
from transferbench.parameters import Params
from transferbench.problem import Family
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


def check_names(spec: Schema, faults: Faults) -> None:
    """Check what the file names: tasks, domains, models, parameters, measures, experiments.

    Collect a fault for each name that does not exist.
    """
    check_rows(spec.rows, spec.columns, faults)
    check_columns(spec.columns, spec.rows, spec.figure, faults)
    _check_measures(spec, faults)
    for i, claim in enumerate(spec.claims):
        for name in claim.also:
            with faults.at("claims", i, "also"):
                if name not in experiments.names():
                    raise unknown(
                        "experiment", name, experiments.names(), "See `transferbench list`."
                    )
    if spec.control_of:
        with faults.at("control_of"):
            _check_control(spec)
    if spec.figure and spec.figure.levels:
        with faults.at("figure", "levels"):
            _printed_table(spec.figure.levels)
    if spec.readings:
        for label, row in spec.rows.items():
            with faults.at(*(("rows", label, "printed") if row.printed else ("readings",))):
                _check_printed(spec.readings, label, row)


def _check_control(spec: Schema) -> None:
    """Raise UserError unless a control shares published values, measure and unit with its table."""
    if spec.control_of not in experiments.names():
        raise unknown("experiment", spec.control_of, experiments.names())
    table = experiments.load(spec.control_of).spec
    shared = [row for row in spec.rows if table.published.get(row, {}).keys() & spec.columns.keys()]
    same = all((spec.rows[r].metric or spec.metric) == (table.rows[r].metric or table.metric)
               for r in shared)  # fmt: skip
    if not (shared and same and spec.unit == table.unit):
        raise UserError(
            f"{spec.control_of}: expected rows and columns with published values, named as here, "
            "with the same metric and unit."
        )


def _check_printed(readings: Printed, label: str, row: Row) -> None:
    """Raise UserError if a row of readings has no published value."""
    name, printed_row = row.printed or (readings.experiment, label)
    table = _printed_table(readings.model_copy(update={"experiment": name}))
    if table.published(printed_row, readings.column) is None:
        known = [row for row in table.spec.rows if table.published(row, readings.column)]
        raise unknown("row with a published value", printed_row, known)


def _printed_table(printed: Printed) -> Experiment:
    """Return the experiment that has the printed values. Raise UserError if it does not exist."""
    table = experiments.load(printed.experiment)
    if printed.column not in table.spec.columns:
        raise unknown("column", printed.column, table.spec.columns)
    return table


def check_rows(rows: Mapping[str, Row], columns: Mapping[str, Column], faults: Faults) -> None:
    """Check the tasks and domains of rows; models of the columns tell whether `all` is a domain."""
    joined = ["all"] * (set(_families(columns).values()) <= {"multilabel"})
    for label, row in rows.items():
        domains: dict[str, int] = {}
        with faults.at("rows", label, "task"):
            domains = tasks.documents(tasks.Task.named(row.task))
        with faults.at("rows", label, "domain"):
            _check_domain(row, domains, joined)


def _check_domain(row: Row, domains: Mapping[str, int], joined: Sequence[str]) -> None:
    """Raise UserError if the row's domain is none of those of its task, or `all` where allowed."""
    if row.domain and domains and row.domain not in (*domains, *joined):
        raise unknown("domain", row.domain, domains)


def check_columns(
    columns: Mapping[str, Column], rows: Mapping[str, Row], figure: Figure | None, faults: Faults
) -> None:
    """Check the models of columns, their parameters, and their options on the tasks of the rows."""
    joined = ["all"] * (set(_families(columns).values()) <= {"multilabel"})
    for label, column in columns.items():
        with faults.at("columns", label, "model"):
            models.load(column.model)
            _check_params(label, column, figure, faults)
        with faults.at("columns", label, "task"):
            domains = tasks.documents(tasks.Task.named(column.task)) if column.task else {}
            for row in rows.values():
                _check_domain(row, domains, joined)
        for row in rows.values() if column.options else ():
            with suppress(UserError):  # a fault of the row, or of the column's task
                tasks.Task.named(column.task or row.task)
                with faults.at("columns", label, "options"):
                    tasks.Task.named(column.task or row.task, **column.options)


def _check_params(label: str, column: Column, figure: Figure | None, faults: Faults) -> None:
    """Check that every parameter of a known model is stated, and no other, with valid values."""
    fit = models.load(column.model)
    place: tuple[object, ...] = ("columns", label)
    given = [((*place, "grid"), n, value) for n, values in column.grid.items() for value in values]
    given += [((*place, "params"), name, value) for name, value in column.params.items()]
    if figure and figure.varies(label, column):
        values = list(enumerate(figure.values))
        given += [(("figure", "values", i), n, value) for i, value in values for n in figure.params]
    for keys, name, value in given:
        with faults.at(*keys):
            parameters.resolve(fit, {name: value}, column.model)
    stated, known = column.params | column.grid, parameters.schema(fit)
    # A misspelt name would be reported twice.
    misspelt = " ".join(did_you_mean(name, known) for name in stated if name not in known)
    if missing := [n for n in known if n not in stated and repr(n) not in misspelt]:
        names = ", ".join(missing)
        message = f"{column.model}: missing {names}; an experiment states every parameter."
        faults.add(("columns", label, "params"), message)


def _families(columns: Mapping[str, Column]) -> dict[str, Family]:
    """Return the family of the model of each column; columns of unknown models are left out."""
    known = models.registry()
    return {n: known[c.model].family for n, c in columns.items() if c.model in known}


def _check_measures(spec: Schema, faults: Faults) -> None:
    """Check that all models are of one family and every measure is one of that family."""
    families = _families(spec.columns)
    if len(set(families.values())) > 1:
        faults.add(("columns",), f"models of several families: {families}")
    if len(set(families.values())) != 1:
        return
    family = MEASURES[next(iter(families.values()))]
    measures = [*(measure.name for measure in family), *COSTS]
    places: list[tuple[tuple[str, ...], str | None]] = [(("metric",), spec.metric)]
    places += [(("rows", label, "metric"), row.metric) for label, row in spec.rows.items()]
    places += [(("columns", n, "choose"), m) for n, c in spec.columns.items() for m in c.choose]
    for keys, measure in places:
        if measure and measure not in measures:
            expected = " or ".join(measures)
            faults.add(keys, f"expected {expected} for these models, got {measure}.")
