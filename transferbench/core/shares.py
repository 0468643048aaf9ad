"""Shares of the classes in the targets: estimated without labels, or as a user states them.

Methods that suppose classes of equal size fail where the target's classes are unequal. With the
true shares they can be repaired, see `Factor.column_shares` in `core.nmtf` and `core.counts`.
Shares cannot be estimated reliably if the domains differ, so several estimators are compared.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from transferbench.core.counts import match_counts
from transferbench.core.graph import Search, cosine_graph, spread
from transferbench.core.init import probabilities
from transferbench.core.scale import Normalize, scale_to_one
from transferbench.errors import UserError
from transferbench.parameters import Prior
from transferbench.problem import Domain, Problem

#: Estimators that differ by this much are a reason to give the shares.
LARGE_DISAGREEMENT = 0.05
#: Settings of the spread over the document graph: those of the model graph-only.
NEIGHBOURS, ALPHA, SPREAD_STEPS = 10, 0.99, 100
#: Least probability whose logarithm is taken.
LEAST_PROBABILITY = 1e-12
EM_STEPS = 1000
#: A class is decided rarely if its share is less than this part of its mean probability.
RARE = 0.2


@dataclass(frozen=True)
class Shares:
    """Shares of the classes by domain: (c,) of sum one, or None to suppose nothing.

    diagnostics: "share_disagreement", the largest of the targets, if they are estimated and it is
    at least `LARGE_DISAGREEMENT`.
    """

    by_domain: tuple[np.ndarray | None, ...]
    diagnostics: dict[str, float] = field(default_factory=dict)


def estimate_shares(
    problem: Problem, *, C: float = 1.0, search: Search = "auto"
) -> tuple[np.ndarray, ...]:
    """Return the estimated shares (c,) of the classes in each target, in the problem's order.

    A logistic regression with inverse regularisation C, trained on the labelled documents, gives
    each document its probabilities. These are spread over the graph that joins each document of a
    target to its 10 nearest, and a Gaussian mixture with one covariance for all classes, started at
    the decisions of the regression, is fitted to their log-odds; its weights are the shares. If the
    regression decides a class much more rarely than its mean probability says, as it does if
    classes are unequal in the source, the start has the shares of the labels.
    search: how nearest documents are found. Uses no label of a target.

    The estimate fails where the regression is poor or a class falls apart into groups;
    `disagreement` tells how far other estimators differ. Raises ValueError if fewer than two
    classes are labelled.
    """
    source = labelled_shares(problem)
    return tuple(
        _mixture(domain, P, source, search)
        for domain, P in zip(problem.domains, probabilities(problem, C), strict=True)
        if not domain.seen.all()
    )


def disagreement(shares: np.ndarray, P: np.ndarray, source: np.ndarray) -> float:
    """Return the largest difference of estimated shares (c,) from those of other estimators.

    P (n, c) are probabilities of logistic regression in the target, source (c,) the shares on which
    it was trained. The others are the shares of its decisions, and `saerens`.
    """
    decided = np.bincount(P.argmax(axis=1), minlength=P.shape[1]) / len(P)
    others = np.array([decided, saerens(P, source)])
    return float(np.abs(others - shares).max())


def saerens(P: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the shares (c,) by expectation maximisation (Saerens, Latinne, Decaestecker 2002).

    P (n, c) are class probabilities, correct for documents with the shares `source` (c,). They are
    re-weighted to the estimated shares, whose estimate is their mean, until nothing changes. The
    shares then have the largest likelihood if the classes differ in size between domains and in
    nothing else.
    """
    shares = source
    for _ in range(EM_STEPS):
        weighted = P * np.divide(shares, source, out=np.zeros_like(source), where=source > 0)
        new = scale_to_one(weighted, "rows").mean(axis=0)
        if np.abs(new - shares).max() < 1e-6:
            return np.asarray(new)
        shares = new
    return shares


def class_shares(problem: Problem, prior: Prior, C: float, search: Search = "auto") -> Shares:
    """Return the shares that the parameter `prior` of a model states, None in sources.

    prior: "equal", which supposes nothing else than the model; "source", those of the labelled
    documents; "estimated", see `estimate_shares`, for each target; or a number for each class, in
    the order of problem.classes, which hold for all targets. C: inverse regularisation of the
    logistic regression. Warns if estimators disagree. Raises UserError for another number of
    shares.
    """
    if prior == "equal":
        return Shares((None,) * len(problem.domains))
    targets = [i for i, domain in enumerate(problem.domains) if not domain.seen.all()]
    found: dict[int, np.ndarray] = {}
    diagnostics: dict[str, float] = {}
    if prior == "estimated":
        found = dict(zip(targets, estimate_shares(problem, C=C, search=search), strict=True))
        diagnostics = _check_agreement(problem, found, C)
    else:
        shares = labelled_shares(problem) if prior == "source" else _given(problem, prior)
        found = dict.fromkeys(targets, shares)
    return Shares(tuple(found.get(i) for i in range(len(problem.domains))), diagnostics)


