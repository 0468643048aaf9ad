"""Regret of taking one method for every task, without labels of the target.

The regret of a column on a row is the value of the best candidate there less that of the column,
each the mean over the seeds. Columns that combine methods are judged, but are no candidates for the
best, so their regret can be negative. See `schema.RegretSpec`.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pandas as pd

from transferbench.evidence.frame import Cell, to_frame
from transferbench.evidence.thresholds import ADVISED, ANY, MIN_EVIDENCE, WEAK_AGREEMENT, WIDE
from transferbench.experiments.experiment import Experiment
from transferbench.stats import bootstrap_interval

#: The combined column that is best on the other corpora.
ELSEWHERE = "chosen on the other corpora"


def summary(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the regret of each strategy on each combination of variants."""
    # A strategy is a column, or a combined column "if advised": on the rows where its members agree
    # enough to be advised, see `thresholds.WEAK_AGREEMENT`. If several columns are combined, which
    # are settings of one method, a further strategy takes for each corpus the one with the least
    # mean regret on the others.
    # `cells`: Rows in which a column has no finished run are left out.
    # Returns: A line for each strategy and combination, with these columns. Regrets are in the
    # table's unit.
    # - strategy, and a column for each variant.
    # - tasks, corpora: numbers of rows and of their corpora.
    # - mean: mean of the corpora's mean regrets, which weigh equally.
    # - low, high: its interval, see `stats.bootstrap_interval`.
    # - worst, worst_row: the largest regret of a row, and the row.
    # - a column with the mean regret on each corpus.
    spec = experiment.spec.regret
    assert spec is not None
    means = to_frame(cells).pivot(index="row", columns="column", values="mean")
    candidates = experiment.spec.candidates
    judged = list(dict.fromkeys([*candidates, *spec.combined]))
    values = means.reindex(index=list(experiment.spec.rows), columns=judged).dropna()
    corpus = pd.Series({row: experiment.corpus(row) for row in values.index}, dtype=object)
    best = values[candidates].max(axis=1)
    if len(spec.combined) > 1 and corpus.nunique() > 1:
        judged.append(ELSEWHERE)
        for name in corpus.unique():
            other = values.loc[corpus != name, list(spec.combined)].rsub(best, axis=0).dropna()
            chosen_setting = other.groupby(corpus).mean().mean().idxmin()
            values.loc[corpus == name, ELSEWHERE] = values[chosen_setting]
    regrets = values.rsub(best, axis=0)
    strategies = [(name, name, set(values.index)) for name in judged]
    for name in spec.combined:
        advised = {c.row for c in cells if c.column == name and _is_advised(c)}
        strategies.append((f"{name}, {ADVISED}", name, advised))
    lines = []
    for combination, of_combination in _combinations(experiment, list(values.index)):
        for strategy, name, allowed in strategies:
            chosen = [row for row in of_combination if row in allowed]
            if not chosen:
                continue
            of_strategy = regrets.loc[chosen, name]
            by_corpus = of_strategy.groupby(corpus[chosen], sort=False).mean()
            lines.append(
                {"strategy": strategy}
                | combination
                | {"tasks": len(chosen), "corpora": len(by_corpus), "mean": by_corpus.mean()}
                | dict(bootstrap_interval(by_corpus))
                | {"worst": of_strategy.max(), "worst_row": of_strategy.idxmax()}
                | by_corpus.to_dict()
            )
    columns = ["strategy", *experiment.spec.variants, "tasks", "corpora", "mean", "low", "high"]
    columns += ["worst", "worst_row"]
    columns += dict.fromkeys(map(experiment.corpus, experiment.spec.rows))
    return pd.DataFrame(lines, columns=columns)


def _is_advised(cell: Cell) -> bool:
    """Return False if the members of a run agree too little."""
    agreements = [record.diagnostics.get("agreement") for record in cell.records]
    return all(value is None or value >= WEAK_AGREEMENT for value in agreements)


