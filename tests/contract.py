"""Cases of the contract of every model: problems, layouts of matrices, and what a fit may do.

A model returns finite scores of the right shape, or raises one of `REFUSALS` with one clear line.
The layout of a matrix, the order of documents and an extreme scale change no decision, unless a
warning says so. Inputs stay as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, get_origin

import numpy as np
import scipy.sparse as sp
from conftest import make_clustering, make_multilabel, make_problem

import transferbench
from transferbench import models, parameters
from transferbench.errors import Unavailable, UserError
from transferbench.problem import Domain, Fit, Problem

MAKE = {"transfer": make_problem, "clustering": make_clustering, "multilabel": make_multilabel}
ALL = list(models.registry())
#: Models with random starts that depend on the positions of documents, and NMF.
POSITIONS = {"nmf", *(m.name for m in models.registry().values() if m.family == "clustering")}
#: Models with one-hot scores, which hide near ties: compared with a fit of the same precision.
ONE_HOT = {"ncut"}
#: Sizes for small problems; the defaults of models are too large.
SMALL = {
    **{"k": 6, "kappa": 3, "k1": 3, "k2": 6, "k3": 2, "b": 4.0, "r": 6, "sigma": 4.0, "p": 4},
    "tol": 1e-4,  # of TSVM; with its default the order of documents moves the scores a little
}
#: The same for multi-label models, whose p and q are lists.
SMALL_LAYERS = {"p": [6], "q": [6]}
#: Few iterations, for problems that only have to be solved somehow.
FEW = {"max_iter": 8, "components": 5, "pretrain": 4, "start_iter": 4}
FEW_MODEL = {
    **{"tsvm": {"start": 0.1}, "mtfl": {"epsilon": [1e-2, 1e-6]}},
    **{"himls": {"alpha": [0.1]}, "himlsd": {"alpha": [0.1]}},
}
#: Baselines, which need optional libraries for some settings.
EXTRAS = {"coral", "jdot", "ot-mapping", "dense-lr", "dense-lr-kmeans", "sa", "tca"}
#: What a model may raise, all with a clear sentence.
REFUSALS = (ValueError, UserError, FloatingPointError)

Part = tuple[str, Sequence[Any], Any, Any]


@dataclass(frozen=True)
class Raw:
    """Parts of a problem, possibly invalid; each domain is (name, views, Y, seen)."""

    family: str
    classes: tuple[str, ...]
    domains: tuple[Part, ...]

    def build(self) -> Problem:
        domains = (Domain(name, tuple(views), Y, seen) for name, views, Y, seen in self.domains)
        return Problem("contract", self.family, self.classes, tuple(domains))

    def views(self, change: Callable[[Any], Any], only: int | None = None, view: int = 0) -> Raw:
        """Change one view of all domains, or of only one."""
        domains = []
        for i, (name, views, Y, seen) in enumerate(self.domains):
            views = list(views)
            if only in (None, i):
                views[view] = change(views[view])
            domains.append((name, views, Y, seen))
        return replace(self, domains=tuple(domains))

    def rows(self, choose: Callable[[int, Any], Any]) -> Raw:
        """Take the rows choose(i, seen) of each domain."""
        domains = []
        for i, (name, views, Y, seen) in enumerate(self.domains):
            take = choose(i, seen)
            domains.append((name, [view[take] for view in views], Y[take], seen[take]))
        return replace(self, domains=tuple(domains))

    def labels(self, change: Callable[[Any, Any], Any], only: int | None = None) -> Raw:
        """Replace Y by change(Y, seen) in all domains, or in only one."""
        domains = [
            (name, views, change(Y, seen) if only in (None, i) else Y, seen)
            for i, (name, views, Y, seen) in enumerate(self.domains)
        ]
        return replace(self, domains=tuple(domains))


def base(family: str, values: str = "eighths", **size: Any) -> Raw:
    """Return a small valid problem whose numbers are exact in every type that can hold them.

    values: multiples of 1/8, "whole" numbers, or "bits".
    """
    rounding = {
        "eighths": lambda X: np.ceil(8 * X) / 8,
        "whole": np.ceil,
        "bits": lambda X: (X > 0).astype(float),
    }[values]
    given = {"documents": 16, "features": 24} | size
    problem, _ = MAKE[family](**given)
    domains = [
        (d.name, [sp.csr_array(rounding(sp.csr_array(v).toarray())) for v in d.views], d.Y, d.seen)
        for d in problem.domains
    ]
    return Raw(family, problem.classes, tuple(domains))


# Problems


def hostile() -> dict[str, Callable[[str], Raw]]:
    """Return problems that no model can take, by what is wrong with them."""

    def put(value: float, *, dense: bool = False, view: int = 0) -> Callable[[str], Raw]:
        def change(X: Any) -> Any:
            X = X.toarray() if sp.issparse(X) else np.array(X)
            X[1, 1] = value
            return X if dense else sp.csr_array(X)

        def make(family: str) -> Raw:
            raw = base(family)
            if view:
                pairs = [(n, [v[0], v[0].toarray()], Y, s) for n, v, Y, s in raw.domains]
                raw = replace(raw, domains=tuple(pairs))
            return raw.views(change, only=0, view=view)

        return make

    def label(value: float) -> Callable[[str], Raw]:
        def change(Y: Any, seen: Any) -> Any:
            Y = Y.copy()
            Y[np.flatnonzero(seen)[:1] if seen.any() else 0, 0] = value
            return Y

        return lambda family: base(family).labels(change, only=0)

    def parts(change: Callable[[list[Part]], Any]) -> Callable[[str], Raw]:
        def make(family: str) -> Raw:
            raw = base(family)
            return replace(raw, domains=tuple(change(list(raw.domains))))

        return make

    def first(change: Callable[..., Part]) -> Callable[[str], Raw]:
        return parts(lambda domains: [change(*domains[0]), *domains[1:]])

    cases = {}
    for name, value in {"NaN": np.nan, "infinity": np.inf, "negative": -1.0}.items():
        cases |= {f"{name} in X": put(value), f"{name} in a dense X": put(value, dense=True)}
        cases[f"{name} in Y"] = label(value)
        if name != "negative":
            cases[f"{name} in the second view"] = put(value, dense=True, view=1)
    wide = lambda n, v, Y, s: (n, v, np.hstack([Y, Y[:, :1] * 0]), s)  # noqa: E731
    return cases | {
        "two domains of one name": parts(lambda ds: [("same", *d[1:]) for d in ds]),
        "a class too few": lambda f: replace(base(f), classes=base(f).classes[:-1]),
        "a class too many": lambda f: replace(base(f), classes=(*base(f).classes, "more")),
        "two classes of one name": lambda f: replace(
            base(f), classes=("a",) * len(base(f).classes)
        ),
        "more columns of Y in a domain": first(wide),
        "fewer features in a domain": lambda f: base(f).views(lambda X: X[:, :9], only=0),
        "more views in a domain": first(lambda n, v, Y, s: (n, [*v, v[0]], Y, s)),
        "Y of rank one": first(lambda n, v, Y, s: (n, v, Y[:, 0], s)),
        "X of rank one": first(lambda n, v, Y, s: (n, [np.ones(len(s))], Y, s)),
        "X of rank three": first(lambda n, v, Y, s: (n, [v[0].toarray()[:, :, None]], Y, s)),
        "complex X": first(lambda n, v, Y, s: (n, [v[0].astype(complex)], Y, s)),
        "words in X": first(lambda n, v, Y, s: (n, [v[0].toarray().astype(str)], Y, s)),
        "too few rows of X": first(lambda n, v, Y, s: (n, [v[0][:5]], Y, s)),
        "too few rows of Y": first(lambda n, v, Y, s: (n, v, Y[:5], s)),
        "labels on unseen rows": parts(lambda ds: [(n, v, Y + 1, s & False) for n, v, Y, s in ds]),
        "indices as seen": first(lambda n, v, Y, s: (n, v, Y, np.arange(len(s)))),
        "no domain": parts(lambda ds: []),
        "a domain without documents": lambda f: base(f).rows(lambda i, s: slice(0, 16 * i)),
        "no features": lambda f: base(f).views(lambda X: X[:, :0]),
    }


def one_label(Y: Any, seen: Any) -> Any:
    return np.where(seen[:, None], np.eye(Y.shape[1])[np.zeros(len(Y), int)], 0.0)


def degenerate() -> dict[str, Callable[[str], Raw]]:
    """Return problems at the limits: a model solves them or refuses them in a clear line."""

    def views(change: Callable[[Any], Any], only: int | None = None) -> Callable[[str], Raw]:
        return lambda family: base(family).views(change, only)

    def dense(change: Callable[[np.ndarray], Any], only: int | None = None) -> Callable[[str], Raw]:
        return views(lambda X: sp.csr_array(change(X.toarray().copy())), only)

    def rows(choose: Callable[[int, Any], Any]) -> Callable[[str], Raw]:
        return lambda family: base(family).rows(choose)

    def seen(change: Callable[[int, Any], Any]) -> Callable[[str], Raw]:
        def make(family: str) -> Raw:
            raw, (_, truth) = base(family), MAKE[family](documents=16, features=24)
            domains = []
            for i, (name, v, _, s) in enumerate(raw.domains):
                s = np.asarray(change(i, s), bool)
                domains.append((name, v, np.where(s[:, None], truth.Y[i], 0.0), s))
            return replace(raw, domains=tuple(domains))

        return make

    def columns(classes: int) -> Callable[[str], Raw]:
        def make(family: str) -> Raw:
            raw = base(family)
            c = len(raw.classes)
            change = lambda Y, s: np.hstack([Y, np.zeros((len(Y), max(0, classes - c)))])  # noqa: E731
            raw = raw.labels(lambda Y, s: change(Y, s)[:, :classes] if classes >= c else Y)
            return replace(raw, classes=tuple(f"class-{i}" for i in range(classes)))

        return make

    def one_class(family: str) -> Raw:
        raw = base(family).labels(lambda Y, s: s[:, None].astype(float))
        return replace(raw, classes=("only",))

    def only(part: slice) -> Callable[[str], Raw]:
        return lambda f: replace(base(f), domains=base(f).domains[part])

    def line(rows: Any, columns: Any, value: float) -> Callable[[np.ndarray], np.ndarray]:
        def change(X: np.ndarray) -> np.ndarray:
            X[rows, columns] = value
            return X

        return change

    everything, n = slice(None), 16
    disjoint = lambda X: np.hstack([X, 0 * X])  # noqa: E731
    return {
        "as it is": base,
        "one class": one_class,
        "one class labelled": lambda f: base(f).labels(one_label),
        "classes without documents": columns(6),
        "more classes than documents": columns(40),
        "no label in seen rows": lambda f: base(f).labels(lambda Y, s: 0 * Y),
        "labels of weight 1/2": lambda f: base(f).labels(lambda Y, s: Y / 2),
        "labels of weight 2": lambda f: base(f).labels(lambda Y, s: Y * 2),
        "every row two labels": lambda f: base(f).labels(lambda Y, s: 0 * Y + s[:, None]),
        "one document a domain": rows(lambda i, s: [0]),
        "one document in the last": rows(lambda i, s: [0] if i else slice(None)),
        "one document in the first": rows(lambda i, s: slice(None) if i else [0]),
        "two documents a domain": rows(lambda i, s: [0, 1]),
        "three documents a domain": rows(lambda i, s: [0, 1, 2]),
        "one labelled document": seen(lambda i, s: (np.arange(n) == 3) & (i == 0)),
        "two labelled documents": seen(lambda i, s: (np.arange(n) < 2) & (i == 0)),
        "one unlabelled document": seen(lambda i, s: (np.arange(n) != 3) | (i == 0)),
        "all seen": seen(lambda i, s: s | True),
        "nothing seen": seen(lambda i, s: s & False),
        "half seen in each": seen(lambda i, s: np.arange(n) % 2 == 0),
        "half seen in the last": seen(lambda i, s: (np.arange(n) % 2 == 0) | (i == 0)),
        "only the first domain": only(slice(0, 1)),
        "only the last domain": only(slice(-1, None)),
        "all zero": dense(lambda X: 0 * X),
        "all zero, dense": views(lambda X: 0 * X.toarray()),
        "all zero in the first": dense(lambda X: 0 * X, only=0),
        "all zero in the last": dense(lambda X: 0 * X, only=1),
        "a row of zeros": dense(line(2, everything, 0)),
        "half the rows zeros": dense(line(slice(0, None, 2), everything, 0)),
        "all but one row zeros": dense(line(slice(1, None), everything, 0)),
        "a column of zeros": dense(line(everything, 2, 0)),
        "half the columns zeros": dense(line(everything, slice(0, None, 2), 0)),
        "all but one column zeros": dense(line(everything, slice(1, None), 0)),
        "one feature": views(lambda X: X[:, :1]),
        "two features": views(lambda X: X[:, :2]),
        "one number": dense(lambda X: (np.arange(X.size) == 5).reshape(X.shape) * 1.0),
        "no shared features": lambda f: (
            base(f)
            .views(lambda X: sp.csr_array(disjoint(X.toarray())), only=0)
            .views(lambda X: sp.csr_array(disjoint(X.toarray())[:, ::-1]), only=1)
        ),
        "no document shares a feature": dense(lambda X: np.eye(len(X), 32)),
        "equal documents": dense(lambda X: np.repeat(X[:1], len(X), axis=0)),
        "pairs of equal documents": dense(lambda X: X[np.arange(len(X)) // 2]),
        "equal features": dense(lambda X: np.repeat(X[:, 2:3], X.shape[1], axis=1)),
        "all ones": dense(lambda X: 0 * X + 1),
        "the same documents in all domains": lambda f: base(f).views(
            lambda X: base(f).domains[0][1][0]
        ),
        "many features": views(lambda X: sp.csr_array(sp.hstack([X] * 60))),
        "one huge number": dense(line(1, 1, 1e30)),
        "one huge row": dense(line(1, everything, 1e30)),
        "one huge column": dense(line(everything, 1, 1e30)),
        "one tiny row": dense(line(1, everything, 1e-300)),
        "largest floats": dense(lambda X: (X > 0) * np.finfo(float).max),
        "least floats": dense(lambda X: (X > 0) * 5e-324),
    }


#: Factors of X, by the type of X.
SCALES = {
    "float64": tuple(
        10.0**e
        for e in (-300, -100, -60, -30, -20, -10, -7, -4, 4, 7, 10, 15, 20, 30, 60, 100, 300)
    ),
    "float32": (1e-38, 1e-30, 1e-20, 1e-10, 1e-4, 1e4, 1e10, 1e19, 1e30, 1e36),
}


def scaled() -> dict[str, Callable[[str], Raw]]:
    """Return a problem with X in many scales."""

    def make(dtype: str, factor: float) -> Callable[[str], Raw]:
        return lambda family: base(family).views(lambda X: (X * factor).astype(dtype))

    return {f"X · {f:g} in {t}": make(t, f) for t, factors in SCALES.items() for f in factors}


# Layouts


def read_only(X: Any) -> Any:
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.setflags(write=False)
    return X


def wide_indices(X: Any, which: str = "both") -> Any:
    X = sp.csr_array(X)
    X.indptr = X.indptr.astype(np.int64)
    if which == "both":
        X.indices = X.indices.astype(np.int64)
    return X


def unsorted(X: Any) -> Any:
    X = sp.csr_array(X, copy=True)
    for start, end in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[start:end] = X.indices[start:end][::-1].copy()
        X.data[start:end] = X.data[start:end][::-1].copy()
    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def doubled(X: Any) -> Any:
    """Split each entry into two of the same place, with the same sum."""
    X = sp.csr_array(X)
    half = X.data if X.dtype == bool else (X.data / 2 if X.dtype.kind == "f" else X.data * 0 + 1)
    rest = X.data if X.dtype == bool else X.data - half
    data = np.stack([half, rest], axis=1).ravel().astype(X.dtype)
    return sp.csr_array((data, np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def with_zeros(X: Any) -> Any:
    """Store zeros, one in each row that has place."""
    dense = sp.csr_array(X).toarray()
    rows, columns = np.nonzero((dense != 0) | (np.arange(dense.shape[1]) % 5 == 0))
    starts = np.searchsorted(rows, np.arange(len(dense) + 1))
    return sp.csr_array((dense[rows, columns], columns, starts), shape=dense.shape)


FORMS: dict[str, Callable[[Any], Any]] = {
    "C": lambda X: X.toarray(),
    "F": lambda X: np.asfortranarray(X.toarray()),
    "strided": lambda X: np.repeat(X.toarray(), 2, axis=1)[:, ::2],
    "reversed": lambda X: X.toarray()[::-1, ::-1].copy()[::-1, ::-1],
    "np.matrix": lambda X: np.asmatrix(X.toarray()),
    "C, read-only": lambda X: read_only(X.toarray()),
    **{
        f"{name}_{kind}": (lambda X, make=getattr(sp, f"{name}_{kind}"): make(X))
        for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
        for kind in ("array", "matrix")
    },
    "csr, 64-bit": wide_indices,
    "csr, 64-bit indptr": lambda X: wide_indices(X, "indptr"),
    "csr, unsorted": unsorted,
    "csr, duplicates": doubled,
    "csr, stored zeros": with_zeros,
    "csr, read-only": lambda X: read_only(sp.csr_array(X, copy=True)),
    "csr, unsorted, read-only": lambda X: read_only(unsorted(X)),
    "csr, duplicates, read-only": lambda X: read_only(doubled(X)),
    "csr, unsorted, 64-bit": lambda X: wide_indices(unsorted(X)),
    "coo, duplicates": lambda X: doubled(X).tocoo(),
}  # fmt: skip
#: Type → values that it holds exactly.
DTYPES = {
    **dict.fromkeys(("float64", "float32", "float16", ">f8", ">f4", "longdouble"), "eighths"),
    **dict.fromkeys(("int64", "int32", "int16", "int8", "uint64", "uint16", "uint8"), "whole"),
    "bool": "bits",
}


def layouts() -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """Yield name, values and change of X for every type and form that SciPy can make."""
    for dtype, values in DTYPES.items():
        for form, change in FORMS.items():

            def make(X: Any, change: Any = change, dtype: str = dtype, form: str = form) -> Any:
                if "C" in form.split(",") or form in ("F", "strided", "reversed", "np.matrix"):
                    dense = X.toarray().astype(dtype)
                    return change(_Dense(dense))
                return change(X.astype(dtype))

            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    make(base("transfer", values).domains[0][1][0])
            except (TypeError, ValueError):
                continue  # SciPy has no such matrix
            yield f"{dtype}, {form}", values, make


@dataclass(frozen=True)
class _Dense:
    """A dense matrix that `FORMS` takes as a sparse one."""

    X: np.ndarray

    def toarray(self) -> np.ndarray:
        return self.X.copy()


# Fits


@dataclass
class Outcome:
    """What happened: the fit if there is one, what was raised, and what is wrong with it."""

    fit: Fit | None = None
    error: BaseException | None = None
    warned: list[str] = field(default_factory=list)
    wrong: str = ""


def small_params(name: str, *, few: bool = True) -> dict[str, Any]:
    """Return sizes for small problems and, with `few`, few iterations."""
    sizes = SMALL_LAYERS if models.get(name).family == "multilabel" else SMALL
    given = sizes | (FEW | FEW_MODEL.get(name, {}) if few else {})
    return {k: v for k, v in given.items() if k in parameters.schema(models.load(name))}


def attempt(name: str, raw: Raw, **changes: Any) -> Outcome:
    """Fit a model to a case; return what happened. Unavailable is raised."""
    before = [digest(domain) for domain in raw.domains]
    outcome = Outcome()
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            problem = raw.build()
            fit = transferbench.fit(name, problem, seed=3, **(small_params(name) | changes))
            outcome.fit = fit
            outcome.wrong = wrong_scores(fit, raw)
        except Unavailable:
            raise
        except REFUSALS as error:
            outcome.error = error
            text = f"{error}"
            if not text or "\n" in text.strip():
                outcome.wrong = f"unclear: {text[:60]!r}"
        except Exception as error:
            outcome.error = error
            outcome.wrong = f"{type(error).__name__}: {error}".partition("\n")[0][:100]
    outcome.warned = [f"{w.message}" for w in caught if f"{w.message}".startswith("contract: ")]
    if before != [digest(domain) for domain in raw.domains]:
        outcome.wrong = "changed its input"
    return outcome


def wrong_scores(fit: Fit, raw: Raw) -> str:
    """Return what is wrong with the shape or the values of the scores, or ''."""
    if len(fit.scores) != len(raw.domains):
        return f"{len(fit.scores)} domains"
    for scores, (_, views, _, _) in zip(fit.scores, raw.domains, strict=True):
        if scores.shape != (views[0].shape[0], len(raw.classes)):
            return f"shape {scores.shape}"
        if not np.isfinite(scores).all():
            return "NaN" if np.isnan(scores).any() else "infinite"
    return ""


def digest(part: Part) -> list[Any]:
    arrays = []
    for array in (*part[1], part[2], part[3]):
        if sp.issparse(array) and array.format in ("csr", "csc", "bsr"):
            arrays += [array.data, array.indices, array.indptr]
        elif sp.issparse(array):
            coo = array.copy().tocoo()
            arrays += [coo.data, *coo.coords]
        else:
            arrays.append(np.asarray(array))
    # A long double has bytes that mean nothing.
    return [
        (a.dtype.str, a.shape, a.astype(float).tobytes() if a.dtype.kind == "f" else a.tobytes())
        for a in arrays
    ]


def decisions(fit: Fit, family: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the decisions of each domain, and a mask of those that are no near tie."""
    decided, clear = [], []
    for scores in fit.scores:
        span = float(np.ptp(scores)) or 1.0
        if family == "multilabel":
            decided.append(scores >= 0.5)
            clear.append(np.abs(scores - 0.5) > 1e-3)
        else:
            best = np.sort(scores, axis=1)
            gap = best[:, -1] - (best[:, -2] if scores.shape[1] > 1 else -np.inf)
            decided.append(scores.argmax(axis=1))
            clear.append(gap > 1e-3 * span)
    return decided, clear


