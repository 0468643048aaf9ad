"""Checks of an experiment file: all mistakes at once, one line each with file and line."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from transferbench import experiments, models, parameters
from transferbench.data import tasks
from transferbench.errors import SeveralErrors, UserError, brief, did_you_mean, unknown
from transferbench.experiments.schema import (
    Better,
    Claim,
    Column,
    Figure,
    Printed,
    Row,
    Schema,
    Span,
    average_label,
    choice_label,
)
from transferbench.measures import COSTS, LOWER_IS_BETTER, MEASURES
from transferbench.problem import Family
from transferbench.strict_yaml import LineMap

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from transferbench.experiments.experiment import Experiment

MAX_SETTINGS = 10_000  # of a grid


class ErrorList:
    """The mistakes of a file, collected to be reported at once."""

    def __init__(self, lines: LineMap) -> None:
        self.lines = lines
        self.found: list[tuple[int, UserError]] = []

    def add(self, keys: tuple[object, ...], message: str) -> None:
        """Collect a mistake at these keys."""
        self.found.append((self.lines.line(keys), self.lines.error(keys, message)))

    @contextmanager
    def at(self, *keys: object) -> Iterator[None]:
        """Collect a UserError raised in this block, with the file and the line of these keys."""
        try:
            yield
        except UserError as error:
            self.add(keys, str(error))

    def check_known(
        self, what: str, names: Collection[str], known: Collection[str], *keys: object
    ) -> None:
        """Collect the names that are not known; `keys` lead to the list or mapping."""
        for i, name in enumerate(names):
            if name not in known:
                key = name if isinstance(names, Mapping) else i
                self.add((*keys, key), str(unknown(what, name, known)))

    def add_all(self, error: ValidationError, model: type[BaseModel]) -> None:
        """Collect the mistakes that pydantic found, one for each place.

        A missing key is left out if an unknown one beside it is a misspelling of it, and of the
        alternatives of a union the first stays.
        """
        places: set[tuple[object, ...]] = set()
        # Unknown keys first: they may explain missing ones.
        for detail in sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden"):
            keys, kind = detail["loc"], detail["type"]
            if kind == "extra_forbidden":
                known = _known_keys(model, keys[:-1])
                close = did_you_mean(str(keys[-1]), known)
                places |= {(*keys[:-1], name) for name in known if repr(name) in close}
                message = f"unknown key {brief(str(keys[-1]))}.{close} Known: {', '.join(known)}."
                self.add(keys, message)
                continue
            place = keys if kind == "missing" else self.lines.known(keys)
            if place not in places:
                places.add(place)
                self.add(keys[:-1] if kind == "missing" else keys, _message(detail))

    def check(self) -> None:
        """Raise UserError with all mistakes, in the order of their lines, if there are any."""
        if self.found:
            ordered = sorted(self.found, key=lambda each: each[0])
            raise SeveralErrors.of([error for _, error in ordered])


def _message(detail: Any) -> str:
    """Return the message for one of pydantic's errors about a key that the model has."""
    name = ".".join(str(key) for key in detail["loc"] if not str(key).startswith("tuple["))[:200]
    if detail["type"] == "missing":
        return f"missing key {name}."
    message = detail["msg"].replace("Input should be", "expected").replace(" after validation", "")
    return f"{name}: {message}, got {reprlib.repr(detail['input'])}."


