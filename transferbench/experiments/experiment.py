"""A validated experiment: the keys of its file, its runs and its published values.

`checks` checks what the types of the keys cannot.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    Strict,
    model_validator,
)

from transferbench import experiments, models, parameters
from transferbench.data import tasks
from transferbench.measures import COSTS, UNITS, MeasureName, Unit
from transferbench.parameters import Params, Positive, Weight
from transferbench.runs.record import Limits, Run

#: Smallest difference that matters to a claim without a threshold of its own: half a point in per
#: cent or .005 of a fraction; of costs and objectives a ratio, 10 per cent.
MATTERS = 0.005
MATTERS_RATIO = 1.1
#: Rows of an experiment, those of all variants together.
MAX_ROWS = 10_000
#: A number of a table or a claim; its square is finite.
Finite = Annotated[float, Gt(-1e15), Lt(1e15)]
#: Values of x: one, or all from the first to the last.
Span = Finite | tuple[Finite, Finite]
#: Value of an option of a task.
Option = bool | int | float | str
#: A printed mean, or mean and standard deviation.
Published = Finite | tuple[Finite, Annotated[Finite, Ge(0)]]


class StrictModel(BaseModel):
    """Base of all parts of an experiment file: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Paper(StrictModel):
    """Source of the published values."""

    title: str
    authors: str
    venue: str
    place: str


class Row(StrictModel):
    """A data set of the table: a task and the domain to score (default: the mean of all).

    The domain `all` joins the documents of all domains; multi-label tasks have it. Rows of one
    group are averaged together. `metric` replaces the experiment's; `x` is the place of the row in
    a figure that has the rows along its x axis. `reading_of` as for a column: the same data set,
    built in another way; its `group` is one of its own, with an average of its own. `variants`
    names the values of the file's variants that the row has (default: all); see `Schema`.
    """

    task: str
    domain: str | None = None
    group: str = ""
    metric: MeasureName | None = None
    x: Finite | None = None
    reading_of: str = ""
    variants: dict[str, Annotated[tuple[str, ...], MinLen(1)]] = Field(default_factory=dict)
    _variant: dict[str, str] = PrivateAttr(default_factory=dict)
    _options: dict[str, Option] = PrivateAttr(default_factory=dict)

    @property
    def variant(self) -> dict[str, str]:
        """The row's value of each of the file's variants."""
        return self._variant

    def of_variant(self, values: dict[str, str], options: dict[str, Option]) -> "Row":
        """Return the row with these values of variants, whose options are added to its task."""
        row = self.model_copy()
        row._variant, row._options = values, options
        return row

    def data(self, column: "Column | None" = None) -> tasks.Task:
        """Return the row's task, or that of its runs in a column."""
        if column is None:
            return tasks.Task.parse(self.task, **self._options)
        task = tasks.Task.parse(column.task) if column.task else self.data()
        return task.with_options(column.options)


class Column(StrictModel):
    """A method: a model and its parameters; `note` states departures from the paper.

    Parameters that are left out have the model's defaults. A model outside the registry, see
    `models.external`, is not imported to read the file: its parameters are those given, and it has
    the seeds of the experiment if it is `random`.

    `options` are dataset options of this column's runs, added to those of the row's task, which may
    not state the same ones. `task` replaces the rows' task, if a method needs less of the data.
    Parameters of a `grid` take each of their values in turn, on every task. The table shows the
    setting that is best on average over the task's domains by the first measure of `choose`; each
    further measure adds a column of its own. A `control` is a method that the paper lacks.
    `reading_of` names another column, of which this is a second reading: it has the same published
    values and verdicts of its own, which the totals do not count.
    """

    model: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    task: str = ""
    options: dict[str, object] = Field(default_factory=dict)
    grid: dict[str, Annotated[tuple[object, ...], MinLen(2)]] = Field(default_factory=dict)
    choose: tuple[MeasureName, ...] = ()
    random: bool = False
    control: bool = False
    reading_of: str = ""
    note: str = ""


class Tolerance(StrictModel):
    """Largest difference from the published value that counts as `within`, and its reason.

    A file has one, or a list of them. `rows` are those that it is for (default: all). A reading
    that is not named has the tolerance of the row that it reads.
    """

    value: Weight
    reason: str
    rows: tuple[str, ...] = ()


#: Takes one tolerance as a list of it.
ONE_OR_MORE = BeforeValidator(
    lambda v: v if isinstance(v, list) else [v], json_schema_input_type=Tolerance | list[Tolerance]
)


