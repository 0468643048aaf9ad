"""The contract of every model: checks of one model on tiny problems, each with a name.

A model returns finite scores of the right shape, or raises one of `REFUSALS` with one clear line.
Equal seeds give equal scores, inputs stay as they are, and labels of a target count by their
weights. `check_model` runs the checks; `CHECKS` has them by name.
"""

from __future__ import annotations

import ast
import inspect
import json
import operator
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from transferbench import models, parameters
from transferbench.core.parallel import use_threads
from transferbench.errors import Unavailable, UserError, unknown
from transferbench.measures import evaluate
from transferbench.messages import counted, reason
from transferbench.problem import Domain, Family, Fit, Problem, Truth, Watch

SEED = 3
#: What a model may raise, with a clear sentence, if it cannot solve a problem.
REFUSALS = (ValueError, FloatingPointError)
#: Why a check is skipped if the model fails on the plain problem.
NO_FIT = "no fit to check; correct `scores` first."
#: Checks that compare two fits, so that equal seeds must give equal scores.
COMPARING = ("order", "target-labels", "label-weights", "more-labels", "layouts")
#: What is permuted by the check `order`.
ORDERS = frozenset({"documents", "features", "classes", "domains"})


def make_problem(
    seed: int = 0,
    *,
    targets: int = 1,
    classes: int = 2,
    documents: int = 40,
    features: int = 60,
    dense: bool = False,
) -> tuple[Problem, Truth]:
    """Return a small transfer problem: classes prefer own features, domains differ a little."""
    rng = np.random.default_rng(seed)
    names = ["source", *(f"target-{i + 1}" for i in range(targets))]
    domains, truth = [], []
    for shift, name in enumerate(names):
        y = np.arange(documents) % classes
        rng.shuffle(y)
        rate = np.full((classes, features), 0.05)
        for c in range(classes):
            rate[c, c::classes] = 0.5
            rate[c, (c + shift) :: 7] += 0.2
        X = sp.csr_array(rng.poisson(rate[y]).astype(float))
        X.data *= rng.uniform(0.8, 1.2, X.nnz)  # avoid ties, which the order of rows would break
        Y = np.eye(classes)[y]
        seen = np.full(documents, shift == 0)
        view = X.toarray() if dense else X
        domains.append(Domain(name, (view,), np.where(seen[:, None], Y, 0), seen))
        truth.append(Y)
    labels = tuple("abcdefgh"[:classes])
    problem = Problem("made-up", "transfer", labels, tuple(domains))
    scored = tuple(~domain.seen for domain in domains)
    return problem, Truth("transfer", labels, tuple(names), tuple(truth), scored)


def make_clustering(
    seed: int = 0, *, classes: int = 2, documents: int = 40, features: int = 60, tasks: int = 2
) -> tuple[Problem, Truth]:
    """Return a small problem of several clustering tasks: `make_problem` without labels."""
    problem, truth = make_problem(
        seed, targets=tasks - 1, classes=classes, documents=documents, features=features
    )
    nothing = np.zeros(documents, bool)
    domains = tuple(
        Domain(f"task-{i + 1}", domain.views, np.zeros_like(Y), nothing)
        for i, (domain, Y) in enumerate(zip(problem.domains, truth.Y, strict=True))
    )
    names = tuple(domain.name for domain in domains)
    return (
        Problem("made-up", "clustering", problem.classes, domains),
        Truth("clustering", truth.classes, names, truth.Y, (~nothing,) * tasks),
    )


def make_multilabel(
    seed: int = 0,
    *,
    tasks: int = 2,
    views: int = 2,
    labels: int = 3,
    documents: int = 40,
    features: int = 30,
) -> tuple[Problem, Truth]:
    """Return a small multi-label problem: one or two labels a document, half of the rows seen."""
    # Labels prefer different features in each view; tasks differ a little. The first view is
    # sparse, the others are dense with ten features.
    rng = np.random.default_rng(seed)
    names = tuple(f"task-{i + 1}" for i in range(tasks))
    domains, truth = [], []
    for shift, name in enumerate(names):
        Y = np.eye(labels)[rng.integers(labels, size=documents)]
        Y = np.maximum(Y, np.eye(labels)[rng.integers(labels, size=documents)])
        found = []
        for j in range(views):
            rate = np.full((labels, features if j == 0 else 10), 0.05)
            for c in range(labels):
                rate[c, (c + j) % labels :: labels] = 1.0
                rate[c, (c + shift) :: 7] += 0.2
            X = rng.poisson(Y @ rate) * rng.uniform(0.8, 1.2, (documents, rate.shape[1]))
            found.append(X if j else sp.csr_array(X))
        seen = rng.permutation(np.arange(documents) % 2 == 0)
        domains.append(Domain(name, tuple(found), np.where(seen[:, None], Y, 0), seen))
        truth.append(Y)
    classes = tuple("abcdefgh"[:labels])
    problem = Problem("made-up", "multilabel", classes, tuple(domains))
    scored = tuple(~domain.seen for domain in domains)
    return problem, Truth("multilabel", classes, names, tuple(truth), scored)


MAKE: dict[Family, Callable[..., tuple[Problem, Truth]]] = {
    "transfer": make_problem,
    "clustering": make_clustering,
    "multilabel": make_multilabel,
}
#: Sizes of the problem of most checks, which has three domains.
PLAIN: dict[Family, dict[str, int]] = {
    "transfer": {"classes": 3, "targets": 2},
    "clustering": {"classes": 3, "tasks": 3},
    "multilabel": {"labels": 4, "documents": 60, "tasks": 3},
}


