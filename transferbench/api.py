"""The Python interface, the same code as the command line's."""

from __future__ import annotations

from typing import Any

from transferbench import metrics, models, parameters, settings
from transferbench.data import tasks
from transferbench.problem import Fit, Problem, Truth, Watch


def load_task(name: str, **options: Any) -> tuple[Problem, Truth]:
    """A task by name, fetched and built on first use.

        problem, truth = transferbench.load_task("comp-vs-rec", weighting="tf")

    Options are the dataset builder's (`transferbench describe comp-vs-rec`). Raises UserError for
    an unknown task or option, Unavailable where the data cannot be had.
    """
    return tasks.load(tasks.Task.named(name, **options), settings.load())


def fit(
    model: str, problem: Problem, *, seed: int = 0, watch: Watch | None = None, **params: Any
) -> Fit:
    """Fit a model by name; parameters left out are the paper's. Deterministic models ignore seed.

        result = transferbench.fit("gcmf", problem, seed=0, k=64)

    Raises UserError for an unknown model or parameter, or one that is not made for the problem.
    """
    function = models.load(model)
    models.check_family(model, problem.family)
    resolved = parameters.resolve(function, params, model)
    if parameters.takes_seed(function):
        resolved["seed"] = seed
    return function(problem, watch=watch, **resolved)


def evaluate(fit: Fit, truth: Truth) -> dict[str, dict[str, float]]:
    """Measures by domain: {'target': {'accuracy': 0.99, 'f1': 0.99}}, fractions."""
    return metrics.evaluate(fit, truth)
