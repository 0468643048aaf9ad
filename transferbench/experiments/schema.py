"""The keys of an experiment file with their types, and their validation.

`checks` has the checks that need several keys.
"""

import math
import reprlib
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import product
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    PrivateAttr,
    Strict,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from transferbench import parameters, tasks
from transferbench.errors import SeveralErrors, brief, closest
from transferbench.experiments import checks
from transferbench.experiments.checks import Names
from transferbench.measures import UNITS, MeasureName, Unit
from transferbench.parameters import Positive, Weight
from transferbench.runs.record import Limits
from transferbench.strict_yaml import Keys, LineMap

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
#: Names of rows and of columns.
RowNames = Annotated[tuple[str, ...], Names("row")]
ColumnNames = Annotated[tuple[str, ...], Names("column")]
ColumnName = Annotated[str, Names("column")]
#: A method that its paper proposes, the paper's own variant of it, a rival, or a simple method.
Kind = Literal["own", "variant", "rival", "simple"]
#: A printed mean, or mean and standard deviation.
Published = Finite | tuple[Finite, Annotated[Finite, Ge(0)]]


def _mistake(message: str) -> PydanticCustomError:
    """Return pydantic's error with a message of ours."""
    return PydanticCustomError("mistake", "{message}", {"message": message})


class StrictModel(BaseModel):
    """Base of all parts of an experiment file: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema, in which each key has its description from the docstring."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema["description"] = schema["description"].partition("\n\nParameters\n")[0]
        for key, text in parameters.descriptions(cls).items():
            schema["properties"][key]["description"] = text
        return schema


class Paper(StrictModel):
    """Source of the published values.

    Parameters
    ----------
    title
        Title of the paper.
    authors
        Its authors.
    venue
        Journal or conference, and year.
    place
        Number of the table or figure, or section, in the paper.
    """

    title: str
    authors: str
    venue: str
    place: str


class Row(StrictModel):
    """A data set of the table.

    Parameters
    ----------
    task
        Task, with its options, or path of a user's file.
    domain
        Domain to score; by default the mean of all. `all` joins the documents of all domains;
        only multi-label tasks have it.
    group
        Group of rows; each group has its average.
    metric
        Measure of this row, in place of the experiment's.
    x
        Position of the row in a figure that has the rows along its x axis.
    reading_of
        Another row, for the same data set built in another way. The published values are those of
        that row. The totals do not count the verdicts of this one, and its group must be another.
    variants
        Values that the row has of the file's variants, by variant; by default all.
    """

    task: str
    domain: str | None = None
    group: str = ""
    metric: Annotated[MeasureName | None, Names("measure of these models")] = None
    x: Finite | None = None
    reading_of: Annotated[str, Names("row that is no reading")] = ""
    variants: Annotated[dict[str, Annotated[tuple[str, ...], MinLen(1)]], Names("variant")] = {}
    _variant: dict[str, str] = PrivateAttr(default_factory=dict)
    _options: dict[str, Option] = PrivateAttr(default_factory=dict)

    @property
    def variant(self) -> dict[str, str]:
        """The row's value of each of the file's variants."""
        return self._variant

    def with_variant(self, values: dict[str, str], options: dict[str, Option]) -> "Row":
        """Return the row for one combination of variants."""
        row = self.model_copy()
        row._variant, row._options = values, options
        return row

    def data(self, column: "Column | None" = None) -> tasks.Task:
        """Return the row's task."""
        if column is None:
            return tasks.Task.parse(self.task, **self._options)
        task = tasks.Task.parse(column.task) if column.task else self.data()
        return task.with_options(column.options)


class Column(StrictModel):
    """A method: a model and its parameters.

    Parameters
    ----------
    model
        Model of `transferbench list models`, file or estimator; see `models.external`. A file or
        estimator is not imported to read the experiment.
    params
        Parameters of the model; those left out have the model's defaults.
    task
        Task in place of the rows' tasks, for a method that needs less of the data.
    options
        Options of the dataset, added to those of the row's task; none may be given twice.
    grid
        Values of parameters. Each combination of them is run on every task.
    choose
        Measures that choose a setting of the grid: the table shows the setting that is best on
        average over the task's domains. The second and each further measure add a column.
    random
        For a model outside the registry: true if it takes a seed. A file is read for this.
    kind
        What the method is in its paper: `own`, which the paper proposes; `variant`, another form
        of its own method; `rival`, a method of others; `simple`, a classic such as logistic
        regression, k-means or NMF. A reading has the kind of the column that it reads.
    control
        True for a method that the paper does not have.
    reading_of
        Another column, of which this is a second reading. It has the published values of that
        column. Its verdicts are its own; the totals do not count them.
    note
        Departures from the paper.
    """

    model: str
    params: dict[str, JsonValue] = {}
    task: str = ""
    options: dict[str, object] = {}
    grid: dict[str, Annotated[tuple[object, ...], MinLen(2)]] = {}
    choose: Annotated[tuple[MeasureName, ...], Names("measure of these models")] = ()
    random: bool = False
    kind: Kind | None = None
    control: bool = False
    reading_of: Annotated[str, Names("column that is no reading")] = ""
    note: str = ""