class Repeats(StrictModel):
    """Number of repeats behind each printed standard deviation, and where the paper states it.

    `unstated` are columns for which the paper states no number; there it counts as 1.
    """

    number: Annotated[int, Ge(1), Strict()]
    place: str
    unstated: tuple[str, ...] = ()


class Limit(StrictModel):
    """Limits of each run."""

    seconds: Positive = 3600.0
    memory_gib: Positive | None = None

    def each(self) -> Limits:
        """Return the limits of a run."""
        memory = int(self.memory_gib * 2**30) if self.memory_gib else None
        return Limits(self.seconds, memory)


class Levels(StrictModel):
    """The published values of a column of another experiment, by row."""

    experiment: str
    column: str


class Regret(StrictModel):
    """Judge each column as the choice for every row, without labels of the target.

    The columns are the candidates for the best one, except controls and those `combined`, which
    combine several methods.
    """

    combined: tuple[str, ...] = ()


class Figure(StrictModel):
    """The x axis of a figure: parameters (all set to the same value), the iterations, or the rows.

    The parameters vary in the columns that state them, except controls; the other columns are drawn
    as level lines. With `rows` there is one panel, and each row has an x. `levels` are drawn as
    lines, too.
    """

    label: str
    params: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    iterations: bool = False
    rows: bool = False
    log: bool = False
    objective: bool = False
    levels: Levels | None = None

    def varies(self, column: Column) -> bool:
        """True if the parameters of the figure vary in this column."""
        return not column.control and not column.params.keys().isdisjoint(self.params)


class Better(StrictModel):
    """Each of `columns` is better than each of `over` by more than `by`.

    Without `over`, they are compared with every other column that is no control. The comparison
    must hold on every row, most, some, or on the average of the rows; in a figure, at each `x`.
    Seconds and MiB are compared as ratios: `times` as fast, or as small. `value` is a number that
    the paper states, to compare with in place of columns. `fewer_errors` is the share of a rival's
    errors (what its value lacks to 1, or 100 per cent) that must be avoided.
    """

    columns: Annotated[tuple[str, ...], MinLen(1)]
    over: tuple[str, ...] = ()
    rows: Literal["every", "most", "some", "average"] = "every"
    by: Finite = 0.0
    times: Positive = 1.0
    value: Finite | None = None
    fewer_errors: Annotated[float, Ge(0), Lt(1)] = 0.0
    x: Span | None = None

    def rivals(self, competitors: Iterable[str]) -> tuple[str, ...]:
        """Return the columns to compare with, or the stated value as a text.

        competitors: the columns that are no controls.
        """
        if self.value is not None:
            return (f"{self.value:g}",)
        return self.over or tuple(name for name in competitors if name not in self.columns)


class Stable(StrictModel):
    """On every row, the values of the column at `x` differ by at most `within`."""

    column: str
    x: tuple[Finite, Finite]
    within: Positive


class Higher(StrictModel):
    """On every row, the mean of the column `at` some x is more than `by` above that at `than`."""

    column: str
    at: Span
    than: Span
    by: Finite = 0.0


