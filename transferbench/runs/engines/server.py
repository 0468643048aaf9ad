"""The fork server: worker processes of this machine are forked from it, with libraries imported."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

#: Imported once by the server, so that runs need not import them.
PRELOAD = (
    "transferbench.runs.worker",
    "scipy.optimize",
    "sklearn.cluster",
    "sklearn.decomposition",
    "sklearn.linear_model",
    "sklearn.svm",
    "sparse_dot_topn",
)


def start() -> BaseContext:
    """Return a context whose processes are forked from the server (on Windows: spawned).

    Start the server unless it runs; do not wait for its imports.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    # Without this, the server would import modules from the current folder first.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    with block_interrupts():
        forkserver.ensure_running()
    return context


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Make processes that are started in the block ignore Ctrl-C: this process alone handles it."""
    if sys.platform == "win32":
        yield
        return
    # Starting the resource tracker unblocks signals, so it must be running before.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
