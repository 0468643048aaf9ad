"""Signals at random moments of commands."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from chaos.home import HANGING, Home, end

Outcome = tuple[bool, str]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds that Python takes to reach the first line of the program, at the least.
STARTING = 0.1


def commands(home: Home) -> list[tuple[object, ...]]:
    """Return commands that compute, write, start processes, or only print."""
    source, target = home.folder / "source.csv", home.folder / "target.csv"
    for file, own in ((source, "here"), (target, "there")):
        lines = [f"word{n % 7} word{n % 5} {own}{n % 4},{'ab'[n % 2]}" for n in range(60)]
        file.write_text("\n".join(["text,label", *lines]))
    files = ("--source", source, "--target", target, "--force")
    return [
        ("reproduce", home.experiment, "--jobs", 2, "--force"),
        ("compare", *files),
        ("predict", *files, "--out", home.folder / "found.csv"),
        ("run", "generated/small", "-m", "kmeans", "--force"),
        ("list",),
        ("doctor",),
    ]


def left(home: Home, temporary: Path, session: int) -> list[str]:
    """Return what a command left: temporary files and processes of its session."""
    until = time.monotonic() + 5
    while members(session) and time.monotonic() < until:
        time.sleep(0.05)
    found = [path.name for path in temporary.iterdir()] + home.temporary_files()
    return found + [f"process {pid}" for pid in members(session)]


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
    program = [sys.executable, "-m", "transferbench", *home.command(*command)[2:]]
    environment = home.environment() | {"TMPDIR": str(temporary)}
    pipe = subprocess.PIPE
    started = subprocess.Popen(
        program, env=environment, start_new_session=True, stdout=pipe, stderr=pipe, text=True
    )
    try:
        time.sleep(after)
        if started.poll() is None:
            os.killpg(started.pid, number)
        _, err = started.communicate(timeout=HANGING)
        left_over = left(home, temporary, started.pid)
    finally:
        end(started)
        shutil.rmtree(temporary, ignore_errors=True)
    if started.returncode == -number and "transferbench" not in err:
        return "" if not left_over else f"left {left_over}"  # Python had not reached the program
    if started.returncode not in (0, 128 + number):
        return f"code {started.returncode}: {err[-300:]}"
    if started.returncode and (err.count("Interrupted.") != 1 or "Error" in err):
        return f"not one line: {err[-900:]}"
    if "Traceback" in err or "Exception" in err:
        return f"a traceback: {err[-900:]}"
    return f"left {left_over}" if left_over else ""


def signals(folder: Path, times: int = 60) -> Outcome:
    """Ctrl-C, SIGTERM and SIGHUP at random moments of commands"""
    home, rng = Home(folder), random.Random(0)
    counts: Counter[str] = Counter()
    wrong = []
    lasts: dict[int, float] = {}
    todo = commands(home)
    for n in range(times):
        which, number = n % len(todo), SIGNALS[rng.randrange(3)]
        if which not in lasts:
            start = time.monotonic()
            home.call(*todo[which])
            lasts[which] = time.monotonic() - start
        after = rng.uniform(STARTING, max(lasts[which], 2 * STARTING))
        if error := interrupt(home, todo[which], number, after):
            wrong.append(f"{todo[which][0]}, signal {int(number)} after {after:.2f} s: {error}")
        counts[f"{todo[which][0]}"] += 1
    seen = ", ".join(f"{count} × {name}" for name, count in counts.items())
    return not wrong, "; ".join([f"signals: {seen}; {len(wrong)} wrong", *wrong[:5]])