def plain_problem(family: Family) -> tuple[Problem, Truth]:
    """Return a new copy of the problem of most checks."""
    problem, truth = MAKE[family](**PLAIN[family])
    return replace(problem, name="plain"), truth


def labelled(
    problem: Problem, Y: np.ndarray, seen: np.ndarray, weights: np.ndarray | None = None
) -> Problem:
    """Return the problem with labels Y (n, c) of some documents of its last domain."""
    *domains, target = problem.domains
    target = replace(target, Y=Y * seen[:, None], seen=seen, label_weights=weights)
    return replace(problem, name="labels of the target", domains=(*domains, target))


def misleading(documents: int = 200) -> tuple[Problem, np.ndarray]:
    """Return a problem whose source misleads, and the labels (n, 2) of its target."""
    # Of the words of a class in the source, 30 have the same class in the target and 12 the other;
    # 18 further words tell the classes in the target alone.
    rng = np.random.default_rng(0)
    domains = []
    for source in (True, False):
        y = rng.permutation(np.arange(documents) % 2)
        rate = np.full((2, 60), 0.1)
        for c in range(2):
            rate[c, c:30:2] = 0.4
            rate[c, (30 + c if source else 31 - c) : 42 : 2] = 0.5
            rate[c, 42 + c :: 2] = 0.1 if source else 0.4
        X = rng.poisson(rate[y]) * rng.uniform(0.8, 1.2, (documents, 60))
        X /= np.linalg.norm(X, axis=1, keepdims=True).clip(1e-9)
        Y, seen = np.eye(2)[y], np.full(documents, source)
        name = "source" if source else "target"
        domains.append(Domain(name, (sp.csr_array(X),), Y * seen[:, None], seen))
    return Problem("misleading source", "transfer", ("a", "b"), tuple(domains)), Y


def signed() -> tuple[Problem, np.ndarray]:
    """Return a problem of words beside numbers of both signs, and the labels of its target."""
    # More than `graph.MANY_ENTRIES` numbers of a document are not zero.
    problem, truth = make_problem(classes=3, documents=60)
    rng = np.random.default_rng(1)
    means = 0.3 * rng.standard_normal((3, 120))
    domains = []
    for domain, Y in zip(problem.domains, truth.Y, strict=True):
        vectors = (means[Y.argmax(axis=1)] + rng.standard_normal((60, 120))) / 8
        view = sp.csr_array(sp.hstack([domain.X, sp.csr_array(vectors)]))
        domains.append(replace(domain, views=(view,), signed=True))
    return replace(problem, name="negative entries", domains=tuple(domains)), truth.Y[-1]


#: Changes (i, X, Y, seen) of domain i to (X, Y, seen), or to None, which leaves the domain out.
#: X is dense, (16, 24); Y has the labels of all documents, of which the unseen are hidden later.
Change = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Any]
ROW = np.arange(16)
ANY = slice(None)


def _put(rows: Any, columns: Any, value: float) -> Change:
    def change(i: int, X: np.ndarray, Y: np.ndarray, seen: np.ndarray) -> Any:
        X[rows, columns] = value
        return X, Y, seen

    return change


#: Problems at the limits. Those of the first part reach the most different code.
QUICK: dict[str, Change] = {
    "one class": lambda i, X, Y, s: (X, 0 * Y[:, :1] + 1, s),
    "no label in seen rows": lambda i, X, Y, s: (X, 0 * Y, s),
    "one document a domain": lambda i, X, Y, s: (X[:1], Y[:1], s[:1]),
    "all seen": lambda i, X, Y, s: (X, Y, s | True),
    "nothing seen": lambda i, X, Y, s: (X, Y, s & False),
    "half seen in each": lambda i, X, Y, s: (X, Y, ROW % 2 == 0),
    "only the first domain": lambda i, X, Y, s: None if i else (X, Y, s),
    "all zero": _put(ANY, ANY, 0),
    "one feature": lambda i, X, Y, s: (X[:, :1], Y, s),
    "largest floats": lambda i, X, Y, s: ((X > 0) * np.finfo(float).max, Y, s),
}
DEGENERATE: dict[str, Change] = QUICK | {
    "as it is": lambda i, X, Y, s: (X, Y, s),
    "classes without documents": lambda i, X, Y, s: (X, np.pad(Y, ((0, 0), (0, 3))), s),
    "more classes than documents": lambda i, X, Y, s: (X, np.pad(Y, ((0, 0), (0, 40))), s),
    "every row all labels": lambda i, X, Y, s: (X, 0 * Y + 1, s),
    "one document in the first": lambda i, X, Y, s: (X, Y, s) if i else (X[:1], Y[:1], s[:1]),
    "one document in the last": lambda i, X, Y, s: (X[:1], Y[:1], s[:1]) if i else (X, Y, s),
    "one labelled document": lambda i, X, Y, s: (X, Y, (ROW == 3) & (i == 0)),
    "all zero in the first": lambda i, X, Y, s: (X * (i > 0), Y, s),
    "all but one row zeros": _put(slice(1, None), ANY, 0),
    "all but one column zeros": _put(ANY, slice(1, None), 0),
    "one number": lambda i, X, Y, s: (np.eye(1, 384, 5).reshape(16, 24), Y, s),
    "no shared features": lambda i, X, Y, s: (np.hstack([X * (i == 0), X * (i > 0)]), Y, s),
    "no document shares a feature": lambda i, X, Y, s: (np.eye(16, 24), Y, s),
    "equal documents": lambda i, X, Y, s: (np.repeat(X[:1], 16, axis=0), Y, s),
    "equal features": lambda i, X, Y, s: (np.repeat(X[:, 2:3], 24, axis=1), Y, s),
    "many features": lambda i, X, Y, s: (np.tile(X, 60), Y, s),
    "one huge row": _put(1, ANY, 1e30),
    "one tiny row": _put(1, ANY, 1e-300),
    "least floats": lambda i, X, Y, s: ((X > 0) * 5e-324, Y, s),
}
#: Factors of all features. A model sees the first four; the others are scaled before the fit.
SCALES = (1e-10, 1e10, 1e-4, 1e4, 1e-20, 1e30, 1e-300, 1e300)


