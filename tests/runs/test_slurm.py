"""The engine for Slurm against a stand-in of its commands, whose jobs the test moves by hand."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("submitit")

from submitit.core.utils import cloudpickle_dump, pickle_load

from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.runs import runner
from transferbench.runs.engines import remote, slurm, slurm_folder
from transferbench.runs.engines.slurm import Slurm
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Limits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in needs a shell")

#: In the folder: queue (lines as of squeue), ended (as of sacct), last (job id), cancelled, arrays.
COMMANDS = {
    "sbatch": """
        id=$(($(cat last) + 1)); echo $id > last
        array=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$1")
        echo "${array:-none}" >> arrays
        if [ "${array:-0}" -ge "$(cat limit)" ]; then echo 'Invalid job array' >&2; exit 1; fi
        grep -q refuse_me "$1" && { echo 'error: invalid partition' >&2; exit 1; }
        if [ -n "$array" ]; then
            for i in $(seq 0 $array); do echo "${id}_$i|PENDING|Priority"; done >> queue
        else
            echo "$id|PENDING|Priority" >> queue
        fi
        echo "Submitted batch job $id"
    """,
    "squeue": "[ ! -e broken ] && cat queue",
    "sacct": "cat ended",
    "scancel": 'for id; do echo $id >> cancelled; sed -i "/^$id|/d" queue; done',
    "scontrol": 'echo "MaxArraySize            = $(cat limit)"',
    "srun": "true",
}


class FakeSlurm:
    """The state of the stand-in; `end` writes the result of a job, as submitit does in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in ("queue", "ended", "cancelled", "arrays"):
            (folder / name).touch()
        (folder / "last").write_text("6\n")
        (folder / "limit").write_text("1001\n")
        for name, body in COMMANDS.items():
            file = folder / "bin" / name
            file.write_text(f"#!/bin/sh\ncd {folder}\n{body.strip()}\n".replace('"$1"', '"$FILE"'))
            if name == "sbatch":
                file.write_text(file.read_text().replace("cd ", 'FILE=$(realpath "$1")\ncd ', 1))
            file.chmod(0o755)

    def lines(self, name: str) -> list[str]:
        return (self.folder / name).read_text().split()

    def queue(self) -> list[str]:
        return [line.partition("|")[0] for line in self.lines("queue")]

    def set(self, job: str, state: str, reason: str = "None") -> None:
        """Change the state of a job in the queue."""
        others = [line for line in self.lines("queue") if not line.startswith(f"{job}|")]
        text = "".join(f"{line}\n" for line in [*others, f"{job}|{state}|{reason}"])
        (self.folder / "queue").write_text(text)

    def leave(self, job: str, state: str) -> None:
        """Let a job leave the queue, without a result, in this state."""
        others = [line for line in self.lines("queue") if not line.startswith(f"{job}|")]
        (self.folder / "queue").write_text("".join(f"{line}\n" for line in others))
        with (self.folder / "ended").open("a") as ended:
            ended.write(f"{job}|{state}\n")

    def end(self, job: str, files: Path, result=None) -> None:
        """Let a job end with a result: by default the record of its run."""
        (file,) = files.glob(f"*/jobs/{job}_submitted.pkl")
        if result is None:
            args = pickle_load(file).args
            result = args[0].record("done")
        cloudpickle_dump(("success", result), file.with_name(f"{job}_0_result.pkl"))
        self.leave(job, "COMPLETED")


