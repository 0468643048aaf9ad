"""Core types: Problem (input), Truth (held-out labels), Fit (output)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp

Matrix: TypeAlias = np.ndarray | sp.csr_array
#: Names of features.
Names: TypeAlias = Sequence[str] | np.ndarray
Family = Literal["transfer", "clustering", "multilabel"]
#: Called by a model after each iteration with the iteration (from 1), the number of planned
#: iterations and the scores of every domain. The caller can follow the accuracy; the model never
#: receives the truth. A model that reuses a training (`artefacts`) does not call it.
Watch = Callable[[int, int, tuple[np.ndarray, ...]], None]


@dataclass(frozen=True)
class Domain:
    """Documents of one domain (in multi-task learning: of one of the tasks).

    Matrices may be of any real type and layout; they are stored as `canonical` returns them, and Y
    as a dense array. The given arrays are never changed.

    Parameters
    ----------
    name
        Name of the domain in tables.
    views
        One or more matrices (n, d), documents by features, of finite numbers. The first is
        nonnegative, unless `signed`. Others may have negative entries; only some models use them.
    Y
        (n, c) nonnegative label indicator, zero on unseen rows.
    seen
        (n,) bool, True for rows whose labels a model may use.
    signed
        True if the first view may have negative entries, which few models allow.
    label_weights
        (n,) positive weight of each document's label in training; those of unseen rows change
        nothing. None weighs every label 1.

    Raises
    ------
    ValueError
        For invalid values.
    """

    name: str
    views: tuple[Matrix, ...]
    Y: np.ndarray
    seen: np.ndarray
    signed: bool = False
    label_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        raw: Any = self  # callers may pass values of any type
        try:
            if isinstance(raw.views, np.ndarray) or sp.issparse(raw.views):
                raise ValueError("views is one matrix; expected a tuple of matrices, (X,).")
            views = tuple(map(canonical, raw.views))
            Y = canonical(raw.Y)
            Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
            seen = np.asarray(raw.seen)
            if seen.ndim != 1 or not np.isin(seen, (False, True)).all():
                raise ValueError("seen must be (n,), True or False for each document.")
            seen = seen.astype(bool, copy=False)
            n = len(seen)
            if not n or not views or any(M.shape[0] != n for M in (Y, *views)):
                raise ValueError(
                    f"views, Y and seen must have the same {n} rows, one or more; got views of "
                    f"{[view.shape[0] for view in views]} and Y of {len(Y)}."
                )
            for j, matrix in enumerate((Y, *views), start=-1):
                name = "Y" if j < 0 else f"view {j}"
                if not matrix.shape[1]:
                    raise ValueError(f"{name} has no columns; expected one or more.")
                if wrong := _wrong_entry(matrix, signed=j > 0 or (j == 0 and self.signed)):
                    raise ValueError(f"{name} has {wrong}; correct or remove it.")
            if Y[~seen].any():
                raise ValueError("Y must be zero on unseen rows.")
            weights = raw.label_weights
            if weights is not None:
                weights = np.asarray(weights, np.float64)
                if weights.shape != (n,) or not (np.isfinite(weights) & (weights > 0)).all():
                    raise ValueError(
                        f"label_weights must be ({n},), a finite number above 0 for each document."
                    )
            self.__dict__.update(views=views, Y=Y, seen=seen, label_weights=weights)
        except ValueError as error:
            raise ValueError(f"domain {self.name}: {error}") from None

    @property
    def X(self) -> Matrix:
        """The first view (n, d)."""
        return self.views[0]

    def take(self, rows: np.ndarray) -> Self:
        """Return the domain with some documents, by their indices or as a mask (n,)."""
        weights = None if self.label_weights is None else self.label_weights[rows]
        return replace(
            self, views=tuple(view[rows] for view in self.views), Y=self.Y[rows],
            seen=self.seen[rows], label_weights=weights,
        )  # fmt: skip

    def hide(self, rows: np.ndarray) -> Self:
        """Return the domain with the labels of some documents hidden, by their indices or mask."""
        Y, seen = self.Y.copy(), self.seen.copy()
        Y[rows], seen[rows] = 0, False
        return replace(self, Y=Y, seen=seen)


@dataclass(frozen=True)
class Problem:
    """Input of a model: domains that share their features and their c classes.

    Parameters
    ----------
    name
        Name of the problem in messages.
    family
        "transfer", "clustering" or "multilabel".
    classes
        Names of the classes, the columns of Y.
    domains
        Domains of documents: sources, in which every label is seen, and targets.
    features
        Names of the features (d,) of the first view, such as words; empty if they have none. No
        model uses them.

    Raises
    ------
    ValueError
        If names of domains or classes are not unique, if domains differ in views, features or
        classes, if there are names and features of different number, if a seen row of a transfer
        problem has not exactly one label, or if a target equals a source.
    """

    name: str
    family: Family
    classes: tuple[str, ...]
    domains: tuple[Domain, ...]
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.__dict__.update(
            classes=tuple(self.classes),
            domains=tuple(self.domains),
            features=tuple(map(str, self.features)),
        )
        if mistake := self._mistake():
            raise ValueError(f"{self.name}: {mistake}")

    def _mistake(self) -> str:
        """Return what is wrong with the problem, or ""."""
        if self.family not in get_args(Family):
            return f"family {self.family!r}; expected {', '.join(get_args(Family))}."
        if not self.domains or not self.classes:
            return "no domain or no class; expected one or more of each."
        for what, names in (
            ("domains", [domain.name for domain in self.domains]),
            ("classes", self.classes),
        ):
            (repeated, count), *_ = Counter(names).most_common(1)
            if count > 1:
                return f"two {what} are called {repeated!r}; rename one."
        widths = [view.shape[1] for view in self.domains[0].views]
        if self.features and len(self.features) != widths[0]:
            return f"{len(self.features)} names of features; expected {widths[0]}, or none."
        for domain in self.domains:
            domain_widths = [view.shape[1] for view in domain.views]
            if domain_widths != widths:
                return (
                    f"domain {domain.name} has views of {domain_widths} features, expected "
                    f"{widths} as in {self.domains[0].name}; domains must share their features."
                )
            c, expected = domain.Y.shape[1], len(self.classes)
            if c != expected:
                return f"domain {domain.name}: Y has {c} columns, expected {expected} classes."
            labels = np.count_nonzero(domain.Y[domain.seen], axis=1)
            if self.family == "transfer" and (wrong := labels[labels != 1]).size:
                return (
                    f"domain {domain.name}: a seen row has {wrong[0]} labels; expected one in each "
                    "(the family multilabel has any number)."
                )
        for source, target in product(self.sources, self.targets):
            if all(map(_equal, source.views, target.views)):
                return (
                    f"domain {target.name} has the features of {source.name}, document by "
                    "document, so that any result is too good; name other documents, or divide "
                    "them into source and target."
                )
        return ""

    @property
    def sources(self) -> tuple[Domain, ...]:
        """Domains in which every label is seen."""
        return tuple(domain for domain in self.domains if domain.seen.all())

    @property
    def targets(self) -> tuple[Domain, ...]:
        """Domains with at least one unseen label."""
        return tuple(domain for domain in self.domains if not domain.seen.all())


@dataclass(frozen=True)
class Truth:
    """True labels, used to score a fit. A model never receives them.

    Parameters
    ----------
    family
        Family of the problem.
    classes
        Names of the classes, the columns of Y.
    names
        Domain names, in the order of the problem.
    Y
        Complete (n, c) 0/1 indicator of each domain.
    scored
        (n,) bool of each domain, True for rows to score (unseen by the model).
    """

    family: Family
    classes: tuple[str, ...]
    names: tuple[str, ...]
    Y: tuple[np.ndarray, ...]
    scored: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class FeatureClusters:
    """Clusters of the features of one domain, as a tri-factorisation X ≈ V Hᵀ Uᵀ has them.

    Parameters
    ----------
    kind
        How domains share them, in the words of the model's paper, such as "common" and "own"; ""
        if the model has one kind.
    U
        (d, k) weight of each feature of the first view in each cluster, ≥ 0.
    H
        (k, c) association of the clusters with the classes, ≥ 0.
    """

    kind: str
    U: np.ndarray
    H: np.ndarray


@dataclass(frozen=True)
class Fit:
    """Output of every model.

    Parameters
    ----------
    scores
        (n, c) array of each domain; a larger score means a more likely class.
    trace
        Objective after each iteration, empty for models that report none.
    columns
        "classes" if the columns of the scores are the problem's classes; "clusters" if they are
        clusters in any order, which scoring matches with the classes.
    diagnostics
        Quality of approximate steps, by name. "graph_recall": share of the nearest documents that
        the search for the document graph found, the least of several graphs; 1 if the search was
        exact. "least_objective_iteration": iteration, from 1, with the least objective of a
        tri-factorisation; the earliest of targets that are fitted one by one. Of `consensus`:
        "area", the least area under the ROC curve of a target against the sources; "alike", the
        number of targets that the SVM decides; the least "agreement", and the largest "share_width"
        and "share_peaks", see `consensus.Agreed`; with labels of targets, "held_out", their number,
        and "held_out_right", how many of these documents are decided right if they are held out.
    held_out
        As scores, but those of labelled documents of targets are by a fit that had not seen their
        label. Empty if the model does not compute them.
    factors
        Clusters of the features by domain, those of each kind; see `topics`. Empty if the model has
        none. If each target is fitted alone, those of a source are of the first target's fit.
    """

    scores: tuple[np.ndarray, ...]
    trace: tuple[float, ...] = ()
    columns: Literal["classes", "clusters"] = "classes"
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    held_out: tuple[np.ndarray, ...] = ()
    factors: tuple[tuple[FeatureClusters, ...], ...] = ()


def _equal(one: Matrix, other: Matrix) -> bool:
    """Return True if two canonical matrices, both dense or both sparse, are equal."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)


