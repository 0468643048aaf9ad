"""Rebuild experiments: plan their runs, perform them as one batch, write each experiment's results.

An experiment is written as soon as its last run has ended.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import boards, pages
from transferbench.experiments.experiment import Experiment
from transferbench.files import file_mode, write_text
from transferbench.messages import counted, duration
from transferbench.runs import runner, store
from transferbench.runs.record import Limits, Record, Run
from transferbench.runs.runner import Rerun
from transferbench.runs.store import Store
from transferbench.settings import Settings

#: Prints a line to stdout, or with err=True to stderr.
PrintLine = Callable[..., None]
#: Performs runs, each within its stated limits, and calls on_record for each.
Execute = Callable[..., list[Record]]

#: Seconds that a run takes beside its fit: for its process, the task, measures and record.
OVERHEAD = 0.1


class Rebuild:
    """The runs of an experiment: planned, and those whose records have not arrived yet.

    folder  : where results are written. If `repeats` differs from the experiment's own number, it
              is another folder, so that a quick look does not replace a table of more runs.
    waiting : runs whose records have not arrived.
    records : the records that have arrived.
    kept    : number of those that earlier commands made.
    """

    def __init__(self, experiment: Experiment, results: Path, repeats: int | None) -> None:
        self.experiment, self.name = experiment, experiment.name
        usual = repeats in (None, experiment.spec.repeats)
        self.folder = (results if usual else results / f"repeats-{repeats}") / experiment.name
        self.file = self.folder / store.NAME
        if experiment.spec.board:  # its name may be too long for a file
            file_mode(self.folder.parent / boards.FOLDER / f"{self.name}.svg")
        self.runs = list(dict.fromkeys(planned.run for planned in experiment.runs(repeats)))
        self.waiting = set(self.runs)
        self.records: dict[Run, Record] = {}
        self.kept = 0

    def take(self, run: Run, record: Record, kept: bool) -> bool:
        """Take the record of a run; return True if it was the last one of the experiment."""
        if run not in self.waiting:
            return False
        self.kept += kept
        self.waiting.remove(run)
        self.records[run] = record
        return not self.waiting

    def write(self, records: Store) -> list[Path]:
        """Write the file of runs and the pages made of it; return the paths of the pages.

        Raise UserError if a file cannot be written.
        """
        planned = {run: self.records[run] for run in self.runs}
        if not self.experiment.spec.keeps_decisions:
            planned = {run: replace(record, right={}) for run, record in planned.items()}
        records.arrange(self.file, planned)
        if self.name not in experiments.names():  # from now on known by name
            write_text(self.folder / experiments.COPY, self.experiment.text)
        return pages.Evidence.read(self.experiment, self.folder).write(self.folder)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        lost = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        earlier = f" ({self.kept} kept from earlier)" if self.kept else ""
        return f"{self.name}: {counts['done']} of {len(self.records)} runs finished{lost}{earlier}"


class Batch:
    """Experiments to reproduce together. Raise UserError if two would share one folder."""

    def __init__(
        self, planned: Iterable[Experiment], settings: Settings, repeats: int | None
    ) -> None:
        self.settings = settings
        by_folder: dict[str, Rebuild] = {}
        for experiment in planned:
            rebuild = Rebuild(experiment, settings.results, repeats)
            other = by_folder.setdefault(rebuild.name.casefold(), rebuild).experiment
            if other.path != experiment.path:
                message = f"{other.path} and {experiment.path} would write to the same folder"
                raise UserError(f"{message}; rename one, or run them one after the other.")
        self.rebuilds = list(by_folder.values())

    @cached_property
    def store(self) -> Store:
        """All finished runs in the folder of results, and the committed ones of extended suites."""
        planned = [each.experiment for each in self.rebuilds]
        own = [each for each in planned if each.name not in experiments.names()]
        committed = self._committed(each.spec.extends for each in own)
        return Store(self.settings.results, committed=committed)

    def _committed(self, names: Iterable[str]) -> list[Path]:
        """Return the files of committed runs of experiments, as far as there are any."""
        paths = [self.settings.committed / name / store.NAME for name in names if name]
        return [path for path in paths if path.is_file()]

    @cached_property
    def places(self) -> dict[Run, Rebuild]:
        """The first experiment that plans each run: its file takes the record."""
        return {run: each for each in reversed(self.rebuilds) for run in each.runs}

    def place(self, run: Run) -> Path:
        """Return the file of a run's record."""
        return self.places[run].file

    def limits(self, run: Run) -> Limits:
        """Return the limits that a run's experiment states."""
        return self.places[run].experiment.spec.limits.each()

    def forecast(self, rerun: Rerun) -> tuple[pd.DataFrame, str, dict[Run, float]]:
        """Return the forecast of each experiment, a sentence about all, and the seconds by run.

        The frame has todo and finished runs, seconds of one core for the runs to do of which
        earlier runs are known, how many of these are guessed, and the number of unknown others. A
        model without earlier runs is guessed to take the median of the others on its task. Finished
        runs take no seconds, unknown ones are left out. Also sort the experiments, the quickest
        first, so that failures come early.
        """
        files = self.store.files
        earlier = set(self._committed(rebuild.name for rebuild in self.rebuilds)).difference(files)
        spent = pd.DataFrame(
            [
                (*identity[:3], record.seconds - record.reused_seconds + OVERHEAD)
                for records in (*files.values(), *map(store.read, earlier))
                for identity, record in records.items()
                if record.seconds is not None
            ],
            columns=["task", "model", "params", "seconds"],
        )
        runs = list(self.places)
        plan = pd.DataFrame([run.identity[:3] for run in runs], columns=spent.columns[:3])
        plan["experiment"] = [self.places[run].name for run in runs]
        plan["finished"] = runner.done(runs, self.settings, self.store, self.place, rerun)
        plan["todo"] = ~plan["finished"]
        same = ["task", "model", "params"]
        plan = plan.merge(spent.groupby(same)["seconds"].mean(), on=same, how="left")
        by_model = plan["model"].map(spent.groupby("model")["seconds"].mean())
        plan["seconds"] = plan["seconds"].fillna(by_model)
        by_task = plan["task"].map(spent.groupby("task")["seconds"].median())
        plan["guessed"] = plan["todo"] & plan["seconds"].isna() & by_task.notna()
        plan["seconds"] = plan["seconds"].fillna(by_task).where(plan["todo"])
        plan["unknown"] = plan["todo"] & plan["seconds"].isna()
        columns = ["todo", "finished", "seconds", "guessed", "unknown"]
        names = [each.name for each in self.rebuilds]
        expected = plan.groupby("experiment")[columns].sum().reindex(names, fill_value=0)
        self.rebuilds.sort(key=lambda each: expected["seconds"][each.name])
        seconds = plan["seconds"].where(plan["todo"], 0.0)
        by_run = {run: s for run, s in zip(runs, seconds, strict=True) if not math.isnan(s)}
        return expected, f"{counted(len(names), 'experiment')}: {_summary(expected)}", by_run

    def perform(self, execute: Execute, say: PrintLine) -> int:
        """Perform all runs and write each experiment as its last run ends; return the exit code.

        An experiment that cannot be written does not stop the others; if it is the only one, the
        error is raised. The exit code is 1 if a run failed, crashed or exceeded a limit, or if
        results could not be written, else 0.
        """
        several = len(self.rebuilds) > 1
        stored = [record for records in self.store.files.values() for record in records.values()]
        earlier = set(map(id, stored))
        lost: list[str] = []

        def write(rebuild: Rebuild) -> list[Path]:
            try:
                return rebuild.write(self.store)
            except Exception as error:  # even a bug: the other experiments may have taken hours
                if not several:
                    raise
                lost.append(rebuild.name)
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                message = f"{rebuild.name}: results not written: {kind}{error}"
                say(f"{message} (finished runs are saved; rerun the command)", err=True)
                return []

        def take(run: Run, record: Record) -> None:
            for rebuild in self.rebuilds:
                if rebuild.take(run, record, id(record) in earlier):
                    for path in write(rebuild):
                        say(path)
                    ended = sum(not each.waiting for each in self.rebuilds)
                    say(f"{rebuild}{f' ({ended} of {len(self.rebuilds)})' if several else ''}")

        ordered = dict.fromkeys(run for rebuild in self.rebuilds for run in rebuild.runs)
        records = execute(
            list(ordered), default_limits=self.limits, on_record=take, store=self.store,
            place=self.place,
        )  # fmt: skip
        for rebuild in self.rebuilds if records else ():
            # Runs of the experiments that its claims name may have ended later.
            claims = rebuild.experiment.spec.claims
            if rebuild.name not in lost and any(c.also or c.read_with for c in claims):
                write(rebuild)
        failed = {record.status for record in records} - {"done", "unavailable"}
        return 1 if failed or lost else 0


def _summary(forecast: pd.DataFrame) -> str:
    """Return the forecast of all experiments together as a sentence."""
    total = forecast.sum()
    count = f"{counted(total.todo, 'run')} to do, {total.finished:.0f} reused"
    if not total.seconds and total.unknown:
        return f"{count}; no times of earlier runs"
    if not total.todo:
        return count
    known = f"about {duration(total.seconds)} of one core, from the times of earlier runs"
    known += f" ({total.guessed:.0f} as the median of the others)" if total.guessed else ""
    unknown = f", and {total.unknown:.0f} without an estimate" if total.unknown else ""
    return f"{count}; {known}{unknown}"
