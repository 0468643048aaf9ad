"""Use a random sample of the targets with labels: for the class shares, and to choose a model.

Models are fitted without these labels, so their decisions on the sample are as good as on other
documents. Only `consensus` uses the numbers of each class in it, see `consensus_sampled`; no
document is evidence for itself. The model that is right most often is chosen. As the
best of several on few documents it looks better than it is; by how much is estimated on samples
drawn again from the sample (Efron 1983, Journal of the American Statistical Association 78, 316).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from transferbench.data.problems import draw_labelled
from transferbench.measures import correct
from transferbench.models.transfer.consensus_sampled import at_sample, by_shares
from transferbench.problem import Fit, Problem, Truth

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
    return _judge(
        {name: np.concatenate([*correct(fit, sample).values()]) for name, fit in fits.items()}
    )


def judge_draw(right: Mapping[str, np.ndarray], labelled: int, draw: int) -> Judged:
    """Return how well models do on a sample that the options of a task draw, see `problems.cut`.

    right: by model, which of the scored documents of the target (n,) are right.
    """
    n = len(next(iter(right.values())))
    rows = np.sort(draw_labelled(n, labelled, draw))
    return _judge({name: each[rows] for name, each in right.items()})


def _judge(by_model: Mapping[str, np.ndarray]) -> Judged:
    """Return the judgement of which documents of the sample (m,) each model has right."""
    right = np.array([*by_model.values()], float)  # (models, m)
    m = right.shape[1]
    drawn = np.random.default_rng(0).multinomial(m, np.full(m, 1 / m), RESAMPLES)  # (samples, m)
    again = right @ drawn.T / m
    chosen = again.argmax(axis=0)
    optimism = np.mean(again.max(axis=0) - right.mean(axis=1)[chosen])
    order = np.argsort(-right.sum(axis=1), kind="stable")
    names = [*by_model]
    counts = {names[i]: int(right[i].sum()) for i in order}
    return Judged(counts, m, max(float(optimism), 0.0))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 per cent interval of a probability from its share of n > 0 trials."""
    z = 1.959964
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