def by_warning(
    experiment: Experiment, cells: Sequence[Cell]
) -> Iterator[tuple[str, list[dict[str, float] | None]]]:
    """Yield each warning, and the regret of the combined column with and without it."""
    # The warnings are those of `predict`, from the diagnostics of the runs; and the size of a
    # domain. If several columns are combined, the first one counts.
    # Yields: The warning, and for rows with it and without it: tasks, mean of the corpora's means,
    # low and high ends of its interval, and worst; None without a row.
    spec = experiment.spec.regret
    assert spec is not None
    name = spec.combined[0]
    means = to_frame(cells).pivot(index="row", columns="column", values="mean")
    candidates = experiment.spec.candidates
    values = means.reindex(columns=list(dict.fromkeys([*candidates, name]))).dropna()
    regrets = values[candidates].max(axis=1) - values[name]
    found: dict[str, dict[str, bool]] = {}
    for cell in cells:
        if cell.column == name and cell.row in regrets.index:
            few = _is_small(
                experiment.spec.rows[cell.row].variant.get("documents", ""), experiment, cell.row
            )
            found[cell.row] = _warnings(cell) | {f"fewer than {MIN_EVIDENCE} documents": few}
    table = pd.DataFrame.from_dict(found, orient="index").reindex(regrets.index)
    corpus = pd.Series({row: experiment.corpus(row) for row in regrets.index}, dtype=object)
    table["any of them"] = table.any(axis=1)
    for warning in table:
        lines: list[dict[str, float] | None] = []
        for part in (regrets[table[warning]], regrets[~table[warning]]):
            by_corpus = part.groupby(corpus[part.index], sort=False).mean()
            ends = dict(bootstrap_interval(by_corpus))
            numbers = {"tasks": len(part), "mean": by_corpus.mean(), **ends, "worst": part.max()}
            lines.append(numbers if len(part) else None)
        yield str(warning), lines


def _warnings(cell: Cell) -> dict[str, bool]:
    """Return which warnings the diagnostics of a cell's runs give."""

    def worst(name: str, usual: float) -> list[float]:
        values = (record.diagnostics.get(name) for record in cell.records)
        return [usual if value is None else value for value in values]

    wide, peaks = max(worst("share_width", 0)) > WIDE, max(worst("share_peaks", 0)) > 1
    return {
        f"its members agree less than {WEAK_AGREEMENT}": not _is_advised(cell),
        "other class shares are nearly as likely": bool(wide or peaks),
    }


def grids(
    experiment: Experiment, regrets: pd.DataFrame
) -> Iterator[tuple[str, list[str], list[tuple[str, list[dict[str, Any] | None]]]]]:
    """Yield the tables of a page."""
    # Yields: Title, heads of the columns, and each strategy with a line of `regrets` for each
    # column. A column is a value of the first variant, a table a combination of the others.
    first, *others = list(experiment.spec.variants) or ["tasks"]
    parts = regrets.groupby(others, sort=False) if others else [((), regrets)]
    for values, part in parts:
        title = ", ".join(f"{axis}: {value}" for axis, value in zip(others, values, strict=True))
        lines = {(line["strategy"], line[first]): line for line in part.to_dict("records")}
        heads = part.drop_duplicates(first)
        yield (
            title,
            [f"{head} ({n} tasks)" for head, n in zip(heads[first], heads["tasks"], strict=True)]
            if first != "tasks"
            else [f"{n} tasks" for n in heads["tasks"]],
            [
                (name, [lines.get((name, head)) for head in heads[first]])
                for name in part["strategy"].unique()
            ],
        )


def _combinations(
    experiment: Experiment, rows: Sequence[str]
) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield each combination of variants, also with ANY number of documents, and its rows."""
    axes = experiment.spec.variants
    asked = [[*values, *[ANY] * (axis == "documents")] for axis, values in axes.items()]
    for values in product(*asked):
        combination = dict(zip(axes, values, strict=True))
        chosen = [
            row
            for row in rows
            if all(
                value == combination[axis]
                or (combination[axis] == ANY and not _is_small(value, experiment, row))
                for axis, value in experiment.spec.rows[row].variant.items()
            )
        ]
        if chosen:
            yield combination, chosen


def _is_small(documents: str, experiment: Experiment, row: str) -> bool:
    """Return True if a domain has fewer than MIN_EVIDENCE documents."""
    # If `documents` is no number, the smallest domain of the dataset counts.
    number = int(documents) if documents.isdecimal() else experiment.least_documents(row)
    return number is not None and number < MIN_EVIDENCE
