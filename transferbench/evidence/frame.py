"""Turn the records of an experiment into the cells of its table or the points of its figure.

`observations` has a line for each planned run, scored domain and iteration of a curve; `summarise`
makes the cells of these lines. Every page is made of the cells.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from transferbench import experiments, models, stats
from transferbench.errors import UserError, unknown
from transferbench.evidence import verdict
from transferbench.evidence.verdict import Verdict
from transferbench.experiments.experiment import Experiment
from transferbench.measures import COSTS, LOWER_IS_BETTER, MEASURES
from transferbench.runs import policy, store
from transferbench.runs.record import Identity, Record, Run
from transferbench.stats import ADDED_DOCUMENTS

if TYPE_CHECKING:
    import pandas as pd

Records = Mapping[Identity, Record]
#: Fields of a record that `transferbench.results` shows.
REPORTED = (
    "seed", "status", "reason", "seconds", "peak_mib", "threads", "iterations", "data", "code",
    "versions", "finished", "diagnostics",
)  # fmt: skip


class Observation(NamedTuple):
    """The result of one planned run on one domain; see `transferbench.results`."""

    row: str
    column: str
    x: float | None
    setting: str
    chosen: bool
    domain: str
    measure: str
    value: float
    repeat: int | None
    record: Record


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a table or a point of a figure: ours, the published value and the verdict."""

    # Values are in the table's unit, NaN if there is none.

    #: `row`, `column`, `x`: Where it is; x is NaN in a table and for level lines.
    row: str
    column: str
    x: float = math.nan
    metric: str
    #: NAME=VALUE of the column's grid; empty without a grid.
    setting: str = ""
    #: `mean`, `std`: Mean and standard deviation over the seeds.
    mean: float = math.nan
    std: float = math.nan
    #: `runs`, `planned`: Number of finished and of all runs.
    runs: int = 0
    planned: int = 0
    #: `published`, `published_std`: Mean and standard deviation that the paper prints.
    published: float = math.nan
    published_std: float = math.nan
    #: Largest difference that counts as within; NaN in a figure.
    tolerance: float = math.nan
    #: Standard error of the mean over the seeds; 0 for a deterministic method, NaN for a single run
    #: of a random one.
    error: float = math.nan
    #: Standard error of the published value; 0 without a printed deviation.
    published_error: float = 0.0
    #: Its degrees of freedom; infinite if the number of repeats is not stated.
    published_dof: float = math.inf
    #: Why there is no verdict: no value, or fewer runs than planned.
    reason: str = ""
    #: Mean over the domains by repeat, which is the seed, None if the method takes none, or the
    #: split.
    by_seed: Mapping[int | None, float] = field(default_factory=dict)
    #: Variance of the mean that the choice of documents causes; see `_variance`.
    variance: float = math.nan
    #: Records of the runs, one for each repeat; empty for an average.
    records: tuple[Record, ...] = ()
    #: The repeat of each record: its seed or its split, see `plan.runs`.
    repeats: tuple[int | None, ...] = ()

    @property
    def difference(self) -> float:
        """The mean less the published value."""
        return self.mean - self.published

    @property
    def se(self) -> float:
        """The standard error of the difference; NaN if one run of a random method shows none."""
        return math.hypot(self.error, self.published_error)

    @property
    def verdict(self) -> Verdict | Literal[""]:
        """The verdict, see `verdict`; empty without a published value or a tolerance."""
        if self.reason or math.isnan(self.difference + self.tolerance):
            return "unavailable" if self.reason else ""
        is_ahead = (self.difference > 0) != (self.metric in LOWER_IS_BETTER)
        return verdict.judge(self.difference, self.margin, self.tolerance, is_ahead=is_ahead)

    @cached_property
    def can_be_same(self) -> bool | None:
        """False if no number of our runs can show that both are the same; None if not tested."""
        # It cannot if the error of the published value alone is larger than the tolerance.
        alone = stats.difference_margin(0.0, math.inf, self.published_error, self.published_dof)
        return alone <= self.tolerance if self.verdict in verdict.TESTED else None

    @cached_property
    def margin(self) -> float:
        """Half the width of the 90 per cent interval of the difference; see `stats`."""
        # It is 0 if neither side has an error, and NaN for a single run of a random method.
        both = self.error, self.runs - 1, self.published_error, self.published_dof
        return float(stats.difference_margin(*both))


