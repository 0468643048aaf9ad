"""What reproducing experiments will take, by what earlier runs took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from transferbench.data import fetch, tasks
from transferbench.errors import UserError
from transferbench.evidence.frame import by_cell, read_runs
from transferbench.experiments.experiment import PlannedRun
from transferbench.runs import runner
from transferbench.runs.record import Run
from transferbench.settings import Settings


@dataclass(frozen=True)
class Forecast:
    """Runs to do and finished; seconds of one core for the former; of how many nothing is known."""

    todo: int
    finished: int
    seconds: float
    unknown: int

    @classmethod
    def sum(cls, parts: Iterable[Forecast]) -> Forecast:
        """Of several experiments together."""
        each = [(part.todo, part.finished, part.seconds, part.unknown) for part in parts]
        return cls(*map(sum, zip(*each, strict=True)))

    def __str__(self) -> str:
        known = f"about {self.seconds / 60:.0f} minutes of one core, by what runs took before"
        unknown = f", and {self.unknown} of which nothing is known" if self.unknown else ""
        return f"{self.todo} runs to do, {self.finished} finished; {known}{unknown}"


def forecasts(planned: dict[str, list[PlannedRun]], settings: Settings) -> dict[str, Forecast]:
    """For each experiment by name; a run that several share counts for the first of them."""
    seconds = _seconds(planned, settings)
    told: set[tuple[str, ...]] = set()
    found = {}
    cells = {run.run.identity: run.run for runs in planned.values() for run in runs}
    ready = dict(zip(cells, runner.done(list(cells.values()), settings), strict=True))
    for name, runs in planned.items():
        own = {run.run.identity: run.run for run in runs if run.run.identity not in told}
        told |= set(own)
        guesses = [_guess(cell, seconds) for cell in own.values() if not ready[cell.identity]]
        known = [guess for guess in guesses if guess is not None]
        unknown = len(guesses) - len(known)
        found[name] = Forecast(len(guesses), len(own) - len(guesses), sum(known), unknown)
    return found


def megabytes(planned: dict[str, list[PlannedRun]], settings: Settings) -> float:
    """What is to be fetched from anywhere, as far as sizes are known."""
    names = {run.run.task for runs in planned.values() for run in runs}
    files: dict[str, fetch.File] = {}
    for name in names:
        task = tasks.Task.named(name)
        if not task.cache(settings).is_file():
            files |= tasks.needed(task)
    plans = [fetch.plan(file, settings) for file in files.values()]
    return sum(plan.size or 0 for plan in plans if plan.source and not plan.cached) / 1e6


def _seconds(names: Iterable[str], settings: Settings) -> dict[tuple[str, ...], list[float]]:
    """Seconds of finished runs by task and model, and by model alone, from each runs.csv."""
    found: dict[tuple[str, ...], list[float]] = {}
    for name in names:
        try:
            lines = read_runs(settings.results / name / "runs.csv")
        except UserError:  # not made yet
            continue
        for (task, model, params, _), domains in by_cell(lines).items():
            line = next(iter(domains.values()))  # of one run, whose domains took the same time
            if line["status"] == "done" and line["seconds"]:
                spent = float(line["seconds"]) + float(line["load_seconds"] or 0)
                for key in ((task, model, params), (model,)):
                    found.setdefault(key, []).append(spent)
    return found


def _guess(cell: Run, seconds: dict[tuple[str, ...], list[float]]) -> float | None:
    """The mean of the same model on the same task with these parameters, or of the model."""
    spent = seconds.get(cell.identity[:3]) or seconds.get((cell.model,))
    return fmean(spent) if spent else None
