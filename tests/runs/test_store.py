"""Records are read back as they were written, or not at all."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import replace

import pytest

from transferbench.runs.record import Limits, Record, Run, Store

RECORD = Record(
    key="ab12", status="done", reason="", task="t", model="m", params={"k": 2}, seed=0, code="c",
    finished="now", limits=Limits(60.0), metrics={"t": {"accuracy": 0.5}}, trace=(2.0, 1.0),
)  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:100],
        lambda text: "",
        lambda text: json.dumps({"key": json.loads(text)["key"]}),
        lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "sha256"}),
        lambda text: json.dumps(json.loads(text) | {"metrics": 5}),
        lambda text: json.dumps(json.loads(text) | {"metrics": {}}),
        lambda text: "[" * 100_000,
        lambda text: text.replace("0.5", "0.7"),
    ],
    ids=["cut", "empty", "status", "no digest", "metrics", "nothing", "deep", "digit"],
)
def test_a_damaged_record_is_not_read(home, damage):
    store = Store(home.results)
    path = store.write(RECORD)
    assert store.find("ab12") == RECORD
    assert path.stat().st_mode & 0o444 == 0o444, "readable by all, as other files are"
    path.write_text(damage(path.read_text()))
    assert store.find("ab12") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("trace"),
        lambda content: content.update(another=1),
        lambda content: content.update(trace=None),
        lambda content: content.update(limits=5),
        lambda content: content.update(key="cd34"),
    ],
    ids=["missing field", "unknown field", "no trace", "no limits", "key of another"],
)
def test_a_record_of_another_version_or_run_is_not_read(home, change):
    """Its digest is right, as if such a version had written it."""
    store = Store(home.results)
    path = store.write(RECORD)
    content = json.loads(path.read_text())
    del content["sha256"]
    change(content)
    text = json.dumps(content, sort_keys=True)
    path.write_text(json.dumps(content | {"sha256": hashlib.sha256(text.encode()).hexdigest()}))
    assert store.find("ab12") is None


def test_an_unfinished_record_does_not_replace_one_written_at_the_same_time(home, monkeypatch):
    store, find = Store(home.results), Store.find
    other = threading.Thread(target=store.write, args=(RECORD,))

    def find_slowly(self, key):
        found = find(self, key)
        other.start()
        other.join(0.2)
        return found

    monkeypatch.setattr(Store, "find", find_slowly)
    store.write(replace(RECORD, status="failed"))
    other.join()
    assert find(store, RECORD.key) == RECORD


def test_runs_that_differ_have_different_keys():
    run = Run("t", "lr", {"C": 1.0}, 0)
    others = {
        **{"task": "u", "model": "svm", "params": {"C": 2.0}, "seed": 1},
        "curve": True,
    }
    changed = [replace(run, **{name: value}) for name, value in others.items()]
    assert len({each.key(None) for each in (run, *changed)}) == 1 + len(others)
    assert replace(run).key(None) == run.key(None)
