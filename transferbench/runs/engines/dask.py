"""The engine of dask.distributed: workers on this machine, or those of a scheduler that runs.

Dask places runs, and gives a run whose worker has died to another, as often as its setting
`distributed.scheduler.allowed-failures` says. Runs and records travel by its own means, which are
pickles: scheduler, workers and caller trust each other.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from distributed import Client, LocalCluster, as_completed, get_client, get_worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.scheduler import KilledWorker

from transferbench.errors import EngineLost, UserError
from transferbench.runs.engines import Say, remote
from transferbench.runs.engines.local import shared
from transferbench.runs.engines.server import interrupts_kept
from transferbench.runs.record import Record
from transferbench.runs.worker import Job, ended

QUIET = logging.CRITICAL + 1  # for dask's own messages: what counts is said here
TOPIC = "transferbench"  # of dask's events, of which it keeps a limited number
GONE = "went away; every finished run is kept, the same command completes the rest."


@dataclass(frozen=True)
class Dask:
    """scheduler: the address of one that runs; None: `jobs` workers are started on this machine."""

    jobs: int = 1
    scheduler: str | None = None
    patience: float = 30.0  # seconds to wait for a scheduler's first worker

    def records(
        self, runs: Iterable[Job], say: Say, keep: Callable[[Record], None]
    ) -> Generator[Record, None, None]:
        """See Engine; all runs are made before the first begins."""
        try:
            yield from self._records(list(runs), say)
        except OSError as error:
            place = f" at {self.scheduler}" if self.scheduler else ""
            raise EngineLost(f"the scheduler{place} {GONE}") from error

    def _records(self, runs: Sequence[Job], say: Say) -> Generator[Record, None, None]:
        if not runs:
            return
        if not self.scheduler:
            runs = [replace(run, limits=shared(run.limits, self.jobs)) for run in runs]
        with ExitStack() as stack:
            client = stack.enter_context(self._client(len(runs)))
            self._check(client, runs, say)
            if self.scheduler:  # its workers may lie where the caller's files cannot be seen
                stack.enter_context(_published(client, runs))
            else:
                client.register_plugin(_Stopping())
            heard: dict[str, tuple[int, int]] = {}
            client.subscribe_topic(TOPIC, lambda event: heard.update([event[1]]))
            futures = {
                client.submit(_perform, run, remote.identity([run.run.model]), pure=False): run
                for run in runs
            }
            arriving = as_completed(futures)
            while not arriving.is_empty():
                if not arriving.has_ready():
                    while heard:
                        key, far = heard.popitem()
                        say(key, *far)
                    say()
                    time.sleep(0.05)
                    continue
                future = next(arriving)
                run = futures[future]
                if future.status == "cancelled":  # not by us, who have not come to an end
                    raise ConnectionError
                error = future.exception()
                if isinstance(error, UserError):
                    raise error
                yield future.result() if error is None else _crashed(run, error)
                future.release()

    @contextmanager
    def _client(self, runs: int) -> Iterator[Client]:
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
                logging.getLogger(name).setLevel(QUIET)
        with ExitStack() as stack:
            address: Any = self.scheduler
            if not address:
                # A worker that had to be killed leaves semaphores; they are removed without a word.
                os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
                with interrupts_kept():
                    address = stack.enter_context(
                        LocalCluster(
                            n_workers=min(self.jobs, runs),
                            threads_per_worker=1,
                            dashboard_address="127.0.0.1:0",
                            silence_logs=QUIET,
                        )
                    )
            try:
                client = stack.enter_context(Client(address, timeout=5))
            except (OSError, ValueError) as error:
                raise UserError(
                    f"no scheduler of dask answers at {self.scheduler} ({error}); start one there "
                    "with `dask scheduler`, or give the address of another."
                ) from error
            yield client

    def _check(self, client: Client, runs: Sequence[Job], say: Say) -> None:
        """Raises UserError where there is no worker, or other code or versions than here."""
        deadline = time.monotonic() + self.patience
        while not client.scheduler_info()["workers"]:
            if time.monotonic() > deadline:
                raise UserError(
                    f"the scheduler at {self.scheduler} has no workers; start some with "
                    f"`dask worker {self.scheduler}`."
                )
            say()
            time.sleep(0.1)
        names = sorted({run.run.model for run in runs})
        found: dict[str, Any] = client.run(remote.identity, names, on_error="return")
        try:  # it reads the runs that it hands out
            found["the scheduler"] = client.run_on_scheduler(remote.identity, names)
        except Exception as error:
            found["the scheduler"] = error
        for place, theirs in found.items():
            if isinstance(theirs, Exception):
                raise UserError(
                    f"transferbench cannot be used on {place} ({type(theirs).__name__}: {theirs}); "
                    "install it there as it is here."
                )
        remote.compare(remote.identity(names), found)


class _Stopping(WorkerPlugin):
    """Ends the run of a worker that closes, so that it leaves nothing and complains of nothing."""

    name = "transferbench"

    def teardown(self, worker: Any) -> None:
        remote.stop()


def _perform(run: Job, caller: remote.Identity) -> Record:
    """On the worker: a run in a process of its own, which tells how far it has come."""
    me = get_worker()
    task = me.get_current_task()

    def unwanted() -> bool:
        known = me.state.tasks.get(task)
        return known is None or known.state == "cancelled"

    jobs = me.state.nthreads
    if run.limits.memory is None and me.memory_manager.memory_limit:
        share = int(me.memory_manager.memory_limit * 0.8 / jobs)
        run = replace(run, limits=replace(run.limits, memory=share))
    return remote.perform(
        run,
        caller,
        lambda: get_client().get_dataset(_name(run)),
        lambda *far: me.log_event(TOPIC, (run.key, far)),
        place=me.address,
        jobs=jobs,
        unwanted=unwanted,
    )


@contextmanager
def _published(client: Client, runs: Sequence[Job]) -> Iterator[None]:
    """Built tasks kept by the scheduler, for workers that ask for them; each of them asks once."""
    tasks = {_name(run): run.task.path for run in runs}
    for name, path in tasks.items():
        client.publish_dataset(path.read_bytes(), name=name, override=True)
    try:
        yield
    finally:
        with suppress(Exception):  # the scheduler may be gone
            for name in tasks:
                client.unpublish_dataset(name)


def _name(run: Job) -> str:
    return f"transferbench/{run.task.digest.hex()}"


def _crashed(run: Job, error: BaseException) -> Record:
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    if isinstance(error, KilledWorker):
        reason = f"each of the {error.allowed_failures + 1} workers that began it died"
    return ended(run, "crashed", reason)
