"""Groups of an experiment's values: boards, regrets and accuracies by labels are made of them.

`values` has a line for each cell, `over_corpora` the means of such lines by any keys, and `grid` is
the table of these means. Corpora weigh equally, and every interval is the 95 per cent bootstrap
interval of the mean over corpora: it shows how the mean depends on the choice of corpora, not on
seeds or documents.
"""

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

import pandas as pd

from transferbench.evidence.frame import Cell, table_columns
from transferbench.evidence.page import Table, Value
from transferbench.experiments.experiment import Experiment
from transferbench.measures import LOWER_IS_BETTER
from transferbench.stats import bootstrap_interval

#: Diagnostics of runs that `values` has, and which value of several runs it takes.
DIAGNOSTICS: Mapping[str, Callable[[list[float]], float]] = {
    "agreement": min, "share_width": max, "share_peaks": max, "held_out_right": fmean,
}  # fmt: skip
#: Status of a run that has not been performed.
NOT_TRIED = {"missing", "unavailable"}
#: Columns of `over_corpora` beside the keys and the corpora.
NUMBERS = ["tasks", "corpora", "mean", "low", "high", "worst", "worst_row"]


def values(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a line for each cell, with its value and what it can be grouped by."""
    # - task, corpus, column: label of the row, its corpus, and label of the column.
    # - method, labels: the column without its sample, and the number of labelled documents of the
    #   target: "LR, 50 labels, draw 0" is LR with 50.
    # - model, choose, reading: model of the column, measure that chooses its setting, and True if
    #   it, or the row, is a second reading.
    # - metric, value: measure, and mean over the seeds in the table's unit, NaN without a finished
    #   run.
    # - seconds, scored: mean of the times of its runs, and number of scored documents.
    # - tried, outdated: True if a run was performed, and if one is of other data or code.
    # - a column for each of DIAGNOSTICS, NaN if no run has it.
    spec, lines = experiment.spec, []
    columns = {label: (spec.columns[name], by) for label, name, by in table_columns(experiment)}
    for cell in cells:
        (column, choose), row, records = columns[cell.column], spec.rows[cell.row], cell.records
        labelled, draw = (column.options.get(name, 0) for name in ("labelled", "draw"))
        status = {record.status for record in records}
        times = [r.seconds for r in records if r.done and r.seconds is not None]
        line: dict[str, Any] = {
            "task": cell.row,
            "corpus": experiment.corpus(cell.row),
            "column": cell.column,
            "method": cell.column.removesuffix(f", {labelled} labels, draw {draw}"),
            "labels": int(str(labelled)),
            "model": column.model,
            "choose": choose,
            "reading": bool(row.reading_of or column.reading_of),
            "metric": cell.metric,
            "value": cell.mean,
            "seconds": fmean(times or [math.nan]),
            "scored": max((sum(record.documents.values()) for record in records), default=0),
            "tried": bool(status - NOT_TRIED),
            "outdated": "outdated" in status,
        }
        for name, of_several in DIAGNOSTICS.items():
            found = [record.diagnostics.get(name) for record in records]
            numbers = [number for number in found if number is not None]
            line[name] = of_several(numbers) if numbers else math.nan
        lines.append(line)
    return pd.DataFrame(lines)


def with_variants(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with a column for each variant."""
    found = [experiment.spec.rows[task].variant for task in frame["task"]]
    return frame.assign(**{axis: [of[axis] for of in found] for axis in experiment.spec.variants})


def variants_text(axes: Iterable[str], frame: pd.DataFrame) -> list[str]:
    """Return the combination of variants of each line."""
    lines = frame.to_dict("records")
    return [", ".join(f"{axis}: {line[axis]}" for axis in axes) or "all" for line in lines]


def finished(frame: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return the lines of the groups in which every line has a value."""
    whole = frame["value"].notna().groupby([frame[key] for key in keys]).transform("all")
    return frame[whole]


def with_regret(frame: pd.DataFrame, candidates: Container[str]) -> pd.DataFrame:
    """Return the lines with `regret`: how far they are behind the best candidate on their task."""
    # `better` is the value, or its negative if lower is better.
    better = frame["value"].where(~frame["metric"].isin(LOWER_IS_BETTER), -frame["value"])
    of_candidates = better.where([column in candidates for column in frame["column"]])
    best = of_candidates.groupby(frame["task"]).transform("max")
    return frame.assign(better=better, regret=best - better)


def in_order(frame: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return a frame whose keys sort in the order in which their values come."""
    return frame.astype({key: pd.CategoricalDtype(frame[key].unique()) for key in keys})


def over_corpora(
    frame: pd.DataFrame, by: list[str], of: str, worst: Literal["idxmax", "idxmin"] = "idxmax"
) -> pd.DataFrame:
    """Return the mean of a column over the corpora, its interval and the worst task, by group."""
    # Lines without a value are left out. Groups are sorted by their keys, see `in_order`. An
    # interval draws the corpora in the order of the lines.
    # Returns: A line for each group, with these columns after the keys.
    # - tasks, corpora: numbers of lines and of their corpora.
    # - mean: mean of the corpora's means, which weigh equally.
    # - low, high: its interval, see `stats.bootstrap_interval`.
    # - worst, worst_row: the largest value, or the least, and its task.
    # - a column with the mean on each corpus.
    lines = []
    for keys, group in frame.dropna(subset=of).groupby(by, observed=True):
        by_corpus = group[of].groupby(group["corpus"], sort=False).mean()
        last = getattr(group[of], worst)()
        lines.append(
            by_corpus.to_dict()
            | dict(zip(by, keys, strict=True))
            | {"tasks": len(group), "corpora": len(by_corpus), "mean": by_corpus.mean()}
            | dict(bootstrap_interval(by_corpus))
            | {"worst": group.at[last, of], "worst_row": group.at[last, "task"]}
        )
    return pd.DataFrame(lines, columns=[*by, *NUMBERS, *frame["corpus"].unique()])


def grid(
    label: str,
    groups: pd.DataFrame,
    rows: str,
    columns: str,
    text: Callable[[float], str],
    head: Callable[[Any], str] = str,
) -> Table:
    """Return the table of groups: a row and a column for each value of two of their keys."""
    # A cell has the mean, its interval, the worst task and the number of tasks.
    shown = {(line[rows], line[columns]): line for line in groups.to_dict("records")}

    def cell(line: Mapping[str, Any] | None) -> Value:
        if line is None:
            return Value("–")
        ends = "" if math.isnan(line["low"]) else f"{interval(line['low'], line['high'], text)} "
        return Value(text(line["mean"]), f"{ends}/ {text(line['worst'])} ({line['tasks']})")

    heads = [*dict.fromkeys(groups[columns])]
    lines = [
        [name, *(cell(shown.get((name, one))) for one in heads)]
        for name in dict.fromkeys(groups[rows])
    ]
    return Table(label, [rows, *map(head, heads)], lines)


def interval(low: float, high: float, text: Callable[[float], str]) -> str:
    """Return an interval as tables write it, "" if there is none."""
    return "" if math.isnan(low) else f"[{text(low)}, {text(high)}]"


def signed(experiment: Experiment, difference: float) -> str:
    """Return a difference with its sign, in the digits of a table."""
    digits = 1 if experiment.spec.scale_max == 100 else 3
    text = f"{difference:+.{digits}f}".replace("-", "−")
    return text if round(difference, digits) else text[1:]
