"""The device that arrays are on: the host's memory, or a GPU through CuPy.

Inside `use_device("cuda")`, `to_device` copies a model's matrices to the GPU. Functions that take
arrays of either kind get the library of an array from `namespace`; CuPy has NumPy's names. Random
numbers are drawn on the host, so a model starts equally on both devices; the order of sums differs.
CuPy never copies between devices by itself: an array on the wrong device raises TypeError.

The array API standard is not enough: it has no sparse matrices, and no `out`, by which updates save
memory.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import numpy as np
import scipy.sparse as sp

from transferbench.errors import Unavailable, unknown
from transferbench.messages import reason

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Device = Literal["cpu", "cuda"]
T = TypeVar("T")
REMEDY = "leave out --device, or install CuPy on a machine with a GPU: pip install cupy-cuda13x"
_device: ContextVar[str] = ContextVar("device", default="cpu")


@contextmanager
def use_device(name: str) -> Iterator[None]:
    """Use a device in the block."""
    check(name)
    token = _device.set(name)
    try:
        yield
    finally:
        _device.reset(token)


def check(name: str) -> None:
    """Check that a device can be used."""
    if name not in get_args(Device):
        raise unknown("device", name, get_args(Device))
    if name == "cpu":
        return
    if find_spec("cupy") is None:
        raise Unavailable("device cuda needs CuPy, which is not installed", f"{REMEDY}.")
    try:
        count = _library("cupy").cuda.runtime.getDeviceCount()
    except Exception as error:  # no driver, or one that does not fit CuPy
        raise Unavailable(f"device cuda cannot be used ({reason(error)})", f"{REMEDY}.") from None
    if not count:
        raise Unavailable("device cuda: there is no GPU", f"{REMEDY}.")


def description() -> list[str]:
    """Return the version of CuPy and the name of the GPU; an empty list on the host."""
    if _device.get() == "cpu":
        return []
    cupy = _library("cupy")
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return [f"cupy {cupy.__version__}", name]


def namespace(x: Any) -> Any:
    """Return the library of an array or sparse matrix: NumPy, or CuPy if it is on the GPU."""
    return np if isinstance(x, np.ndarray) or sp.issparse(x) else _library("cupy")


def to_device(x: T) -> T:
    """Return an array or sparse matrix (CSR or CSC) on the device that is in use."""
    if _device.get() == "cpu":
        return x
    X: Any = x
    cupy = _library("cupy")
    if not sp.issparse(X):
        return cupy.asarray(X)  # type: ignore[no-any-return]
    sparse = _library("cupyx.scipy.sparse")
    kind = sparse.csc_matrix if X.format == "csc" else sparse.csr_matrix
    parts = tuple(map(cupy.asarray, (X.data, X.indices, X.indptr)))
    return kind(parts, shape=X.shape)  # type: ignore[no-any-return]


def to_host(x: Any) -> np.ndarray:
    """Return an array on the host."""
    return x if on_host(x) else namespace(x).asnumpy(x)  # type: ignore[no-any-return]


def is_dense(X: Any) -> "TypeIs[np.ndarray]":
    """Return True for an array, False for a sparse matrix, on either device."""
    return isinstance(X, np.ndarray) or not hasattr(X, "indptr")


def on_host(x: Any) -> bool:
    """Return True for an array on the host."""
    return isinstance(x, np.ndarray)


def _library(name: str) -> Any:
    return importlib.import_module(name)
