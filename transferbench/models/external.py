"""Estimators of other packages as models: package.module:Name.

Name is a class or function that returns an estimator of scikit-learn, skada or adapt. An estimator
of scikit-learn is trained on the sources. An estimator of skada or adapt is trained for each target
on the sources and this target. All of them also train on labelled documents of a target, as on
those of sources. If the `fit` of the estimator has a `sample_weight`, it gets the weights of the
labels, unless each weight is 1.
"""

import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from transferbench.core.dense import adapt, dense
from transferbench.core.documents import score_targets, seen_rows, seen_weights
from transferbench.core.logistic import class_scores
from transferbench.problem import Domain, Fit, Problem

#: Arguments of an estimator that are no parameters of a run: the seed, other estimators, output.
NOT_SET = ("random_state", "base_estimator", "verbose", "n_jobs")
#: A parameter that may also be a text; a text becomes the first that it can be.
ANY = Annotated[int | float | str | None, Field(union_mode="left_to_right")]
#: Type of a parameter, by that of its default.
TYPES: dict[type, Any] = {
    bool: bool | None,
    int: int | float | None,
    float: float | None,
    str: ANY,
    type(None): ANY,
}


def label(name: str) -> str:
    """Return a short name for tables."""
    # It is the name of a file without folder and suffix, the name of an estimator without its
    # module, or else the name itself.
    return Path(name).stem if name.endswith(".py") else name.rpartition(":")[2]


def versions(name: str) -> list[str]:
    """Return the packages of an estimator with their versions."""
    top = name.partition(":")[0].partition(".")[0]
    packages = sorted({*packages_distributions().get(top, ())})
    return [f"{package} {version(package)}" for package in packages]


def adapted(name: str) -> Callable[..., Fit]:
    """Return a `fit` that has the parameters of the estimator that are numbers, texts or flags."""
    # `random_state` gets the seed.
    # `name`: An estimator of scikit-learn sees the words. An estimator that adapts to a target sees
    # 100 coordinates of their truncated SVD.
    from sklearn.base import ClusterMixin, RegressorMixin

    module, _, attribute = name.partition(":")
    factory = getattr(importlib.import_module(module), attribute)
    if isinstance(factory, type):
        is_other = issubclass(factory, (ClusterMixin, RegressorMixin))
        if is_other or not hasattr(factory, "predict"):
            raise TypeError(f"{factory.__name__} is not a classifier")
    accepted = inspect.signature(factory).parameters
    is_skada = factory.__module__.partition(".")[0] == "skada"
    of_fit = inspect.signature(getattr(factory, "fit", factory)).parameters
    takes_target, takes_weights = "Xt" in of_fit, "sample_weight" in of_fit

    def fit(problem: Problem, *, seed: int | None = None, **params: Any) -> Fit:
        visible = dense(problem, "svd", 100) if is_skada or takes_target else problem
        if "random_state" in accepted:
            params["random_state"] = seed
        if is_skada:
            return adapt(visible, 1.0, lambda base: factory(**params), weighted=takes_weights)
        X, y = seen_rows(visible)
        weights = seen_weights(visible) if takes_weights else None
        passed = {} if weights is None else {"sample_weight": weights}
        trained = None if takes_target else factory(**params).fit(X, y, **passed)

        def score(i: int, domain: Domain) -> np.ndarray:
            model = trained or factory(**params).fit(X, y, Xt=domain.X, **passed)
            return class_scores(model, domain.X, np.unique(y), len(problem.classes))

        return Fit(score_targets(visible, score))

    keyword = inspect.Parameter.KEYWORD_ONLY
    arguments = [
        argument.replace(kind=keyword, annotation=TYPES[type(argument.default)])
        for name, argument in accepted.items()
        if type(argument.default) in TYPES and name not in NOT_SET
    ]
    if "random_state" in accepted:
        arguments.append(inspect.Parameter("seed", keyword, default=None))
    fit.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return fit
