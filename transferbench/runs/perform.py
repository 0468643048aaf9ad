"""Perform a run from its built task to its measures: read, fit, measure.

Each line of results has the fingerprint of this module beside that of its model: so all code
between the built task and the measures counts.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transferbench import artefacts
from transferbench.data import built
from transferbench.measures import correct, evaluate
from transferbench.models import _fit
from transferbench.problem import Fit, Problem, Truth

#: Seconds between two reports of progress.
INTERVAL = 0.1


@dataclass(frozen=True)
class Result:
    """What a run yields."""

    problem: Problem
    truth: Truth
    fit: Fit
    measures: Mapping[str, Mapping[str, float]]
    #: Domain → (n,) True for each scored document that is right, see `measures.correct`.
    right: Mapping[str, np.ndarray]
    #: Domain → first measure after each iteration.
    curve: Mapping[str, list[float]]
    #: `seconds`, `costs`: Wall time of the fit, as if it had made all artefacts; what the reused
    #: ones had cost.
    seconds: float
    costs: artefacts.ArtefactCosts


def perform(
    path: Path, name: str, order: int, model: str, params: Mapping[str, Any], seed: int | None,
    *, curve: bool, store: artefacts.Folder | None, report: Callable[[int, int], None],
) -> Result:  # fmt: skip
    """Fit a model on a built task, and measure it; `report` gets the iteration and their number."""
    problem, truth = built.read(path, order, name)
    _fit.load(model)
    watch = _Watch(truth, curve, report)
    # A curve needs the scores after each iteration, which a reused training does not have.
    with artefacts.use(None if curve else store) as costs:
        begin = costs.clock()
        fit = _fit.fit(model, problem, params, seed=seed, watch=watch)
        seconds = costs.clock() - begin
    measures, right = evaluate(fit, truth, problem), correct(fit, truth)
    return Result(problem, truth, fit, measures, right, watch.curve, seconds, costs)


class _Watch:
    """Called by a model after each iteration: report progress and, if asked for, keep the curve."""

    def __init__(self, truth: Truth, curve: bool, report: Callable[[int, int], None]) -> None:
        self.truth, self.keeps_curve, self.report = truth, curve, report
        self.curve: dict[str, list[float]] = {}
        self.reported = time.perf_counter()

    def __call__(self, iteration: int, planned: int, scores: tuple[np.ndarray, ...]) -> None:
        if self.keeps_curve:
            for domain, measures in evaluate(Fit(scores), self.truth).items():
                self.curve.setdefault(domain, []).append(next(iter(measures.values())))
        due = time.perf_counter() - self.reported > INTERVAL or iteration == planned
        if due and planned > 0:
            self.reported = time.perf_counter()
            self.report(int(iteration), int(planned))