class Claim(StrictModel):
    """A sentence of the paper, in our words, and one predicate that tests it.

    `place` is that of the sentence in the paper. A claim that no paper makes has `own` in place of
    it: when it was written, seen from the runs and from trials on the same tasks. `measure` selects
    the rows that show it (default: the experiment's metric), `among` selects rows by name; rows of
    the experiments under `also` count as rows of this one. Objectives are compared by log10. A
    difference smaller than MATTERS decides nothing, unless the claim has a threshold of its own:
    `by`, `times` or `within`. `read_with` names claims on the same matter, such as one that
    contradicts this: their sentences by experiment.
    """

    says: str
    place: str = ""
    own: Literal["before the runs", "after a trial", "after the runs"] | None = None
    better: Better | None = None
    stable: Stable | None = None
    higher: Higher | None = None
    measure: MeasureName | None = None
    among: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    read_with: dict[str, str] = Field(default_factory=dict)

    @property
    def origin(self) -> str:
        """The place in the paper, or that the claim is ours and when it was written."""
        return f"ours, written {self.own}" if self.own else self.place

    @property
    def predicate(self) -> Better | Stable | Higher:
        """The predicate that is given."""
        predicate = self.better or self.stable or self.higher
        assert predicate is not None
        return predicate

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the predicate names."""
        if isinstance(self.predicate, Better):
            return (*self.predicate.columns, *self.predicate.over)
        return (self.predicate.column,)

    def matters_on(self, ratio: bool, unit: int) -> float:
        """Return the smallest difference that matters, on the scale that is compared.

        ratio: True for costs and objectives, compared by log10; unit: the table's, 100 or 1. It is
        0 if the predicate states how large a difference must be, or may be.
        """
        match self.predicate:
            case Better(by=0, times=1, value=None, fewer_errors=0) | Higher(by=0):
                return math.log10(MATTERS_RATIO) if ratio else MATTERS * unit
        return 0.0


class Schema(StrictModel):
    """The file itself.

    Values are per cent if `unit` says so, else as measured; costs are always as measured. A
    `control_of` another experiment, for instance on data in another form, has the published values
    and the tolerance of that one; the totals do not count its verdicts.

    Without `units`, claims are about the rows themselves. With it, those about most rows or their
    average are about what the rows are samples of: each task (without its options), each corpus
    (the first part of a task's name) or each group of rows is one independent unit.

    A `board` is a suite of tasks on which methods are ranked; its value names the column with which
    they are compared. A file that `extends` another experiment has what that one has, except its
    claims; rows, columns and other keys of the file are added or come in their place.

    `by_labels` names the column that is taken without labels of the target. Columns with the option
    `labelled` are this method with a sample of labels, by which one of all methods is chosen. This
    needs the decisions of the runs: those that another experiment has made without them do not
    count, and `reproduce --rerun all` makes them again.

    `variants` are options of tasks by the name of the variant and of its value. Each row stands for
    one with each combination of values, labelled `row, value, value`.
    """

    title: str
    paper: Paper
    metric: MeasureName
    unit: Literal["percent", "fraction", "seconds", "MiB"] = "percent"
    repeats: Annotated[int, Ge(1), Lt(10_000), Strict()]
    limits: Limit = Limit()
    rows: Annotated[dict[str, Row], MinLen(1)]
    variants: dict[str, Annotated[dict[str, dict[str, Option]], MinLen(1)]] = Field(
        default_factory=dict
    )
    columns: Annotated[dict[str, Column], MinLen(1)]
    extends: str = ""
    board: str = ""
    by_labels: str = ""
    control_of: str = ""
    proposed: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    published: dict[str, dict[str, Published]] = Field(default_factory=dict)
    published_repeats: Repeats | None = None
    tolerance: Annotated[tuple[Tolerance, ...], ONE_OR_MORE] = ()
    figure: Figure | None = None
    regret: Regret | None = None
    notes: tuple[str, ...] = ()
    units: Literal["task", "corpus", "group"] | None = None
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _expand(self) -> Self:
        """Put a row for each combination of variants in place of every row of the file."""
        rows: dict[str, Row] = {}
        for label, row in self.rows.items():
            axes = [row.variants.get(axis, values) for axis, values in self.variants.items()]
            if len(rows) + math.prod(map(len, axes)) > MAX_ROWS:
                raise ValueError(f"more than {MAX_ROWS:,} rows; expected fewer variants.")
            for combination in product(*axes):
                values = dict(zip(self.variants, combination, strict=True))
                options: dict[str, Option] = {}
                for axis, value in values.items():
                    options |= self.variants[axis].get(value, {})  # a mistake if it is unknown
                rows[", ".join([label, *combination])] = row.of_variant(values, options)
        self.__dict__["rows"] = rows  # the model is frozen
        return self

    def place(self, row: str) -> tuple[str, str]:
        """Return the keys of a row in the file; the rows of all its variants are one there."""
        values = "".join(f", {value}" for value in self.rows[row].variant.values())
        return "rows", row.removesuffix(values)

    @property
    def value_unit(self) -> Unit:
        """The unit of the table's values."""
        return UNITS[self.unit]

    @property
    def whole(self) -> int:
        """The largest value of a score in the table's unit."""
        return self.value_unit.whole

    @property
    def keeps_decisions(self) -> bool:
        """True if a claim, also of another experiment, or `by_labels` may use the documents."""
        return bool(self.by_labels or ((self.claims or self.published) and not self.units))

    @property
    def competitors(self) -> list[str]:
        """The columns that are neither controls nor readings of others."""
        columns = self.columns.items()
        return [name for name, column in columns if not (column.control or column.reading_of)]

    @property
    def candidates(self) -> list[str]:
        """The columns of which one is the best of a row, for `regret`."""
        combined = self.regret.combined if self.regret else ()
        return [name for name in self.competitors if name not in combined]


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

    def runs(self, repeats: int | None = None) -> Iterator[PlannedRun]:
        """Yield every run of the table or figure, with seeds 0, 1, … for random models."""
        spec = self.spec
        curves = bool(spec.figure and spec.figure.iterations)
        settings = {
            name: list(_settings(column, spec.figure)) for name, column in spec.columns.items()
        }
        for label, row in spec.rows.items():
            for name, column in spec.columns.items():
                task = row.data(column)
                random = column.random
                if not models.is_external(column.model):
                    random = parameters.takes_seed(models.load(column.model))
                seeds = range(repeats or spec.repeats) if random else (None,)
                for x, params in settings[name]:
                    for seed in seeds:
                        run = Run(task, column.model, params, seed, curves and not column.control)
                        yield PlannedRun(label, name, x, run)

    def metric(self, row: str) -> str:
        """Return the measure that a row shows."""
        return self.spec.rows[row].metric or self.spec.metric

    def unit(self, row: str) -> str:
        """Return the unit that a row is a sample of, "" without units."""
        if self.spec.units == "group":
            return self.spec.rows[row].group
        task = self.spec.rows[row].data()
        without_options = str(task.options.get("path") or task.base)  # the path of a user's file
        units = {None: "", "task": without_options, "corpus": task.base.split("/")[0]}
        return units[self.spec.units]

    def least_documents(self, row: str) -> int | None:
        """Return the documents of the smallest domain of a row's dataset, None if not stated."""
        uncut = tasks.Task(self.spec.rows[row].data().base)
        return min(tasks.documents(uncut).values(), default=None)

    def corpus(self, row: str) -> str:
        """Return the corpus of a row: its group, or of a paper's table the name of its dataset."""
        group = "" if self.spec.published else self.spec.rows[row].group
        return group or self.spec.rows[row].task.split("/")[0]

    def scale(self, row: str) -> int:
        """Return the factor from a measured value to the unit of the table: 100 or 1."""
        return 1 if self.metric(row) in COSTS else self.spec.value_unit.whole

    @cached_property
    def compared(self) -> Schema:
        """The file with the published values and the tolerance: this one, or the controlled one."""
        return experiments.load(self.spec.control_of).spec if self.spec.control_of else self.spec

    def tolerance(self, row: str) -> float:
        """Return the largest difference from a published value that counts as `within`.

        NaN if none is stated.
        """
        stated = {r: each.value for each in self.compared.tolerance for r in each.rows or (row,)}
        return stated.get(row, stated.get(self.spec.rows[row].reading_of, math.nan))

    def published(self, row: str, column: str) -> tuple[float, float | None] | None:
        """Return the printed mean and standard deviation (None if not printed) of a cell.

        That of a reading is the value of the row and the column that it reads.
        """
        read_row = row in self.spec.rows and self.spec.rows[row].reading_of
        value = self.compared.published.get(read_row or row, {}).get(self.read_column(column))
        return value if value is None or isinstance(value, tuple) else (value, None)

    def published_error(self, row: str, column: str, ours: float) -> float:
        """Return the standard error of a printed mean.

        ours: our standard deviation, in place of one that is not printed; NaN counts as 0. Without
        a stated number of repeats the printed value is a single run.
        """
        published = self.published(row, column)
        if published is None:
            return 0.0
        std = published[1]
        if std is None:
            std = 0.0 if math.isnan(ours) else ours
        repeats = self.compared.published_repeats
        stated = repeats is not None and self.read_column(column) not in repeats.unstated
        return std / math.sqrt(repeats.number if repeats and stated else 1)

    def read_column(self, column: str) -> str:
        """Return the column of which this is a second reading, or the column itself."""
        return (column in self.spec.columns and self.spec.columns[column].reading_of) or column


def _settings(column: Column, figure: Figure | None) -> Iterator[tuple[float | None, Params]]:
    """Yield the settings of a column: x if the figure varies the parameters, and all of them."""
    changes: list[tuple[float | None, dict[str, Any]]]
    if figure and figure.varies(column):
        changes = [(x, dict.fromkeys(figure.params, x)) for x in figure.values]
    else:  # without a grid, the product is one empty setting
        combinations = product(*column.grid.values())
        changes = [(None, dict(zip(column.grid, each, strict=True))) for each in combinations]
    for x, changed in changes:
        params: Params = column.params | changed
        if not models.is_external(column.model):
            params = parameters.resolve(models.load(column.model), params, column.model)
        yield x, params
