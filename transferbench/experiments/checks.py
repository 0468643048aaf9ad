"""Checks of an experiment file that need more than one of its keys.

The root of `schema` makes them when every key has its type. A part of the file makes none itself:
its mistake would hide those of all other parts, since pydantic then skips the checks of the root.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from transferbench import datasets, experiments, models, parameters, strict_yaml, tasks
from transferbench.errors import UserError, brief, unknown
from transferbench.fingerprint import parse
from transferbench.measures import COSTS, MEASURES, SCORES

if TYPE_CHECKING:
    from transferbench.experiments.schema import Claim, Column, Figure, Schema

#: Path of keys from the top of the file.
Keys: TypeAlias = tuple[int | str, ...]
#: Where a mistake is, and what is wrong.
Mistake: TypeAlias = tuple[Keys, str]


@dataclass(frozen=True)
class Names:
    """Mark of a key in `schema` whose names are among those of `_known`."""

    what: str


def mistakes(spec: Schema, *, is_new: bool) -> Iterator[Mistake]:
    """Yield the mistakes in a file whose keys have the right types."""
    # `is_new`: Also read the Python files of models. The copy in a folder of results is shown
    # without them.
    families = set()
    for label, column in spec.columns.items():
        if bool(column.grid) != bool(column.choose):
            yield ("columns", label, "grid"), "expected grid and choose together."
        with suppress(UserError):  # reported by `runs`
            families.add(models.get(column.model).family)
    if len(families) > 1:
        yield ("columns",), f"models of several families: {', '.join(sorted(families))}"
    measures = [*COSTS, *(each.name for name in families or MEASURES for each in MEASURES[name])]
    yield from _names(spec, _known(spec, measures))
    yield from runs(spec, ["all"] if families <= {"multilabel"} else [], is_new=is_new)
    if spec.figure:
        yield from _figure(spec, spec.figure)
    yield from _labels(spec)
    yield from _published(spec)
    yield from _readings(spec)
    if spec.units == "group" and not all(row.group for row in spec.rows.values()):
        yield ("units",), "expected a group for every row."
    if spec.regret and not spec.candidates:
        yield ("regret",), "expected a column to choose: no control, and not in combined."
    for i, claim in enumerate(spec.claims):
        yield from _claim(spec, claim, ("claims", i))


def _known(spec: Schema, measures: list[str]) -> dict[str, Collection[str]]:
    """Return the names that exist, by what they are names of."""
    rows, columns = spec.rows.items(), spec.columns.items()
    return {
        "row": spec.rows,
        "column": spec.columns,
        "group of rows": {"all", *(row.group for _, row in rows)} - {""},
        "variant": spec.variants,
        "experiment": experiments.names(),
        "measure of these models": measures,
        "parameter of the columns": {name for _, column in columns for name in column.params},
        "row that is no reading": [name for name, row in rows if not row.reading_of],
        "column that is no reading": [name for name, column in columns if not column.reading_of],
    }


def _names(
    part: object, known: Mapping[str, Collection[str]], *keys: int | str
) -> Iterator[Mistake]:
    """Yield the unknown names in the marked keys of a part of the file and of the parts in it."""
    if isinstance(part, BaseModel):
        fields = type(part).model_fields
        for key, value in part:
            for mark in fields[key].metadata:
                if isinstance(mark, Names):
                    yield from _unknown(mark.what, value, known[mark.what], *keys, key)
            yield from _names(value, known, *keys, key)
    elif isinstance(part, tuple | dict):
        items: Iterable[Any] = part.items() if isinstance(part, dict) else enumerate(part)
        for key, value in items:
            yield from _names(value, known, *keys, key)


def _unknown(
    what: str, names: Collection[str] | None, known: Collection[str], *keys: int | str
) -> Iterator[Mistake]:
    """Yield what is not known of a name, a list of names or a mapping by name; "" is no name."""
    listed = [name for name in (names,) if name] if isinstance(names, str) else names or ()
    for i, name in enumerate(listed):
        if name not in known:
            key = name if isinstance(names, Mapping) else i
            yield (*keys, key), str(unknown(what, name, known))


@contextmanager
def _refusals(found: list[Mistake], *keys: int | str) -> Iterator[None]:
    """Add a UserError that is raised in this block to the mistakes found."""
    try:
        yield
    except UserError as error:
        found.append((keys, str(error)))


def runs(spec: Schema, more_domains: list[str], *, is_new: bool) -> list[Mistake]:
    """Return what is wrong in the tasks of the rows, and in the columns."""
    found: list[Mistake] = []
    for label, row in spec.rows.items():
        keys = ("rows", label)
        for axis in row.variants.keys() & spec.variants.keys():
            what, known = f"value of {axis}", spec.variants[axis]
            found += _unknown(what, row.variants[axis], known, *keys, "variants", axis)
        with _refusals(found, *keys, "task"):
            task = row.data()
            if domains := tasks.documents(task):
                found += _unknown("domain", row.domain, [*domains, *more_domains], *keys, "domain")
            number = len(datasets.facts(task.base).get("documents", {})) if spec.by_labels else 0
            if number > 2 and not task.subsample_options.get("halves"):  # a sample of each target
                expected = "expected a task with one source and one target for by_labels"
                raise UserError(f"{task.base} has {number} domains; {expected}.")
    for label, column in spec.columns.items():
        found += _column(spec, column, label, is_new)
    if spec.repeats_over == "splits" and not found:
        with _refusals(found, "repeats_over"):
            for row, column in product(spec.rows.values(), spec.columns.values()):
                row.data(column).with_options({"split": 1})
    return found


def _column(spec: Schema, column: Column, label: str, is_new: bool) -> list[Mistake]:
    """Return what is wrong in the task, the options, the model and its parameters of a column."""
    keys, found = ("columns", label), list[Mistake]()
    with _refusals(found, *keys, "task"):
        if column.task:
            tasks.Task.parse(column.task)
    for row in spec.rows.values() if column.options else ():
        with _refusals(found, *keys, "options"):
            row.data(column)
    if spec.by_labels and (labelled := column.options.get("labelled")):
        end = f", {labelled} labels, draw {column.options.get('draw', 0)}"
        if not label.endswith(end):
            message = f"expected METHOD{end} as the name of this column, for by_labels."
            found.append((keys, message))
    values: list[tuple[Keys, str, object]]
    values = [((*keys, "params", name), name, value) for name, value in column.params.items()]
    for name, several in column.grid.items():
        values += [((*keys, "grid", name, i), name, value) for i, value in enumerate(several)]
    if spec.figure and spec.figure.varies(column):
        points = enumerate(spec.figure.values)
        values += [(("figure", "values", i), n, x) for i, x in points for n in spec.figure.params]
    if models.is_external(column.model):
        return [*found, *_file(column, values, keys)] if is_new else found
    with _refusals(found, *keys, "model"):
        fit = models.load(column.model)
        for place, name, value in values:
            with _refusals(found, *place):
                parameters.resolve(fit, {name: value}, column.model)
    return found


def _file(column: Column, values: list[tuple[Keys, str, object]], keys: Keys) -> Iterator[Mistake]:
    """Yield what is wrong in a column whose model is a Python file, which is not run."""
    path, keys = Path(column.model), (*keys, "model")
    if path.suffix != ".py":
        return
    if not path.is_file():
        where = "expected a Python file with `fit`; its path starts at the current folder"
        yield keys, f"there is no file {brief(column.model)}; {where}."
        return
    try:
        tree = parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError) as error:
        yield keys, f"{column.model} cannot be read ({error}); expected a Python file with `fit`."
        return
    # If `fit` is not one plain function of the file, its arguments cannot be read here.
    bound = [node for node in ast.walk(tree) if "fit" in _bound(node)]
    if not (len(bound) == 1 and isinstance(bound[0], ast.FunctionDef) and bound[0] in tree.body):
        return
    if bound[0].decorator_list:
        return
    arguments = bound[0].args
    seeded = "seed" in [a.arg for a in (*arguments.args, *arguments.kwonlyargs)]
    if seeded and not column.random:
        yield keys, f"{column.model} takes a seed; add random: true to the column."
    elif column.random and not seeded:
        yield keys, f"{column.model} takes no seed; leave out random: true."
    known = {a.arg for a in arguments.kwonlyargs} - {*parameters.RESERVED}
    for place, name, _ in values:
        if name not in known and not arguments.kwarg:
            yield place, str(unknown(f"parameter of {column.model}", name, known))


def _bound(node: ast.AST) -> list[str]:
    """Return the names to which a part of code binds or of which it sets something."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return ["fit" if n.name == "*" else (n.asname or n.name) for n in names]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
            return [name]
    return []


