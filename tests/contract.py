"""Problems for the contract of every model, and what a fit may do.

A model returns finite scores of the right shape, or raises one of `REFUSALS` with one clear line.
An extreme scale changes no decision, unless a warning says so. Inputs stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from conftest import make_clustering, make_multilabel, make_problem

import transferbench
from transferbench import models, parameters
from transferbench.errors import Unavailable
from transferbench.problem import Domain, Fit, Problem

MAKE = {"transfer": make_problem, "clustering": make_clustering, "multilabel": make_multilabel}
ALL = list(models.registry())
#: Sizes for small problems; the defaults of models are too large.
SMALL = {
    **{"k": 6, "kappa": 3, "k1": 3, "k2": 6, "k3": 2, "b": 4.0, "r": 6, "sigma": 4.0, "p": 4},
    **{"max_iter": 20, "pretrain": 20, "finetune": 10},
    "tol": 1e-4,  # of TSVM; with its default the order of documents moves the scores a little
}
#: One weight of the labels, where the model would try several; few folds of `inductive`.
SMALL_OF_MODEL = {
    **{name: {"alpha": [1.0], "p": [6], "q": [6]} for name in ("himls", "himlsd")},
    "inductive": {"folds": 2},
    "mtfl": {"epsilon": [1e-2, 1e-4]},
    "ncut": {"sigma": None},  # the graph of the nearest documents, as by default
    "ot-mapping": {"max_iter": 100_000},  # steps of the network simplex, which stops before
}
#: Few iterations, for problems that only have to be solved somehow.
FEW = {"max_iter": 8, "components": 5, "pretrain": 4, "start_iter": 4}
FEW_OF_MODEL = {
    **{"tsvm": {"start": 0.1}, "mtfl": {"epsilon": [1e-2, 1e-6]}},
    **{"himls": {"alpha": [0.1]}, "himlsd": {"alpha": [0.1]}},
}
#: What a model may raise, all with a clear sentence.
REFUSALS = (ValueError, FloatingPointError)


def small_params(name: str, *, few: bool = False) -> dict[str, Any]:
    """Return sizes for small problems and, with `few`, few iterations."""
    values = SMALL | SMALL_OF_MODEL.get(name, {})
    values |= FEW | FEW_OF_MODEL.get(name, {}) if few else {}
    return {k: v for k, v in values.items() if k in parameters.schema(models.load(name))}


#: Changes (i, X, Y, seen) of domain i to (X, Y, seen), or to None, which leaves the domain out.
#: X is dense, (16, 24); Y has the labels of all documents, of which the unseen are hidden later.
Change = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Any]
ROW = np.arange(16)


def put(rows: Any, columns: Any, value: float) -> Change:
    def change(i: int, X: np.ndarray, Y: np.ndarray, seen: np.ndarray) -> Any:
        X[rows, columns] = value
        return X, Y, seen

    return change


ANY = slice(None)
#: Problems at the limits. Those of the first part reach the most different code.
QUICK: dict[str, Change] = {
    "one class": lambda i, X, Y, s: (X, 0 * Y[:, :1] + 1, s),
    "no label in seen rows": lambda i, X, Y, s: (X, 0 * Y, s),
    "one document a domain": lambda i, X, Y, s: (X[:1], Y[:1], s[:1]),
    "all seen": lambda i, X, Y, s: (X, Y, s | True),
    "nothing seen": lambda i, X, Y, s: (X, Y, s & False),
    "half seen in each": lambda i, X, Y, s: (X, Y, ROW % 2 == 0),
    "only the first domain": lambda i, X, Y, s: None if i else (X, Y, s),
    "all zero": put(ANY, ANY, 0),
    "one feature": lambda i, X, Y, s: (X[:, :1], Y, s),
    "largest floats": lambda i, X, Y, s: ((X > 0) * np.finfo(float).max, Y, s),
}
SLOW: dict[str, Change] = {
    "as it is": lambda i, X, Y, s: (X, Y, s),
    "classes without documents": lambda i, X, Y, s: (X, np.pad(Y, ((0, 0), (0, 3))), s),
    "more classes than documents": lambda i, X, Y, s: (X, np.pad(Y, ((0, 0), (0, 40))), s),
    "every row all labels": lambda i, X, Y, s: (X, 0 * Y + 1, s),
    "one document in the first": lambda i, X, Y, s: (X, Y, s) if i else (X[:1], Y[:1], s[:1]),
    "one document in the last": lambda i, X, Y, s: (X[:1], Y[:1], s[:1]) if i else (X, Y, s),
    "one labelled document": lambda i, X, Y, s: (X, Y, (ROW == 3) & (i == 0)),
    "all zero in the first": lambda i, X, Y, s: (X * (i > 0), Y, s),
    "all but one row zeros": put(slice(1, None), ANY, 0),
    "all but one column zeros": put(ANY, slice(1, None), 0),
    "one number": lambda i, X, Y, s: (np.eye(1, 384, 5).reshape(16, 24), Y, s),
    "no shared features": lambda i, X, Y, s: (np.hstack([X * (i == 0), X * (i > 0)]), Y, s),
    "no document shares a feature": lambda i, X, Y, s: (np.eye(16, 24), Y, s),
    "equal documents": lambda i, X, Y, s: (np.repeat(X[:1], 16, axis=0), Y, s),
    "equal features": lambda i, X, Y, s: (np.repeat(X[:, 2:3], 24, axis=1), Y, s),
    "many features": lambda i, X, Y, s: (np.tile(X, 60), Y, s),
    "one huge row": put(1, ANY, 1e30),
    "one tiny row": put(1, ANY, 1e-300),
    "least floats": lambda i, X, Y, s: ((X > 0) * 5e-324, Y, s),
}


def changed(family: str, change: Change = SLOW["as it is"]) -> Problem:
    """Return a small problem whose entries are multiples of 1/8, after a change of its domains."""
    problem, truth = MAKE[family](documents=16, features=24)
    domains = []
    for i, (domain, Y) in enumerate(zip(problem.domains, truth.Y, strict=True)):
        dense = [np.ceil(8 * sp.csr_array(view).toarray()) / 8 for view in domain.views]
        if parts := change(i, dense[0], Y.copy(), domain.seen):
            X, Y, seen = parts
            views = (sp.csr_array(X), *(sp.csr_array(view[: len(seen)]) for view in dense[1:]))
            domains.append(Domain(domain.name, views, np.where(seen[:, None], Y, 0), seen))
    classes = tuple(f"class-{c}" for c in range(domains[0].Y.shape[1]))
    return Problem("contract", problem.family, classes, tuple(domains))


def with_views(problem: Problem, change: Callable[[sp.csr_array], Any]) -> Problem:
    """Return the problem with the first view of each domain changed."""
    domains = (replace(d, views=(change(d.X.copy()), *d.views[1:])) for d in problem.domains)
    return replace(problem, domains=tuple(domains))


def content(problem: Problem) -> list[Any]:
    return [sp.csr_array(A).toarray().tobytes() for d in problem.domains for A in (*d.views, d.Y)]


def solve(name: str, problem: Problem, **params: Any) -> tuple[Fit | None, bool]:
    """Return the fit, None if it is refused in one line, and whether a warning was shown.

    Raise AssertionError if the contract is broken.
    """
    before = content(problem)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            fit = transferbench.fit(name, problem, seed=3, **small_params(name, few=True) | params)
        except Unavailable:
            raise
        except REFUSALS as error:
            fit, text = None, str(error).strip()
            if not text or "\n" in text:
                raise AssertionError(f"expected one line: {text!r}") from error
    assert content(problem) == before, "changed its input"
    if fit is not None:
        check_scores(fit, problem)
    return fit, any(str(w.message).startswith("contract: ") for w in caught)


def check_scores(fit: Fit, problem: Problem) -> None:
    shapes = [(len(domain.seen), len(problem.classes)) for domain in problem.domains]
    assert [scores.shape for scores in fit.scores] == shapes
    assert all(np.isfinite(scores).all() for scores in fit.scores)


def different(one: Fit, two: Fit, family: str) -> int:
    """Return how many decisions differ that are no near tie."""
    count = 0
    for pair in zip(one.scores, two.scores, strict=True):
        if family == "multilabel":
            decided = [S >= 0.5 for S in pair]
            clear = [np.abs(S - 0.5) > 1e-3 for S in pair]
        else:
            best = [np.sort(np.pad(S, ((0, 0), (1, 0)), constant_values=-9e9)) for S in pair]
            decided = [S.argmax(axis=1) for S in pair]
            clear = [
                B[:, -1] - B[:, -2] > 1e-3 * (np.ptp(S) or 1)
                for B, S in zip(best, pair, strict=True)
            ]
        count += int(np.sum((decided[0] != decided[1]) & clear[0] & clear[1]))
    return count


def read_only(X: Any) -> Any:
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.setflags(write=False)
    return X


#: Layouts that a domain keeps; it turns all others into one of these.
LAYOUTS = {
    "C, read-only": lambda X: read_only(X.toarray()),
    "float32": lambda X: X.astype(np.float32),
}
