"""Plug-ins: modules of other packages, found by entry points.

A plug-in that is broken is reported by name, once, and left out; all others work.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import EntryPoint, distributions, entry_points
from importlib.util import find_spec
from pathlib import Path

from transferbench.messages import reason, shorten


def points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; leave out packages whose list cannot be read."""
    try:
        return tuple(entry_points(group=group))
    except Exception:  # of one package: read them one by one
        found: list[EntryPoint] = []
        for package in distributions():
            with left_out_if_broken(str(getattr(package, "_path", "of an unknown place"))):
                found += [point for point in package.entry_points if point.group == group]
        return tuple(found)


def origin(point: EntryPoint) -> Path:
    """Return the file of an entry point's module, without importing it.

    Raise ImportError if it is not a module.
    """
    if point.attr:
        raise ImportError(f"expected the name of a module, got {point.value}")
    spec = find_spec(point.module)
    if spec is None or not spec.origin:
        raise ImportError(f"there is no module {point.module}")
    return Path(spec.origin)


@contextmanager
def left_out_if_broken(name: str) -> Iterator[None]:
    """Report an error of a plug-in in the block as a warning; print its output to stderr."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise SystemExit
        warnings.warn(f"plug-in {shorten(name)} left out: {reason(error)}", stacklevel=3)
