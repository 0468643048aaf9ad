"""A stand-in for CuPy on the CPU: it refuses what CuPy refuses.

NumPy's functions do not take its arrays, its functions take no arrays of the host, no array leaves
it by itself, and keywords that CuPy lacks are errors. Reductions return arrays without dimensions.
"""

from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import scipy.sparse as sp
from numpy.lib.mixins import NDArrayOperatorsMixin


def host(x):
    """Return NumPy's arrays of those on the GPU; refuse others, as CuPy does."""
    if isinstance(x, list | tuple):
        return type(x)(map(host, x))
    if isinstance(x, np.ndarray) and x.ndim:
        raise TypeError("an array on the host meets one on the GPU")
    return x.value if isinstance(x, Array) else x


def device(x):
    if isinstance(x, list):
        return [*map(device, x)]
    return Array(x) if isinstance(x, np.ndarray | np.generic) else x


class Array(NDArrayOperatorsMixin):
    """An array on the GPU."""

    def __init__(self, value):
        self.value = np.asarray(value)

    def __array__(self, *_, **__):
        raise TypeError("an array on the GPU is not converted by itself")

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        if method != "__call__" or "where" in options:
            raise TypeError(
                f"numpy.{ufunc.__name__} with {method}, {options} of an array on the GPU"
            )
        if out:
            ufunc(*host(inputs), out=host(out), **options)
            return out[0]
        return device(ufunc(*host(inputs), **options))

    def __array_function__(self, function, *_):
        raise TypeError(f"numpy.{function.__name__} of an array on the GPU")

    def __getitem__(self, key):
        return device(self.value[host(key)])

    def __setitem__(self, key, value):
        self.value[host(key)] = host(value)

    def __len__(self):
        return len(self.value)

    def __bool__(self):
        return bool(self.value)

    def __float__(self):
        return float(self.value)

    def sum(self, axis=None, dtype=None, keepdims=False):
        return device(self.value.sum(axis=axis, dtype=dtype, keepdims=keepdims))

    def max(self, axis=None):
        return device(self.value.max(axis=axis))

    def mean(self):
        return device(self.value.mean())

    def dot(self, other):
        return device(self.value.dot(host(other)))

    def copy(self):
        return device(self.value.copy())

    def ravel(self):
        return device(self.value.ravel())

    def astype(self, dtype):
        return device(self.value.astype(dtype))

    dtype = property(lambda self: self.value.dtype)
    shape = property(lambda self: self.value.shape)
    size = property(lambda self: self.value.size)
    T = property(lambda self: device(self.value.T))


class Csr:
    """A sparse matrix on the GPU."""

    format = "csr"

    def __init__(self, parts, shape):
        self.data, self.indices, self.indptr = parts
        if not all(type(part) is Array for part in parts):
            raise TypeError("arrays on the host make no matrix on the GPU")
        self.shape, self.dtype = shape, self.data.dtype

    @staticmethod
    def of(X):
        kind = Csc if X.format == "csc" else Csr
        return kind(tuple(map(device, (X.data, X.indices, X.indptr))), X.shape)

    def on_host(self):
        kind = sp.csc_array if self.format == "csc" else sp.csr_array
        return kind(tuple(map(host, (self.data, self.indices, self.indptr))), shape=self.shape)

    @property
    def T(self):
        return Csr.of(self.on_host().T)

    def copy(self):
        return Csr.of(self.on_host().copy())

    def tocsc(self):
        return Csr.of(self.on_host().tocsc())

    def astype(self, dtype):
        return Csr.of(self.on_host().astype(dtype))

    def sum(self, axis):
        return device(self.on_host().sum(axis=axis)[:, None])

    def __getitem__(self, rows):
        return Csr.of(self.on_host()[rows])

    def __matmul__(self, B):
        return device(self.on_host() @ host(B))


class Csc(Csr):
    format = "csc"


class StandIn(ModuleType):
    """Functions of NumPy that take and return arrays on the GPU alone."""

    ndarray = Array
    asnumpy = staticmethod(lambda x: host(x).copy())
    asarray = staticmethod(
        lambda x, *dtype: Array(np.asarray(x.value if isinstance(x, Array) else x, *dtype))
    )
    linalg = SimpleNamespace(inv=lambda x: device(np.linalg.inv(host(x))))
    __version__ = "14.2.0"

    def __init__(self, name, gpus=1):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                getDeviceCount=lambda: gpus, getDeviceProperties=lambda _: {"name": b"Stand-in"}
            )
        )

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args, out=None, **options):
            if options.keys() - {"dtype", "axis", "keepdims"}:
                raise TypeError(f"cupy.{name} takes no {options}")
            places = args[1:] if name == "split" else host(args[1:])
            options |= {} if out is None else {"out": host(out)}
            found = device(getattr(np, name)(host(args[0]), *places, **options))
            return found if out is None else out

        return call


def modules(gpus=1):
    """Return the modules of the stand-in by name, on a machine with a number of GPUs."""
    sparse = ModuleType("cupyx.scipy.sparse")
    sparse.csr_matrix, sparse.csc_matrix = Csr, Csc
    return {"cupy": StandIn("cupy", gpus), sparse.__name__: sparse}
