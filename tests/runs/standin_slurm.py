"""A stand-in of Slurm's commands: `sbatch` starts a job script at once, as a process of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

COMMANDS = {
    "sbatch": """
        if grep -q 'partition=refused' "$1"; then
            printf 'sbatch: error: invalid partition specified: refused\\033[2J\\n' >&2; exit 1
        fi
        id=$$
        cp "$1" $HERE/scripts/$id
        log=$(sed -n 's/^#SBATCH -e \\(.*\\)%J.err/\\1/p' "$1")
        if [ ! -e $HERE/hold ]; then
            setsid sh "$HERE/scripts/$id" < /dev/null > /dev/null 2> "$log$id.err" &
            echo $! > $HERE/running/$id
        fi
        echo "Submitted batch job $id"
    """,
    "squeue": """
        for job in $HERE/scripts/*; do
            [ ! -e $HERE/hold ] || echo Priority
        done
        for job in $HERE/running/*; do
            if grep -q '^State:.[^Z]' /proc/$(cat $job)/status 2> /dev/null; then echo None; fi
        done
    """,
    "scancel": """
        for id; do
            echo $id >> $HERE/cancelled
            [ ! -e $HERE/running/$id ] || kill -TERM -$(cat $HERE/running/$id)
            # As Slurm does after its KillWait.
            [ ! -e $HERE/running/$id ] ||
                (sleep 30; kill -KILL -$(cat $HERE/running/$id)) > /dev/null 2>&1 &
        done
    """,
}


class StandIn:
    """The commands in a folder, which is put on the PATH."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        for name in ("bin", "scripts", "running"):
            (folder / name).mkdir(parents=True)
        for name, body in COMMANDS.items():
            file = folder / "bin" / name
            file.write_text(f"#!/bin/sh\nHERE={folder}\n{body}\n")
            file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("DASK_JOBQUEUE__SLURM__INTERFACE", "lo")
        monkeypatch.setenv("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "500ms")

    def hold(self) -> None:
        """Let new jobs wait in the queue."""
        (self.folder / "hold").touch()

    def scripts(self) -> list[str]:
        """Return the script of each job that was submitted."""
        return [file.read_text() for file in (self.folder / "scripts").iterdir()]

    def cancelled(self) -> list[str]:
        """Return the ids of jobs that were cancelled."""
        file = self.folder / "cancelled"
        return file.read_text().split() if file.exists() else []

    def running(self) -> list[int]:
        """Return the process groups of jobs that have not ended."""
        found = []
        for file in (self.folder / "running").iterdir():
            group = file.read_text().strip()
            with suppress(OSError):  # it has ended
                if Path("/proc", group, "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found.append(int(group))
        return found

    def kill(self) -> None:
        """Kill the processes of all jobs."""
        for group in self.running():
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
