"""Runs of several folders are joined if data and code are equal; what is running is shown."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest

from transferbench.runs import status, store
from transferbench.runs.store import Store


@pytest.fixture
def made(call, home, plain):
    """Two folders, each with half of the runs of an experiment."""
    assert call("reproduce", str(plain))[0] == 0
    records = list(store.read(home.results / "plain" / store.NAME).values())
    folders = [home.results.parent / name for name in ("a", "b")]
    for folder, half in zip(folders, (records[::2], records[1::2]), strict=True):
        for record in half:
            Store(folder).append(record, folder / "plain" / store.NAME)
    return folders, records


def test_halves_give_the_whole(call, home, made):
    (a, b), records = made
    target = home.results.parent / "c"
    (a / "plain" / "experiment.yaml").write_text("title: mine\n")
    code, out, err = call("merge", str(a), str(b), "--into", str(target))
    assert code == 0, err
    assert out == f"{target / 'plain' / store.NAME}: {len(records)} finished runs\n"
    found = store.read(target / "plain" / store.NAME)
    assert {r.line for r in found.values()} == {r.line for r in records}
    assert (target / "plain" / "experiment.yaml").read_text() == "title: mine\n"
    again = (target / "plain" / store.NAME).read_bytes()
    assert call("merge", str(b), "--into", str(target))[0] == 0
    assert (target / "plain" / store.NAME).read_bytes() == again


@pytest.mark.parametrize(("change", "what"), [("data", "task"), ("code", "model")])
def test_runs_of_other_data_or_code_are_named_and_nothing_is_written(
    call, home, made, change, what
):
    (a, b), records = made
    other = replace(records[0], seed=7, **{change: "other"})
    Store(b).append(other, b / "plain" / store.NAME)
    target = home.results.parent / "c"
    code, _, err = call("merge", str(a), str(b), "--into", str(target))
    assert code == 2
    assert f"{getattr(other, what)} has different {change}: " in err
    assert f"other in {b}" in err
    assert "run the older ones again" in err
    assert not target.exists()


LOST = {"status": "timeout", "reason": "why", "metrics": {}, "documents": {}, "right": {}}
LATER = {"finished": "2099-01-01T00:00:00Z"}


@pytest.mark.parametrize("place", ["two sources", "target", "before an unfinished line"])
def test_an_unfinished_line_of_other_code_displaces_no_finished_one(call, home, made, place):
    (a, b), records = made
    done, lost = records[0], replace(records[0], code="other", **LOST, **LATER)
    target = home.results.parent / "c"
    put(b if place == "two sources" else a, *records[1::2])
    put(a, *([lost] if place == "target" else [done]))
    if place == "two sources":
        put(b, lost)
    elif place == "target":
        put(target, done)
    else:
        put(target, done, lost)
    assert call("merge", str(a), str(b), "--into", str(target))[0] == 0
    text = (target / "plain" / store.NAME).read_text().splitlines()
    assert {done.line, *([] if place == "before an unfinished line" else [lost.line])} <= {*text}
    standing = store.read(target / "plain" / store.NAME)[done.identity]
    assert standing.line == lost.line


def put(folder, *records):
    """Write the lines of an experiment, in this order."""
    path = folder / "plain" / store.NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{record.line}\n" for record in records))


def test_of_equal_code_the_line_with_a_curve_is_kept(call, home, made):
    (a, b), (done, *_) = made
    with_curve = replace(done, curve=dict.fromkeys(done.metrics, (0.5,)))
    put(a, with_curve)
    put(b, replace(done, **LATER))
    target = home.results.parent / "c"
    assert call("merge", str(a), str(b), "--into", str(target))[0] == 0
    assert (target / "plain" / store.NAME).read_text() == f"{with_curve.line}\n"


def test_two_finished_lines_of_a_run_are_refused_also_before_an_unfinished_one(call, home, made):
    (a, b), (done, *_) = made
    put(a, replace(done, code="older"), replace(done, **LOST, **LATER))
    put(b, done)
    code, _, err = call("merge", str(a), str(b), "--into", str(home.results.parent / "c"))
    assert (code, "has different code: older in" in err) == (2, True)


@pytest.mark.parametrize("name", [store.NAME, "experiment.yaml"])
def test_if_one_file_cannot_be_written_none_is(call, home, made, name):
    (a, b), records = made
    put(b / "repeats-2", *records)  # a second file of runs
    (b / "repeats-2" / "plain" / "experiment.yaml").write_text("title: mine\n")
    target = home.results.parent / "c"
    (target / "repeats-2" / "plain" / name).mkdir(parents=True)
    code, _, err = call("merge", str(a), str(b), "--into", str(target))
    assert (code, "cannot" in err) == (2, True)
    assert not [path for path in target.rglob("*") if path.is_file() and path.suffix != ".lock"]


def test_merged_repeats_are_found(call, home, plain, made):
    assert call("reproduce", str(plain), "--repeats", "1")[0] == 0
    target = home.results.parent / "c"
    assert (
        call("merge", str(home.results / "repeats-1"), "--into", str(target / "repeats-1"))[0] == 0
    )
    in_target = ("--results", str(target))
    for words in (
        ["tables"],
        ["tables", "--check"],
        ["status"],
        ["explain", "plain", "made up", "k-means"],
    ):
        code, _, err = call(*in_target, *words)
        assert code == 0, err
    assert "repeats-1" in call(*in_target, "status")[1]


def test_other_versions_are_a_warning(call, home, made):
    (a, b), records = made
    Store(b).append(replace(records[0], seed=7, versions="numpy 9"), b / "plain" / store.NAME)
    code, _, err = call("merge", str(a), str(b), "--into", str(home.results.parent / "c"))
    assert code == 0
    assert err.startswith("warning: these runs were made with different versions:\n")
    assert "  numpy 9\n" in err


def test_a_folder_without_runs_is_one_line(call, home, tmp_path):
    code, _, err = call("merge", str(tmp_path / "none"), "--into", str(tmp_path / "c"))
    assert code == 2
    assert "no runs.jsonl in it; expected a folder of results" in err


def test_status_counts_runs_and_lists_commands(call, home, plain, made):
    _, records = made
    assert call("status")[1].splitlines()[1].split()[:4] == ["plain", f"{len(records)}", "0", "0"]
    failed = replace(records[0], status="failed", reason="why", metrics={})
    path = home.results / "plain" / store.NAME
    path.write_text("".join(f"{r.line}\n" for r in (failed, *records[1:])))
    line = call("status", "plain")[1].splitlines()[1].split()
    assert line[:4] == ["plain", f"{len(records) - 1}", "1", "1"]
    file = status.StatusFile(home.results)
    file.write(3, 8, ("kmeans on somewhere, seed 3",), 90.0)
    out = call("status")[1]
    assert "3 of 8 runs ended, about 2 minutes left\n  kmeans on somewhere, seed 3\n" in out
    (found,) = (home.results / status.FOLDER).glob("*.json")
    good = json.loads(found.read_text())
    os.utime(found, (time.time() - 100, time.time() - 100))
    assert "ended without a word, after 3 runs" in call("status")[1]
    for hostile in ("{", "[]", json.dumps(good | {"host": 3}), json.dumps(good | {"runs": 1})):
        found.write_text(hostile)
        assert "ended without" not in call("status")[1]
    file.close()
    assert not (home.results / status.FOLDER).exists()


def test_status_without_anything_is_one_line(call):
    code, _, err = call("status")
    assert code == 2
    assert "no runs.jsonl under" in err
