"""Boards: rankings of the methods on a suite of tasks.

A suite is an experiment with the key `board`, or one that extends it. Corpora are its groups of
rows, or without groups the datasets of the tasks; see `groups`. Fewer than three of them have no
interval, and no test of ranks.

Nothing in a run names its machine. So the runs of a suite count as those of one machine, and runs
that an experiment adds to them as those of another: their seconds have the sign †, and ★ compares
methods of the suite alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from transferbench import experiments
from transferbench.evidence import groups
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Block, Page, Picture, Section, Table, TableRow, Value, words
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import MATTERS, Schema
from transferbench.measures import decimals, significant
from transferbench.stats import ALPHA

FOLDER = experiments.BOARDS
#: End of the name of the picture of ranks.
RANKS = "-ranks.svg"


@dataclass(frozen=True)
class Board:
    """The methods of a suite, ranked."""

    experiment: Experiment
    #: The lines of `groups.values` that are ranked, with these columns more.
    #: - better: the value, or its negative if lower is better.
    #: - regret: difference of the best value on the task from that of the method.
    #: - rank: 1 is best. Equal values share their rank, and a method that did not finish is last;
    #:   NaN on a task that no method finished.
    values: pd.DataFrame
    #: A line for each method that was tried, the best mean rank first. Values are in the table's
    #: unit, NaN for a method without a finished run. The columns are
    #: - method, model: label and model of the column of the experiment.
    #: - rank, mean, regret: means of the ranks, values and regrets.
    #: - worst, worst_row: the largest regret, and its row.
    #: - wins, ties, losses: numbers of rows on which the method is ahead of the reference, closer
    #:   than half a point to it, or behind.
    #: - seconds: geometric mean of the times of its runs, as measured when they were made.
    #: - front: True if it is of the suite, finished all rows, and no faster such method has a
    #:   smaller regret.
    #: - rows: number of rows with a finished run; means are over these.
    #: - rank_low, rank_high, regret_low, regret_high: intervals, see `stats.bootstrap_interval`.
    #: - added: True if the experiment adds it to the suite that it extends.
    standings: pd.DataFrame
    #: Numbers of rows on which a method has a value, by corpus; only these rows are ranked.
    corpora: dict[str, int]
    #: Labels of the columns that the experiment adds to the suite that it extends.
    added: set[str]
    #: Labels of those of them with runs of other data than the suite's, or of different code.
    left_out: list[str]

    @property
    def has_intervals(self) -> bool:
        """True if the corpora are enough for intervals."""
        return len(self.corpora) > 2

    @property
    def has_ranks(self) -> bool:
        """True if there are several methods, and corpora enough for a test of their ranks."""
        return self.has_intervals and len(self.standings) > 1

    def critical(self, blocks: int) -> float:
        """Return the difference of mean ranks from which Nemenyi's test tells methods apart."""
        # Demšar, JMLR 2006: each block ranks the methods once. If corpora are the blocks, the rank
        # of a method is its mean on the corpus's tasks, whose variance is at most that of one rank,
        # however much the tasks depend on each other. So the test then keeps its level.
        from scipy.stats import studentized_range

        n = len(self.standings)
        quantile = float(studentized_range.ppf(1 - ALPHA, n, np.inf)) / math.sqrt(2)
        return quantile * math.sqrt(n * (n + 1) / (6 * blocks))

    @property
    def told_apart(self) -> pd.DataFrame:
        """True for each two methods whose mean ranks are told apart, with corpora as blocks."""
        methods, ranks = self.standings["method"], self.standings["rank"].to_numpy()
        apart = np.abs(np.subtract.outer(ranks, ranks)) >= self.critical(len(self.corpora))
        return pd.DataFrame(apart, methods, methods)

    def of_corpus(self, corpus: str) -> "Board":
        """Return the board of the tasks of one corpus; ranks are still those of a task."""
        values = self.values[self.values["corpus"] == corpus]
        return replace(self, values=values, standings=_standings(values, self.added))


def from_cells(experiment: Experiment, cells: Sequence[Cell]) -> Board:
    """Return the board of an experiment."""
    # `cells`: Rows of other measures, second readings, columns chosen by target labels or with
    # labelled documents of the target, and added columns with other data of a task than the suite's
    # are left out.
    spec = experiment.spec
    frame = groups.values(experiment, cells)
    frame = frame[(frame["metric"] == spec.metric) & ~frame["reading"] & (frame["labels"] == 0)]
    frame = frame[frame["choose"].isin(["", "explained"])]
    added = spec.columns.keys() - experiment.suite_columns if spec.extends else set()
    left_out = sorted(added & {*frame["column"][frame["outdated"]]})
    tried = {*frame["column"][frame["tried"]]}
    frame = frame[frame["column"].isin(tried - {*left_out})]
    finished = frame.dropna(subset="value").drop_duplicates("task")
    corpora = finished["corpus"].value_counts(sort=False).to_dict()
    frame = groups.with_regret(frame.sort_values("corpus", kind="stable"), tried)
    rounded = frame["better"].round(9)  # a sum in another order is no difference
    rank = rounded.groupby(frame["task"]).rank(ascending=False, na_option="bottom")
    frame["rank"] = rank.where(frame["task"].isin(finished["task"]))
    reference = frame[frame["column"] == spec.board].set_index("task")["better"]
    frame = frame.join(_counts(frame["better"] - frame["task"].map(reference), spec))
    return Board(experiment, frame, _standings(frame, added), corpora, added, left_out)


