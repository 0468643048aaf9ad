"""Boards: rankings of the methods on a suite of tasks.

A suite is an experiment with the key `board`, or one that extends it. Corpora are its groups of
rows, or without groups the datasets of the tasks. They weigh equally, and every interval is the 95
per cent bootstrap interval of the mean over corpora: it shows how the order depends on the choice
of corpora, not on seeds or documents. Fewer than three corpora have none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd

from transferbench import experiments
from transferbench.evidence import pictures
from transferbench.evidence.frame import Cell, table_columns, to_frame
from transferbench.evidence.page import Page, Picture, Table, TableRow, Value, words
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import MATTERS
from transferbench.measures import LOWER_IS_BETTER, significant
from transferbench.stats import bootstrap_interval

FOLDER = experiments.BOARDS
#: Status of a run that has not been performed.
NOT_TRIED = {"missing", "unavailable"}


@dataclass(frozen=True)
class Board:
    """The methods of a suite, ranked."""

    experiment: Experiment
    #: A line for each method that was tried, the best average rank first. Values are in the table's
    #: unit, NaN for a method without a finished run. The columns are
    #: - method, model: label and model of the column of the experiment.
    #: - rank: mean of the ranks on the tasks, 1 is best. Equal values share their rank, and a
    #:   method that did not finish is last.
    #: - mean: mean of the values.
    #: - regret: mean difference of the best value on a task from that of the method.
    #: - worst, worst_row: the largest regret, and its row.
    #: - wins, ties, losses: numbers of rows on which the method is ahead of the reference, closer
    #:   than half a point to it, or behind.
    #: - seconds: geometric mean of the times of its runs, as measured when they were made.
    #: - front: True if it finished all rows, and no faster such method has a smaller regret.
    #: - rows: number of rows with a finished run; means are over these.
    #: - rank_low, rank_high, regret_low, regret_high: intervals, see `stats.bootstrap_interval`.
    standings: pd.DataFrame
    #: Numbers of rows by corpus.
    corpora: dict[str, int]
    #: Labels of the columns that the experiment adds to the suite that it extends.
    added: set[str]
    #: Labels of those of them with runs of other data than the suite's, or of different code.
    left_out: list[str]


def from_cells(experiment: Experiment, cells: Sequence[Cell]) -> Board:
    """Return the board of an experiment."""
    # `cells`: Rows of other measures, second readings, columns chosen by target labels or with
    # labelled documents of the target, and added columns with other data of a task than the suite's
    # are left out.
    spec = experiment.spec
    rows = [
        name
        for name, row in spec.rows.items()
        if experiment.metric(name) == spec.metric and not row.reading_of
    ]
    columns = {
        label: spec.columns[name]
        for label, name, choose in table_columns(experiment)
        if choose in ("", "explained")
        and not spec.columns[name].reading_of
        and not spec.columns[name].options.get("labelled")
    }
    added = spec.columns.keys() - experiment.suite_columns if spec.extends else set()
    left_out = {
        cell.column
        for cell in cells
        if cell.column in added and any(r.status == "outdated" for r in cell.records)
    }
    cells = [cell for cell in cells if cell.column in columns.keys() - left_out]
    shown = to_frame(cells)
    done = [[r.seconds for r in cell.records if r.done and r.seconds is not None] for cell in cells]
    shown["seconds"] = [fmean(times or [math.nan]) for times in done]
    values, seconds = (
        shown.pivot(index="row", columns="column", values=name).reindex(rows)
        for name in ("mean", "seconds")
    )
    tried = {cell.column for cell in cells if {r.status for r in cell.records} - NOT_TRIED}
    values = values.drop(columns=[method for method in values if method not in tried])
    better = values * (-1 if spec.metric in LOWER_IS_BETTER else 1)
    corpus = pd.Series({row: experiment.corpus(row) for row in rows})
    regrets = better.rsub(better.max(axis=1), axis=0)
    ahead = better.sub(better.get(spec.board, math.nan), axis=0).round(9)
    matters = MATTERS * spec.scale_max
    rank = better.rank(axis=1, ascending=False, na_option="bottom").groupby(corpus).mean()
    regret = regrets.groupby(corpus).mean()
    standings = pd.DataFrame(
        {
            "model": {method: columns[method].model for method in values},
            "rank": rank.mean(),
            **rank.apply(bootstrap_interval).T.add_prefix("rank_"),
            "mean": values.groupby(corpus).mean().mean(),
            "regret": regret.mean(),
            **regret.apply(bootstrap_interval).T.add_prefix("regret_"),
            "worst": regrets.max(),
            "worst_row": regrets.dropna(axis=1, how="all").idxmax(),
            "wins": (ahead >= matters).sum(),
            "ties": (ahead.abs() < matters).sum(),
            "losses": (ahead <= -matters).sum(),
            "seconds": np.exp(np.log(seconds[values.columns]).mean()),
        }
    )
    complete = values.dropna(how="all").notna().all()
    costs = standings[["seconds", "regret"]].where(complete).to_numpy()
    dominated = [((costs <= one).all(axis=1) & (costs < one).any(axis=1)).any() for one in costs]
    standings = standings.assign(
        front=~(np.array(dominated, bool) | np.isnan(costs).any(axis=1)), rows=values.count()
    )
    standings = standings.sort_values(["rank", "regret"], kind="stable")
    table = standings.rename_axis("method").reset_index()
    return Board(experiment, table, dict(corpus.value_counts(sort=False)), added, sorted(left_out))


def standings_table(board: Board) -> Table:
    """Return the standings, a row for each method; those that the experiment adds have a mark."""
    unit = board.experiment.spec.value_unit

    def cell(value: float, text: Callable[[float], str]) -> Value:
        return Value(text(value) or "–")

    def between(low: Any, high: Any, text: Callable[[float], str]) -> Value:
        return Value("" if math.isnan(low) else f"[{text(low)}, {text(high)}]")

    rows: list[TableRow] = [
        [
            f"{'▶ ' if one.method in board.added else ''}{one.method}{' ★' if one.front else ''}",
            cell(one.rank, "{:.1f}".format),
            between(one.rank_low, one.rank_high, "{:.1f}".format),
            cell(one.regret, unit.text),
            between(one.regret_low, one.regret_high, unit.text),
            cell(one.worst, unit.text),
            cell(one.mean, unit.text),
            f"{one.wins} / {one.ties} / {one.losses}",
            cell(one.seconds, significant),
            f"{one.rows}",
        ]
        for one in board.standings.itertuples()
    ]
    heads = ["method", "rank", "rank 95 %", "regret", "regret 95 %", "worst", "mean", "W / T / L",
             "seconds", "tasks"]  # fmt: skip
    shown = [i for i, head in enumerate(heads) if len(board.corpora) > 2 or "95 %" not in head]
    label = f"{board.experiment.name}: standings"
    return Table(label, [heads[i] for i in shown], [[row[i] for i in shown] for row in rows])


def page(board: Board) -> Page:
    """Return the page of a board."""
    experiment, spec = board.experiment, board.experiment.spec
    about = "Mean regret with its interval, and seconds, of each method"
    picture = Picture(f"{experiment.name}.svg", about)
    suite, legend = words("suite", board, spec), words("board", board, spec)
    if board.left_out:
        legend += f" Not ranked, as runs are of other data or code: {', '.join(board.left_out)}."
    return Page(experiment.name, "board", [suite, picture, standings_table(board), legend])


def draw(board: Board, folder: Path) -> Path:
    """Draw the regrets with their intervals, and the seconds, of each method, as NAME.svg."""
    path = folder / f"{board.experiment.name}.svg"
    has_intervals = len(board.corpora) > 2
    return pictures.draw_board(
        board.experiment, board.standings, board.added, path, has_intervals=has_intervals
    )
