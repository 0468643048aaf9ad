"""One table of observations: the planned runs of an experiment and what its runs.csv reports.

`read_runs` reads a runs.csv, `observations` joins it with the plan, and `summarise` makes of the
observations the cells of the table or the points of the figure. Every page is made of the cells.
"""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from transferbench import models
from transferbench.errors import UserError, unknown
from transferbench.experiments.experiment import Experiment, choice_label
from transferbench.files import read_regular
from transferbench.measures import COSTS, LOWER_IS_BETTER, MEASURES, SCORES
from transferbench.runs.record import (
    RUNS_COLUMNS,
    SHARED_COLUMNS,
    Run,
    Status,
    short,
)

#: Columns that identify a run, in the form of `Run.identity`.
IDENTITY = ["task", "model", "params", "seed"]
#: Columns that identify a cell of a table or a point of a figure.
CELL = ["row", "column", "x"]
#: A cell with fewer finished runs than this has no verdict, unless fewer are planned.
MIN_RUNS = 3

#: Columns of runs.csv that hold numbers, and those that hold texts.
NUMBERS = (
    "x", *SCORES, "documents", "objective", "iterations", "seconds", "reused_seconds",
    "load_seconds", "peak_mib",
    "threads",
)  # fmt: skip
TEXTS = (
    "status", "reason", "domain", "data", "code", "versions", "finished", "key", "diagnostics",
)  # fmt: skip
OBSERVATION_COLUMNS = [
    "experiment", *CELL, "setting", "chosen", "seed", "domain", "measure", "value", "best",
    "documents",
    "status", "reason", "seconds", "load_seconds", "peak_mib", "threads", "iterations", "trace",
    "data", "code", "versions", "finished", "key", "diagnostics",
    "run",
]  # fmt: skip


class RunOutcome(NamedTuple):
    """Report of one run of a cell; missing values are NaN or empty. See `transferbench.results`."""

    status: str
    reason: str
    setting: str
    seconds: float
    peak_mib: float
    threads: float
    data: str
    code: str
    versions: str
    finished: str
    diagnostics: str
    run: Run


class Move(NamedTuple):
    """The value of a cell's first run, made again with a change that should not matter.

    row, column : the cell.
    change      : "order N", "dtype", "threads", or "libraries" with their versions.
    committed   : value of the run in runs.csv, in the table's unit.
    value       : that of the run with the change.
    """

    row: str
    column: str
    change: str
    committed: float
    value: float

    @property
    def moved(self) -> float:
        """The value less the committed one."""
        return self.value - self.committed