def canonical(X: Any) -> Matrix:
    """Return a matrix (n, d) as CSR or, if it is dense, in C order; entries float32 or float64.

    Parameters
    ----------
    X
        Sparse of any format, or dense; Booleans, integers and numbers of any precision. float16
        becomes float32; integers, Booleans and long doubles become float64. The CSR is sorted,
        without duplicates and stored zeros, and has 32-bit indices if they fit: some solvers accept
        no other matrix, or bring it into this form in place. X is never changed, and copied only
        if it has another form.

    Raises
    ------
    ValueError
        For another rank, for entries that are no real numbers, and for indices outside the matrix.
    """
    if np.ma.is_masked(X):
        raise ValueError("a masked array; fill its missing entries.")
    if not sp.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"an array of shape {X.shape}; expected a matrix of two dimensions.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"entries of type {X.dtype}; expected real numbers.")
    dtype = np.float32 if X.dtype.kind == "f" and X.dtype.itemsize <= 4 else np.float64
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        return _canonical_csr(X, dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype)


def _canonical_csr(X: Any, dtype: type) -> sp.csr_array:
    if X.format == "coo":
        X = sp.coo_array((X.data, X.coords), shape=X.shape)  # raises for indices outside
    elif X.format in ("csr", "csc", "bsr"):
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)  # indices of one type
        X.check_format(full_check=True)
    if X.format != "csr":
        # Duplicate integers may overflow when SciPy adds them; Booleans may not become two.
        X = (X.astype(dtype) if X.dtype.kind in "iu" else X).tocsr()
    narrow = max(*X.shape, X.nnz) <= np.iinfo(np.int32).max
    index = np.int32 if narrow else np.int64
    data = X.data if X.dtype.kind == "b" else X.data.astype(dtype, copy=False)
    arrays = data, *(a.astype(index, copy=False) for a in (X.indices, X.indptr))
    A = sp.csr_array(arrays, shape=X.shape)  # shares memory with X
    if not (A.has_canonical_format and A.data.all()):
        A = A.copy()
        A.sum_duplicates()
        A.eliminate_zeros()
    return A.astype(dtype, copy=False)


def _wrong_entry(X: Matrix, signed: bool) -> str:
    """Return the first entry that is not finite or, unless signed, negative, with its row."""
    values = X.ravel() if isinstance(X, np.ndarray) else X.data
    wrong = ~np.isfinite(values)
    if not signed:
        wrong |= values < 0
    if not wrong.any():
        return ""
    first = int(wrong.argmax())
    if isinstance(X, np.ndarray):
        row = first // X.shape[1]
    else:
        row = int(np.searchsorted(X.indptr, first, "right")) - 1
    expected = "finite numbers" if signed else "finite numbers of 0 or more"
    return f"{values[first]:g} in row {row}; expected {expected}"