def different(one: Fit, two: Fit, family: str) -> str:
    """Return how many decisions differ that are no near tie, or ''."""
    (first, clear), (second, also) = decisions(one, family), decisions(two, family)
    count = sum(
        int(np.sum((a != b) & c & d)) for a, b, c, d in zip(first, second, clear, also, strict=True)
    )
    return f"{count} decisions differ" if count else ""


# The whole product


def check(name: str, kind: str, case: str) -> Outcome:
    """Fit one case of a kind; `wrong` says what breaks the contract."""
    family = models.get(name).family
    if kind == "hostile":
        outcome = attempt(name, hostile()[case](family))
        if not outcome.wrong and outcome.error is None:
            outcome.wrong = "accepted"
    elif kind == "degenerate":
        outcome = attempt(name, degenerate()[case](family))
    elif kind == "variant":
        case, _, setting = case.partition(" with ")
        parameter, _, value = setting.partition("=")
        known = parameters.schema(models.load(name))[parameter].type
        outcome = attempt(
            name, degenerate()[case](family), **{parameter: parameters.convert(value, known, "")}
        )
    elif kind == "scaled":
        outcome = attempt(name, scaled()[case](family))
        if outcome.fit and not outcome.wrong and not outcome.warned:
            outcome.wrong = different(reference(name, "eighths"), outcome.fit, family)
    elif kind == "layout":
        values, change = {n: (v, c) for n, v, c in LAYOUTS}[case]
        single = name in ONE_HOT and case.partition(",")[0] in ("float32", "float16", ">f4")
        outcome = attempt(name, base(family, values).views(change))
        if outcome.error is not None:
            outcome.wrong = f"refused: {outcome.error}"[:100]
        elif outcome.fit and not outcome.wrong:
            expected = reference(name, values, "float32" if single else "float64")
            outcome.wrong = different(expected, outcome.fit, family)
    else:
        outcome = permuted(name, case)
    return outcome


