"""Shares of the classes in the targets: given or estimated without labels, and decisions by them.

Methods that suppose classes of equal size fail where the target's classes are unequal. With the
true shares they can be repaired, see `Factor.column_shares` in `core.nmtf`. Shares cannot be
estimated reliably if the domains differ, so several estimators are compared.

To decide with shares is a transport problem: from scores L (n, c), and counts n_c of sum n,

    max over classes a(i)  Σ_i L_i,a(i)   s.t.  n_c documents i have a(i) = c

Its dual variables are one offset b_c for each class: a(i) = argmax_c (L_ic + b_c). Two classes need
one sort. With more, each offset in turn is set so that its class has its count. This is coordinate
descent in the dual: it met the counts of random scores, but may stop near them.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np

from transferbench.core.graph import Search, cosine_graph, spread
from transferbench.core.logistic import probabilities
from transferbench.core.scale import scale_to_one
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
#: Times that the offset of each of more than two classes is set.
SWEEPS = 20


@dataclass(frozen=True)
class ClassPriors:
    """Shares of the classes in the domains."""

    #: (c,) of sum one for each domain, or None to suppose nothing.
    by_domain: tuple[np.ndarray | None, ...]
    #: "share_disagreement", the largest of the targets, if they are estimated and it is at least
    #: `LARGE_DISAGREEMENT`.
    diagnostics: dict[str, float] = field(default_factory=dict)


def estimate_shares(
    problem: Problem, *, C: float = 1.0, search: Search = "auto"
) -> tuple[np.ndarray, ...]:
    """Return the estimated shares (c,) of the classes in each target, in the problem's order.

    A logistic regression, trained on the labelled documents, gives each document its probabilities.
    These are spread over the graph that joins each document of a target to its 10 nearest, and a
    Gaussian mixture with one covariance for all classes, started at the decisions of the
    regression, is fitted to their log-odds; its weights are the shares. If the regression decides a
    class much more rarely than its mean probability says, as it does if classes are unequal in the
    source, the start has the shares of the labels.

    No label of a target is used. The estimate fails where the regression is poor or a class falls
    apart into groups.

    Parameters
    ----------
    problem
        A transfer problem.
    C
        Inverse regularisation of the logistic regression.
    search
        How nearest documents are found.

    Raises
    ------
    ValueError
        If fewer than two classes are labelled.
    """
    source = labelled_shares(problem)
    return tuple(
        _mixture(domain, P, source, search)
        for domain, P in zip(problem.domains, probabilities(problem, C), strict=True)
        if not domain.seen.all()
    )


def saerens(P: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Return the shares (c,) by expectation maximisation (Saerens, Latinne, Decaestecker 2002)."""
    # The probabilities are re-weighted to the estimated shares, whose estimate is their mean, until
    # nothing changes. The shares then have the largest likelihood if the classes differ in size
    # between domains and in nothing else.
    # `P`: (n, c) class probabilities, correct for documents with the shares `source`.
    # `source`: (c,) shares of the classes among the labelled documents.
    shares = source
    for _ in range(EM_STEPS):
        weighted = P * np.divide(shares, source, out=np.zeros_like(source), where=source > 0)
        new = scale_to_one(weighted, "rows").mean(axis=0)
        if np.abs(new - shares).max() < 1e-6:
            return np.asarray(new)
        shares = new
    return shares


def class_priors(problem: Problem, prior: Prior, C: float, search: Search = "auto") -> ClassPriors:
    """Return the shares that the parameter `prior` of a model states, None in sources."""
    # `prior`: "equal" leaves the model as it is; "source": the shares among the labelled documents;
    # "estimated": those of `estimate_shares` for each target; or a number for each class, in the
    # order of problem.classes, for all targets.
    if prior == "equal":
        return ClassPriors((None,) * len(problem.domains))
    targets = [i for i, domain in enumerate(problem.domains) if not domain.seen.all()]
    diagnostics: dict[str, float] = {}
    if prior == "estimated":
        by_target = dict(zip(targets, estimate_shares(problem, C=C, search=search), strict=True))
        diagnostics = _check_agreement(problem, by_target, C)
    elif prior == "source":
        by_target = dict.fromkeys(targets, labelled_shares(problem))
    else:
        stated, c = np.atleast_1d(np.asarray(prior, float)), len(problem.classes)
        if len(stated) != c:
            expected = f"one for each class, in the order {', '.join(problem.classes)}"
            raise UserError(f"prior: {len(stated)} shares given; expected {c}, {expected}.")
        by_target = dict.fromkeys(targets, stated / stated.sum())
    return ClassPriors(tuple(map(by_target.get, range(len(problem.domains)))), diagnostics)


def labelled_shares(problem: Problem) -> np.ndarray:
    """Return the shares (c,) of the classes among the labels of all domains, with their weights."""
    total = np.sum([_label_counts(domain) for domain in problem.domains], axis=0)
    return np.asarray(total / (total.sum() or 1.0))


def _label_counts(domain: Domain) -> np.ndarray:
    """Return the sum of the weights of the labels of each class (c,)."""
    Y = domain.Y[domain.seen]
    weights = domain.label_weights
    return np.asarray(Y.sum(axis=0) if weights is None else weights[domain.seen] @ Y)


