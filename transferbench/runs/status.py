"""Files that say which commands perform runs now, for `transferbench status`.

A command writes `.running/HOST-PID.json` in the folder of results every PERIOD seconds while it
performs runs, and removes it at its end. An older file is of a command that was killed.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from transferbench.errors import UserError
from transferbench.files import open_regular, write_text
from transferbench.runs.machine import process_exists

FOLDER = ".running"
#: Largest file that is read.
MAX_BYTES = 2**20
#: Seconds between two changes of a file, and its age from which its command counts as ended.
PERIOD, OLD = 5.0, 60.0


@dataclass(frozen=True)
class Running:
    """A command that performs runs."""

    host: str
    pid: int
    #: `ended`, `total`: Numbers of its runs that have ended, and of all.
    ended: int
    total: int
    #: Runs that are performed now.
    runs: tuple[str, ...]
    #: How long the others may take; None if that is not known.
    seconds_left: Annotated[float, Ge(0)] | None


class StatusFile:
    """The file of this command."""

    # A folder that cannot be written is no error.

    def __init__(self, results: Path) -> None:
        self._host = socket.gethostname()
        self._path = results / FOLDER / f"{self._host}-{os.getpid()}.json"
        self._written = 0.0
        for path in self._path.parent.glob(f"{self._host}-*.json"):  # of commands that were killed
            with suppress(OSError, ValueError):
                if not process_exists(int(path.stem.rpartition("-")[2])):
                    path.unlink()

    def write(
        self, ended: int, total: int, runs: tuple[str, ...], seconds_left: float | None
    ) -> None:
        """Write the file unless it was written just before; see `Running` for the values."""
        if time.monotonic() - self._written < PERIOD:
            return
        self._written = time.monotonic()
        now = Running(self._host, os.getpid(), ended, total, runs, seconds_left)
        with suppress(UserError):
            write_text(self._path, json.dumps(asdict(now)))

    def close(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._path.parent.rmdir()  # unless another command has a file there


def _now(folder: Path) -> float:
    """Return the time by the clock of the file system, which other machines may share."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return os.fstat(file.fileno()).st_mtime
    except OSError:
        return time.time()


def commands(results: Path) -> list[tuple[Running, bool]]:
    """Return the commands that perform runs in a folder of results."""
    # With each, False if it has written nothing for OLD seconds: it was killed.
    from pydantic import TypeAdapter

    running = []
    now = _now(results / FOLDER)
    for path in sorted(results.glob(f"{FOLDER}/*.json")):
        with suppress(OSError, ValueError), open_regular(path) as file:
            command = TypeAdapter(Running).validate_json(file.read(MAX_BYTES), strict=True)
            running.append((command, now - path.stat().st_mtime < OLD))
    return running
