"""Consensus: decide as several methods do together, with the class shares on which they agree most.

    min over shares π       ½ ((logit π_c − logit σ_c) / width)² − strength · mean_m z_m(c, π_c)
    min over classes a(i)   −Σ_i Σ_m w_m q_m(i, a(i))   s.t.  π_c n documents have a(i) = c

The first is solved for each class c, with the members m graph only, DTL and CoCC; the second for
all documents i = 1 … n of a target, with graph only, DTL and TSVM. σ are the shares of the labels.
q_m(i, c) is the rank of document i among the n, by how much the score of class c exceeds its best
rival's in member m, as a quantile of the normal distribution. w_m is the mean agreement z of
member m with the other two, at the shares π.

z_m(c, p) is how well member m agrees with TSVM trained for the share p. Both name the p n documents
that are best for class c. tanh z is the correlation at which two normal variables would exceed
their upper p-quantiles together as often as a document is named by both (the tetrachoric
correlation). A member that must name more documents than a class has, or fewer, cuts through a
class, and each member cuts it differently; in the gap between two classes all members agree. The
estimate is the mean of π_c, weighted by the exponential of minus the objective.

If shares are not given and source and target look alike, nothing needs to be transferred, and the
linear SVM decides. They do if a logistic regression cannot tell them apart: on held-out documents
the area under its curve of receiver operating characteristic is below `alike`. The SVM also decides
on fewer than 20 documents, which have no shares to find.

A method of this project, found with labels of tasks of the corpora of the experiment `choice`. The
experiment `choice-settings` chooses strength, width and prior for each corpus on the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import expit, logit, ndtri, owens_t

from transferbench.core.documents import score_targets, seen_rows, stack_matrices
from transferbench.core.priors import class_priors, count_offsets, labelled_shares
from transferbench.models.transfer import cocc, dtl, graph_only, svm, tsvm
from transferbench.parameters import Count, Fraction, Positive, Prior
from transferbench.problem import Domain, Fit, Matrix, Problem

#: Shares that are tried, as distances of their log-odds from those of the labels.
STEPS = np.linspace(-2.4, 2.4, 9)
#: Least distance from 0 and 1 that the shares of the labels are taken to have.
LEAST_SHARE = 0.02
#: Least share that TSVM is given, and least weight.
LEAST = 1e-9
#: Values of z among which `agreement` looks.
Z = np.linspace(-0.5, 3.0, 351)
#: Least number of documents of source and target, and of each labelled class in a sample.
FEW = 20


def fit(
    problem: Problem,
    *,
    prior: Prior | Literal["agreed"] = "agreed",
    strength: Positive = 10.0,
    width: Positive = 1.0,
    alike: Fraction = 0.6,
    sample: Count = 2000,
    seed: int = 0,
) -> Fit:
    """Fit consensus.

    Parameters
    ----------
    prior
        Shares of the classes in the targets: "agreed" as above, or see `class_priors`.
    strength
        Weight of the agreement.
    width
        How far the shares may be from those of the labels, in log-odds.
    alike
        Area below which source and target look alike.
    sample
        Documents of each domain, drawn at random, that are used to find the shares and the area.
    seed
        Of DTL and the sample.

    Returns
    -------
    Fit
        Scores (n, c) of every target, and the labels of every source. A score is Σ_m w_m q_m, with
        an offset of each class that gives it its share; or the decision value of the SVM.
    """
    priors = class_priors(problem, "equal" if prior == "agreed" else prior, 1.0)
    equal = np.full(len(problem.classes), 1 / len(problem.classes))
    areas, agreed = [], list[Agreed]()
    diagnostics: dict[str, float] = {"alike": 0.0}

    def score(i: int, target: Domain) -> np.ndarray:
        single = replace(problem, domains=(*problem.sources, target))
        part = sampled(single, sample, seed)
        areas.append(area(part, seed))
        if prior == "agreed" and (areas[-1] < alike or len(target.seen) < FEW):
            diagnostics["alike"] += 1
            return svm.fit(single).scores[-1]
        if prior == "agreed":
            agreed.append(agreed_shares(part, strength, width, seed))
            shares = agreed[-1].shares
        else:
            prior_shares = priors.by_domain[i]
            shares = equal if prior_shares is None else prior_shares
        return decide(single, members(single, seed), shares)

    scores = score_targets(problem, score)
    diagnostics["area"] = min(areas)
    if agreed:
        diagnostics["agreement"] = min(target.agreement for target in agreed)
        diagnostics["share_width"] = max(target.width for target in agreed)
        diagnostics["share_peaks"] = max(target.peaks for target in agreed)
    return Fit(scores, diagnostics=diagnostics | dict(priors.diagnostics))


def members(problem: Problem, seed: int) -> list[np.ndarray]:
    """Return q (n, c) of graph only and DTL for the last domain; no shares are needed."""
    return [
        normal_ranks(fit.scores[-1])
        for fit in (graph_only.fit(problem), dtl.fit(problem, seed=seed))
    ]


def decide(problem: Problem, members: Sequence[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """Return the scores (n, c) of the last domain at shares (c,); see `members`."""
    fit = tsvm.fit(problem, prior=tuple(np.maximum(shares, LEAST).tolist()))
    total = weighted_sum([*members, normal_ranks(fit.scores[-1])], shares)
    return np.asarray(total + count_offsets(total, shares))


def normal_ranks(scores: np.ndarray) -> np.ndarray:
    """Return q (n, c) of scores (n, c); scores that are all positive are compared by ratios."""
    from scipy.stats import rankdata

    S = scores
    if (S >= 0).all():
        S = np.log(np.maximum(S, np.finfo(np.float32).tiny))
    rivals = [np.delete(S, c, axis=1).max(axis=1, initial=-np.inf) for c in range(S.shape[1])]
    ranks = rankdata(S - np.stack(rivals, axis=1), axis=0)
    return np.asarray(ndtri((ranks - 0.5) / len(S)))


def weighted_sum(members: Sequence[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """Return Σ_m w_m q_m (n, c) of the members' ranks q_m (n, c); the largest weight is 1."""
    n, c = members[0].shape
    weights = np.full(len(members), LEAST)
    for k in [1] if c == 2 else range(c):
        count = int(np.clip(np.rint(shares[k] * n), 1, max(n - 1, 1)))
        for (i, first), (j, second) in combinations(enumerate(members), 2):
            weights[[i, j]] += max(agreement(first[:, k], second[:, k], count), 0)
    return np.asarray(np.tensordot(weights / weights.max(), members, axes=1))


