"""The results of a comparison as a DataFrame, with measures where the target has labels."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench.choose.compare import JOINT, REFERENCE, Comparison
from transferbench.measures import THRESHOLD, jaccard, normalize_scores, score
from transferbench.problem import Fit, Truth
from transferbench.userdata.checks import source_shares

if TYPE_CHECKING:
    from pandas import DataFrame


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, recommended, seconds, documents; agreement_vote, the share of documents decided
    as by most models. One label a document: `share CLASS` of the decisions; agreement_lr, with
    logistic regression; reverse_accuracy. Several: labels, the mean number of a document's labels;
    none, the share of documents without any; agreement_svm, with the linear SVM (agreement is then
    the mean Jaccard similarity). Where the truth has labels of the target: scored, their number,
    the measures and, of one label a document, `recall CLASS`. All are means over the seeds; of
    several seeds `accuracy_std` and so on are standard deviations, NaN for a model without a seed.
    warnings, a list of texts; worthless.

    `attrs` has recommended, recommendation (the sentence with its evidence) and source_shares, of
    the classes, or source_labels, the mean number of a document's labels.
    """
    import pandas as pd

    problem = compared.problem
    lines = []
    for i, domain in enumerate(problem.domains):
        if domain.seen.all():
            continue
        signs = _signs(compared, i)
        for name, entry in compared.entries.items():
            line: dict[str, Any] = {"target": domain.name, "model": name}
            line |= {"recommended": name == compared.choice.model, "seconds": entry.seconds}
            line |= {"documents": len(domain.seen)} | signs.get(name, {})
            if problem.family == "transfer":
                line["reverse_accuracy"] = entry.reverse_accuracy.get(domain.name, np.nan)
            line |= _measures(truth, i, entry.fits)
            line |= {"warnings": [doubt.text for doubt in entry.doubts]}
            lines.append(line | {"worthless": entry.worthless})
    frame = pd.DataFrame(lines)
    if problem.family == "transfer":
        shares = source_shares(problem)
        assert shares is not None
        frame.attrs["source_shares"] = dict(zip(problem.classes, shares.tolist(), strict=True))
    else:
        seen = [domain.Y[domain.seen].sum(axis=1) for domain in problem.domains]
        frame.attrs["source_labels"] = float(np.concatenate(seen).mean())
    frame.attrs["recommended"] = compared.choice.model
    frame.attrs["recommendation"] = compared.choice.sentence
    return frame


def confusion(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (c, c) the number of documents of each class (row) by decided class (column).

    Y, scores (n, c) of the documents to score.
    """
    table = np.zeros((Y.shape[1], Y.shape[1]), int)
    np.add.at(table, (Y.argmax(axis=1), scores.argmax(axis=1)), 1)
    return table


def recall(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (c,) the share of each class that is decided right, NaN for absent classes."""
    table = confusion(Y, scores)
    sizes = table.sum(axis=1)
    return np.where(sizes > 0, np.diag(table) / np.maximum(sizes, 1), np.nan)


def _signs(compared: Comparison, i: int) -> dict[str, dict[str, float]]:
    """Return for each fitted model what its decisions on domain i are like, by name.

    The first seed of each model votes, of equal classes LR's preferred one wins; joint models do
    not vote, as their members do.
    """
    problem, several = compared.problem, compared.problem.family == "multilabel"
    one = np.eye(len(problem.classes))
    decided = {
        name: [
            fit.scores[i] >= THRESHOLD if several else one[fit.scores[i].argmax(axis=1)]
            for fit in entry.fits
        ]
        for name, entry in compared.entries.items()
        if entry.fits
    }
    reference = REFERENCE[problem.family]
    vote = np.mean([seeds[0] for name, seeds in decided.items() if name not in JOINT], axis=0)
    if several:
        vote = vote > 0.5
    else:
        preferred = normalize_scores(compared.entries[reference].fits[0].scores[i])
        vote = one[np.argmax(vote + 1e-6 * preferred, axis=1)]
    signs: dict[str, dict[str, float]] = {}
    for name, seeds in decided.items():
        agreement = [
            fmean(jaccard(other, D) for D in seeds) for other in (decided[reference][0], vote)
        ]
        if several:
            signs[name] = {
                "labels": fmean(float(D.sum(axis=1).mean()) for D in seeds),
                "none": fmean(float(np.mean(~D.any(axis=1))) for D in seeds),
                "agreement_svm": agreement[0],
            }
        else:
            shares = np.mean([D.mean(axis=0) for D in seeds], axis=0).tolist()
            classes = zip(problem.classes, shares, strict=True)
            signs[name] = {f"share {label}": share for label, share in classes}
            signs[name]["agreement_lr"] = agreement[0]
        signs[name]["agreement_vote"] = agreement[1]
    return signs


def _measures(truth: Truth | None, i: int, fits: Sequence[Fit]) -> dict[str, float]:
    """Return the measures of a model on domain i, if it has labels to score."""
    if truth is None or not truth.scored[i].any():
        return {}
    rows = truth.scored[i]
    Y, scores = truth.Y[i][rows], [fit.scores[i][rows] for fit in fits]
    line: dict[str, float] = {"scored": int(rows.sum())}
    measured = [score(truth.family, Y, S) for S in scores]
    for name in measured[0] if measured else ():
        values = [each[name] for each in measured]
        line[name] = fmean(values)
        if len(values) > 1:
            line[f"{name}_std"] = stdev(values)
    if measured and truth.family == "transfer":
        recalls = np.mean([recall(Y, S) for S in scores], axis=0).tolist()
        line |= {f"recall {c}": value for c, value in zip(truth.classes, recalls, strict=True)}
    return line
