"""What transfer models share: label factors of every domain, and targets taken one at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transferbench.core.init import label_start
from transferbench.core.nmtf import Factor, Normalize, scale_to_one
from transferbench.problem import Fit, Problem, Watch


def label_factors(problem: Problem, C: float, normalize: Normalize) -> dict[str, Factor]:
    """'V <domain>' → V (n, c), normalised: labels, fixed, in sources; elsewhere classifier's start.

    C is the inverse regularisation of the logistic regression that gives the start.
    """
    return {
        f"V {domain.name}": Factor(
            scale_to_one(V, normalize), fixed=bool(domain.seen.all()), normalize=normalize
        )
        for domain, V in zip(problem.domains, label_start(problem, C), strict=True)
    }


def each_target(problem: Problem, fit_one: Callable[..., Fit], watch: Watch | None) -> Fit:
    """Fits of every target with the sources alone, put together, their traces end to end.

    `fit_one(problem, watch=…)` fits one, always from the same seed, as if there were no other
    target. A source's scores are its labels. `watch` hears of one long run; until a target's turn
    comes its scores are zeros.
    """
    scores = [domain.Y for domain in problem.domains]
    trace: list[float] = []
    places = [i for i, domain in enumerate(problem.domains) if not domain.seen.all()]
    for turn, place in enumerate(places):
        domains = (*problem.sources, problem.domains[place])

        def relay(
            iteration: int, planned: int, now: tuple[np.ndarray, ...],
            turn: int = turn, place: int = place,
        ) -> None:  # fmt: skip
            scores[place] = now[-1]
            if watch:
                watch(turn * planned + iteration, len(places) * planned, tuple(scores))

        alone = Problem(problem.name, problem.family, problem.classes, domains)
        fit = fit_one(alone, watch=relay)
        scores[place] = fit.scores[-1]
        trace += fit.trace
    return Fit(tuple(scores), tuple(trace))