def changed(family: Family, case: str = "as it is") -> Problem:
    """Return a small problem whose entries are multiples of 1/8, after a change of its domains."""
    problem, truth = MAKE[family](documents=16, features=24)
    domains = []
    for i, (domain, Y) in enumerate(zip(problem.domains, truth.Y, strict=True)):
        dense = [np.ceil(8 * sp.csr_array(view).toarray()) / 8 for view in domain.views]
        if parts := DEGENERATE[case](i, dense[0], Y.copy(), domain.seen):
            X, Y, seen = parts
            views = (sp.csr_array(X), *(sp.csr_array(view[: len(seen)]) for view in dense[1:]))
            domains.append(Domain(domain.name, views, np.where(seen[:, None], Y, 0), seen))
    classes = tuple(f"class-{c}" for c in range(domains[0].Y.shape[1]))
    return Problem(case, problem.family, classes, tuple(domains))


def with_views(name: str, problem: Problem, change: Callable[[sp.csr_array], Any]) -> Problem:
    """Return the problem with another name and the first view of each domain changed."""
    domains = (replace(d, views=(change(d.X.copy()), *d.views[1:])) for d in problem.domains)
    return replace(problem, name=name, domains=tuple(domains))


def read_only(X: Any) -> Any:
    """Return a matrix whose arrays cannot be written."""
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.setflags(write=False)
    return X


#: Layouts that a domain keeps; it turns all others into one of these.
LAYOUTS: dict[str, Callable[[sp.csr_array], Any]] = {
    "dense, read-only": lambda X: read_only(X.toarray()),
    "float32": lambda X: X.astype(np.float32),
}


def _next(restore: Callable[[Any], None], draw: Callable[[], float]) -> Callable[[Any], None]:
    """Return a function that restores random numbers and draws one, so that no fit repeats them."""

    def both(state: Any) -> None:
        restore(state)
        draw()

    return both


#: What a fit leaves as it is in its process: how to read it, and how to restore it.
GLOBAL: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the current folder": (os.getcwd, os.chdir),
    "np.geterr()": (np.geterr, lambda state: np.seterr(**state)),
    "np.random": (np.random.get_state, _next(np.random.set_state, np.random.random)),
    "random": (random.getstate, _next(random.setstate, random.random)),
}


@contextmanager
def unchanged(problem: Problem, changed: dict[str, Problem]) -> Iterator[None]:
    """Undo what the block changes of the problem and of the process, and name it in `changed`."""
    before = deepcopy(problem)
    states = {name: read() for name, (read, _) in GLOBAL.items()}
    try:
        yield
    finally:
        for name, (read, restore) in GLOBAL.items():
            if repr(read()) != repr(states[name]):
                restore(states[name])
                changed.setdefault(name, before)
        one, two = content(before), content(problem)
        changed |= {name: before for name in one if one[name] != two.get(name)}
        problem.__dict__.update(before.__dict__)


def content(problem: Problem) -> dict[str, bytes]:
    """Return the entries of each array of a problem."""
    parts: dict[str, bytes] = {}
    for domain in problem.domains:
        for j, view in enumerate(domain.views):
            name = "X" if len(domain.views) == 1 else f"view {j}"
            parts[f"{name} of {domain.name}"] = _bytes(view)
        for name in ("Y", "seen", "label_weights"):
            parts[f"{name} of {domain.name}"] = _bytes(getattr(domain, name))
    return parts


def _bytes(A: Any) -> bytes:
    """Return the entries of a matrix; None has none."""
    if A is None:
        return b""
    return (A.toarray() if sp.issparse(A) else np.asarray(A)).tobytes()


def _equal_scores(one: Fit, two: Fit) -> bool:
    """Return True if two fits have the same scores to the last bit."""
    return [*map(_bytes, one.scores)] == [*map(_bytes, two.scores)]


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


class Broken(Exception):
    """What was tried and what came, where a model breaks a check."""

    def __init__(self, tried: str, got: str) -> None:
        super().__init__(tried, got)
        self.tried, self.got = tried, got


class Skipped(Exception):
    """Why a check does not apply to a model."""


def _require(holds: Any, tried: str, got: str) -> None:
    if not holds:
        raise Broken(tried, got)


