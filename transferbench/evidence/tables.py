"""The entries of a table: ours, the published value and a verdict; sentences about them."""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean
from typing import Any

import pandas as pd

from transferbench.evidence.frame import parameter, table_columns
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import average_label
from transferbench.measures import COSTS, LOWER_IS_BETTER, TITLES

MARKS = {"within": "=", "above": "▲", "below": "▼", "inconclusive": "?", "unavailable": "–"}
#: Verdicts of entries with too few finished runs for a comparison.
UNDECIDED = ("inconclusive", "unavailable")
#: Columns of table.csv.
ENTRY_COLUMNS = [
    "row", "column", "ours", "std", "runs", "planned", "published", "published_std", "difference",
    "verdict", "reason", "chosen",
]  # fmt: skip


def entries(experiment: Experiment, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the entries of a table from its cells, then the averages of each group of rows.

    Values are in the table's unit and NaN if there is none. `chosen` is the setting taken from the
    column's grid. See ENTRY_COLUMNS.
    """
    made = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell in cells.itertuples():
        published, std = experiment.published(cell.row, cell.column) or (math.nan, None)
        difference = cell.mean - published
        judged = verdict(difference, experiment.tolerance(cell.row))
        entry = {
            "row": cell.row,
            "column": cell.column,
            "ours": cell.mean,
            "std": cell.std,
            "runs": cell.runs,
            "planned": cell.planned,
            "published": published,
            "published_std": math.nan if std is None else std,
            "difference": difference,
            "verdict": cell.status or judged,
            "reason": cell.reason,
            "chosen": cell.setting,
        }
        made.append(entry)
        groups.setdefault((experiment.spec.rows[cell.row].group, cell.column), []).append(entry)
    # A named group of a single row needs no average.
    averages = [
        _average(experiment, average_label(group), entries)
        for (group, _), entries in groups.items()
        if not group or len(entries) > 1
    ]
    return pd.DataFrame(made + averages, columns=ENTRY_COLUMNS)


def verdict(difference: float, tolerance: float | None) -> str:
    """Return "within", "above" or "below"; "" if there is no published value or tolerance."""
    if math.isnan(difference) or tolerance is None:
        return ""
    if abs(difference) <= tolerance:
        return "within"
    return "above" if difference > 0 else "below"


def _average(experiment: Experiment, label: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean of entries of one column, ours and the published one."""
    first = entries[0]
    ours, published = (fmean(entry[name] for entry in entries) for name in ("ours", "published"))
    undecided = next((entry for entry in entries if entry["verdict"] in UNDECIDED), None)
    judged = verdict(ours - published, experiment.tolerance(first["row"]))
    return {
        "row": label,
        "column": first["column"],
        "ours": ours,
        "runs": min(entry["runs"] for entry in entries),
        "planned": max(entry["planned"] for entry in entries),
        "published": published,
        "difference": ours - published,
        "verdict": undecided["verdict"] if undecided else judged,
        "reason": f"{undecided['row']} is {undecided['verdict']}" if undecided else "",
        "chosen": "",
    }


def totals(experiment: Experiment, entries: pd.DataFrame) -> tuple[Counter[str], Counter[str]]:
    """Count the verdicts of cells: as the paper is read first, and with readings of columns.

    The first count leaves readings out; the second takes them in place of what they read. A control
    of another experiment counts for nothing.
    """
    if experiment.spec.control_of:
        return Counter(), Counter()
    rows, columns = experiment.spec.rows, experiment.spec.columns
    read: dict[tuple[str, str], str] = {}
    first: dict[tuple[str, str], str] = {}
    for entry in entries[entries["published"].notna()].itertuples():
        if entry.row in rows and not rows[entry.row].reading_of:
            named = columns[entry.column].reading_of
            (read if named else first)[entry.row, named or entry.column] = entry.verdict
    return Counter(first.values()), Counter((first | read).values())


def by_row(entries: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the entries, a named tuple each, by row and column."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in entries.itertuples():
        rows.setdefault(entry.row, {})[entry.column] = entry
    return rows


def best(experiment: Experiment, entries: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the best entries, as (row, column), of each row of a table of methods.

    Entries that show the same number are equal. A row in which all are equal, or with one entry,
    has no best; entries with too few runs do not count. Readings and figures compare no methods.
    """
    if experiment.spec.readings or experiment.spec.figure:
        return set()
    found = set()
    counted = entries[entries["ours"].notna() & ~entries["verdict"].isin(UNDECIDED)]
    for row, here in counted.groupby("row", sort=False):
        shown = here["ours"].round(digits(experiment))
        lower = _metric(experiment, str(row)) in LOWER_IS_BETTER
        if shown.nunique() > 1:
            first = shown == (shown.min() if lower else shown.max())
            found |= {(str(row), column) for column in here.loc[first, "column"]}
    return found


def _metric(experiment: Experiment, row: str) -> str:
    """Return the measure of a row or of the average of a group of rows."""
    if row in experiment.spec.rows:
        return experiment.metric(row)
    group = row.removeprefix("average").strip()
    of_group = (name for name, each in experiment.spec.rows.items() if each.group == group)
    return experiment.metric(next(of_group))


def digits(experiment: Experiment) -> int:
    """Return the number of decimals of the table's values."""
    return 2 if experiment.spec.unit == "percent" else 3


def measures(experiment: Experiment, unit: str) -> str:
    """Return what the rows show: shares in the unit, then costs in their own."""
    shown = dict.fromkeys(experiment.metric(row) for row in experiment.spec.rows)
    shares = [TITLES[measure] for measure in shown if measure not in COSTS]
    costs = [TITLES[measure] for measure in shown if measure in COSTS]
    return "; ".join([", ".join([*shares, *[unit] * bool(unit)])] * bool(shares) + costs)


def problems(experiment: Experiment, entries: pd.DataFrame) -> list[str]:
    """Return why cells have no verdict, a sentence for each reason, and the remedy."""
    names: dict[str, list[str]] = {}
    for entry in entries.itertuples():
        if entry.row in experiment.spec.rows and entry.reason:
            why = f"{entry.verdict}, {entry.reason}"
            names.setdefault(why, []).append(f"{entry.row} {entry.column}")
    sentences = [
        f"{why}: {', '.join(cells) if len(cells) < 7 else f'{len(cells)} cells'}"
        for why, cells in names.items()
    ]
    if (entries["verdict"] == "unavailable").any():
        remedy = f"`transferbench reproduce {experiment.name}` fills them"
        sentences.append(f"once the data of the unavailable cells are there, {remedy}")
    return sentences


def choices(experiment: Experiment, entries: pd.DataFrame) -> list[str]:
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
        here = entries[
            (entries["column"] == label) & (entries["chosen"] != "") & entries["ours"].notna()
        ]
        rows: dict[str, list[str]] = {}
        for setting, row in zip(here["chosen"], here["row"], strict=True):
            rows.setdefault(setting, []).append(row)
        settings = "; ".join(
            f"{setting} on {', '.join(where)}" if len(rows) > 1 else setting
            for setting, where in rows.items()
        )
        sentence = f"{label}: {among}, chosen for each task {by}"
        sentences.append(f"{sentence} ({settings})" if settings else sentence)
    return sentences
