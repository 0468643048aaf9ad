"""Imported first by the server from which runs are forked.

It and its processes print nothing: one that loses its parent while it starts would print a
traceback. When the command has ended, however it did, the server kills what is left of the runs.
"""

import atexit
import os
from contextlib import suppress

from transferbench.runs.process import adopt_orphans, children, kill_all, redirect


def _kill_all() -> None:
    while pids := children(os.getpid()):
        kill_all(pids)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)


with open(os.devnull, "w") as nowhere:  # noqa: PTH123
    redirect(nowhere.fileno())
adopt_orphans()
atexit.register(_kill_all)
