"""The schedule of the local engine keeps its invariants, whatever the order in which jobs end."""

from __future__ import annotations

import random
from concurrent.futures import Future

import pytest

from transferbench.data.facts import Facts
from transferbench.runs.engines.local import Schedule
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Run


class FakePool:
    """Jobs that a test ends by hand."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.running: dict[str, tuple[Job, Future]] = {}
        self.events: list[str] = []
        self.broken = False

    def submit(self, job: Job) -> Future:
        self.events.append(f"start {job.key}")
        future: Future = Future()
        if self.broken:
            future.set_exception(RuntimeError("broken"))
        else:
            self.running[job.key] = job, future
        assert len(self.running) <= self.size
        return future

    def end(self, key: str, status: str = "done") -> None:
        job, future = self.running.pop(key)
        future.set_result(job.record(status))

    def forward_progress(self) -> None:
        pass


def make_jobs(tmp_path, count: int) -> list[Job]:
    task = TaskFile("t", tmp_path, b"", Facts("transfer", (), {}, {}, (), 0, 0.0, ""))
    return [Job(str(i), Run("t", "lr", {}, i), task) for i in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_no_record_is_lost_and_each_is_written_before_the_next_job_starts(tmp_path, seed):
    rng = random.Random(seed)
    pool = FakePool(rng.randint(1, 3))
    schedule = Schedule(pool, lambda record: pool.events.append(f"write {record.key}"))
    waiting, returned = make_jobs(tmp_path, 10), []
    while waiting or pool.running:
        if waiting and rng.random() < 0.5:
            schedule.submit(waiting.pop(0))
        elif pool.running:
            before = len(pool.events)
            key, status = rng.choice(list(pool.running)), rng.choice(["done", "failed"])
            pool.end(key, status)
            assert status != "done" or pool.events[before] == f"write {key}"
        if rng.random() < 0.3:
            returned += [record.key for record in schedule.drain()]
    while schedule.pending:
        returned.append(schedule.next_record().key)
    assert sorted(returned) == [str(i) for i in range(10)]
    assert [e for e in pool.events if e.startswith("start")] == [f"start {i}" for i in range(10)]


def test_a_stopped_schedule_starts_nothing_and_keeps_the_records_that_ended(tmp_path):
    pool = FakePool(2)
    schedule = Schedule(pool, lambda record: None)
    for job in make_jobs(tmp_path, 4):
        schedule.submit(job)
    pool.end("1")
    schedule.stop()
    pool.end("0")
    assert [record.key for record in schedule.drain()] == ["1", "0"]
    assert list(pool.running) == ["2"]


def test_a_broken_pool_ends_every_waiting_job(tmp_path):
    pool = FakePool(1)
    schedule = Schedule(pool, lambda record: None)
    for job in make_jobs(tmp_path, 3):
        schedule.submit(job)
    pool.broken = True
    pool.end("0", "crashed")
    records = [schedule.next_record() for _ in range(3)]
    assert [record.status for record in records] == ["crashed"] * 3
    assert schedule.pending == 0
