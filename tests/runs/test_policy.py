"""Every case of `decide`, in one table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from transferbench.data.facts import Facts
from transferbench.runs.policy import REASONS, decide, has_untracked_code
from transferbench.runs.record import Record, Run
from transferbench.tasks import Task

FACTS = Facts("transfer", ("a",), {"t": 3}, {"t": [3]}, (2,), 4, 5.0, "digest")
RUN = Run(Task("generated/small"), "lr", {}, 0)
DONE = Record.of(RUN, "done", facts=FACTS)
WITH_CURVE = replace(DONE, curve={})
OTHER_CODE, OTHER_DATA = replace(DONE, code="other"), replace(DONE, data="other")
FAILED = replace(DONE, status="failed")
MINE = replace(RUN, model="mine.py")

#: Run, record, facts, published → the reasons for missing, outdated and all runs.
CASES = {
    "no record": (RUN, None, FACTS, False, "no result", "no result"),
    "no record, not built": (RUN, None, None, False, "no result", "no result"),
    "no record in a suite": (RUN, None, FACTS, True, "no result", "no result"),
    "failed": (RUN, FAILED, FACTS, False, "no result", "no result"),
    "failed in a suite": (RUN, FAILED, FACTS, True, "no result", "no result"),
    "done": (RUN, DONE, FACTS, False, "", ""),
    "done, not built": (RUN, DONE, None, False, "", ""),
    "done in a suite": (RUN, DONE, FACTS, True, "", ""),
    "with a curve that is not asked for": (RUN, WITH_CURVE, FACTS, False, "", ""),
    "with a curve": (replace(RUN, curve=True), WITH_CURVE, FACTS, False, "", ""),
    "without a curve": (replace(RUN, curve=True), DONE, FACTS, False, "no curve", "no curve"),
    "without a curve in a suite": (
        replace(RUN, curve=True), DONE, FACTS, True, "no curve", "no curve",
    ),
    "other code": (RUN, OTHER_CODE, FACTS, False, "", "other code"),
    "other code, not built": (RUN, OTHER_CODE, None, False, "", "other code"),
    "other code in a suite": (RUN, OTHER_CODE, FACTS, True, "", ""),
    "other data": (RUN, OTHER_DATA, FACTS, False, "", "other data"),
    "other data, not built": (RUN, OTHER_DATA, None, False, "", ""),
    "other data in a suite": (RUN, OTHER_DATA, FACTS, True, "", ""),
    "other facts": (RUN, DONE, replace(FACTS, weight=6.0), False, "", "other data"),
    "other files": (RUN, DONE, replace(FACTS, files=("a",)), False, "", "other data"),
    "a file of the user": (MINE, DONE, FACTS, False, "", "untracked code"),
    "a file of the user in a suite": (MINE, DONE, FACTS, True, "", ""),
    "a file of the user, never run": (MINE, None, FACTS, False, "no result", "no result"),
    "a file of the user, failed": (MINE, FAILED, None, False, "no result", "no result"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_reason(case, tmp_path, monkeypatch):
    run, record, facts, published, missing, outdated = CASES[case]
    if run.model == "mine.py":  # a record of the file as it is now
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine.py").write_text("def fit(problem): ...\n")
        record = record and replace(record, model=run.model, code=run.code)
    expected = {"missing": missing, "outdated": outdated, "all": "asked"}
    found = {rerun: decide(run, record, facts, rerun, published=published) for rerun in expected}
    assert found == expected
    assert set(found.values()) <= set(REASONS)


def test_the_code_of_this_package_is_tracked():
    assert not has_untracked_code("lr")
