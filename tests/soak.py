"""Kill reproductions at random moments for a minute; fail if a finished run is lost or done twice.

    python tests/soak.py [seconds]            (make soak)

Each round starts one or two reproductions of a small experiment in one folder, kills some with
SIGKILL, and starts again until all runs are finished. The table must be that of an undisturbed
reproduction, byte for byte. Before that, pairs of processes that write 300 runs twice are killed,
the clock goes back, and the disk is full for a while.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transferbench.errors import UserError
from transferbench.runs import store
from transferbench.runs.record import Record

FORK = multiprocessing.get_context("fork")
RECORDS = [
    Record("generated/small", "lr", {"k": 2}, seed, "done", code="old", seconds=1.0,
           metrics={"target": {"accuracy": 0.5}}, finished=f"2026-01-01T00:{59 - seed // 6:02}:00Z")
    for seed in range(300)
]  # fmt: skip
#: Later runs by other code, when the clock has been set back.
NEW = [replace(each, code="new", finished="2025-01-01T00:00:00Z") for each in RECORDS]
ROOT = Path(__file__).parents[1]
RUNS = 12
EXPERIMENT = f"""
title: An experiment to kill
paper: {{title: none, authors: none, venue: none, place: none}}
metric: accuracy
repeats: {RUNS // 2}
rows:
  one: {{task: "generated/small:documents=200,features=200,words=20,classes=3"}}
  two: {{task: "generated/small:documents=200,features=200,words=20,classes=3,random_state=1"}}
columns:
  k-means: {{model: kmeans, params: {{pool_tasks: false, n_init: 1, max_iter: 300}}}}
published: {{one: {{k-means: 50.0}}}}
tolerance: {{value: 1.0, reason: none}}
"""


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a reproduction in a process group of its own."""
    (folder / "soak.yaml").write_text(EXPERIMENT, encoding="utf-8")
    folders = ["--data", str(folder / "data"), "--results", str(folder / "results"), "--offline"]
    reproduce = ["reproduce", str(folder / "soak.yaml"), "--jobs", "2", *options]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
    return subprocess.Popen(
        [sys.executable, "-m", "transferbench", *folders, *reproduce],
        env=environment | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def finished(folder: Path) -> int:
    """Return how many runs a new reproduction would reuse."""
    return int(re.search(r"(\d+) reused", complete(start(folder, "--dry-run")))[1])


def complete(process: subprocess.Popen[str]) -> str:
    """Return what a reproduction prints."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert "Traceback" not in err, err
    return out + err


def table(folder: Path) -> bytes:
    return (folder / "results" / "soak" / "table.csv").read_bytes()


def killed(folder: Path, seconds: float, rng: random.Random) -> int:
    """Kill a reproduction, or one of two, until all runs are finished; return the kills."""
    kills = before = 0
    while before < RUNS:
        processes = [start(folder) for _ in range(rng.choice((1, 1, 2)))]
        time.sleep(rng.uniform(0, seconds))
        if processes[0].poll() is None:
            if rng.random() < 0.5:  # its runs must end by themselves
                processes[0].kill()
            else:
                os.killpg(processes[0].pid, signal.SIGKILL)
            kills += 1
            processes.pop(0).communicate(timeout=10)
        for process in processes:
            complete(process)
        after = finished(folder)
        assert after >= before, f"{before - after} finished runs were lost"
        before = after
    return kills


def is_written(known: store.Store, record: Record) -> bool:
    former = known.get(record.run)
    return former is not None and former.code == record.code


def write(results: Path, records: Sequence[Record], saved: Sequence[int]) -> None:
    """Append the records that a store lacks, and mark their seeds as saved."""
    known = store.Store(results, single=True)
    for record in records:
        if not is_written(known, record):
            try:
                known.append(record)
            except UserError as error:
                sys.exit(str(error))
        saved[record.seed] = True


def write_disturbed(results: Path, rng: random.Random) -> int:
    """Write all records, then all new ones, with kills in between; return the kills."""
    path, kills, rounds = results / store.NAME, 0, 0
    for records in (RECORDS, NEW):
        saved = FORK.RawArray("b", len(records))
        while not all(saved):
            halves = [(results, records[i::2], saved) for i in (0, 1)]
            processes = [FORK.Process(target=write, args=half) for half in halves]
            for process in processes:
                process.start()
            rounds += 1
            time.sleep(rng.uniform(0, rounds / 10))
            for process in processes:
                process.kill()
                process.join()
            ends = [process.exitcode for process in processes]
            kills += ends.count(-signal.SIGKILL)
            if 1 in ends:  # the disk is full
                subprocess.run(["mount", "-o", "remount,size=1m", results], check=True)
            known = store.Store(results, single=True)
            lost = [r.run for r in records if saved[r.seed] and not is_written(known, r)]
            assert not lost, f"{len(lost)} saved runs were lost"
    assert len(path.read_bytes().splitlines()) == 2 * len(RECORDS), "runs were written twice"
    known.rewrite_in_order(path, {record.run: record for record in NEW})
    assert len(path.read_bytes().splitlines()) == len(NEW)
    return kills


def main(seconds: float) -> None:
    """Print what was done in this time."""
    rng, kills, rounds = random.Random(0), 0, 0
    with tempfile.TemporaryDirectory() as name:
        kills = write_disturbed(Path(name), rng)
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", name]
        if subprocess.run(mount, capture_output=True).returncode:
            print("no full disk: no right to mount a tmpfs")
        else:
            try:
                kills += write_disturbed(Path(name), rng)
            finally:
                subprocess.run(["umount", name], check=True)
    print(f"{kills} kills over {4 * len(RECORDS)} written runs: nothing lost, nothing twice")
    kills = 0
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name, "whole")
        whole.mkdir()
        began = time.monotonic()
        complete(start(whole))
        undisturbed = time.monotonic() - began
        while time.monotonic() < began + seconds or not kills:
            folder = Path(name, f"{rounds}")
            folder.mkdir()
            kills += killed(folder, undisturbed, rng)
            complete(start(folder))  # which writes the table, if a kill came before that
            assert table(folder) == table(whole), "the table differs"
            lines = (folder / "results" / "soak" / store.NAME).read_text("utf-8").splitlines()
            twice = len(lines) - RUNS
            assert twice == 0, f"{twice} runs were done twice"
            rounds += 1
    print(f"{kills} kills over {rounds} experiments: nothing lost, tables identical")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
