"""Repeat the fits that standard input asks for; print a line of JSON for each.

`repeats` runs this file by one or two versions of the package. So the file uses only parts of the
package that rarely change. It ends if a fit takes more than the seconds in its argument. An input
line is one of

    {"codes": [model, …]}                                            fingerprints by model
    {"task": …, "model": …, "params": …, "seed": …, "curve": …, "defaults": …}      a fit

A parameter that this version of the model lacks is left out if it has its default.
"""

import faulthandler
import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

import transferbench
from transferbench import api, models, parameters
from transferbench.errors import Unavailable, UserError
from transferbench.measures import evaluate
from transferbench.problem import Fit
from transferbench.runs.record import Run


@lru_cache(maxsize=1)
def load(task: str) -> Any:
    """Return problem and truth of a task; those of the last task stay in memory."""
    return transferbench.load_task(task)


def digest(arrays: Any) -> str:
    """Return 16 hex digits for the bytes of arrays."""
    sha256 = hashlib.sha256()
    for array in arrays:
        sha256.update(np.ascontiguousarray(array).tobytes())
    return sha256.hexdigest()[:16]


def matrices(problem: Any) -> Any:
    """Yield the arrays of all documents."""
    for X in (X for domain in problem.domains for X in domain.views):
        yield from (X,) if isinstance(X, np.ndarray) else (X.data, X.indices, X.indptr)


def decisions(fit: Any, family: str) -> Any:
    """Yield the decisions of each domain: the class of each document, or which labels it has."""
    for scores in map(np.asarray, fit.scores):
        yield scores >= 0.5 if family == "multilabel" else scores.argmax(axis=1)


def repeat(run: dict[str, Any]) -> dict[str, Any]:
    """Repeat a run and return its results."""
    problem, truth = load(run["task"])
    curve: list[Any] = []

    def watch(iteration: int, planned: int, scores: Any) -> None:
        if run["curve"]:
            curve.append(evaluate(Fit(scores), truth))

    model, none = run["model"], object()
    known = parameters.schema(models.load(model))
    asked = {
        name: value
        for name, value in run["params"].items()
        if name in known or value != run["defaults"].get(name, none)
    }
    params = api.resolve(model, problem.family, asked)
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True, file=nowhere)
        fit = models.fit(model, problem, params, seed=run["seed"] or 0, watch=watch)
        faulthandler.cancel_dump_traceback_later()
    return {
        "data": digest([*matrices(problem), *truth.Y]),
        "measures": evaluate(fit, truth, problem),
        "decisions": digest(decisions(fit, problem.family)),
        "trace": [float(value) for value in fit.trace],
        "diagnostics": {name: float(value) for name, value in fit.diagnostics.items()},
        "curve": curve,
        "scores": digest(fit.scores),
    }


def codes(models: list[str]) -> dict[str, str]:
    """Return the fingerprints of those of these models that this version has."""
    found, none = {}, cast(Any, None)
    for model in models:
        with suppress(UserError):
            found[model] = Run(none, model, {}, None).code
    return found


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a line; an error is {"error": its text}."""
    try:
        return codes(asked["codes"]) if "codes" in asked else repeat(asked)
    except Unavailable as error:
        return {"unavailable": error.brief}
    except BaseException as error:  # it becomes the answer; a model may raise SystemExit
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    output, sys.stdout = sys.stdout, sys.stderr  # a model may print
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=output, flush=True)
