"""Cells to records: looked up, run by an engine, written as they come, and never a silent gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

from transferbench import models, parameters
from transferbench.data import tasks
from transferbench.errors import Unavailable
from transferbench.runs.engines import Engine
from transferbench.runs.engines.local import Local
from transferbench.runs.record import Limits, Record, Run
from transferbench.runs.signals import DeferInterrupt
from transferbench.runs.store import Store
from transferbench.runs.worker import Job, TaskFile
from transferbench.settings import Settings


def plan(task: str, model: str, given: dict[str, Any], seeds: Iterable[int]) -> list[Run]:
    """The runs of one model on one task; a deterministic model is run once.

    Raises UserError for an unknown task, model or parameter.
    """
    function = models.load(model)
    named = tasks.Task.named(task)
    params = parameters.resolve(function, given, model)
    random = parameters.takes_seed(function)
    return [Run(named.name, model, params, seed) for seed in (seeds if random else (None,))]


def run(
    todo: Sequence[Run],
    settings: Settings,
    *,
    engine: Engine = Local(),
    limits: Callable[[Run], Limits] = lambda cell: Limits(),
    force: bool = False,
    progress: bool = True,
    on_record: Callable[[Run, Record], None] = lambda cell, record: None,
) -> list[Record]:
    """The record of every cell, in order; those already done are read, the others run.

    Tasks are fetched and built when the first of their cells has its turn, while runs go on.
    Records are written by this process alone, each as soon as its run ends; on_record is told of
    every cell, done before or now. A run that raises, crashes, or goes past a limit is recorded
    with its reason and costs nothing but itself; a task whose data cannot be had makes
    `unavailable` records. Raises KeyboardInterrupt when interrupted, once every run that has ended
    is written.
    """
    store = Store(settings.results)
    known = _Tasks(settings)
    begun: dict[str, Run] = {}
    found: dict[Run, Record] = {}
    kept: set[str] = set()

    def take(cell: Run, record: Record) -> None:
        found[cell] = record
        bar.finished(record.key)
        on_record(cell, record)

    def say(key: str | None = None, iteration: int = 0, planned: int = 1) -> None:
        held.check()
        bar.say(key, iteration, planned)

    def keep(record: Record) -> None:
        with suppress(Exception):  # that it cannot be written is said when it has its turn
            store.write(record)
            kept.add(record.key)

    def runs() -> Iterator[Job]:
        for cell in dict.fromkeys(todo):
            with held.released():
                task = known.of(cell)
            key = cell.key(task.facts if isinstance(task, TaskFile) else None)
            record = None if force else store.find(key)
            if not isinstance(task, TaskFile):
                bar.skip()
                take(cell, Record.of(key, cell, "unavailable", task))
            elif record and record.done:
                bar.skip()
                take(cell, record)
            else:
                if not begun:
                    store.probe()
                begun[key] = cell
                yield Job(key, cell, task, limits(cell))

    with (
        DeferInterrupt() as held,
        _Bar(len(set(todo)), progress, begun) as bar,
        closing(engine.records(runs(), say, keep)) as records,
    ):
        for record in records:
            if record.key not in kept:
                store.write(record)
            take(begun.pop(record.key), record)
    return [found[cell] for cell in todo]


def done(todo: Sequence[Run], settings: Settings) -> list[bool]:
    """Whether each cell has a finished record, without running, fetching or building anything."""
    store, known = Store(settings.results), _Tasks(settings)
    names = {cell.task for cell in todo}
    built = {name for name in names if tasks.Task.named(name).cache(settings).is_file()}

    def finished(cell: Run) -> bool:
        task = known.of(cell) if cell.task in built else ""
        record = store.find(cell.key(task.facts)) if isinstance(task, TaskFile) else None
        return record is not None and record.done

    return [finished(cell) for cell in todo]


class _Tasks:
    """Tasks by name, each loaded (fetched, built) once, when it is asked for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.known: dict[str, tuple[TaskFile, str] | str] = {}

    def of(self, cell: Run) -> TaskFile | str:
        """A cell's built task, or why it cannot be had.

        Raises UserError where the model is not made for it.
        """
        if cell.task not in self.known:
            self.known[cell.task] = self._look_up(cell.task)
        found = self.known[cell.task]
        if isinstance(found, str):
            return found
        built, family = found
        models.check_family(cell.model, family)
        return built

    def _look_up(self, name: str) -> tuple[TaskFile, str] | str:
        try:
            task = tasks.Task.named(name)
            facts = tasks.facts(task, self.settings)
        except Unavailable as error:
            return error.brief
        return TaskFile.of(name, task.cache(self.settings), facts), facts.family


class _Bar:
    """A progress bar in runs, counting iterations of unfinished ones; off without a terminal."""

    def __init__(self, total: int, shown: bool, cells: dict[str, Run]) -> None:
        from tqdm import tqdm

        self.cells = cells
        self.count = 0.0
        self.partial: dict[str, float] = {}
        self.tqdm = tqdm(
            total=total,
            unit="run",
            leave=False,
            disable=None if shown else True,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}",
        )

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.tqdm.close()

    def say(self, key: str | None = None, iteration: int = 0, planned: int = 1) -> None:
        """How far a run has come; without a key, or that of a run that has ended, time passed."""
        if key in self.cells:
            self.partial[key] = iteration / planned
            text = f"{self.cells[key]} ({iteration}/{planned})"
            self.tqdm.set_description_str(text, refresh=False)
        self._show()

    def skip(self) -> None:
        """The next one finished took no time: what remains is not guessed from it."""
        if not self.tqdm.disable:
            self.tqdm.initial += 1

    def finished(self, key: str) -> None:
        """A run has ended, one way or another."""
        self.partial.pop(key, None)
        self.count += 1
        self._show()

    def _show(self) -> None:
        self.tqdm.n = self.count + sum(self.partial.values())
        self.tqdm.refresh()
