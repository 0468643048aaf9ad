"""Engines: the same records from each, and a lost worker or scheduler costs little.

Schedulers and workers are real processes on the loopback.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
import toys

from transferbench.errors import UserError
from transferbench.runs import engines

needs_dask = pytest.mark.skipif(not find_spec("distributed"), reason="no [dask] here")
if find_spec("distributed"):
    from transferbench.runs.engines import dask as remote
linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")

FILES = toys.FILES | {
    "counts.py": """
        import time
        from transferbench.problem import Fit
        def fit(problem, *, watch=None):
            fit = Fit(tuple(d.Y + 0.5 for d in problem.domains))
            for i in range(1, 41):
                time.sleep(0.1)
                watch(i, 40, fit.scores)
            return fit
    """,
    "kills.py": """
        import os, signal
        from toys import worker_of
        def fit(problem, *, watch=None):
            os.kill(worker_of(os.getpid()), signal.SIGKILL)
    """,
}
RUN = ("run", "own/small", "--no-reference", "--json")


@pytest.fixture
def shell(plugin, home, tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_OFFLINE", "1")
    shell = toys.Shell(plugin, FILES, home, tmp_path, monkeypatch)
    shell.data = Path("data")  # relative to the folder of the caller, which workers do not share
    return shell


@pytest.fixture
def cluster(shell, tmp_path, monkeypatch):
    """Starts a dask scheduler and workers by dask's own commands: start(workers)."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(tmp_path / "worker-data"))
    processes: list[subprocess.Popen] = []

    def begin(*arguments: str) -> subprocess.Popen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments], cwd=tmp_path, start_new_session=True,
            **quiet,
        )  # fmt: skip
        processes.append(process)
        return process

    def start(workers: int = 1, port: int | None = None) -> str:
        if port is None:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        start.scheduler = begin(
            "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
        )
        for _ in range(workers):
            begin("worker", address, "--nthreads", "1", "--no-dashboard")
        return address

    yield start
    for process in reversed(processes):
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()


def records(out: str) -> dict[tuple[str, int | None], dict]:
    lines = map(json.loads, out.splitlines())
    return {(record["model"], record["seed"]): record for record in lines}


def saved(shell) -> list[dict]:
    files = shell.results.glob("runs.jsonl")
    return [json.loads(line) for path in files for line in path.open()]


def lines(err: str) -> list[str]:
    """Return the lines without those about the progress, which a slow machine has."""
    return [line for line in err.splitlines() if not re.match(r"\d+/\d+ runs", line)]


