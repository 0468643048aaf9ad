"""Equal code keeps finished runs, changed behaviour does not: proved in a clone of this package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT

from transferbench import ledger
from transferbench.errors import UserError
from transferbench.repeat_fits import repeat
from transferbench.repeats import defaults
from transferbench.restamp import add_parameters, values, variants
from transferbench.runs import store
from transferbench.runs.record import Record

EXPERIMENT = """\
title: Clusters of made-up documents
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
repeats: 1
rows:
  made up: {task: "generated/clusters:documents=60"}
columns:
  Kmeans: {model: kmeans, params: {pool_tasks: false}}
  All Kmeans: {model: kmeans, params: {pool_tasks: true}}
  KKM: {model: kernel-kmeans, params: {pool_tasks: false}}
"""
RECORD = Record(
    "t", "m", {"k": 2}, 0, "done", seconds=1.0, metrics={"a": {"accuracy": 0.5}}, code="c"
)


class Clone:
    """A repository with the package, an experiment and its runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__", "experiment_files")
        shutil.copytree(ROOT / "transferbench", folder / "transferbench", ignore=ignored)
        (folder / "transferbench" / "equal_code.jsonl").write_text("")
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / "experiments").mkdir()
        (folder / "experiments" / "small.yaml").write_text(EXPERIMENT)
        (folder / ".gitignore").write_text("/data/\n__pycache__/\n.*.lock\n")
        self.git("init", "-q")
        done = self.python("transferbench", "--offline", "reproduce", "small")
        assert done.returncode == 0, done.stderr
        self.commit()

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def python(self, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
        environment = kept | {"PYTHONPATH": str(self.folder), "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, "-P", "-m", module, *arguments],
            cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def replace(self, file: str, old: str, new: str) -> None:
        """Replace a text of a file of the package."""
        path = self.folder / "transferbench" / file
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    def restamp(self) -> subprocess.CompletedProcess[str]:
        return self.python("transferbench", "--offline", "verify", "--base", "HEAD~1")

    @property
    def todo(self) -> int:
        """Number of runs that `reproduce` would perform."""
        out = self.python("transferbench", "--offline", "reproduce", "small", "--dry-run").stdout
        (line,) = (line for line in out.splitlines() if line.startswith("small"))
        return int(line.split()[2])

    @property
    def proofs(self) -> list[dict]:
        text = (self.folder / "transferbench" / "equal_code.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def clone(tmp_path) -> Clone:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    return Clone(tmp_path / "clone")


SHARED = "models/clustering/_shared.py"
POOLED = 'sp.vstack(views, format="csr")'


@pytest.mark.slow
def test_a_new_name_keeps_runs_and_a_planted_change_does_not(clone):
    runs = (clone.folder / "results" / "small" / "runs.jsonl").read_bytes()
    assert clone.todo == 0
    for path in (clone.folder / "transferbench" / "models" / "clustering").glob("*.py"):
        path.write_text(path.read_text().replace("document_groups", "groups_to_cluster"))
    assert clone.todo == 3
    ended = clone.restamp()
    assert ended.returncode == 2
    assert "commit the change" in ended.stderr
    clone.commit()
    ended = clone.restamp()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 runs with 7 values of parameters, of 2 models" in ended.stdout
    assert clone.todo == 0
    (proof,) = clone.proofs
    assert {m: each["runs"] for m, each in proof["models"].items()} == {
        "kmeans": 2, "kernel-kmeans": 1,
    }  # fmt: skip
    clone.commit()
    # Only the slower one of two variants takes this branch, or the quicker one: both are repeated.
    clone.replace(SHARED, POOLED, 'sp.vstack(views[::-1], format="csr")')
    clone.commit()
    ended = clone.restamp()
    assert ended.returncode == 1
    assert "kmeans: 2 runs with 4 values of parameters repeated: NOT EQUAL" in ended.stdout
    assert "kernel-kmeans: 1 run with 3 values of parameters repeated: equal" in ended.stdout
    assert clone.todo == 2
    assert [*clone.proofs[1]["models"]] == ["kernel-kmeans"]
    # A change of code that is not that of the lines is no proof, and says so.
    clone.replace(SHARED, 'sp.vstack(views[::-1], format="csr")', "sp.vstack([*views[::-1]])")
    clone.commit()
    ended = clone.restamp()
    assert ended.returncode == 1
    assert "kmeans: 0 runs" in ended.stdout
    assert "no committed run has the code of this commit" in ended.stdout
    clone.replace(SHARED, "sp.vstack([*views[::-1]])", 'sp.vstack(views[::-1], format="csr")')
    # Back again, the runs are current without a proof.
    clone.replace(SHARED, 'sp.vstack(views[::-1], format="csr")', POOLED)
    assert clone.todo == 0
    assert (clone.folder / "results" / "small" / "runs.jsonl").read_bytes() == runs
    worktrees = subprocess.run(
        ["git", "worktree", "list"], cwd=clone.folder, capture_output=True, text=True, check=True
    ).stdout
    assert len(worktrees.splitlines()) == 1


@pytest.mark.slow
def test_a_commit_that_does_not_exist_is_one_line(clone):
    ended = clone.python("transferbench", "verify", "--base", "no-such-commit")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "no-such-commit" in ended.stderr
    ended = clone.python("transferbench", "verify", "--base", "--quiet")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1


def test_the_quickest_run_and_one_with_each_trait_are_chosen():
    quick = replace(RECORD, seconds=0.1)
    alike = replace(RECORD, seconds=0.2, seed=1)
    large_task = replace(RECORD, seconds=0.25, documents={"a": 1000})
    elsewhere = replace(RECORD, seconds=0.26, task="other/t")
    other = replace(RECORD, seconds=0.3, params={"k": 2, "start": "random"})
    middle = replace(RECORD, seconds=0.4, params={"k": 3})
    embedded = replace(RECORD, seconds=0.45, task=f"{RECORD.task}:draw=1,embeddings=true")
    also_embedded = replace(RECORD, seconds=0.46, task=f"{RECORD.task}:embeddings=true")
    large = replace(RECORD, seconds=0.5, params={"k": 4})
    curve = replace(RECORD, seconds=0.6, curve={})
    domains = replace(RECORD, seconds=0.7, metrics={"a": {}, "b": {}})
    slow = replace(RECORD, seconds=99.0, params={"k": 2, "start": "svd"})
    on_gpu = replace(RECORD, seconds=None, params={"k": 2, "start": "plsa"})
    known = [quick, alike, large_task, elsewhere, other, middle, embedded, large, curve, domains]
    chosen, skipped = variants([on_gpu, slow, also_embedded, *reversed(known)], max_seconds=10)
    assert chosen == [run for run in known if run is not alike]
    assert skipped == ['start="plsa"', 'start="svd"']


def test_lines_get_new_parameters_at_their_defaults(tmp_path):
    """Not those of other packages, or of a parameter that is gone."""
    now = defaults("dtl")
    before = {name: value for name, value in now.items() if name != "start_features"}
    old = replace(RECORD, model="dtl", params=before | {"k": 7})
    others = [
        replace(RECORD, model="dtl", params=now),
        replace(RECORD, model="dtl", params=before | {"gone": 1}),
        replace(RECORD, model="sklearn.linear_model:LogisticRegression", params={"C": 1.0}),
        replace(RECORD, model="own.py", params={}),
        replace(RECORD, model="no-such-model", params={}),
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f"{record.line}\n" for record in [old, *others]))
    assert add_parameters(path) == 1
    first, *rest = path.read_text().splitlines()
    assert rest == [record.line for record in others]
    assert Record.from_line(first) == replace(old, params=now | {"k": 7})
    assert add_parameters(path) == 0
    torn = tmp_path / "torn.jsonl"
    for line in ("no run\n", "\n", others[0].line[:-9]):
        path.write_text(f"{old.line}\n")
        torn.write_text(f"{old.line}\n{line}")
        with pytest.raises(UserError, match=r"torn.jsonl:2: not a run"):
            add_parameters(path, torn)
        assert path.read_text() == f"{old.line}\n"  # not written


def test_earlier_code_repeats_a_run_without_a_parameter_that_is_new(monkeypatch):
    """If it has its default: no earlier code can repeat another value."""
    run = {
        "task": "generated/clusters:documents=60", "model": "kmeans", "seed": 0, "curve": False,
        "params": defaults("kmeans"), "defaults": defaults("kmeans") | {"new": 1},
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["repeat_fits.py", "600"])
    known = repeat(run)
    assert repeat(run | {"params": run["params"] | {"new": 1}}) == known
    with pytest.raises(UserError, match="new"):
        repeat(run | {"params": run["params"] | {"new": 2}})


def test_each_value_of_each_parameter_of_committed_runs_is_repeated_or_named():
    by_model: dict[str, list[Record]] = {}
    for file in (ROOT / "results").glob("*/runs.jsonl"):
        for record in store.read(file).values():
            if record.done:
                by_model.setdefault(record.model, []).append(record)
    for model, records in by_model.items():
        chosen, skipped = variants(records, max_seconds=30)
        repeated = set[str]().union(*map(values, chosen))
        assert set[str]().union(*map(values, records)) <= repeated | {*skipped}, model


COMMITS = '"base": "aaaaaaaaaaaa", "commit": "bbbbbbbbbbbb"'


@pytest.fixture
def proofs(tmp_path, monkeypatch):
    """A function that replaces the ledger."""

    def write(*models: str) -> None:
        lines = [f'{{{COMMITS}, "models": {{{text}}}}}\n' for text in models]
        (tmp_path / "equal_code.jsonl").write_text("".join(lines))
        ledger._equal_code.cache_clear()

    monkeypatch.setattr(ledger, "EQUAL_CODE", tmp_path / "equal_code.jsonl")
    yield write
    ledger._equal_code.cache_clear()


def proved(model: str, code: str, equal: str) -> str:
    return f'"{model}": {{"code": "{code}", "equal": "{equal}", "runs": 1}}'


def test_proofs_are_read_by_model_and_code(proofs):
    lines = [
        proved("lr", "a", "b"),
        f"{proved('lr', 'a', 'c')}, {proved('nmf', 'x', 'b')}",
        proved("lr", "first", "a"),
    ]
    proofs(*lines)
    asked = [("lr", "a"), ("lr", "b"), ("lr", "c"), ("lr", "d"), ("nmf", "b"), ("svm", "b")]
    found = [ledger.first_equal(*each) for each in asked]
    assert found == ["first", "first", "first", "d", "x", "b"]
    # Two branches proved the same in both directions, and were merged.
    proofs(*lines, proved("lr", "c", "first"))
    assert len({ledger.first_equal("lr", code) for code in ("first", "a", "b", "c")}) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        "<<<<<<< ours", "{}", "[]", '{"models": {"lr": {"code": "b"}}}', "\\xff",
        f'{{"models": {{{proved("lr", "a", "b")}}}}}',
        f'{{{COMMITS.replace("b", "no")}, "models": {{{proved("lr", "a", "b")}}}}}',
        f'{{{COMMITS}, "models": {{{proved("lr", "a", "b").replace("1", "0")}}}}}',
        f'{{{COMMITS}, "models": {{{proved("lr", "a", "b").replace("runs", "run")}}}}}',
    ],
)  # fmt: skip
def test_a_damaged_proof_is_named_in_one_line(proofs, damaged):
    """Also a proof by hand, without commits or runs."""
    proofs("")
    with ledger.EQUAL_CODE.open("a") as file:
        file.write(f"{damaged}\n")
    with pytest.raises(UserError, match=r"equal_code.jsonl:2: not a proof .*; restore it"):
        ledger.first_equal("lr", "b")
