"""The process that this machine's runs are forked from; begun early, it gets ready meanwhile."""

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

#: Imported once by the server, so that a run does not wait for them.
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
    """Processes forked from a clean server that has made the heavy imports, where there is one.

    It is begun, where it does not run yet, and not waited for.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    # Else the server would look for modules in the current folder first, whatever lies there.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOAD))
    with interrupts_kept():
        forkserver.ensure_running()
    return context


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Ctrl-C is this process's to answer: those begun meanwhile inherit that they are not asked."""
    if sys.platform == "win32":
        yield
        return
    # The resource tracker, which unblocks what is blocked when it starts, must be running by then.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
