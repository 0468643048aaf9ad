"""Cells to records: every run in a process of its own, resumed, limited, and never a silent gap."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, TimeoutError, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from transferbench import models, parameters, tasks, worker
from transferbench.errors import Unavailable
from transferbench.records import Cell, Record, Store
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


def cells(
    task: str, model: str, given: dict[str, Any], seeds: Iterable[int], what: str = ""
) -> list[Cell]:
    """The runs of one model on one task; a deterministic model is run once.

    Raises UserError for an unknown task, model or parameter, or a model of another family.
    """
    function = models.load(model)
    named = tasks.Task.named(task)
    params = parameters.resolve(function, given, what or model)
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
        for record in _perform(waiting, settings, jobs, limits, bar):
            store.write(record)
            found[record["key"]] = record
            on_record(record)
    return [found[key] for key in keys]


def done(todo: Sequence[Cell], settings: Settings) -> list[bool]:
    """Whether each cell has a finished record, without running anything."""
    keys, found = _look_up(todo, settings, Store(settings.results), force=False)
    return [key in found for key in keys]


def _look_up(
    todo: Sequence[Cell], settings: Settings, store: Store, force: bool
) -> tuple[list[str], dict[str, Record]]:
    """The key of each cell, and the records that stand already (done, or not to be had)."""
    facts: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for name in dict.fromkeys(cell.task for cell in todo):
        try:
            problem, truth = tasks.load(tasks.Task.named(name), settings)
        except Unavailable as error:
            missing[name] = str(error)
            continue
        for model in dict.fromkeys(cell.model for cell in todo if cell.task == name):
            models.suit(model, problem.family)
        facts[name] = tasks.facts(problem, truth)
    keys = [cell.key(facts.get(cell.task, {})) for cell in todo]
    found: dict[str, Record] = {}
    for key, cell in zip(keys, todo, strict=True):
        if cell.task in missing:
            found[key] = _lost(key, cell, "unavailable", missing[cell.task])
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
    memory = limits.memory or _fair_share(jobs)
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
                    record = _lost(key, waiting[key], "timeout", f"past {limits.seconds:g} s")
                except (ProcessExpired, CancelledError, EOFError, OSError) as error:
                    code = getattr(error, "exitcode", None)
                    reason = f"its process ended with code {code}: {error}"
                    record = _lost(key, waiting[key], "crashed", reason)
                record["limits"] = {"seconds": limits.seconds, "memory_bytes": memory}
                bar.finished(key)
                yield record
        pool.close()
    finally:
        pool.stop()
        pool.join()
        send.close()
        receive.close()


def _lost(key: str, cell: Cell, status: str, reason: str) -> Record:
    return {
        "key": key,
        "status": status,
        "reason": reason,
        "task": cell.task,
        "model": cell.model,
        "params": cell.params,
        "seed": cell.seed,
        "source": cell.source,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _context() -> BaseContext:
    """Processes forked from a clean server that has made the heavy imports, where there is one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    # Else the server would look for modules in the current folder first, whatever lies there.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(worker.PRELOAD))
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
            key, iteration, planned = receive.recv()
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
