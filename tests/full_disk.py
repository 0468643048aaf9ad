"""A full disk, simulated by a limit of the size of files."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Make longer files an OSError in this process and in those that it starts.

    They write no bytecode: Python does not notice a cut .pyc, and each later import of it fails.
    """
    import resource

    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, former)
