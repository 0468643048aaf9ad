"""Regret of ways to choose a method for a task without labels of its target.

The regret of a choice on a row is the value of the best candidate there less that of the chosen
method. A candidate's value is its mean over the seeds. A criterion chooses in each seed the
candidate that it rates highest, the first of equals. See `experiment.Regret`.
"""

import math
from collections.abc import Sequence
from statistics import fmean

import pandas as pd

from transferbench.choose.criteria import MEANINGS
from transferbench.evidence.frame import Cell, to_frame
from transferbench.experiments.experiment import Experiment

#: Kinds of strategies, in the order of the page.
KINDS = ("always", "vote", "criterion", "rule")
#: Columns of regret.csv before those of the corpora.
COLUMNS = ["strategy", "kind", "mean", "worst", "worst_row", "below_reference"]


def corpora(experiment: Experiment) -> list[str]:
    """Return the named groups of rows."""
    groups = (row.group for row in experiment.spec.rows.values())
    return list(dict.fromkeys(group for group in groups if group))


def summary(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a line for each strategy: mean and worst regret over the rows, in the table's unit.

    worst_row: where the regret is worst. below_reference: by how much the choice is below the
    reference at most, negative if it is never. Then the mean regret on each corpus. The lines "…
    chosen elsewhere" take, for each corpus, the strategy of that kind with the least mean regret on
    the others; a single corpus has none. Rows in which a method has no finished run are left out.
    """
    spec = experiment.spec.regret
    assert spec is not None
    means = to_frame(cells).pivot(index="row", columns="column", values="mean")
    rows, columns = list(experiment.spec.rows), list(experiment.spec.columns)
    values = means.reindex(index=rows, columns=columns).dropna()
    corpus = [experiment.spec.rows[row].group for row in values.index]
    best = values[experiment.spec.candidates].max(axis=1)
    chosen = _strategies(experiment, cells, values)
    regrets = pd.DataFrame({key: best - value for key, value in chosen.items()})
    below = {key: values[spec.reference] - value for key, value in chosen.items()}
    if regrets.empty:
        return pd.DataFrame(columns=[*COLUMNS, *corpora(experiment)])
    for kind in KINDS[:3] if len(set(corpus)) > 1 else ():
        of_kind = [key for key in chosen if key[1] == kind]
        if not of_kind:
            continue
        name = f"best {kind} chosen elsewhere"
        # The strategy with the least mean regret on the rows of other corpora.
        here = pd.Series(corpus, regrets.index)
        best_for = {c: regrets.loc[here != c, of_kind].mean().idxmin() for c in set(corpus)}
        picked = {row: best_for[c] for row, c in here.items()}
        regrets[name, "chosen"] = [regrets.at[row, key] for row, key in picked.items()]
        below[name, "chosen"] = pd.Series({row: below[key][row] for row, key in picked.items()})
    named = [group for group in corpora(experiment) if group in corpus]
    lines = []
    for strategy, kind in regrets:
        regret = regrets[strategy, kind]
        means = regret.groupby(corpus, sort=False).mean()[named]
        line = [strategy, kind, regret.mean(), regret.max(), regret.idxmax()]
        lines.append([*line, below[strategy, kind].max(), *means])
    return pd.DataFrame(lines, columns=[*COLUMNS, *named])


def alike(regrets: pd.DataFrame) -> list[list[str]]:
    """Return groups of strategies that are equal in every number of `summary`."""
    lines = regrets.groupby(list(regrets)[2:], sort=False)["strategy"]
    return [list(names) for _, names in lines if len(names) > 1]


def _strategies(
    experiment: Experiment, cells: Sequence[Cell], values: pd.DataFrame
) -> dict[tuple[str, str], pd.Series]:
    """Return the value on each row that each strategy gives, by its name and kind."""
    spec = experiment.spec.regret
    assert spec is not None
    candidates = experiment.spec.candidates
    found = {(name, "always"): values[name] for name in candidates}
    found |= {(name, "vote"): values[name] for name in spec.votes}
    by_place = {(cell.row, cell.column): cell for cell in cells}
    for criterion in MEANINGS:
        chosen = {
            row: _by_criterion([by_place[row, name] for name in candidates], criterion)
            for row in values.index
        }
        found[criterion, "criterion"] = pd.Series(chosen)
    for name, rule in spec.rules.items():
        sources = {
            row: rule.column
            if _criterion_value(by_place[row, rule.column], rule.criterion) >= rule.least
            else spec.reference
            for row in values.index
        }
        found[name, "rule"] = pd.Series({row: values.at[row, c] for row, c in sources.items()})
    return {key: value.astype(float) for key, value in found.items()}


def _by_criterion(cells: Sequence[Cell], criterion: str) -> float:
    """Return the mean over seeds of the value of the cell that the criterion rates highest."""
    seeds = max((list(cell.by_seed) for cell in cells), key=len)
    values = []
    for seed in seeds:
        ratings = [_criterion_value(cell, criterion, seed) for cell in cells]
        chosen = cells[ratings.index(max(ratings))]
        values.append(chosen.by_seed.get(seed, chosen.mean))
    return fmean(values)


def _criterion_value(cell: Cell, criterion: str, seed: int | None = None) -> float:
    """Return a criterion of a cell, by default its mean over seeds; −∞ without one."""
    found = cell.criteria.get(seed) or cell.criteria.get(None)
    values = [found] if found else list(cell.criteria.values())
    known = [each[criterion] for each in values if criterion in each]
    return fmean(known) if known else -math.inf