def labelled_shares(problem: Problem) -> np.ndarray:
    """Return the shares (c,) of the classes among the labelled documents of all domains."""
    total = np.sum([domain.Y[domain.seen].sum(axis=0) for domain in problem.domains], axis=0)
    return np.asarray(total / (total.sum() or 1.0))


def with_shares(scores: np.ndarray, shares: np.ndarray | None, otherwise: Normalize) -> np.ndarray:
    """Return scores (n, c) ≥ 0 whose columns are scaled so that the decisions have the shares.

    Without shares, columns or rows are scaled to sum one.
    """
    if shares is None:
        return scale_to_one(scores, otherwise)
    return match_counts(scores, shares)


def _given(problem: Problem, prior: object) -> np.ndarray:
    shares = np.atleast_1d(np.asarray(prior, float))
    c = len(problem.classes)
    if len(shares) != c:
        expected = f"one for each class, in the order {', '.join(problem.classes)}"
        raise UserError(f"prior: {len(shares)} shares given; expected {c}, {expected}.")
    return np.asarray(shares / shares.sum())


def _check_agreement(problem: Problem, found: dict[int, np.ndarray], C: float) -> dict[str, float]:
    """Return the largest disagreement over the targets as a diagnostic; warn if it is large."""
    P, source = probabilities(problem, C), labelled_shares(problem)
    apart = {i: disagreement(shares, P[i], source) for i, shares in found.items()}
    worst = max(apart, key=apart.__getitem__, default=None)
    if worst is None or apart[worst] < LARGE_DISAGREEMENT:
        return {}
    name = problem.domains[worst].name
    shown = ",".join(f"{share:.2g}" for share in found[worst])
    example = ",".join(f"{share:.1f}" for share in _example(len(problem.classes)))
    warnings.warn(
        f"{name}: the estimated class shares {shown} are uncertain, other estimators differ by "
        f"{apart[worst]:.2f}; give the shares if you know them, for example prior={example}",
        stacklevel=4,
    )
    return {"share_disagreement": apart[worst]}


def _example(c: int) -> np.ndarray:
    """Return shares (c,) to show their form: 0.9,0.1 for two classes."""
    rest = 0.1 if c == 2 else 0.5 / max(c - 1, 1)
    return np.array([1 - rest * (c - 1), *[rest] * (c - 1)])


def _mixture(domain: Domain, P: np.ndarray, source: np.ndarray, search: Search) -> np.ndarray:
    """Return the weights (c,) of the mixture that `estimate_shares` describes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    n, c = P.shape
    used = np.flatnonzero(P.any(axis=0))  # a class without labels has probability 0
    shares = np.zeros(c)
    if n <= len(used):
        shares[:] = P.mean(axis=0)
        return shares
    P = P[:, used]
    F = spread(cosine_graph(domain.X, NEIGHBOURS, search=search), P, ALPHA, SPREAD_STEPS)
    Z = np.log(np.maximum(F, LEAST_PROBABILITY)) @ _contrasts(len(used))
    Z /= Z.std() or 1.0
    start = P.argmax(axis=1)
    if (np.bincount(start, minlength=len(used)) < RARE * P.sum(axis=0)).any():
        start = match_counts(P, source[used]).argmax(axis=1)
    decided = np.eye(len(used))[start]
    size = decided.sum(axis=0)
    # A class without decisions starts at the mean weighted by its probabilities.
    weights = np.where(size > 0, decided, P)
    means = (weights.T @ Z) / weights.sum(axis=0)[:, None].clip(LEAST_PROBABILITY)
    within = Z - means[start]
    k = Z.shape[1]
    covariance = within.T @ within / n + 1e-6 * np.eye(k)
    mixture = GaussianMixture(
        len(used), covariance_type="tied", weights_init=scale_to_one((size + 1)[None], "rows")[0],
        means_init=means, precisions_init=np.linalg.inv(covariance), max_iter=500, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        shares[used] = mixture.fit(Z).weights_
    return shares


def _contrasts(c: int) -> np.ndarray:
    """Return an orthonormal basis (c, c − 1) of the vectors with sum 0."""
    basis, _ = np.linalg.qr(np.eye(c)[:, : c - 1] - 1 / c)
    return np.asarray(basis)
