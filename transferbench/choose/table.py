"""The results of a comparison as a DataFrame, with measures where the target has labels."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import measures
from transferbench.choose import criteria, table_multilabel
from transferbench.choose.choice import JOINT
from transferbench.choose.compare import Comparison, Entry
from transferbench.choose.plan import REFERENCE
from transferbench.problem import Truth
from transferbench.userdata.checks import source_shares

if TYPE_CHECKING:
    from pandas import DataFrame


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, recommended, seconds; documents; `share CLASS` of the decisions; agreement_lr and
    agreement_vote, the share of documents decided as by logistic regression and by most models;
    reverse, the reverse accuracy; warnings, a list of texts; worthless. Where the truth has labels
    of the target: scored, their number, accuracy, balanced_accuracy, f1 (macro) and
    `recall CLASS`. All are fractions, means over the seeds; of several seeds `accuracy_std` and
    so on are standard deviations, NaN for a model without a seed. `attrs` has the source's shares,
    the recommended model and the sentence with its evidence. Of several labels see
    `table_multilabel.table`.
    """
    import pandas as pd

    if compared.problem.family == "multilabel":
        return table_multilabel.table(compared, truth)
    repeated = any(len(entry.fits) > 1 for entry in compared.entries.values())
    voted = _voted(compared)
    lines = [
        _line(compared, entry, i, voted[i], truth, repeated)
        for i, domain in enumerate(compared.problem.domains)
        if not domain.seen.all()
        for entry in compared.entries.values()
    ]
    frame = pd.DataFrame(lines)
    shares = source_shares(compared.problem)
    assert shares is not None
    frame.attrs["source"] = dict(zip(compared.problem.classes, shares.tolist(), strict=True))
    frame.attrs["recommended"] = compared.recommended
    frame.attrs["recommendation"] = compared.recommendation
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


def _voted(compared: Comparison) -> tuple[np.ndarray, ...]:
    """Return (n,) for each domain the class that most models decide; of equals LR's.

    The first seed of each model votes; joint models do not, as their members do.
    """
    fits = {e.model: e.fits[0] for e in compared.entries.values() if e.fits}
    reference = fits[REFERENCE["transfer"]].scores
    voters = [fit.scores for model, fit in fits.items() if model not in JOINT]
    one = np.eye(len(compared.problem.classes))
    return tuple(
        np.argmax(
            np.mean([one[S.argmax(axis=1)] for S in scores], axis=0)
            + 1e-6 * measures.normalize_scores(lr),
            axis=1,
        )
        for lr, *scores in zip(reference, *voters, strict=True)
    )


def _line(
    compared: Comparison,
    entry: Entry,
    i: int,
    voted: np.ndarray,
    truth: Truth | None,
    repeated: bool,
) -> dict[str, Any]:
    """Return the line of a model and of domain i."""
    problem = compared.problem
    name, classes = problem.domains[i].name, problem.classes
    line: dict[str, Any] = {"target": name, "model": entry.model}
    line |= {"recommended": entry.model == compared.recommended, "seconds": entry.seconds}
    line["documents"] = len(voted)
    decided = [fit.scores[i].argmax(axis=1) for fit in entry.fits]
    line |= _by_class("share", classes, [criteria.shares(each, len(classes)) for each in decided])
    found = entry.criteria.get(name, {})
    line["agreement_lr"] = found.get("agreement", np.nan)
    line["agreement_vote"] = float(np.mean([np.mean(d == voted) for d in decided] or [np.nan]))
    line["reverse"] = found.get("reverse", np.nan)
    if truth is not None and truth.scored[i].any():
        rows = truth.scored[i]
        line["scored"] = int(rows.sum())
        Y, scored = truth.Y[i][rows], [fit.scores[i][rows] for fit in entry.fits]
        measured = [measures.score("transfer", Y, scores) for scores in scored]
        for measure in measures.headings("transfer"):
            values = [each[measure] for each in measured]
            line[measure] = fmean(values) if values else np.nan
            if repeated:
                line[f"{measure}_std"] = stdev(values) if len(values) > 1 else np.nan
        line |= _by_class("recall", classes, [recall(Y, scores) for scores in scored])
    line["warnings"] = [doubt.text for doubt in entry.doubts]
    line["worthless"] = entry.worthless
    return line


def _by_class(what: str, classes: tuple[str, ...], values: list[np.ndarray]) -> dict[str, float]:
    """Return the mean over the seeds of values (c,) by class, NaN without any."""
    means = np.mean(values or [np.full(len(classes), np.nan)], axis=0)
    return {f"{what} {label}": float(v) for label, v in zip(classes, means, strict=True)}