def remaining_shares(domain: Domain, shares: np.ndarray) -> np.ndarray:
    """Return the shares (c,) of the classes among the unlabelled documents of a domain."""
    # Labelled and unlabelled documents together have the given shares; of a class that has more
    # labels than its share allows nothing remains.
    # `shares`: (c,) of the classes among all its documents, of sum one.
    if not domain.seen.any():
        return shares
    rest = len(domain.seen) * shares - np.count_nonzero(domain.Y[domain.seen], axis=0)
    return np.asarray(scale_to_one(rest.clip(0)[None], "rows", fill=True)[0])


def _check_agreement(
    problem: Problem, estimates: dict[int, np.ndarray], C: float
) -> dict[str, float]:
    """Return the largest difference between estimators as a diagnostic; warn if it is large."""
    # The estimates are compared with the shares of the decisions of logistic regression, and with
    # `saerens`.
    # `estimates`: Shares (c,) by the index of the target among the domains.
    P, source, c = probabilities(problem, C), labelled_shares(problem), len(problem.classes)
    differences = {}
    for i, shares in estimates.items():
        decided = np.bincount(P[i].argmax(axis=1), minlength=c) / len(P[i])
        other_estimates = np.array([decided, saerens(P[i], source)])
        differences[i] = float(np.abs(other_estimates - shares).max())
    worst = max(differences, key=differences.__getitem__, default=None)
    if worst is None or differences[worst] < LARGE_DISAGREEMENT:
        return {}
    pairs = zip(problem.classes, estimates[worst], strict=True)
    shares_text = ", ".join(f"{name} {share:.2g}" for name, share in pairs)
    example = ",".join(f"{2 * i / c / (c + 1):.1f}" for i in range(c, 0, -1))
    warnings.warn(
        f"{problem.domains[worst].name}: the estimated class shares ({shares_text}) are uncertain, "
        f"other estimators differ by {differences[worst]:.2f}; give the shares if you know them, "
        f"in the order {', '.join(problem.classes)}: for example prior={example}",
        stacklevel=4,
    )
    return {"share_disagreement": differences[worst]}


def _mixture(domain: Domain, P: np.ndarray, source: np.ndarray, search: Search) -> np.ndarray:
    """Return the weights (c,) of the mixture that `estimate_shares` describes."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    n, c = P.shape
    used = np.flatnonzero(P.any(axis=0))  # a class without labels has probability 0
    if n <= len(used):
        return np.asarray(P.mean(axis=0))
    P = P[:, used]
    F = spread(cosine_graph(domain.X, NEIGHBOURS, search=search), P, ALPHA, SPREAD_STEPS)
    # An orthonormal basis of the vectors with sum 0.
    basis, _ = np.linalg.qr(np.eye(len(used))[:, :-1] - 1 / len(used))
    Z = np.log(np.maximum(F, LEAST_PROBABILITY)) @ basis
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
    shares = np.zeros(c)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        shares[used] = mixture.fit(Z).weights_
    return shares


def whole_counts(shares: np.ndarray, n: int) -> np.ndarray:
    """Return integers (c,) of sum n that are nearest to n · shares, by largest remainders."""
    exact = shares * n
    counts = np.floor(exact).astype(int)
    first = np.argsort(counts - exact, kind="stable")[: n - counts.sum()]
    counts[first] += 1
    return np.asarray(counts)


def count_offsets(L: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return b (c,), of mean 0, so that argmax(L + b) gives each class its share of documents."""
    # The counts of two classes are exact except for documents with equal differences of scores,
    # which no offset separates; b is in the middle of the offsets that give them. More classes come
    # near to their counts.
    # Shapes: L (n, c), shares (c,).
    n, c = L.shape
    counts = whole_counts(shares, n)
    b = np.zeros(c)
    if c == 1:
        return b
    if c == 2:
        b[0] = _threshold(L[:, 1] - L[:, 0], counts[0])
        return np.asarray(b - b.mean())
    for label in (*range(c),) * SWEEPS:
        best_other = np.delete(L + b, label, axis=1).max(axis=1, initial=-np.inf)
        b[label] = _threshold(best_other - L[:, label], counts[label])
    return np.asarray(b - b.mean())


def match_counts(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return scores (n, c) ≥ 0 with columns scaled so that the argmax has the shares (c,)."""
    S = np.asarray(scores, np.float64)
    b = count_offsets(np.log(np.maximum(S, np.finfo(np.float32).tiny)), shares)
    return np.asarray(S * np.exp(b))


def redistribute(F: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Change F (n, c) ≥ 0 in place so that its argmax has the shares (c,); rows keep their sums."""
    total = F.sum(axis=1, keepdims=True)
    matched = scale_to_one(match_counts(F, shares), "rows")
    F[:] = matched * total
    return F


def _threshold(needed: np.ndarray, count: int) -> float:
    """Return the middle between the `count`-th smallest of `needed` (n,) and the next one."""
    needed = np.sort(needed)
    if not 0 < count < len(needed):
        return float(needed[-1] + 1 if count else needed[0] - 1)
    return float(needed[count - 1] / 2 + needed[count] / 2)
