"""The results of a comparison on documents with several labels as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import measures
from transferbench.choose.compare import Comparison
from transferbench.choose.plan import REFERENCE
from transferbench.problem import Fit, Truth

if TYPE_CHECKING:
    from pandas import DataFrame


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, seconds, documents; labels, the mean number of a document's labels; none, the
    share of documents without any; agreement_svm and agreement_vote, the mean Jaccard similarity
    with the labels of the linear SVM and with those that more than half of the models give. Where
    the truth has labels of the target: scored, their number, and f1, accuracy (Jaccard) and
    hamming, means over the seeds; of several seeds `f1_std` and so on are standard deviations.
    warnings, a list of texts. `attrs` has the mean number of labels in the sources, and that no
    model is recommended.
    """
    import pandas as pd

    lines = []
    for i, domain in enumerate(compared.problem.domains):
        if domain.seen.all():
            continue
        decided = {
            entry.model: entry.fits[0].scores[i] >= measures.THRESHOLD
            for entry in compared.entries.values()
            if entry.fits
        }
        vote = np.mean(list(decided.values()), axis=0) > 0.5
        for name, entry in compared.entries.items():
            line: dict[str, Any] = {"target": domain.name, "model": name, "seconds": entry.seconds}
            line["documents"] = len(vote)
            if entry.fits:
                line |= _signs(decided, name, vote) | _measures(truth, i, entry.fits)
            lines.append(line | {"warnings": [doubt.text for doubt in entry.doubts]})
    frame = pd.DataFrame(lines)
    seen = [domain.Y[domain.seen].sum(axis=1) for domain in compared.problem.domains]
    frame.attrs["labels"] = float(np.concatenate(seen).mean())
    frame.attrs["recommended"] = compared.recommended
    frame.attrs["recommendation"] = compared.recommendation
    return frame


def _signs(decided: Mapping[str, np.ndarray], model: str, vote: np.ndarray) -> dict[str, float]:
    """Return what the decisions (n, c) of a model are like, without labels of the target."""
    D = decided[model]
    return {
        "labels": float(D.sum(axis=1).mean()),
        "none": float(np.mean(~D.any(axis=1))),
        "agreement_svm": measures.jaccard(decided[REFERENCE["multilabel"]], D),
        "agreement_vote": measures.jaccard(vote, D),
    }


def _measures(truth: Truth | None, i: int, fits: Sequence[Fit]) -> dict[str, float]:
    """Return the measures on domain i, if it has labels to score."""
    if truth is None or not truth.scored[i].any():
        return {}
    rows = truth.scored[i]
    Y = truth.Y[i][rows]
    measured = [measures.score("multilabel", Y, fit.scores[i][rows]) for fit in fits]
    line: dict[str, float] = {"scored": int(rows.sum())}
    for name in measured[0]:
        values = [each[name] for each in measured]
        line[name] = fmean(values)
        if len(values) > 1:
            line[f"{name}_std"] = stdev(values)
    return line
