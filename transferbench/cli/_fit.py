"""Fit models to the user's own documents, with a progress bar and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transferbench.cli._own import OwnData, print_doubts

if TYPE_CHECKING:
    from transferbench.problem import Fit, Problem


def fit_all(
    own: OwnData,
    problem: Problem,
    params: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
) -> tuple[dict[str, Fit], bool]:
    """Fit the models; print doubts about documents and decisions.

    params: all parameters by model. names: what doubts call the targets. Return the fits, and
    whether the documents or the first model's decisions are worthless.
    """
    from transferbench.choose.criteria import reverse_accuracies
    from transferbench.userdata.checks import check_data, check_fit

    doubts = check_data(problem, names)
    print_doubts(doubts)
    worthless = any(doubt.worthless for doubt in doubts)
    fits: dict[str, Fit] = {}
    for model, values in params.items():
        fit = _fit(own, problem, model, values)
        reverse: dict[str, float] = {}
        if problem.family == "transfer":
            with warnings.catch_warnings():  # those of the reverse fit concern the source
                warnings.simplefilter("ignore")
                reverse = reverse_accuracies(model, problem, values, own.seed, fit)
        doubts = check_fit(model, problem, values, fit, reverse, names)
        print_doubts(doubts, f"{model}: " if len(params) > 1 else "")
        worthless |= not fits and any(doubt.worthless for doubt in doubts)
        fits[model] = fit
    return fits, worthless


def _fit(own: OwnData, problem: Problem, model: str, params: Mapping[str, Any]) -> Fit:
    from tqdm import tqdm

    from transferbench import api
    from transferbench.choose.compare import fit_failed
    from transferbench.errors import UserError
    from transferbench.userdata.multilabel import fit_in_tasks

    try:
        with tqdm(desc=model, unit="iteration", leave=False, disable=None) as bar:

            def watch(iteration: int, planned: int, scores: object) -> None:
                bar.total = planned
                bar.update(iteration - bar.n)

            fit = fit_in_tasks(
                problem, lambda tasks: api.fit(model, tasks, seed=own.seed, watch=watch, **params)
            )
    except (ValueError, ArithmeticError) as error:
        raise UserError(fit_failed(model, error)) from error
    if problem.family == "transfer" and fit.columns == "clusters":
        message = f"{model} finds clusters, which have no names; choose another model."
        raise UserError(message)
    return fit
