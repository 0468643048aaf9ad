"""Decide whether a run is done: the one place that compares a record with what would be run now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from transferbench import models
from transferbench.fingerprint import untraced

if TYPE_CHECKING:
    from transferbench.data.facts import Facts
    from transferbench.runs.record import Record, Run

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
#: Reasons to make a finished run again.
OUTDATED: set[Reason] = {"other code", "untracked code", "other data"}


def decide(
    run: Run,
    record: Record | None,
    facts: Facts | None,
    rerun: Rerun,
    *,
    published: bool = False,
) -> Reason:
    """Return why a run is to be performed, "" if its record is its result.

    New versions of libraries do not repeat a finished run.

    Parameters
    ----------
    run
        What is to be done.
    record
        The stored record of the run; None if there is none.
    facts
        Facts of the built task; None if it is not built, its data then count as unchanged.
    rerun
        Which runs to perform.
    published
        True if the record is of a published suite: it counts whatever data and code are now.
    """
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
    if facts is not None and record.data != facts.key:
        return "other data"
    return "untracked code" if has_untracked_code(run.model) else ""


def has_untracked_code(model: str) -> bool:
    """Return True for a model whose fingerprint does not cover all its code.

    It is outside a package, or imports what cannot be traced, see `fingerprint.untraced`. An
    estimator of scikit-learn is tracked by its version.
    """
    if model.endswith(".py") or (":" in model and not model.startswith("sklearn.")):
        return True
    return bool(untraced(models.get(model).path))
