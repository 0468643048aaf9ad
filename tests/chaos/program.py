"""The command line with a diary and, optionally, a kill during a write or a wrong clock.

CHAOS_DIARY: file that gets the key of each record that is written.
CHAOS_KILL: number of the write in which the process kills itself, before the file is renamed.
CHAOS_CLOCK: seconds added to the time.
"""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime

from transferbench.runs import record, worker
from transferbench.runs.record import Store


def shift_clock(seconds: float) -> None:
    real = time.time
    time.time = lambda: real() + seconds
    shifted = lambda: datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds")  # noqa: E731
    record.now = worker.now = shifted


def keep_diary(path: str) -> None:
    write = Store.write

    def noted(self, record):
        with open(path, "a") as diary:  # noqa: PTH123
            diary.write(record.key + "\n")
        return write(self, record)

    Store.write = noted


def die_in_write(number: int) -> None:
    fsync, writes = os.fsync, iter(range(1, number + 1))

    def last(handle):
        if next(writes) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(handle)

    os.fsync = last


if os.environ.get("CHAOS_CLOCK"):  # also in the processes of runs, which import this file
    shift_clock(float(os.environ["CHAOS_CLOCK"]))
if __name__ == "__main__":
    keep_diary(os.environ["CHAOS_DIARY"])
    if os.environ.get("CHAOS_KILL"):
        die_in_write(int(os.environ["CHAOS_KILL"]))
    from transferbench.__main__ import entry

    entry()
