"""A model ranked on a suite: what is run, what is reused, and what the board says."""

from __future__ import annotations

import csv
import importlib
import shutil

import pytest
from conftest import ROOT

from transferbench import experiments, models, settings
from transferbench.cli import _runs, bench, invoke
from transferbench.runs import store

SUITE = """\
title: A small suite
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 2
board: LR
rows:
  one: {task: "generated/transfer:documents=60", group: A}
  two: {task: "generated/transfer:documents=80", group: B}
columns:
  LR: {model: lr}
  NMF: {model: nmf, params: {max_iter: 3}}
claims:
  - {says: LR is ahead, place: p, better: {columns: [LR], over: [NMF], rows: average}}
"""
MODEL = '''\
"""Guess."""
from pathlib import Path

import numpy as np

from transferbench.problem import Fit

Path(__file__).with_name("imported").touch()


def fit(problem, *, power: int = 1, seed: int = 0) -> Fit:
    """Return random scores."""
    random = np.random.default_rng(seed)
    return Fit(tuple(random.random((len(d.seen), len(problem.classes))) for d in problem.domains))
'''


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A folder with one suite in experiments/, and the data and results of its runs."""
    made = tmp_path_factory.mktemp("suite")
    (made / "experiments").mkdir()
    (made / "experiments" / "suite.yaml").write_text(SUITE)
    importlib.import_module("transferbench.cli.list")  # reads the names of papers once
    folders = ["--data", str(made / "data"), "--results", str(made / "results"), "--offline"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "experiments_dir", lambda: made / "experiments")
        experiments.read.cache_clear()
        assert invoke([*folders, "reproduce", "suite"]) == 0
    return made


@pytest.fixture
def suite(reproduced, call, home, tmp_path, monkeypatch):
    """A folder of experiments with one suite that has been reproduced, and a model's file."""
    folder = tmp_path / "experiments"
    for part, copy in (("experiments", folder), ("data", home.data), ("results", home.results)):
        shutil.copytree(reproduced / part, copy)
    (tmp_path / "guess.py").write_text(MODEL)
    monkeypatch.setattr(settings, "experiments_dir", lambda: folder)
    monkeypatch.chdir(tmp_path)
    for cached in (experiments.read, models.load, models.code):
        cached.cache_clear()
    yield tmp_path
    experiments.read.cache_clear()


def board(home, name):
    with (home.results / "boards" / f"{name}.csv").open(encoding="utf-8") as file:
        return {line["method"]: line for line in csv.DictReader(file)}


def test_only_runs_of_the_new_model_are_performed(call, home, suite):
    assert board(home, "suite").keys() == {"LR", "NMF"}
    code, out, err = call("bench", "./guess.py", "--suite", "suite", "--set", "power=2")
    assert code == 0, err
    assert "guess, power=2" in out
    assert "transferbench share suite+guess-power-2" in out
    assert (
        "W / T / L (won / tied / lost) counts the tasks on which a method is ahead of LR, " in out
    )
    assert "†: seconds that may be of another machine" in out
    ranking, _, lost = out.partition("Where guess, power=2 is farthest behind:\n")
    head, *lines = lost.partition("\n\n")[0].splitlines()
    assert head.split() == ["task", "guess,", "power=2", "best", "of", "behind", "by"]
    assert sorted(line.split()[0] for line in lines) == ["one", "two"]
    behind = [float(line.split()[-1]) for line in lines]
    assert behind == sorted(behind, reverse=True)
    assert behind[0] == pytest.approx(float(lines[0].split()[2]) - float(lines[0].split()[1]))
    assert ranking
    assert "4 runs to do" in err
    standings = board(home, "suite+guess-power-2")
    assert standings.keys() == {"LR", "NMF", "guess, power=2"}
    assert standings["guess, power=2"]["rows"] == "2"
    assert call("tables", "--check")[0] == 0
    records = store.read(home.results / "suite+guess-power-2" / store.NAME).values()
    mine = [record for record in records if record.run.model == "./guess.py"]
    assert [record.run.params for record in mine] == [{"power": 2}] * 4


def test_methods_of_the_board_are_compared_without_a_run(call, home, suite):
    before = sorted(home.results.rglob("*"))
    shutil.rmtree(home.data)
    code, out, err = call("bench", "LR", "NMF", "--suite", "suite")
    assert (code, err) == (0, "")
    _, _, table = out.partition("By how much LR is ahead, in points:\n")
    head, one, two, mean, _, counts, *_ = table.splitlines()
    assert head.split("  ")[-1].strip() == "LR − NMF"
    ahead = [float(line.split()[2].replace("−", "-")) for line in (one, two)]
    assert float(mean.split()[-1].replace("−", "-")) == pytest.approx(sum(ahead) / 2, abs=0.1)
    wins = sum(points > 0.5 for points in ahead)
    assert counts.split("L  ")[-1].split()[0] == f"{wins}"
    assert sorted(home.results.rglob("*")) == before
    code, out, _ = call("bench", "LR", "--suite", "suite", "--dry-run")
    assert (code, out) == (0, "every METHOD is on the board of suite; nothing to run\n")


def test_a_new_method_is_compared_with_one_of_the_board(call, home, suite):
    code, out, err = call("bench", "./guess.py", "LR", "--suite", "suite")
    assert (code, "4 runs to do" in err) == (0, True), err
    assert "guess − LR" in out
    code, out, err = call("bench", "NMF", "guess", "--suite", "suite+guess")
    assert (code, err, "NMF − guess" in out) == (0, "", True)


