"""Rebuild experiments: plan their runs, perform them together, write each experiment's results.

An experiment is written as soon as its last run has ended.
"""

import hashlib
import heapq
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from transferbench import experiments, tasks
from transferbench.errors import UserError
from transferbench.experiments.experiment import Experiment
from transferbench.files import file_mode, write_text
from transferbench.messages import counted, duration
from transferbench.runs import runner, store
from transferbench.runs.policy import Rerun
from transferbench.runs.record import Identity, Limits, Record, Run
from transferbench.runs.store import Store
from transferbench.settings import Settings

#: Prints a line to stdout, or with err=True to stderr.
PrintLine = Callable[..., None]
#: Performs runs, each within its stated limits, and calls on_record for each.
Execute = Callable[..., list[Record]]
#: Writes the pages of an experiment, made of its records, to its folder; returns their paths.
WritePages = Callable[[Experiment, Path, Mapping[Identity, Record]], list[Path]]

#: Seconds that a run takes beside its fit: for its process, the task, measures and record.
OVERHEAD = 0.1


class Shard(NamedTuple):
    """A part of the runs: those whose digest, modulo `parts`, is `number` − 1."""

    number: int
    parts: int

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"

    def has(self, run: Run) -> bool:
        """Return True if the run is in this part; on every machine the same."""
        digest = hashlib.sha256(json.dumps(run.identity).encode()).digest()
        return int.from_bytes(digest[:8]) % self.parts == self.number - 1


class Obstacle(NamedTuple):
    """A reason why a run would have no result, known before it is tried."""

    #: True if files are needed that cannot be had, or could not the last time.
    needs_data: bool
    #: The task whose files are needed, or why the run had no result the last time.
    what: str


class PendingExperiment:
    """The runs of an experiment: planned, and those whose records have not arrived yet.

    Parameters
    ----------
    experiment
        The experiment.
    results
        The folder of all results.
    repeats
        Seeds of each random method, None for the experiment's own number. Another number has a
        folder of its own, so that a quick look does not replace a table of more runs.

    Attributes
    ----------
    folder, file
        Where pages and runs are written.
    runs
        The planned runs in their order.
    waiting
        Runs whose records have not arrived.
    records
        The records that have arrived.
    reused
        Number of those that earlier commands made.
    """

    def __init__(self, experiment: Experiment, results: Path, repeats: int | None) -> None:
        self.experiment, self.name = experiment, experiment.name
        usual = repeats in (None, experiment.spec.repeats)
        self.folder = (results if usual else results / f"repeats-{repeats}") / experiment.name
        self.file = self.folder / store.NAME
        if experiment.spec.board:  # its name may be too long for a file
            file_mode(self.folder.parent / experiments.BOARDS / f"{self.name}.svg")
        self.runs = list(dict.fromkeys(planned.run for planned in experiment.runs(repeats)))
        self.waiting = set(self.runs)
        self.records: dict[Run, Record] = {}
        self.reused = 0

    def add(self, run: Run, record: Record, reused: bool) -> bool:
        """Add the record of a run; return True if it was the last one of the experiment."""
        if run not in self.waiting:
            return False
        self.reused += reused
        self.waiting.remove(run)
        self.records[run] = record
        return not self.waiting

    def write(self, records: Store, write_pages: WritePages) -> list[Path]:
        """Write the file of runs and the pages made of it; return the paths of the pages.

        Raises
        ------
        UserError
            If a file cannot be written.
        """
        planned = {run: self.records[run] for run in self.runs}
        if not self.experiment.spec.keeps_decisions:
            planned = {
                run: replace(record, right={}) if record.right else record
                for run, record in planned.items()
            }
        in_file = records.rewrite_in_order(self.file, planned)
        if self.name not in experiments.names():  # from now on known by name
            write_text(self.folder / experiments.COPY, self.experiment.text)
        return write_pages(self.experiment, self.folder, in_file)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        lost = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        earlier = f" ({self.reused} kept from earlier)" if self.reused else ""
        return f"{self.name}: {counts['done']} of {len(self.records)} runs finished{lost}{earlier}"