def _counts(ahead: pd.Series, spec: Schema) -> pd.DataFrame:
    """Return for each difference whether it is a win, a tie or a loss."""
    ahead, matters = ahead.round(9), MATTERS * spec.scale_max
    counts = {"wins": ahead >= matters, "ties": ahead.abs() < matters, "losses": ahead <= -matters}
    return pd.DataFrame(counts)


def _standings(frame: pd.DataFrame, added: set[str]) -> pd.DataFrame:
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
    table["added"] = table.index.isin(added)
    compared = (rows == frame.dropna(subset="value")["task"].nunique()) & ~table["added"]
    costs = table[["seconds", "regret"]].where(compared).to_numpy(float)
    dominated = [((costs <= one).all(axis=1) & (costs < one).any(axis=1)).any() for one in costs]
    table["front"] = ~(np.array(dominated, bool) | np.isnan(costs).any(axis=1))
    table["rows"] = rows
    table = table.sort_values(["rank", "regret"], kind="stable")
    return table.rename_axis("method").reset_index()


def standings_table(board: Board) -> Table:
    """Return the standings, a row for each method; those that the experiment adds have a mark."""
    unit, one_digit = board.experiment.spec.value_unit.text, partial(decimals, digits=1)
    rows: list[TableRow] = [
        [
            f"{'▶ ' if one.added else ''}{one.method}{' ★' if one.front else ''}",
            one_digit(one.rank) or "–",
            Value(groups.interval(one.rank_low, one.rank_high, one_digit)),
            unit(one.regret) or "–",
            Value(groups.interval(one.regret_low, one.regret_high, unit)),
            unit(one.worst) or "–",
            unit(one.mean) or "–",
            f"{one.wins} / {one.ties} / {one.losses}",
            Value(significant(one.seconds) or "–", "†" if one.added else ""),
            f"{one.rows}",
        ]
        for one in board.standings.itertuples()
    ]
    heads = ["method", "rank", "rank 95 %", "regret", "regret 95 %", "worst", "mean", "W / T / L",
             "seconds", "tasks"]  # fmt: skip
    shown = [i for i, head in enumerate(heads) if board.has_intervals or "95 %" not in head]
    label = f"{board.experiment.name}: standings"
    return Table(label, [heads[i] for i in shown], [[row[i] for i in shown] for row in rows])


def times_table(board: Board) -> Table:
    """Return the seconds and regrets, the fastest method first, of runs of one machine."""
    unit = board.experiment.spec.value_unit.text
    rows: list[TableRow] = [
        [
            f"{one.method}{' ★' if one.front else ''}",
            significant(one.seconds) or "–",
            unit(one.regret) or "–",
        ]
        for one in board.standings.sort_values("seconds", kind="stable").itertuples()
    ]
    return Table(f"{board.experiment.name}: seconds", ["method", "seconds", "regret"], rows)


def differences(board: Board, methods: Sequence[str]) -> Table:
    """Return by how much the first method is ahead of each other one, by task and on average."""
    # The mean and its interval are those of the corpora, as in the standings.
    spec = board.experiment.spec
    better = board.values.pivot(index="task", columns="column", values="better")
    frame = board.values.drop_duplicates("task")[["task", "corpus"]].assign(all="")
    columns: list[list[str | Value]] = [
        [*frame["task"], "mean of the corpora", "95 %", "W / T / L"],
        [*frame["corpus"], "", "", ""],
    ]

    def text(value: float) -> str:
        return "–" if math.isnan(value) else groups.signed(board.experiment, value)

    for other in methods[1:]:
        ahead = frame["task"].map(better[methods[0]] - better[other])
        over_corpora = groups.over_corpora(frame.assign(ahead=ahead), ["all"], "ahead")
        mean, low, high = over_corpora[["mean", "low", "high"]].reindex([0]).to_numpy(float)[0]
        counts = " / ".join(map(str, _counts(ahead, spec).sum()))
        ends = groups.interval(low, high, text)
        columns.append([Value(one) for one in (*map(text, ahead), text(mean), ends, counts)])
    rows = [*zip(*columns, strict=True)]
    heads = ["task", "corpus", *(f"{methods[0]} − {other}" for other in methods[1:])]
    return Table(f"{board.experiment.name}: differences", heads, rows[:-3], rows[-3:])


def page(board: Board) -> Page:
    """Return the page of a board."""
    experiment, spec = board.experiment, board.experiment.spec
    about = "Mean regret with its interval, and seconds, of each method"
    picture = Picture(f"{experiment.name}.svg", about)
    standings, legend = standings_table(board), words("board", board)
    if board.left_out:
        legend += f" Not ranked, as runs are of other data or code: {', '.join(board.left_out)}."
    legend += " The table is ordered by mean rank, the picture by regret."
    columns = [f"*{head}*: {words('column', head, board)}." for head in standings.heads[1:]]
    blocks: list[Block] = [
        words("suite", board, spec), picture, words("marks", board), standings, columns, legend
    ]  # fmt: skip
    if board.has_ranks:
        ranks = Picture(
            f"{experiment.name}{RANKS}", "Mean ranks, joined if they are not told apart"
        )
        pairs = int(board.told_apart.to_numpy().sum()) // 2
        blocks.append(Section("Ranks that are told apart", [ranks, words("ranks", board, pairs)]))
    return Page(experiment.name, "board", blocks)
