"""The keys of an experiment file, and the checks that need no other file."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Literal, Self

from annotated_types import Ge, Lt, MinLen
from pydantic import Field, Strict, model_validator

from transferbench.choose.criteria import MEANINGS
from transferbench.errors import unknown
from transferbench.experiments.claim import Claim, Finite
from transferbench.experiments.fault import Fault, StrictModel, below, check_known, gather
from transferbench.measures import MeasureName
from transferbench.parameters import Positive, Weight

MAX_SETTINGS = 10_000  # of a grid
#: A printed mean, or mean and standard deviation.
Published = Finite | tuple[Finite, Weight]


class Paper(StrictModel):
    """Source of the published values."""

    title: str
    authors: str
    venue: str
    place: str


class Row(StrictModel):
    """A data set of the table: a task and the domain to score (default: the mean of all).

    The domain `all` joins the documents of all domains; multi-label tasks have it. Rows of one
    group are averaged together. `metric` and `tolerance` replace the experiment's; `x` is the
    place of the row in a figure that has the rows along its x axis. `printed` is the experiment and
    the row of its published value in an experiment of readings, if not those that `readings` names
    and the row's own label. `reading_of` as for a column: the same data set, built in another way;
    its `group` is one of its own, with an average of its own.
    """

    task: str
    domain: str | None = None
    group: str = ""
    metric: MeasureName | None = None
    tolerance: Weight | None = None
    x: Finite | None = None
    printed: tuple[str, str] | None = None
    reading_of: str = ""


def average_label(group: str) -> str:
    """Return the label of the row of means over a group of rows."""
    return f"average {group}".strip()


def choice_label(column: str, measure: str) -> str:
    """Return the label of a column whose setting a further measure chooses."""
    return f"{column} ({'label-free' if measure == 'explained' else measure})"


class Column(StrictModel):
    """A method: a model with all its parameters; `note` states departures from the paper.

    `options` are dataset options of this column's runs, added to those of the row's task, which may
    not state the same ones. `task` replaces the rows' task, if a method needs less of the data.
    Parameters of a `grid` take each of their values in turn, on every task. The table shows the
    setting that is best on average over the task's domains by the first measure of `choose`; each
    further measure adds a column of its own. A `control` is a method that the paper lacks.
    `reading_of` names another column, of which this is a second reading: it has the same published
    values and verdicts of its own, which the totals do not count.
    """

    model: str
    params: dict[str, object] = Field(default_factory=dict)
    task: str = ""
    options: dict[str, object] = Field(default_factory=dict)
    grid: dict[str, Annotated[tuple[object, ...], MinLen(2)]] = Field(default_factory=dict)
    choose: tuple[MeasureName, ...] = ()
    control: bool = False
    reading_of: str = ""
    note: str = ""

    @property
    def data(self) -> dict[str, object]:
        """The task and the options of this column's runs, if they are not the rows'."""
        return {"task": self.task} | self.options if self.task else self.options

    @model_validator(mode="after")
    def _check_grid(self) -> Self:
        if bool(self.grid) != bool(self.choose):
            raise Fault("expected grid and choose together.", "grid")
        if (size := math.prod(map(len, self.grid.values()))) > MAX_SETTINGS:
            message = f"the grid has {size:,} settings; expected at most {MAX_SETTINGS:,}."
            raise Fault(message, "grid")
        for name in self.grid:
            if name in self.params:
                message = f"{name} is given under params and under grid; remove one."
                raise Fault(message, "grid", name)
        return self


class Tolerance(StrictModel):
    """Largest difference from the published value that counts as `within`, and its reason."""

    value: Weight
    reason: str


class Limit(StrictModel):
    """Limits of each run."""

    seconds: Positive = 3600.0
    memory_gib: Positive | None = None


class Printed(StrictModel):
    """The published values of a column of another experiment, by row."""

    experiment: str
    column: str


class Rule(StrictModel):
    """A choice: `column`, or the reference where its `criterion` is below `least`."""

    column: str
    criterion: Literal[*MEANINGS]  # type: ignore[valid-type]
    least: Finite


class Regret(StrictModel):
    """Judge ways to choose a column for each row without labels of the target.

    The columns are the candidates, except controls and `votes`, which combine several methods.
    `reference` is the column that no choice should fall below. The runs have label-free criteria.
    """

    reference: str
    votes: tuple[str, ...] = ()
    rules: dict[str, Rule] = Field(default_factory=dict)


class Figure(StrictModel):
    """The x axis of a figure: parameters (all set to the same value), the iterations, or the rows.

    The parameters vary in `columns` (default: in all that have them, except controls); the other
    columns are drawn as level lines. With `rows` there is one panel, with bars for each row, or
    with lines if rows have an x.
    """

    label: str
    columns: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    iterations: bool = False
    rows: bool = False
    log: bool = False
    objective: bool = False
    levels: Printed | None = None

    @model_validator(mode="after")
    def _check_one_axis(self) -> Self:
        if [bool(self.params and self.values), self.iterations, self.rows].count(True) != 1:
            raise Fault("expected one of params with values, iterations: true, rows: true.")
        return self

    def varies(self, label: str, column: Column) -> bool:
        """True if the parameters of the figure vary in this column."""
        if self.columns:
            return bool(self.params) and label in self.columns
        return not column.control and not column.params.keys().isdisjoint(self.params)


class Schema(StrictModel):
    """The file itself.

    Values are per cent if `unit` says so, else as measured; costs are always as measured. The
    columns may be `readings` of published values: ways to fill what the paper leaves open. Their
    runs have curves. A `control_of` another experiment, for instance on data in another form, has
    the published values and the tolerance of that one; the totals do not count its verdicts.
    """

    title: str
    paper: Paper
    metric: MeasureName
    unit: Literal["percent", "fraction", "seconds", "MiB"] = "percent"
    repeats: Annotated[int, Ge(1), Lt(10_000), Strict()]
    limits: Limit = Limit()
    rows: Annotated[dict[str, Row], MinLen(1)]
    columns: Annotated[dict[str, Column], MinLen(1)]
    control_of: str = ""
    published: dict[str, dict[str, Published]] = Field(default_factory=dict)
    tolerance: Tolerance | None = None
    figure: Figure | None = None
    readings: Printed | None = None
    regret: Regret | None = None
    notes: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()

    @property
    def competitors(self) -> list[str]:
        """The columns that are neither controls nor readings of others."""
        columns = self.columns.items()
        return [name for name, column in columns if not (column.control or column.reading_of)]

    @property
    def candidates(self) -> list[str]:
        """The columns that `regret` chooses among."""
        votes = self.regret.votes if self.regret else ()
        return [name for name in self.competitors if name not in votes]

    @model_validator(mode="after")
    def _check(self) -> Self:
        claims = [partial(self._check_claim, i) for i in range(len(self.claims))]
        parts = [self._check_labels, self._check_figure, self._check_published]
        gather([*parts, self._check_readings, self._check_regret, *claims])
        return self

    def _check_labels(self) -> None:
        averages = {average_label(row.group) for row in self.rows.values()}
        for label in self.rows if self.figure is None else ():
            if label in averages:
                message = f"the table adds a row of means named {label}; rename this row."
                raise Fault(message, "rows", label)
        for name, column in self.columns.items():
            for label in (choice_label(name, measure) for measure in column.choose[1:]):
                if label in self.columns:
                    message = f"{name} adds a column named {label}; rename this column."
                    raise Fault(message, "columns", label)

    def _check_figure(self) -> None:
        if self.figure is None:
            return
        if self.readings:
            raise Fault("expected figure or readings, not both.", "readings")
        for label, column in self.columns.items():
            if column.grid:
                message = "a figure has no grids; it has params and values."
                raise Fault(message, "columns", label, "grid")
        if self.figure.rows and len({row.x is None for row in self.rows.values()}) > 1:
            raise Fault("expected an x for every row or for none.", "figure")
        params = {name for column in self.columns.values() for name in column.params}
        check_known("parameter of the columns", self.figure.params, params, "figure", "params")
        check_known("column", self.figure.columns, self.columns, "figure", "columns")

    def _check_published(self) -> None:
        if not self.figure and bool(self.published) != bool(self.tolerance):
            raise Fault("missing key published or tolerance; they go together.")
        if self.control_of and self.published:
            raise Fault("expected control_of or published, not both.", "published")

        def check_columns(row: str) -> None:
            with below("published", row):
                check_known("column", self.published[row], self.columns)

        check_rows = partial(check_known, "row", self.published, self.rows, "published")
        gather([check_rows, *(partial(check_columns, row) for row in self.published)])

    def _check_readings(self) -> None:
        """Check that a reading names what it reads, and has no published values of its own."""
        named = [("rows", n, each.reading_of) for n, each in self.rows.items()]
        named += [("columns", n, each.reading_of) for n, each in self.columns.items()]
        others = {(kind, name) for kind, name, read in named if not read}

        def check(kind: str, name: str, read: str) -> None:
            known = [other for of, other in others if of == kind]
            message = ""
            if read not in known:
                message = str(unknown(kind.removesuffix("s"), read, known))
            elif name in self.published or any(name in row for row in self.published.values()):
                message = "has published values of its own; remove them."
            elif kind == "columns":
                first = next(n for n, each in self.columns.items() if each.reading_of == read)
                if first != name or self.columns[name].control:
                    message = (
                        f"expected one reading of {read}, and no control; for more readings make a "
                        "file with `readings`."
                    )
            elif self.rows[name].metric != self.rows[read].metric:
                message = f"expected the metric of the row {read}."
            elif self.rows[name].group in {self.rows[other].group for other in known}:
                message = "expected a group that no other row has, such as `group: rebuilt`."
            if message:
                raise Fault(message, kind, name, "reading_of")

        gather(partial(check, *each) for each in named if each[2])

    def _check_claim(self, i: int) -> None:
        with below("claims", i):
            self.claims[i].check(self)

    def _check_regret(self) -> None:
        if self.regret is None:
            return
        if self.figure or any(column.grid or column.task for column in self.columns.values()):
            raise Fault("expected no figure, grid or task of a column beside regret.", "regret")
        named = [self.regret.reference, *self.regret.votes]
        named += [rule.column for rule in self.regret.rules.values()]
        check_known("column", named, self.columns, "regret")
        if not self.candidates:
            raise Fault("expected a column to choose: no control, and not in votes.", "regret")