@dataclass(frozen=True)
class CheckResult:
    """Result of one check of a model.

    Parameters
    ----------
    check
        Name of the check.
    status
        "ok", "failed" or "skipped".
    expected
        What the check expects of every model.
    tried, got
        What was done, and what came of it, if the check failed.
    problem
        The tiny problem of a failure: its name, family, domains, features and classes.
    note
        Why the check was skipped, or how the model passed it.
    """

    check: str
    status: Literal["ok", "failed", "skipped"]
    expected: str
    tried: str = ""
    got: str = ""
    problem: str = ""
    note: str = ""


@dataclass(frozen=True)
class Check:
    """One property of the contract; `test` raises Broken or Skipped, or returns a note."""

    name: str
    expected: str
    test: Callable[[Trial], str | None]
    #: Families of the models that it applies to.
    families: tuple[Family, ...]
    #: True if it needs a fit of the plain problem.
    needs_fit: bool


@dataclass
class Trial:
    """A model with the parameters and the fits of its checks."""

    model: str
    params: Mapping[str, object] = field(default_factory=dict)
    #: False to leave out the rarer problems at the limits, and the rarer scales.
    thorough: bool = True
    #: What the check `order` permutes; None for all, and for nothing if the model takes a seed.
    moved: frozenset[str] | None = None
    #: Accuracy with negative entries must be larger; guessing has 1/3.
    least_accuracy: float = 1 / 3 + 0.1
    #: The problem of the last fit.
    problem: Problem | None = None
    #: What the fits of a check have changed, with the problem; and what the plain fit changes,
    #: which the check `unchanged-input` reports.
    changed: dict[str, Problem] = field(default_factory=dict)
    usual: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        models.load.cache_clear()  # the author may have changed the file since the last check
        self.function = models.load(self.model)
        self.family = models.get(self.model).family
        self.values = parameters.resolve(self.function, self.params, self.model)

    def call(self, problem: Problem, threads: int = 1, watch: Watch | None = None) -> Any:
        """Return what the function of the model returns, which is not checked; None if it fails."""
        self.problem = problem
        arguments = inspect.signature(self.function).parameters
        optional = {"seed": SEED, "watch": watch}
        passed = {key: value for key, value in optional.items() if key in arguments}
        try:
            with (
                unchanged(problem, self.changed),
                use_threads(threads),
                redirect_stdout(sys.stderr),
            ):
                return deepcopy(self.function(problem, **self.values, **passed))
        except (Unavailable, KeyboardInterrupt):
            raise
        except BaseException:  # the check `scores` reports it
            return None

    def _fit(self, problem: Problem, seed: int = SEED) -> Fit:
        self.problem = problem
        with unchanged(problem, self.changed), redirect_stdout(sys.stderr):
            fit = deepcopy(models.fit(self.model, problem, self.values, seed=seed, watch=None))
        c = len(problem.classes)
        for domain, scores in zip(problem.domains, fit.scores, strict=True):
            got = f"scores of shape {scores.shape} for {domain.name}, expected one column a class"
            _require(scores.shape[1] == c, "a fit", got)
        return fit

    def fit(self, problem: Problem, seed: int = SEED) -> Fit:
        """Return a fit of a problem that the model must solve."""
        try:
            return self._fit(problem, seed)
        except (Unavailable, Broken, KeyboardInterrupt):
            raise
        except BaseException as error:  # a model may raise SystemExit
            values = "".join(f", {key}={value!r}" for key, value in self.values.items())
            tried, got = f"fit(problem{values})", reason(error)
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            sizes = [key for key, value in self.values.items() if type(value) is int]
            if isinstance(error, REFUSALS) and sizes and frame.f_code.co_name != "check_fit":
                got += "\nIf a size is too large for this problem, give a smaller one: "
                got += f"--set {sizes[0]}=…"
            raise Broken(tried, got) from error

    def solve(self, problem: Problem) -> tuple[Fit | None, str]:
        """Return the fit; None if it is refused with a line, and this line."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return self._fit(problem), ""
            except (Unavailable, Broken, KeyboardInterrupt):
                raise
            except BaseException as error:
                text = str(error).strip()
                clear = isinstance(error, REFUSALS) and text and "\n" not in text
                _require(clear, "a fit", f"{reason(error)}; expected a ValueError of one line")
                return None, text

    @cached_property
    def plain(self) -> tuple[Fit, Truth] | Broken:
        """The fit of the plain problem with its truth, or why there is none."""
        problem, truth = plain_problem(self.family)
        try:
            return self.fit(problem), truth
        except Broken as broken:
            broken.__traceback__ = None
            return broken
        finally:
            self.usual = frozenset(self.changed)

    @cached_property
    def repeats(self) -> bool:
        """True if another fit of the plain problem gives the same scores."""
        return _equal_scores(self.fit(plain_problem(self.family)[0]), self.fitted[0])

    @property
    def fitted(self) -> tuple[Fit, Truth]:
        """The fit of the plain problem with its truth; raise Broken if there is none."""
        self.problem = plain_problem(self.family)[0]
        if isinstance(self.plain, Broken):
            raise self.plain
        return self.plain

    def target(self) -> tuple[Problem, np.ndarray, np.ndarray]:
        """Return the plain problem, the labels (n, c) of its last target, and the rows to show."""
        fit, truth = self.fitted
        if fit.columns == "clusters":
            raise Skipped("the scores are of clusters, so the model learns no labels.")
        Y = truth.Y[-1]
        return plain_problem(self.family)[0], Y, np.arange(len(Y)) % 3 == 0

    def run(self, check: Check) -> CheckResult:
        """Return the result of a check."""
        result = partial(CheckResult, check.name, expected=check.expected)
        self.problem, self.changed = None, {}
        try:
            if self.family not in check.families:
                raise Skipped(f"it is a {self.family} model.")
            if check.needs_fit and isinstance(self.plain, Broken):
                raise Skipped(NO_FIT)
            if check.name in COMPARING and not self.repeats:
                raise Skipped("equal seeds give other scores; correct `same-seed` first.")
            note = check.test(self) or ""
            if check.needs_fit:
                self.require_unchanged(self.usual)
            return result(status="ok", note=note)
        except Skipped as skipped:
            return result(status="skipped", note=str(skipped))
        except Unavailable:
            raise
        except Exception as error:  # of `fit`, or of what it returned
            broken = error if isinstance(error, Broken) else Broken("the check", reason(error))
            on = _describe(self.problem) if self.problem else ""
            return result(status="failed", tried=broken.tried, got=broken.got, problem=on)

    def require_unchanged(self, usual: Iterable[str] = ()) -> None:
        """Raise Broken if the fits of this check have changed more than what is usual."""
        if wrong := [name for name in self.changed if name not in usual]:
            self.problem = self.changed[wrong[0]]
            remedy = "copy a matrix before you change it"
            if "np.random" in wrong or "random" in wrong:
                remedy = "draw from np.random.default_rng(seed)"
            elif not {*wrong}.isdisjoint(GLOBAL):
                remedy = "leave the process as it was"
            raise Broken("a fit", f"the model changed {', '.join(wrong)}; {remedy}")


def _describe(problem: Problem) -> str:
    """Return a problem and the seed of its fit in a line."""
    sizes = ", ".join(f"{domain.name} {len(domain.seen)}" for domain in problem.domains)
    features = " and ".join(f"{view.shape[1]}" for view in problem.domains[0].views)
    return (
        f'"{problem.name}", {problem.family}; documents: {sizes}; {features} features, '
        f"{len(problem.classes)} class{'es'[: 2 * (len(problem.classes) != 1)]}; seed {SEED}"
    )


#: The checks by name, in the order in which they run.
CHECKS: dict[str, Check] = {}


def _check(
    expected: str, families: tuple[Family, ...] = models.FAMILIES, needs_fit: bool = True
) -> Callable[[Callable[[Trial], str | None]], Callable[[Trial], str | None]]:
    """Return a decorator that adds a function to `CHECKS`, named as it is."""

    def decorate(test: Callable[[Trial], str | None]) -> Callable[[Trial], str | None]:
        name = test.__name__.strip("_").replace("_", "-")
        CHECKS[name] = Check(name, expected, test, families, needs_fit)
        return test

    return decorate


@_check(
    "A docstring opens with a sentence; then an indented block has what the model minimises.",
    needs_fit=False,
)
def _docstring(trial: Trial) -> None:
    if ":" in trial.model:
        raise Skipped("an estimator is described by its package.")
    path = models.get(trial.model).path
    module = ast.parse(path.read_bytes())
    places = [module, *(n for n in module.body if getattr(n, "name", "") == "fit")]
    text, margin = "", 0
    for node in reversed(places):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            text, margin = ast.get_docstring(node, clean=False) or "", node.body[0].col_offset
    first, _, rest = text.strip().partition("\n\n")
    tried = f"reading the docstring of {path.name}"
    _require(text, tried, "no docstring, neither of the module nor of `fit`")
    got = f"{first.splitlines()[0]!r}; write one line that ends with a full stop, then an empty one"
    _require(first.endswith(".") and "\n" not in first, tried, got)
    got = "the second paragraph is not indented; write the objective or the rule of decision there"
    _require(rest.startswith(" " * (margin + 4)), tried, got)


@_check(
    "Parameters are keyword-only, typed and described, and their defaults are of their types.",
    needs_fit=False,
)
def _parameters(trial: Trial) -> None:
    if ":" in trial.model:
        raise Skipped("the parameters of an estimator are those of its package.")
    tried = "reading the signature of `fit`"
    arguments = list(inspect.signature(trial.function).parameters.values())
    got = f"arguments {', '.join(a.name for a in arguments) or 'none'}; the first must be `problem`"
    _require(arguments and arguments[0].name == "problem", tried, got)
    for argument in arguments[1:]:
        got = f"{argument.name} is not keyword-only; write `*` before it"
        _require(argument.kind is argument.KEYWORD_ONLY, tried, got)
    described = parameters.descriptions(trial.function)
    for name, parameter in parameters.schema(trial.function).items():
        known = "Count, Weight, Positive, bool, Literal[…] or another of transferbench.parameters"
        got = f"{name} has no type that a command can read; use {known}"
        _require(parameters.describe_type(parameter.type), tried, got)
        _require(parameter.default is not inspect.Parameter.empty, tried, f"{name} has no default")
        try:
            converted = parameters.convert(parameter.default, parameter.type, name)
        except Exception as error:  # of pydantic, for a type that it does not know
            wrong = error if isinstance(error, UserError) else f"{name}: {reason(error)}"
            raise Broken(tried, f"type and default of {wrong}") from None
        got = f"the default of {name}, {parameter.default!r}, is read as {converted!r}"
        _require(converted == parameter.default, tried, got)
        got = f"{name} is not in a section Parameters of the docstring of `fit`, as numpydoc has it"
        _require(name in described, tried, got)


@_check(
    "Scores are finite, with a row for each document and a column for each class.", needs_fit=False
)
def _scores(trial: Trial) -> None:
    fit, _ = trial.fitted
    names = {"transfer": ("classes", "clusters"), "clustering": ("clusters",)}
    allowed = names.get(trial.family, ("classes",))
    got = f"columns={fit.columns!r} in the Fit; expected {' or '.join(allowed)}"
    _require(fit.columns in allowed, "a fit", got)


@_check("Decisions are better than guessing, in every target.")
def _better_than_guessing(trial: Trial) -> None:
    fit, truth = trial.fitted
    problem, _ = plain_problem(trial.family)
    measured = evaluate(fit, truth, problem)
    if trial.family == "transfer":
        for name, of in measured.items():
            got = f"accuracy {of['accuracy']:.2f} in {name}; expected more than 0.43, and guessing "
            _require(of["accuracy"] > 1 / 3 + 0.1, "a fit", f"{got}has 0.33")
    elif trial.family == "multilabel":
        all_labels = evaluate(Fit(tuple(np.ones_like(Y) for Y in truth.Y)), truth)
        ours, least = (
            float(np.mean([d["f1"] for d in of.values()])) for of in (measured, all_labels)
        )
        got = f"F1 {ours:.2f}; expected 0.1 more than that of all labels, {least:.2f}"
        _require(ours > least + 0.1, "a fit", got)
    else:  # random clusters match 0.42 of the documents
        got = "`explained` is not from 0 to 1"
        _require(all(0 <= d["explained"] <= 1 for d in measured.values()), "a fit", got)
        best = float(np.mean([d["accuracy"] for d in measured.values()]))
        for seed in range(3):
            if best <= 0.42:
                again = evaluate(trial.fit(problem, seed), truth).values()
                best = max(best, float(np.mean([d["accuracy"] for d in again])))
        got = f"accuracy {best:.2f}; expected more than 0.42, and random clusters have that"
        _require(best > 0.42, "fits with four seeds", got)


@_check(
    "Equal seeds give equal scores, with any number of threads, watched or not.", needs_fit=False
)
def _same_seed(trial: Trial) -> None:
    calls: list[tuple[int, int, int]] = []

    def watch(i: int, planned: int, of_domains: tuple[np.ndarray, ...]) -> None:
        calls.append((i, planned, len(of_domains)))

    fits: list[Fit] = []
    for threads, watched in ((1, None), (1, watch), (2, None)):
        problem, _ = plain_problem(trial.family)
        if threads > 1:
            trial = replace(trial)  # reads a file again, without what its first fit has kept
        fit = trial.call(problem, threads, watched)
        if not (isinstance(fit, Fit) and isinstance(fit.scores, tuple | list)):
            raise Skipped(NO_FIT)
        fits.append(fit)
    first = fits[0]
    for fit, tried in (
        (fits[1], "two fits, one of them watched"),
        (fits[2], "two fits, with 1 and 2 threads"),
    ):
        got = "other scores; draw every random number from np.random.default_rng(seed)"
        if not parameters.takes_seed(trial.function):
            got += ", and give `fit` the argument `seed: int`"
        _require(_equal_scores(first, fit), tried, got)
        _require(np.array_equal(fit.trace, first.trace), tried, "another trace of the objective")
    expected = [(i + 1, len(calls), len(problem.domains)) for i in range(len(calls))]
    _require(
        calls == expected and len(calls) == len(first.trace),
        "a fit watched",
        f"watch was called {counted(len(calls), 'time')} for a trace of {len(first.trace)}; "
        "expected watch(i, planned, scores) after each iteration i = 1 … planned, and its "
        "objective in the trace",
    )


@_check(
    "The model changes neither the problem nor the folder, np.geterr() and random state outside.",
    needs_fit=False,
)
def _unchanged_input(trial: Trial) -> None:
    fit = trial.call(plain_problem(trial.family)[0])
    trial.require_unchanged()
    if not isinstance(fit, Fit):
        raise Skipped(NO_FIT)


@_check("Documents, features, classes and domains in another order give the same scores in it.")
def _order(trial: Trial) -> None:
    problem, _ = plain_problem(trial.family)
    if (moved := trial.moved) is None:
        if not _equal_scores(trial.fitted[0], trial.fit(problem, SEED + 1)):
            raise Skipped("a start that is drawn by a seed may depend on the order.")
        moved = ORDERS
    _require_order(trial, problem, trial.fitted[0], moved)
    if trial.family == "transfer" and trial.fitted[0].columns == "classes":
        problem, Y, seen = trial.target()
        weights = 1 + np.arange(len(Y)) % 4 / 1.5
        problem = labelled(problem, Y, seen, weights)
        _require_order(trial, problem, trial.fit(problem), moved)


def _require_order(trial: Trial, problem: Problem, plain: Fit, moved: frozenset[str]) -> None:
    rng = np.random.default_rng(5)
    n, m, c = len(problem.domains), len(problem.domains[0].seen), len(problem.classes)
    columns = np.random.default_rng(6).permutation(problem.domains[0].X.shape[1])
    rows = [rng.permutation(m) if "documents" in moved else np.arange(m) for _ in range(n)]
    classes = rng.permutation(c) if "classes" in moved else np.arange(c)
    places = [0, *range(n - 1, 0, -1)] if "domains" in moved else range(n)
    domains = []
    for domain, take in zip(problem.domains, rows, strict=True):
        taken = domain.take(take)
        views = [sp.csr_array(view) for view in taken.views]
        views[0] = views[0][:, columns] if "features" in moved else views[0]
        domains.append(replace(taken, views=tuple(views), Y=taken.Y[:, classes]))
    names = tuple(problem.classes[j] for j in classes)
    fit = trial.fit(replace(problem, classes=names, domains=tuple(domains[i] for i in places)))
    expected = Fit(tuple(plain.scores[i][rows[i]][:, classes] for i in places))
    tried = f"two fits, one with another order of {', '.join(sorted(moved))}"
    if trial.family == "multilabel":  # fine-tuning magnifies rounding
        count = different(expected, fit, trial.family)
        _require(not count, tried, f"{counted(count, 'other decision')}")
        return
    for i, one, two in zip(places, expected.scores, fit.scores, strict=True):
        worst = float(np.max(np.abs(one - two) - 2e-3 * np.abs(two)))
        got = f"scores of {problem.domains[i].name} differ by up to {worst:.2g}"
        _require(worst <= 2e-3, tried, got)


@_check(
    "Labels of a target decide its labelled documents, and change others.", families=("transfer",)
)
def _target_labels(trial: Trial) -> None:
    _, Y, seen = trial.target()
    others = []
    for name, labels in (("right", Y), ("wrong", np.roll(Y, 1, axis=1))):
        problem = labelled(plain_problem(trial.family)[0], labels, seen)
        scores = trial.fit(problem).scores[-1]
        wrong = int(np.sum((scores.argmax(axis=1) != labels.argmax(axis=1))[seen]))
        tried = f"a fit with {name} labels of {seen.sum()} documents of {problem.domains[-1].name}"
        got = f"{wrong} of these documents have another class; give each the class of its label"
        _require(not wrong, tried, got)
        others.append(scores[~seen])
    got = "equal scores of the other documents; learn from each labelled document, `domain.seen`"
    _require((others[0] != others[1]).any(), "two fits, with right and with wrong labels", got)


@_check("Weights of labels count, and weights of 1 change no digit.", families=("transfer",))
def _label_weights(trial: Trial) -> None:
    _, Y, few = trial.target()
    # Each labelled document is there twice, with two labels: no margin can be hard.
    rows = np.r_[np.arange(len(Y)), np.flatnonzero(few)]
    seen, copies = np.r_[few, few[few]], np.arange(len(rows)) >= len(Y)
    Y = np.where(copies[:, None], np.roll(Y, 1, axis=1)[rows], Y[rows])
    fits = []
    for weights in (None, np.ones(len(rows)), np.where(copies, 1e3, 7.0), np.where(copies, 7, 1e3)):
        *domains, target = plain_problem(trial.family)[0].domains
        problem = replace(plain_problem(trial.family)[0], domains=(*domains, target.take(rows)))
        fits.append(trial.fit(labelled(problem, Y, seen, weights)).scores[-1])
    plain, one, *heavy = fits
    got = "other scores; use no weights if each is 1"
    _require(plain.tobytes() == one.tobytes(), "two fits, without weights and with weights 1", got)
    # The labels of the copies are heavier in the first fit, the true ones in the second.
    copied, true = (float(np.sum((S * (np.roll(Y, 1, axis=1) - Y))[~seen])) for S in heavy)
    got = "the heavier label counts no more; weigh each label by `domain.label_weights`"
    tried = "two fits with two labels of a document, of weights 1000 and 7, and the other way round"
    _require(copied > true, tried, got)


@_check("More labels of a target do no harm where the source misleads.", families=("transfer",))
def _more_labels(trial: Trial) -> None:
    trial.target()  # skips models of clusters
    # The bound is two standard errors of a difference of accuracies if one document in ten changes.
    # Logistic regression has 64 per cent without labels.
    accuracies = []
    for count in (0, 20, 60):
        problem, Y = misleading()
        problem = labelled(problem, Y, np.arange(len(Y)) < count)
        decided = trial.fit(replace(problem, name="misleading source")).scores[-1].argmax(axis=1)
        accuracies.append(float(np.mean((decided == Y.argmax(axis=1))[60:])))
    least = -2 * np.sqrt(0.1 / (len(Y) - 60))
    got = f"accuracies of the others {', '.join(f'{a:.2f}' for a in accuracies)}; expected no fall"
    _require(
        (np.diff(accuracies) > least).all(), "fits with 0, 20 and 60 labels of the target", got
    )


@_check("Problems at the limits are solved, or refused with a ValueError of one line.")
def _degenerate(trial: Trial) -> str:
    broken, first = [], None
    refused, cases = 0, DEGENERATE if trial.thorough else QUICK
    for case in cases:
        try:
            problem = changed(trial.family, case)
        except ValueError:  # refused by Problem
            continue
        try:
            fit, text = trial.solve(problem)
            refused += fit is None
            _require(fit or case != "as it is", "a fit", f"refused: {text}; expected a fit")
        except Broken as error:
            first = first or problem
            broken.append(f"{case}: {error.got}")
    trial.problem = first
    _require(not broken, f"fits of {len(cases)} problems", "\n".join(broken))
    return f"refused {refused} of {len(cases)}" if refused else ""


@_check("Very small or large features are solved, or refused with a ValueError of one line.")
def _extreme_scale(trial: Trial) -> None:
    for factor in SCALES if trial.thorough else SCALES[:2]:
        name = f"all features times {factor:g}"
        trial.solve(with_views(name, changed(trial.family), partial(operator.mul, factor)))


@_check("Sparse, dense, read-only and float32 matrices give the same decisions.")
def _layouts(trial: Trial) -> None:
    plain = _reference(trial)
    for layout, change in LAYOUTS.items():
        fit, text = trial.solve(with_views(layout, changed(trial.family), change))
        tried = f"two fits, sparse and {layout}"
        if fit is None:
            raise Broken(tried, text)
        count = different(plain, fit, trial.family)
        # Scores of 0 and 1 hide near ties: one document may change by the rounding of float32.
        one_hot = all(np.isin(S, (0, 1)).all() for S in plain.scores)
        _require(
            count <= (one_hot and layout == "float32"), tried, counted(count, "other decision")
        )


def _reference(trial: Trial) -> Fit:
    """Return the fit of the small problem without a change."""
    fit, text = trial.solve(with_views("small", changed(trial.family), read_only))
    if fit is None:
        raise Broken("a fit", text)
    return fit


@_check(
    "Negative features are accepted, or refused with a ValueError of one line.",
    families=("transfer",),
)
def _negative_entries(trial: Trial) -> str:
    trial.target()  # skips models of clusters
    for count in (0, 12):
        problem, Y = signed()
        problem = replace(labelled(problem, Y, np.arange(60) < count), name=problem.name)
        fit, text = trial.solve(problem)
        if fit is None:
            return f"refused: {text}"
        accuracy = float(np.mean(fit.scores[-1].argmax(axis=1) == Y.argmax(axis=1)))
        tried = f"a fit with {counted(count, 'label')} of the target"
        got = f"accuracy {accuracy:.2f}; expected more than {trial.least_accuracy:.2f}"
        _require(accuracy > trial.least_accuracy, tried, got)
    return "accepted"


def run_checks(
    model: str,
    only: Iterable[str] = (),
    params: Mapping[str, object] | None = None,
    on_start: Callable[[str], None] = lambda name: None,
) -> Iterator[CheckResult]:
    """Yield the result of each check of a model, or of the checks with some names, as it ends."""
    names = [*(only or CHECKS)]
    for name in names:
        if name not in CHECKS:
            raise unknown("check", name, CHECKS)
    on_start(names[0])
    trial, reported = Trial(model, params or {}), "scores" in names
    for name in names:
        on_start(name)
        if not reported and CHECKS[name].needs_fit and isinstance(trial.plain, Broken):
            yield trial.run(CHECKS["scores"])
            reported = True
        yield trial.run(CHECKS[name])


def check_model(
    model: str,
    /,
    *,
    only: Sequence[str] = (),
    on_fail: Literal["raise", "return"] = "raise",
    **params: Any,
) -> list[CheckResult]:
    """Check that a model keeps the contract of all models, on tiny problems.

        transferbench.check_model("./mymodel.py", k=6)

    It is meant for a test of your own method. `transferbench check` prints the same.

    Parameters
    ----------
    model
        Name of a model, or path of a Python file with a function `fit`; its code is run.
    only
        Names of checks (`transferbench check --list`); all by default.
    on_fail
        Whether a failed check raises an error, or all results are returned.
    **params
        Parameters of the model, if its defaults are too large for problems of 40 documents.

    Returns
    -------
    list of CheckResult
        Results with a name (`check`), a `status` ("ok", "failed" or "skipped") and what was
        expected.

    Raises
    ------
    AssertionError
        If a check fails; the message has what was tried, what was expected and what came.
    UserError
        If the model, a parameter or a check is unknown, or a value is invalid.
    """
    results = list(run_checks(model, only, params))
    failed = [result for result in results if result.status == "failed"]
    if failed and on_fail == "raise":
        lines = [line for result in failed for line in report(result)]
        raise AssertionError("\n".join([f"{model} breaks {len(failed)} checks:", *lines]))
    return results


def report(result: CheckResult) -> list[str]:
    """Return a result as lines: its status, and what a failed check tried, expected and got."""
    if result.status != "failed":
        note = f" ({result.note})" if result.note else ""
        what = result.note if result.status == "skipped" else f"{result.expected}{note}"
        return [f"{result.status:8} {result.check:21} {what}"]
    lines = [f"FAILED   {result.check}"]
    for title in ("expected", "tried", "got", "problem"):
        title_of_line = title
        for line in getattr(result, title).splitlines():
            lines.append(f"         {title_of_line:9} {line}")
            title_of_line = ""
    return lines


def main(request: str) -> None:
    """Run checks in a process of its own, and print each start and result as a line of JSON."""
    lines, process = os.fdopen(os.dup(1), "w", encoding="utf-8"), os.getpid()
    os.dup2(2, 1)  # what the model prints

    def send(message: object) -> None:
        if os.getpid() != process:  # the model has copied it, and let the copy return
            os._exit(1)
        print(json.dumps(message), file=lines, flush=True)

    try:
        model, only, params = json.loads(request)
        for result in run_checks(model, only, params, on_start=send):
            send(asdict(result))
        send([])
    except UserError as error:
        send([str(error)])


if __name__ == "__main__":
    main(sys.argv[1])