class Tolerance(StrictModel):
    """Largest difference from a published value that counts as `within`.

    Parameters
    ----------
    value
        The difference, in the table's unit.
    reason
        Why this one.
    rows
        Rows that it applies to; by default all. A row with `reading_of` that is not named has the
        tolerance of the row that it reads.
    """

    value: Weight
    reason: str
    rows: RowNames = ()


#: Takes one tolerance as a list of it.
ONE_OR_MORE = BeforeValidator(
    lambda v: v if isinstance(v, list) else [v], json_schema_input_type=Tolerance | list[Tolerance]
)


class Repeats(StrictModel):
    """Number of runs behind each printed value.

    Parameters
    ----------
    number
        Number of runs.
    place
        Where the paper states it.
    unstated
        Columns for which the paper states no number; there it counts as 1.
    """

    number: Annotated[int, Ge(1), Strict()]
    place: str
    unstated: ColumnNames = ()


class Circular(StrictModel):
    """Published cells whose values helped to set what is compared with them.

    The totals count such cells, and say how many they are. A cell of a reading counts so only
    where the totals show that reading.

    Parameters
    ----------
    rows
        Their rows; by default all.
    columns
        Their columns, or readings; by default all. A reading that is named here was chosen on these
        rows. The totals repeat this choice on shuffled values.
    why
        What was set by them: a tolerance, a form of the data, or a reading.
    """

    rows: Annotated[RowNames, MinLen(1)] = ()
    columns: Annotated[ColumnNames, MinLen(1)] = ()
    why: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Limit(StrictModel):
    """Limits of a run.

    Parameters
    ----------
    seconds
        Wall time.
    memory_gib
        Memory in GiB; by default a share of the machine's memory.
    """

    seconds: Positive = 3600.0
    memory_gib: Positive | None = None

    def of_run(self) -> Limits:
        """Return the limits as `runner` takes them."""
        memory = int(self.memory_gib * 2**30) if self.memory_gib else None
        return Limits(self.seconds, memory)


class Levels(StrictModel):
    """Published values of another experiment, by row.

    Parameters
    ----------
    experiment
        Name of the experiment.
    column
        Its column.
    """

    experiment: str
    column: str


class RegretSpec(StrictModel):
    """Judge each column as the choice for every row, without labels of the target.

    The candidates for the best column are all but controls and those combined.

    Parameters
    ----------
    combined
        Columns that combine several methods.
    """

    combined: ColumnNames = ()


class Figure(StrictModel):
    """The x axis of a figure: parameters with values, the iterations, or the rows.

    Parameters
    ----------
    label
        Label of the x axis.
    params
        Parameters that vary, all set to the same value, in the columns that state them and are no
        controls. The other columns are drawn as level lines.
    values
        Their values.
    iterations
        True if x is the iteration.
    rows
        True if x is the row's `x`; the figure then has one panel.
    log
        True for a logarithmic x axis; with `rows` both axes are logarithmic.
    objective
        True to draw the objective in place of the measure.
    levels
        Published values to draw as level lines.
    """

    label: str
    params: Annotated[tuple[str, ...], Names("parameter of the columns")] = ()
    values: tuple[float, ...] = ()
    iterations: bool = False
    rows: bool = False
    log: bool = False
    objective: bool = False
    levels: Levels | None = None

    def varies(self, column: Column) -> bool:
        """Return True if the parameters of the figure vary in this column."""
        return not column.control and not column.params.keys().isdisjoint(self.params)


