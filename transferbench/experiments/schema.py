"""What an experiment file may hold, and what is wrong with one that does not keep to it."""

from __future__ import annotations

import math
import reprlib
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import BaseModel, ConfigDict, Strict, ValidationError

from transferbench import strict_yaml
from transferbench.errors import UserError, brief, did_you_mean
from transferbench.parameters import Positive, Weight

#: What a run costs, in units of its own; compared as ratios.
COSTS = ("seconds", "peak_mib")
#: Measures a table or figure of each family can show; explained variance needs no labels.
METRICS = {
    "transfer": ("accuracy", "f1", *COSTS),
    "clustering": ("accuracy", "nmi", "explained", *COSTS),
    "multilabel": ("f1", "accuracy", "hamming", *COSTS),
}
#: Measures as a reader calls them, where that is not their name.
NAMES = {"nmi": "NMI", "f1": "F1", "hamming": "Hamming loss", "explained": "explained variance",
         "peak_mib": "peak memory in MiB"}  # fmt: skip
#: Those of which less is better.
LESS = ("hamming", *COSTS)
Metric = Literal["accuracy", "f1", "nmi", "hamming", "explained", "seconds", "peak_mib"]
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

    The domain `all` is the documents of all of them together, which multi-label tasks have. Rows of
    one group are averaged together. `metric` and `tolerance` stand in for the experiment's; `x`
    is the row's place in a figure that has the rows along its x axis.
    """

    task: str
    domain: str | None = None
    group: str = ""
    metric: Metric | None = None
    tolerance: Weight | None = None
    x: Finite | None = None


class Column(_Strict):
    """A method: a model with all its parameters; `note` says what is not the paper's.

    Parameters of a `grid` take each of its values in turn, on every task, and the table shows the
    setting that is best on average over the task's domains by the first measure of `choose`; for
    each further one it has a column of its own.
    """

    model: str
    params: dict[str, Any] = {}
    grid: dict[str, Annotated[tuple[Any, ...], MinLen(2)]] = {}
    choose: tuple[Metric, ...] = ()
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
    """What a figure draws over x: parameters that take the same values together, iterations, rows.

    `columns` are those in which the parameters vary (all that have them, but for controls, if none
    is named); the others are drawn as level lines. With `rows` there is one panel, with bars for
    each row, or with lines where rows have an x.
    """

    label: str
    columns: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    iterations: bool = False
    rows: bool = False
    log: bool = False
    objective: bool = False
    levels: Levels | None = None


#: Values of x: one, or all from the first to the last.
Span = Finite | tuple[Finite, Finite]


class Better(_Strict):
    """Each of `columns` is ahead of each of `over` by more than `by`.

    Without `over`: of every other column that is no control. On every row, most, some, or on the
    rows' average; in a figure, at each `x`. Where less is better, ahead is below. Seconds and MiB
    are compared as ratios: ahead is `times` as fast, or as small.
    """

    columns: Annotated[tuple[str, ...], MinLen(1)]
    over: tuple[str, ...] = ()
    rows: Literal["every", "most", "some", "average"] = "every"
    by: Finite = 0.0
    times: Positive = 1.0
    x: Span | None = None


class Stable(_Strict):
    """On every row, the column's values at `x` lie within so much of each other."""

    column: str
    x: tuple[Finite, Finite]
    within: Positive


class Higher(_Strict):
    """On every row, the column's mean `at` some x is more than `by` above that at others."""

    column: str
    at: Span
    than: Span
    by: Finite = 0.0


class Claim(_Strict):
    """A sentence of the paper, in our words, and the one predicate that it comes to.

    `measure` picks the rows that show it (the experiment's own, if none is named), `among` those
    that it names; rows of the experiments under `also` count as rows of this one. Objectives are
    compared by log10.
    """

    says: str
    place: str
    better: Better | None = None
    stable: Stable | None = None
    higher: Higher | None = None
    measure: Metric | None = None
    among: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def predicate(self) -> Better | Stable | Higher:
        """The one that is given."""
        given = self.better or self.stable or self.higher
        assert given is not None
        return given


class Schema(_Strict):
    """The file itself. Values are per cent where `unit` says so, else as measured; so are costs."""

    title: str
    paper: Paper
    metric: Metric
    unit: Literal["percent", "fraction", "seconds"] = "percent"
    repeats: Annotated[int, Ge(1), Lt(10_000), Strict()]
    limits: Limit = Limit()
    rows: Annotated[dict[str, Row], MinLen(1)]
    columns: Annotated[dict[str, Column], MinLen(1)]
    published: dict[str, dict[str, Finite | tuple[Finite, Weight]]] = {}
    tolerance: Tolerance | None = None
    figure: Figure | None = None
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()


def first_fault(error: ValidationError, where: strict_yaml.Places) -> UserError:
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
        message = f"unknown key {brief(str(keys[-1]))}.{did_you_mean(str(keys[-1]), known)}"
        return where.error(keys, f"{message} Known: {', '.join(known)}.")
    if detail["type"] == "missing":
        return where.error(keys[:-1], f"missing key {name[:200]}.")
    return where.error(keys, f"{name[:200]}: {detail['msg']}, got {reprlib.repr(detail['input'])}.")


def _inner(annotation: Any) -> Any:
    """The schema behind dict[str, Schema], tuple[Schema, ...] and the like, or what is given."""
    behind = getattr(annotation, "__args__", ())
    return next((one for one in behind if hasattr(one, "model_fields")), annotation)
