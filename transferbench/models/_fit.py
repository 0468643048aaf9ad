"""Load a model, fit it and check its fit; all three run the code of the model."""

from __future__ import annotations

import importlib
import inspect
import runpy
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.errors import UserError, brief
from transferbench.messages import reason
from transferbench.models._registry import FOLDER, NONNEGATIVE, get

if TYPE_CHECKING:
    from transferbench.parameters import Params
    from transferbench.problem import Fit, Problem, Watch


@cache
def load(name: str) -> Callable[..., Fit]:
    """Return the `fit` function of a model; this runs its code."""
    model = get(name)
    if name.endswith(".py") and not model.path.exists():
        raise UserError(f"there is no file {brief(name)}; expected a Python file with `fit`.")
    module, colon, attribute = name.partition(":")
    if colon and module.endswith(".py"):
        what = f"model {name}: an estimator of a file is not supported"
        raise UserError(
            f"{what}; write {Path(module).stem}:{attribute}, and name its folder in PYTHONPATH."
        )
    try:
        with redirect_stdout(sys.stderr):
            if model.module:
                fit = getattr(importlib.import_module(model.module), "fit", None)
            elif name.endswith(".py"):
                if model.path.exists() and not model.path.is_file():  # a pipe would wait for ever
                    raise TypeError("it is no regular file")
                fit = runpy.run_path(name).get("fit")
            else:
                from transferbench.models import external

                fit = external.adapted(name)
        if not callable(fit):
            raise TypeError("there is no function `fit`")
        if not inspect.isroutine(fit):
            kind = "a class" if inspect.isclass(fit) else f"a {type(fit).__name__}"
            raise TypeError(f"`fit` is {kind}, not a function")
    except (KeyboardInterrupt, UserError):
        raise
    except BaseException as error:  # a module may raise SystemExit
        if model.module and model.path.is_relative_to(FOLDER):
            raise
        expected = "package.module:Estimator of an installed package"
        if name.endswith(".py"):
            expected = "a Python file with a function `fit`"
        message = f"model {name} cannot be used ({reason(error)}); expected {expected}."
        raise UserError(message) from error
    return fit


def fit(name: str, problem: Problem, params: Params, *, seed: Any, watch: Watch | None) -> Fit:
    """Fit a model with checked parameters, on all cores, see `use_threads`."""
    # Only models that have the arguments seed and watch get them.
    # `name`: Name of a model, path of a Python file, or package.module:Name.
    # `seed`: An integer from 0 to 2**32 − 1.
    # `watch`: Called after each iteration, see `problem.Watch`.
    from transferbench.core.parallel import use_threads
    from transferbench.core.scale import entries, warn_unusual_scale

    if seed is not None and not (isinstance(seed, Integral) and 0 <= int(seed) < 2**32):
        raise UserError(f"seed: expected an integer from 0 to 2**32 − 1, got {seed!r}.")
    function = load(name)
    arguments = inspect.signature(function).parameters
    optional = {"seed": seed, "watch": watch}
    passed = {key: value for key, value in optional.items() if key in arguments}
    signed = (domain.X for domain in problem.domains if domain.signed)
    if name in NONNEGATIVE and any(entries(X).min(initial=0) < 0 for X in signed):
        raise ValueError(
            f"{problem.name}: {name} needs features of 0 or more, and some are negative; leave "
            "these out, or take a model that accepts them, for example lr, svm or tsvm."
        )
    with use_threads():
        result = function(warn_unusual_scale(problem, stacklevel=3), **params, **passed)
    return check_fit(name, problem, result)


def check_fit(name: str, problem: Problem, fit: Fit) -> Fit:
    """Check the scores and the trace of a fit; return the fit with scores as arrays of floats."""
    import numpy as np
    import scipy.sparse as sp

    from transferbench.problem import Fit

    if not isinstance(fit, Fit):
        raise ValueError(f"{name} returned {type(fit).__name__}, expected a Fit.")
    scored, domains = len(fit.scores), len(problem.domains)
    if scored != domains:
        raise ValueError(f"{name} returned scores of {scored} domains, expected {domains}.")
    arrays = []
    for domain, given in zip(problem.domains, fit.scores, strict=True):
        if np.ma.is_masked(given):
            raise ValueError(f"{name} returned masked scores for {domain.name}; fill them.")
        # NumPy would make one object of a sparse matrix.
        scores = np.asarray(sp.csr_array(given).toarray() if sp.issparse(given) else given)
        if scores.dtype.kind not in "biuf":
            message = f"returned scores of type {scores.dtype} for {domain.name}"
            raise ValueError(f"{name} {message}, expected real numbers.")
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
        is_float = scores.dtype in (np.float32, np.float64)
        arrays.append(scores if is_float else scores.astype(float))
    if not np.isfinite(np.asarray(fit.trace, float)).all():
        raise ValueError(f"{name} returned an objective that is NaN or infinite.")
    return replace(fit, scores=tuple(arrays))
