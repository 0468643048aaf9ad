"""A value with every type that files of arrays can have, and what may differ between two values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Pair:
    W: sp.csr_array
    scale: float
    name: str = "x"


def varied(X):
    W = sp.csr_array((np.ones(2), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
    W.indices, W.indptr = W.indices.astype(np.int64), W.indptr.astype(np.int64)
    others = sp.csc_matrix(W), sp.csr_matrix(W), sp.csc_array(W)
    lists = [np.float32(0.1), np.zeros((0, 3), np.int8), np.array(2.5), True, None, "ß", [1, -0.0]]
    return (
        Pair(W, np.pi),
        (np.asfortranarray(X), np.ascontiguousarray(X[:, 0]), X > 1),
        others,
        lists,
    )


def parts(value):
    """Everything that may differ between two values: types, contents and layouts."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
        return type(value), value.dtype, value.shape, value.tobytes("A"), layout
    if sp.issparse(value):
        return type(value), value.shape, *map(parts, (value.data, value.indices, value.indptr))
    if isinstance(value, (tuple, list)):
        return type(value), *map(parts, value)
    if dataclasses.is_dataclass(value):
        return type(value), [parts(getattr(value, f.name)) for f in dataclasses.fields(value)]
    return type(value), repr(value)
