"""Plug-ins: modules of other packages, found by entry points.

A broken plug-in is left out, with one warning that names it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.messages import reason, shorten

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def points() -> Any:  # of a type that depends on the version of Python
    """Return the entry points of all installed packages; slow once in a process."""
    from importlib.metadata import entry_points

    return entry_points()


def origin(point: EntryPoint) -> Path:
    """Return the file of an entry point's module, without importing it."""
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
