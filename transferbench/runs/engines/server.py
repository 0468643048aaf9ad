"""Imported first by the server of processes: it and its processes print nothing.

A process that loses its parent while it starts would print a traceback.
"""

import os

from transferbench.runs.process import redirect

with open(os.devnull, "w") as nowhere:  # noqa: PTH123
    redirect(nowhere.fileno(), nowhere.fileno())
