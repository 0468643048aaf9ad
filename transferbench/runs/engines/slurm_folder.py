"""The folder of a command that submits Slurm jobs, and folders that killed commands left.

The file `owner` names the process that waits for the jobs; its time is a heartbeat.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from transferbench.files import write_text

#: Seconds without a heartbeat after which a command counts as dead, wherever it ran.
STALE = 600.0
OWNER = "owner"


class Folder:
    """A folder that this process owns; `jobs` holds the files of submitit."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.jobs = self.path / "jobs"
        owner = {"host": socket.gethostname(), "pid": os.getpid()}
        write_text(self.path / OWNER, json.dumps(owner))

    @classmethod
    def create(cls, parent: Path) -> Folder:
        """Return a new folder in `parent`."""
        parent.mkdir(parents=True, exist_ok=True)
        return cls(Path(tempfile.mkdtemp(dir=parent)))

    def beat(self) -> None:
        """Show that this process is alive."""
        with suppress(OSError):
            os.utime(self.path / OWNER)

    def remove(self) -> None:
        """Remove the folder, and its parent unless another command uses it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self.path.parent.rmdir()


def take_abandoned(parent: Path) -> Iterator[Folder]:
    """Yield the folders in `parent` whose owner is dead; each goes to one caller only."""
    for owner in sorted(parent.glob(f"*/{OWNER}")):
        if _is_dead(owner):
            taken = owner.with_name(f"{OWNER}-{socket.gethostname()}-{os.getpid()}")
            with suppress(OSError):  # another command was first
                owner.rename(taken)
                yield Folder(owner.parent)


def _is_dead(owner: Path) -> bool:
    try:
        if owner.parent.stat().st_uid != os.getuid():  # its pickles are not ours to read
            return False
        content = json.loads(owner.read_text())
        if time.time() - owner.stat().st_mtime > STALE:
            return True
        if content["host"] == socket.gethostname():
            os.kill(content["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, LookupError, TypeError):
        return False
    return False
