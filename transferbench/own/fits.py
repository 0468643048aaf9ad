"""Plan which models to fit on a user's documents, and fit them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from transferbench import artefacts, models, parameters
from transferbench.core.documents import FOLDS, joined, with_labels
from transferbench.core.scale import entries
from transferbench.errors import Doubt, UserError, unknown
from transferbench.messages import reason, user_place
from transferbench.own import kept
from transferbench.own.doubts import UNNAMED, fit_doubts
from transferbench.own.evidence import QUICK, RECOMMENDED, REFERENCE, SIDE_BY_SIDE
from transferbench.own.sample import cross_fit
from transferbench.own.separation import Separation
from transferbench.parameters import Count
from transferbench.problem import Family, Fit, Problem


@dataclass(frozen=True)
class FitPlan:
    """A model to compare."""

    model: str
    #: All parameters of the model.
    params: Mapping[str, Any]
    #: Seeds of the fits; (None,) if the model takes no seed.
    seeds: tuple[int | None, ...]


def choose_family(names: Sequence[str], has_source: bool, separator: str | None) -> Family:
    """Return the family of user data: a separator or the first model makes it multi-label."""
    # `names`: Names of the models; may be empty.
    # `separator`: Separator of labels; None if the user gave none, "" to leave labels whole.
    if not has_source:
        return "clustering"
    first = models.get(names[0]).family if names else "transfer"
    return "multilabel" if separator or first == "multilabel" else "transfer"


def model_names(family: str, names: Sequence[str] = (), *, signed: bool = False) -> list[str]:
    """Return the models to compare: the reference, the others, and the recommended one."""
    # `names`: The other models; by default the quick ones that can be fitted.
    last = [RECOMMENDED] if family == "transfer" else []
    quick = [name for name in QUICK[family] if not (signed and name in models.NONNEGATIVE)]
    return list(dict.fromkeys([REFERENCE[family], *(names or quick), *last]))


def plan_fits(
    family: Family,
    names: Sequence[str],
    params: Mapping[str, Mapping[str, object]],
    *,
    repeats: int = 1,
    seed: int = 0,
) -> list[FitPlan]:
    """Plan the fits of models on a problem of a family."""
    repeats = parameters.convert(repeats, Count, "repeats")
    for name in params:
        if name not in names:
            if name in models.registry():
                listed = ", ".join(names)
                raise UserError(f"{name} is not among the models ({listed}); add -m {name}.")
            raise unknown("compared model", name, names)
    plans = []
    for name in names:
        models.check_family(name, family)
        function = models.load(name)
        resolved = parameters.resolve(function, params.get(name, {}), name)
        random = parameters.takes_seed(function)
        seeds = tuple(range(seed, seed + repeats)) if random else (None,)
        plans.append(FitPlan(name, resolved, seeds))
    return plans


def params_by_model(
    values: Mapping[str, str], names: Sequence[str], preferred: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """Return parameters by model."""
    # `values`: NAME is for all models that have it. MODEL.NAME is for one model, and overrides
    # NAME.
    # `preferred`: Models to which a parameter that no model has is given. `plan_fits` then reports
    # the mistake for the first of them. The default is the first of all models.
    params: dict[str, dict[str, str]] = {}
    schemas = {name: parameters.schema(models.load(name)) for name in names}
    for key in sorted(values, key=lambda key: "." in key):
        model, dot, name = key.rpartition(".")
        takers = [n for n in names if name in schemas[n]] or [*preferred, *names][:1]
        for taker in [model] if dot else takers:
            params.setdefault(taker, {})[name] = values[key]
    return params


def expected_seconds(problem: Problem, planned: FitPlan, embedded: bool, *, folds: bool) -> float:
    """Return about how long the fits of a model take, in seconds."""
    # Seconds grow as the entries times the classes; measured on tasks of 1,000 to 6,000 documents,
    # where the time was from 0.4 to 2 times the forecast.
    # `folds`: True if models are also fitted without each fold of a labelled sample, and without
    # the sample.
    is_best = planned.model == RECOMMENDED  # it fits its members at several class shares
    seen = seen_views(problem, planned.model, embedded)
    millions = sum(entries(d.views[v]).size for d in problem.domains for v in seen) / 1e6
    fits = len(planned.seeds) * (1 if not folds else 2 if is_best else 2 + FOLDS)
    return (3.5 if is_best else 0.3) * millions * max(len(problem.classes), 2) * fits


@dataclass(frozen=True)
class ComparedModel:
    """A compared model."""

    model: str
    #: All parameters of the model.
    params: Mapping[str, Any]
    #: The fit of each seed; empty if the model could not be fitted. If there is a sample of the
    #: targets, its labels train the model. `Fit.held_out` then has scores of each document of the
    #: sample by a fit that has not seen its label.
    fits: tuple[Fit, ...]
    #: Mean wall time of a fit.
    seconds: float
    #: Reasons to doubt the first seed's decisions, or the reason why there is no fit.
    doubts: tuple[Doubt, ...]
    #: The fits without the labels of the sample; empty without a sample.
    untrained: tuple[Fit, ...] = ()

    @property
    def worthless(self) -> bool:
        """True if the decisions should not be used."""
        return any(doubt.worthless for doubt in self.doubts)


def fit_plan(
    problem: Problem,
    planned: FitPlan,
    memory: artefacts.Memory,
    separations: Mapping[str, Separation] = UNNAMED,
    *,
    crossed: bool = True,
    clusters: bool = False,
    embedded: bool = False,
    folder: artefacts.Folder | None = None,
) -> ComparedModel:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead."""
    # `separations`: Words or features that separate targets from the source; doubts name them.
    # `clusters`: True to accept a model that finds clusters in place of the classes.
    # `folder`: Folder that keeps fits for the next command; None to keep none.

    def failed(text: str) -> ComparedModel:
        return ComparedModel(planned.model, planned.params, (), math.nan, (Doubt(text, True),))

    negative = any(d.signed and entries(d.X).min(initial=0) < 0 for d in problem.domains)
    if negative and planned.model in models.NONNEGATIVE:
        takers = ", ".join(name for name in QUICK["transfer"] if name not in models.NONNEGATIVE)
        return failed(f"it needs features of 0 or more, and some are negative; models: {takers}")

    def fit_seed(problem: Problem, seed: int | None, costs: list[float]) -> Fit:
        fit, cost, texts = kept.fit(planned.model, problem, planned.params, seed, memory, folder)
        costs.append(cost)
        printed.extend(texts)
        return fit

    fits, seconds, printed = [], [], list[str]()
    try:
        seen = model_problem(problem, planned.model, embedded)
    except ValueError as error:  # domains may be equal in the views of a model
        return failed(str(error).removeprefix(f"{problem.name}: ").rstrip("."))
    try:
        for seed in planned.seeds:
            costs = list[float]()
            fit_one = partial(fit_seed, seed=seed, costs=costs)
            # Its own held-out scores are those of the stack, without shares that are given.
            anew = planned.model == RECOMMENDED and planned.params["prior"] != "agreed"
            fit = cross_fit(seen, fit_one, anew=anew) if crossed else fit_one(seen)
            seconds.append(costs[0])  # without the folds
            if problem.family == "transfer":
                if fit.columns == "classes":
                    # models of others need not return the known labels
                    fit = replace(fit, scores=tuple(map(with_labels, problem.domains, fit.scores)))
                elif not clusters:
                    return failed("it finds clusters, which have no names; choose another model")
            fits.append(fit)
    except UserError:
        raise
    except (ValueError, ArithmeticError, MemoryError) as error:
        why = str(error).rstrip(".") or "out of memory"
        if models.is_external(planned.model) and user_place(error):
            why = reason(error)
        return failed(f"{why}; give other parameters")
    except (Exception, SystemExit) as error:
        if not models.is_external(planned.model):
            raise
        return failed(f"its code ended with {reason(error)}")
    doubts = [*map(Doubt, dict.fromkeys(printed))]
    doubts += fit_doubts(planned.model, problem, planned.params, fits[0], separations)
    return ComparedModel(planned.model, planned.params, tuple(fits), fmean(seconds), tuple(doubts))


def seen_views(problem: Problem, model: str, embedded: bool) -> list[int]:
    """Return the views that a model sees, by number."""
    # RECOMMENDED, multi-label models and external models see all views. Models of SIDE_BY_SIDE see
    # words and embeddings. Every other model sees only the first view, the words.
    views = [*range(len(problem.domains[0].views))]
    if problem.family != "transfer" or model == RECOMMENDED or models.is_external(model):
        return views
    return [*views[:1], *(views[1:][-1:] if embedded and model in SIDE_BY_SIDE else [])]


def model_problem(problem: Problem, model: str, embedded: bool) -> Problem:
    """Return the part of a problem with several views that a model sees."""
    # Words and embeddings that are chosen of several views stand side by side as one view.
    seen = seen_views(problem, model, embedded)
    if len(seen) < len(problem.domains[0].views):
        domains = (replace(d, views=tuple(d.views[v] for v in seen)) for d in problem.domains)
        problem = replace(problem, domains=tuple(domains))
    return joined(problem) if len(seen) > 1 and model in SIDE_BY_SIDE else problem
