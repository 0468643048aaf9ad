"""Compare multi-label models on one problem.

No sign that needs no labels has been tested for several labels, so nothing is recommended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import metrics, models
from transferbench.comparison import Plan, plans_of
from transferbench.data.userdata.multilabel import fit_in_tasks
from transferbench.problem import Fit, Problem, Truth

if TYPE_CHECKING:
    from pandas import DataFrame

#: Compared with every other model.
REFERENCE = "linear-svm"
#: Models that take seconds on some thousand documents.
QUICK = (REFERENCE, "tram", "ml-knn")
MEASURES = ("f1", "accuracy", "hamming")


def plan(
    names: Sequence[str],
    params: Mapping[str, Mapping[str, object]],
    repeats: int = 1,
    seed: int = 0,
) -> list[Plan]:
    """Return what to compare: the reference first, then the named models, by default quick ones.

    params: given parameters by model. seed: the first of `repeats` seeds. Raise UserError for an
    unknown model or parameter, or another family.
    """
    return plans_of([REFERENCE, *(names or QUICK)], "multilabel", params, repeats, seed)


def fit_all(
    problem: Problem, plans: Sequence[Plan], on_done: Callable[[str], object] = lambda model: None
) -> dict[str, tuple[tuple[Fit, ...], float]]:
    """Return the fits of each model, one for each seed, and the mean seconds of a fit."""
    found = {}
    for each in plans:
        fits, seconds = [], []
        for seed in each.seeds:
            start = time.perf_counter()
            fits.append(fit_in_tasks(problem, partial(_fit, each, seed)))
            seconds.append(time.perf_counter() - start)
        found[each.model] = tuple(fits), fmean(seconds)
        on_done(each.model)
    return found


def _fit(each: Plan, seed: int | None, tasks: Problem) -> Fit:
    return models.fit(each.model, tasks, each.params, seed=seed, watch=None)


def table(
    problem: Problem,
    found: Mapping[str, tuple[tuple[Fit, ...], float]],
    truth: Truth | None = None,
) -> DataFrame:
    """Return a line for each target and model.

    target, model, seconds, documents; labels, the mean number of a document's labels; none, the
    share of documents without any; agreement_svm and agreement_vote, the mean Jaccard similarity
    with the labels of the linear SVM and with those that more than half of the models give. Where
    the truth has labels of the target: scored, their number, and f1, accuracy (Jaccard) and
    hamming, means over the seeds; of several seeds `f1_std` and so on are standard deviations.
    `attrs["labels"]` is the mean number of labels in the sources.
    """
    import pandas as pd

    lines = []
    for i, domain in enumerate(problem.domains):
        if domain.seen.all():
            continue
        decided = {name: _decided(fits[0].scores[i]) for name, (fits, _) in found.items()}
        vote = np.mean(list(decided.values()), axis=0) > 0.5
        for name, (fits, seconds) in found.items():
            D = decided[name]
            line: dict[str, Any] = {"target": domain.name, "model": name, "seconds": seconds}
            line |= {"documents": len(D), "labels": float(D.sum(axis=1).mean())}
            line["none"] = float(np.mean(~D.any(axis=1)))
            line["agreement_svm"] = metrics.jaccard(decided[REFERENCE], D)
            line["agreement_vote"] = metrics.jaccard(vote, D)
            lines.append(line | _measures(truth, i, fits))
    frame = pd.DataFrame(lines)
    seen = [domain.Y[domain.seen].sum(axis=1) for domain in problem.domains]
    frame.attrs["labels"] = float(np.concatenate(seen).mean())
    return frame


def _decided(scores: np.ndarray) -> np.ndarray:
    """Return the decided labels (n, c) of scores (n, c)."""
    return scores >= metrics.THRESHOLD


def _measures(truth: Truth | None, i: int, fits: Sequence[Fit]) -> dict[str, Any]:
    """Return the measures on domain i, if it has labels to score."""
    if truth is None or not truth.scored[i].any():
        return {}
    rows = truth.scored[i]
    score = metrics.FAMILIES["multilabel"]
    measured = [score(truth.Y[i][rows], fit.scores[i][rows], False) for fit in fits]
    line: dict[str, Any] = {"scored": int(rows.sum())}
    for name in MEASURES:
        values = [each[name] for each in measured]
        line[name] = fmean(values)
        if len(values) > 1:
            line[f"{name}_std"] = stdev(values)
    return line