class Better(StrictModel):
    """Each column is better than each of others.

    Parameters
    ----------
    columns
        The columns.
    over
        The others; by default every other column that is no control.
    rows
        Where it must hold: on `every` row, on `most`, on `some`, or on the `average` of the rows.
        In a figure it is tested at each x.
    by
        Difference that must be exceeded.
    times
        Ratio that must be exceeded, for seconds and MiB: so many times as fast, or as small.
    value
        Number of the paper to compare with, in place of columns.
    fewer_errors
        Share of the other's errors that must be avoided. The error of a value is what it lacks to
        1, or to 100 per cent.
    x
        Values of x in a figure.
    """

    columns: Annotated[ColumnNames, MinLen(1)]
    over: ColumnNames = ()
    rows: Literal["every", "most", "some", "average"] = "every"
    by: Finite = 0.0
    times: Positive = 1.0
    value: Finite | None = None
    fewer_errors: Annotated[float, Ge(0), Lt(1)] = 0.0
    x: Span | None = None

    def rivals(self, competitors: Iterable[str]) -> tuple[str, ...]:
        """Return what to compare with."""
        if self.value is not None:
            return (f"{self.value:g}",)
        return self.over or tuple(name for name in competitors if name not in self.columns)


class Stable(StrictModel):
    """On every row, the values of a column differ little.

    Parameters
    ----------
    column
        The column.
    x
        First and last x.
    within
        Largest difference.
    """

    column: ColumnName
    x: tuple[Finite, Finite]
    within: Positive


class Higher(StrictModel):
    """On every row, the mean of a column at some x is above its mean at other x.

    Parameters
    ----------
    column
        The column.
    at
        Where it is higher.
    than
        Where it is lower.
    by
        Difference that must be exceeded.
    """

    column: ColumnName
    at: Span
    than: Span
    by: Finite = 0.0


class Claim(StrictModel):
    """A sentence of the paper, in our words, and one predicate that tests it.

    It has one of `place` and `own`, and one of `better`, `stable` and `higher`. A difference below
    half a point, or a ratio below 1.1 of costs and objectives, decides nothing, unless the
    predicate states `by`, `times` or `within`. Objectives are compared by log10.

    Parameters
    ----------
    says
        The sentence.
    place
        Place of the sentence in the paper.
    own
        For a claim of ours, when it was written: `before the runs`, `after a trial` on the same
        tasks, or `after the runs`.
    better, stable, higher
        The predicate.
    measure
        Measure of the rows that are tested; by default the experiment's metric.
    among
        Rows that are tested; by default all.
    also
        Experiments whose rows are tested, too.
    read_with
        Claims on the same matter, such as one that contradicts this: sentences by experiment.
    """

    says: str
    place: str = ""
    own: Literal["before the runs", "after a trial", "after the runs"] | None = None
    better: Better | None = None
    stable: Stable | None = None
    higher: Higher | None = None
    measure: MeasureName | None = None
    among: RowNames = ()
    also: Annotated[tuple[str, ...], Names("experiment")] = ()
    read_with: Annotated[dict[str, str], Names("experiment")] = {}

    @property
    def by_us(self) -> bool:
        """True for a claim of ours, False for one of the paper."""
        return self.own is not None

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
        """Return the smallest difference that matters, on the scale that is compared."""
        # Returns: 0 if the predicate states how large a difference must be, or may be.
        match self.predicate:
            case Better(by=0, times=1, value=None, fewer_errors=0) | Higher(by=0):
                return math.log10(MATTERS_RATIO) if ratio else MATTERS * unit
        return 0.0


