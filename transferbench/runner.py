"""Cells to records: every run in a process of its own, resumed, limited, and never a silent gap."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from typing import TYPE_CHECKING, Any

from transferbench import models, parameters, tasks, worker
from transferbench.errors import Unavailable
from transferbench.records import Cell, Record, Store, outcome
from transferbench.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext


@dataclass(frozen=True)
class Limits:
    """seconds and bytes each run may take (None: no limit); threads each run may use."""

    seconds: float | None = 3600.0
    memory: int | None = None
    threads: int = 1


def cells(task: str, model: str, given: dict[str, Any], seeds: Iterable[int]) -> list[Cell]:
    """The runs of one model on one task; a deterministic model is run once.

    Raises UserError for an unknown task, model or parameter.
    """
    function = models.load(model)
    named = tasks.Task.named(task)
    params = parameters.resolve(function, given, model)
    random = parameters.takes_seed(function)
    return [Cell(named.name, model, params, seed) for seed in (seeds if random else (None,))]


def run(
    todo: Sequence[Cell],
    settings: Settings,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),
    force: bool = False,
    progress: bool = True,
    on_record: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """The record of every cell, in order; those already done are read, the others run.

    Records are written by this process alone, each as soon as its run ends. A run that raises,
    crashes, or goes past a limit is recorded with its reason and costs nothing but itself; a task
    whose data cannot be had makes `unavailable` records. Raises KeyboardInterrupt when interrupted,
    with every finished run written.
    """
    store = Store(settings.results)
    keys, found = _look_up(todo, settings, store, force)
    waiting = {key: cell for key, cell in zip(keys, todo, strict=True) if key not in found}
    with _Bar(len(set(keys)), len(found), progress) as bar:
        if waiting:
            store.probe()
        for record in _perform(waiting, settings, jobs, limits, bar):
            store.write(record)
            found[record["key"]] = record
            on_record(record)
    return [found[key] for key in keys]


def done(todo: Sequence[Cell], settings: Settings) -> list[bool]:
    """Whether each cell has a finished record, without running, fetching or building anything."""
    named = {name: tasks.Task.named(name) for name in {cell.task for cell in todo}}
    built = {name for name, task in named.items() if task.cache(settings).is_file()}
    ready = [cell for cell in todo if cell.task in built]
    keys, found = _look_up(ready, settings, Store(settings.results), force=False)
    finished = {cell for key, cell in zip(keys, ready, strict=True) if key in found}
    return [cell in finished for cell in todo]


def _look_up(
    todo: Sequence[Cell], settings: Settings, store: Store, force: bool
) -> tuple[list[str], dict[str, Record]]:
    """The key of each cell, and the records that stand already (done, or not to be had)."""
    facts: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(cell.task for cell in todo):
        try:
            task = tasks.Task.named(name)
            problem, truth = tasks.load(task, settings)
        except Unavailable as error:
            missing[name] = error.brief
            continue
        for model in dict.fromkeys(cell.model for cell in todo if cell.task == name):
            models.suit(model, problem.family)
        facts[name] = tasks.facts(problem, truth, tasks.contents(task, settings))
    keys = [cell.key(facts.get(cell.task, {})) for cell in todo]
    found: dict[str, Record] = {}
    for key, cell in zip(keys, todo, strict=True):
        if cell.task in missing:
            found[key] = outcome(key, cell, "unavailable", missing[cell.task])
        elif not force and (record := store.find(key)) and record["status"] == "done":
            found[key] = record
    return keys, found


def _perform(
    waiting: dict[str, Cell], settings: Settings, jobs: int, limits: Limits, bar: _Bar
) -> Iterable[Record]:
    """Records as they come, from a pool in which no process serves two runs."""
    if not waiting:
        return
    from pebble import ProcessExpired, ProcessPool

    context = _context()
    receive, send = context.Pipe(duplex=False)
    jobs = min(jobs, len(waiting))
    memory = _fair_share(jobs) if limits.memory is None else limits.memory
    pool = ProcessPool(
        max_workers=jobs,
        max_tasks=1,
        context=context,
        initializer=worker.begin,
        initargs=(send,),
    )
    try:
        futures: dict[Future[Record], str] = {
            pool.schedule(
                worker.perform,
                args=(key, cell, settings, limits.threads, memory),
                timeout=limits.seconds,
            ): key
            for key, cell in waiting.items()
        }
        while futures:
            ended, _ = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
            bar.drain(receive, waiting)
            for future in ended:
                key = futures.pop(future)
                try:
                    record = future.result()
                except TimeoutError:
                    record = outcome(key, waiting[key], "timeout", f"past {limits.seconds:g} s")
                except ProcessExpired as error:
                    reason = f"its process ended with code {error.exitcode}"
                    record = outcome(key, waiting[key], "crashed", reason)
                except Exception as error:  # whatever befell its process is that run's alone
                    reason = f"{type(error).__name__} in its process: {error}"
                    record = outcome(key, waiting[key], "crashed", reason)
                record["limits"] = {"seconds": limits.seconds, "memory_bytes": memory}
                bar.finished(key)
                yield record
        pool.close()
    except BaseException:
        # A process stopped while it is being born complains on the terminal: let it come up first.
        deadline = time.monotonic() + 5
        while bar.begun < jobs and time.monotonic() < deadline:
            bar.drain(receive, waiting)
            time.sleep(0.02)
        raise
    finally:
        pool.stop()
        pool.join()
        send.close()
        receive.close()


def _context() -> BaseContext:
    """Processes forked from a clean server that has made the heavy imports, where there is one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    # Else the server would look for modules in the current folder first, whatever lies there.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(worker.PRELOAD))
    # Ctrl-C is this process's to answer; the server, started here, inherits that it is not asked.
    # The resource tracker, which unblocks what is blocked when it starts, must be running by then.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return context


def _fair_share(jobs: int) -> int | None:
    """Bytes of memory for each of `jobs` runs: four fifths of the machine's, divided."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 0.8 / jobs)
    except (AttributeError, ValueError, OSError):
        return None


class _Bar:
    """A progress bar in runs, counting iterations of unfinished ones; off without a terminal."""

    def __init__(self, total: int, finished: int, shown: bool) -> None:
        from tqdm import tqdm

        self.count = float(finished)
        self.begun = 0  # processes that have come up
        self.partial: dict[str, float] = {}
        self.tqdm = tqdm(
            total=total,
            initial=finished,
            unit="run",
            leave=False,
            disable=None if shown else True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
        )

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.tqdm.close()

    def drain(self, receive: Connection, cells: dict[str, Cell]) -> None:
        """Take in what the workers have said of their progress."""
        while receive.poll():
            message = receive.recv()
            if message is None:
                self.begun += 1
                continue
            key, iteration, planned = message
            self.partial[key] = iteration / planned
            self.tqdm.set_description_str(f"{cells[key]} ({iteration}/{planned})", refresh=False)
        self._show()

    def finished(self, key: str) -> None:
        """A run has ended, one way or another."""
        self.partial.pop(key, None)
        self.count += 1
        self._show()

    def _show(self) -> None:
        self.tqdm.n = self.count + sum(self.partial.values())
        self.tqdm.refresh()
