"""The entries of a table: ours, the published value and a verdict; sentences about them."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import pandas as pd

from transferbench.evidence.frame import parameter, table_columns
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import COSTS, NAMES

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
    made = cells.rename(columns={"mean": "ours", "status": "verdict", "setting": "chosen"})
    printed = [
        experiment.published(row, column) or (math.nan, None)
        for row, column in zip(made["row"], made["column"], strict=True)
    ]
    made["published"] = [mean for mean, _ in printed]
    made["published_std"] = [math.nan if std is None else std for _, std in printed]
    made["difference"] = made["ours"] - made["published"]
    tolerances = made["row"].map(experiment.tolerance)
    made["verdict"] = [
        status or verdict(difference, tolerance)
        for status, difference, tolerance in zip(
            made["verdict"], made["difference"], tolerances, strict=True
        )
    ]
    averages = pd.DataFrame(_averages(experiment, made), columns=ENTRY_COLUMNS)
    return pd.concat([made[ENTRY_COLUMNS], averages.astype(made[ENTRY_COLUMNS].dtypes)])


def verdict(difference: float, tolerance: float | None) -> str:
    """Return "within", "above" or "below"; "" if there is no published value or tolerance."""
    if math.isnan(difference) or tolerance is None or math.isnan(tolerance):
        return ""
    if abs(difference) <= tolerance:
        return "within"
    return "above" if difference > 0 else "below"


def _averages(experiment: Experiment, made: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the mean of each group of rows, ours and the published one, by column.

    A named group of a single row needs no average.
    """
    groups = made["row"].map(lambda row: experiment.spec.rows[row].group)
    averages = []
    for (group, column), rows in made.groupby([groups, "column"], sort=False):
        if group and len(rows) == 1:
            continue
        ours, published = (
            math.nan if rows[name].isna().any() else fmean(rows[name])
            for name in ("ours", "published")
        )
        undecided = next(rows[rows["verdict"].isin(UNDECIDED)].itertuples(), None)
        judged = verdict(ours - published, experiment.tolerance(rows["row"].iloc[0]))
        averages.append(
            {
                "row": f"average {group}".strip(),
                "column": column,
                "ours": ours,
                "runs": rows["runs"].min(),
                "planned": rows["planned"].max(),
                "published": published,
                "difference": ours - published,
                "verdict": undecided.verdict if undecided else judged,
                "reason": f"{undecided.row} is {undecided.verdict}" if undecided else "",
                "chosen": "",
            }
        )
    return averages


def by_row(made: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the entries, a named tuple each, by row and column."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in made.itertuples():
        rows.setdefault(entry.row, {})[entry.column] = entry
    return rows


def digits(experiment: Experiment) -> int:
    """Return the number of decimals of the table's values."""
    return 2 if experiment.spec.unit == "percent" else 3


def measures(experiment: Experiment, unit: str) -> str:
    """Return what the rows show: shares in the unit, then costs in their own."""
    shown = dict.fromkeys(experiment.metric(row) for row in experiment.spec.rows)
    shares = [NAMES.get(measure, measure) for measure in shown if measure not in COSTS]
    costs = [NAMES.get(measure, measure) for measure in shown if measure in COSTS]
    return "; ".join([", ".join([*shares, *[unit] * bool(unit)])] * bool(shares) + costs)


def problems(experiment: Experiment, made: pd.DataFrame) -> list[str]:
    """Return why cells have no verdict, a sentence for each reason, and the remedy."""
    own = made[made["row"].isin(list(experiment.spec.rows)) & (made["reason"] != "")]
    sentences = []
    own = own.assign(cell=own["row"] + " " + own["column"])
    for (judged, reason), names in own.groupby(["verdict", "reason"], sort=False)["cell"]:
        where = ", ".join(names) if len(names) < 7 else f"{len(names)} cells"
        sentences.append(f"{judged}, {reason}: {where}")
    if (made["verdict"] == "unavailable").any():
        remedy = f"`transferbench reproduce {experiment.name}` fills them"
        sentences.append(f"once the data of the unavailable cells are there, {remedy}")
    return sentences


def choices(experiment: Experiment, made: pd.DataFrame) -> list[str]:
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
            else f"by {NAMES.get(choose, choose)}: with the labels it is then scored on"
        )
        here = made[(made["column"] == label) & (made["chosen"] != "") & made["ours"].notna()]
        rows = {setting: list(rows) for setting, rows in here.groupby("chosen", sort=False)["row"]}
        found = "; ".join(
            f"{setting} on {', '.join(where)}" if len(rows) > 1 else setting
            for setting, where in rows.items()
        )
        sentences.append(
            f"{label}: {among}, chosen for each task {by}" + f" ({found})" * bool(found)
        )
    return sentences
