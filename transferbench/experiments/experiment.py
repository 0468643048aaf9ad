"""An experiment file: what a published table ran, every parameter, and the values it printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from transferbench import models, parameters, settings, strict_yaml
from transferbench.data import tasks
from transferbench.errors import UserError, unknown
from transferbench.experiments.schema import (
    COSTS,
    METRICS,
    Better,
    Claim,
    Column,
    Figure,
    Schema,
    Span,
    first_fault,
)
from transferbench.problem import Fit
from transferbench.runs.record import Run

MOST = 10_000  # settings of a grid


class PlannedRun(NamedTuple):
    """A run of an experiment: its row, column and, in some figures, place on the x axis."""

    row: str
    column: str
    x: float | None
    run: Run


@dataclass(frozen=True)
class Experiment:
    """A validated experiment: its name (the file's) and contents."""

    name: str
    spec: Schema

    def runs(self, repeats: int | None = None) -> Iterator[PlannedRun]:
        """Every run of the table or figure, seeds 0, 1, … for random models."""
        for row, task in self.spec.rows.items():
            name = tasks.Task.named(task.task).name
            for column, method in self.spec.columns.items():
                function = models.load(method.model)
                random = parameters.takes_seed(function)
                curve = bool(self.spec.figure and self.spec.figure.iterations)
                for x, given in self._sweep(column, method):
                    params = parameters.resolve(function, given, method.model)
                    for seed in range(repeats or self.spec.repeats) if random else (None,):
                        cell = Run(name, method.model, params, seed, curve and not method.control)
                        yield PlannedRun(row, column, x, cell)

    def metric(self, row: str) -> str:
        """The measure that a row shows."""
        return self.spec.rows[row].metric or self.spec.metric

    def scale(self, row: str) -> int:
        """What brings values of a row to the table's unit; costs have units of their own."""
        return 100 if self.spec.unit == "percent" and self.metric(row) not in COSTS else 1

    def tolerance(self, row: str) -> float | None:
        """How far ours may lie from the published value of a row; None where none is published."""
        if self.spec.tolerance is None:
            return None
        own = self.spec.rows[row].tolerance
        return self.spec.tolerance.value if own is None else own

    def _sweep(self, column: str, method: Column) -> Iterator[tuple[float | None, dict[str, Any]]]:
        """Values of x and the parameters there; without x where nothing varies or a grid does."""
        figure = self.spec.figure
        for values in product(*method.grid.values()) if method.grid else ():
            yield None, method.params | dict(zip(method.grid, values, strict=True))
        if method.grid:
            return
        varied = figure is not None and (
            column in figure.columns
            if figure.columns
            else not method.control and set(figure.params) & set(method.params)
        )
        if figure is None or not varied or not figure.params:
            yield None, method.params
            return
        for value in figure.values:
            yield value, method.params | dict.fromkeys(figure.params, value)

    def published(self, row: str, column: str) -> tuple[float, float | None] | None:
        """The printed mean and, where there is one, standard deviation of a cell."""
        value = self.spec.published.get(row, {}).get(column)
        if value is None:
            return None
        return value if isinstance(value, tuple) else (value, None)


def names() -> list[str]:
    """Names of all experiment files."""
    return sorted(path.stem for path in settings.experiments_dir().glob("*.yaml"))


def load(name: str) -> Experiment:
    """An experiment by name, or by the path of a file of one's own.

    Raises UserError with file and line for anything that is unknown, missing or of a wrong type.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = settings.experiments_dir() / f"{name}.yaml"
        if not path.is_file():
            raise unknown("experiment", name, names(), "See `transferbench list`.")
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(strict_yaml.MOST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}).") from None
    ours = path.parent.resolve() == settings.experiments_dir().resolve()
    if path.stem == "records" or (path.stem in names() and not ours):
        raise UserError(f"{path}: the name {path.stem} is taken; give the file another.")
    return read(text, path)


def read(text: str, path: Path) -> Experiment:
    """An experiment from YAML text that `path` names. Raises UserError as `load` does."""
    data, where = strict_yaml.read(text, path)
    if not isinstance(data, dict):
        raise where.error((), "expected a mapping with title, paper, rows, columns, …")
    try:
        spec = Schema.model_validate(data)
    except ValidationError as error:
        raise first_fault(error, where) from None
    _check(spec, where)
    return Experiment(path.stem, spec)


def _check(spec: Schema, where: strict_yaml.Places) -> None:
    """Names and parameters, which the schema cannot know."""
    family: dict[str, str] = {}
    for label, row in spec.rows.items():
        with where.at("rows", label, "task"):
            task = tasks.Task.named(row.task)
        with where.at("rows", label, "domain"):
            domains = tasks.documents(task)
            if row.domain not in (None, "all", *domains) and row.domain and domains:
                raise unknown("domain", row.domain, domains)
    for label, column in spec.columns.items():
        with where.at("columns", label, "model"):
            function = models.load(column.model)
            family[label] = models.get(column.model).family
        with where.at("columns", label, "grid"):
            _check_grid(spec, column, function)
        with where.at("columns", label, "params"):
            parameters.resolve(function, column.params, column.model)
            stated = column.params | column.grid
            missing = [name for name in parameters.schema(function) if name not in stated]
            if missing:
                raise UserError(
                    f"{column.model}: missing {', '.join(missing)}; an experiment states every "
                    "parameter."
                )
    if len(set(family.values())) > 1:
        raise where.error(("columns",), f"models of several families: {family}")
    measures = METRICS[next(iter(family.values()))]
    shown: list[tuple[tuple[str, ...], str | None]] = [(("metric",), spec.metric)]
    shown += [(("rows", label, "metric"), row.metric) for label, row in spec.rows.items()]
    shown += [(("columns", n, "choose"), m) for n, c in spec.columns.items() for m in c.choose]
    for keys, metric in shown:
        if metric and metric not in measures:
            expected = " or ".join(measures)
            raise where.error(keys, f"expected {expected} for these models, got {metric}.")
    if spec.figure:
        with where.at("figure"):
            _check_figure(spec, spec.figure)
    elif bool(spec.published) != bool(spec.tolerance):
        raise where.error((), "missing key published or tolerance; they go together.")
    for label, values in spec.published.items():
        with where.at("published", label):
            if label not in spec.rows:
                raise unknown("row", label, spec.rows)
        for column_label in values:
            with where.at("published", label, column_label):
                if column_label not in spec.columns:
                    raise unknown("column", column_label, spec.columns)
    for i, claim in enumerate(spec.claims):
        with where.at("claims", i):
            _check_claim(spec, claim)


def _check_grid(spec: Schema, column: Column, function: Callable[..., Fit]) -> None:
    if bool(column.grid) != bool(column.choose):
        raise UserError("expected grid and choose together.")
    if column.grid and spec.figure:
        raise UserError("a figure has no grids; it has params and values.")
    if (size := math.prod(map(len, column.grid.values()))) > MOST:
        raise UserError(f"the grid has {size:,} settings; expected at most {MOST:,}.")
    for name, values in column.grid.items():
        if name in column.params:
            raise UserError(f"{name} stands under params, too.")
        for value in values:
            parameters.resolve(function, {name: value}, column.model)


def _check_figure(spec: Schema, figure: Figure) -> None:
    if [bool(figure.params and figure.values), figure.iterations, figure.rows].count(True) != 1:
        raise UserError("expected one of params with values, iterations: true, rows: true.")
    if figure.rows and len({row.x is None for row in spec.rows.values()}) > 1:
        raise UserError("expected an x for every row or for none.")
    known = {name for column in spec.columns.values() for name in column.params}
    for name in figure.params:
        if name not in known:
            raise unknown("parameter of the columns", name, known)
    for name in figure.columns:
        if name not in spec.columns:
            raise unknown("column", name, spec.columns)
    if figure.levels:
        other = load(figure.levels.experiment).spec
        if figure.levels.column not in other.columns:
            raise unknown("column", figure.levels.column, other.columns)


def _check_claim(spec: Schema, claim: Claim) -> None:
    if [claim.better, claim.stable, claim.higher].count(None) != 2:
        raise UserError("expected one of better, stable, higher.")
    for name in claim.also:
        if name not in names():
            raise unknown("experiment", name, names())
    for name in claim.among:
        if name not in spec.rows:
            raise unknown("row", name, spec.rows)
    there = [row for name, row in spec.rows.items() if name in claim.among or not claim.among]
    measures = dict.fromkeys(row.metric or spec.metric for row in there)
    measure = claim.measure or spec.metric
    if measure not in measures:
        raise UserError(f"no row shows {measure}; expected {' or '.join(measures)}.")
    given = claim.predicate
    if isinstance(given, Better):
        if set(given.columns) & set(given.over):
            raise UserError("a column stands under columns and under over.")
        if given.times != 1 and (measure not in COSTS or given.by):
            raise UserError(f"times is for {' and '.join(COSTS)}, in place of by.")
    for name in (*given.columns, *given.over) if isinstance(given, Better) else (given.column,):
        if name not in spec.columns:
            raise unknown("column", name, spec.columns)
    for span in (getattr(given, name, None) for name in ("x", "at", "than")):
        if span is not None:
            _check_span(spec.figure, span)


def _check_span(figure: Figure | None, span: Span) -> None:
    if figure is None or not (figure.params or figure.iterations):
        raise UserError("x, at and than are for figures over parameters or iterations.")
    first, last = span if isinstance(span, tuple) else (span, span)
    if first > last:
        raise UserError(f"expected the smaller x first, got {first:g} and {last:g}.")
    if figure.params and not any(first <= value <= last for value in figure.values):
        raise UserError(f"no value of the figure lies from {first:g} to {last:g}.")
