"""Consensus, sampled: consensus at the class shares of some labelled documents of the target.

    min over classes a(i)   −Σ_i Σ_m w_m q_m(i, a(i))   s.t.  π_c n documents have a(i) = c
    π = (counts + 5 · unlabelled) / (m + 5)

Members, ranks q and weights w are those of `consensus`, which uses no label of a target. Only the
shares π (c,) come from the m labelled documents of a target: from their number in each class, and
from `unlabelled`, the shares of the decisions of `consensus` without labels. A labelled document is
decided at the shares without its own label, so its decision is evidence of the accuracy on others.
A target without labelled documents is decided as by `consensus`.

A method of this project, see `choose.sample`.
"""

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from transferbench.artefacts import artefact
from transferbench.core.priors import whole_counts
from transferbench.models.transfer import consensus
from transferbench.problem import Domain, Fit, Problem

#: Number of documents that the shares without labels count as.
WEIGHT = 5.0


def fit(problem: Problem, *, seed: int = 0) -> Fit:
    """Fit consensus, sampled.

    Parameters
    ----------
    seed
        Of consensus.

    Returns
    -------
    Fit
        Scores (n, c) of every target, and the labels of every source.
    """
    # Artefacts are shared by tasks that differ in their labelled documents.
    hidden = replace(problem, name="", domains=tuple(map(_without_labels, problem.domains)))
    target_scores, area = _consensus(hidden, seed)
    scores, remaining = [], iter(target_scores)
    for domain, target in zip(problem.domains, hidden.domains, strict=True):
        if domain.seen.all():
            scores.append(domain.Y)
            continue
        scores.append(next(remaining))
        if domain.seen.any():
            decide = by_shares(hidden, target, seed)
            scores[-1] = at_sample(scores[-1], domain.Y, domain.seen, decide)
    return Fit(tuple(scores), diagnostics={"area": area})


def _without_labels(domain: Domain) -> Domain:
    """Return a target without its labels, or a source."""
    if domain.seen.all():
        return domain
    return replace(domain, Y=np.zeros_like(domain.Y), seen=np.zeros_like(domain.seen))


def by_shares(
    problem: Problem, target: Domain, seed: int = 0
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from shares (c,) to the scores (n, c) of `consensus` on a target."""
    single = replace(problem, domains=(*problem.sources, target))
    members, n = _members(single, seed), len(target.seen)

    @functools.cache
    def by_counts(counts: tuple[int, ...]) -> np.ndarray:
        return _decided(single, members, np.array(counts) / n)

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
    Y
        (n, c) labels, zero outside the sample.
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


@artefact
def _consensus(problem: Problem, seed: int) -> tuple[tuple[np.ndarray, ...], float]:
    """Return the scores of consensus on each target, and the least area."""
    fit = consensus.fit(problem, seed=seed)
    by_domain = zip(problem.domains, fit.scores, strict=True)
    scores = tuple(np.array(S) for domain, S in by_domain if not domain.seen.all())
    return scores, float(fit.diagnostics["area"])


@artefact
def _members(problem: Problem, seed: int) -> list[np.ndarray]:
    return consensus.members(problem, seed)


@artefact
def _decided(problem: Problem, members: list[np.ndarray], shares: np.ndarray) -> np.ndarray:
    return consensus.decide(problem, members, shares)
