"""Plan a comparison: choose the models, their parameters and their seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transferbench import models, parameters
from transferbench.choose import choice
from transferbench.errors import UserError, brief
from transferbench.parameters import Count
from transferbench.problem import Problem

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": choice.REFERENCE, "multilabel": "linear-svm"}
#: Family → models that take seconds on some thousand documents.
QUICK = {
    "transfer": ("lr", "cocc", "graph-only", "lr-kmeans", "dtl", "gcmf"),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Also compared by default up to so many documents: its time grows faster than theirs.
SLOWER, FEW_DOCUMENTS = {"transfer": ("tsvm",), "multilabel": ()}, 1000


@dataclass(frozen=True)
class Plan:
    """A model to compare: its name, all its parameters and its seeds."""

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


def model_names(
    family: str, names: Sequence[str] = (), equal_shares: bool = False, documents: float = math.inf
) -> list[str]:
    """Return the models to compare: the reference and those that can be recommended come first.

    names: the others; by default quick models for so many documents.
    """
    recommended = choice.candidates(equal_shares) if family == "transfer" else ()
    slower = SLOWER[family] if documents <= FEW_DOCUMENTS else ()
    default = (*QUICK[family], *slower)
    return list(dict.fromkeys([REFERENCE[family], *recommended, *(names or default)]))


def plan(
    problem: Problem,
    names: Sequence[str] = (),
    params: Mapping[str, Mapping[str, object]] | None = None,
    *,
    repeats: int = 1,
    seed: int = 0,
    equal_shares: bool = False,
) -> list[Plan]:
    """Return what to compare on a problem; see `model_names`.

    params: given parameters by model. repeats: seeds of a random model, from `seed` on.
    equal_shares: the user states that the target's classes have equal shares. Raise UserError if
    the problem cannot be compared on, or for an unknown or unsuitable model or parameter.
    """
    repeats = parameters.convert(repeats, Count, "repeats")
    check_problem(problem, equal_shares)
    params = params or {}
    documents = sum(len(domain.seen) for domain in problem.domains)
    names = model_names(problem.family, names, equal_shares, documents)
    for name in params:
        if name not in names:
            message = f"parameters of {brief(name)}, which is not compared"
            raise UserError(f"{message}; expected some of {', '.join(names)}.")
    plans = []
    for name in names:
        models.check_family(name, problem.family)
        function = models.load(name)
        seeds = range(seed, seed + repeats) if parameters.takes_seed(function) else (None,)
        resolved = parameters.resolve(function, params.get(name, {}), name)
        plans.append(Plan(name, resolved, tuple(seeds)))
    return plans


def check_problem(problem: Problem, equal_shares: bool = False) -> None:
    """Raise UserError if models cannot be compared on a problem."""
    labelled = {"transfer": bool(problem.sources), "multilabel": True}.get(problem.family, False)
    if not labelled or not problem.targets:
        raise UserError(f"{problem.name}: expected a source with labels and a target to compare.")
    if problem.family == "multilabel" and equal_shares:
        raise UserError(f"{problem.name}: equal_shares is for one label a document; leave it out.")
