"""Regret of taking one method for every task, without labels of the target.

The regret of a column on a row is the value of the best candidate there less that of the column,
each the mean over the seeds. Columns that combine methods are judged, but are no candidates for the
best, so their regret can be negative. See `schema.RegretSpec`.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from transferbench.evidence import groups
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Block, Page, Section, Table, words
from transferbench.evidence.thresholds import ADVISED, ANY, MIN_EVIDENCE, WEAK_AGREEMENT, WIDE
from transferbench.experiments.experiment import Experiment
from transferbench.measures import decimals

#: The combined column that is best on the other corpora.
ELSEWHERE = "chosen on the other corpora"
#: The last line of `by_warning`.
ANY_WARNING = "any of them"


def summary(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the regret of each strategy on each combination of variants, see `over_corpora`."""
    # A strategy is a column, or a combined column "if advised": on the rows where its members agree
    # enough to be advised, see `thresholds.WEAK_AGREEMENT`. If several columns are combined, which
    # are settings of one method, a further strategy takes for each corpus the one with the least
    # mean regret on the others. Regrets are in the table's unit.
    spec = experiment.spec
    frame = _regrets(experiment, cells).assign(strategy=lambda lines: lines["column"])
    combined = frame[frame["column"].isin(_combined(experiment))]
    advised = combined[~(combined["agreement"] < WEAK_AGREEMENT)]
    advised = advised.assign(strategy=advised["column"] + f", {ADVISED}")
    frame = pd.concat([frame, *_chosen_elsewhere(combined), advised], ignore_index=True)
    frame = groups.with_variants(experiment, groups.in_order(frame, "strategy"))
    if "documents" in spec.variants:
        many = frame[~_is_small(experiment, frame)]
        frame = pd.concat([frame, many.assign(documents=ANY)], ignore_index=True)
    axes = {
        axis: pd.CategoricalDtype(dict.fromkeys([*values, ANY]))
        for axis, values in spec.variants.items()
    }
    table = groups.over_corpora(frame.astype(axes), [*axes, "strategy"], "regret")
    return table[["strategy", *table.columns.drop("strategy")]]


def by_warning(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the regret of the combined column, by warning, of the tasks with and without it."""
    # The warnings are those of `predict`, from the diagnostics of the runs; and the size of a
    # domain. If several columns are combined, the first one counts.
    frame = _regrets(experiment, cells).sort_values("task", kind="stable")
    frame = frame[frame["column"].isin(_combined(experiment)[:1])]
    warned = {
        f"its members agree less than {WEAK_AGREEMENT}": frame["agreement"] < WEAK_AGREEMENT,
        "other class shares are nearly as likely": (frame["share_width"] > WIDE)
        | (frame["share_peaks"] > 1),
        f"fewer than {MIN_EVIDENCE} documents": _is_small(experiment, frame),
    }
    warned[ANY_WARNING] = pd.DataFrame(warned).any(axis=1)
    lines = [
        frame.assign(warning=name, given=is_given.map({True: "with it", False: "without"}))
        for name, is_given in warned.items()
    ]
    frame = groups.in_order(pd.concat(lines, ignore_index=True), "warning")
    return groups.over_corpora(frame, ["warning", "given"], "regret")


def page(experiment: Experiment, table: pd.DataFrame, cells: Sequence[Cell]) -> Page:
    """Return the page of the regrets of `summary`."""
    # A column is a value of the first variant, a table a combination of the others.
    spec, blocks = experiment.spec, list[Block]()
    table = table.assign(regret="regret")
    first, *others = list(spec.variants) or ["regret"]
    for _, part in table.groupby(others, sort=False) if others else [((), table)]:
        title = groups.variants_text(others, part)[0] if others else ""
        shown = _grid(f"{experiment.name}: regret {title}", part, "strategy", first)
        blocks.append(Section(title, [shown]) if title else shown)
    warned = by_warning(experiment, cells)
    if not warned.empty:
        shown = _grid(f"{experiment.name}: regret by warning", warned, "warning", "given")
        blocks.append(
            Section("Regret with and without each warning", [words("warnings", spec), shown])
        )
    title = "choosing a method without labels of the target"
    links = {"All numbers, also on each corpus": "regret.csv"}
    return Page(experiment.name, title, [words("regret", spec), *blocks], links)


def _grid(label: str, table: pd.DataFrame, rows: str, columns: str) -> Table:
    return groups.grid(label, table, rows, columns, lambda value: decimals(value, 2))


def _regrets(experiment: Experiment, cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the lines of the judged columns, on the rows where all have finished."""
    frame, candidates = groups.values(experiment, cells), experiment.spec.candidates
    judged = frame[frame["column"].isin([*candidates, *_combined(experiment)])]
    return groups.with_regret(groups.finished(judged, "task"), candidates)


def _combined(experiment: Experiment) -> Sequence[str]:
    return experiment.spec.regret.combined if experiment.spec.regret else ()


def _chosen_elsewhere(combined: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield for each corpus the lines of the setting with the least mean regret on the others."""
    means = combined.groupby(["corpus", "column"], sort=False)["regret"].mean().unstack()
    for corpus in means.index if min(means.shape) > 1 else ():
        chosen = means.drop(corpus).mean().idxmin()
        is_chosen = (combined["corpus"] == corpus) & (combined["column"] == chosen)
        yield combined[is_chosen].assign(strategy=ELSEWHERE)


def _is_small(experiment: Experiment, frame: pd.DataFrame) -> pd.Series:
    """Return True for the lines of tasks with fewer than MIN_EVIDENCE documents in a domain."""

    # If the variant `documents` is no number, the smallest domain of the dataset counts.
    def is_small(task: str) -> bool:
        stated = experiment.spec.rows[task].variant.get("documents", "")
        number = int(stated) if stated.isdecimal() else experiment.least_documents(task)
        return number is not None and number < MIN_EVIDENCE

    return frame["task"].map({task: is_small(task) for task in frame["task"].unique()}).astype(bool)
