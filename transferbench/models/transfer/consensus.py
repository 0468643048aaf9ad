"""Consensus: decide by several methods together, at the class shares on which they agree most.

    min over shares π       ½ ((logit π_c − logit σ_c) / width)² − strength · mean_m z_m(c, π_c)
    min over classes a(i)   −Σ_i Σ_m w_m q_m(i, a(i))   s.t.  π_c n documents have a(i) = c

The method combines several models, called members. It solves the first problem for each class c;
the members m are then graph only, DTL and CoCC. It solves the second problem for all documents
i = 1 … n of a target; the members are then graph only, DTL and TSVM. σ are the shares of the
labels. To get q_m(i, c), member m ranks document i among the n. The rank is by how much the score
of class c exceeds the score of its best rival. q_m(i, c) is this rank as a quantile of the normal
distribution. w_m is the mean agreement z of member m with the other two, at the shares π.

z_m(c, p) measures how well member m agrees with TSVM trained for the share p. Both name the p n
documents that are best for class c. Some documents are named by both. tanh z is the correlation at
which two normal variables would exceed their upper p-quantiles together equally often (the
tetrachoric correlation). A member that must name more or fewer documents than a class
has cuts through a class, and each member cuts it differently. In the gap between two classes all
members agree. The estimate is the mean of π_c, weighted by the exponential of minus the objective.

If shares are not given and source and target look alike, nothing needs to be transferred, and the
linear SVM decides. They look alike if a logistic regression cannot tell them apart. This is so if
the area under its curve of receiver operating characteristic on held-out documents is below
`alike`. The SVM also decides for a target of fewer than 20 documents, because its shares cannot be
found.

A problem may have several views, such as words, n-grams of characters and sentence embeddings. Then
TSVM is trained on each view, and z_m(c, p) is the mean over these TSVM of their agreement with the
members on the first view. In the second sum, graph only and TSVM of each further view are further
members. If the first view has negative entries, DTL and CoCC are left out.

If the last of several views is dense, as sentence embeddings are, all views stand side by side as
one (`core.documents.joined`). The SVM and the members graph only and TSVM are fitted to it; only in
the first problem TSVM is still trained on each view. Otherwise members on the words of short texts
may agree on a wrong division and outvote the embeddings. In the second sum, a member also loses its
vote if its w_m is below `LEAST_VOTE` of the largest.

If a target has labelled documents, the members are logistic regression, graph only and TSVM on each
view. Another member is logistic regression on the labelled documents of the target alone, see
`labelled_members`. The other members train on the labelled documents of sources and target, with
the weights of their labels. A stack (`core.stacking`) decides. Its weights of the members and its
offsets of the classes are fitted to the labelled documents. For this, five folds give each labelled
document scores of members that had not seen it. The scores of the stack are probabilities. Shares
that are given replace the offsets.

This is a method of this project. It was found with labels of tasks of the corpora of the experiment
`choice`. The experiment `choice-settings` chooses strength, width and prior for each corpus on the
other corpora.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.special import expit, logit, ndtri, owens_t, softmax

from transferbench.core.documents import (
    joined,
    label_folds,
    score_targets,
    seen_rows,
    stack_matrices,
    with_labels,
    with_view,
)
from transferbench.core.priors import class_priors, count_offsets, labelled_shares
from transferbench.core.stacking import fit_stack, held_out, margins
from transferbench.models.transfer import cocc, dtl, graph_only, lr, svm, tsvm
from transferbench.parameters import Count, Fraction, Positive, Prior
from transferbench.problem import Domain, Fit, Problem

#: Shares that are tried, as distances of their log-odds from those of the labels.
STEPS = np.linspace(-2.4, 2.4, 9)
#: Least distance from 0 and 1 that the shares of the labels are taken to have.
LEAST_SHARE = 0.02
#: Least share that TSVM is given, and least weight.
LEAST = 1e-9
#: Least vote of a member, as a part of the largest, if there is a dense view.
LEAST_VOTE = 0.8
#: Values of z among which `agreement` looks.
Z = np.linspace(-0.5, 3.0, 351)
#: The schedule of TSVM on further views: three C*, which decide as well as eight, in less than half
#: of the time.
FURTHER_START, FURTHER_FACTOR = 1e-2, 10.0
#: Least number of documents of source and target, and of each labelled class in a sample.
FEW = 20
#: Number of labelled documents that the class shares of the sources count as in those of a target.
SOURCE_COUNT = 25.0


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
        Shares of the classes in the targets. "agreed" finds them as described above; for other
        values see `class_priors`. If a target has labels, "agreed" leaves its shares to the stack.
    strength
        Weight of the agreement.
    width
        Distance in log-odds that the shares may have from those of the labels.
    alike
        Area below which source and target look alike.
    sample
        Number of documents of each domain, drawn at random, that are used to find the shares, the
        area and the weights of a stack. Labelled documents of a target are always among them.
    seed
        Seed of DTL and of the sample.

    Returns
    -------
    Fit
        Scores (n, c) of every target, and the labels of labelled documents. A score is Σ_m w_m q_m
        plus an offset of each class, which gives the class its share. If the SVM decides, a score
        is its decision value. If the target has labels, a score is the probability of the stack.
    """
    priors = class_priors(problem, "equal" if prior == "agreed" else prior, 1.0)
    equal = np.full(len(problem.classes), 1 / len(problem.classes))
    areas, agreed = [], list[Agreed]()
    diagnostics: dict[str, float] = {"alike": 0.0}

    def score(i: int, target: Domain) -> np.ndarray:
        single = replace(problem, domains=(*problem.sources, target))
        part = sampled(single, sample, seed)
        areas.append(area(part, seed))
        given = priors.by_domain[i]
        given = equal if given is None else given
        if target.seen.any():
            P, held = stacked(single, part)
            if prior != "agreed":
                L = np.log(np.maximum(P, LEAST))
                P = softmax(L + count_offsets(L, given), axis=1)
            held_out_scores[i] = held
            right = (held * target.Y).sum(axis=1) == held.max(axis=1)
            for name, count in ("held_out", target.seen), ("held_out_right", right & target.seen):
                diagnostics[name] = diagnostics.get(name, 0) + int(count.sum())
            return P
        if prior == "agreed" and (areas[-1] < alike or len(target.seen) < FEW):
            diagnostics["alike"] += 1
            return svm.fit(by_member(single)[0]).scores[-1]
        if prior == "agreed":
            agreed.append(agreed_shares(part, strength, width, seed))
            given = agreed[-1].shares
        return decide(single, members(single, seed), given)

    held_out_scores: dict[int, np.ndarray] = {}
    scores = score_targets(problem, score)
    diagnostics["area"] = min(areas)
    if agreed:
        diagnostics["agreement"] = min(target.agreement for target in agreed)
        diagnostics["share_width"] = max(target.width for target in agreed)
        diagnostics["share_peaks"] = max(target.peaks for target in agreed)
    by_held_out = tuple(held_out_scores.get(i, S) for i, S in enumerate(scores))
    return Fit(
        scores, diagnostics=diagnostics | dict(priors.diagnostics),
        held_out=by_held_out if held_out_scores else (),
    )  # fmt: skip