class Batch:
    """Experiments to reproduce together.

    Parameters
    ----------
    planned
        The experiments.
    settings
        Where data and results are.
    repeats
        See `PendingExperiment`.
    write_pages
        Writes the pages of an experiment as its last run ends.
    shard
        Perform this part of the runs only; None for all.

    Attributes
    ----------
    seconds
        Expected seconds by run, after `forecast`: 0 for finished runs and for those with an
        obstacle; unknown ones are left out.
    reasons
        Number of runs to do by reason, after `forecast`.
    obstacles
        Number of runs by obstacle, after `forecast`. They are tried, but not counted as to do.

    Raises
    ------
    UserError
        If two experiments would share one folder.
    """

    def __init__(
        self,
        planned: Iterable[Experiment],
        settings: Settings,
        repeats: int | None,
        write_pages: WritePages,
        shard: Shard | None = None,
    ) -> None:
        self.settings, self.write_pages, self.shard = settings, write_pages, shard
        self.seconds: dict[Run, float] = {}
        by_folder: dict[str, PendingExperiment] = {}
        for experiment in planned:
            pending = PendingExperiment(experiment, settings.results, repeats)
            other = by_folder.setdefault(pending.name.casefold(), pending).experiment
            if other.path != experiment.path:
                message = f"{other.path} and {experiment.path} would write to the same folder"
                raise UserError(f"{message}; rename one, or run them one after the other.")
        self.pending = list(by_folder.values())

    @cached_property
    def store(self) -> Store:
        """All finished runs in the folder of results, and the committed ones of extended suites."""
        planned = [pending.experiment for pending in self.pending]
        of_user = [file for file in planned if file.name not in experiments.names()]
        committed = self._committed(file.spec.extends for file in of_user)
        return Store(self.settings.results, committed=committed)

    def _committed(self, names: Iterable[str]) -> list[Path]:
        """Return the files of committed runs of experiments, as far as there are any."""
        paths = [self.settings.committed / name / store.NAME for name in names if name]
        return [path for path in paths if path.is_file()]

    @cached_property
    def first_of(self) -> dict[Run, PendingExperiment]:
        """The first experiment that plans each run: its file takes the record."""
        return {run: pending for pending in reversed(self.pending) for run in pending.runs}

    def file_of(self, run: Run) -> Path:
        """Return the file of a run's record."""
        return self.first_of[run].file

    def limits(self, run: Run) -> Limits:
        """Return the limits that a run's experiment states."""
        return self.first_of[run].experiment.spec.limits.of_run()

    def forecast(self, rerun: Rerun, *, trust_files: bool = False) -> tuple[pd.DataFrame, str]:
        """Forecast the runs to do, set `seconds`, and sort the experiments, the quickest first.

        Seconds are those of earlier runs of the model. A model without earlier runs is guessed to
        take the median of the other models on its task.

        Parameters
        ----------
        rerun
            Which runs to do; see `runs.policy`.
        trust_files
            If true, a finished run of a model in a file counts as done.

        Returns
        -------
        forecast : DataFrame
            A row for each experiment: the numbers of runs to do (`todo`) and `finished`, the
            `seconds` of one core for the runs to do, the number of runs whose seconds are
            `guessed`, the number of runs of `unknown` seconds, which are left out of the sum, and
            the numbers of runs that lack data (`needs_data`) or are `unavailable` for another
            reason.
        sentence : str
            A sentence about all experiments.
        """
        files = self.store.files
        earlier = set(self._committed(pending.name for pending in self.pending)).difference(files)
        spent = pd.DataFrame(
            [
                (*identity[:3], record.seconds - record.reused_seconds + OVERHEAD)
                for records in (*files.values(), *map(store.read, earlier))
                for identity, record in records.items()
                if record.seconds is not None
            ],
            columns=["task", "model", "params", "seconds"],
        )
        runs = [run for run in self.first_of if self._performs(run)]
        plan = pd.DataFrame([run.identity[:3] for run in runs], columns=spent.columns[:3])
        plan["experiment"] = [self.first_of[run].name for run in runs]
        reasons = runner.reasons(runs, self.settings, self.store, self.file_of, rerun)
        done = ("", "untracked code") if trust_files else ("",)
        by_run = dict(zip(runs, reasons, strict=True))
        obstacles = self._obstacles(run for run, reason in by_run.items() if reason not in done)
        self.obstacles = Counter(obstacles.values())
        self.reasons = Counter(why for run, why in by_run.items() if run not in obstacles)
        needs_data = {run for run, obstacle in obstacles.items() if obstacle.needs_data}
        plan["finished"] = [reason in done for reason in reasons]
        plan["needs_data"] = [run in needs_data for run in runs]
        plan["unavailable"] = [run in obstacles and run not in needs_data for run in runs]
        plan["todo"] = ~(plan["finished"] | plan["needs_data"] | plan["unavailable"])
        same = ["task", "model", "params"]
        plan = plan.merge(spent.groupby(same)["seconds"].mean(), on=same, how="left")
        by_model = plan["model"].map(spent.groupby("model")["seconds"].mean())
        plan["seconds"] = plan["seconds"].fillna(by_model)
        by_task = plan["task"].map(spent.groupby("task")["seconds"].median())
        plan["guessed"] = plan["todo"] & plan["seconds"].isna() & by_task.notna()
        plan["seconds"] = plan["seconds"].fillna(by_task).where(plan["todo"])
        plan["unknown"] = plan["todo"] & plan["seconds"].isna()
        columns = [
            "todo", "finished", "seconds", "guessed", "unknown", "needs_data", "unavailable",
        ]  # fmt: skip
        names = [pending.name for pending in self.pending]
        expected = plan.groupby("experiment")[columns].sum().reindex(names, fill_value=0)
        self.pending.sort(key=lambda pending: expected["seconds"][pending.name])
        seconds = plan["seconds"].where(plan["todo"], 0.0)
        self.seconds = {run: s for run, s in zip(runs, seconds, strict=True) if not math.isnan(s)}
        return expected, f"{counted(len(names), 'experiment')}: {_summary(expected)}"

    def _obstacles(self, runs: Iterable[Run]) -> dict[Run, Obstacle]:
        """Return what will keep runs from a result, as far as it is known before they are tried."""
        built = {run: run.task.built for run in runs}
        records = {run: self.store.get(run, self.file_of(run)) for run in built}
        last = {run: r.reason for run, r in records.items() if r and r.status == "unavailable"}
        lacking = {task for task in {*built.values()} if tasks.lacks_files(task, self.settings)}
        # The reason names the file if one could not be obtained.
        lacking |= {
            built[run]
            for run, reason in last.items()
            if any(name in reason for name in tasks.original_files(run.task))
        }
        found = {run: Obstacle(False, reason) for run, reason in last.items()}
        return found | {
            run: Obstacle(True, task.base) for run, task in built.items() if task in lacking
        }

    def _performs(self, run: Run) -> bool:
        """Return True if the run is in the shard."""
        return self.shard is None or self.shard.has(run)

    def in_order(self) -> list[Run]:
        """Return the runs in the order in which they start.

        The quickest experiment is first, so that failures come early. Of each experiment the
        longest run is first, so that no core is idle at the end.
        """
        ordered: dict[Run, None] = {}
        for pending in self.pending:
            longest = sorted(pending.runs, key=lambda run: -self.seconds.get(run, math.inf))
            ordered |= dict.fromkeys(filter(self._performs, longest))
        return list(ordered)

    def run(self, execute: Execute, say: PrintLine) -> int:
        """Perform the runs and write each experiment as its last run ends; return the exit code.

        An experiment that cannot be written does not stop the others; if it is the only one, the
        error is raised. The exit code is 1 if a run failed, crashed or exceeded a limit, or if
        results could not be written, else 0.
        """
        several = len(self.pending) > 1
        stored = [record for records in self.store.files.values() for record in records.values()]
        earlier = set(map(id, stored))
        lost: list[str] = []

        def write(pending: PendingExperiment) -> list[Path]:
            try:
                return pending.write(self.store, self.write_pages)
            except Exception as error:  # even a bug: the other experiments may have taken hours
                if not several:
                    raise
                lost.append(pending.name)
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                message = f"{pending.name}: results not written: {kind}{error}"
                say(f"{message} (finished runs are saved; rerun the command)", err=True)
                return []

        def add(run: Run, record: Record, reused: bool = False) -> None:
            for pending in self.pending:
                if pending.add(run, record, reused or id(record) in earlier):
                    for path in write(pending):
                        say(path)
                    ended = sum(not pending.waiting for pending in self.pending)
                    say(f"{pending}{f' ({ended} of {len(self.pending)})' if several else ''}")

        records = execute(
            self.in_order(), default_limits=self.limits, on_record=add, store=self.store,
            file_of=self.file_of,
        )  # fmt: skip
        if self.shard:
            records += self._add_other_shards(add, say)
        for pending in self.pending if records else ():
            # Runs of the experiments that its claims name may have ended later.
            claims = pending.experiment.spec.claims
            unwritten = pending.waiting or pending.name in lost
            if not unwritten and any(c.also or c.read_with for c in claims):
                write(pending)
        failed = {record.status for record in records} - {"done", "unavailable"}
        return 1 if failed or lost else 0

    def _add_other_shards(
        self, add: Callable[[Run, Record, bool], None], say: PrintLine
    ) -> list[Record]:
        """Add what other shards have ended by now, so that the last one writes the pages.

        Return these records. A run of a model in a file counts as done, as its shard has just made
        it; one that failed in its shard counts as failed.
        """
        vars(self).pop("store", None)  # read the files again
        runs = list(dict.fromkeys(run for pending in self.pending for run in pending.waiting))
        reasons = runner.reasons(runs, self.settings, self.store, self.file_of, "outdated")
        ended = []
        for run, reason in zip(runs, reasons, strict=True):
            record = self.store.get(run, self.file_of(run))
            if record and (reason in ("", "untracked code") or not record.done):
                ended.append(record)
                add(run, record, True)
        for pending in self.pending:
            if pending.waiting:
                left = counted(len(pending.waiting), "run")
                say(f"{pending.name}: shard {self.shard} is done; {left} of other shards are not")
        return ended

    def write_copies(self) -> None:
        """Write the files of the user's experiments to their folders, where they have a name."""
        for pending in self.pending:
            if pending.name not in experiments.names():
                write_text(pending.folder / experiments.COPY, pending.experiment.text)


def hours_on(seconds: Iterable[float], cores: int) -> float:
    """Return the hours that runs take on some cores, started in this order, as one gets free."""
    busy = [0.0] * cores
    for run in seconds:
        heapq.heapreplace(busy, busy[0] + run)
    return max(busy) / 3600


def _summary(forecast: pd.DataFrame) -> str:
    """Return the forecast of all experiments together as a sentence."""
    total = forecast.sum()
    count = f"{counted(total.todo, 'run')} to do, {total.finished:.0f} reused"
    count += f", {total.needs_data:.0f} without data" if total.needs_data else ""
    count += f", {total.unavailable:.0f} unavailable" if total.unavailable else ""
    if not total.seconds and total.unknown:
        return f"{count}; no times of earlier runs"
    if not total.todo:
        return count
    known = f"about {duration(total.seconds)} of one core, from the times of earlier runs"
    known += f" ({total.guessed:.0f} as the median of the others)" if total.guessed else ""
    unknown = f", and {total.unknown:.0f} without an estimate" if total.unknown else ""
    return f"{count}; {known}{unknown}"