def test_times_are_measured_once_on_each_task_in_a_folder_of_their_own(call, home, suite):
    runs = home.results / "suite" / store.NAME
    before = runs.read_bytes()
    words = ["bench", "./guess.py", "--suite", "suite", "--times"]
    code, out, err = call(*words, "--dry-run")
    assert (code, "4 runs to do, 6 reused" in out, "6 runs to do, 0 reused" in out) == (
        0,
        True,
        True,
    )
    code, out, err = call(*words)
    assert code == 0, err
    (times,) = (home.results / "times").iterdir()
    measured = store.read(times / "suite+guess" / store.NAME).values()
    assert sorted((r.model, r.seed, r.status) for r in measured) == sorted(
        [("./guess.py", 0, "done"), ("lr", None, "done"), ("nmf", 0, "done")] * 2
    )
    assert runs.read_bytes() == before
    lines = out.partition(f"Measured on this machine ({times.name}):\n")[2].splitlines()
    assert {line.split()[0] for line in lines} == {"method", "LR", "NMF", "guess"}
    seconds = [float(line.split()[-2]) for line in lines[1:]]
    assert seconds == sorted(seconds)
    # Later commands measure again, unless they are asked to go on.
    words = ["bench", "LR", "NMF", "--suite", "suite", "--times", "--dry-run"]
    assert "4 runs to do, 0 reused" in call(*words)[1]
    assert "0 runs to do, 4 reused" in call(*words, "--rerun", "missing")[1]
    assert call("--results", times, "tables", "--check")[0] == 0
    times.rename(times.with_name("another-machine-2-cores"))
    assert "4 runs to do, 0 reused" in call(*words, "--rerun", "missing")[1]


def test_of_more_methods_than_rivals_only_these_are_measured(call, suite, monkeypatch):
    monkeypatch.setattr(bench, "RIVALS", ("lr",))
    words = ["bench", "./guess.py", "--suite", "suite", "--times", "--dry-run"]
    assert "4 runs to do, 0 reused" in call(*words)[1]


def test_the_rivals_have_the_front_of_the_boards_for_texts():
    for name in ("transfer-small", "transfer-text"):
        with (ROOT / "results" / "boards" / f"{name}.csv").open(encoding="utf-8") as file:
            lines = [*csv.DictReader(file)]
        assert {*bench.RIVALS} <= {line["model"] for line in lines}
        front = {line["model"] for line in lines if line["front"] == "True"}
        assert front <= {*bench.RIVALS[:6]}


def test_committed_runs_are_reused_from_another_folder(call, home, suite, monkeypatch):
    home.results.rename(suite / "clone")
    monkeypatch.setattr(settings.Settings, "committed", suite / "clone")
    shutil.rmtree(home.data)
    code, out, err = call("bench", "./guess.py", "--suite", "suite", "--dry-run")
    assert (code, "4 runs to do, 6 reused" in out) == (0, True), err
    code, out, err = call("bench", "./guess.py", "--suite", "suite")
    assert (code, "10 of 10 runs finished (6 kept from earlier)" in out) == (0, True), err


def test_results_are_read_without_running_the_model(call, home, suite):
    assert call("bench", "./guess.py", "--suite", "suite", "-j", "1")[0] == 0
    (suite / "imported").unlink()
    experiments.read.cache_clear()
    for words in (["tables"], ["tables", "--check"], ["list", "experiments"], ["report"]):
        assert call(*words)[0] == 0, words
    assert not (suite / "imported").exists()
    (suite / "guess.py").unlink()
    assert call("tables")[0] == 0


def test_an_estimator_of_another_package(call, home, suite):
    name = "sklearn.ensemble:ExtraTreesClassifier"
    words = ["bench", name, "--suite", "suite", "--set", "n_estimators=5", "--label", "x"]
    code, _, err = call(*words)
    assert (code, "4 runs to do" in err) == (0, True), err  # random_state takes two seeds
    assert experiments.load("suite+x", home.results).spec.columns["x"].params["n_estimators"] == 5


def test_labels_of_one_folder_do_not_replace_each_other(call, home, suite):
    words = ["bench", "lr", "--set", "C=2", "--suite", "suite", "--label"]
    assert call(*words, "a/b")[0] == 0
    code, _, err = call(*words, "a b")
    assert (code, "give another --label" in err) == (2, True)
    assert "a/b" in board(home, "suite+a-b")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./no.py"], "there is no file './no.py'"),
        (["os:getcwdd"], "expected package.module:Estimator"),
        (["sklearn.linear_model:Ridge"], "Ridge is not a classifier"),
        (["lrr"], "Did you mean 'lr'?"),
        (["lr", "--label", "LR"], "'LR' is on the board of suite; give another --label"),
        (["lr", "--label", "x" * 248], "File name too long"),  # of its board alone
        (["./guess.py", "--set", "pover=1"], "Did you mean 'power'?"),
        (["kmeans"], "models of several families: clustering, transfer"),
        (["lr", "LR", "--label", "x"], "--label and --set are for one METHOD; got 2."),
        (["LR", "LR"], "two METHODs have one label"),
        (["LR", "--times", "--cluster", "tcp://a:1"], "--times measures on this machine"),
    ],
)
def test_mistakes(call, suite, words, message):
    code, out, err = call("bench", *words, "--suite", "suite")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_model_of_which_every_run_fails_is_not_to_be_published(call, suite, monkeypatch):
    monkeypatch.setattr(_runs, "MAX_ALIKE", 1)
    (suite / "bad.py").write_text("def fit(problem):\n    raise ValueError\n")
    code, out, err = call("bench", "./bad.py", "--suite", "suite")
    assert (code, "Publish it" in out) == (1, False)
    failed = [line for line in err.splitlines() if line.startswith("failed: ./bad.py")]
    more = [line for line in err.splitlines() if line.startswith("more runs of ./bad.py fail")]
    assert (len(failed), len(more)) == (1, 1)
