"""Models outside the registry: an estimator of another package, or a Python file.

package.module:Name   a class or function that returns an estimator of scikit-learn (trained on the
                      sources), or of skada or adapt (trained on sources and a target, for each)
path/to/file.py       a file with a function `fit`, as the files of this folder have; the text
                      FAMILY = "clustering" or "multilabel" in it names another family than transfer

`load` runs code of the package or file. Nothing else here does: the name of a model, its family and
its fingerprint are found without importing it.
"""

import hashlib
import importlib
import inspect
import re
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from transferbench.core.dense import adapt, class_scores, dense
from transferbench.core.documents import score_targets, seen_rows
from transferbench.errors import UserError, brief
from transferbench.fingerprint import fingerprint
from transferbench.messages import reason
from transferbench.problem import Domain, Family, Fit, Problem

SUFFIX = ".py"
FAMILY = re.compile(r"^FAMILY = [\"'](transfer|clustering|multilabel)[\"']", re.MULTILINE)
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
    """Return a short name for tables: that of a file or an estimator, else the name itself."""
    return Path(name).stem if name.endswith(SUFFIX) else name.rpartition(":")[2]


def path(name: str) -> Path:
    """Return the file of a model.

    Raises
    ------
    UserError
        If there is none.
    """
    file = Path(name)
    if not file.is_file():
        raise UserError(f"there is no file {brief(name)}; expected a Python file with `fit`.")
    return file


def family(name: str) -> Family:
    """Return the family that a file states; "transfer" without one, and for an estimator."""
    try:
        stated = FAMILY.search(Path(name).read_text("utf-8")) if name.endswith(SUFFIX) else None
    except (OSError, ValueError):
        stated = None
    return stated[1] if stated else "transfer"  # type: ignore[return-value]


@cache
def code(name: str) -> str:
    """Return 16 hex digits for a file's syntax or an estimator's name and its package's version."""
    if name.endswith(SUFFIX):
        return fingerprint(path(name))
    top = name.partition(".")[0].partition(":")[0]
    packages = sorted({*packages_distributions().get(top, ())})
    versions = [f"{package} {version(package)}" for package in packages]
    text = f"{name} {versions} {fingerprint(Path(__file__))}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def load(name: str) -> Callable[..., Fit]:
    """Return the `fit` function of a model; this runs its code.

    Raises
    ------
    UserError
        If that fails.
    """
    try:
        with redirect_stdout(sys.stderr):
            if name.endswith(SUFFIX):
                return _from_file(path(name))
            module, _, attribute = name.partition(":")
            return _from_estimator(getattr(importlib.import_module(module), attribute))
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a module may raise SystemExit
        remedy = "expected package.module:Estimator of an installed package, or a file with `fit`"
        raise UserError(f"model {name} cannot be used ({reason(error)}); {remedy}.") from error


def _from_file(file: Path) -> Callable[..., Fit]:
    fit = runpy.run_path(str(file)).get("fit")
    if not callable(fit):
        raise UserError(f"{file}: there is no function `fit`; see `transferbench new model`.")
    return fit  # type: ignore[no-any-return]


def _from_estimator(factory: Callable[..., Any]) -> Callable[..., Fit]:
    """Return a `fit` whose parameters are those of the estimator that are numbers, texts or flags.

    `random_state` takes the seed. An estimator of scikit-learn sees the words, one that adapts to a
    target 100 coordinates of their truncated SVD.
    """
    from sklearn.base import ClusterMixin, RegressorMixin

    if isinstance(factory, type):
        is_other = issubclass(factory, (ClusterMixin, RegressorMixin))
        if is_other or not hasattr(factory, "predict"):
            raise TypeError(f"{factory.__name__} is not a classifier")
    accepted = inspect.signature(factory).parameters
    is_skada = factory.__module__.partition(".")[0] == "skada"
    takes_target = "Xt" in inspect.signature(getattr(factory, "fit", factory)).parameters

    def fit(problem: Problem, *, seed: int | None = None, **params: Any) -> Fit:
        visible = dense(problem, "svd", 100) if is_skada or takes_target else problem
        if "random_state" in accepted:
            params["random_state"] = seed
        if is_skada:
            return adapt(visible, 1.0, lambda base: factory(**params))
        X, y = seen_rows(visible)
        trained = None if takes_target else factory(**params).fit(X, y)

        def score(i: int, domain: Domain) -> np.ndarray:
            model = trained or factory(**params).fit(X, y, Xt=domain.X)
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
