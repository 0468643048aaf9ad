"""A finished run is a line: appended, never lost, and read back as it was written."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from transferbench import experiments
from transferbench.errors import Doubt, UserError
from transferbench.evidence.pages import write_pages
from transferbench.experiments.batch import Batch
from transferbench.runs import runner, store
from transferbench.runs.record import ADVICE, Record, Status, pack
from transferbench.runs.store import Store

RECORD = Record(
    task="generated/small", model="lr", params={"k": 2, "layers": (3, 4)}, seed=0,
    status="done", code="c", data="d", finished="2026-01-01T00:00:00Z",
    metrics={"t": {"accuracy": 1 / 3}},
    documents={"t": 3}, right={"t": pack(np.array([True, False, False]))},
    diagnostics={"share": None},
    objective=0.1, iterations=2, trace=(2.0, 0.1),
    curve={"t": (0.25, 1 / 3)}, doubts=(Doubt("odd", target="t"),), seconds=1.5, peak_mib=100.0,
    versions="python 3.11.7", output="a \u202e mark",
)  # fmt: skip
SMALL = """
title: Small
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
repeats: 2
rows: {one: {task: "generated/small:documents=60,features=40,words=9,classes=2"}}
columns: {k-means: {model: kmeans}}
published: {one: {k-means: 50.0}}
tolerance: {value: 1.0, reason: none}
"""


FAILED = Record("generated/small", "m", {}, None, "failed", "why")


def test_each_status_of_an_unfinished_run_has_advice():
    assert ADVICE.keys() == set(get_args(Status))
    assert [status for status, text in ADVICE.items() if not text] == ["done"]
    assert (RECORD.failure, FAILED.failure) == ("", f"why; {ADVICE['failed']}")


@pytest.mark.parametrize("record", [RECORD, FAILED])
def test_a_record_is_read_back_as_it_was_written(home, record):
    Store(home.results).append(record)
    (found,) = store.read(home.results / store.NAME).values()
    assert found.line == record.line
    assert found.run == replace(record.run, params=found.params)
    assert "\u202e" not in (home.results / store.NAME).read_text(encoding="utf-8")


def test_pandas_reads_the_file(home):
    for seed in (0, 1):
        Store(home.results).append(replace(RECORD, seed=seed))
    runs = pd.read_json(home.results / store.NAME, lines=True)
    assert list(runs["seed"]) == [0, 1]
    assert runs["metrics"][0] == {"t": {"accuracy": pytest.approx(1 / 3)}}


def test_the_last_finished_record_of_a_run_counts(home):
    stored = Store(home.results)
    for change in ({"seconds": 2.0}, {"seconds": 3.0}, {"status": "failed", "seconds": None}):
        stored.append(replace(RECORD, **change))
    for known in (stored, Store(home.results)):
        assert known.get(RECORD.run).seconds == 3.0
        assert known.get(replace(RECORD.run, seed=1)) is None


def test_published_runs_are_reused_whatever_the_code_is_now(home):
    published = home.results / "suite" / store.NAME
    Store(home.results).append(RECORD, published)
    ways = {"outdated": "", "missing": "", "all": "asked"}
    for rerun, reason in ways.items():
        known = Store(home.results, committed=[published])
        assert runner.reasons([RECORD.run], home, known, rerun=rerun) == [reason]
    assert runner.reasons([RECORD.run], home, Store(home.results)) == ["other code"]


def test_a_torn_last_line_is_left_out_and_cut_before_the_next(home):
    stored, path = Store(home.results), home.results / store.NAME
    stored.append(RECORD)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    with pytest.warns(UserWarning, match="last line is incomplete"):
        assert len(store.read(path)) == 1
    stored.append(replace(RECORD, seed=1))
    assert [each.seed for each in store.read(path).values()] == [0, 1]


def test_a_whole_last_line_without_an_end_is_a_run(home):
    stored, path = Store(home.results), home.results / store.NAME
    stored.append(RECORD)
    path.write_bytes(path.read_bytes().rstrip())
    assert len(store.read(path)) == 1
    stored.append(replace(RECORD, seed=1))
    assert [each.seed for each in store.read(path).values()] == [0, 1]


DAMAGED = [
    "{}", "[]", "", "<<<<<<< ours", '{"task": "t", "other": 1}', "\0",
    *(RECORD.line.replace(then, now) for then, now in {
        '"accuracy":0.3': '"accuracy":-5.3', "0.25,": f"1{'0' * 400},", "0.25": "NaN",
        '"seconds":1.5': '"seconds":1e999', '"seconds":1': '"seconds":-1', '{"t":3}': '{"t":"3"}',
        '"right":{"t":"': '"right":{"t":"!', '"right":{"t":': '"right":{"other":',
        RECORD.right["t"]: pack(np.ones(10**6, bool)), '"eN': '"eA',
        '"seed":0': '"seed":0,"seed":0', '{"accuracy":': '{"accuracy":0.5,"accuracy":',
        '"accuracy":0.33': '"accuracy":0.93', '"2026-01-01T00:00:00Z"': '"zzz"',
        "2026-01-01T00:00:00Z": "2026-13-01T00:00:00Z", "Z\"": "Z\\n\"",
        '"metrics":{': '"metrics":{"other":{"accuracy":1.0},', '"curve":{"t"': '"curve":{"other"',
        '"documents":{"t":3}': f'"documents":{{"t":{10**8}}}',
        '"iterations":2': f'"iterations":1{"0" * 400}', '"python 3.11.7"': "3",
    }.items()),
]  # fmt: skip


@pytest.mark.parametrize("line", DAMAGED)
def test_a_damaged_line_is_an_error_with_its_number_which_a_store_repairs(home, line):
    path = home.results / "mine" / store.NAME
    Store(home.results).append(RECORD, path)
    whole = path.read_text()
    path.write_text(f"{line}\n{whole}")
    with pytest.raises(UserError, match=r"runs\.jsonl:1: not a run \(.+\); `reproduce`"):
        store.read(path)
    with pytest.warns(UserWarning, match=r"runs\.jsonl:1: not a run .* left out"):
        Store(home.results).rewrite_in_order(path, {RECORD.run: RECORD})
    assert path.read_text() == whole


def test_of_merged_lines_the_newest_finished_one_counts_and_a_clock_set_back_loses_nothing(home):
    new, old = (replace(RECORD, finished=f"202{n}-01-01T00:00:00Z", code=f"{n}") for n in (6, 5))
    path = home.results / store.NAME
    path.parent.mkdir()
    path.write_text("".join(f"{r.line}\n" for r in (new, old)))
    for stored in (Store(home.results), Store(home.results)):
        assert stored.get(RECORD.run).code == "6"
    stored.append(replace(old, code="after the clock was set back"))
    for known in (stored, Store(home.results)):
        assert known.get(RECORD.run).code == "after the clock was set back"


def timed(status: str, code: str, data: str, day: int) -> Record:
    """Return a record of the run; its values are those of the data "d"."""
    finished = f"2026-01-{day:02}T00:00:00Z"
    values = (1.0,) if data == "d" else ()
    changes = {"code": code, "data": data, "finished": finished, "values": values}
    if status != "done":
        changes |= {"metrics": {}, "documents": {}, "right": {}, "curve": None}
    return replace(RECORD, status=status, reason="" if status == "done" else "why", **changes)


DONE = timed("done", "c", "d", 1)
#: What follows a finished run of code c and data d, and which line then stands for it.
AFTER = {
    "a time limit": ([timed("timeout", "c", "d", 2)], 0),
    "a time limit, the lines in another order": ([timed("timeout", "c", "d", 2)], 0),
    "failed with other code": ([timed("failed", "e", "d", 2)], 1),
    "failed on other data": ([timed("failed", "c", "f", 2)], 1),
    "failed on other values": ([replace(timed("failed", "c", "d", 2), values=(1.0 + 1e-9,))], 1),
    "out of memory on other data": ([timed("memory", "c", "f", 2)], 1),
    "no data, by other code": ([timed("unavailable", "e", "", 2)], 1),
    "no data": ([timed("unavailable", "c", "", 2)], 0),
    "done again": ([timed("done", "c", "d", 2)], 1),
    "done by other code": ([timed("done", "e", "d", 2)], 1),
    "an older line of other code": ([timed("done", "e", "d", 1)], 1),
    "other code failed, then this one": (
        [timed("failed", "e", "d", 2), timed("timeout", "c", "d", 3)], 0,
    ),
    "failed twice with other code": (
        [timed("failed", "e", "d", 2), timed("timeout", "e", "d", 3)], 2,
    ),
    "rounded otherwise": ([replace(timed("failed", "c", "d", 2), values=(1.0 + 1e-13,))], 0),
    "a line of 1.1, without values": ([replace(timed("failed", "c", "d", 2), values=())], 0),
}  # fmt: skip


def test_nothing_is_lost_when_an_unfinished_run_replaces_a_finished_one(home):
    path = home.results / store.NAME
    stored = Store(home.results)
    stored.append(DONE)
    for day in (2, 3):
        lost = timed("unavailable", "e", "", day)
        for known in (stored, Store(home.results)):
            (standing,) = known.rewrite_in_order(path, {RECORD.run: lost}).values()
            assert standing.status == "unavailable"
            assert [r["status"] for r in map(json.loads, path.read_text().splitlines())] == [
                "done", "unavailable",
            ]  # fmt: skip
        stored = Store(home.results)
    stored.append(timed("done", "e", "d", 4))
    stored.rewrite_in_order(path, {RECORD.run: timed("done", "e", "d", 4)})
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize("order", itertools.permutations(range(4)))
def test_which_line_stands_does_not_depend_on_their_order(home, order):
    """Unknown data are equal to any, so equality has gaps; the order of lines must not show."""
    lines = [
        DONE, timed("failed", "c", "f", 2), replace(timed("timeout", "c", "d", 3), values=()),
        timed("unavailable", "c", "", 4),
    ]  # fmt: skip
    assert store.latest([lines[i] for i in order]) == DONE
    assert store.latest([lines[i] for i in order if i != 2]).status == "unavailable"


@pytest.mark.parametrize("case", AFTER)
def test_a_finished_run_gives_way_to_one_of_other_data_or_code_only(home, case):
    later, expected = AFTER[case]
    lines = [DONE, *later]
    path = home.results / store.NAME
    path.parent.mkdir()
    ordered = [*later, DONE] if "another order" in case else lines
    path.write_text("".join(f"{record.line}\n" for record in ordered))
    (found,) = store.read(path).values()
    assert found.line == lines[expected].line
    assert Store(home.results).get(RECORD.run).line == found.line
    path.unlink()
    stored = Store(home.results)
    for record in lines:
        stored.append(record)
    planned = {RECORD.run: lines[-1]}
    assert stored.get(RECORD.run).line == found.line
    (arranged,) = Store(home.results).rewrite_in_order(path, planned).values()
    assert arranged.line == found.line


def test_a_finished_run_of_another_file_gives_way_alike(home):
    mine, other = (home.results / name / store.NAME for name in ("mine", "other"))
    Store(home.results).append(DONE, other)
    for code, expected in (("c", "done"), ("e", "timeout")):
        lost = timed("timeout", code, "d", 2)
        records = Store(home.results).rewrite_in_order(mine, {RECORD.run: lost})
        assert [record.status for record in records.values()] == [expected]
        mine.unlink()


def test_a_file_is_arranged_as_planned_and_takes_runs_of_others(home):
    stored, path = Store(home.results), home.results / "mine" / store.NAME
    for seed in (7, 1):
        stored.append(replace(RECORD, seed=seed), path)
    stored.append(replace(RECORD, seed=0), home.results / "other" / store.NAME)
    lost = replace(RECORD, seed=2, status="unavailable", reason="no data")
    planned = [replace(RECORD, seed=seed).run for seed in range(3)]
    records = {run: replace(lost, seed=run.seed) for run in planned}
    Store(home.results).rewrite_in_order(path, records)
    found = store.read(path).values()
    assert [(r.seed, r.status) for r in found] == [
        (0, "done"), (1, "done"), (2, "unavailable"), (7, "done")
    ]  # fmt: skip
    before = path.stat().st_mtime_ns
    Store(home.results).rewrite_in_order(path, records)
    assert path.stat().st_mtime_ns == before


def test_a_new_run_is_parsed_once_and_written_once(home, tmp_path, monkeypatch):
    """Planned, performed, appended, put in order, shown: the line is made and read once."""
    experiment = experiments.read(SMALL, tmp_path / "small.yaml")
    counted = Counter()
    monkeypatch.setattr(Record, "from_line", counting(Record.from_line, "parsed", counted))
    make = counting(Record.line.func, "written", counted)
    prop = cached_property(make)
    prop.__set_name__(Record, "line")
    monkeypatch.setattr(Record, "line", prop)
    batch = Batch([experiment], home, write_pages)

    def execute(runs, default_limits, **options):
        return runner.run(runs, home, limits=default_limits, **options)

    assert batch.run(execute, lambda *_, **__: None) == 0
    assert counted == {"parsed": len(batch.first_of), "written": len(batch.first_of)}
    assert len(store.read(home.results / "small" / store.NAME)) == len(batch.first_of)


def counting(function, name: str, counted: Counter):
    def call(*args):
        counted[name] += 1
        return function(*args)

    return call


def test_lines_of_another_process_survive_a_rewrite(home):
    """The file is read again if it is not as this process left it."""
    stored, path = Store(home.results), home.results / "mine" / store.NAME
    stored.append(RECORD, path)
    Store(home.results).append(replace(RECORD, seed=7), path)
    stored.rewrite_in_order(path, {RECORD.run: RECORD})
    assert [record.seed for record in store.read(path).values()] == [0, 7]
    stored.append(replace(RECORD, seed=8), path)
    Store(home.results).append(replace(RECORD, seed=9), path)
    stored.append(replace(RECORD, seed=10), path)
    stored.rewrite_in_order(path, {RECORD.run: RECORD})
    assert [record.seed for record in store.read(path).values()] == [0, 7, 8, 9, 10]
    newer = replace(RECORD, finished="2026-01-05T00:00:00Z", seconds=9.0)
    Store(home.results).append(newer, path)
    stored.rewrite_in_order(path, {RECORD.run: RECORD})
    assert store.read(path)[RECORD.identity].seconds == 9.0


def test_the_last_finished_record_of_any_file_is_taken_and_a_curve_comes_first(home):
    paths = [home.results / name / store.NAME for name in ("one", "two", "repeats-9/one")]
    for day, path in enumerate(paths, start=1):
        finished = f"2026-01-0{day}T00:00:00Z"
        curve = RECORD.curve if day == 1 else None
        Store(home.results).append(replace(RECORD, finished=finished, curve=curve), path)
    run = replace(RECORD.run, curve=False)
    # Of equal code and data the file's own record stays, which may have decisions.
    assert Store(home.results).get(run, paths[0]).finished[9] == "1"
    other = replace(RECORD, finished="2026-01-04T00:00:00Z", curve=None, code="newer")
    Store(home.results).append(other, paths[1])
    assert Store(home.results).get(run, paths[0]).finished[9] == "4"
    # One with a curve comes first, if it is of the data and code of the newest.
    assert Store(home.results).get(RECORD.run, paths[1]).finished[9] == "4"
    Store(home.results).append(replace(other, curve=RECORD.curve), paths[0])
    assert Store(home.results).get(RECORD.run, paths[1]).curve


@pytest.mark.parametrize("place", ["file for folder", "read-only", "folder"])
def test_a_place_that_cannot_be_written_is_one_error_before_any_run(home, place):
    path = home.results / store.NAME
    if place == "file for folder":
        home.results.write_text("a file where the folder should be")
    elif place == "folder":
        path.mkdir(parents=True)
    else:
        Store(home.results).append(RECORD)
        path.chmod(0o444)
    with pytest.raises(UserError, match="cannot write"):
        Store(home.results).check_writable()
