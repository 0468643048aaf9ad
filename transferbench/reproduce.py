"""Rebuild experiments: plan their runs, perform them as one batch, write each experiment's results.

An experiment is written as soon as its last run has ended.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

import pandas as pd

from transferbench import experiments
from transferbench.data import tasks
from transferbench.errors import Unavailable, UserError
from transferbench.evidence import pages
from transferbench.evidence.frame import IDENTITY, read_lines, to_runs
from transferbench.experiments.experiment import Experiment
from transferbench.files import write_text
from transferbench.messages import counted, duration
from transferbench.runs import runner
from transferbench.runs.record import Limits, Record, Run, runs_csv, short
from transferbench.settings import Settings

#: Prints a line to stdout, or with err=True to stderr.
PrintLine = Callable[..., None]
#: Performs runs, each within its stated limits, and calls on_record for each.
Execute = Callable[..., list[Record]]

#: Seconds that a run takes beside loading and fit: for its process, measures and record.
OVERHEAD = 0.05


class Rebuild:
    """Collect the records of an experiment's planned runs and write its results.

    own     : whether the experiment is a user's.
    folder  : where results are written. If `repeats` differs from the experiment's own number, it
              is another folder, so that a quick look does not replace a table of more runs.
    kept    : runs that are not performed; their lines in runs.csv stay as they are.
    waiting : runs whose records have not arrived yet.
    records : the records that have arrived.
    """

    def __init__(self, experiment: Experiment, results: Path, repeats: int | None) -> None:
        self.experiment, self.name = experiment, experiment.name
        self.planned = list(experiment.runs(repeats))
        usual = repeats in (None, experiment.spec.repeats)
        self.folder = (results if usual else results / f"repeats-{repeats}") / experiment.name
        self.kept: set[Run] = set()
        self.waiting = {each.run for each in self.planned}
        #: Files whose runs may be kept.
        self.sources = [self.folder / "runs.csv"]
        self.own = self.name not in experiments.names()
        if self.own:
            tasks = {run.task for run in self.waiting}
            for name in experiments.names():
                path = experiments.committed_runs(name, results)
                if path.is_file() and any(map(path.read_text(encoding="utf-8").count, tasks)):
                    self.sources.append(path)
        self.records: dict[Run, Record] = {}

    def keep(self, settings: Settings, *, same_code: bool, ours: bool = False) -> None:
        """Add to `kept` the finished runs of the sources that were made on the current data.

        same_code: keep only those that were also made by the current code. ours: keep only those of
        our experiments; whether one of the user's own is repeated depends on its record.
        """

        @cache
        def facts(task: str) -> tasks.Facts | None:
            with suppress(Unavailable):
                return tasks.facts(tasks.Task.named(task), settings)
            return None

        def is_current(run: Run, line: dict[str, str]) -> bool:
            now = facts(run.task)
            if now is None:  # nothing could replace the line
                return True
            return line["key"] == run.key(now) if same_code else line["data"] == now.digest

        for run in self.waiting:
            lines = self.earlier_lines.get(run.identity, [])
            if ours and run.identity in self.users:
                continue
            known = bool(lines) and not (same_code and runner.untraced(run))
            if known and all(is_current(run, line) for line in lines):
                self.kept.add(run)
        self.waiting -= self.kept

    def take(self, run: Run, record: Record) -> bool:
        """Take the record of a run; return True if it was the last one of the experiment."""
        if run not in self.waiting:
            return False
        self.waiting.remove(run)
        self.records[run] = record
        return not self.waiting

    def write(self) -> list[Path]:
        """Write runs.csv and the pages made of it; return the paths of the pages.

        A run that did not finish keeps the lines of an earlier finished one. Raise UserError if a
        file cannot be written.
        """
        lines: list[dict[str, str]] = []
        written = set()
        for row, column, x, run in self.planned:
            # A run that serves several rows of a column has its lines under the first of them.
            if (column, x, run.identity) in written:
                continue
            written.add((column, x, run.identity))
            if self._is_reused(run):
                place = {"row": row, "column": column, "x": short(x)}
                lines += [line | place for line in self.earlier_lines[run.identity]]
            else:
                lines += self.records[run].rows(row, column, x)
        write_text(self.folder / "runs.csv", runs_csv(lines))
        if self.own:  # from now on known by name
            write_text(self.folder / experiments.COPY, self.experiment.text)
        return pages.write(self.experiment, self.folder)

    @cached_property
    def earlier(self) -> pd.DataFrame:
        """Finished runs of the sources, the last ones made of each, with their lines."""
        parts = [to_runs([])]
        for path in self.sources:
            with suppress(UserError):  # not reproduced yet, or damaged: it will be replaced
                lines = read_lines(path)
                runs = to_runs(lines)
                done = runs[runs["status"] == "done"]
                parts.append(done.assign(line=[lines[i] for i in done.index]))
        runs = pd.concat(parts).sort_values("finished", kind="stable")
        return runs.drop_duplicates([*IDENTITY, "domain"], keep="last")

    @cached_property
    def users(self) -> set[tuple[str, ...]]:
        """Identities of the earlier runs of the experiment itself."""
        with suppress(UserError):
            runs = to_runs(read_lines(self.sources[0]))
            return set(runs[IDENTITY].itertuples(index=False, name=None))
        return set()

    @cached_property
    def earlier_lines(self) -> dict[tuple[str, ...], list[dict[str, str]]]:
        """Lines of earlier finished runs by identity."""
        return {key: list(runs["line"]) for key, runs in self.earlier.groupby(IDENTITY)}

    def _is_reused(self, run: Run) -> bool:
        """True if the result of the run is that of an earlier finished run."""
        if run in self.kept:
            return True
        return not self.records[run].done and run.identity in self.earlier_lines

    @property
    def reused(self) -> int:
        """Number of runs whose results are those of earlier finished runs."""
        return len(self.kept) + sum(map(self._is_reused, self.records))

    def __str__(self) -> str:
        counts = Counter(record.status for record in self.records.values())
        others = "".join(f", {counts[s]} {s}" for s in sorted(counts.keys() - {"done"}))
        reused = f" ({self.reused} kept from earlier runs)" if self.reused else ""
        return f"{self.name}: {counts['done']} of {len(self.records)} runs finished{others}{reused}"


def plan(
    names: Sequence[str],
    settings: Settings,
    repeats: int | None,
    *,
    missing: bool = False,
    outdated: bool = False,
) -> list[Rebuild]:
    """Return a `Rebuild` for each experiment by name.

    missing: keep the finished runs of each runs.csv. outdated: keep those of the code as it is now,
    as is always done for a user's own experiment, which takes them from ours, too. Raise UserError
    if two experiments would share one folder.
    """
    rebuilds: dict[str, tuple[str, Rebuild]] = {}
    for given in dict.fromkeys(names):
        rebuild = Rebuild(experiments.load(given, settings.results), settings.results, repeats)
        other, _ = rebuilds.setdefault(rebuild.name.casefold(), (given, rebuild))
        if other != given:
            message = f"{other} and {given} would write to the same folder {rebuild.name}"
            raise UserError(f"{message}; rename one, or run them one after the other.")
        if missing or outdated or rebuild.own:
            ours = not (missing or outdated or rebuild.experiment.spec.extends)
            rebuild.keep(settings, same_code=not missing, ours=ours)
    return [rebuild for _, rebuild in rebuilds.values()]


def forecast(
    rebuilds: list[Rebuild], settings: Settings, repeats: Callable[[Run], bool] = runner.untraced
) -> tuple[pd.DataFrame, str, dict[Run, float]]:
    """Return the forecast of each experiment, a sentence about all, and the seconds by run.

    The frame has todo and finished runs, seconds of one core for the runs to do of which earlier
    runs are known, how many of these are guessed, and the number of unknown others. A model without
    earlier runs is guessed to take the median of the others on its task. Finished runs take no
    seconds, unknown ones are left out. Also sort the experiments, the quickest first, so that
    failures come early. repeats: true for runs to do although they are finished.
    """
    plan = pd.DataFrame(
        [
            (each.name, planned.run, *planned.run.identity)
            for each in rebuilds
            for planned in each.planned
            if planned.run in each.waiting
        ],
        columns=["experiment", "run", *IDENTITY],
    ).drop_duplicates(IDENTITY)  # a run that several experiments share is in the first of them
    plan["finished"] = runner.done(list(plan["run"]), settings, repeats)
    plan["todo"] = ~plan["finished"]
    # All domains of a run took the same time.
    spent = pd.concat([each.earlier for each in rebuilds]).drop_duplicates(IDENTITY)
    extra = spent["load_seconds"].fillna(0) - spent["reused_seconds"].fillna(0) + OVERHEAD
    spent = spent.assign(seconds=spent["seconds"] + extra).dropna(subset="seconds")
    plan = plan.merge(spent.groupby(IDENTITY[:3])["seconds"].mean(), on=IDENTITY[:3], how="left")
    by_model = plan["model"].map(spent.groupby("model")["seconds"].mean())
    plan["seconds"] = plan["seconds"].fillna(by_model)
    by_task = plan["task"].map(spent.groupby("task")["seconds"].median())
    plan["guessed"] = plan["todo"] & plan["seconds"].isna() & by_task.notna()
    plan["seconds"] = plan["seconds"].fillna(by_task).where(plan["todo"])
    plan["unknown"] = plan["todo"] & plan["seconds"].isna()
    columns = ["todo", "finished", "seconds", "guessed", "unknown"]
    names = [each.name for each in rebuilds]
    expected = plan.groupby("experiment")[columns].sum().reindex(names, fill_value=0)
    rebuilds.sort(key=lambda each: expected["seconds"][each.name])
    seconds = plan["seconds"].where(plan["todo"], 0.0)
    by_run = dict(zip(plan["run"][seconds.notna()], seconds.dropna(), strict=True))
    count = counted(len(rebuilds), "experiment")
    return expected, f"{count}: {_summary(expected)}", by_run


def _summary(forecast: pd.DataFrame) -> str:
    """Return the forecast of all experiments together as a sentence."""
    total = forecast.sum()
    count = f"{counted(total.todo, 'run')} to do, {total.finished:.0f} finished"
    if not total.seconds and total.unknown:
        return f"{count}; no times of earlier runs"
    if not total.todo:
        return count
    known = f"about {duration(total.seconds)} of one core, from the times of earlier runs"
    known += f" ({total.guessed:.0f} as the median of the others)" if total.guessed else ""
    unknown = f", and {total.unknown:.0f} without an estimate" if total.unknown else ""
    return f"{count}; {known}{unknown}"


def perform(rebuilds: Sequence[Rebuild], execute: Execute, say: PrintLine) -> int:
    """Perform all runs as one batch and write each experiment as its last run ends.

    An experiment that cannot be written does not stop the others; if it is the only one, the error
    is raised. Return the exit code: 1 if a run failed, crashed or exceeded a limit, or if results
    could not be written, else 0. Raise Unavailable if all runs are unavailable and all results stay
    those of earlier runs.
    """
    several = len(rebuilds) > 1
    unchanged: list[str] = []
    unwritten: list[str] = []

    def write(rebuild: Rebuild) -> list[Path]:
        try:
            return rebuild.write()
        except Exception as error:  # even a bug: the other experiments may have taken hours
            if not several:
                raise
            unwritten.append(rebuild.name)
            kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
            message = f"{rebuild.name}: results not written: {kind}{error}"
            say(f"{message} (finished runs are saved; rerun the command)", err=True)
            return []

    def take(run: Run, record: Record) -> None:
        for rebuild in rebuilds:
            if not rebuild.take(run, record):
                continue
            unavailable = all(each.status == "unavailable" for each in rebuild.records.values())
            if rebuild.reused and unavailable:
                unchanged.append(rebuild.name)
                continue
            for path in write(rebuild):
                say(path)
            ended = sum(not each.waiting for each in rebuilds)
            say(f"{rebuild}{f' ({ended} of {len(rebuilds)})' if several else ''}")

    limits: dict[Run, Limits] = {}  # of each run, those of the first experiment that plans it
    for rebuild in rebuilds:
        for each in rebuild.planned:
            if each.run in rebuild.waiting:
                limits.setdefault(each.run, rebuild.experiment.spec.limits.each())
        if not rebuild.waiting:
            if not (rebuild.folder / "runs.csv").is_file():  # all are those of the extended one
                write(rebuild)
            say(rebuild)
    records = execute(list(limits), default_limits=limits.__getitem__, on_record=take)
    for rebuild in rebuilds if records else ():
        # Runs of the experiments that its claims name may have ended later.
        done = rebuild.name not in (*unchanged, *unwritten)
        if done and any(c.also or c.read_with for c in rebuild.experiment.spec.claims):
            write(rebuild)
    if unchanged:
        message = f"{', '.join(unchanged)}: nothing could be run; the results are left as they are"
        if len(unchanged) == len(rebuilds):
            raise Unavailable(message)
        say(message, err=True)
    failed = {record.status for record in records} - {"done", "unavailable"}
    return 1 if failed or unwritten else 0
