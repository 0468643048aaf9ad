"""Rebuild experiments: plan their runs, perform them together, write each experiment's results.

An experiment is written as soon as its last run has ended.
"""

import hashlib
import heapq
import json
import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from transferbench.runs.policy import Reason, Rerun, present
from transferbench.runs.record import Identity, Limits, Record, Run
from transferbench.runs.store import Store
from transferbench.settings import Settings
from transferbench.tasks import Absent, Task

#: Prints a line to stdout, or with err=True to stderr.
PrintLine = Callable[..., None]
#: Performs runs, each within its stated limits, and calls on_record for each.
Execute = Callable[..., list[Record]]
#: Writes the pages of an experiment, made of its records, to its folder; returns their paths.
WritePages = Callable[[Experiment, Path, Mapping[Identity, Record]], list[Path]]

#: Seconds that a run takes beside its fit: for its process, the task, measures and record.
OVERHEAD = 0.1
#: Largest number of files of a dataset that a message names.
MAX_NAMES = 3


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
    #: The task whose files are needed, "" if `Batch.absent` has them; or why the run had no result
    #: the last time.
    what: str
    #: True if the settings leave its data out.
    is_left_out: bool = False


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


class AbsentDataset(NamedTuple):
    """The files of a dataset that are not here, and what depends on them."""

    name: str
    files: Sequence[Absent]
    #: A task that needs them, and the number of runs that do.
    task: str
    runs: int

    @property
    def lost(self) -> list[Absent]:
        """The files that have no host that answers."""
        return [absent for absent in self.files if not absent.answering]

    def __str__(self) -> str:
        sizes = [absent.file.size for absent in self.files]
        known = sum(filter(None, sizes))
        size = f"{known / 1e6:.1f} MB{' and more' * (None in sizes)}" if known else "unknown size"
        names = [absent.file.name.partition("/")[2] for absent in self.files[:MAX_NAMES]]
        more = [f"{len(sizes) - MAX_NAMES} more"] * (len(sizes) > MAX_NAMES)
        verb = "is" if len(sizes) == 1 else "are"
        of_files = [one.hosts for one in self.lost] or [one.answering for one in self.files]
        hosts = ", ".join(dict.fromkeys(chain.from_iterable(of_files)))
        will = f"would be downloaded from {hosts}"
        if self.lost:
            will = (
                f"cannot be downloaded: {f'no answer in time from {hosts}' if hosts else 'offline'}"
            )
        listed = f"{', '.join([*names, *more])} ({size}) {verb} not here"
        return f"{self.name}: {listed} and {will}; needed for {counted(self.runs, 'run')}"


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
        #: Runs that have an earlier result, because their data could not be obtained.
        self.without_data: list[Run] = []

    def add(self, run: Run, record: Record, reused: bool, lacks_data: bool = False) -> bool:
        """Add the record of a run; return True if it was the last one of the experiment."""
        if run not in self.waiting:
            return False
        self.reused += reused and not lacks_data
        self.without_data += [run] * lacks_data
        self.waiting.remove(run)
        self.records[run] = record
        return not self.waiting

    def write(self, records: Store, write_pages: WritePages) -> list[Path]:
        """Write the file of runs and the pages made of it; return the paths of the pages."""
        return write_pages(self.experiment, self.folder, self.save(records))

    def save(self, records: Store) -> dict[Identity, Record]:
        """Write the records that have arrived to the file of runs; return all that it has."""
        planned = {run: self.records[run] for run in self.runs if run in self.records}
        if not self.experiment.spec.keeps_decisions:
            planned = {
                run: replace(record, right={}) if record.right else record
                for run, record in planned.items()
            }
        return records.rewrite_in_order(self.file, planned)

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        lost = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        n = len(self.without_data)
        lost += f", {n} without data (earlier results are shown)" if n else ""
        earlier = f" ({self.reused} kept from earlier)" if self.reused else ""
        done = f"{counts['done'] - n} of {len(self.records)} runs finished"
        return f"{self.label}: {done}{lost}{earlier}"