_references: dict[tuple[str, ...], Fit] = {}
LAYOUTS = list(layouts())


def reference(name: str, values: str, dtype: str = "float64") -> Fit:
    """Return the fit of the problem in canonical CSR."""
    key = name, values, dtype
    if key not in _references:
        raw = base(models.get(name).family, values).views(lambda X: X.astype(dtype))
        outcome = attempt(name, raw)
        assert outcome.fit is not None, outcome.error
        _references[key] = outcome.fit
    return _references[key]


def variants(name: str) -> list[str]:
    """Return NAME=VALUE for each choice of a model that is not its default."""
    settings = []
    for parameter in parameters.schema(models.load(name)).values():
        choices = get_args(parameter.type)
        if parameter.type is bool:
            choices = (True, False)
        elif get_origin(parameter.type) is not Literal:
            continue
        if name not in EXTRAS or parameter.name != "features":
            settings += [f"{parameter.name}={c}" for c in choices if c != parameter.default]
    return settings


def permutations(name: str) -> list[str]:
    """Return the permutations that must not change the decisions of a model.

    Random starts follow the positions of features and domains, and, in clustering, of documents.
    """
    family = models.get(name).family
    deterministic = not parameters.takes_seed(models.load(name))
    orders = [] if name in POSITIONS else ["documents"]
    if deterministic:
        orders += ["features", "domains", "classes"]
    elif family == "clustering" and name != "lssmtc":
        orders += ["features"]
    return [f"{order}, {seed}" for order in orders for seed in range(7)]


