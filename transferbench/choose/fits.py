"""Plan which models to fit on a user's documents, and fit them, without labels of a target."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from transferbench import artefacts, models, parameters
from transferbench.choose.evidence import QUICK, RECOMMENDED, REFERENCE
from transferbench.errors import Doubt, UserError, unknown
from transferbench.messages import reason, user_place
from transferbench.parameters import Count
from transferbench.problem import Family, Fit, Problem
from transferbench.userdata.doubts import UNNAMED, fit_doubts
from transferbench.userdata.multilabel import fit_in_tasks
from transferbench.userdata.separation import Separation


@dataclass(frozen=True)
class FitPlan:
    """A model to compare.

    Parameters
    ----------
    model
        Its name.
    params
        All its parameters.
    seeds
        Its seeds; (None,) if it takes none.
    """

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


def choose_family(names: Sequence[str], has_source: bool, separator: str | None) -> Family:
    """Return the family of user data: a separator or the first model makes it multi-label.

    Parameters
    ----------
    names
        Names of the models; may be empty.
    has_source
        False if there are only targets, which are clustered.
    separator
        None if the user gave none, "" to leave labels whole.
    """
    if not has_source:
        return "clustering"
    first = models.get(names[0]).family if names else "transfer"
    return "multilabel" if separator or first == "multilabel" else "transfer"


def model_names(family: str, names: Sequence[str] = ()) -> list[str]:
    """Return the models to compare: the reference, the others, and the recommended one.

    Parameters
    ----------
    family
        Family of the problem.
    names
        The others; by default the quick ones.
    """
    last = [RECOMMENDED] if family == "transfer" else []
    return list(dict.fromkeys([REFERENCE[family], *(names or QUICK[family]), *last]))


def plan_fits(
    family: Family,
    names: Sequence[str],
    params: Mapping[str, Mapping[str, object]],
    *,
    repeats: int = 1,
    seed: int = 0,
) -> list[FitPlan]:
    """Plan the fits of models on a problem of a family.

    Parameters
    ----------
    family
        The family.
    names
        Names of the models.
    params
        Parameters by model.
    repeats
        Number of seeds of a random model.
    seed
        The first seed.

    Raises
    ------
    UserError
        For an unknown or unsuitable model or parameter.
    """
    repeats = parameters.convert(repeats, Count, "repeats")
    for name in params:
        if name not in names:
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
    """Return parameters by model.

    Parameters
    ----------
    values
        Values by name: NAME is for all models that have it, MODEL.NAME is for one model and
        overrides NAME.
    names
        Names of the models.
    preferred
        Models that get a parameter which no model has, so that `plan_fits` reports the mistake for
        the first of them; by default the first of all models.
    """
    params: dict[str, dict[str, str]] = {}
    schemas = {name: parameters.schema(models.load(name)) for name in names}
    for key in sorted(values, key=lambda key: "." in key):
        model, dot, name = key.rpartition(".")
        takers = [n for n in names if name in schemas[n]] or [*preferred, *names][:1]
        for taker in [model] if dot else takers:
            params.setdefault(taker, {})[name] = values[key]
    return params


@dataclass(frozen=True)
class ComparedModel:
    """A compared model.

    Parameters
    ----------
    model
        Its name.
    params
        All its parameters.
    fits
        The fit of each seed; empty if the model could not be fitted.
    seconds
        Mean wall time of a fit.
    doubts
        Reasons to doubt the first seed's decisions, or why there is no fit.
    """

    model: str
    params: Mapping[str, Any]
    fits: tuple[Fit, ...]
    seconds: float
    doubts: tuple[Doubt, ...]

    @property
    def worthless(self) -> bool:
        """True if the decisions should not be used."""
        return any(doubt.worthless for doubt in self.doubts)


def fit_plan(
    problem: Problem,
    planned: FitPlan,
    memory: artefacts.Memory,
    separations: Mapping[str, Separation] = UNNAMED,
) -> ComparedModel:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead.

    Parameters
    ----------
    problem
        The problem.
    planned
        The model.
    memory
        Artefacts that models share, such as graphs and starts.
    separations
        What separates targets from the source; doubts name it.
    """

    def failed(text: str) -> ComparedModel:
        return ComparedModel(planned.model, planned.params, (), math.nan, (Doubt(text, True),))

    fits, seconds = [], []
    fit_one = partial(models.fit, planned.model, params=planned.params, watch=None)
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in planned.seeds:
                with artefacts.use(memory) as costs:
                    start = costs.clock()
                    fit = fit_in_tasks(problem, partial(fit_one, seed=seed))
                seconds.append(costs.clock() - start)
                if problem.family == "transfer" and fit.columns == "clusters":
                    return failed("it finds clusters, which have no names; choose another model")
                fits.append(fit)
        except UserError:
            raise
        except (ValueError, ArithmeticError, MemoryError) as error:
            why = str(error).rstrip(".") or "out of memory"
            if models.is_external(planned.model) and user_place(error):
                why = reason(error)
            return failed(f"{why}; other parameters are given by --set")
        except (Exception, SystemExit) as error:
            if not models.is_external(planned.model):
                raise
            return failed(f"its code ended with {reason(error)}")
    texts = dict.fromkeys(str(warning.message).rstrip(".") for warning in printed)
    doubts = [*map(Doubt, texts)]
    doubts += fit_doubts(planned.model, problem, planned.params, fits[0], separations)
    return ComparedModel(planned.model, planned.params, tuple(fits), fmean(seconds), tuple(doubts))
