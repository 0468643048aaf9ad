"""The entries of a table: ours, the published value and a verdict; sentences about them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
import pandas as pd

from transferbench.evidence.frame import Cell, parameter, standard_error, table_columns
from transferbench.experiments.experiment import Experiment, average_label
from transferbench.measures import COSTS, LOWER_IS_BETTER, TITLES

MARKS = {"within": "=", "above": "▲", "below": "▼", "inconclusive": "?", "unavailable": "–"}
#: Columns of table.csv, by field of a cell.
CSV_COLUMNS = {
    "row": "row", "column": "column", "mean": "ours", "std": "std", "runs": "runs",
    "planned": "planned", "published": "published", "published_std": "published_std",
    "difference": "difference", "se": "se", "tolerance": "tolerance",
    "verdict": "verdict", "why": "reason", "setting": "chosen",
}  # fmt: skip

#: Heads the cells that noise leaves open.
NOISY = (
    "in the cells below 2 standard errors cross the tolerance; in brackets, how many runs in all "
    'would settle the verdict ("none": the published deviation alone is too large)'
)


def cited_label(method: str) -> str:
    """Return the name under which a table shows a method whose values are cited."""
    return f"{method} (published)"


def with_averages(experiment: Experiment, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a table, the cited ones, then the averages of each group of rows.

    A cited cell has a published value, NaN if the row has none, and no planned runs.
    """
    spec, groups = experiment.spec, dict[tuple[str, str], list[Cell]]()
    cited = []
    for method, values in spec.cited.items():
        for row in spec.rows:
            value = values.get(row, math.nan)
            mean, std = value if isinstance(value, tuple) else (value, math.nan)
            cell = Cell(
                row=row, column=cited_label(method), metric=experiment.metric(row),
                published=mean, published_std=std,
            )  # fmt: skip
            cited.append(cell)
    cells = [*cells, *cited]
    for cell in cells:
        groups.setdefault((spec.rows[cell.row].group, cell.column), []).append(cell)
    # A named group of a single row needs no average.
    averages = [
        _average(experiment, average_label(group), of_group)
        for (group, _), of_group in groups.items()
        if not group or len(of_group) > 1
    ]
    return [*cells, *averages]


def _average(experiment: Experiment, label: str, cells: Sequence[Cell]) -> Cell:
    """Return the mean of cells of one column, ours and the published one.

    Rows may share a run, so our standard error is that of the averages of each seed. The published
    values count as independent. The tolerance is the mean of the rows' tolerances.
    """
    seeds = set.intersection(*(set(c.by_seed) for c in cells))
    of_seeds = {seed: fmean(c.by_seed[seed] for c in cells) for seed in seeds}
    lost = next((cell for cell in cells if cell.unfinished), None)
    return Cell(
        row=label,
        column=cells[0].column,
        metric=cells[0].metric,
        mean=fmean(c.mean for c in cells),
        runs=min(cell.runs for cell in cells),
        planned=max(cell.planned for cell in cells),
        published=fmean(c.published for c in cells),
        tolerance=fmean(c.tolerance for c in cells),
        error=standard_error(of_seeds),
        published_error=math.hypot(*(c.published_error for c in cells)) / len(cells),
        unfinished=lost.unfinished if lost else "",
        reason=f"{lost.row} is {lost.unfinished}" if lost else "",
    )


def to_csv(entries: Sequence[Cell]) -> pd.DataFrame:
    """Return the content of table.csv."""
    rows = [[getattr(entry, name) for name in CSV_COLUMNS] for entry in entries]
    return pd.DataFrame(rows, columns=list(CSV_COLUMNS.values()))


def totals(experiment: Experiment, entries: Iterable[Cell]) -> Counter[tuple[str, str]]:
    """Count the published cells by model and verdict.

    Averages, second readings and a control of another experiment are not counted.
    """
    spec, counts = experiment.spec, Counter[tuple[str, str]]()
    for cell in [] if spec.control_of else entries:
        row = spec.rows.get(cell.row)
        if not row or row.reading_of or math.isnan(cell.published) or not cell.planned:
            continue
        column = spec.columns[cell.column]
        if not column.reading_of:
            counts[column.model, cell.verdict] += 1
    return counts