def wait_until(condition, seconds: float = 60.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
    return value


CHANGING = {"seconds", "reused_seconds", "peak_mib", "finished", "traceback"}


@needs_dask
def test_the_records_are_the_same_on_every_engine(shell, cluster):
    models = [part for name in ("mtrick", "lr", "dies") for part in ("-m", name)]
    call = [*RUN, *models, "--repeats", "2", "--jobs", "3", "--threads", "2"]
    sleeps = [*RUN, "-m", "sleeps", "--time-limit", "1"]
    address = cluster(workers=3)
    ways = {"local": [], "dask": ["--scheduler", address]}
    by_engine = {}
    for name, how in ways.items():
        by_engine[name] = {}
        for each in (call, sleeps):
            code, out, err = shell(*each, "--memory-limit", "2", "--rerun", "all", *how)
            assert code == 1, err
            assert len(lines(err)) == 1, err  # for the run that did not finish
            by_engine[name] |= records(out)
    assert {key[0]: record["status"] for key, record in by_engine["local"].items()} == {
        "mtrick": "done", "lr": "done", "dies": "crashed", "sleeps": "timeout"
    }  # fmt: skip
    assert by_engine["dask"].keys() == by_engine["local"].keys()
    for key, record in by_engine["dask"].items():
        ours = by_engine["local"][key]
        assert {k: v for k, v in record.items() if k not in CHANGING} == {
            k: v for k, v in ours.items() if k not in CHANGING
        }
    local = by_engine["local"]
    assert local["mtrick", 0]["objective"] != local["mtrick", 1]["objective"]


PROGRESS = """
from pathlib import Path
from transferbench import settings
from transferbench.runs import engines, runner
from transferbench.runs.progress import ProgressBar
ProgressBar.update = lambda bar, run=None, *progress: print(*progress) if run else None
engine = engines.choose(1, (sys.argv[1:] or [None])[0])
runs = runner.plan("own/small", "counts", {}, [0])
here = settings.load().replace(data=Path("data").resolve(), results=Path("results").resolve())
(record,) = runner.run(runs, here, engine=engine)
assert record.done, record
"""


@pytest.mark.parametrize(
    "engine",
    ["local", pytest.param("dask", marks=needs_dask)],
)
def test_progress_is_reported(shell, cluster, tmp_path, engine):
    address = [cluster()] if engine == "dask" else []
    script = tmp_path / "progress.py"
    script.write_text(
        f"import sys\nif __name__ == '__main__':\n{textwrap.indent(PROGRESS, '    ')}"
    )
    done = subprocess.run(
        [sys.executable, script, *address], cwd=shell.folder, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    progress = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert progress[0] == (0, 1)
    assert all(planned == 40 for _, planned in progress[1:])
    assert any(0 < iteration < 40 for iteration, _ in progress)
    assert progress == sorted(progress)


@linux
@needs_dask
def test_a_run_is_retried_if_its_worker_dies_unless_it_kills_all_workers(shell, cluster):
    address = cluster(workers=2)
    slow = [*RUN, "-m", "good", "--repeats", "3", "--set", "pause=2", "--scheduler", address]
    process = shell.start(*slow)
    os.kill(toys.worker_of(wait_until(shell.log.started)[0][1]), signal.SIGKILL)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert {record["status"] for record in records(out).values()} == {"done"}
    times = Counter(seed for seed, _ in shell.log.started())
    assert set(times) == {0, 1, 2}
    assert sum(times.values()) == 4  # the killed worker's run, twice

    call = [*RUN, "-m", "good", "-m", "kills", "--repeats", "4", "--scheduler", address]
    code, out, err = shell(*call)
    by_run = records(out)
    assert code == 1
    assert by_run.pop(("kills", None))["reason"] == "each of the 2 workers that began it died"
    assert len(lines(err)) == 1
    assert [record["status"] for record in by_run.values()] == ["done"] * 4


@needs_dask
def test_a_lost_scheduler_is_one_line_and_the_command_continues_later(shell, cluster):
    address = cluster()
    call = [*RUN, "-m", "good", "--repeats", "5", "--set", "pause=0.7", "--scheduler", address]
    process = shell.start(*call)
    wait_until(lambda: len(saved(shell)) >= 2)
    cluster.scheduler.kill()
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert len(lines(err)) == 1
    assert f"the scheduler at {address} was lost" in err
    before = {record["seed"] for record in saved(shell)}
    assert 2 <= len(before) < 5
    cluster.scheduler.wait()
    cluster(port=int(address.rpartition(":")[2]))
    code, out, err = shell(*call)
    assert (code, len(records(out))) == (0, 5), err
    times = Counter(seed for seed, _ in shell.log.started())
    assert all(times[seed] == 1 for seed in before)


@needs_dask
def test_ctrl_c_ends_the_runs_of_workers(shell, cluster):
    address = cluster()
    process = shell.start(*RUN, "-m", "good", "--set", "pause=500", "--scheduler", address)
    wait_until(shell.log.started)
    os.killpg(process.pid, signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert [line.split(".")[0] for line in lines(err)] == ["Interrupted"]
    # The scheduler's worker, which has one thread, is free again.
    code, _, err = shell(*RUN, "-m", "good", "--scheduler", address)
    assert code == 0, err


@needs_dask
def test_a_difference_is_named_with_the_worker_that_has_it():
    ours = remote.identity("lr")
    remote.check_identity(ours, ours, "tcp://a")
    for change in ({"numpy": "1.0"}, {"its code": "other"}):
        ((name, value),) = change.items()
        with pytest.raises(UserError, match=f"{name} is {value} on tcp://b and"):
            remote.check_identity(ours, ours | change, "tcp://b")
    fewer = {name: value for name, value in ours.items() if name != "model lr"}
    with pytest.raises(UserError, match="model lr is missing on tcp://b and"):
        remote.check_identity(ours, fewer, "tcp://b")


@needs_dask
def test_a_scheduler_that_does_not_answer_is_one_line(call):
    address = "tcp://me:secret@127.0.0.1:9"
    code, _, err = call("run", "generated/small", "-m", "kmeans", "--scheduler", address)
    assert (code, len(lines(err))) == (2, 1)
    assert "no dask scheduler with workers answers at tcp://127.0.0.1:9" in err


def test_a_missing_extra_is_one_line_with_the_remedy(call, monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    code, _, err = call("run", "generated/small", "-m", "kmeans", "--scheduler", "tcp://h:1")
    assert (code, len(lines(err))) == (2, 1)
    assert "pip install -e '.[dask]'" in err