class Batch:
    """Experiments to reproduce together."""

    # `shard`: Perform this part of the runs only; None for all.
    # `chosen`: Perform these runs only; None for all.

    def __init__(
        self,
        planned: Iterable[Experiment],
        settings: Settings,
        write_pages: WritePages,
        shard: Shard | None = None,
        chosen: Collection[Run] | None = None,
    ) -> None:
        self.settings, self.write_pages, self.shard = settings, write_pages, shard
        self.chosen = chosen
        #: What is known of each run, after `forecast`.
        self.estimates: dict[Run, Estimate] = {}
        #: Datasets whose files are not here, after `forecast` with `asks_hosts`.
        self.absent: list[AbsentDataset] = []
        #: Tasks that cannot be built, as a file of these has no host that answers.
        self._lost_tasks: set[Task] = set()
        #: Runs whose task is to be built, after `forecast`.
        self._need_data: set[Run] = set()
        #: Which other runs count as unfinished, after `forecast`.
        self._rerun_others: Rerun = "outdated"
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

    def forecast(self, rerun: Rerun, *, trust_files: bool = False, asks_hosts: bool = False) -> str:
        """Estimate the runs, sort the experiments, the quickest first, and return a sentence."""
        # `asks_hosts`: Also find the `absent` files, and ask the hosts that have them.
        runs = list(filter(self._performs, self.first_of))
        seconds = self._seconds()
        reasons = runner.reasons(runs, self.settings, self.store, self.file_of, rerun)
        self._rerun_others = "missing" if rerun == "missing" else "outdated"
        # Also a run that has its result needs the task: its data may have changed.
        checked = rerun == "outdated"
        self._need_data = {
            run
            for run, reason in zip(runs, reasons, strict=True)
            if reason or (checked and not self.store.is_published(run))
        }
        if asks_hosts:
            self._find_absent()
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

    def _find_absent(self) -> None:
        """Find the files that are not here, of tasks that are to be built, by dataset."""
        is_built = cache(self._is_built)
        needing = (run.task.built for run in self.first_of if run in self._need_data)
        runs = Counter(
            task for task in needing if not (is_built(task) or tasks.left_out(task, self.settings))
        )
        originals = {task: [*tasks.original_files(task).values()] for task in runs}
        by_dataset: defaultdict[str, list[Absent]] = defaultdict(list)
        for absent in tasks.absent(runs, self.settings):
            by_dataset[absent.file.name.partition("/")[0]].append(absent)
        for name, absent_files in sorted(by_dataset.items()):
            lacking = {absent.file for absent in absent_files}
            need = [task for task in runs if lacking.intersection(originals[task])]
            number = sum(runs[task] for task in need)
            self.absent.append(AbsentDataset(name, absent_files, need[0].base, number))
            lost = {absent.file for absent in self.absent[-1].lost}
            self._lost_tasks.update(task for task in need if lost.intersection(originals[task]))

    def _is_built(self, task: Task) -> bool:
        """Return True if the data folder has a task."""
        return present(task, self.settings)[0] is not None

    def _obstacle(self, run: Run) -> Obstacle | None:
        """Return what will keep a run from a result, as far as it is known before it is tried."""
        if why := tasks.left_out(run.task, self.settings):
            return Obstacle(False, why, True)
        if run.task.built in self._lost_tasks:
            return Obstacle(True, "")
        record = self.store.get(run, self.file_of(run))
        reason = record.reason if record and record.status == "unavailable" else ""
        # The reason names the file if one could not be obtained.
        named = reason and any(name in reason for name in tasks.original_files(run.task))
        if named or self._lacks_files(run.task.built):
            return Obstacle(True, run.task.base)
        return Obstacle(False, reason) if reason else None

    def _performs(self, run: Run) -> bool:
        """Return True if the run is in the shard, and is chosen."""
        return self._asks_for(run) and (self.shard is None or self.shard.has(run))

    def _asks_for(self, run: Run) -> bool:
        """Return True if the run is chosen, in whatever shard it is."""
        return self.chosen is None or run in self.chosen

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
        # error is raised. The exit code is 1 if a run failed, crashed or exceeded a limit, if a run
        # that was to be performed has an earlier result, as its data could not be obtained, or if
        # results could not be written, else 0.
        for pending in self.pending:
            if pending.name not in experiments.names():  # from now on known by name
                write_text(pending.folder / experiments.COPY, pending.experiment.text)
        several = len(self.pending) > 1
        stored = [*self.store.records]  # an identity counts while its object lives
        earlier = set(map(id, stored))
        lost: list[str] = []
        is_built = cache(self._is_built)

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
            reused = reused or id(record) in earlier
            # The task of a run that needs it has been built by now, if its data are available.
            needs_data = reused and record.done and run in self._need_data
            lacks_data = needs_data and not is_built(run.task.built)
            for pending in self.pending:
                if pending.add(run, record, reused, lacks_data):
                    for path in write(pending):
                        say(path)
                    ended = sum(not pending.waiting for pending in self.pending)
                    say(f"{pending}{f' ({ended} of {len(self.pending)})' if several else ''}")

        records = execute(
            self.in_order(), default_limits=self.limits, on_record=add, store=self.store,
            file_of=self.file_of,
        )  # fmt: skip
        if self.shard or self.chosen is not None:
            records += self._add_others(add, say)
        for pending in self.pending if records else ():
            # Runs of the experiments that its claims name may have ended later.
            claims = pending.experiment.spec.claims
            unwritten = pending.waiting or pending.label in lost
            if not unwritten and any(c.also or c.read_with for c in claims):
                write(pending)
        failed = {record.status for record in records} - {"done", "unavailable"}
        without_data = (run for one in self.pending for run in one.without_data)
        wanted = (run for run in without_data if not tasks.left_out(run.task, self.settings))
        is_due = any(self.estimates[run].reason for run in wanted)
        return 1 if failed or lost or is_due else 0

    def without_data(self) -> Iterator[str]:
        """Yield a sentence for each experiment that shows earlier results, as data are missing."""
        for pending in self.pending:
            due = [bool(self.estimates[run].reason) for run in pending.without_data]
            counts = [
                (due.count(True), "performed"),
                (due.count(False), "compared with their data"),
            ]
            parts = [f"{counted(n, 'run')} could not be {verb}" for n, verb in counts if n]
            if parts:
                runs = pending.without_data
                whys = {run.task.base: tasks.left_out(run.task, self.settings) for run in runs}
                lacking = ", ".join(sorted(name for name, why in whys.items() if not why))
                reasons = [f"originals of {lacking} could not be obtained"] * bool(lacking)
                reasons += sorted({*filter(None, whys.values())})
                yield (
                    f"{pending.label}: {', '.join(parts)}, as {', '.join(reasons)}. The numbers "
                    "shown for them are of earlier results."
                )

    def _add_others(self, add: Callable[[Run, Record, bool], None], say: PrintLine) -> list[Record]:
        """Add what other commands have ended by now, so that the last one writes the pages."""
        # Return those that this command asked for. A run of a model in a file counts as done, as
        # its shard has just made it; one that failed in its shard counts as failed.
        vars(self).pop("store", None)  # read the files again
        store, rerun = self.store, self._rerun_others
        runs = list(dict.fromkeys(run for pending in self.pending for run in pending.waiting))
        reasons = runner.reasons(runs, self.settings, store, self.file_of, rerun)
        ended = []
        for run, reason in zip(runs, reasons, strict=True):
            record = store.get(run, self.file_of(run))
            if record and (reason in ("", "untracked code") or not record.done):
                ended += [record] * self._asks_for(run)
                add(run, record, True)
        for pending in self.pending:
            if asked := sum(map(self._asks_for, pending.waiting)):
                left = counted(asked, "run")
                say(f"{pending.label}: shard {self.shard} is done; {left} of other shards are not")
            elif pending.waiting:
                missing = f"{len(pending.waiting)} of {counted(len(pending.runs), 'run')}"
                words = shlex.join(["reproduce", *pending.experiment.arguments])
                say(f"{pending}")
                say(f"no page is written, as {missing} have no present result")
                say(f"`transferbench {words}` performs these and writes it")
            if pending.waiting and self.chosen is not None:
                pending.save(store)  # with results that other experiments made
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
