"""An experiment file: what a published table ran, every parameter, and the values it printed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import BaseModel, ConfigDict, Strict, ValidationError

from transferbench import located, models, parameters, settings, tasks
from transferbench.errors import UserError, did_you_mean, unknown
from transferbench.parameters import Positive, Weight
from transferbench.records import Cell

#: Measures a table of each family can show.
METRICS = {
    "transfer": ("accuracy", "f1"),
    "clustering": ("accuracy", "nmi"),
    "multilabel": ("f1", "accuracy", "hamming"),
}
Finite = Annotated[float, Gt(-math.inf), Lt(math.inf)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Paper(_Strict):
    """Where the published values stand."""

    title: str
    authors: str
    venue: str
    place: str


class Row(_Strict):
    """A data set of the table: a task, and the domain scored (if none is named, their mean).

    Rows of one group are averaged together.
    """

    task: str
    domain: str | None = None
    group: str = ""


class Column(_Strict):
    """A method: a model with all its parameters; `note` says what is not the paper's."""

    model: str
    params: dict[str, Any] = {}
    control: bool = False
    note: str = ""


class Tolerance(_Strict):
    """How far ours may lie from the published value and still be `within`, and why that far."""

    value: Weight
    reason: str


class Limit(_Strict):
    """What each run may take."""

    seconds: Positive = 3600.0
    memory_gib: Positive | None = None


class Levels(_Strict):
    """Published values drawn into a figure: those of a column of another experiment, by row."""

    experiment: str
    column: str


class Figure(_Strict):
    """What a figure draws over x: parameters that take the same values together, or iterations.

    `columns` are those in which the parameters vary (all that have them, but for controls, if none
    is named); the others are drawn as level lines.
    """

    label: str
    columns: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    iterations: bool = False
    log: bool = False
    objective: bool = False
    levels: Levels | None = None


class Schema(_Strict):
    """The file itself. Values are per cent where `unit` says so, else fractions."""

    title: str
    paper: Paper
    metric: Literal["accuracy", "f1", "nmi", "hamming"]
    unit: Literal["percent", "fraction"] = "percent"
    repeats: Annotated[int, Ge(1), Lt(10_000), Strict()]
    limits: Limit = Limit()
    rows: Annotated[dict[str, Row], MinLen(1)]
    columns: Annotated[dict[str, Column], MinLen(1)]
    published: dict[str, dict[str, Finite | tuple[Finite, Weight]]] = {}
    tolerance: Tolerance | None = None
    figure: Figure | None = None
    notes: tuple[str, ...] = ()


class Planned(NamedTuple):
    """A run of an experiment: its row, column and, in some figures, place on the x axis."""

    row: str
    column: str
    x: float | None
    cell: Cell


@dataclass(frozen=True)
class Experiment:
    """A validated experiment: its name (the file's) and contents."""

    name: str
    spec: Schema

    def cells(self, repeats: int | None = None) -> Iterator[Planned]:
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
                        cell = Cell(name, method.model, params, seed, curve and not method.control)
                        yield Planned(row, column, x, cell)

    def _sweep(self, column: str, method: Column) -> Iterator[tuple[float | None, dict[str, Any]]]:
        """Values of x and the parameters there; one without x where nothing is varied."""
        figure = self.spec.figure
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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}).") from None
    ours = path.parent.resolve() == settings.experiments_dir().resolve()
    if path.stem == "records" or (path.stem in names() and not ours):
        raise UserError(f"{path}: the name {path.stem} is taken; give the file another.")
    return read(text, path)


def read(text: str, path: Path) -> Experiment:
    """An experiment from YAML text that `path` names. Raises UserError as `load` does."""
    data, where = located.read(text, path)
    if not isinstance(data, dict):
        raise where.error((), "expected a mapping with title, paper, rows, columns, …")
    try:
        spec = Schema.model_validate(data)
    except ValidationError as error:
        raise _first(error, where) from None
    _check(spec, where)
    return Experiment(path.stem, spec)


def _check(spec: Schema, where: located.Places) -> None:
    """Names and parameters, which the schema cannot know."""
    family: dict[str, str] = {}
    for label, row in spec.rows.items():
        with where.at("rows", label, "task"):
            task = tasks.Task.named(row.task)
        with where.at("rows", label, "domain"):
            domains = tasks.documents(task)
            if row.domain is not None and domains and row.domain not in domains:
                raise unknown("domain", row.domain, domains)
    for label, column in spec.columns.items():
        with where.at("columns", label, "model"):
            function = models.load(column.model)
            family[label] = models.get(column.model).family
        with where.at("columns", label, "params"):
            parameters.resolve(function, column.params, column.model)
            missing = [name for name in parameters.schema(function) if name not in column.params]
            if missing:
                raise UserError(
                    f"{column.model}: missing {', '.join(missing)}; an experiment states every "
                    "parameter."
                )
    if len(set(family.values())) > 1:
        raise where.error(("columns",), f"models of several families: {family}")
    measures = METRICS[next(iter(family.values()))]
    if spec.metric not in measures:
        expected = " or ".join(measures)
        raise where.error(("metric",), f"expected {expected} for these models, got {spec.metric}.")
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


def _check_figure(spec: Schema, figure: Figure) -> None:
    if figure.iterations == bool(figure.params and figure.values):
        raise UserError("expected either params and values, or iterations: true.")
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


def _first(error: ValidationError, where: located.Places) -> UserError:
    """One of pydantic's complaints with its place: an unknown key before a missing one."""
    detail = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    keys = tuple(detail["loc"])
    name = ".".join(str(key) for key in keys if not str(key).startswith("tuple["))
    if detail["type"] == "extra_forbidden":
        owner: Any = Schema
        for key in keys[:-1]:
            field = getattr(owner, "model_fields", {}).get(key)
            owner = _inner(field.annotation) if field else owner
        known = list(getattr(owner, "model_fields", {}))
        message = f"unknown key {keys[-1]!r}.{did_you_mean(str(keys[-1]), known)}"
        return where.error(keys, f"{message} Known: {', '.join(known)}.")
    if detail["type"] == "missing":
        return where.error(keys[:-1], f"missing key {name}.")
    return where.error(keys, f"{name}: {detail['msg']}, got {reprlib.repr(detail['input'])}.")


def _inner(annotation: Any) -> Any:
    """The schema behind dict[str, Schema] or the schema itself."""
    return getattr(annotation, "__args__", (annotation,))[-1]
