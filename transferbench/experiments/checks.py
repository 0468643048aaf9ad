"""Checks of an experiment file: all mistakes at once, one line each with file and line."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any

from pydantic import ValidationError

from transferbench import datasets, experiments, models, parameters, strict_yaml, tasks
from transferbench.errors import SeveralErrors, UserError, brief, closest, unknown
from transferbench.experiments.schema import Better, Claim, Column, Figure, Schema, StrictModel
from transferbench.measures import COSTS, MEASURES, SCORES
from transferbench.problem import Family
from transferbench.strict_yaml import Keys, LineMap


class ErrorList:
    """The mistakes of a file, collected to be reported at once."""

    def __init__(self, lines: LineMap) -> None:
        self.lines = lines
        self.by_line: list[tuple[int, UserError]] = []

    def add(self, message: str, *keys: object) -> None:
        """Collect a mistake at these keys."""
        self.by_line.append((self.lines.line(keys), self.lines.error(keys, message)))

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
        """Collect the names that are not known.

        Parameters
        ----------
        what
            What they name.
        names
            List, or mapping by name.
        known
            The names that exist.
        *keys
            Keys of the list or mapping in the file.
        """
        for i, name in enumerate(names):
            key = name if isinstance(names, Mapping) else i
            self.expect(name in known, str(unknown(what, name, known)), *keys, key)

    def combined(self) -> UserError:
        """Return one error for all mistakes, in the order of their lines."""
        ordered = sorted(self.by_line, key=lambda mistake: mistake[0])
        return SeveralErrors.combine([error for _, error in ordered])


def _type_mistakes(error: ValidationError, lines: LineMap) -> Iterator[tuple[str, Keys]]:
    """Yield the message and the keys of each mistake that pydantic found.

    A missing key is left out if an unknown key beside it is a misspelling of it. A value that fits
    no alternative of a union has a mistake for each of them; only the first is yielded.
    """
    known_keys = {name for part in StrictModel.__subclasses__() for name in part.model_fields}
    details = error.errors()
    unknown_keys = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    misspelled: set[Keys] = set()
    for keys in unknown_keys:
        meant = closest(str(keys[-1]), known_keys - {keys[-1]})
        misspelled.add((*keys[:-1], meant))
        hint = f" Did you mean {meant!r}?" if meant else ""
        yield f"unknown key {brief(str(keys[-1]))}.{hint}", keys
    reported: set[Keys] = set()
    for detail in details:
        keys, kind = detail["loc"], detail["type"]
        name = ".".join(str(key) for key in keys if not str(key).startswith("tuple["))[:200]
        if kind == "value_error":
            yield str(detail["ctx"]["error"]), keys
        elif kind == "missing":
            if keys not in misspelled:
                yield f"missing key {name}.", keys[:-1]
        elif kind != "extra_forbidden" and (known := lines.known(keys)) not in reported:
            reported.add(known)
            message = detail["msg"].replace("Input should be", "expected")
            message = message.replace(" after validation", "").replace("a valid tuple", "a list")
            yield f"{name}: {message}, got {reprlib.repr(detail['input'])}.", keys


def validate(data: Any, lines: LineMap) -> Schema:
    """Return the schema of a file's data.

    Parameters
    ----------
    data
        Plain data of the YAML file.
    lines
        Its line numbers.

    Returns
    -------
    Schema
        The checked data.

    Raises
    ------
    UserError
        With all wrong keys and types, or if there are none, with all wrong names.
    """
    errors = ErrorList(lines)
    try:
        spec = Schema.model_validate(data)
    except ValidationError as error:
        for message, keys in _type_mistakes(error, lines):
            errors.add(message, *keys)
        raise errors.combined() from None
    families = {}
    for label, column in spec.columns.items():
        with errors.at("columns", label, "model"):
            families[label] = models.get(column.model).family
    # For multi-label models, `all` is a domain.
    more_domains = ["all"] if set(families.values()) <= {"multilabel"} else []
    for label in spec.rows:
        _check_row(spec, label, more_domains, errors)
    for label, column in spec.columns.items():
        _check_column(spec, label, column, errors)
    if spec.repeats_over == "splits" and not errors.by_line:
        with errors.at("repeats_over"):
            for row, column in product(spec.rows.values(), spec.columns.values()):
                row.data(column).with_options({"split": 1})
    _check_measures(spec, set(families.values()), errors)
    if spec.figure:
        _check_figure(spec, spec.figure, errors)
    _check_published(spec, errors)
    for kind, parts in (("row", spec.rows), ("column", spec.columns)):
        read = [name for name, part in parts.items() if not part.reading_of]
        for name in parts.keys() - read:
            named = [parts[name].reading_of]
            errors.check_known(kind, named, read, f"{kind}s", name, "reading_of")
    grouped = spec.units != "group" or all(row.group for row in spec.rows.values())
    errors.expect(grouped, "expected a group for every row.", "units")
    if spec.regret:
        errors.check_known("column", spec.regret.combined, spec.columns, "regret")
        message = "expected a column to choose: no control, and not in combined."
        errors.expect(spec.candidates, message, "regret")
    for key in ("proposed", "declared"):
        errors.check_known("column", getattr(spec, key), spec.columns, key)
    _check_readings(spec, errors)
    if spec.by_labels:
        errors.check_known("column", [spec.by_labels], spec.columns, "by_labels")
        _check_by_labels(spec, errors)
    if spec.board:
        errors.check_known("column", [spec.board], spec.columns, "board")
    for i, claim in enumerate(spec.claims):
        _check_claim(spec, claim, ("claims", i), errors)
    if errors.by_line:
        raise errors.combined()
    return spec


def _check_readings(spec: Schema, errors: ErrorList) -> None:
    """Check the declared readings and the circular cells."""
    declared: dict[str, str] = {}
    for name in (name for name in spec.declared if name in spec.columns):
        read = spec.columns[name].reading_of
        if not read:
            errors.add(f"expected a reading (with reading_of), got {brief(name)}.", "declared")
        elif read in declared:
            message = f"expected one reading of {brief(read)}, got {declared[read]} and {name}."
            errors.add(message, "declared")
        declared[read or name] = name
    for i, entry in enumerate(spec.circular):
        errors.check_known("row", entry.rows, spec.rows, "circular", i, "rows")
        errors.check_known("column", entry.columns, spec.columns, "circular", i, "columns")
        rows = {spec.rows[n].reading_of or n for n in entry.rows or spec.rows if n in spec.rows}
        named = [n for n in entry.columns or spec.columns if n in spec.columns]
        columns = {spec.columns[n].reading_of or n for n in named}
        printed = any(columns & spec.published.get(row, {}).keys() for row in rows)
        errors.expect(printed, "expected a cell with a published value.", "circular", i)


def _check_row(spec: Schema, label: str, more_domains: Collection[str], errors: ErrorList) -> None:
    """Check the task, its domain and the variants of a row."""
    row, keys = spec.rows[label], spec.keys_of(label)
    errors.check_known("variant", row.variants, spec.variants, *keys, "variants")
    for axis in row.variants.keys() & spec.variants.keys():
        what, values = f"value of {axis}", spec.variants[axis]
        errors.check_known(what, row.variants[axis], values, *keys, "variants", axis)
    with errors.at(*keys, "task"):
        domains = tasks.documents(row.data())
        named = [row.domain] if row.domain and domains else []
        errors.check_known("domain", named, [*domains, *more_domains], *keys, "domain")


def _check_column(spec: Schema, label: str, column: Column, errors: ErrorList) -> None:
    """Check the task, the options and all parameters of a column."""
    keys = ("columns", label)
    with errors.at(*keys, "task"):
        if column.task:
            tasks.Task.parse(column.task)
    for row in spec.rows.values() if column.options else ():
        with errors.at(*keys, "options"):
            row.data(column)
    together = bool(column.grid) == bool(column.choose)
    errors.expect(together, "expected grid and choose together.", *keys, "grid")
    if models.is_external(column.model):
        return
    settings: list[tuple[Keys, str, object]]
    settings = [((*keys, "params"), name, value) for name, value in column.params.items()]
    settings += [
        ((*keys, "grid"), n, value) for n, values in column.grid.items() for value in values
    ]
    if spec.figure and spec.figure.varies(column):
        points = list(enumerate(spec.figure.values))
        settings += [(("figure", "values", i), n, x) for i, x in points for n in spec.figure.params]
    with errors.at(*keys, "model"):  # an unknown one is reported once
        fit = models.load(column.model)
        for keys_of_value, name, value in settings:
            with errors.at(*keys_of_value):
                parameters.resolve(fit, {name: value}, column.model)


def _check_by_labels(spec: Schema, errors: ErrorList) -> None:
    """Check that a sample is of one target, and that the names of its columns have its size.

    A task draws a sample of each target.
    """
    reported = set()
    for label, row in spec.rows.items():
        keys = spec.keys_of(label)
        with suppress(UserError):  # reported by _check_row
            task = row.data()
            domains = datasets.facts(task.base).get("documents", {})
            several = len(domains) > 2 and not task.subsample_options.get("halves")
            if several and keys not in reported:
                reported.add(keys)
                expected = "expected a task with one source and one target for by_labels"
                errors.add(f"{task.base} has {len(domains)} domains; {expected}.", *keys, "task")
    for label, column in spec.columns.items():
        if labelled := column.options.get("labelled"):
            end = f", {labelled} labels, draw {column.options.get('draw', 0)}"
            message = f"expected METHOD{end} as the name of this column, for by_labels."
            errors.expect(label.endswith(end), message, "columns", label)


def _check_measures(spec: Schema, families: Collection[Family], errors: ErrorList) -> None:
    """Check that all models are of one family and every measure is one of that family."""
    if len(families) != 1:
        several = ", ".join(sorted(families))
        errors.expect(not families, f"models of several families: {several}", "columns")
        return
    measures = [*(measure.name for family in families for measure in MEASURES[family]), *COSTS]
    named: list[tuple[tuple[str, ...], str | None]] = [(("metric",), spec.metric)]
    named += [((*spec.keys_of(label), "metric"), row.metric) for label, row in spec.rows.items()]
    named += [(("columns", n, "choose"), m) for n, c in spec.columns.items() for m in c.choose]
    for keys, measure in named:
        message = f"expected {' or '.join(measures)} for these models, got {measure}."
        errors.expect(measure is None or measure in measures, message, *keys)


def _check_figure(spec: Schema, figure: Figure, errors: ErrorList) -> None:
    """Check the axis of a figure and the table of its levels."""
    axes = [bool(figure.params and figure.values), figure.iterations, figure.rows]
    message = "expected one of params with values, iterations: true, rows: true."
    errors.expect(axes.count(True) == 1, message, "figure")
    has_x = not figure.rows or all(row.x is not None for row in spec.rows.values())
    errors.expect(has_x, "with rows: true, each row needs an x.", "figure")
    grids = any(column.grid for column in spec.columns.values())
    errors.expect(not grids, "a figure has no grids; it has params and values.", "figure")
    params = {name for column in spec.columns.values() for name in column.params}
    errors.check_known("parameter of the columns", figure.params, params, "figure", "params")
    if figure.levels:
        with errors.at("figure", "levels"):
            table = experiments.load(figure.levels.experiment)
            named = [figure.levels.column]
            errors.check_known("column", named, table.spec.columns, "figure", "levels", "column")


def _check_published(spec: Schema, errors: ErrorList) -> None:
    """Check that published values and tolerances are of rows and columns, and go together."""
    together = spec.figure or bool(spec.published) == bool(spec.tolerance)
    errors.expect(together, "missing key published or tolerance; they go together.")
    named = [row for tolerance in spec.tolerance for row in tolerance.rows or spec.published]
    for i, tolerance in enumerate(spec.tolerance):
        errors.check_known("row", tolerance.rows, spec.rows, "tolerance", i, "rows")
    for row in spec.published if spec.tolerance else ():
        errors.expect(named.count(row) == 1, f"expected one tolerance for {row}.", "tolerance")
    unstated = spec.published_repeats.unstated if spec.published_repeats else ()
    errors.check_known("column", unstated, spec.columns, "published_repeats", "unstated")
    errors.check_known("row", spec.published, spec.rows, "published")
    for row, values in spec.published.items():
        errors.check_known("column", values, spec.columns, "published", row)
        metric = (row in spec.rows and spec.rows[row].metric) or spec.metric
        for column, value in values.items() if metric in SCORES else ():
            numbers = value if isinstance(value, tuple) else (value,)
            possible = all(0 <= number <= spec.scale_max for number in numbers)
            message = f"expected numbers from 0 to {spec.scale_max} ({spec.unit}), got {value}."
            errors.expect(possible, message, "published", row, column)
    if spec.control_of:
        message = "expected control_of or published, not both."
        errors.expect(not spec.published, message, "published")
        errors.check_known("experiment", [spec.control_of], experiments.names(), "control_of")


def _check_claim(spec: Schema, claim: Claim, keys: Keys, errors: ErrorList) -> None:
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
            sentences = [claim_of_other["says"] for claim_of_other in other.get("claims", ())]
            errors.check_known(f"claim of {name}", [says], sentences, *keys, "read_with", name)
    rows = [spec.rows[name] for name in claim.among if name in spec.rows] or spec.rows.values()
    measures_of_rows = dict.fromkeys(row.metric or spec.metric for row in rows)
    measure = claim.measure or spec.metric
    message = f"no row shows {measure}; expected {' or '.join(measures_of_rows)}."
    errors.expect(measure in measures_of_rows, message, *keys)
    predicate = claim.predicate
    keys = (*keys, type(predicate).__name__.lower())
    errors.check_known("column", claim.columns, spec.columns, *keys)
    if isinstance(predicate, Better):
        message = f"times is for {' and '.join(COSTS)}, in place of by."
        valid = predicate.times == 1 or (measure in COSTS and not predicate.by)
        errors.expect(valid, message, *keys, "times")
        message = "no other column to compare with; name one under over."
        errors.expect(predicate.rivals(spec.competitors), message, *keys)
    has_axis = spec.figure and (spec.figure.params or spec.figure.iterations)
    has_span = any(getattr(predicate, key, None) is not None for key in ("x", "at", "than"))
    message = "x, at and than are for figures over parameters or iterations."
    errors.expect(has_axis or not has_span, message, *keys)
