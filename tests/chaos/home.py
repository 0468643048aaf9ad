"""Folders for a small experiment, and the processes that reproduce it there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXPERIMENT = """
title: An experiment to break
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
repeats: REPEATS
rows:
  one: {task: "generated/small:documents=200,features=200,words=20,classes=3"}
  two: {task: "generated/small:documents=200,features=200,words=20,classes=3,random_state=1"}
columns:
  k-means: {model: kmeans, params: {pool_tasks: false, n_init: 1, max_iter: 300}}
published: {one: {k-means: 50.0}}
tolerance: {value: 1.0, reason: none}
"""
#: Files that must be identical after every scenario (runs.csv holds times, which differ).
TABLES = ("table.md", "table.csv", "table.tex")
#: Seconds after which a command counts as hanging.
HANGING = 120


def without_progress(lines: str) -> str:
    """Drop the plan of `reproduce` and lines of progress: a run of 10 seconds writes one."""
    return re.sub(r"(?m)^(\d+/\d+ runs|\d+ experiments?:).*\n", "", lines)


class Home:
    """New folders of data and results, and an experiment of 2 × `repeats` runs."""

    def __init__(self, folder: Path, repeats: int = 6) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder, self.diary = folder, folder / "diary"
        self.temporary = Path(tempfile.gettempdir())
        self.data, self.results = folder / "data", folder / "results"
        self.experiment = folder / "broken.yaml"
        self.experiment.write_text(EXPERIMENT.replace("REPEATS", str(repeats)))

    def command(self, *arguments: object) -> list[str]:
        program = [sys.executable, Path(__file__).with_name("program.py"), "--offline"]
        folders = ["--data", self.data, "--results", self.results]
        arguments = arguments or ("reproduce", self.experiment, "--jobs", 2)
        return [str(word) for word in (*program, *folders, *arguments)]

    def environment(self, **more: object) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        env |= {"XDG_CONFIG_HOME": str(self.folder / "config"), "CHAOS_DIARY": str(self.diary)}
        env |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)}
        return env | {f"CHAOS_{name.upper()}": str(value) for name, value in more.items()}

    def start(self, *arguments: object, **options) -> subprocess.Popen:
        """Start `reproduce`, or another command, in a new process group."""
        pipe = subprocess.PIPE
        chaos = {name: options.pop(name) for name in ("kill", "clock") if name in options}
        options = {
            "stdout": pipe,
            "stderr": pipe,
            "start_new_session": True,
            "text": True,
        } | options
        return subprocess.Popen(self.command(*arguments), env=self.environment(**chaos), **options)

    def call(self, *arguments: object, **options) -> tuple[int, str, str]:
        """Return exit code, output and errors of a command. Raise TimeoutExpired if it hangs."""
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(timeout=HANGING)
        finally:
            end(process)
        return process.returncode, out or "", err or ""

    def records(self) -> dict[str, str]:
        """Return the text of every finished record by key."""
        texts = {}
        for path in self.results.glob("records/*/*.json"):
            text = path.read_text(encoding="utf-8")
            if json.loads(text)["status"] == "done":
                texts[path.stem] = text
        return texts

    def writes(self) -> Counter:
        """Return how often each record was written, by key."""
        return Counter(self.diary.read_text().split() if self.diary.is_file() else ())

    def tables(self) -> list[str]:
        return [(self.results / "broken" / name).read_text(encoding="utf-8") for name in TABLES]

    def temporary_files(self) -> list[str]:
        """Return the names of temporary files that were not removed."""
        files = [*self.data.rglob("*"), *self.results.rglob("*")]
        return [
            f.name
            for f in files
            if f.is_file() and f.name.startswith(".") and not f.name.endswith((".lock", ".notice"))
        ]


def end(process: subprocess.Popen) -> float:
    """Kill the process group; return the seconds until all its processes have ended."""
    start = time.monotonic()
    while time.monotonic() - start < 10:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            break
        process.poll()
        time.sleep(0.01)
    process.wait()
    return time.monotonic() - start


def one_line(code: int, err: str) -> bool:
    """True if a command ended with a user error: code 2 and one line."""
    return code == 2 and without_progress(err).count("\n") == 1 and "Traceback" not in err
