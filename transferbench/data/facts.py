"""Facts about a built task: sizes, and a digest that every build must have."""

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from transferbench.problem import Family, Problem, Truth

#: Values of two builds are equal if they differ by at most these shares: libraries round
#: differently, and dense float32, as embeddings and topics are, is computed with fewer digits.
#: Fifty steps of PLSA on rcv1/subset2 differ by 3e-7 between two processors.
ROUNDING, SINGLE_ROUNDING = 1e-11, 1e-6
#: An odd number near 2^64 divided by the golden ratio: its multiples are spread evenly.
SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Facts:
    """Facts about a built task.

    Parameters
    ----------
    family
        transfer, clustering or multilabel.
    classes
        Names of the classes.
    documents
        Documents by domain.
    per_class
        Documents of each class, by domain.
    features
        Features of each view.
    nonzeros
        Stored entries of all matrices.
    weight
        Sum of all entries, to six digits.
    digest
        16 hex digits of a SHA-256 over shapes, positions of nonzeros, labels and seen rows. It does
        not cover the values, which libraries may round differently.
    values
        A number for each domain and view, to 13 digits (dense float32: to 8), that depends on every
        value and where it is; see `weighted_sum`. Empty in records of version 1.1 and before.
    files
        Names and digests of the user's files that the task is built from; often none.
    """

    family: Family
    classes: tuple[str, ...]
    documents: dict[str, int]
    per_class: dict[str, list[int]]
    features: tuple[int, ...]
    nonzeros: int
    weight: float
    digest: str
    values: tuple[float, ...] = ()
    files: tuple[str, ...] = ()

    @classmethod
    def from_problem(cls, problem: Problem, truth: Truth, files: Sequence[str] = ()) -> Self:
        """Return the facts of a built task.

        Parameters
        ----------
        problem
            The problem of the task.
        truth
            Its truth.
        files
            See `files` of the class.
        """
        digest = hashlib.sha256()
        total, nonzeros, values = 0.0, 0, []
        for domain, Y, scored in zip(problem.domains, truth.Y, truth.scored, strict=True):
            for view in domain.views:
                X = sp.csr_array(view)
                digest.update(np.asarray(X.shape, np.int64).tobytes())
                for positions in (X.indptr, X.indices):
                    digest.update(positions.astype(np.int64).tobytes())
                total += float(X.data.sum(dtype=np.float64))
                nonzeros += X.nnz
                # Numbers with few digits show that they are to be compared by SINGLE_ROUNDING.
                is_single = isinstance(view, np.ndarray) and view.dtype == np.float32
                values.append(float(f"{weighted_sum(X):.{8 if is_single else 13}g}"))
            for labels in (np.asarray(Y, np.uint8), domain.seen, scored):
                digest.update(labels.tobytes())
        return cls(
            family=problem.family,
            classes=problem.classes,
            documents={domain.name: len(domain.seen) for domain in problem.domains},
            per_class={
                name: [int(count) for count in Y.sum(axis=0)]
                for name, Y in zip(truth.names, truth.Y, strict=True)
            },
            features=tuple(view.shape[1] for view in problem.domains[0].views),
            nonzeros=nonzeros,
            weight=float(f"{total:.6g}"),
            digest=digest.hexdigest()[:16],
            values=tuple(values),
            files=tuple(files),
        )

    @classmethod
    def of(cls, problem: Problem, truth: Truth, files: Sequence[str] = ()) -> Self:
        """Call `from_problem`; the old name, for tests of datasets in other packages."""
        warnings.warn("Facts.of is now Facts.from_problem.", FutureWarning, stacklevel=2)
        return cls.from_problem(problem, truth, files)

    @cached_property
    def key(self) -> str:
        """16 hex digits that change with any of the facts but `values`; see `Record.data`."""
        facts = {name: value for name, value in self.to_json().items() if name != "values"}
        text = json.dumps(facts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def files_key(self) -> str:
        """Digest of `files`; see `key_of_files`."""
        return key_of_files(self.files)

    def check(self, task: str, expected: Mapping[str, Any]) -> None:
        """Check the facts of a task.

        Parameters
        ----------
        task
            Name of the task in the message.
        expected
            Expected facts by name. Sequences may be lists or tuples; weights may differ by 1e-5 of
            their value, `values` by ROUNDING.

        Raises
        ------
        ValueError
            If an expected fact does not hold; the message names the first.
        """
        facts = json.loads(json.dumps(asdict(self)))  # tuples as lists
        for name, value in expected.items():
            actual = facts[name]
            close = name == "weight" and np.isclose(actual, value, rtol=1e-5, atol=0)
            close |= name == "values" and same_values(actual, value)
            if actual != value and not close:
                raise ValueError(
                    f"{task} was not built as expected: {name} is {actual}, expected {value}"
                )

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain data, without family, and without files if there are none."""
        # Keys of run records are digests of this without `values`; any change makes finished runs
        # outdated.
        return {
            name: value
            for name, value in asdict(self).items()
            if name != "family" and (name != "files" or value)
        }

    @classmethod
    def from_json(cls, family: Family, facts: Mapping[str, Any]) -> Self:
        """Return the facts from the result of `to_json`."""
        lists = ("classes", "features", "values", "files")
        tuples = {name: tuple(facts[name]) for name in lists if name in facts}
        return cls(family, **{**facts, **tuples})


def key_of_files(files: Sequence[str]) -> str:
    """Return 16 hex digits for names and digests of files; "" if there are none."""
    text = "\n".join(files)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16] if files else ""


def weighted_sum(X: sp.csr_array) -> float:
    """Return the sum of 2|y| + y, y = asinh x, with weights from 1 to 2 by position."""
    # Terms are positive, so nothing cancels, and large values (times, counts) do not hide small
    # ones: a change of one value changes the sum by about its share of all y. So does a sign, or
    # two values that swap their places.
    # Shapes: X (n, d).
    rows = np.repeat(np.arange(X.shape[0], dtype=np.uint64), np.diff(X.indptr))
    positions = rows * np.uint64(X.shape[1]) + X.indices.astype(np.uint64)
    weights = 1.0 + (positions * SPREAD).astype(np.float64) * 2.0**-64
    values = np.arcsinh(X.data.astype(np.float64))
    return float(np.sum(weights * (2 * np.abs(values) + values)))


def same_values(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return True if the `values` of two builds are equal but for rounding."""
    # A change of a single value shows if its share of the sum is above the rounding: always among
    # 10⁹ values, but among dense float32 (embeddings) only in up to 10⁵.
    if len(first) != len(second):
        return False
    if list(first) == list(second):
        return True
    single = [
        float(f"{a:.8g}") == a and float(f"{b:.8g}") == b
        for a, b in zip(first, second, strict=True)
    ]
    rounding = np.where(single, SINGLE_ROUNDING, ROUNDING)
    distance = np.abs(np.subtract(first, second))
    return bool(np.all(distance <= rounding * np.abs(second)))
