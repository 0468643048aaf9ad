"""Use a labelled random sample of the targets to train models, and to judge them by cross-fitting.

The sample's labels are seen labels of the targets, with a weight. A model is judged on a document
of the sample by a fit that has not seen its label. For this, the sample is divided into five folds,
and each fold is hidden in turn, see `cross_fit`. Fits that are trained on four fifths of the sample
are a little worse than the fit that is trained on all of it.

`evidence.RECOMMENDED` is chosen, unless another model is right on significantly more of these
documents. So a choice by few documents seldom goes wrong. The best of several models on few
documents still looks better than it is. The bootstrap estimates this optimism (Efron 1983, Journal
of the American Statistical Association 78, 316).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from transferbench.core.documents import label_folds
from transferbench.data.problems import weighted
from transferbench.errors import UserError
from transferbench.measures import correct, normalize_scores
from transferbench.problem import Domain, Fit, Problem, Truth

#: A labelled document of a target counts in training as so many of a source.
LABEL_WEIGHT = 10.0
#: Largest weight of a label; its inverse is the least.
MAX_WEIGHT = 1e6
#: τ of `calibrated`: standard deviation of log a. Few labels leave a near 1.
EXPONENT_DEVIATION = 0.7
#: Least confidence whose logarithm is taken.
LEAST = 1e-6
#: Bootstrap samples that estimate the optimism of a choice.
RESAMPLES = 1000
#: A model is significantly better if it is so many standard errors ahead.
AHEAD = 2.0


def with_sample(problem: Problem, sample: Truth, weight: float = LABEL_WEIGHT) -> Problem:
    """Return the problem in which the labels of a sample of the targets are seen."""
    # `sample`: The labels; its scored documents are the sample.
    # `weight`: Weight of each of these labels; a label of a source weighs 1.
    low, high = 1 / MAX_WEIGHT, MAX_WEIGHT
    if not low <= weight <= high:
        raise UserError(f"label weight {weight:g}: expected a number from {low:g} to {high:g}.")
    domains = []
    for domain, Y, rows in zip(problem.domains, sample.Y, sample.scored, strict=True):
        seen = domain.seen | rows
        if rows.any() and seen.all():
            raise UserError(
                f"{domain.name}: every document has a label in the sample, so none is left to "
                "label; expected a part of the documents, or name this file as a source."
            )
        domains.append(replace(domain, Y=np.where(rows[:, None], Y, domain.Y), seen=seen))
    return weighted(replace(problem, domains=tuple(domains)), weight)


def without_sample(problem: Problem) -> Problem:
    """Return the problem with all labels of its targets hidden."""
    domains = (
        replace(d.hide(d.seen), label_weights=None) if _is_sampled(d.seen) else d
        for d in problem.domains
    )
    return replace(problem, domains=tuple(domains))


def sample_of(problem: Problem) -> Truth | None:
    """Return the labels of the targets that models see; None if there are none."""
    scored = tuple(d.seen & _is_sampled(d.seen) for d in problem.domains)
    if problem.family != "transfer" or not any(rows.any() for rows in scored):
        return None
    names, Y = zip(*((d.name, d.Y) for d in problem.domains), strict=True)
    return Truth(problem.family, problem.classes, names, Y, scored)


def _is_sampled(seen: np.ndarray) -> bool:
    """Return True if some documents (n,) of a domain are labelled, but not all as in a source."""
    return bool(seen.any() and not seen.all())


def cross_fit(problem: Problem, fit: Callable[[Problem], Fit], *, anew: bool = False) -> Fit:
    """Fit, and fill `Fit.held_out` by hiding five folds of the targets' labels in turn."""
    # `problem`: If no document of a target is labelled, nothing is held out.
    # `fit`: If it fills `held_out` itself, its fit is returned as it is.
    whole = fit(problem)
    if sample_of(problem) is None or (whole.held_out and not anew):
        return whole
    folds = [np.full(len(domain.seen), -1) for domain in problem.domains]
    for fold, domain in zip(folds, problem.domains, strict=True):
        if _is_sampled(domain.seen):
            fold[domain.seen] = label_folds(domain)
    held_out = [scores.copy() for scores in whole.scores]
    for k in range(1 + max(fold.max() for fold in folds)):
        hidden = [
            domain.hide(fold == k) for domain, fold in zip(problem.domains, folds, strict=True)
        ]
        part = fit(replace(problem, domains=tuple(hidden)))
        for scores, found, fold in zip(held_out, part.scores, folds, strict=True):
            scores[fold == k] = found[fold == k]
    return replace(whole, held_out=tuple(held_out))


def held_out(fit: Fit) -> Fit:
    """Return the fit with the scores by which it is judged, see `Fit.held_out`."""
    return replace(fit, scores=fit.held_out) if fit.held_out else fit


