"""The local engine performs each job once, and ends its processes, whatever happens."""

from __future__ import annotations

import random
from typing import ClassVar

import pytest

from transferbench.data.tasks import Built, Facts, Task
from transferbench.runs import process
from transferbench.runs.engines.local import Local
from transferbench.runs.process import block_interrupts
from transferbench.runs.record import Job, Run


class FakeProcess:
    """A process that ends after some polls, and all that have been started."""

    made: ClassVar[list[FakeProcess]] = []
    size = 1

    def __init__(self, job) -> None:
        self.job, self.running, self.handles = job, True, []
        self.polls = random.Random(job.run.seed).randrange(4)
        FakeProcess.made.append(self)
        assert sum(each.running for each in FakeProcess.made) <= self.size

    def poll(self, on_progress):
        on_progress(self.job.run, 1, 2)
        self.polls -= 1
        return self.job.record("failed") if self.polls < 0 else None

    def end(self) -> None:
        self.running = False


@pytest.fixture
def jobs(tmp_path, monkeypatch) -> list[Job]:
    monkeypatch.setattr(process, "RunProcess", FakeProcess)
    monkeypatch.setattr("transferbench.runs.engines.local.PAUSE", 0.0)
    monkeypatch.setattr(FakeProcess, "made", [])
    built = Built(tmp_path, Facts("transfer", (), {}, {}, (), 0, 0.0, ""))
    return [Job(Run(Task("t"), "lr", {}, seed), built) for seed in range(20)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_job_is_performed_once_and_so_many_at_a_time(jobs, monkeypatch, size):
    monkeypatch.setattr(FakeProcess, "size", size)
    seen = set()
    ended = list(Local(size).records(jobs, lambda run=None, *progress: seen.add(run)))
    assert {run for run, _ in ended} == {job.run for job in jobs} == seen - {None}
    assert len(ended) == len(FakeProcess.made) == len(jobs)
    assert not any(each.running for each in FakeProcess.made)


@pytest.mark.parametrize("when", range(0, 30, 5))
def test_an_interrupt_ends_all_processes(jobs, monkeypatch, when):
    monkeypatch.setattr(FakeProcess, "size", 2)
    beats = iter(range(1000))

    def on_progress(*progress) -> None:
        if next(beats) == when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Local(2).records(jobs, on_progress))
    assert len(FakeProcess.made) < len(jobs)
    assert not any(each.running for each in FakeProcess.made)


@pytest.mark.parametrize("number", [2, 15])
def test_an_interrupt_waits_for_the_end_of_the_block(ctrl_c, number):
    reached = []

    def interrupted() -> None:
        with block_interrupts():
            ctrl_c(number)
            reached.append("end")
        reached.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["end"]