def by_view(problem: Problem) -> list[Problem]:
    """Return a problem of one view for each view."""
    # Entries of views after the first may have any sign.
    views = zip(*(domain.views for domain in problem.domains), strict=True)
    return [with_view(problem, view, signed=v > 0) for v, view in enumerate(views)]


def has_dense_view(problem: Problem) -> bool:
    """Return True if the last of several views is dense."""
    views = problem.domains[0].views
    return len(views) > 1 and isinstance(views[-1], np.ndarray)


def by_member(problem: Problem) -> list[Problem]:
    """Return the problems of one view that graph only and TSVM are fitted to without labels."""
    return [joined(problem)] if has_dense_view(problem) else by_view(problem)


def members(problem: Problem, seed: int) -> list[np.ndarray]:
    """Return q (n, c) of graph only and DTL for the last domain; they need no shares."""
    # q of graph only on each further view follows.
    first, *further = by_member(problem)
    fits = [graph_only.fit(first)]
    if not problem.domains[0].signed:
        fits.append(dtl.fit(problem, seed=seed))
    fits += map(graph_only.fit, further)
    return [normal_ranks(fit.scores[-1]) for fit in fits]


def decide(problem: Problem, members: Sequence[np.ndarray], shares: np.ndarray) -> np.ndarray:
    """Return the scores (n, c) of the last domain at shares (c,); see `members`."""
    fits = fit_tsvm(by_member(problem), shares)
    ranks = [*members, *(normal_ranks(fit.scores[-1]) for fit in fits)]
    total = weighted_sum(ranks, shares, LEAST_VOTE if has_dense_view(problem) else 0.0)
    return np.asarray(total + count_offsets(total, shares))


