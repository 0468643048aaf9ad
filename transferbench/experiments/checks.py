"""Checks of an experiment file: all mistakes at once, one line each with file and line."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from transferbench import experiments, models, parameters, strict_yaml
from transferbench.data import tasks
from transferbench.errors import SeveralErrors, UserError, brief, did_you_mean, unknown
from transferbench.experiments.experiment import (
    Better,
    Claim,
    Experiment,
    Figure,
    Schema,
    StrictModel,
)
from transferbench.measures import COSTS, MEASURES
from transferbench.problem import Family
from transferbench.strict_yaml import LineMap

if TYPE_CHECKING:
    from pydantic import ValidationError

MAX_SETTINGS = 10_000  # of a grid


class ErrorList:
    """The mistakes of a file, collected to be reported at once."""

    def __init__(self, lines: LineMap) -> None:
        self.lines = lines
        self.found: list[tuple[int, UserError]] = []

    def add(self, message: str, *keys: object) -> None:
        """Collect a mistake at these keys."""
        self.found.append((self.lines.line(keys), self.lines.error(keys, message)))

    def expect(self, condition: object, message: str, *keys: object) -> None:
        """Collect a mistake at these keys unless the condition is true."""
        if not condition:
            self.add(message, *keys)

    @contextmanager
    def at(self, *keys: object) -> Iterator[None]:
        """Collect a UserError raised in this block, with the file and the line of these keys."""
        try:
            yield
        except UserError as error:
            self.add(str(error), *keys)

    def check_known(
        self, what: str, names: Collection[str], known: Collection[str], *keys: object
    ) -> None:
        """Collect the names that are not known; `keys` lead to the list or mapping."""
        for i, name in enumerate(names):
            key = name if isinstance(names, Mapping) else i
            self.expect(name in known, str(unknown(what, name, known)), *keys, key)

    def add_all(self, error: ValidationError) -> None:
        """Collect the mistakes that pydantic found, one for each place.

        A missing key is left out if an unknown one beside it is a misspelling of it, and of the
        alternatives of a union the first stays.
        """
        places: set[tuple[object, ...]] = set()
        known = {name for part in StrictModel.__subclasses__() for name in part.model_fields}
        # Unknown keys first: they may explain missing ones.
        for detail in sorted(error.errors(), key=lambda each: each["type"] != "extra_forbidden"):
            keys, kind = detail["loc"], detail["type"]
            if kind == "extra_forbidden":
                close = did_you_mean(str(keys[-1]), known)
                places |= {(*keys[:-1], name) for name in known if repr(name) in close}
                self.add(f"unknown key {brief(str(keys[-1]))}.{close}", *keys)
                continue
            place = keys if kind == "missing" else self.lines.known(keys)
            if place not in places:
                places.add(place)
                self.add(_message(detail), *(keys[:-1] if kind == "missing" else keys))

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


def check(spec: Schema, errors: ErrorList) -> None:
    """Check that the parts of a file fit together and that everything they name exists."""
    families: dict[str, Family] = {}
    for name, column in spec.columns.items():
        with suppress(UserError):  # an unknown model, which `_check_models` reports
            families[name] = models.get(column.model).family
    _check_tasks(spec, families, errors)
    _check_models(spec, errors)
    _check_measures(spec, families, errors)
    if spec.figure:
        _check_figure(spec, spec.figure, errors)
    _check_published(spec, errors)
    _check_readings(spec, errors)
    grouped = spec.units != "group" or all(row.group for row in spec.rows.values())
    errors.expect(grouped, "expected a group for every row.", "units")
    if spec.regret:
        named = [spec.regret.reference, *spec.regret.combined]
        errors.check_known("column", named, spec.columns, "regret")
        message = "expected a column to choose: no control, and not in combined."
        errors.expect(spec.candidates, message, "regret")
        alike = len({tuple(row.variant) for row in spec.rows.values()}) == 1
        errors.expect(alike, "expected the same variants for every row.", "regret")
    if spec.board:
        errors.check_known("column", [spec.board], spec.columns, "board")
    for i, claim in enumerate(spec.claims):
        _check_claim(spec, claim, ("claims", i), errors)


def _check_tasks(spec: Schema, families: Mapping[str, Family], errors: ErrorList) -> None:
    """Check tasks, variants, options and domains; for multi-label models `all` is a domain."""
    joined = ["all"] * (set(families.values()) <= {"multilabel"})
    for label, row in spec.rows.items():
        keys = ("rows", label, "variants")
        errors.check_known("variant", row.variants, spec.variants, *keys)
        for axis in row.variants.keys() & spec.variants.keys():
            values = spec.variants[axis]
            errors.check_known(f"value of {axis}", row.variants[axis], values, *keys, axis)
        with errors.at("rows", label, "task"):
            domains = tasks.documents(tasks.Task.named(row.task))
            named = [row.domain] if row.domain and domains else []
            errors.check_known("domain", named, [*domains, *joined], "rows", label, "domain")
    for label, column in spec.columns.items():
        with errors.at("columns", label, "task"):
            if column.task:
                tasks.Task.named(column.task)
        for row in spec.rows.values() if column.options else ():
            with errors.at("columns", label, "options"):
                tasks.Task.named(column.task or row.task, **column.options)


def _check_models(spec: Schema, errors: ErrorList) -> None:
    """Check that every parameter is one of its model, with a valid value."""
    figure = spec.figure
    for label, column in spec.columns.items():
        place: tuple[object, ...] = ("columns", label)
        together = bool(column.grid) == bool(column.choose)
        errors.expect(together, "expected grid and choose together.", *place, "grid")
        size = math.prod(map(len, column.grid.values()))
        message = f"the grid has {size:,} settings; expected at most {MAX_SETTINGS:,}."
        errors.expect(size <= MAX_SETTINGS, message, *place, "grid")
        if models.is_external(column.model):
            continue
        given = [((*place, "grid"), n, v) for n, values in column.grid.items() for v in values]
        given += [((*place, "params"), name, value) for name, value in column.params.items()]
        if figure and figure.varies(label, column):
            values = list(enumerate(figure.values))
            given += [(("figure", "values", i), n, v) for i, v in values for n in figure.params]
        with errors.at(*place, "model"):
            fit = models.load(column.model)
            for keys, name, value in given:
                with errors.at(*keys):
                    parameters.resolve(fit, {name: value}, column.model)


def _check_measures(spec: Schema, families: Mapping[str, Family], errors: ErrorList) -> None:
    """Check that all models are of one family and every measure is one of that family."""
    if len(set(families.values())) != 1:
        several = ", ".join(sorted(set(families.values())))
        errors.expect(not families, f"models of several families: {several}", "columns")
        return
    family = MEASURES[next(iter(families.values()))]
    measures = [*(measure.name for measure in family), *COSTS]
    places: list[tuple[tuple[str, ...], str | None]] = [(("metric",), spec.metric)]
    places += [(("rows", label, "metric"), row.metric) for label, row in spec.rows.items()]
    places += [(("columns", n, "choose"), m) for n, c in spec.columns.items() for m in c.choose]
    for keys, measure in places:
        message = f"expected {' or '.join(measures)} for these models, got {measure}."
        errors.expect(measure is None or measure in measures, message, *keys)


def _check_figure(spec: Schema, figure: Figure, errors: ErrorList) -> None:
    axes = [bool(figure.params and figure.values), figure.iterations, figure.rows]
    message = "expected one of params with values, iterations: true, rows: true."
    errors.expect(axes.count(True) == 1, message, "figure")
    errors.expect(not spec.readings, "expected figure or readings, not both.", "readings")
    for label, column in spec.columns.items():
        message = "a figure has no grids; it has params and values."
        errors.expect(not column.grid, message, "columns", label, "grid")
    params = {name for column in spec.columns.values() for name in column.params}
    what = "parameter of the columns"
    errors.check_known(what, figure.params, params, "figure", "params")
    errors.check_known("column", figure.columns, spec.columns, "figure", "columns")
    if figure.levels:
        with errors.at("figure", "levels"):
            _printed_table(figure.levels.experiment, figure.levels.column)


def _printed_table(name: str, column: str) -> Experiment:
    """Return an experiment with a column. Raise UserError if either does not exist."""
    table = experiments.load(name)
    if column not in table.spec.columns:
        raise unknown("column", column, table.spec.columns)
    return table


def _check_published(spec: Schema, errors: ErrorList) -> None:
    together = spec.figure or bool(spec.published) == bool(spec.tolerance)
    errors.expect(together, "missing key published or tolerance; they go together.")
    named = [row for each in spec.tolerance for row in each.rows or spec.published]
    for i, each in enumerate(spec.tolerance):
        errors.check_known("row", each.rows, spec.rows, "tolerance", i, "rows")
    for row in spec.published if spec.tolerance else ():
        errors.expect(named.count(row) == 1, f"expected one tolerance for {row}.", "tolerance")
    unstated = spec.published_repeats.unstated if spec.published_repeats else ()
    errors.check_known("column", unstated, spec.columns, "published_repeats", "unstated")
    errors.check_known("row", spec.published, spec.rows, "published")
    for method, by_row in spec.cited.items():
        errors.check_known("row", by_row, spec.rows, "cited", method)
    for row, values in spec.published.items():
        errors.check_known("column", values, spec.columns, "published", row)
    if spec.control_of:
        message = "expected control_of or published, not both."
        errors.expect(not spec.published, message, "published")
        errors.check_known("experiment", [spec.control_of], experiments.names(), "control_of")


def _check_readings(spec: Schema, errors: ErrorList) -> None:
    """Check that every row, column and published value that is read exists."""
    if readings := spec.readings:
        for label, row in spec.rows.items():
            with errors.at(*(("rows", label, "printed") if row.printed else ("readings",))):
                name, printed_row = row.printed or (readings.experiment, label)
                table = _printed_table(name, readings.column)
                published = [r for r in table.spec.rows if table.published(r, readings.column)]
                if printed_row not in published:
                    raise unknown("row with a published value", printed_row, published)
    for kind, parts in (("row", spec.rows), ("column", spec.columns)):
        known = [name for name, part in parts.items() if not part.reading_of]
        for name in parts.keys() - known:
            read = [parts[name].reading_of]
            errors.check_known(kind, read, known, f"{kind}s", name, "reading_of")


def _check_claim(spec: Schema, claim: Claim, keys: tuple[object, ...], errors: ErrorList) -> None:
    """Check that rows, columns, the measure and values of x are the experiment's."""
    errors.check_known("row", claim.among, spec.rows, *keys, "among")
    errors.check_known("experiment", claim.also, experiments.names(), *keys, "also")
    errors.check_known("experiment", claim.read_with, experiments.names(), *keys, "read_with")
    errors.expect(bool(claim.place) != bool(claim.own), "expected place or own.", *keys)
    if [claim.better, claim.stable, claim.higher].count(None) != 2:
        errors.add("expected one of better, stable, higher.", *keys)
        return
    for name in {*claim.also, *claim.read_with}.intersection(experiments.names()):
        other, _ = strict_yaml.load(experiments.path(name))  # unchecked: it may name this file
        if name in claim.also:
            kind = f"column of {name}"
            errors.check_known(kind, claim.columns, other["columns"], *keys, "also")
        if says := claim.read_with.get(name):
            known = [each["says"] for each in other.get("claims", ())]
            errors.check_known(f"claim of {name}", [says], known, *keys, "read_with", name)
    rows = [spec.rows[name] for name in claim.among if name in spec.rows] or spec.rows.values()
    shown = dict.fromkeys(row.metric or spec.metric for row in rows)
    measure = claim.measure or spec.metric
    message = f"no row shows {measure}; expected {' or '.join(shown)}."
    errors.expect(measure in shown, message, *keys)
    given = claim.predicate
    keys = (*keys, type(given).__name__.lower())
    errors.check_known("column", claim.columns, spec.columns, *keys)
    if isinstance(given, Better):
        message = f"times is for {' and '.join(COSTS)}, in place of by."
        valid = given.times == 1 or (measure in COSTS and not given.by)
        errors.expect(valid, message, *keys, "times")
        message = "no other column to compare with; name one under over."
        errors.expect(given.rivals(spec.competitors), message, *keys)
    figure = spec.figure
    for span in (getattr(given, key, None) for key in ("x", "at", "than")):
        if span is None:
            continue
        if figure is None or not (figure.params or figure.iterations):
            message = "x, at and than are for figures over parameters or iterations."
            errors.add(message, *keys)
            continue
        first, last = span if isinstance(span, tuple) else (span, span)
        if figure.params and not any(first <= value <= last for value in figure.values):
            errors.add(f"no value of the figure lies from {first:g} to {last:g}.", *keys)
