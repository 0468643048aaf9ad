"""The local engine keeps its invariants, whatever the order in which jobs end."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from threading import Lock

import pytest

from transferbench.data.tasks import Facts
from transferbench.runs.engines import local
from transferbench.runs.engines.local import Local, ProcessDied, Slot
from transferbench.runs.record import Job, Run, TaskFile


class FakeSlots:
    """Slots that perform jobs for a random short time, and what happened in them."""

    def __init__(self, monkeypatch, size: int, seed: int = 0) -> None:
        self.engine = Local(size)
        self.events: list[str] = []
        self.running = 0
        self._size, self._rng, self._lock = size, random.Random(seed), Lock()
        monkeypatch.setattr(local, "perform", self._perform)
        monkeypatch.setattr(local, "run_slot", lambda: Slot(print))

    def _perform(self, slot, job, on_progress):
        with self._lock:
            self.events.append(f"start {job.key}")
            self.running += 1
            assert self.running <= self._size
            status, pause = self._rng.choice(["done", "failed"]), self._rng.random() / 100
        on_progress(job.key, 1, 2)
        time.sleep(pause)
        with self._lock:
            self.running -= 1
        if status == "failed" and job.key == "1":
            raise OSError("no process can be started")
        return job.record(status)

    def keys(self, event: str) -> list[str]:
        """Keys of jobs that were started or written, in order."""
        return [text.split()[1] for text in self.events if text.startswith(event)]

    def records(self, jobs, on_progress):
        return self.engine.records(
            jobs, on_progress, lambda record: self.events.append(f"write {record.key}")
        )


def make_jobs(tmp_path, count: int) -> list[Job]:
    task = TaskFile("t", tmp_path, b"", Facts("transfer", (), {}, {}, (), 0, 0.0, ""))
    return [Job(str(i), Run("t", "lr", {}, i), task) for i in range(count)]


def ignore(*progress) -> None:
    pass


@pytest.mark.parametrize("seed", range(10))
def test_no_record_is_lost_and_each_is_written_before_its_slot_goes_on(tmp_path, monkeypatch, seed):
    fake, seen = FakeSlots(monkeypatch, 1 + seed % 3, seed), []
    records = list(fake.records(make_jobs(tmp_path, 10), lambda *progress: seen.append(progress)))
    everything = [str(i) for i in range(10)]
    assert sorted(record.key for record in records) == sorted(fake.keys("start")) == everything
    assert sorted(fake.keys("write")) == sorted(record.key for record in records if record.done)
    assert {(key, 1, 2) for key in everything} <= set(seen)
    if seed % 3 == 0:  # one slot
        assert fake.keys("start") == everything
        for record in records:
            written = f"write {record.key}"
            position = fake.events.index(f"start {record.key}")
            assert not record.done or fake.events[position + 1] == written


def test_without_jobs_nothing_is_started(monkeypatch):
    monkeypatch.setattr(local, "run_slot", lambda: pytest.fail("a slot"))
    assert list(Local(2).records([], ignore, print)) == []


@pytest.mark.parametrize("seed", range(5))
def test_an_interrupt_starts_nothing_and_loses_no_record_that_ended(tmp_path, monkeypatch, seed):
    fake, received, ended = FakeSlots(monkeypatch, 2, seed), [], []

    def interrupt(*progress) -> None:
        if len(received) > 3 and fake.keys("write"):
            ended.extend(fake.keys("write"))
            time.sleep(0.1)
            raise KeyboardInterrupt

    def jobs():
        yield from make_jobs(tmp_path, 40)

    def receive() -> None:
        for record in fake.records(jobs(), interrupt):
            received.append(record.key)

    with pytest.raises(KeyboardInterrupt):
        receive()
    assert set(ended) <= set(received)
    started = len(fake.keys("start"))
    assert started < 40
    time.sleep(0.1)
    assert len(fake.keys("start")) == started


def answer(connection) -> None:
    """Answer with the value, its process and the progress (1, 2); die of 0, hang at -1."""
    while True:
        value = connection.recv()
        connection.send(())
        if value == 0:
            os._exit(7)
        if value == -1:
            time.sleep(600)
        connection.send((1, 2))
        connection.send([value, os.getpid()])


@pytest.mark.skipif(sys.platform != "linux", reason="exit codes differ")
def test_a_slot_keeps_its_process_and_replaces_one_that_died_or_hangs():
    slot, messages = Slot(answer), []
    first, process = slot.call(5, lambda *message: messages.append(message))
    assert first == 5
    assert (1, 2) in messages
    assert slot.call(6, ignore) == [6, process]
    with pytest.raises(ProcessDied, match="ended with code 7"):
        slot.call(0, ignore)
    second = slot.call(7, ignore)[1]
    assert second != process
    with pytest.raises(TimeoutError):
        slot.call(-1, ignore, seconds=0.1)
    os.kill(slot.call(8, ignore)[1], signal.SIGKILL)
    slot._process.join()
    assert slot.call(9, ignore)[0] == 9
    slot.close()
    with pytest.raises(ProcessDied):
        slot.call(10, ignore)