def fit_tsvm(views: Sequence[Problem], shares: np.ndarray) -> list[Fit]:
    """Return the fit of TSVM on each view at shares (c,)."""
    prior = tuple(np.maximum(shares, LEAST).tolist())
    first, *further = views
    fits = (
        tsvm.fit(view, prior=prior, start=FURTHER_START, factor=FURTHER_FACTOR) for view in further
    )
    return [tsvm.fit(first, prior=prior), *fits]


def labelled_members(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return margins of members that also train on labels of the last domain, and prior weights."""
    # The first member is logistic regression on the labelled documents of the last domain alone.
    # Its prior weight is 0. The other members are logistic regression, graph only and TSVM on each
    # view. TSVM gets the class shares (counts + 25 · shares of the sources) / (m + 25), of m
    # labels.
    # `Z`: (K, n, c) margins on the last domain. Rows of labelled documents are 0. The margins of
    # the first member are also 0 if it knows one class only.
    # `prior`: (K,) prior weights; they sum to one.
    *sources, target = problem.domains
    counts = target.Y[target.seen].sum(axis=0)
    of_sources = labelled_shares(replace(problem, domains=tuple(sources)))
    shares = (counts + SOURCE_COUNT * of_sources) / (counts.sum() + SOURCE_COUNT)
    views = by_view(problem)
    fits = [fit(view) for fit in (lr.fit, graph_only.fit) for view in views]
    fits += fit_tsvm(views, shares)
    Z = np.zeros((1 + len(fits), *target.Y.shape))
    if np.count_nonzero(counts) > 1:
        fits.append(lr.fit(replace(views[0], domains=views[0].domains[-1:])))
    for k, fit in enumerate(fits, start=1):
        Z[k % len(Z), ~target.seen] = margins(fit.scores[-1][~target.seen])
    return Z, np.append(0.0, np.full(len(Z) - 1, 1 / (len(Z) - 1)))


def stacked(problem: Problem, part: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (n, c) on the last domain by a stack of `labelled_members`, twice."""
    # In the first, those of labelled documents are their labels. In the second they come from
    # members that had not seen their label, with weights that are fitted to the other folds. The
    # members behind these weights have seen the label. So labels without any signal seem to be
    # found 2 points more often than by full nesting, which takes three times as long.
    # `part`: The same problem with fewer documents, but with all labelled documents of the target.
    # The weights are fitted on it.
    *sources, target = part.domains
    rows, y = np.flatnonzero(target.seen), target.Y[target.seen].argmax(axis=1)
    fold = label_folds(target)
    parts = []
    for k in range(fold.max() + 1):
        hidden = target.hide(rows[fold == k])
        parts.append(labelled_members(replace(part, domains=(*sources, hidden)))[0][:, rows])
    Z = np.array(parts)[fold, :, np.arange(len(rows))].swapaxes(0, 1)  # (K, m, c)
    on_all, prior = labelled_members(problem)
    P = softmax(fit_stack(Z, y, prior).scores(on_all), axis=1)
    target, P_held_out = problem.domains[-1], P.copy()
    P_held_out[target.seen] = softmax(held_out(Z, y, prior, fold), axis=1)
    return with_labels(target, P), P_held_out


def normal_ranks(scores: np.ndarray) -> np.ndarray:
    """Return q (n, c) of scores (n, c)."""
    # If no score is negative, scores are compared by their ratios.
    from scipy.stats import rankdata

    S = scores
    if (S >= 0).all():
        S = np.log(np.maximum(S, np.finfo(np.float32).tiny))
    rivals = [np.delete(S, c, axis=1).max(axis=1, initial=-np.inf) for c in range(S.shape[1])]
    ranks = rankdata(S - np.stack(rivals, axis=1), axis=0)
    return np.asarray(ndtri((ranks - 0.5) / len(S)))


def weighted_sum(
    members: Sequence[np.ndarray], shares: np.ndarray, least_vote: float
) -> np.ndarray:
    """Return Σ_m w_m q_m (n, c) of the members' ranks q_m (n, c); the largest weight is 1."""
    # Weights below `least_vote` count as 0.
    n, c = members[0].shape
    weights = np.full(len(members), LEAST)
    for k in [1] if c == 2 else range(c):
        count = int(np.clip(np.rint(shares[k] * n), 1, max(n - 1, 1)))
        for (i, first), (j, second) in combinations(enumerate(members), 2):
            weights[[i, j]] += max(agreement(first[:, k], second[:, k], count), 0)
    weights /= weights.max()
    return np.asarray(np.tensordot(np.where(weights < least_vote, 0.0, weights), members, axes=1))


def agreement(first: np.ndarray, second: np.ndarray, count: int) -> float:
    """Return z of two rankings (n,); each names the documents of its `count` largest values."""
    share = count / len(first)
    both = np.mean((tsvm.largest(first, count) > 0) & (tsvm.largest(second, count) > 0))
    return float(np.interp(both, share - 2 * owens_t(ndtri(share), np.exp(-Z)), Z))


@dataclass(frozen=True)
class Agreed:
    """The shares on which the members agree most."""

    #: (c,) of the classes.
    shares: np.ndarray
    #: The largest correlation over the shares that are tried. For several classes it is the mean.
    agreement: float
    #: Width of the range of shares that has nine tenths of the weight. For several classes it is
    #: the largest.
    width: float
    #: Number of local maxima of the weights. For several classes it is the largest. Maxima below a
    #: fifth of the largest weight do not count.
    peaks: int


def agreed_shares(problem: Problem, strength: float, width: float, seed: int) -> Agreed:
    """Return the shares of the classes in the last domain, with measures of their certainty."""
    c, n = len(problem.classes), len(problem.domains[-1].seen)
    fits = [graph_only.fit(by_member(problem)[0])]
    if not problem.domains[-1].signed:
        fits += dtl.fit(problem, seed=seed), cocc.fit(problem)
    member_ranks = [normal_ranks(fit.scores[-1]) for fit in fits]
    views = [(*seen_rows(view), view.domains[-1].X) for view in by_view(problem)]
    further = tsvm.schedule(1.0, FURTHER_START, FURTHER_FACTOR)
    schedules = [tsvm.schedule(1.0, 1e-3, 3.0), *[further] * (len(views) - 1)]
    shares, best = labelled_shares(problem), []
    widths, peaks = [], []
    for k in [1] if c == 2 else np.unique(views[0][1]):
        tried = expit(logit(np.clip(shares[k], LEAST_SHARE, 1 - LEAST_SHARE)) + STEPS)
        counts = np.clip(np.rint(tried * n), 1, n - 1).astype(int).tolist()
        z = []
        for count in counts:
            of_views = []
            for (X, y, T), levels in zip(views, schedules, strict=True):
                sign = np.where(y == k, 1.0, -1.0)
                *_, (w, _) = tsvm.transduce(X, sign, T, count, 1.0, levels, balance=True, tol=1e-2)
                f = tsvm.values(T, w)
                of_views.append(np.mean([agreement(f, q[:, k], count) for q in member_ranks]))
            z.append(np.mean(of_views))
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
    """Return the area under the ROC curve of a classifier of the last domain against the others."""
    # It is the mean over two halves of the documents. A logistic regression trained on one half
    # scores the other. If there are too few documents, the area is 1.
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
    """Return the problem with `size` documents of each domain, drawn at random, or all."""
    # If fewer than FEW documents of a labelled class are drawn, FEW documents of this class are
    # added. All labelled documents of a target are added, too.
    rng = np.random.default_rng(seed)

    def part(domain: Domain) -> Domain:
        if len(domain.seen) <= size:
            return domain
        order = rng.permutation(len(domain.seen))
        drawn = [order[:size]]
        for members in domain.Y[order].T > 0:
            if members[:size].sum() < FEW:
                drawn.append(order[members][:FEW])
        if not domain.seen.all():
            drawn.append(np.flatnonzero(domain.seen))
        return domain.take(np.unique(np.concatenate(drawn)))

    return replace(problem, domains=tuple(map(part, problem.domains)))