@pytest.fixture
def fake(tmp_path, monkeypatch) -> FakeSlurm:
    fake = FakeSlurm(tmp_path / "fake")
    monkeypatch.setenv("PATH", f"{fake.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return fake


@pytest.fixture
def jobs(home) -> list[Job]:
    named = tasks.Task.named("generated/small:documents=40")
    facts = tasks.facts(named, home)
    task = TaskFile.of(named.name, named.built_path(home), facts)
    runs = runner.plan(named.name, "kmeans", {}, range(5))
    return [Job(run.key(facts), run, task, Limits(60.0)) for run in runs]


def collect(engine: Slurm, jobs: list[Job], steps) -> list:
    """Return the records; call the next of the steps at each heartbeat until they end."""
    steps = iter(steps)

    def on_progress(key=None, iteration=0, planned=1, /) -> None:
        assert time.monotonic() < deadline, "waited too long"
        if key is None and (step := next(steps, None)):
            step()

    deadline = time.monotonic() + 60
    return list(engine.records(jobs, on_progress, lambda record: None))


def engine(tmp_path, **options) -> Slurm:
    return Slurm(tmp_path / "slurm", 2, pause=0.02, poll=0.01, **options)


def test_an_array_has_no_more_jobs_than_slurm_allows(fake, jobs, tmp_path):
    (fake.folder / "limit").write_text("2\n")
    files = tmp_path / "slurm"

    def end_all() -> None:
        for job in fake.queue():
            fake.end(job, files)

    records = collect(engine(tmp_path), jobs, [end_all] * 50)
    assert {record.key for record in records} == {job.key for job in jobs}
    assert {record.status for record in records} == {"done"}
    assert fake.lines("arrays") == ["1", "1", "none"]
    assert not files.exists()


@pytest.mark.parametrize("state", ["PREEMPTED", "NODE_FAIL"])
def test_a_lost_job_is_submitted_again(fake, jobs, tmp_path, capfd, state):
    files = tmp_path / "slurm"
    steps = [lambda: fake.leave("7_1", state), lambda: fake.end("7_0", files)]
    again = lambda: [fake.end(job, files) for job in fake.queue() if job.startswith("8")]  # noqa: E731
    records = collect(engine(tmp_path), jobs[:2], [*steps, *[again] * 90])
    assert [record.status for record in records] == ["done", "done"]
    assert fake.lines("arrays") == ["1", "none"], "only what is missing"
    assert f"seed 1 is submitted again ({state.lower()}; 1 of 10)" in capfd.readouterr().err


def test_a_job_that_is_always_lost_crashes_at_last(fake, jobs, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "RETRIES", 2)

    def lose() -> None:
        for job in fake.queue():
            fake.leave(job, "PREEMPTED")

    (record,) = collect(engine(tmp_path), jobs[:1], [lose] * 90)
    assert (record.status, record.reason) == ("crashed", "preempted or lost 3 times")
    assert fake.lines("arrays") == ["none"] * 4


def test_a_requeued_job_is_waited_for(fake, jobs, tmp_path, capfd):
    files = tmp_path / "slurm"
    steps = [
        lambda: fake.set("7", "RUNNING"),
        *[lambda: None] * 5,
        lambda: fake.set("7", "PENDING", "BeginTime"),
        *[lambda: None] * 5,
        lambda: fake.set("7", "RUNNING"),
        lambda: fake.end("7", files),
    ]
    (record,) = collect(engine(tmp_path), jobs[:1], steps)
    assert record.done
    assert fake.lines("arrays") == ["none"]
    assert "seed 0 was preempted; Slurm will begin it again" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("state", "status", "reason"),
    [
        ("CANCELLED", "crashed", "its job ended in the state CANCELLED, without a record"),
        ("FAILED", "crashed", "its job ended in the state FAILED, without a record"),
        ("OUT_OF_MEMORY", "memory", "its Slurm job ran out of memory"),
        ("TIMEOUT", "timeout", "its Slurm job exceeded its time"),
    ],
)
def test_a_job_without_a_record_has_the_reason_of_slurm(
    fake, jobs, tmp_path, state, status, reason
):
    (record,) = collect(engine(tmp_path), jobs[:1], [lambda: fake.leave("7", state)])
    assert (record.status, record.reason) == (status, reason)


def test_jobs_are_not_lost_while_squeue_does_not_answer(fake, jobs, tmp_path):
    files = tmp_path / "slurm"
    steps = [
        lambda: fake.set("7", "RUNNING"),
        (fake.folder / "broken").touch,
        *[lambda: None] * 10,
        (fake.folder / "broken").unlink,
        *[lambda: None] * 5,
        lambda: fake.end("7", files),
    ]
    (record,) = collect(engine(tmp_path), jobs[:1], steps)
    assert record.done


def test_a_word_tells_why_nothing_runs(fake, jobs, tmp_path, capfd):
    files = tmp_path / "slurm"
    waits = Slurm(files, 2, pause=0.02, poll=0.01, remind=0.3)
    end_all = lambda: [fake.end(job, files) for job in fake.queue()]  # noqa: E731
    collect(waits, jobs[:3], [*[lambda: None] * 25, end_all])
    lines = capfd.readouterr().err.splitlines()
    assert lines
    assert set(lines) == {"3 Slurm jobs wait, none runs: 3 × Priority."}
    assert len(lines) <= 9, "not more often than asked for"


def test_refused_jobs_are_one_line(fake, jobs, tmp_path):
    options = {"partition": "refuse_me"}
    with pytest.raises(UserError, match=r"^sbatch: .*invalid partition.*--slurm"):
        collect(engine(tmp_path, options=options), jobs[:1], [])


