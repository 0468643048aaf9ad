"""Kill reproductions at random moments for a minute; fail if a finished run is lost or done twice.

    python tests/soak.py [seconds]            (make soak)

Each round starts one or two reproductions of a small experiment in one folder, kills some with
SIGKILL, and starts again until all runs are finished. The table must be that of an undisturbed
reproduction, byte for byte.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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


def start(folder: Path) -> subprocess.Popen[str]:
    """Start a reproduction in a process group of its own."""
    (folder / "soak.yaml").write_text(EXPERIMENT, encoding="utf-8")
    folders = ["--data", str(folder / "data"), "--results", str(folder / "results"), "--offline"]
    reproduce = ["reproduce", str(folder / "soak.yaml"), "--jobs", "2"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
    return subprocess.Popen(
        [sys.executable, "-m", "transferbench", *folders, *reproduce],
        env=environment | {"PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(folder)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )


def finished(folder: Path) -> int:
    """Return how many runs a new reproduction would reuse."""
    folders = ["--data", str(folder / "data"), "--results", str(folder / "results"), "--offline"]
    command = [sys.executable, "-m", "transferbench", *folders, "reproduce", "--dry-run"]
    done = subprocess.run(
        [*command, str(folder / "soak.yaml")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(re.search(r"(\d+) finished", done.stdout + done.stderr)[1])


def complete(process: subprocess.Popen[str]) -> None:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert "Traceback" not in err, err


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


def main(seconds: float) -> None:
    """Print what was done in this time."""
    rng, kills, rounds = random.Random(0), 0, 0
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
            store = folder / "results" / "soak" / "runs.jsonl"
            twice = len(store.read_text("utf-8").splitlines()) - RUNS
            assert twice == 0, f"{twice} runs were done twice"
            rounds += 1
    print(f"{kills} kills over {rounds} experiments: nothing lost, tables identical")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
