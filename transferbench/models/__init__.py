"""Registry of models: a folder for each family, a file with a `fit` function for each model.

Other packages add models by entry points in the group `transferbench.models.<family>`; each points
to a module with a `fit` function. Two kinds of names are not registered:

package.module:Name   an estimator of another package, see `external`
path/to/file.py       a file with a function `fit`; the text FAMILY = "clustering" or "multilabel"
                      in it names another family than transfer

A model whose file has the text DEVICES = ("cpu", "cuda") can compute on a GPU, see `core.device`.

`load` alone runs code of a package or file; family and fingerprint are found without importing it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench import plugins
from transferbench.errors import UserError, brief, unknown
from transferbench.fingerprint import fingerprint, summary
from transferbench.messages import reason

if TYPE_CHECKING:
    from transferbench.parameters import Params
    from transferbench.problem import Family, Fit, Problem, Watch

FOLDER = Path(__file__).parent
FAMILIES: tuple[Family, ...] = ("transfer", "clustering", "multilabel")
#: In the text of a model's file: it can compute on a GPU, see `core.device`.
ON_GPU = re.compile(r"^DEVICES = .*[\"']cuda[\"']", re.MULTILINE)
FAMILY = re.compile(r"^FAMILY = [\"'](transfer|clustering|multilabel)[\"']", re.MULTILINE)


@dataclass(frozen=True)
class Model:
    """A model: its family of problems, its module if it is registered, and the file of its code."""

    name: str
    family: Family
    module: str
    path: Path


@cache
def registry() -> dict[str, Model]:
    """Return every model by name (file name with hyphens), without importing any model.

    A plug-in whose file cannot be found or parsed is left out, with a warning.
    """
    models: dict[str, Model] = {}
    for family in FAMILIES:
        for file in sorted((FOLDER / family).glob("[!_]*.py")):
            name = file.stem.replace("_", "-")
            models[name] = Model(name, family, f"{__name__}.{family}.{file.stem}", file)
        for point in plugins.points().select(group=f"{__name__}.{family}"):
            with plugins.left_out_if_broken(point.name):
                path = plugins.origin(point)
                summary(path)  # raises SyntaxError
                models.setdefault(point.name, Model(point.name, family, point.module, path))
    return models


def get(name: str) -> Model:
    """Return a model by name, without importing it.

    Raises
    ------
    UserError
        For an unknown name.
    """
    if name.endswith(".py"):
        stated = None
        with suppress(OSError, ValueError):  # `load` reports a missing file
            stated = FAMILY.search(Path(name).read_text("utf-8"))
        return Model(name, stated[1] if stated else "transfer", "", Path(name))  # type: ignore[arg-type]
    if ":" in name:
        return Model(name, "transfer", "", FOLDER / "external.py")
    if name not in registry():
        raise unknown("model", name, registry(), "See `transferbench list models`.")
    return registry()[name]


def is_external(name: str) -> bool:
    """True for the path of a Python file, or package.module:Name; they are not registered."""
    return name.endswith(".py") or ":" in name


@cache
def code(name: str) -> str:
    """Return the fingerprint of a model's code, without running it.

    That of an estimator covers its name and the version of its package.
    """
    path = get(name).path
    if not path.is_file():
        raise UserError(f"there is no file {brief(name)}; expected a Python file with `fit`.")
    if ":" not in name:
        return fingerprint(path)
    from transferbench.models import external

    text = f"{name} {external.versions(name)} {fingerprint(path)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def load(name: str) -> Callable[..., Fit]:
    """Return the `fit` function of a model; this runs its code.

    Raises
    ------
    UserError
        For an unknown name, or a model of others that cannot be imported or has no `fit`.
    """
    model = get(name)
    try:
        with redirect_stdout(sys.stderr):
            if model.module:
                fit = getattr(importlib.import_module(model.module), "fit", None)
            elif name.endswith(".py"):
                fit = runpy.run_path(name).get("fit")
            else:
                from transferbench.models import external

                fit = external.adapted(name)
        if not callable(fit):
            raise TypeError("there is no function `fit`")
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a module may raise SystemExit
        if model.module and model.path.is_relative_to(FOLDER):
            raise
        raise UserError(
            f"model {name} cannot be used ({reason(error)}); expected "
            "package.module:Estimator of an installed package, or a file with a function `fit`."
        ) from error
    return fit  # type: ignore[no-any-return]


def fit(name: str, problem: Problem, params: Params, *, seed: Any, watch: Watch | None) -> Fit:
    """Fit a model with checked parameters, and with those of seed and watch that it takes.

    It uses all cores, see `use_threads`. Warn of numbers of an unusual scale.

    Parameters
    ----------
    name
        Name of a model, path of a Python file, or package.module:Name.
    problem
        What the model sees.
    params
        Parameters by name; the others have their defaults.
    seed
        An integer from 0 to 2**32 − 1.
    watch
        Called after each iteration, see `problem.Watch`.

    Raises
    ------
    UserError
        For an unknown model or a seed that is not such an integer.
    ValueError
        For a problem that the model cannot solve, or if its fit is not one of this problem, see
        `check_fit`.
    """
    from transferbench.core.parallel import use_threads
    from transferbench.core.scale import warn_unusual_scale

    if seed is not None and not (isinstance(seed, Integral) and 0 <= int(seed) < 2**32):
        raise UserError(f"seed: expected an integer from 0 to 2**32 − 1, got {seed!r}.")
    function = load(name)
    arguments = inspect.signature(function).parameters
    optional = {"seed": seed, "watch": watch}
    passed = {n: v for n, v in optional.items() if n in arguments}
    with use_threads():
        result = function(warn_unusual_scale(problem, stacklevel=3), **params, **passed)
    check_fit(name, problem, result)
    return result


def check_fit(name: str, problem: Problem, fit: Fit) -> None:
    """Check that a fit has a finite trace and finite scores of the right shapes.

    Raises
    ------
    ValueError
        If it has not.
    """
    import numpy as np

    from transferbench.problem import Fit

    if not isinstance(fit, Fit):
        raise ValueError(f"{name} returned {type(fit).__name__}, expected a Fit.")
    got, domains = len(fit.scores), len(problem.domains)
    if got != domains:
        raise ValueError(f"{name} returned scores of {got} domains, expected {domains}.")
    for domain, scores in zip(problem.domains, map(np.asarray, fit.scores), strict=True):
        any_number = fit.columns == "clusters" and scores.ndim == 2
        expected = (len(domain.seen), scores.shape[1] if any_number else len(problem.classes))
        if scores.shape != expected:
            message = f"returned scores of shape {scores.shape} for {domain.name}"
            raise ValueError(f"{name} {message}, expected {expected}.")
        if wrong := int(np.sum(~np.isfinite(scores))):
            raise ValueError(
                f"{name} returned {wrong} scores that are NaN or infinite for {domain.name}; "
                "other parameters or more documents may help."
            )
    if not np.isfinite(np.asarray(fit.trace, float)).all():
        raise ValueError(f"{name} returned an objective that is NaN or infinite.")


def check_device(name: str, device: str) -> None:
    """Raise UserError if a model cannot compute on this device; every model can on the host."""

    def able(model: Model) -> bool:
        return bool(ON_GPU.search(model.path.read_text(encoding="utf-8")))

    if device != "cpu" and not able(get(name)):
        names = [model.name for model in registry().values() if able(model)]
        raise UserError(
            f"{name} cannot compute on device {device}; expected one of {', '.join(names)}. "
            "Perform runs of other models first, without --device: finished runs are kept."
        )


def check_family(name: str, family: str) -> None:
    """Check that a model solves problems of a family.

    Raises
    ------
    UserError
        If it does not.
    """
    if get(name).family != family:
        names = [model.name for model in registry().values() if model.family == family]
        raise UserError(
            f"{name} is a {get(name).family} model and this is a {family} problem; "
            f"models for it: {', '.join(names) or 'none yet'}."
        )