def agreement(first: np.ndarray, second: np.ndarray, count: int) -> float:
    """Return z of two rankings (n,), of which the `count` largest values are named."""
    share = count / len(first)
    both = np.mean((tsvm.largest(first, count) > 0) & (tsvm.largest(second, count) > 0))
    return float(np.interp(both, share - 2 * owens_t(ndtri(share), np.exp(-Z)), Z))


@dataclass(frozen=True)
class Agreed:
    """The shares on which the members agree most.

    Parameters
    ----------
    shares
        (c,) of the classes.
    agreement
        The largest correlation over the shares that are tried; of several classes the mean.
    width
        Width of the range of shares that has nine tenths of the weight; the largest of a class.
    peaks
        Number of local maxima of the weights, the most of a class; those below a fifth of the
        largest weight do not count.
    """

    shares: np.ndarray
    agreement: float
    width: float
    peaks: int


def agreed_shares(problem: Problem, strength: float, width: float, seed: int) -> Agreed:
    """Return the shares of the classes in the last domain, and how sure they are."""
    X, y = seen_rows(problem)
    T, c, n = problem.domains[-1].X, len(problem.classes), len(problem.domains[-1].seen)
    fits = graph_only.fit(problem), dtl.fit(problem, seed=seed), cocc.fit(problem)
    member_ranks = [normal_ranks(fit.scores[-1]) for fit in fits]
    shares, levels, best = labelled_shares(problem), tsvm.schedule(1.0, 1e-3, 3.0), []
    widths, peaks = [], []
    for k in [1] if c == 2 else np.unique(y):
        tried = expit(logit(np.clip(shares[k], LEAST_SHARE, 1 - LEAST_SHARE)) + STEPS)
        counts = np.clip(np.rint(tried * n), 1, n - 1).astype(int).tolist()
        sign, z = np.where(y == k, 1.0, -1.0), []
        for count in counts:
            *_, (w, _) = tsvm.transduce(X, sign, T, count, 1.0, levels, balance=True, tol=1e-2)
            f = tsvm.values(T, w)
            z.append(np.mean([agreement(f, q[:, k], count) for q in member_ranks]))
        objective = (STEPS / width) ** 2 / 2 - strength * np.array(z)
        weights = np.exp(objective.min() - objective)
        shares[k] = weights @ tried / weights.sum()
        best.append(max(z))
        below = np.cumsum(weights) / weights.sum()
        low, high = np.searchsorted(below, [0.05, 0.95])
        widths.append(tried[min(high, len(tried) - 1)] - tried[low])
        beside = np.pad(weights, 1)
        is_peak = (weights >= np.maximum(beside[:-2], beside[2:])) & (weights > 0.2 * max(weights))
        peaks.append(int(is_peak.sum()))
    if c == 2:
        shares[0] = 1 - shares[1]
    correlation = float(np.tanh(np.mean(best)))
    return Agreed(shares / shares.sum(), correlation, float(max(widths)), max(peaks))


def area(problem: Problem, seed: int) -> float:
    """Return the area under the ROC curve of a classifier of the last domain against the others.

    It is the mean over two halves of the documents, each scored by a logistic regression trained on
    the other half; 1 if there are too few documents.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    sizes = [len(domain.seen) for domain in problem.domains]
    if min(sum(sizes[:-1]), sizes[-1]) < FEW:
        return 1.0
    is_last = np.repeat(np.arange(len(sizes)) == len(sizes) - 1, sizes)
    halves = StratifiedKFold(2, shuffle=True, random_state=seed)
    X = stack_matrices([domain.X for domain in problem.domains])
    model = LogisticRegression(max_iter=100)
    return float(cross_val_score(model, X, is_last, cv=halves, scoring="roc_auc").mean())


def sampled(problem: Problem, size: int, seed: int) -> Problem:
    """Return the problem with `size` documents of each domain, drawn at random, or all.

    If fewer than FEW documents of a labelled class are drawn, FEW of it are added.
    """
    rng = np.random.default_rng(seed)

    def part(domain: Domain) -> Domain:
        if len(domain.seen) <= size:
            return domain
        order = rng.permutation(len(domain.seen))
        drawn = [order[:size]]
        for members in domain.Y[order].T > 0:
            if members[:size].sum() < FEW:
                drawn.append(order[members][:FEW])
        rows = np.unique(np.concatenate(drawn))
        views: tuple[Matrix, ...] = tuple(view[rows] for view in domain.views)
        return replace(domain, views=views, Y=domain.Y[rows], seen=domain.seen[rows])

    return replace(problem, domains=tuple(map(part, problem.domains)))