def no_runs(results: Path) -> UserError:
    """Return the error for a folder without results of any experiment."""
    remedy = "run `reproduce` first, or name the results of a clone by --results"
    return UserError(f"no {store.NAME} under {results}; {remedy}.")


class ReadCells:
    """The experiments of a folder of results, each read once."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.named = cache(self._named)

    def _named(self, name: str) -> tuple[Experiment, Records, list[Cell]]:
        """Return an experiment, its records and its cells."""
        experiment = experiments.load(name, self.results)
        records = store.read(self.results / experiment.name / store.NAME)
        return experiment, records, summarise(experiment, observations(experiment, records))


def read_cells(experiment: Experiment, folder: Path) -> list[Cell]:
    """Return the cells of the folder's runs."""
    return summarise(experiment, observations(experiment, store.read(folder / store.NAME)))


def table_columns(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Return the table's columns: label, column of the experiment, measure that chooses or ""."""
    # A column of the experiment has one column in the table for each measure that chooses.
    columns = []
    for name, column in experiment.spec.columns.items():
        for i, choose in enumerate(column.choose or ("",)):
            by = f" ({'label-free' if choose == 'explained' else choose})"
            columns.append((name + by if i else name, name, choose))
    return columns


def parameter(value: Any) -> str:
    """Return a parameter's value as tables write it."""
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value)


def observations(experiment: Experiment, records: Records) -> list[Observation]:
    """Return the observations of the planned runs of an experiment."""
    # Records of other runs are left out; a planned run without a record has the status "missing". A
    # record of other data or code than the newest is outdated, see `policy.with_outdated`; with it
    # the whole grid is from which a setting is chosen.
    lines, planned = [], list(experiment.runs())
    shown_as: dict[str, list[tuple[str, str]]] = {}
    for label, name, choose in table_columns(experiment):
        shown_as.setdefault(name, []).append((label, choose))
    runs, suite = [each.run for each in planned], experiment.suite_columns
    current = policy.with_outdated(
        runs,
        [records.get(run.identity) or _missing(run) for run in runs],
        [each.column in suite for each in planned],
    )
    pairs = zip(planned, current, strict=True)
    for (row, name), of_cell in groupby(pairs, key=lambda pair: pair[0][:2]):
        cell, grid = [*of_cell], experiment.spec.columns[name].grid
        outdated = next((r.reason for _, r in cell if grid and r.status == "outdated"), "")
        if outdated:
            cell = [
                (one, replace(r, status="outdated", reason=outdated) if r.done else r)
                for one, r in cell
            ]
        for label, choose in shown_as[name]:
            shown = _chosen([record for _, record in cell], choose)
            for one, record in cell:
                setting = ", ".join(f"{key}={parameter(one.run.params[key])}" for key in grid)
                is_shown = not choose or record.identity[2] == shown
                for at, domain, measure, value in _values(experiment, row, one.x, record):
                    where = row, label, at, setting, is_shown, domain
                    lines.append(Observation(*where, measure, value, one.repeat, record))
    return lines


def _missing(run: Run) -> Record:
    return Record(str(run.task), run.model, run.params, run.seed, "missing")


def _chosen(records: Sequence[Record], choose: str) -> str:
    """Return the parameters that the table shows: the best setting of a grid."""
    # The best setting has the highest mean of the choosing measure over all domains and seeds (the
    # lowest, if lower is better). A setting with an unfinished run is not chosen; if none is left,
    # the first of the grid is.
    values: dict[str, list[float]] = {}
    for record in records:
        scores = [_measured(record, domain, choose) for domain in record.metrics]
        values.setdefault(record.identity[2], []).extend(scores or [math.nan])
    means = {params: fmean(numbers) for params, numbers in values.items()}
    finite = {params: mean for params, mean in means.items() if math.isfinite(mean)}
    best = min if choose in LOWER_IS_BETTER else max
    return best(finite, key=finite.__getitem__, default=next(iter(means)))