def test_an_interrupt_cancels_all_jobs_and_keeps_results(fake, jobs, tmp_path):
    files = tmp_path / "slurm"

    def interrupt_after_first(*progress) -> None:
        if fake.queue() == ["7_0", "7_1"]:
            fake.end("7_0", files)
            interrupt()

    records = engine(tmp_path).records(jobs[:2], interrupt_after_first, lambda record: None)
    assert next(records).key == jobs[0].key
    with pytest.raises(KeyboardInterrupt):
        next(records)
    assert fake.lines("cancelled") == ["7_1"]
    assert not files.exists()


@pytest.fixture
def leave_behind(tmp_path, monkeypatch):
    """Function that submits jobs and leaves them as if its process had been killed."""

    def leave(jobs: list[Job]) -> None:
        gone = subprocess.Popen(["true"])
        gone.wait()
        with monkeypatch.context() as patch:
            patch.setattr(slurm_folder.Folder, "remove", lambda folder: None)
            patch.setattr(slurm, "_cancel", lambda submitted: None)
            patch.setattr(slurm_folder.os, "getpid", lambda: gone.pid)
            with pytest.raises(KeyboardInterrupt):
                collect(engine(tmp_path), jobs, [interrupt])

    return leave


def interrupt() -> None:
    raise KeyboardInterrupt


def test_jobs_of_a_killed_command_are_used_and_others_cancelled(
    fake, jobs, tmp_path, capfd, leave_behind
):
    leave_behind(jobs[:4])  # 7_0 … 7_3
    files = tmp_path / "slurm"
    fake.end("7_0", files)
    end_all = lambda: [fake.end(job, files) for job in fake.queue()]  # noqa: E731
    records = collect(engine(tmp_path), [jobs[0], jobs[1], jobs[4]], [end_all] * 20)
    assert {record.key for record in records} == {jobs[0].key, jobs[1].key, jobs[4].key}
    assert all(record.done for record in records)
    assert fake.lines("arrays") == ["3", "none"], "only the run that was missing"
    assert fake.lines("cancelled") == ["7_2", "7_3"]
    assert "2 Slurm jobs of a command that was killed are used" in capfd.readouterr().err
    assert not files.exists()


def test_a_result_of_changed_code_is_not_used(fake, jobs, tmp_path, leave_behind):
    leave_behind(jobs[:1])
    files = tmp_path / "slurm"
    fake.end("7", files, UserError("its code is other"))
    end_all = lambda: [fake.end(job, files) for job in fake.queue()]  # noqa: E731
    (record,) = collect(engine(tmp_path), jobs[:1], [end_all] * 20)
    assert record.done
    assert fake.lines("arrays") == ["none", "none"]


def test_jobs_of_a_living_command_are_left_alone(fake, jobs, tmp_path):
    files = tmp_path / "slurm"
    other = slurm_folder.Folder.create(files)
    assert list(slurm_folder.take_abandoned(files)) == []
    old = time.time() - 2 * slurm_folder.STALE
    os.utime(other.path / "owner", (old, old))
    assert [taken.path for taken in slurm_folder.take_abandoned(files)] == [other.path]
    assert list(slurm_folder.take_abandoned(files)) == [], "it has an owner again"


def test_a_terminated_job_leaves_no_record(jobs, tmp_path, monkeypatch):
    """Slurm sends SIGTERM to all processes of a job that it preempts, then kills it."""

    def perform(job, *arguments, **options):
        signal.raise_signal(signal.SIGTERM)
        return job.record("crashed", "its process ended with code -15")

    monkeypatch.setattr(remote, "perform", perform)
    monkeypatch.setattr(slurm, "KILL_WAIT", 0.0)
    monkeypatch.setattr(slurm.submitit, "JobEnvironment", lambda: jobs[0])
    monkeypatch.setattr(type(jobs[0]), "job_id", "1", raising=False)
    former = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit):
            slurm._perform(jobs[0], {}, tmp_path)
    finally:
        signal.signal(signal.SIGTERM, former)


def test_a_memory_option_of_the_user_replaces_ours(fake, jobs, tmp_path):
    limits = [Limits(60.0, 2**30)]
    ours = engine(tmp_path)._executor(tmp_path / "jobs", limits)._executor.parameters
    assert ours["mem"] == "2GB"
    options = {"mem_per_cpu": "3G"}
    theirs = engine(tmp_path, options=options)._executor(tmp_path / "jobs", limits)
    assert theirs._executor.parameters["mem_per_cpu"] == "3G"
    assert "mem" not in theirs._executor.parameters
