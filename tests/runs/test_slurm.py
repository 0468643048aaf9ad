"""Slurm jobs, submitted to a stand-in of its commands, that really run."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from test_engines import RUN, lines, records, saved, shell, slurm, wait_until

from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.runs import engines, runner
from transferbench.runs.engines import Options
from transferbench.runs.record import Job, Limits, TaskFile

__all__ = ["shell", "slurm"]  # fixtures
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the stand-in needs a shell and /proc"),
    pytest.mark.skipif(not engines.installed("slurm"), reason="no [slurm] here"),
]
GOOD = (*RUN, "-m", "good", "--engine", "slurm")


def make_jobs(home, limits: Limits, count: int = 5) -> list[Job]:
    named = tasks.Task.named("generated/small:documents=40")
    facts = tasks.facts(named, home)
    task = TaskFile.of(named.name, named.built_path(home), facts)
    runs = runner.plan(named.name, "kmeans", {}, range(count))
    return [Job(run.key(facts), run, task, limits) for run in runs]


def engine(folder: Path, n_jobs: int = 2, **options: str):
    from transferbench.runs.engines.slurm import Slurm

    options = Options(n_jobs, slurm=options, folder=folder)
    return Slurm(options=options, poll=0.1, remind=0.3)


def performed(engine, jobs: list[Job], on_progress=lambda *progress: None) -> list:
    return list(engine.records(jobs, on_progress, lambda record: None))


def interrupt_when(condition):
    deadline = time.monotonic() + 120

    def on_progress(*progress) -> None:
        assert time.monotonic() < deadline, "waited too long"
        if condition():
            raise KeyboardInterrupt

    return on_progress


def directives(script: str) -> set[str]:
    lines = script.splitlines()
    return {line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")}


def test_a_job_asks_for_what_its_runs_need(home, tmp_path, slurm):
    slurm.hold()
    jobs = make_jobs(home, Limits(600.0, 3 * 2**30, 4))
    folder = tmp_path / "jobs"
    modes = set()

    def submitted() -> bool:
        modes.update(file.stat().st_mode & 0o077 for file in folder.glob(".dask-jobqueue*"))
        return len(slurm.scripts()) == 2

    with pytest.raises(KeyboardInterrupt):
        performed(engine(folder), jobs, interrupt_when(submitted))
    for script in slurm.scripts():  # three runs one after the other, and five minutes to start
        assert {"--cpus-per-task=4", "--mem=4G", "-t 35"} <= directives(script)
        assert "tls://" in script
    assert modes == {0}, "keys that only their owner can read"
    assert len(slurm.cancelled()) == 2
    assert not list(folder.glob("tmp*"))


def test_options_of_the_user_replace_ours(home, tmp_path, slurm):
    slurm.hold()
    jobs = make_jobs(home, Limits(600.0, 2**30))
    chosen = engine(tmp_path, 1, mem_per_cpu="3G", time="10")
    with pytest.raises(KeyboardInterrupt):
        performed(chosen, jobs, interrupt_when(slurm.scripts))
    found = directives(slurm.scripts()[0])
    assert {"--mem-per-cpu=3G", "--time=10"} <= found
    assert not [line for line in found if line.startswith("--mem=")]


def test_refused_jobs_are_one_line(shell, slurm):
    code, out, err = shell(*GOOD, "--slurm", "partition=refused")
    assert (code, out, len(lines(err))) == (2, "", 1)
    assert "sbatch: error: invalid partition specified: refused\\u001b[2J; see --slurm" in err


def test_a_message_says_why_no_job_runs(home, tmp_path, slurm, capfd):
    slurm.hold()
    seen: list[str] = []

    def said() -> bool:
        seen.extend(capfd.readouterr().err.splitlines())
        return len(seen) > 1

    with pytest.raises(KeyboardInterrupt):
        performed(engine(tmp_path), make_jobs(home, Limits()), interrupt_when(said))
    assert set(seen) == {"2 Slurm jobs wait, none runs: 2 × Priority."}


def test_jobs_that_end_before_they_work_are_one_line(home, tmp_path, slurm):
    dask = pytest.importorskip("dask")
    prologue = {"jobqueue.slurm.job-script-prologue": ["echo no disk >&2; exit 1"]}
    message = r"ended before they took a run \(no disk\)"
    with dask.config.set(prologue), pytest.raises(UserError, match=message):
        performed(engine(tmp_path), make_jobs(home, Limits()))


def test_a_lost_job_is_submitted_again_and_its_run_repeated(shell, slurm):
    process = shell(*GOOD, "--set", "pause=2", "--repeats", "3", wait=False)
    wait_until(shell.log.started)
    slurm.kill()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert len(records(out)) == 3
    assert len(slurm.scripts()) == 2
    assert sorted(shell.log.seeds()) == sorted([0, 1, 2, shell.log.seeds()[0]])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_the_jobs_and_keeps_finished_runs(shell, slurm, number):
    call = (*GOOD, "--jobs", "2", "--repeats", "30", "--set", "pause=1")
    process = shell(*call, wait=False)
    wait_until(lambda: len(saved(shell)) >= 2, 300)
    os.killpg(process.pid, number)
    err = process.communicate(timeout=120)[1]
    assert process.returncode == 128 + number
    assert [line.split(".")[0] for line in lines(err)] == ["Interrupted"]
    assert 2 <= len(saved(shell)) < 30
    assert len(slurm.cancelled()) == 2
    wait_until(lambda: not slurm.running(), 120)
    started = len(shell.log.started())
    time.sleep(2)
    assert len(shell.log.started()) == started
