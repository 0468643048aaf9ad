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
from pathlib import Path
from typing import Any, cast

import numpy as np

from transferbench import models, parameters, settings, tasks
from transferbench.errors import Unavailable, UserError
from transferbench.runs.perform import perform
from transferbench.runs.record import Run
from transferbench.tasks import Task


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
    """Repeat a run as `reproduce` would perform it, and return its results."""
    task, model, none = Task.parse(run["task"]), run["model"], object()
    built = tasks.ensure_built(task.built, settings.load())
    known = parameters.schema(models.load(model))
    asked = {
        name: value
        for name, value in run["params"].items()
        if name in known or value != run["defaults"].get(name, none)
    }
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True, file=nowhere)
        result = perform(
            built.path, built.name, task.order, model,
            parameters.resolve(models.load(model), asked, model), run["seed"],
            curve=run["curve"], store=None, report=lambda iteration, number: None,
        )  # fmt: skip
        faulthandler.cancel_dump_traceback_later()
    fit, problem = result.fit, result.problem
    return {
        "data": digest([*matrices(problem), *result.truth.Y]),
        "measures": result.measures,
        "decisions": digest(decisions(fit, problem.family)),
        "right": digest(result.right.values()),
        "trace": [float(value) for value in fit.trace],
        "diagnostics": {name: float(value) for name, value in fit.diagnostics.items()},
        "curve": result.curve,
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
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # a model may print
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=output, flush=True)
