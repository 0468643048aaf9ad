"""The Python interface; the command line uses the same code."""

from __future__ import annotations

from typing import Any

from transferbench import metrics, models, parameters, settings
from transferbench.data import tasks
from transferbench.problem import Fit, Problem, Truth, Watch


def load_task(name: str, **options: Any) -> tuple[Problem, Truth]:
    """Load a task by name; fetch and build it on first use.

        problem, truth = transferbench.load_task("comp-vs-rec", weighting="tf")

    options: those of the dataset (`transferbench describe comp-vs-rec`). Return the problem, with
    (n, d) document × feature matrices and (n, c) labels of seen rows for each domain, and the
    truth, with all labels (n, c). Raise UserError for an unknown task or option, Unavailable if the
    data cannot be obtained.
    """
    return tasks.load(tasks.Task.named(name, **options), settings.load())


def fit(
    model: str, problem: Problem, *, seed: int = 0, watch: Watch | None = None, **params: Any
) -> Fit:
    """Fit a model by name; return scores (n, c) of each domain and the trace of the objective.

        result = transferbench.fit("gcmf", problem, seed=0, k=64)

    params: parameters of the model (`transferbench describe gcmf`); the defaults are the paper's.
    seed is ignored by deterministic models. watch(iteration, planned, scores) is called after each
    iteration of models with a trace. Raise UserError for an unknown model or parameter, an invalid
    value, or a model for another family of problems.
    """
    function = models.load(model)
    models.check_family(model, problem.family)
    resolved = parameters.resolve(function, params, model)
    if parameters.takes_seed(function):
        resolved["seed"] = seed
    return function(problem, watch=watch, **resolved)


def evaluate(fit: Fit, truth: Truth) -> dict[str, dict[str, float]]:
    """Return the measures of each scored domain: {'target': {'accuracy': 0.99, 'f1': 0.99}}.

    All are fractions between 0 and 1. Several multi-label domains also have "all", for their
    documents together. Raise ValueError if scores are NaN or differ in shape from the truth.
    """
    return metrics.evaluate(fit, truth)