def calibrated(fit: Fit, sample: Truth | None) -> Fit:
    """Return the fit with confidences as scores; a labelled sample calibrates them."""
    # Let p be the scores that `normalize_scores` returns, and i the documents of the sample, whose
    # scores are held out. The confidence is softmax(a log p), and a minimises
    #     −Σ_i log softmax(a log p_i)_y(i) + (log a)² / 2τ².
    # No decision changes. Without held-out scores it is p, which only ranks documents.
    plain = [tuple(map(normalize_scores, of)) for of in (fit.scores, fit.held_out)]
    if not is_calibrated(fit, sample):
        return replace(fit, scores=plain[0], held_out=plain[1])
    assert sample is not None
    logs = [[np.log(np.maximum(P, LEAST)) for P in of] for of in plain]
    L, Y = (
        np.concatenate([part[rows] for part, rows in zip(of, sample.scored, strict=True)])
        for of in (logs[1], sample.Y)
    )

    def loss(log_a: float) -> float:
        fitted = np.vdot(Y, log_softmax(np.exp(log_a) * L, axis=1))
        return float(log_a**2 / (2 * EXPONENT_DEVIATION**2) - fitted)

    a = np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x)
    scores, held = (tuple(softmax(a * part, axis=1) for part in of) for of in logs)
    return replace(fit, scores=scores, held_out=held)


def is_calibrated(fit: Fit, sample: Truth | None) -> bool:
    """Return True if a labelled sample calibrates the confidences of a fit."""
    return bool(sample is not None and fit.held_out and fit.columns == "classes")


@dataclass(frozen=True)
class SampleResult:
    """The models' results on a labelled sample, and the optimism of choosing one by it."""

    #: Number of documents on which a model is right, by model; the chosen one first.
    right: Mapping[str, int]
    #: Number of documents of the sample.
    documents: int
    #: Expected accuracy of the chosen model on the sample less that on other documents.
    optimism: float

    @property
    def accuracy(self) -> float:
        """The expected accuracy of the chosen model on other documents."""
        return max(next(iter(self.right.values())) / self.documents - self.optimism, 0.0)


def judge(fits: Mapping[str, Fit], sample: Truth, preferred: str = "") -> SampleResult:
    """Judge models on documents of the sample that are held out, and choose one."""
    # `preferred`: The model that is chosen unless another is significantly better. Without it, the
    # model that is right most often is chosen. If several are equally good, the first is chosen.
    names = [*fits]
    right = np.array(
        [np.concatenate([*correct(held_out(fit), sample).values()]) for fit in fits.values()], float
    )  # (models, m)
    m = right.shape[1]
    first = names.index(preferred) if preferred in names else None
    best = int(_chosen(right, np.ones((m, 1)), first)[0])
    drawn = np.random.default_rng(0).multinomial(m, np.full(m, 1 / m), RESAMPLES).T
    chosen = _chosen(right, drawn.astype(float), first)  # (samples,)
    again = right @ drawn / m  # (models, samples)
    excess = again - right.mean(axis=1, keepdims=True)
    optimism = np.mean(excess[chosen, np.arange(RESAMPLES)])
    if first is not None:  # of one model alone the excess is noise, expected to be 0
        optimism -= np.mean(excess[first])
    order = np.argsort(-right.sum(axis=1), kind="stable")
    counts = {names[i]: int(right[i].sum()) for i in (best, *order[order != best])}
    return SampleResult(counts, m, max(float(optimism), 0.0))


def _chosen(right: np.ndarray, counts: np.ndarray, preferred: int | None) -> np.ndarray:
    """Return the index (samples,) of the chosen model in each sample."""
    # `right`: (models, m) 1 where a model is right.
    # `counts`: (m, samples) number of times that a sample has a document.
    # `preferred`: Index of the model that another one must exceed by `AHEAD` standard errors; None
    # to take the model that is right most often.
    total = right @ counts
    if preferred is None:
        return np.asarray(total.argmax(axis=0))
    difference = total - total[preferred]  # b − c
    disagreeing = (right != right[preferred]) @ counts  # b + c
    ahead = np.where(difference > AHEAD * np.sqrt(disagreeing), total, -1.0)
    return np.asarray(np.where(ahead.max(axis=0) < 0, preferred, ahead.argmax(axis=0)))


def with_features(domain: Domain) -> np.ndarray:
    """Return True for each document (n,) with a feature; for all documents if none has one."""
    counts = sum(np.diff(sp.csr_array(view).indptr) for view in domain.views)
    known = np.asarray(counts > 0)
    return known if known.any() else np.ones_like(known)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95 per cent interval of a probability, given the share of n > 0 trials."""
    z = 1.959964
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
    return min(low, share), max(high, share)  # it has the share, also when it is rounded


def random_rows(problem: Problem, size: int, least: int) -> list[np.ndarray]:
    """Return the rows of `size` random documents of each domain, or of all."""
    # `size`: Number of documents of a domain. All labelled documents of a target are among them.
    # `least`: Smallest number of documents of a labelled class. If fewer are drawn, this number of
    # the class is added.
    rng = np.random.default_rng(0)
    rows: list[np.ndarray] = []
    for domain in problem.domains:
        order = rng.permutation(len(domain.seen))
        drawn = [order[:size], *(order[members][:least] for members in domain.Y[order].T > 0)]
        if not domain.seen.all():
            drawn.append(np.flatnonzero(domain.seen))
        rows.append(np.unique(np.concatenate(drawn)))
    return rows


def take(
    problem: Problem, truth: Truth | None, rows: Sequence[np.ndarray]
) -> tuple[Problem, Truth | None]:
    """Return the problem with some rows of each domain, and its truth if there is one."""
    domains = tuple(d.take(r) for d, r in zip(problem.domains, rows, strict=True))
    if truth:
        Y, scored = (
            tuple(values[r] for values, r in zip(parts, rows, strict=True))
            for parts in (truth.Y, truth.scored)
        )
        truth = replace(truth, Y=Y, scored=scored)
    return replace(problem, domains=domains), truth
