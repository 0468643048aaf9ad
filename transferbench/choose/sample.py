"""Use a labelled random sample of the targets to estimate class shares and to choose a model.

Models are fitted without these labels, so they are as accurate on the sample as on other documents.
Only `consensus` uses the class counts of the sample, see `consensus_sampled`; its decision on a
document does not use the label of this document. The model that is right most often is chosen. The
best of several models on few documents looks better than it is. This optimism is estimated by the
bootstrap (Efron 1983, Journal of the American Statistical Association 78, 316).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from transferbench.data.problems import draw_labelled
from transferbench.measures import correct
from transferbench.models.transfer.consensus_sampled import at_sample, by_shares
from transferbench.problem import Fit, Problem, Truth

#: Bootstrap samples that estimate the optimism of a choice.
RESAMPLES = 1000


def decide(problem: Problem, fit: Fit, sample: Truth, seed: int = 0) -> Fit:
    """Return the fit of `consensus` with decisions at the class shares of the sample.

    Decisions on targets without labelled documents do not change.
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
class SampleResult:
    """The models' results on a labelled sample, and the optimism of choosing the best one.

    Parameters
    ----------
    right
        Number of documents on which a model is right, by model; the chosen one first.
    documents
        Number of documents of the sample.
    optimism
        Expected accuracy of the chosen model on the sample less that on other documents.
    """

    right: Mapping[str, int]
    documents: int
    optimism: float

    @property
    def accuracy(self) -> float:
        """The expected accuracy of the chosen model on other documents."""
        return max(next(iter(self.right.values())) / self.documents - self.optimism, 0.0)


def judge(fits: Mapping[str, Fit], sample: Truth) -> SampleResult:
    """Judge models on the sample; of equally good ones the first is chosen."""
    return _judge(
        {name: np.concatenate([*correct(fit, sample).values()]) for name, fit in fits.items()}
    )


def sampled_rows(n: int, labelled: int, draw: int) -> np.ndarray:
    """Return True for the documents (n,) of the sample that a task draws, see `judge_draw`."""
    rows = np.zeros(n, bool)
    rows[draw_labelled(n, labelled, draw)] = True
    return rows


def judge_draw(right: Mapping[str, np.ndarray], labelled: int, draw: int) -> SampleResult:
    """Judge models on the sample that a task draws with these options.

    Parameters
    ----------
    right
        Which of the scored documents of the target (n,) are right, by model.
    labelled, draw
        Options of the task: the size of the sample, and its number.
    """
    rows = sampled_rows(len(next(iter(right.values()))), labelled, draw)
    return _judge({name: is_right[rows] for name, is_right in right.items()})


def _judge(by_model: Mapping[str, np.ndarray]) -> SampleResult:
    """Judge models by the documents of the sample (m,) on which each is right."""
    right = np.array([*by_model.values()], float)  # (models, m)
    m = right.shape[1]
    drawn = np.random.default_rng(0).multinomial(m, np.full(m, 1 / m), RESAMPLES)  # (samples, m)
    again = right @ drawn.T / m
    chosen = again.argmax(axis=0)
    optimism = np.mean(again.max(axis=0) - right.mean(axis=1)[chosen])
    order = np.argsort(-right.sum(axis=1), kind="stable")
    names = [*by_model]
    counts = {names[i]: int(right[i].sum()) for i in order}
    return SampleResult(counts, m, max(float(optimism), 0.0))


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 per cent interval of a probability, given the share of n > 0 trials."""
    z = 1.959964
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)