def _domains(experiment: Experiment, row: str, record: Record) -> list[str]:
    """Return the domains of a record that a row shows; [""] if none was scored."""
    domains, shown = [*record.metrics] or [""], experiment.spec.rows[row].domain
    if not record.done or not shown:
        return domains
    if shown not in domains:
        raise unknown(f"domain of {row}", shown, domains)
    return [shown]


def _values(
    experiment: Experiment, row: str, x: float | None, record: Record
) -> Iterator[tuple[float | None, str, str, float]]:
    """Yield x, the domain, the measure and the value in the table's unit, for each point."""
    figure, measure = experiment.spec.figure, experiment.metric(row)
    scale = 1 if figure and figure.objective else experiment.scale(row)
    if figure and figure.rows:
        x = experiment.spec.rows[row].x
    for domain in _domains(experiment, row, record):
        if not (figure and figure.iterations and record.done and record.curve is not None):
            yield x, domain, measure, _measured(record, domain, measure) * scale
            continue
        points = record.trace if figure.objective else record.curve.get(domain, ())
        if not figure.objective and measure != MEASURES[models.get(record.model).family][0].name:
            points = ()  # a curve has the first measure of the model's family
        named = "objective" if figure.objective else measure
        for i, value in enumerate(points or [math.nan], start=1):
            yield float(i), domain, named, value * scale


def _measured(record: Record, domain: str, measure: str) -> float:
    """Return a measure or a cost of a record; NaN if it did not finish."""
    value: float | None = record.metrics.get(domain, {}).get(measure)
    if measure in COSTS:
        value = getattr(record, measure)
    return math.nan if value is None or not record.done else value


def summarise(experiment: Experiment, observed: Sequence[Observation]) -> list[Cell]:
    """Return the cells of a table, or the points of a figure, from the chosen observations."""
    curves = bool(experiment.spec.figure and experiment.spec.figure.iterations)
    groups: dict[tuple[str, str, float | None], list[Observation]] = {}
    for observation in observed:
        if observation.chosen:
            # The runs of a curve are planned without x; its points come from their iterations.
            key = observation.row, observation.column, None if curves else observation.x
            groups.setdefault(key, []).append(observation)
    cells = []
    for (row, column, planned_x), group in groups.items():
        shared = _without_values(experiment, row, column, group)
        points: dict[float | None, list[Observation]] = {}
        for observation in group:
            if observation.record.done and not (curves and math.isnan(observation.value)):
                points.setdefault(observation.x, []).append(observation)
        for x, scored in (points or {planned_x: []}).items():
            at_x = replace(shared, x=math.nan if x is None else x)
            cells.append(_with_values(experiment, at_x, scored))
    return cells


def _without_values(
    experiment: Experiment, row: str, column: str, group: Sequence[Observation]
) -> Cell:
    """Return what the cells of a row and a column share: the points of a curve."""
    records = {observation.repeat: observation.record for observation in group}
    published, published_std = experiment.published(row, column) or (math.nan, None)
    published_error, published_dof = experiment.published_error(row, column)
    lost = [r for r in records.values() if r.status not in ("done", "missing")]
    lost.sort(key=lambda record: record.status != "unavailable")
    return Cell(
        row=row,
        column=column,
        metric=experiment.metric(row),
        setting=group[0].setting,
        planned=len(records),
        published=published,
        published_std=math.nan if published_std is None else published_std,
        tolerance=math.nan if experiment.spec.figure else experiment.tolerance(row),
        published_error=published_error,
        published_dof=published_dof,
        reason=f"{lost[0].status}: {lost[0].reason}" if lost else "",
        records=tuple(records.values()),
        repeats=tuple(records),
    )


