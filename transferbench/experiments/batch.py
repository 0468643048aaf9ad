"""Rebuild experiments: plan their runs, perform them together, write each experiment's results.

An experiment is written as soon as its last run has ended.
"""

import hashlib
import heapq
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from transferbench import experiments, tasks
from transferbench.errors import UserError
from transferbench.experiments.experiment import Experiment
from transferbench.files import file_mode, write_text
from transferbench.messages import counted, duration
from transferbench.runs import runner, store
from transferbench.runs.policy import Reason, Rerun
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


class Estimate(NamedTuple):
    """What is known of a run before it is performed."""

    #: Why it is to be performed; "" if it has its result.
    reason: Reason
    #: It is tried, but not counted as to do.
    obstacle: Obstacle | None = None
    #: Seconds of one core, 0 unless it is to do; None if nothing is known.
    seconds: float | None = 0.0
    #: True if only runs of other models on its task tell the seconds.
    guessed: bool = False


class Forecast:
    """Numbers of runs by what is known of them, and the time that those to do take one core."""

    def __init__(self, estimates: Iterable[Estimate]) -> None:
        known = list(estimates)
        obstacles = [one.obstacle for one in known if one.obstacle]
        self.finished = sum(not one.reason for one in known)
        self.to_do = len(known) - self.finished - len(obstacles)
        self.needs_data = sum(obstacle.needs_data for obstacle in obstacles)
        self.unavailable = len(obstacles) - self.needs_data
        self.unknown = sum(one.seconds is None for one in known)
        self.guessed = sum(one.guessed for one in known)
        self.seconds = sum(one.seconds or 0.0 for one in known)

    @property
    def minutes(self) -> str:
        """The minutes of one core, for a table."""
        more = f" + {counted(self.unknown, 'unknown run')}" if self.unknown else ""
        return f"{self.seconds / 60:.1f}{more}"

    def __str__(self) -> str:
        count = f"{counted(self.to_do, 'run')} to do, {self.finished} reused"
        count += f", {self.needs_data} without data" if self.needs_data else ""
        count += f", {self.unavailable} unavailable" if self.unavailable else ""
        if not self.seconds:
            return f"{count}; no times of earlier runs" if self.to_do else count
        count += f"; about {duration(self.seconds)} of one core, from the times of earlier runs"
        count += f" ({self.guessed} as the median of the others)" if self.guessed else ""
        return count + (f", and {self.unknown} without an estimate" if self.unknown else "")


class PendingExperiment:
    """The runs of an experiment: planned, and those whose records have not arrived yet."""

    # `results`: The folder of all results. Runs with another number of repeats than the file's have
    # a folder of their own in it, so that a quick look does not replace a table of more runs.

    def __init__(self, experiment: Experiment, results: Path) -> None:
        self.experiment, self.name = experiment, experiment.name
        #: `folder`, `file`: Where pages and runs are written.
        self.folder = experiment.folder(results)
        #: The folder inside that of all results.
        self.label = self.folder.relative_to(results).as_posix()
        self.file = self.folder / store.NAME
        if experiment.spec.board:  # its name may be too long for a file
            file_mode(self.folder.parent / experiments.BOARDS / f"{self.name}.svg")
        #: The planned runs in their order.
        self.runs = list(dict.fromkeys(planned.run for planned in experiment.runs()))
        #: Runs whose records have not arrived.
        self.waiting = set(self.runs)
        #: The records that have arrived.
        self.records: dict[Run, Record] = {}
        #: Number of those that earlier commands made.
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
        """Write the file of runs and the pages made of it; return the paths of the pages."""
        planned = {run: self.records[run] for run in self.runs}
        if not self.experiment.spec.keeps_decisions:
            planned = {
                run: replace(record, right={}) if record.right else record
                for run, record in planned.items()
            }
        in_file = records.rewrite_in_order(self.file, planned)
        return write_pages(self.experiment, self.folder, in_file)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        lost = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        earlier = f" ({self.reused} kept from earlier)" if self.reused else ""
        return f"{self.label}: {counts['done']} of {len(self.records)} runs finished{lost}{earlier}"


