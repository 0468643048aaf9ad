"""Decide whether a run is done: the one place that compares a record with what would be run now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from transferbench import models, tasks
from transferbench.errors import UserError
from transferbench.fingerprint import untraced
from transferbench.runs.record import newest_stated

if TYPE_CHECKING:
    from transferbench.data.facts import Facts
    from transferbench.runs.record import Identity, Record, Run
    from transferbench.settings import Settings
    from transferbench.tasks import Task

#: Which runs to perform: those without a finished record, also those that `decide` finds outdated,
#: or all.
Rerun = Literal["missing", "outdated", "all"]
#: Why a run is to be performed; "" if its record is its result.
Reason = Literal["", "asked", "no result", "no curve", "other code", "untracked code", "other data"]
#: The reasons in words, for people.
REASONS: dict[Reason, str] = {
    "": "done",
    "asked": "to run: all runs are asked for",
    "no result": "to run: no result yet",
    "no curve": "to run: its result has no curve",
    "other code": "to run: its code has changed",
    "untracked code": "to run: its code is in a file of yours and may have changed",
    "other data": "to run: its data have changed",
}
#: What is earlier in a run, by the reason to make it again.
EARLIER: dict[Reason, str] = {"other code": "code", "other data": "data"}
#: Reasons to make a finished run again.
OUTDATED: set[Reason] = {"other code", "untracked code", "other data"}


def decide(
    run: Run,
    record: Record | None,
    facts: Facts | None,
    rerun: Rerun,
    *,
    published: bool = False,
    files: str = "",
) -> Reason:
    """Return why a run is to be performed, "" if its record is its result."""
    # New versions of libraries do not repeat a finished run.
    # `record`: The stored record of the run; None if there is none.
    # `facts`: Facts of the built task; None if it is not built, its data then count as unchanged.
    # `published`: True if the record is of a published suite: it counts whatever data and code are
    # now.
    # `files`: Digest of the user's files of the task as they are now; it tells a change of data
    # also where the task is not built. "" if there are none, or if they are unknown.
    if rerun == "all":
        return "asked"
    if record is None or not record.done:
        return "no result"
    if not record.has_curve(run):
        return "no curve"
    if rerun == "missing" or published:
        return ""
    if record.equal_code != run.equal_code:
        return "other code"
    if facts is not None and not record.matches_facts(facts):
        return "other data"
    if files and record.files not in ("", files):
        return "other data"
    return "untracked code" if has_untracked_code(run.model) else ""


def with_outdated(
    runs: Sequence[Run], records: Sequence[Record], is_published: Sequence[bool]
) -> list[Record]:
    """Return the records of an experiment, those outdated that do not belong to the newest."""
    # No table may mix data or code. So all finished runs on a task must be of the data of its
    # newest record and score the same domains and documents, and all finished runs of a model must
    # be of the code of its newest record. Runs on a user's task must be of its files as they are
    # now, as rows may share a file. Others get the status outdated, with a reason. Whether the
    # newest are of the present code is for `decide`.
    # `is_published`: True for a run of a published suite: it counts whatever the code is now, and
    # other runs must be of its data.
    built = {task: task.built for task in {run.task for run in runs}}
    present = {task: tasks.users_files_key(task) for task in built.values()}
    planned = list(zip(runs, records, is_published, strict=True))
    # Of what counts most, the newest: published runs, and among them by time.
    by_rank: defaultdict[Task, list[Record]] = defaultdict(list)
    newest_code: dict[tuple[str, bool], str] = {}
    for run, record, published in sorted(planned, key=lambda one: (one[2], one[1].finished)):
        by_rank[built[run.task]].append(record)
        if record.code:
            newest_code[run.model, published] = record.equal_code
    newest_data = {task: newest_stated(ranked) for task, ranked in by_rank.items()}
    scored: defaultdict[Task, Counter[frozenset[Any]]] = defaultdict(Counter)
    counts: defaultdict[Task, Counter[frozenset[Any]]] = defaultdict(Counter)
    for run, record, _ in planned:
        scored[built[run.task]][frozenset(record.metrics)] += record.done
        counts[built[run.task]][frozenset(record.documents.items())] += bool(record.documents)

    def why(run: Run, record: Record, published: bool) -> str:
        task = built[run.task]
        if not all(map(record.same_data, newest_data[task])):
            return f"the data of {task} are not those of newer runs"
        if record.files and present[task] and record.files != present[task]:
            return f"the files of {task} have changed since"
        if record.code and record.equal_code != newest_code[run.model, published]:
            return f"the code of {run.model} is not that of newer runs"
        documents = frozenset(record.documents.items())
        if frozenset(record.metrics) != scored[task].most_common(1)[0][0] or (
            documents and documents != counts[task].most_common(1)[0][0]
        ):
            return f"other documents are scored than by other runs on {task}"
        return ""

    marked = []
    for run, record, published in planned:
        reason = why(run, record, published) if record.done else ""
        marked.append(replace(record, status="outdated", reason=reason) if reason else record)
    return marked


def has_untracked_code(model: str) -> bool:
    """Return True for a model whose fingerprint does not cover all its code."""
    # It is outside a package, or imports what cannot be traced, see `fingerprint.untraced`. An
    # estimator of scikit-learn is tracked by its version.
    if model.endswith(".py") or (":" in model and not model.startswith("sklearn.")):
        return True
    return bool(untraced(models.get(model).path))


def present(task: Task, settings: Settings) -> tuple[Facts | None, str]:
    """Return the facts of a task if it is built, and the digest of the user's files it is from."""
    with suppress(OSError, ValueError):  # it is not built, or its file is damaged
        name = task.built_name(settings)
        facts = tasks.read_facts(settings.data / "built" / name, name)
        return facts, facts.files_key
    return None, tasks.users_files_key(task, settings)


def outdated(
    runs: Sequence[Run], records: Mapping[Identity, Record], settings: Settings
) -> list[str]:
    """Return a sentence for each reason why finished runs are not of the present data or code."""
    # Data are compared if they are the user's; those of other tasks are checked whenever they are
    # built. A model whose file is not here counts as unchanged.

    @cache
    def of_user(task: Task) -> tuple[Facts | None, str]:
        return present(task, settings) if tasks.users_path(task, settings) else (None, "")

    found: Counter[Reason] = Counter()
    known: dict[tuple[Any, ...], Reason] = {}
    for run in runs:
        record = records.get(run.identity)
        if record and record.done:
            origin = run.task, run.model, record.code, record.data, record.values, record.files
            if origin not in known:
                known[origin] = ""
                with suppress(UserError):
                    facts, files = of_user(run.task.built)
                    known[origin] = decide(run, record, facts, "outdated", files=files)
            found[known[origin]] += 1
    return [
        f"outdated: {found[reason]} of {len(runs)} runs are of earlier {what}"
        for reason, what in EARLIER.items()
        if found[reason]
    ]