def _with_values(experiment: Experiment, cell: Cell, points: Sequence[Observation]) -> Cell:
    """Return a cell with the values of its observations."""
    scored: dict[int | None, list[Observation]] = {}
    for point in points:
        scored.setdefault(point.repeat, []).append(point)
    by_seed = {seed: fmean(o.value for o in domains) for seed, domains in scored.items()}
    # Domains share no documents; seeds share all of them, and splits some.
    variances = [
        fmean(_variance(experiment, o) for o in domains) / len(domains)
        for domains in scored.values()
    ]
    values, std = [*by_seed.values()], deviation([*by_seed.values()])
    finite, reason = bool(values) and all(map(math.isfinite, values)), cell.reason
    if not reason and values and not finite:
        reason = "a run has no such value"
    elif not reason and len(values) < cell.planned:
        reason = f"{len(values)} of {cell.planned} runs"
    # A cost varies from run to run, so a single one shows no error.
    is_one_cost = cell.metric in COSTS and len(values) == 1
    return replace(
        cell,
        reason=reason,
        mean=fmean(values) if finite else math.nan,
        std=std,
        runs=len(values),
        error=math.nan if is_one_cost else standard_error(by_seed, std),
        by_seed=by_seed,
        variance=fmean(variances) if variances else math.nan,
    )


def _variance(experiment: Experiment, observation: Observation) -> float:
    """Return the binomial variance of an accuracy that the choice of documents causes."""
    # An accuracy a is the mean over n scored documents of values from 0 to 1. Such a value has a
    # variance of at most a (1 - a), which it reaches if it is 0 or 1 (wrong or right), so that of
    # the mean is at most a (1 - a) / n. Squared errors of two more documents are added, as in
    # `stats.paired_error`: it is not 0 if all documents are right. NaN for other measures, and if n
    # is not known.
    documents = observation.record.documents.get(observation.domain)
    if observation.measure != "accuracy" or not documents:
        return math.nan
    scale_max = experiment.scale(observation.row)
    of_document = observation.value * (scale_max - observation.value)
    return (of_document * documents + ADDED_DOCUMENTS * scale_max**2) / documents**2


def deviation(values: Sequence[float]) -> float:
    """Return the standard deviation; NaN of fewer than two values, or of one that is not finite."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    return stdev(values) if min(values) < max(values) else 0.0


def standard_error(by_seed: Mapping[int | None, float], deviation: float) -> float:
    """Return the standard error of the mean over seeds; 0 without seeds, NaN for a single one."""
    return 0.0 if None in by_seed else deviation / math.sqrt(len(by_seed) or math.nan)


def to_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the cells as a table: a line for each cell, with its fields as columns."""
    import pandas as pd

    return pd.DataFrame([vars(cell) for cell in cells], columns=[f.name for f in fields(Cell)])


def to_observations_frame(experiment: Experiment, observed: Sequence[Observation]) -> pd.DataFrame:
    """Return observations as a table; see `transferbench.results` for the columns."""
    import pandas as pd

    lines = []
    for observation in observed:
        record = observation.record
        line = observation._asdict() | {name: getattr(record, name) for name in REPORTED}
        lines.append(
            line | {"documents": record.documents.get(observation.domain), "run": record.run}
        )
    columns = [*Observation._fields[:-1], *REPORTED, "documents", "run"]
    table = pd.DataFrame(lines, columns=columns)
    table.insert(0, "experiment", experiment.name)
    return table.astype({"x": float, "documents": float, "seed": "Int64"})


def identical_columns(experiment: Experiment, cells: Sequence[Cell]) -> list[list[str]]:
    """Return groups of columns that have the same value on every row, x and seed, except costs."""
    # Columns without runs are in no group.
    columns: dict[str, dict[tuple[str, str], tuple[Any, ...]]] = {}
    for cell in cells:
        if cell.column in experiment.spec.columns and cell.metric not in COSTS:
            values: tuple[Any, ...] = tuple(cell.by_seed.items())
            if len(set(cell.by_seed.values())) == 1:  # equals a method without seeds
                values = values[0][1:]
            columns.setdefault(cell.column, {})[cell.row, str(cell.x)] = values
    groups: dict[frozenset[Any], list[str]] = {}
    for name, known in columns.items():
        if all(known.values()):
            groups.setdefault(frozenset(known.items()), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
