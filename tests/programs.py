"""Commands in processes of their own, with folders of their own, and signals that end them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from soak import EXPERIMENT, ROOT

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds after which a command counts as hanging.
HANGING = 120


def without_progress(lines: str) -> str:
    """Drop the plan of `reproduce` and lines of progress: a run of 10 seconds writes one."""
    return re.sub(r"(?m)^(\d+/\d+ runs|\d+ experiments?:).*\n", "", lines)


class Home:
    """New folders of data and results, and an experiment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.data, self.results = folder / "data", folder / "results"
        self.experiment = folder / "broken.yaml"
        self.experiment.write_text(EXPERIMENT)

    def command(self, *arguments: object) -> list[str]:
        folders = ["--offline", "--data", self.data, "--results", self.results]
        return [str(word) for word in (sys.executable, "-m", "transferbench", *folders, *arguments)]

    def environment(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        return env | {"PYTHONPATH": str(ROOT)}


def commands(home: Home) -> list[tuple[object, ...]]:
    """Return commands that compute, write or start processes."""
    source, target = home.folder / "source.csv", home.folder / "target.csv"
    for file, own in ((source, "here"), (target, "there")):
        lines = [f"word{n % 7} word{n % 5} {own}{n % 4},{'ab'[n % 2]}" for n in range(60)]
        file.write_text("\n".join(["text,label", *lines]))
    files = ("--source", source, "--target", target, "--force")
    return [
        ("reproduce", home.experiment, "--jobs", 2),
        ("compare", *files),
        ("predict", *files, "--out", home.folder / "found.csv"),
        ("run", "generated/small", "-m", "kmeans"),
    ]


def members(session: int) -> list[str]:
    """Return the running processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == session:
            found.append(stat.parent.name)
    return found


def interrupt(home: Home, command: tuple[object, ...], number: int, after: float) -> str:
    """Send a signal to a command and its children after some seconds; return what went wrong."""
    temporary = Path(tempfile.mkdtemp(prefix="tb-"))  # a socket's path must be short
    started = subprocess.Popen(
        home.command(*command),
        env=home.environment() | {"TMPDIR": str(temporary)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(after)
        if started.poll() is None:
            os.killpg(started.pid, number)
        _, err = started.communicate(timeout=HANGING)
        until = time.monotonic() + 5
        while members(started.pid) and time.monotonic() < until:
            time.sleep(0.05)
        left_over = [*temporary.iterdir(), *members(started.pid)]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        shutil.rmtree(temporary, ignore_errors=True)
    if started.returncode == -number and "transferbench" not in err:
        return "" if not left_over else f"left {left_over}"  # Python had not reached the program
    if "Exception ignored in" in err and "KeyboardInterrupt" in err:
        return ""  # the signal came in a callback of Python, which drops exceptions
    if started.returncode not in (0, 128 + number):
        return f"code {started.returncode}: {err[-300:]}"
    if started.returncode and (err.count("Interrupted.") != 1 or "Error" in err):
        return f"not one line: {err[-900:]}"
    if "Traceback" in err or "Exception" in err:
        return f"a traceback: {err[-900:]}"
    return f"left {left_over}" if left_over else ""
