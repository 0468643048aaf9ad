"""Core types: Problem (input), Truth (held-out labels), Fit (output)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

Matrix: TypeAlias = np.ndarray | sp.csr_array
Family = Literal["transfer", "clustering", "multilabel"]
#: Called by a model after each iteration with the iteration (from 1), the number of planned
#: iterations and the scores of every domain. The caller can follow the accuracy; the model never
#: receives the truth.
Watch = Callable[[int, int, tuple[np.ndarray, ...]], None]


@dataclass(frozen=True)
class Domain:
    """Documents of one domain (in multi-task learning: of one of the tasks).

    name   : name of the domain in tables.
    views  : one or more matrices (n, d), documents by features, sparse CSR or dense. The first is
             nonnegative. Others may have negative entries; only some models use them.
    Y      : (n, c) nonnegative label indicator, zero on unseen rows.
    seen   : (n,) bool, True for rows whose labels a model may use.

    Raises ValueError if the numbers of rows differ or if Y is not zero on an unseen row.
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
    """Input of a model: domains that share their features and their c classes."""

    name: str
    family: Family
    classes: tuple[str, ...]
    domains: tuple[Domain, ...]

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

    names   : domain names, in the order of the problem.
    Y       : complete (n, c) 0/1 indicator of each domain.
    scored  : (n,) bool of each domain, True for rows to score (unseen by the model).
    """

    family: Family
    classes: tuple[str, ...]
    names: tuple[str, ...]
    Y: tuple[np.ndarray, ...]
    scored: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Fit:
    """Output of every model.

    scores  : (n, c) array of each domain; a larger score means a more likely class.
    trace   : objective after each iteration, empty for models that report none.
    columns : "classes" if the columns of the scores are the problem's classes; "clusters" if they
              are clusters in any order, which scoring matches with the classes.
    diagnostics : how well approximate steps went, by name; empty for models without any.
              "graph_recall": share of the nearest documents that the search for the document graph
              found, the least of several graphs; 1 if the search was exact.
    """

    scores: tuple[np.ndarray, ...]
    trace: tuple[float, ...] = ()
    columns: Literal["classes", "clusters"] = "classes"
    diagnostics: Mapping[str, float] = field(default_factory=dict)