class Batch:
    """Experiments to reproduce together."""

    # `shard`: Perform this part of the runs only; None for all.

    def __init__(
        self,
        planned: Iterable[Experiment],
        settings: Settings,
        write_pages: WritePages,
        shard: Shard | None = None,
    ) -> None:
        self.settings, self.write_pages, self.shard = settings, write_pages, shard
        #: What is known of each run, after `forecast`.
        self.estimates: dict[Run, Estimate] = {}
        #: Seconds of each run, 0 if it is not to do, after `forecast`; unknown ones are left out.
        self.expected: dict[Run, float] = {}
        self._lacks_files = cache(partial(tasks.lacks_files, settings=settings))
        by_folder: dict[str, PendingExperiment] = {}
        for experiment in planned:
            pending = PendingExperiment(experiment, settings.results)
            other = by_folder.setdefault(pending.label.casefold(), pending).experiment
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

    def forecast(self, rerun: Rerun, *, trust_files: bool = False) -> str:
        """Estimate the runs, sort the experiments, the quickest first, and return a sentence."""
        runs = list(filter(self._performs, self.first_of))
        seconds = self._seconds()
        reasons = runner.reasons(runs, self.settings, self.store, self.file_of, rerun)
        for run, reason in zip(runs, reasons, strict=True):
            if not reason or (trust_files and reason == "untracked code"):
                self.estimates[run] = Estimate("")
            elif obstacle := self._obstacle(run):
                self.estimates[run] = Estimate(reason, obstacle)
            else:
                self.estimates[run] = Estimate(reason, None, *seconds(run))
        known = ((run, one.seconds) for run, one in self.estimates.items())
        self.expected = {run: seconds for run, seconds in known if seconds is not None}
        self.pending.sort(key=lambda pending: self.forecast_of(pending, own=True).seconds)
        total = Forecast(self.estimates.values())
        return f"{counted(len(self.pending), 'experiment')}: {total}"

    def forecast_of(self, pending: PendingExperiment, *, own: bool = False) -> Forecast:
        """Return the forecast of an experiment, with `own` without runs of an earlier one."""
        runs = (run for run in pending.runs if not own or self.first_of[run] is pending)
        return Forecast(self.estimates[run] for run in runs if run in self.estimates)

    def _seconds(self) -> Callable[[Run], tuple[float | None, bool]]:
        """Return a function for the seconds of a run, and whether they are guessed."""
        # They are the mean of its setting's runs, or else of its model's. If the model has none,
        # they are guessed: the median on its task.
        committed = self._committed(pending.name for pending in self.pending)
        earlier = [store.read(path) for path in committed if path not in self.store.files]
        spent: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in chain(self.store.records, *(records.values() for records in earlier)):
            if record.seconds is not None:
                for key in _alike(record.identity):
                    spent[key].append(record.seconds - record.reused_seconds + OVERHEAD)
        usual = {key: (median if key[0] == "task" else fmean)(of) for key, of in spent.items()}

        def seconds(run: Run) -> tuple[float | None, bool]:
            setting, model, task = map(usual.get, _alike(run.identity))
            known = model if setting is None else setting
            return (task, task is not None) if known is None else (known, False)

        return seconds

    def _obstacle(self, run: Run) -> Obstacle | None:
        """Return what will keep a run from a result, as far as it is known before it is tried."""
        if why := tasks.left_out(run.task, self.settings):
            return Obstacle(False, why)
        record = self.store.get(run, self.file_of(run))
        reason = record.reason if record and record.status == "unavailable" else ""
        # The reason names the file if one could not be obtained.
        named = reason and any(name in reason for name in tasks.original_files(run.task))
        if named or self._lacks_files(run.task.built):
            return Obstacle(True, run.task.base)
        return Obstacle(False, reason) if reason else None

    def _performs(self, run: Run) -> bool:
        """Return True if the run is in the shard."""
        return self.shard is None or self.shard.has(run)

    def in_order(self) -> list[Run]:
        """Return the runs in the order in which they start."""
        # The quickest experiment is first, so that failures come early. Of each experiment the
        # longest run is first, so that no core is idle at the end.
        ordered: dict[Run, None] = {}
        for pending in self.pending:
            longest = sorted(pending.runs, key=lambda run: -self.expected.get(run, math.inf))
            ordered |= dict.fromkeys(filter(self._performs, longest))
        return list(ordered)

    def run(self, execute: Execute, say: PrintLine) -> int:
        """Perform the runs and write each experiment as its last run ends; return the exit code."""
        # An experiment that cannot be written does not stop the others; if it is the only one, the
        # error is raised. The exit code is 1 if a run failed, crashed or exceeded a limit, or if
        # results could not be written, else 0.
        for pending in self.pending:
            if pending.name not in experiments.names():  # from now on known by name
                write_text(pending.folder / experiments.COPY, pending.experiment.text)
        several = len(self.pending) > 1
        stored = [*self.store.records]  # an identity counts while its object lives
        earlier = set(map(id, stored))
        lost: list[str] = []

        def write(pending: PendingExperiment) -> list[Path]:
            try:
                return pending.write(self.store, self.write_pages)
            except Exception as error:  # even a bug: the other experiments may have taken hours
                if not several:
                    raise
                lost.append(pending.label)
                kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
                message = f"{pending.label}: results not written: {kind}{error}"
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
            unwritten = pending.waiting or pending.label in lost
            if not unwritten and any(c.also or c.read_with for c in claims):
                write(pending)
        failed = {record.status for record in records} - {"done", "unavailable"}
        return 1 if failed or lost else 0

    def _add_other_shards(
        self, add: Callable[[Run, Record, bool], None], say: PrintLine
    ) -> list[Record]:
        """Add what other shards have ended by now, so that the last one writes the pages."""
        # Return these records. A run of a model in a file counts as done, as its shard has just
        # made it; one that failed in its shard counts as failed.
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
                say(f"{pending.label}: shard {self.shard} is done; {left} of other shards are not")
        return ended


def _alike(identity: Identity) -> tuple[tuple[str, ...], ...]:
    """Return keys of the runs that may take as long: of the setting, the model and the task."""
    task, model, params, _ = identity
    return (task, model, params), ("model", model), ("task", task)


def hours_on(seconds: Iterable[float], cores: int) -> float:
    """Return the hours that runs take on some cores, started in this order, as one gets free."""
    busy = [0.0] * cores
    for run in seconds:
        heapq.heapreplace(busy, busy[0] + run)
    return max(busy) / 3600
