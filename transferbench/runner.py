"""Cells to records: looked up, run by an engine, written as they come, and never a silent gap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

from transferbench import models, parameters, tasks
from transferbench.engines import Engine
from transferbench.engines.local import Local
from transferbench.errors import Unavailable
from transferbench.records import Cell, Record, Store, outcome
from transferbench.settings import Settings
from transferbench.worker import Built, Limits, Run


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
    engine: Engine = Local(),
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
    keys, found, built = _look_up(todo, settings, store, force)
    waiting = {
        key: Run(key, cell, built[cell.task])
        for key, cell in zip(keys, todo, strict=True)
        if key not in found
    }
    if not waiting:
        return [found[key] for key in keys]
    store.probe()
    with (
        _Bar(len(set(keys)), len(found), progress, waiting) as bar,
        closing(engine.records(list(waiting.values()), limits, bar.say)) as records,
    ):
        for record in records:
            store.write(record)
            found[record["key"]] = record
            bar.finished(record["key"])
            on_record(record)
    return [found[key] for key in keys]


def done(todo: Sequence[Cell], settings: Settings) -> list[bool]:
    """Whether each cell has a finished record, without running, fetching or building anything."""
    named = {name: tasks.Task.named(name) for name in {cell.task for cell in todo}}
    built = {name for name, task in named.items() if task.cache(settings).is_file()}
    ready = [cell for cell in todo if cell.task in built]
    keys, found, _ = _look_up(ready, settings, Store(settings.results), force=False)
    finished = {cell for key, cell in zip(keys, ready, strict=True) if key in found}
    return [cell in finished for cell in todo]


def _look_up(
    todo: Sequence[Cell], settings: Settings, store: Store, force: bool
) -> tuple[list[str], dict[str, Record], dict[str, Built]]:
    """The key of each cell, records that stand already (done, or not to be had), built tasks."""
    built: dict[str, Built] = {}
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
        facts = tasks.facts(problem, truth, tasks.contents(task, settings))
        built[name] = Built.of(name, task.cache(settings), facts)
    keys = [cell.key(built[cell.task].facts if cell.task in built else {}) for cell in todo]
    found: dict[str, Record] = {}
    for key, cell in zip(keys, todo, strict=True):
        if cell.task in missing:
            found[key] = outcome(key, cell, "unavailable", missing[cell.task])
        elif not force and (record := store.find(key)) and record["status"] == "done":
            found[key] = record
    return keys, found, built


class _Bar:
    """A progress bar in runs, counting iterations of unfinished ones; off without a terminal."""

    def __init__(self, total: int, finished: int, shown: bool, runs: dict[str, Run]) -> None:
        from tqdm import tqdm

        self.runs = runs
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

    def say(self, key: str | None = None, iteration: int = 0, planned: int = 1) -> None:
        """How far a run has come; without a key, that time has passed."""
        if key is not None:
            self.partial[key] = iteration / planned
            text = f"{self.runs[key].cell} ({iteration}/{planned})"
            self.tqdm.set_description_str(text, refresh=False)
        self._show()

    def finished(self, key: str) -> None:
        """A run has ended, one way or another."""
        self.partial.pop(key, None)
        self.count += 1
        self._show()

    def _show(self) -> None:
        self.tqdm.n = self.count + sum(self.partial.values())
        self.tqdm.refresh()
