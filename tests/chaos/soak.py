"""Hundreds of runs, undisturbed and interrupted: what grows, what is left, what the table says."""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

from chaos.home import Home, end

Outcome = tuple[bool, str]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Seconds between two looks at a process.
EVERY = 0.1


def soak(folder: Path, times: int = 300) -> Outcome:
    """runs of one `reproduce` interrupted at random and resumed; memory, descriptors, files"""
    home = Home(folder / "whole", times // 2)
    memory, descriptors = _watch(home)
    expected, rng = home.tables(), random.Random(0)
    home, saved, counts = Home(folder / "interrupted", times // 2), {}, dict.fromkeys(SIGNALS, 0)
    home.temporary = folder / "tmp"  # a path short enough for sockets
    home.temporary.mkdir()
    lost, repeated, code, patience = 0, 0, None, 5.0
    while code is None:
        process = _start(home)
        try:
            code = process.wait(rng.uniform(0, patience) if len(saved) < times else None)
        except subprocess.TimeoutExpired:
            number = rng.choice(SIGNALS)
            counts[number] += 1
            process.send_signal(number)
            process.wait(60)  # an interrupted command ends by itself
        end(process)
        now = home.records()
        patience = 5.0 if len(now) > len(saved) else 1.5 * patience  # on a busy machine
        lost += len(saved.keys() - now.keys())
        repeated += sum(now[key] != text for key, text in saved.items() if key in now)
        saved |= now
    same = code == 0 and len(saved) == times and home.tables() == expected
    left = home.temporary_files()
    folders = [path.name for path in home.temporary.iterdir()]
    sent = ", ".join(f"{number.name} {count}" for number, count in counts.items())
    summary = (
        f"{times} runs, {sum(counts.values())} interruptions ({sent}): {lost} lost, {repeated} "
        f"repeated, table equal {same}, temporary files {len(left)}, left in TMPDIR "
        f"{len(folders)}; undisturbed, from second third to last: memory {memory[0]:.0f} to "
        f"{memory[1]:.0f} MiB, descriptors {descriptors[0]} to {descriptors[1]}"
    )
    steady = memory[1] < 1.1 * memory[0] + 10 and descriptors[1] <= descriptors[0] + 2
    few = len(folders) <= counts[signal.SIGKILL]
    return same and steady and few and (lost, repeated, len(left)) == (0, 0, 0), summary


def _start(home: Home) -> subprocess.Popen:
    quiet = subprocess.DEVNULL
    return home.start(stdout=quiet, stderr=quiet)


def _watch(home: Home) -> tuple[tuple[float, float], tuple[int, int]]:
    """Run undisturbed; return the most MiB and descriptors in the second and last third."""
    process, looks = _start(home), []
    proc = Path(f"/proc/{process.pid}")
    while process.poll() is None:
        try:
            pages = int((proc / "statm").read_text().split()[1])
            looks.append((pages * 4096 / 2**20, len(list((proc / "fd").iterdir()))))
        except (OSError, IndexError):
            pass  # it has just ended
        try:
            process.wait(EVERY)
        except subprocess.TimeoutExpired:
            continue
    end(process)
    assert process.returncode == 0
    third = len(looks) // 3
    first, last = looks[third : 2 * third], looks[-third:]
    memory = max(look[0] for look in first), max(look[0] for look in last)
    descriptors = max(look[1] for look in first), max(look[1] for look in last)
    return memory, descriptors
