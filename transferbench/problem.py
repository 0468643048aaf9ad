"""The currency of the house: what a model sees, what it must not see, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

Matrix: TypeAlias = np.ndarray | sp.csr_array
Family = Literal["transfer", "clustering", "multilabel"]
#: Called by a model after each iteration with the iteration (from 1), how many are planned and
#: the scores of every domain, so that accuracy can be followed without the model seeing the truth.
Watch = Callable[[int, int, tuple[np.ndarray, ...]], None]


@dataclass(frozen=True)
class Domain:
    """Documents of one domain (or task).

    name   : what the domain is called in tables.
    views  : matrices (n, d), documents by features, sparse CSR or dense; at least one, and the
             first nonnegative. Others may be of either sign for models that say they read them.
    Y      : (n, c) nonnegative label indicator, zero on unseen rows.
    seen   : (n,) bool, the rows whose labels a model may use.
    """

    name: str
    views: tuple[Matrix, ...]
    Y: np.ndarray
    seen: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.seen)
        if not self.views or any(view.shape[0] != n for view in self.views) or len(self.Y) != n:
            raise ValueError(f"domain {self.name}: views, Y and seen must have the same {n} rows")
        if self.Y[~self.seen].any():
            raise ValueError(f"domain {self.name}: Y must be zero on unseen rows")

    @property
    def X(self) -> Matrix:
        """The first view (n, d)."""
        return self.views[0]


@dataclass(frozen=True)
class Problem:
    """All that a model receives: domains over the same features and the same c classes."""

    name: str
    family: Family
    classes: tuple[str, ...]
    domains: tuple[Domain, ...]

    @property
    def sources(self) -> tuple[Domain, ...]:
        """Domains with every label seen."""
        return tuple(domain for domain in self.domains if domain.seen.all())

    @property
    def targets(self) -> tuple[Domain, ...]:
        """Domains with at least one label to find."""
        return tuple(domain for domain in self.domains if not domain.seen.all())


@dataclass(frozen=True)
class Truth:
    """The labels a model is scored on. Never handed to a model.

    names   : domain names, in the problem's order.
    Y       : one (n, c) 0/1 indicator for each domain, complete.
    scored  : one (n,) bool for each domain, the rows that count (those a model did not see).
    """

    family: Family
    classes: tuple[str, ...]
    names: tuple[str, ...]
    Y: tuple[np.ndarray, ...]
    scored: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Fit:
    """What every model returns.

    scores  : one (n, c) array for each domain, larger is more likely.
    trace   : objective after each iteration, empty for models without one.
    columns : whether the columns of the scores are the problem's classes, or clusters in no
              particular order (to be matched with the classes when they are scored).
    """

    scores: tuple[np.ndarray, ...]
    trace: tuple[float, ...] = ()
    columns: Literal["classes", "clusters"] = "classes"