class Schema(StrictModel):
    """The file itself.

    Parameters
    ----------
    title
        Title of the table or figure.
    paper
        Source of the published values.
    metric
        Measure that the table shows.
    unit
        Unit of the values: percent, fraction, seconds or MiB. Costs are always as measured.
    repeats
        Number of runs of each cell: one for each seed of a random model, or for each split.
    repeats_over
        `seeds`: a random model is run with several seeds, another one once. `splits`: every model
        is run once on each of several random divisions into training and test documents, the
        option `split` of the tasks; a random model has the number of the split as its seed.
    limits
        Limits of each run.
    variants
        Options of tasks by variant and value. Each row stands for one row with each combination of
        values, labelled `row, value, value`.
    rows
        Data sets by label.
    columns
        Methods by label.
    extends
        Name of an experiment whose keys this file inherits, except claims. A mapping is merged with
        the inherited one; any other key replaces it.
    board
        Rank the methods on the suite of tasks; the value is the column to compare them with.
    by_labels
        The column of a method without labels, which is compared by number of labels with every
        other. Columns with the option `labelled` are methods that train on a sample of the target;
        their names end with its size and draw, as "LR, 50 labels, draw 0". A task has one target.
        It needs the decisions of the runs: those that another experiment has made without them do
        not count, and `reproduce --rerun all` makes them again.
    control_of
        Name of an experiment, for instance on the data in another form, whose published values and
        tolerance this one has. The totals do not count its verdicts.
    proposed
        Deprecated: columns of the methods that the paper proposes. Give them `kind: own` instead.
    declared
        Columns with `reading_of` that count in the totals "as we read the papers".
    circular
        Published cells whose values set a tolerance, a form of the data or a reading.
    data_differ
        Why the data of this table are not those of the paper, if nobody has them. The totals count
        such a table on a line of its own.
    published
        Printed values by row and column: a mean, or a mean and its standard deviation.
    published_repeats
        Number of runs behind each printed value.
    published_averages
        Printed averages by group of rows and column; `all` names the average of all printed rows.
    tolerance
        Largest difference from a published value; one, or a list of them.
    figure
        The x axis, if this is a figure.
    regret
        Judge each column as the choice for every row.
    notes
        Sentences for the page.
    units
        What claims about most rows, or their average, treat as an independent unit: each `task`
        (without its options), `corpus` (the first part of a task's name) or `group`; by default
        each row.
    claims
        Sentences of the paper, each tested.
    """

    title: str
    paper: Paper
    metric: Annotated[MeasureName, Names("measure of these models")]
    unit: Literal["percent", "fraction", "seconds", "MiB"] = "percent"
    repeats: Annotated[int, Ge(1), Lt(10_000), Strict()]
    repeats_over: Literal["seeds", "splits"] = "seeds"
    limits: Limit = Limit()
    variants: dict[str, Annotated[dict[str, dict[str, Option]], MinLen(1)]] = {}
    rows: Annotated[dict[str, Row], MinLen(1)]  # after variants, which expand them
    columns: Annotated[dict[str, Column], MinLen(1)]
    extends: str = ""
    board: ColumnName = ""
    by_labels: ColumnName = ""
    control_of: Annotated[str, Names("experiment")] = ""
    proposed: Annotated[ColumnNames, Field(validate_default=True)] = ()
    declared: ColumnNames = ()
    circular: tuple[Circular, ...] = ()
    data_differ: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    published: Annotated[dict[str, dict[str, Published]], Names("row")] = {}
    published_repeats: Repeats | None = None
    published_averages: Annotated[dict[str, dict[str, Finite]], Names("group of rows")] = {}
    tolerance: Annotated[tuple[Tolerance, ...], ONE_OR_MORE] = ()
    figure: Figure | None = None
    regret: RegretSpec | None = None
    notes: tuple[str, ...] = ()
    units: Literal["task", "corpus", "group"] | None = None
    claims: tuple[Claim, ...] = ()

    @field_validator("rows")
    @classmethod
    def _expand(cls, rows: dict[str, Row], info: ValidationInfo) -> dict[str, Row]:
        """Return a row for each combination of variants in place of every row of the file."""
        variants: dict[str, dict[str, dict[str, Option]]] = info.data.get("variants", {})
        expanded: dict[str, Row] = {}
        for label, row in rows.items():
            axes = [row.variants.get(axis, values) for axis, values in variants.items()]
            if len(expanded) + math.prod(map(len, axes)) > MAX_ROWS:
                raise _mistake(f"more than {MAX_ROWS:,} rows; expected fewer variants.")
            for combination in product(*axes):
                values = dict(zip(variants, combination, strict=True))
                options: dict[str, Option] = {}
                for axis, value in values.items():
                    options |= variants[axis].get(value, {})  # `checks` refuses an unknown value
                expanded[", ".join([label, *combination])] = row.with_variant(values, options)
        return expanded

    @field_validator("proposed")
    @classmethod
    def _own(cls, proposed: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """Give the columns of this deprecated key the kind `own`, and return all of that kind."""
        columns: dict[str, Column] = info.data.get("columns", {})
        for name in columns.keys() & proposed:
            if columns[name].kind not in (None, "own"):
                raise ValueError(f"{name} has another kind; leave out the key proposed")
            columns[name] = columns[name].model_copy(update={"kind": "own"})
        own = [name for name, column in columns.items() if column.kind == "own"]
        return (*proposed, *(name for name in own if name not in proposed))

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "Schema":
        """Return the file if `checks` finds no mistake; pydantic's error has the keys of each."""
        wrong: list[InitErrorDetails] = []
        for keys, message in checks.mistakes(self, is_new=bool(info.context)):
            place = (*self.keys_of(str(keys[1])), *keys[2:]) if keys[:1] == ("rows",) else keys
            wrong.append({"type": _mistake(message), "loc": place, "input": None})
        if wrong:
            raise ValidationError.from_exception_data("experiment", wrong)
        return self

    def keys_of(self, row: str) -> tuple[str, str]:
        """Return the keys of a row in the file, which are shared by the row's variants."""
        values = "".join(f", {value}" for value in self.rows[row].variant.values())
        return "rows", row.removesuffix(values)

    @property
    def printed_columns(self) -> list[str]:
        """The columns with a printed value."""
        return [n for n in self.columns if any(n in row for row in self.published.values())]

    @property
    def without_deviation(self) -> list[str]:
        """The columns that have printed values, and none with a deviation."""
        printed = self.published.values()
        return [
            name
            for name in self.printed_columns
            if not any(isinstance(row.get(name), tuple) for row in printed)
        ]

    @property
    def value_unit(self) -> Unit:
        """The unit of the table's values."""
        return UNITS[self.unit]

    @property
    def scale_max(self) -> int:
        """The largest value of a score in the table's unit."""
        return self.value_unit.whole

    @property
    def to_percent(self) -> float:
        """The factor from the table's unit to per cent."""
        return 100 / self.scale_max

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


def validate(data: Any, lines: LineMap, *, is_new: bool) -> Schema:
    """Return the schema of a file's data, with the line numbers of the file; see `checks`."""
    if isinstance(data, dict) and "proposed" in data:
        message = "the key proposed is deprecated; give its columns kind: own."
        warnings.warn(str(lines.error(("proposed",), message)), FutureWarning, stacklevel=2)
    try:
        return Schema.model_validate(data, context=is_new)
    except ValidationError as error:
        found = [*_mistakes(error, lines)]
        if error.errors()[0]["type"] != "mistake":  # so `checks` has not seen the file
            wrong = {detail["loc"][:3] for detail in error.errors()}
            found += checks.runs(_valid_parts(data, wrong), ["all"], is_new=is_new)
    found.sort(key=lambda mistake: lines.line(mistake[0]))
    raise SeveralErrors.combine([lines.error(*mistake) for mistake in found])


def _valid_parts(data: Any, wrong: Collection[Keys]) -> Schema:
    """Return the rows and columns of a file that are valid without the keys that are wrong."""
    # Without the domains of rows, whose names a variant may change.
    valid: dict[str, Any] = {"rows": {}, "columns": {}}
    for key, kind in (("rows", Row), ("columns", Column)):
        parts = data.get(key)
        for label, part in parts.items() if isinstance(parts, dict) else ():
            left_out = {"domain", *(keys[-1] for keys in wrong if keys[:2] == (key, label))}
            with suppress(ValidationError, AttributeError):  # no mapping
                kept = {name: value for name, value in part.items() if name not in left_out}
                valid[key][label] = kind.model_validate(kept)
    return Schema.model_construct(**valid)


def _mistakes(error: ValidationError, lines: LineMap) -> Iterator[tuple[Keys, str]]:
    """Yield the keys and the message of each mistake that pydantic found."""
    # A missing key is left out if an unknown key beside it is a misspelling of it. A value that
    # fits no alternative of a union has a mistake for each of them; only the first is yielded.
    known_keys = {name for part in StrictModel.__subclasses__() for name in part.model_fields}
    details = error.errors()
    meant = {
        detail["loc"]: closest(str(detail["loc"][-1]), known_keys - {detail["loc"][-1]})
        for detail in details
        if detail["type"] == "extra_forbidden"
    }
    misspelled = {(*keys[:-1], name) for keys, name in meant.items()}
    reported: set[Keys] = set()
    for detail in details:
        keys, kind, message = detail["loc"], detail["type"], detail["msg"]
        if kind == "mistake":
            yield keys, message
        elif keys in meant:
            hint = f" Did you mean {meant[keys]!r}?" if meant[keys] else ""
            yield keys, f"unknown key {brief(str(keys[-1]))}.{hint}"
        elif kind == "missing":
            if keys not in misspelled:
                name = ".".join(map(str, (*lines.known(keys[:-1]), keys[-1])))
                yield keys, f"missing key {name}."
        elif (known := lines.known(keys)) not in reported:
            reported.add(known)
            message = message.replace("Input should be", "expected")
            message = message.replace(" after validation", "").replace("a valid tuple", "a list")
            name = ".".join(map(str, known))[:200]
            yield known, f"{name}: {message}, got {reprlib.repr(detail['input'])}."