def _known_keys(model: Any, keys: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the part of the file at `keys` may have."""
    part = model
    for key in keys:
        field = getattr(part, "model_fields", {}).get(key)
        if field:
            inner = getattr(field.annotation, "__args__", ())
            part = next((each for each in inner if hasattr(each, "model_fields")), field.annotation)
    return list(getattr(part, "model_fields", {}))


def check(spec: Schema, errors: ErrorList) -> None:
    """Check that the parts of a file fit together and that everything they name exists."""
    check_rows(spec.rows, spec.columns, errors)
    check_columns(spec.columns, spec.rows, spec.figure, errors)
    _check_measures(spec, errors)
    _check_labels(spec, errors)
    if spec.figure:
        _check_figure(spec, spec.figure, errors)
    _check_published(spec, errors)
    _check_readings(spec, errors)
    _check_regret(spec, errors)
    for i, claim in enumerate(spec.claims):
        _check_claim(spec, claim, ("claims", i), errors)


def check_rows(rows: Mapping[str, Row], columns: Mapping[str, Column], errors: ErrorList) -> None:
    """Check the tasks and domains of rows; models of the columns tell whether `all` is a domain."""
    for label, row in rows.items():
        domains: dict[str, int] = {}
        with errors.at("rows", label, "task"):
            domains = tasks.documents(tasks.Task.named(row.task))
        with errors.at("rows", label, "domain"):
            _check_domain(row, domains, columns)


def _check_domain(row: Row, domains: Mapping[str, int], columns: Mapping[str, Column]) -> None:
    """Raise UserError if the row's domain is none of those of its task, or `all` where allowed."""
    joined = ["all"] * (set(_families(columns).values()) <= {"multilabel"})
    if row.domain and domains and row.domain not in (*domains, *joined):
        raise unknown("domain", row.domain, domains)


def check_columns(
    columns: Mapping[str, Column], rows: Mapping[str, Row], figure: Figure | None, errors: ErrorList
) -> None:
    """Check the models of columns, their parameters, and their options on the tasks of the rows."""
    for label, column in columns.items():
        keys = ("columns", label)
        with errors.at(*keys, "model"):
            models.load(column.model)
            _check_params(label, column, figure, errors)
        _check_grid(column, keys, errors)
        with errors.at(*keys, "task"):
            domains = tasks.documents(tasks.Task.named(column.task)) if column.task else {}
            for row in rows.values():
                _check_domain(row, domains, columns)
        for row in rows.values() if column.options else ():
            with suppress(UserError):  # a mistake of the row, or of the column's task
                tasks.Task.named(column.task or row.task)
                with errors.at(*keys, "options"):
                    tasks.Task.named(column.task or row.task, **column.options)


def _check_params(label: str, column: Column, figure: Figure | None, errors: ErrorList) -> None:
    """Check that every parameter of a known model is stated, and no other, with valid values."""
    fit = models.load(column.model)
    place: tuple[object, ...] = ("columns", label)
    given = [((*place, "grid"), n, value) for n, values in column.grid.items() for value in values]
    given += [((*place, "params"), name, value) for name, value in column.params.items()]
    if figure and figure.varies(label, column):
        values = list(enumerate(figure.values))
        given += [(("figure", "values", i), n, value) for i, value in values for n in figure.params]
    for keys, name, value in given:
        with errors.at(*keys):
            parameters.resolve(fit, {name: value}, column.model)
    stated, known = column.params | column.grid, parameters.schema(fit)
    # A misspelt name would be reported twice.
    misspelt = " ".join(did_you_mean(name, known) for name in stated if name not in known)
    if missing := [n for n in known if n not in stated and repr(n) not in misspelt]:
        names = ", ".join(missing)
        message = f"{column.model}: missing {names}; an experiment states every parameter."
        errors.add((*place, "params"), message)


def _check_grid(column: Column, keys: tuple[str, str], errors: ErrorList) -> None:
    if bool(column.grid) != bool(column.choose):
        errors.add((*keys, "grid"), "expected grid and choose together.")
    if (size := math.prod(map(len, column.grid.values()))) > MAX_SETTINGS:
        message = f"the grid has {size:,} settings; expected at most {MAX_SETTINGS:,}."
        errors.add((*keys, "grid"), message)
    for name in column.grid.keys() & column.params.keys():
        message = f"{name} is given under params and under grid; remove one."
        errors.add((*keys, "grid", name), message)


def _families(columns: Mapping[str, Column]) -> dict[str, Family]:
    """Return the family of the model of each column; columns of unknown models are left out."""
    known = models.registry()
    return {n: known[c.model].family for n, c in columns.items() if c.model in known}


def _check_measures(spec: Schema, errors: ErrorList) -> None:
    """Check that all models are of one family and every measure is one of that family."""
    families = _families(spec.columns)
    if len(set(families.values())) > 1:
        errors.add(("columns",), f"models of several families: {families}")
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
            errors.add(keys, f"expected {expected} for these models, got {measure}.")


def _check_labels(spec: Schema, errors: ErrorList) -> None:
    averages = {average_label(row.group) for row in spec.rows.values()}
    for label in averages & spec.rows.keys() if spec.figure is None else ():
        message = f"the table adds a row of means named {label}; rename this row."
        errors.add(("rows", label), message)
    for name, column in spec.columns.items():
        for label in {choice_label(name, m) for m in column.choose[1:]} & spec.columns.keys():
            message = f"{name} adds a column named {label}; rename this column."
            errors.add(("columns", label), message)


def _check_figure(spec: Schema, figure: Figure, errors: ErrorList) -> None:
    axes = [bool(figure.params and figure.values), figure.iterations, figure.rows]
    if axes.count(True) != 1:
        message = "expected one of params with values, iterations: true, rows: true."
        errors.add(("figure",), message)
    if spec.readings:
        errors.add(("readings",), "expected figure or readings, not both.")
    for label, column in spec.columns.items():
        if column.grid:
            message = "a figure has no grids; it has params and values."
            errors.add(("columns", label, "grid"), message)
    if figure.rows and len({row.x is None for row in spec.rows.values()}) > 1:
        errors.add(("figure",), "expected an x for every row or for none.")
    params = {name for column in spec.columns.values() for name in column.params}
    what = "parameter of the columns"
    errors.check_known(what, figure.params, params, "figure", "params")
    errors.check_known("column", figure.columns, spec.columns, "figure", "columns")
    if figure.levels:
        with errors.at("figure", "levels"):
            _printed_table(figure.levels)


def _printed_table(printed: Printed) -> Experiment:
    """Return the experiment that has the printed values. Raise UserError if it does not exist."""
    table = experiments.load(printed.experiment)
    if printed.column not in table.spec.columns:
        raise unknown("column", printed.column, table.spec.columns)
    return table


def _check_published(spec: Schema, errors: ErrorList) -> None:
    if not spec.figure and bool(spec.published) != bool(spec.tolerance):
        errors.add((), "missing key published or tolerance; they go together.")
    errors.check_known("row", spec.published, spec.rows, "published")
    for row, values in spec.published.items():
        errors.check_known("column", values, spec.columns, "published", row)
    if spec.control_of and spec.published:
        errors.add(("published",), "expected control_of or published, not both.")
    elif spec.control_of:
        with errors.at("control_of"):
            _check_control(spec)


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


def _check_readings(spec: Schema, errors: ErrorList) -> None:
    """Check that a reading names what it reads, and has no published values of its own."""
    for label, row in spec.rows.items():
        if spec.readings:
            with errors.at(*(("rows", label, "printed") if row.printed else ("readings",))):
                _check_printed(spec.readings, label, row)
    rows = {name: row for name, row in spec.rows.items() if not row.reading_of}
    columns = {name: column for name, column in spec.columns.items() if not column.reading_of}
    for name, row in spec.rows.items():
        with errors.at("rows", name, "reading_of"):
            if row.reading_of and row.reading_of not in rows:
                raise unknown("row", row.reading_of, rows)
            if row.reading_of and name in spec.published:
                raise UserError("has published values of its own; remove them.")
            if row.reading_of and row.metric != rows[row.reading_of].metric:
                raise UserError(f"expected the metric of the row {row.reading_of}.")
            if row.reading_of and row.group in {each.group for each in rows.values()}:
                raise UserError("expected a group that no other row has, such as `group: rebuilt`.")
    read: set[str] = set()
    for name, column in spec.columns.items():
        with errors.at("columns", name, "reading_of"):
            if column.reading_of and column.reading_of not in columns:
                raise unknown("column", column.reading_of, columns)
            if column.reading_of and any(name in values for values in spec.published.values()):
                raise UserError("has published values of its own; remove them.")
            if column.reading_of and (column.reading_of in read or column.control):
                raise UserError(
                    f"expected one reading of {column.reading_of}, and no control; for more "
                    "readings make a file with `readings`."
                )
        read.add(column.reading_of)


def _check_printed(readings: Printed, label: str, row: Row) -> None:
    """Raise UserError if a row of readings has no published value."""
    name, printed_row = row.printed or (readings.experiment, label)
    table = _printed_table(readings.model_copy(update={"experiment": name}))
    if table.published(printed_row, readings.column) is None:
        known = [row for row in table.spec.rows if table.published(row, readings.column)]
        raise unknown("row with a published value", printed_row, known)


def _check_regret(spec: Schema, errors: ErrorList) -> None:
    if spec.regret is None:
        return
    if spec.figure or any(column.grid or column.task for column in spec.columns.values()):
        message = "expected no figure, grid or task of a column beside regret."
        errors.add(("regret",), message)
    named = [spec.regret.reference, *spec.regret.votes]
    named += [rule.column for rule in spec.regret.rules.values()]
    errors.check_known("column", named, spec.columns, "regret")
    if not spec.candidates:
        message = "expected a column to choose: no control, and not in votes."
        errors.add(("regret",), message)


def _check_claim(spec: Schema, claim: Claim, keys: tuple[object, ...], errors: ErrorList) -> None:
    """Check that rows, columns, the measure and values of x are the experiment's."""
    errors.check_known("row", claim.among, spec.rows, *keys, "among")
    errors.check_known("experiment", claim.also, experiments.names(), *keys, "also")
    if [claim.better, claim.stable, claim.higher].count(None) != 2:
        errors.add(keys, "expected one of better, stable, higher.")
        return
    rows = [spec.rows[name] for name in claim.among if name in spec.rows] or spec.rows.values()
    shown = dict.fromkeys(row.metric or spec.metric for row in rows)
    measure = claim.measure or spec.metric
    if measure not in shown:
        errors.add(keys, f"no row shows {measure}; expected {' or '.join(shown)}.")
    if claim.matters is not None and claim.has_threshold:
        message = "the claim has a threshold (by, times or within); remove one."
        errors.add((*keys, "matters"), message)
    ratio = measure in COSTS or bool(spec.figure and spec.figure.objective)
    if ratio and claim.matters is not None and claim.matters < 1:
        errors.add((*keys, "matters"), "expected a ratio, at least 1, such as 1.1.")
    better = claim.better
    if better and better.times != 1 and (measure not in COSTS or better.by):
        message = f"times is for {' and '.join(COSTS)}, in place of by."
        errors.add((*keys, "better", "times"), message)
    if better and better.fewer_errors and measure in LOWER_IS_BETTER:
        message = f"no errors can be fewer in {measure}."
        errors.add((*keys, "better", "fewer_errors"), message)
    given = claim.predicate
    keys = (*keys, type(given).__name__.lower())
    errors.check_known("column", claim.columns, spec.columns, *keys)
    with errors.at(*keys):
        if isinstance(given, Better):
            if set(given.columns) & set(given.over):
                raise UserError("a column is named under columns and under over; remove one.")
            if not given.rivals(spec.competitors):
                raise UserError("no other column to compare with; name one under over.")
            if given.over and given.value is not None:
                errors.add((*keys, "value"), "expected over or value, not both.")
            if given.by and given.fewer_errors:
                errors.add((*keys, "fewer_errors"), "expected by or fewer_errors, not both.")
        for span in (getattr(given, key, None) for key in ("x", "at", "than")):
            if span is not None:
                _check_span(span, spec.figure)


def _check_span(span: Span, figure: Figure | None) -> None:
    """Raise UserError if the figure has no x from the first to the last of the span."""
    if figure is None or not (figure.params or figure.iterations):
        raise UserError("x, at and than are for figures over parameters or iterations.")
    first, last = span if isinstance(span, tuple) else (span, span)
    if first > last:
        raise UserError(f"expected the smaller x first, got {first:g} and {last:g}.")
    if figure.params and not any(first <= value <= last for value in figure.values):
        raise UserError(f"no value of the figure lies from {first:g} to {last:g}.")
