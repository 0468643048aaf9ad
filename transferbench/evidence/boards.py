"""Boards: rankings of the methods on a suite of tasks.

A suite is an experiment with the key `board`, or one that extends it. Corpora are its groups of
rows, or without groups the datasets of the tasks; see `groups`. Fewer than three of them have no
interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from transferbench import experiments
from transferbench.evidence import groups
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Page, Picture, Table, TableRow, Value, words
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import MATTERS
from transferbench.measures import significant

FOLDER = experiments.BOARDS


@dataclass(frozen=True)
class Board:
    """The methods of a suite, ranked."""

    experiment: Experiment
    #: The lines of `groups.values` that are ranked, with these columns more.
    #: - better: the value, or its negative if lower is better.
    #: - regret: difference of the best value on the task from that of the method.
    #: - rank: 1 is best. Equal values share their rank, and a method that did not finish is last.
    values: pd.DataFrame
    #: A line for each method that was tried, the best mean rank first. Values are in the table's
    #: unit, NaN for a method without a finished run. The columns are
    #: - method, model: label and model of the column of the experiment.
    #: - rank, mean, regret: means of the ranks, values and regrets.
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
    frame = groups.values(experiment, cells)
    frame = frame[(frame["metric"] == spec.metric) & ~frame["reading"] & (frame["labels"] == 0)]
    frame = frame[frame["choose"].isin(["", "explained"])]
    corpora = frame.drop_duplicates("task")["corpus"].value_counts(sort=False).to_dict()
    added = spec.columns.keys() - experiment.suite_columns if spec.extends else set()
    left_out = sorted(added & {*frame["column"][frame["outdated"]]})
    tried = {*frame["column"][frame["tried"]]}
    frame = frame[frame["column"].isin(tried - {*left_out})]
    frame = groups.with_regret(frame.sort_values("corpus", kind="stable"), tried)
    by_task = frame.groupby("task")
    frame["rank"] = by_task["better"].rank(ascending=False, na_option="bottom")
    reference = frame[frame["column"] == spec.board].set_index("task")["better"]
    ahead, matters = (
        (frame["better"] - frame["task"].map(reference)).round(9),
        MATTERS * spec.scale_max,
    )
    frame = frame.assign(
        wins=ahead >= matters, ties=ahead.abs() < matters, losses=ahead <= -matters
    )
    return Board(experiment, frame, _standings(frame), corpora, added, left_out)


def _standings(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `Board.standings`."""
    rank, regret = (
        groups.over_corpora(frame, ["column"], of).set_index("column") for of in ("rank", "regret")
    )
    methods = frame.groupby("column")
    table = methods[["model"]].first()
    ends = ["mean", "low", "high"]
    table[["rank", "rank_low", "rank_high"]] = rank[ends]
    table["mean"] = frame.groupby(["corpus", "column"])["value"].mean().unstack().mean()
    names = ["regret", "regret_low", "regret_high", "worst", "worst_row"]
    table[names] = regret[[*ends, "worst", "worst_row"]]
    counts = ["wins", "ties", "losses"]
    table[counts] = methods[counts].sum()
    table["seconds"] = np.exp(np.log(frame["seconds"]).groupby(frame["column"]).mean())
    rows = methods["value"].count()
    complete = rows == frame.dropna(subset="value")["task"].nunique()
    costs = table[["seconds", "regret"]].where(complete).to_numpy(float)
    dominated = [((costs <= one).all(axis=1) & (costs < one).any(axis=1)).any() for one in costs]
    table["front"] = ~(np.array(dominated, bool) | np.isnan(costs).any(axis=1))
    table["rows"] = rows
    table = table.sort_values(["rank", "regret"], kind="stable")
    return table.rename_axis("method").reset_index()


def standings_table(board: Board) -> Table:
    """Return the standings, a row for each method; those that the experiment adds have a mark."""
    unit, one_digit = board.experiment.spec.value_unit.text, "{:.1f}".format
    rows: list[TableRow] = [
        [
            f"{'▶ ' if one.method in board.added else ''}{one.method}{' ★' if one.front else ''}",
            one_digit(one.rank),
            Value(groups.interval(one.rank_low, one.rank_high, one_digit)),
            unit(one.regret) or "–",
            Value(groups.interval(one.regret_low, one.regret_high, unit)),
            unit(one.worst) or "–",
            unit(one.mean) or "–",
            f"{one.wins} / {one.ties} / {one.losses}",
            significant(one.seconds) or "–",
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