def _figure(spec: Schema, figure: Figure) -> Iterator[Mistake]:
    """Yield what is wrong in the axis of a figure and the table of its levels."""
    axes = [bool(figure.params and figure.values), figure.iterations, figure.rows]
    if axes.count(True) != 1:
        yield ("figure",), "expected one of params with values, iterations: true, rows: true."
    if figure.rows and any(row.x is None for row in spec.rows.values()):
        yield ("figure",), "with rows: true, each row needs an x."
    if any(column.grid for column in spec.columns.values()):
        yield ("figure",), "a figure has no grids; it has params and values."
    if levels := figure.levels:
        found: list[Mistake] = []
        with _refusals(found, "figure", "levels", "experiment"):
            columns = experiments.load(levels.experiment).spec.columns
            found += _unknown("column", levels.column, columns, "figure", "levels", "column")
        yield from found


def _labels(spec: Schema) -> Iterator[Mistake]:
    """Yield labels that the table makes itself: those of averages and of chosen settings."""
    for row in spec.rows:
        if row.split(" ")[0] == "average":
            yield ("rows", row), "expected another name; a row of averages has this one."
    made = {f"{name} ({by})": name for name, column in spec.columns.items()
            for by in ("label-free", *column.choose[1:])}  # fmt: skip
    for label in spec.columns.keys() & made.keys():
        which = f"expected another name; it is that of a setting of {made[label]}"
        yield ("columns", label), f"{which} that is chosen in another way."