def by_row(entries: Iterable[Cell]) -> dict[str, dict[str, Cell]]:
    """Return the entries by row and column."""
    rows: dict[str, dict[str, Cell]] = {}
    for entry in entries:
        rows.setdefault(entry.row, {})[entry.column] = entry
    return rows


def best(experiment: Experiment, entries: Sequence[Cell]) -> set[tuple[str, str]]:
    """Return the best entries, as (row, column), of each row of a table of methods.

    Entries that show the same number are equal. A row in which all are equal, or with one entry,
    has no best; entries with too few runs do not count. Readings and figures compare no methods,
    and beside cited values ours may not be the best.
    """
    if experiment.spec.readings or experiment.spec.figure or experiment.spec.cited:
        return set()
    found = set()
    complete = [cell for cell in entries if not cell.unfinished and not math.isnan(cell.mean)]
    for row, here in by_row(complete).items():
        shown = {column: np.round(cell.mean, digits(experiment)) for column, cell in here.items()}
        lower = next(iter(here.values())).metric in LOWER_IS_BETTER
        first = min(shown.values()) if lower else max(shown.values())
        if len(set(shown.values())) > 1:
            found |= {(row, column) for column, value in shown.items() if value == first}
    return found


def digits(experiment: Experiment) -> int:
    """Return the number of decimals of the table's values."""
    return 2 if experiment.spec.unit == "percent" else 3


def number(experiment: Experiment, value: float) -> str:
    """Return a value with the table's decimals, "" for NaN."""
    if math.isnan(value):
        return ""
    if experiment.spec.unit in ("seconds", "MiB"):
        return f"{value:.3g}"
    return f"{value:.{digits(experiment)}f}"


def measures(experiment: Experiment, unit: str) -> str:
    """Return what the rows show: shares in the unit, then costs in their own."""
    shown = dict.fromkeys(experiment.metric(row) for row in experiment.spec.rows)
    shares = [TITLES[measure] for measure in shown if measure not in COSTS]
    costs = [TITLES[measure] for measure in shown if measure in COSTS]
    if not shares:
        return "; ".join(costs)
    if unit:
        shares.append(unit)
    return "; ".join([", ".join(shares), *costs])


def problems(experiment: Experiment, entries: Sequence[Cell]) -> list[str]:
    """Return why cells have no verdict, a sentence for each reason, and the remedy."""
    names: dict[str, list[str]] = {}
    noisy: dict[str, list[str]] = {}
    for entry in entries:
        if runs := entry.runs_to_settle:
            noisy.setdefault(entry.column, []).append(f"{entry.row} ({runs})")
        elif entry.row in experiment.spec.rows and entry.why:
            why = f"{entry.verdict}, {entry.why}"
            names.setdefault(why, []).append(f"{entry.row} {entry.column}")
    sentences = [
        f"{why}: {', '.join(cells) if len(cells) < 7 else f'{len(cells)} cells'}"
        for why, cells in names.items()
    ]
    if any(entry.verdict == "unavailable" for entry in entries):
        remedy = f"`transferbench reproduce {experiment.name}` fills them"
        sentences.append(f"once the data of the unavailable cells are there, {remedy}")
    by_column = [f"{column}: {', '.join(rows)}" for column, rows in noisy.items()]
    return sentences + ([NOISY, *by_column] if noisy else [])


def choices(experiment: Experiment, entries: Sequence[Cell]) -> list[str]:
    """Return how the setting of each column with a grid was chosen, and which one."""
    sentences = []
    for label, name, choose in table_columns(experiment):
        if not choose:
            continue
        grid = experiment.spec.columns[name].grid
        among = "; ".join(f"{p} among {', '.join(map(parameter, v))}" for p, v in grid.items())
        by = (
            "without labels, by the share of the documents' variance that lies between clusters"
            if choose == "explained"
            else f"by {TITLES[choose]}: with the labels it is then scored on"
        )
        rows: dict[str, list[str]] = {}
        for cell in entries:
            if cell.column == label and cell.setting and not math.isnan(cell.mean):
                rows.setdefault(cell.setting, []).append(cell.row)
        settings = "; ".join(
            f"{setting} on {', '.join(where)}" if len(rows) > 1 else setting
            for setting, where in rows.items()
        )
        sentence = f"{label}: {among}, chosen for each task {by}"
        sentences.append(f"{sentence} ({settings})" if settings else sentence)
    return sentences