def permuted(name: str, case: str) -> Outcome:
    """Fit a problem and a permutation of it; compare the decisions."""
    family = models.get(name).family
    order, _, seed = case.partition(", ")
    rng = np.random.default_rng(int(seed))
    size = {"tasks": 3} if family != "transfer" else {"targets": 2}
    problem, _ = MAKE[family](int(seed), documents=21, features=30, **size)
    parts = tuple((d.name, d.views, d.Y, d.seen) for d in problem.domains)
    raw = Raw(family, problem.classes, parts)
    rows = [rng.permutation(21) for _ in parts]
    columns, classes = rng.permutation(30), rng.permutation(len(raw.classes))
    domains = np.r_[0, 2, 1] if family == "transfer" else rng.permutation(3)
    other = raw
    if order == "documents":
        other = raw.rows(lambda i, seen: rows[i])
    elif order == "features":
        other = raw.views(lambda X: X[:, columns])
    elif order == "domains":
        other = replace(raw, domains=tuple(raw.domains[i] for i in domains))
    else:
        other = replace(
            raw.labels(lambda Y, seen: Y[:, classes]),
            classes=tuple(raw.classes[i] for i in classes),
        )
    first, second = attempt(name, raw), attempt(name, other)
    if second.fit is None or first.fit is None or second.wrong:
        second.wrong = second.wrong or f"refused: {second.error or first.error}"
        return second
    scores = list(first.fit.scores)
    if order == "documents":
        scores = [s[r] for s, r in zip(scores, rows, strict=True)]
    elif order == "domains":
        scores = [scores[i] for i in domains]
    elif order == "classes":
        scores = [s[:, classes] for s in scores]
    second.wrong = different(Fit(tuple(scores)), second.fit, family)
    return second


def product(name: str) -> Iterator[tuple[str, str]]:
    """Yield kind and name of every case of a model."""
    for kind, cases in (
        ("hostile", hostile()),
        ("degenerate", degenerate()),
        ("variant", [f"{case} with {v}" for v in variants(name) for case in degenerate()]),
        ("scaled", scaled()),
        ("layout", [layout for layout, _, _ in LAYOUTS]),
        ("permuted", permutations(name)),
    ):
        for case in cases:
            yield kind, case
