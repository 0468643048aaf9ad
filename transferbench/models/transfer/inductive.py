"""Inductive: label target documents that the fit of another model has not seen.

    min over (w, b)  Σ_i log-loss(d_i, w·x_i + b) + ½‖w‖²,  i over the target documents of the fit

x_i (d,) are documents of the target, d_i are the decisions of the other model, and w and b are
weights and intercepts. The documents of each domain are divided into folds, at random. For each
fold in turn, the other model is fitted without the fold's documents of source and target. A
logistic regression learns its decisions, and labels the fold's documents of the target. So every
target document is held out once, and all methods decide in the same way.

This model is a control of this project for methods that label only the documents they are fitted
on. It compares them with methods that are tested on held-out documents. Features and weights of
words still count all documents of the task, without their labels.

Labelled documents of a target train the other model outside their fold, with their weights, and
enter the logistic regression with these weights.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from transferbench.core.documents import score_targets
from transferbench.core.logistic import probabilities
from transferbench.models.transfer import cocc, dtl, gcmf, graph_only, lr, mtrick, svm, tsvm
from transferbench.parameters import takes_seed
from transferbench.problem import Domain, Fit, Problem

MODELS: dict[str, Callable[..., Fit]] = {
    "lr": lr.fit, "svm": svm.fit, "tsvm": tsvm.fit, "cocc": cocc.fit, "dtl": dtl.fit,
    "gcmf": gcmf.fit, "graph-only": graph_only.fit, "mtrick": mtrick.fit,
}  # fmt: skip


def fit(
    problem: Problem,
    *,
    model: Literal["lr", "svm", "tsvm", "cocc", "dtl", "gcmf", "graph-only", "mtrick"] = "tsvm",
    folds: Annotated[int, Ge(2)] = 5,
    seed: int,
) -> Fit:
    """Fit inductive.

    Parameters
    ----------
    model
        The other model, with its defaults.
    folds
        Number of folds.
    seed
        Seed of the folds and of the other model.

    Returns
    -------
    Fit
        Class probabilities (n, c) of every target, and the labels of every source.

    Raises
    ------
    ValueError
        If a target has fewer than two unlabelled documents.
    """
    seed_argument: dict[str, Any] = {"seed": seed} if takes_seed(MODELS[model]) else {}
    identity = np.eye(len(problem.classes))

    def score(i: int, target: Domain) -> np.ndarray:
        if np.sum(~target.seen) < 2:
            raise ValueError(f"{target.name}: expected two or more unlabelled documents")
        domains = (*problem.sources, target)
        fold = [_folds(domain, folds, seed) for domain in domains]
        P = target.Y.astype(float)
        for k in np.unique(fold[-1][~target.seen]):
            train_domains = [d.take(f != k) for d, f in zip(domains, fold, strict=True)]
            fitted = MODELS[model](replace(problem, domains=tuple(train_domains)), **seed_argument)
            decided = identity[fitted.scores[-1].argmax(axis=1)]
            last = train_domains[-1]
            weights = last.label_weights
            if weights is not None:
                weights = np.where(last.seen, weights, 1)
            everything = np.ones(len(decided), bool)
            train = replace(last, Y=decided, seen=everything, label_weights=weights)
            rows = (fold[-1] == k) & ~target.seen
            if np.ptp(decided, axis=0).any():
                held_out = replace(target.take(rows), name=f"{target.name}, held out")
                P[rows] = probabilities(replace(problem, domains=(train, held_out)))[-1]
            else:  # all documents of the fit have one class
                P[rows] = decided[0]
        return P

    return Fit(score_targets(problem, score))


def _folds(domain: Domain, folds: int, seed: int) -> np.ndarray:
    """Return (n,) the fold of each document; seen and unseen documents are divided separately."""
    # The fold of a document depends on its rank in a random direction, not on the order of
    # documents.
    direction = np.random.default_rng(seed).standard_normal(domain.X.shape[1])
    order = np.lexsort([domain.X @ direction, domain.seen])
    fold = np.empty(len(order), np.intp)
    fold[order] = np.arange(len(order)) % folds
    return fold
