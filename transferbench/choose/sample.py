"""Use a random sample of the targets with labels: for the class shares, and to choose a model.

Models are fitted without these labels, so their decisions on the sample are as good as on other
documents. Only `consensus` uses the numbers of each class in it:

    π = (counts + 5 · found) / (m + 5)

are the shares (c,) at which it decides, from the m labelled documents of a target and the shares
that it found without labels. A document of the sample is decided at the shares without its own
label, so no document is evidence for itself. The model that is right most often is chosen. As the
best of several on few documents it looks better than it is; by how much is estimated on samples
drawn again from the sample (Efron 1983, Journal of the American Statistical Association 78, 316).
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from transferbench.core.priors import whole_counts
from transferbench.measures import correct
from transferbench.models.transfer import consensus
from transferbench.problem import Domain, Fit, Problem, Truth

#: Documents that the shares found without labels count for.
WEIGHT = 5.0
#: Samples drawn again, to estimate the optimism of a choice.
RESAMPLES = 1000


def decide(problem: Problem, fit: Fit, sample: Truth, seed: int = 0) -> Fit:
    """Return the fit of `consensus` with decisions at the shares of the sample in each target.

    Targets without labels are as they were.
    """
    scores = [
        at_sample(S, Y, rows, by_shares(problem, target, seed)) if rows.any() else S
        for S, target, Y, rows in zip(
            fit.scores, problem.domains, sample.Y, sample.scored, strict=True
        )
    ]
    diagnostics = {name: value for name, value in fit.diagnostics.items() if name == "area"}
    return replace(fit, scores=tuple(scores), diagnostics=diagnostics)


def by_shares(
    problem: Problem, target: Domain, seed: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from shares (c,) to the scores (n, c) of `consensus` on a target."""
    alone = replace(problem, domains=(*problem.sources, target))
    members, n = consensus.members(alone, seed), len(target.seen)

    @functools.cache
    def by_counts(counts: tuple[int, ...]) -> np.ndarray:
        return consensus.decide(alone, members, np.array(counts) / n)

    return lambda shares: by_counts(tuple(whole_counts(shares, n).tolist()))


def at_sample(
    scores: np.ndarray,
    Y: np.ndarray,
    rows: np.ndarray,
    decide: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the scores (n, c) of `consensus` at the shares of the labels Y (n, c) of some rows.

    Parameters
    ----------
    scores
        (n, c) those without labels.
    rows
        (n,) the documents of the sample.
    decide
        See `by_shares`.
    """
    labels, c = Y[rows].argmax(axis=1), Y.shape[1]
    counts = np.bincount(labels, minlength=c)
    prior = WEIGHT * np.bincount(scores.argmax(axis=1), minlength=c) / len(rows)
    sampled = decide((counts + prior) / (len(labels) + WEIGHT)).copy()
    for k in np.flatnonzero(counts):
        others = counts - (np.arange(c) == k)
        same = np.flatnonzero(rows)[labels == k]
        sampled[same] = decide((others + prior) / (len(labels) - 1 + WEIGHT))[same]
    return sampled


@dataclass(frozen=True)
class Judged:
    """The model that is right most often on a sample, the first of equally good ones.

    Parameters
    ----------
    right
        By model, on how many of the documents it is right; the best first.
    documents
        Of the sample.
    optimism
        By how much the accuracy of the chosen model on the sample is expected to be too large.
    """

    right: Mapping[str, int]
    documents: int
    optimism: float

    @property
    def accuracy(self) -> float:
        """The expected accuracy of the chosen model on other documents."""
        return max(next(iter(self.right.values())) / self.documents - self.optimism, 0.0)


def judge(fits: Mapping[str, Fit], sample: Truth) -> Judged:
    """Return how well models do on the sample; of equally good ones the first is preferred."""
    right = np.array(
        [np.concatenate([*correct(fit, sample).values()]) for fit in fits.values()], float
    )  # (models, m)
    m = right.shape[1]
    drawn = np.random.default_rng(0).multinomial(m, np.full(m, 1 / m), RESAMPLES)  # (samples, m)
    again = right @ drawn.T / m
    chosen = again.argmax(axis=0)
    optimism = np.mean(again.max(axis=0) - right.mean(axis=1)[chosen])
    order = np.argsort(-right.sum(axis=1), kind="stable")
    names = [*fits]
    counts = {names[i]: int(right[i].sum()) for i in order}
    return Judged(counts, m, max(float(optimism), 0.0))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 per cent interval of a probability from its share of n > 0 trials."""
    z = 1.959964
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