def _published(spec: Schema) -> Iterator[Mistake]:
    """Yield what is wrong in the published values and their tolerances."""
    if not spec.figure and bool(spec.published) != bool(spec.tolerance):
        yield (), "missing key published or tolerance; they go together."
    for group, averages in spec.published_averages.items():
        yield from _unknown("column", averages, spec.printed_columns, "published_averages", group)
    if spec.control_of and spec.published:
        yield ("published",), "expected control_of or published, not both."
    named = [row for tolerance in spec.tolerance for row in tolerance.rows or spec.published]
    for label, control in spec.columns.items():
        is_printed = any(label in row for row in spec.published.values())
        if control.control and (control.kind or is_printed):
            yield ("columns", label), "expected no kind and no published value of a control."
    for row, values in spec.published.items():
        if spec.tolerance and named.count(row) != 1:
            yield ("tolerance",), f"expected one tolerance for {row}."
        yield from _unknown("column", values, spec.columns, "published", row)
        metric = (row in spec.rows and spec.rows[row].metric) or spec.metric
        for column, value in values.items() if metric in SCORES else ():
            numbers = value if isinstance(value, tuple) else (value,)
            if not all(0 <= number <= spec.scale_max for number in numbers):
                expected = f"expected numbers from 0 to {spec.scale_max} ({spec.unit})"
                yield ("published", row, column), f"{expected}, got {value}."


def _readings(spec: Schema) -> Iterator[Mistake]:
    """Yield what is wrong in the declared readings and the circular cells."""
    declared: dict[str, str] = {}
    for i, name in enumerate(spec.declared):
        read = spec.columns[name].reading_of if name in spec.columns else name
        if not read:
            yield ("declared", i), f"expected a reading (with reading_of), got {brief(name)}."
        elif read in declared:
            several = f"{declared[read]} and {name}"
            yield ("declared", i), f"expected one reading of {brief(read)}, got {several}."
        declared[read or name] = name
    for i, entry in enumerate(spec.circular):
        rows = {spec.rows[n].reading_of or n for n in entry.rows or spec.rows if n in spec.rows}
        named = [n for n in entry.columns or spec.columns if n in spec.columns]
        columns = {spec.columns[n].reading_of or n for n in named}
        if not any(columns & spec.published.get(row, {}).keys() for row in rows):
            yield ("circular", i), "expected a cell with a published value."


def _claim(spec: Schema, claim: Claim, keys: Keys) -> Iterator[Mistake]:
    """Yield what is wrong in a claim beside the names of its rows and columns."""
    if bool(claim.place) == bool(claim.own):
        yield keys, "expected place or own."
    if [claim.better, claim.stable, claim.higher].count(None) != 2:
        yield keys, "expected one of better, stable, higher."
        return
    for name in {*claim.also, *claim.read_with}.intersection(experiments.names()):
        other, _ = strict_yaml.load(experiments.path(name))  # unchecked: it may name this file
        if name in claim.also:
            kind = f"column of {name}"
            yield from _unknown(kind, claim.columns, other["columns"], *keys, "also")
        says = claim.read_with.get(name)
        sentences = [another["says"] for another in other.get("claims", ())]
        yield from _unknown(f"claim of {name}", says, sentences, *keys, "read_with", name)
    rows = [spec.rows[name] for name in claim.among if name in spec.rows] or spec.rows.values()
    measures = dict.fromkeys(row.metric or spec.metric for row in rows)
    measure = claim.measure or spec.metric
    if measure not in measures:
        yield keys, f"no row shows {measure}; expected {' or '.join(measures)}."
    predicate = claim.predicate
    keys = (*keys, type(predicate).__name__.lower())
    if better := claim.better:
        if better.times != 1 and (measure not in COSTS or better.by):
            yield (*keys, "times"), f"times is for {' and '.join(COSTS)}, in place of by."
        if not better.rivals(spec.competitors):
            yield keys, "no other column to compare with; name one under over."
    has_axis = spec.figure and (spec.figure.params or spec.figure.iterations)
    if not has_axis and any(getattr(predicate, x, None) is not None for x in ("x", "at", "than")):
        yield keys, "x, at and than are for figures over parameters or iterations."