@dataclass(frozen=True)
class Cell:
    """A cell of a table or a point of a figure: ours, the published value and the verdict.

    Values are in the table's unit, NaN if there is none.

    row, column, x : the place; x is NaN in a table and for level lines.
    metric         : the measure.
    setting        : NAME=VALUE of the column's grid; empty without a grid.
    mean, std      : over the seeds.
    runs, planned  : number of finished and of all runs.
    published, published_std : what the paper prints.
    tolerance      : the largest difference that counts as within; NaN in a figure.
    error          : standard error of the mean over the seeds; 0 for a deterministic method, NaN
                     for a single run of a random one.
    published_error: standard error of the published value; 0 if no deviation is printed.
    unfinished     : "inconclusive" or "unavailable" if too few runs finished; empty if enough did.
    reason         : why too few runs finished.
    by_seed        : value by seed (None if the method takes none), the mean over domains.
    variance       : of the mean, caused by the choice of documents; see `_variances`.
    best           : the mean value at the best iterations.
    outcomes       : what its runs report, by seed; of an average there are none.
    moves          : its first run with changes, see `Move`.
    """

    row: str
    column: str
    x: float
    metric: str
    setting: str = ""
    mean: float = math.nan
    std: float = math.nan
    runs: int = 0
    planned: int = 0
    published: float = math.nan
    published_std: float = math.nan
    tolerance: float = math.nan
    error: float = math.nan
    published_error: float = 0.0
    unfinished: str = ""
    reason: str = ""
    by_seed: Mapping[int | None, float] = field(default_factory=dict)
    variance: float = math.nan
    best: float = math.nan
    outcomes: tuple[RunOutcome, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def difference(self) -> float:
        """The mean less the published value."""
        return self.mean - self.published

    @property
    def se(self) -> float:
        """The standard error of the difference; NaN if one run of a random method shows none."""
        return math.hypot(self.error, self.published_error)

    @property
    def verdict(self) -> str:
        """Within, above or below the published value, inconclusive, or unavailable.

        A difference is inconclusive if its standard error is not known, or if the tolerance, on
        either side, is closer than 2 SE. Empty without a published value or a tolerance.
        """
        margin = abs(abs(self.difference) - self.tolerance)
        if self.unfinished or math.isnan(margin):
            return self.unfinished
        if not 2 * self.se <= margin:  # also if it is NaN
            return "inconclusive"
        if abs(self.difference) <= self.tolerance:
            return "within"
        return "above" if self.difference > 0 else "below"

    @property
    def fragile(self) -> bool:
        """True if a change moves the first run by more than the tolerance."""
        return any(abs(move.moved) > self.tolerance for move in self.moves)

    @property
    def runs_to_settle(self) -> str:
        """How many runs, in all, make 2 SE too small to cross the tolerance, in words.

        The mean and the standard deviation are taken as they are. "none" if the published error
        alone crosses it; empty if 2 SE do not cross it.
        """
        if self.unfinished or self.verdict != "inconclusive" or math.isnan(self.se):
            return ""
        margin = abs(abs(self.difference) - self.tolerance)
        left = (margin / 2) ** 2 - self.published_error**2
        if left <= 0:
            return "none"
        runs = math.ceil(self.runs * self.error**2 / left)
        return f"about {runs}" if runs <= 1000 else "over 1,000"

    @property
    def why(self) -> str:
        """Why there is no verdict; empty if there is one."""
        if runs := self.runs_to_settle:
            return f"2 SE of {2 * self.se:.2g} cross the tolerance; runs that settle it: {runs}"
        unknown = self.verdict == "inconclusive" and not self.unfinished
        return "one run of a random method has no standard error" if unknown else self.reason

    def reported(self, name: Literal["data", "code", "versions", "finished"]) -> list[str]:
        """Return the different texts that the runs report, in their order."""
        return list(dict.fromkeys(filter(None, (getattr(each, name) for each in self.outcomes))))


#: Characters of a field of runs.csv, enough for a curve of 100 million iterations.
MAX_FIELD = 2**30


def no_runs(results: Path) -> UserError:
    """Return the error that a folder has results of no experiment."""
    return UserError(f"no runs.csv under {results}; run `reproduce` first.")


def read_lines(path: Path, text: str | None = None) -> list[dict[str, str]]:
    """Return the lines of a runs.csv as texts. Raise UserError if it is missing or not one.

    text: the content, if it is no file of its own; errors show `path`.
    """
    csv.field_size_limit(MAX_FIELD)  # global, and other modules set their own
    try:
        text = read_regular(path) if text is None else text
        reader = csv.DictReader(io.StringIO(text, newline=""))
        lines = list(reader)
        columns = list(reader.fieldnames or ())
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read ({reason}); run `reproduce` to make it.") from None
    if sorted(columns) != sorted(RUNS_COLUMNS):
        expected = ", ".join(RUNS_COLUMNS)
        raise UserError(f"{path}: expected the columns {expected}; run `reproduce` again.")
    texts: dict[str, str] = {}  # by number; a line may stand before the one with its text
    shared = [(line, name) for line in lines for name in SHARED_COLUMNS]
    for line, name in shared:
        number, brace, text = (line[name] or "").partition("{")
        if brace and number and texts.setdefault(number, brace + text) != brace + text:
            message = f"{path}: lines of two files: {number}stands for two texts"
            raise UserError(f"{message}; run `reproduce` again.")
    for line, name in shared:
        number, brace, text = (line[name] or "").partition("{")
        line[name] = brace + text or texts.get(f"{number} ", "")
    return lines


def read_runs(path: Path) -> pd.DataFrame:
    """Return a runs.csv as a typed table, a line for each run and domain, without row, column, x.

    A run that is used in several columns appears once. `params` is sorted JSON; `trace` and `curve`
    are lists of numbers, None unless the run has a curve; the index is the number of the line among
    those of `read_lines`. Raise UserError if the file is missing or damaged.
    """
    return to_runs(read_lines(path), path)


def read_cells(experiment: Experiment, folder: Path) -> list[Cell]:
    """Return the cells of the folder's runs.csv, with the moves of its fragility.csv, if any.

    Moves of runs that are no longer in runs.csv are left out. Raise UserError if runs.csv is
    missing or a file is damaged.
    """
    cells = summarise(experiment, observations(experiment, read_runs(folder / "runs.csv")))
    moves = read_moves(folder / "fragility.csv")
    return [_with_moves(cell, moves) for cell in cells] if moves else cells


def read_moves(path: Path) -> list[Move]:
    """Return the moves of a fragility.csv, none without it. Raise UserError if it is damaged."""
    if not path.is_file():
        return []
    try:
        types = Move.__annotations__
        table = pd.read_csv(path, usecols=[*types], dtype=types, keep_default_na=False)[[*types]]
    except (OSError, ValueError) as error:
        remedy = "correct or delete it, then run `fragility` again"
        raise UserError(f"{path}: cannot be read ({error}); {remedy}.") from None
    return [Move(*line) for line in table.itertuples(index=False)]


def _with_moves(cell: Cell, moves: Sequence[Move]) -> Cell:
    """Return the cell with its moves from the value of its first seed."""
    first = next(iter(cell.by_seed.values()), math.nan)
    own = [move for move in moves if move[:2] == (cell.row, cell.column)]
    here = tuple(m for m in own if math.isclose(m.committed, first, rel_tol=1e-5, abs_tol=1e-9))
    return replace(cell, moves=here)


def to_runs(lines: list[dict[str, str]], path: Path = Path("runs.csv")) -> pd.DataFrame:
    """Return lines of runs.csv as `read_runs` does; `path` names the file in errors."""
    typed = []
    for number, line in enumerate(lines, start=2):
        try:
            typed.append(_typed(line))
        except (AttributeError, TypeError, ValueError, RecursionError):
            message = f"{path}:{number}: not a line of runs; run `reproduce` again."
            raise UserError(message) from None
    runs = pd.DataFrame(typed, columns=[name for name in RUNS_COLUMNS if name not in CELL])
    runs = runs.astype({**dict.fromkeys(NUMBERS[1:], float), "curve": object, "trace": object})
    return runs.drop_duplicates([*IDENTITY, "domain"], keep="last")


def _typed(line: dict[str, str]) -> dict[str, Any]:
    """Return a line's values. Raise TypeError or ValueError if one is not of its column's type."""
    if None in line or None in line.values():
        raise ValueError("too many fields, or too few")
    if line["status"] not in get_args(Status):
        raise ValueError("unknown status")
    int(line["seed"] or 0)
    _sorted_json(line["versions"])
    typed: dict[str, Any] = {
        **line,
        **{name: float(line[name] or "nan") for name in NUMBERS},
        "params": _sorted_json(line["params"]),
    }
    for name in ("curve", "trace"):
        typed[name] = [float(v) for v in json.loads(line[name])] if line[name] else None
    return typed


@lru_cache(maxsize=10_000)  # seeds and domains share their texts
def _sorted_json(text: str) -> str:
    """Return a JSON mapping with sorted keys. Raise ValueError if the text is not one."""
    mapping = json.loads(text)
    if not isinstance(mapping, dict):
        raise ValueError("not a mapping")
    return json.dumps(mapping, sort_keys=True)


def observations(experiment: Experiment, runs: pd.DataFrame) -> pd.DataFrame:
    """Join the planned runs of an experiment with those of `read_runs`.

    Return a line for each row, column, x, setting, seed, scored domain and iteration of a curve;
    see `transferbench.results` for the columns. Lines of runs.csv that are not planned are left
    out; a planned run without a line has the status "missing".
    """
    planned = _plan(experiment)
    planned["chosen"] = _chosen(planned, runs)
    joined = _with_values(experiment, _join(experiment, planned, runs))
    joined["experiment"] = experiment.name
    joined["trace"] = joined["trace"].astype(object).where(joined["trace"].notna(), None)
    joined["seed"] = pd.to_numeric(joined["seed"], errors="coerce").astype("Int64")
    return joined[OBSERVATION_COLUMNS]


def _plan(experiment: Experiment) -> pd.DataFrame:
    """Return the planned runs by row and column, once for each way to choose the setting."""
    planned = []
    for (row, column), runs in groupby(experiment.runs(), key=lambda each: each[:2]):
        cell, grid = list(runs), experiment.spec.columns[column].grid
        for label, name, choose in table_columns(experiment):
            for _, _, x, run in cell if name == column else ():
                setting = ", ".join(f"{p}={parameter(run.params[p])}" for p in grid)
                planned.append((row, label, x, setting, choose, run, *run.identity))
    columns = [*CELL, "setting", "choose", "run", *IDENTITY]
    return pd.DataFrame(planned, columns=columns).astype({"x": float})


def table_columns(experiment: Experiment) -> list[tuple[str, str, str]]:
    """Return the table's columns: label, column of the experiment, measure that chooses or "".

    A column of the experiment has one column in the table for each measure that chooses.
    """
    return [
        (choice_label(name, choose) if i else name, name, choose)
        for name, column in experiment.spec.columns.items()
        for i, choose in enumerate(column.choose or ("",))
    ]


def parameter(value: Any) -> str:
    """Return a parameter's value as tables write it."""
    return short(value) if isinstance(value, float) else json.dumps(value)


def _chosen(planned: pd.DataFrame, runs: pd.DataFrame) -> pd.Series:
    """Return True for the runs that the table shows: of a grid, those with the best setting.

    The best setting has the highest mean of the choosing measure over all domains and seeds (the
    lowest, if lower is better). A setting with an unfinished run is not chosen; if none is left,
    the first of the grid is.
    """
    chosen = pd.Series(True, index=planned.index)
    for measure, grids in planned[planned["choose"] != ""].groupby("choose"):
        lines = grids[[*CELL, *IDENTITY]].merge(runs, on=IDENTITY, how="left")
        # The value of an unfinished run is NaN, and so is the mean.
        means = lines.groupby(["row", "column", "params"], sort=False)[measure].agg(fmean)
        means = means[means.map(math.isfinite)]
        means = -means if measure in LOWER_IS_BETTER else means
        best = {key[:2]: key[2] for key in means.groupby(level=[0, 1], sort=False).idxmax()}
        for cell, runs_of_cell in grids.groupby(["row", "column"], sort=False):
            setting = best.get(cell, runs_of_cell["params"].iloc[0])
            chosen[runs_of_cell.index] = runs_of_cell["params"] == setting
    return chosen


def _join(experiment: Experiment, planned: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the planned runs with their lines of the scored domains, in the order of the plan.

    Raise UserError if a run has lines of other domains than that of its row only.
    """
    joined = planned.reset_index(names="number").merge(runs, on=IDENTITY, how="left")
    scored = joined["row"].map(lambda row: experiment.spec.rows[row].domain or "")
    other = (scored != "") & (joined["status"] == "done") & (joined["domain"] != scored)
    lost = joined[other & ~joined["number"].isin(joined.loc[~other, "number"])]
    if not lost.empty:
        row = lost["row"].iloc[0]
        known = set(lost.loc[lost["row"] == row, "domain"])
        name = str(experiment.spec.rows[row].domain)
        raise experiment.error(("rows", row, "domain"), str(unknown("domain", name, known)))
    joined = joined[~other].reset_index(drop=True)
    return joined.fillna(dict.fromkeys(TEXTS, "") | {"status": "missing"})


def _with_values(experiment: Experiment, joined: pd.DataFrame) -> pd.DataFrame:
    """Add measure, value and, in a figure of curves or rows, x."""
    spec, figure = experiment.spec, experiment.spec.figure
    objective = bool(figure and figure.objective)
    done = joined["status"] == "done"
    joined["measure"] = joined["row"].map(experiment.metric)
    joined["scale"] = 1 if objective else joined["row"].map(experiment.scale)
    number, names = pd.factorize(joined["measure"])
    shown = joined[list(names)].to_numpy()[range(len(joined)), number]
    joined["value"] = (shown * joined["scale"]).where(done)
    # A curve has the first measure of the model's family.
    first = {name: MEASURES[models.get(name).family][0].name for name in joined["model"].unique()}
    curves = joined["curve"].where(joined["measure"] == joined["model"].map(first))
    greatest = curves.map(lambda curve: max(curve or [math.nan]), na_action="ignore")
    joined["best"] = greatest.astype(float) * joined["scale"]
    if figure and figure.rows:
        joined["x"] = joined["row"].map(lambda row: spec.rows[row].x).astype(float)
    curve = done & joined["curve"].notna()
    if not (figure and figure.iterations and curve.any()):
        return joined
    points = joined[curve].assign(value=joined["trace" if objective else "curve"])
    if objective:
        points["measure"] = "objective"
    points = points.explode("value")
    points["x"] = points.groupby(level=0).cumcount() + 1.0
    points["value"] = points["value"].astype(float) * points["scale"]
    # A model that reports no iterations has an empty curve.
    points.loc[points["value"].isna(), "status"] = "missing"
    return pd.concat([joined[~curve], points]).sort_index(kind="stable")


def summarise(experiment: Experiment, observed: pd.DataFrame) -> list[Cell]:
    """Return the cells of a table, or the points of a figure, from the chosen observations."""
    curves = bool(experiment.spec.figure and experiment.spec.figure.iterations)
    shown = observed[observed["chosen"]]
    best = shown.groupby(CELL[:2], sort=False)["best"].mean()
    # NaN and NA equal nothing, so None stands for them in the keys.
    keys = shown[[*CELL, "seed"]].astype(object)
    keys = keys.where(keys.notna(), None).itertuples(index=False)
    outcomes = zip(*(shown[name] for name in RunOutcome._fields), strict=True)
    measured = zip(shown["value"], _variances(experiment, shown), strict=True)
    runs: dict[Place, dict[int | None, RunOutcome]] = {}
    values: dict[Place, dict[float | None, ValuesBySeed]] = {}
    for (row, column, x, seed), outcome, value in zip(keys, outcomes, measured, strict=True):
        # The runs of a curve are planned without x; its points come from their iterations.
        place = row, column, None if curves else x
        runs.setdefault(place, {}).setdefault(seed, RunOutcome(*outcome))
        if outcome[0] == "done":
            of_place = values.setdefault(place, {}).setdefault(x, {})
            of_place.setdefault(seed, []).append(value)
    return [
        _cell(experiment, (*place[:2], x), [*of_place.values()], measured, float(best[place[:2]]))
        for place, of_place in runs.items()
        for x, measured in values.get(place, {place[2]: {}}).items()
    ]


#: Row, column and x of a cell.
Place = tuple[str, str, float | None]
#: Value and variance of each domain, by seed.
ValuesBySeed = dict[int | None, list[tuple[float, float]]]


def _cell(
    experiment: Experiment,
    place: Place,
    runs: Sequence[RunOutcome],
    measured: ValuesBySeed,
    best: float,
) -> Cell:
    row, column, x = place
    by_seed = {seed: fmean(value for value, _ in each) for seed, each in measured.items()}
    variances = [fmean(v for _, v in each) / len(each) for each in measured.values()]
    values = list(by_seed.values())
    finite = bool(values) and all(map(math.isfinite, values))
    mean = fmean(values) if finite else math.nan
    published, published_std = experiment.published(row, column) or (math.nan, None)
    unavailable = [run.reason for run in runs if run.status == "unavailable"]
    failed = [f"{r.status}: {r.reason}" for r in runs if r.status not in ("done", "missing")]
    if unavailable:
        unfinished, reason = "unavailable", unavailable[0]
    elif failed:
        unfinished, reason = "inconclusive", failed[0]
    elif not finite or len(values) < min(MIN_RUNS, len(runs)):
        unfinished, reason = "inconclusive", f"{len(values)} of {len(runs)} runs"
    else:
        unfinished, reason = "", ""
    return Cell(
        row,
        column,
        math.nan if x is None else x,
        experiment.metric(row),
        runs[0].setting,
        mean,
        stdev(values) if finite and len(values) > 1 else math.nan,
        len(values),
        len(runs),
        published,
        math.nan if published_std is None else published_std,
        math.nan if experiment.spec.figure else experiment.tolerance(row),
        standard_error(by_seed),
        experiment.published_error(row, column),
        unfinished,
        reason,
        by_seed,
        fmean(variances) if variances else math.nan,
        best,
        tuple(runs),
    )


def main_rows(experiment: Experiment) -> list[str]:
    """Return the rows that show the experiment's measure and are no second readings."""
    return [
        name
        for name, row in experiment.spec.rows.items()
        if experiment.metric(name) == experiment.spec.metric and not row.reading_of
    ]


def standard_error(by_seed: Mapping[int | None, float]) -> float:
    """Return the standard error of the mean over seeds; 0 without seeds, NaN for a single one."""
    values = list(by_seed.values())
    if None in by_seed or len(values) < 2 or not math.isfinite(sum(values)):
        return 0.0 if None in by_seed else math.nan
    return stdev(values) / math.sqrt(len(values))


def to_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the cells as a table, a line each, with their fields as columns."""
    return pd.DataFrame([vars(cell) for cell in cells], columns=[f.name for f in fields(Cell)])


def _variances(experiment: Experiment, observed: pd.DataFrame) -> pd.Series:
    """Return the binomial variance of accuracies that the choice of documents causes.

    An accuracy a is the mean over n scored documents of values from 0 to 1. Such a value has a
    variance of at most a (1 − a), which it reaches if it is 0 or 1 (wrong or right), so that of the
    mean is at most a (1 − a) / n. The mean over domains, which have documents of their own, has the
    sum of their variances over the square of their number. All seeds share the documents, so the
    mean over seeds has at most the mean of their variances. NaN for other measures, and if the
    number of documents is not known.
    """
    unit, value = observed["row"].map(experiment.scale), observed["value"]
    variances = value * (unit - value) / observed["documents"]
    return variances.where(observed["measure"] == "accuracy")


def identical_columns(experiment: Experiment, cells: Sequence[Cell]) -> list[list[str]]:
    """Return groups of columns that have the same value on every row, x and seed; costs aside.

    Columns without runs are in no group.
    """
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
