"""The schedule of the local engine keeps its invariants, whatever the order in which jobs end."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from threading import Event, Lock

import pytest

from transferbench.data.tasks import Facts
from transferbench.runs.engines import local
from transferbench.runs.engines.local import ProcessDied, Schedule, Slot
from transferbench.runs.job import Job, TaskFile
from transferbench.runs.record import Run


class FakeSlots:
    """Slots that perform jobs for a random short time, and what happened in them."""

    def __init__(self, monkeypatch, size: int, seed: int = 0) -> None:
        self.slots = [Slot(print) for _ in range(size)]
        self.events: list[str] = []
        self.running = 0
        self.hold = Event()
        self.hold.set()
        self._size, self._rng, self._lock = size, random.Random(seed), Lock()
        monkeypatch.setattr(local, "perform", self._perform)

    def _perform(self, slot, job, on_progress):
        with self._lock:
            self.events.append(f"start {job.key}")
            self.running += 1
            assert self.running <= self._size
            status, pause = self._rng.choice(["done", "failed"]), self._rng.random() / 100
        time.sleep(pause)
        self.hold.wait(60)
        with self._lock:
            self.running -= 1
        if status == "failed" and job.key == "1":
            raise OSError("no process can be started")
        return job.record(status)


def make_jobs(tmp_path, count: int) -> list[Job]:
    task = TaskFile("t", tmp_path, b"", Facts("transfer", (), {}, {}, (), 0, 0.0, ""))
    return [Job(str(i), Run("t", "lr", {}, i), task) for i in range(count)]


def ignore(*progress) -> None:
    pass


@pytest.mark.parametrize("seed", range(10))
def test_no_record_is_lost_and_each_is_written_before_its_slot_goes_on(tmp_path, monkeypatch, seed):
    fake = FakeSlots(monkeypatch, 1 + seed % 3, seed)
    schedule = Schedule(fake.slots, lambda record: fake.events.append(f"write {record.key}"))
    for job in make_jobs(tmp_path, 10):
        schedule.submit(job)
    records = [*schedule.ended()]
    while schedule.pending:
        records.append(schedule.next_record(ignore))
    schedule.close()
    assert sorted(record.key for record in records) == [str(i) for i in range(10)]
    assert [e for e in fake.events if e.startswith("start")] == [f"start {i}" for i in range(10)]
    assert sorted(e[6:] for e in fake.events if e.startswith("write")) == sorted(
        record.key for record in records if record.done
    )
    if len(fake.slots) == 1:
        for record in records:
            written = f"write {record.key}"
            position = fake.events.index(f"start {record.key}")
            assert not record.done or fake.events[position + 1] == written


def test_a_stopped_schedule_starts_nothing_and_keeps_the_records_that_ended(tmp_path, monkeypatch):
    fake = FakeSlots(monkeypatch, 2)
    schedule = Schedule(fake.slots, lambda record: None)
    fake.hold.clear()
    for job in make_jobs(tmp_path, 6):
        schedule.submit(job)
    while len(fake.events) < 2:
        time.sleep(0.01)
    schedule.stop()
    fake.hold.set()
    schedule.close()
    assert sorted(record.key for record in schedule.ended()) == ["0", "1"]


def test_progress_is_passed_on_and_may_interrupt(tmp_path, monkeypatch):
    fake = FakeSlots(monkeypatch, 1)
    fake.hold.clear()
    schedule = Schedule(fake.slots, lambda record: None)
    schedule.submit(make_jobs(tmp_path, 1)[0])

    def interrupt(*progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        schedule.next_record(interrupt)
    fake.hold.set()
    assert schedule.next_record(ignore).key == "0"
    schedule.close()


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
