"""A model ranked on a suite: what is run, what is reused, and what the board says."""

from __future__ import annotations

import csv
import importlib
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from transferbench import experiments, settings
from transferbench.cli import invoke
from transferbench.models import external

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
    assert records(settings.Settings(data=made / "data", results=made / "results")) == 6
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
    for cached in (experiments.read, external.load, external.code):
        cached.cache_clear()
    yield tmp_path
    experiments.read.cache_clear()


def board(home, name):
    with (home.results / "boards" / f"{name}.csv").open(encoding="utf-8") as file:
        return {line["method"]: line for line in csv.DictReader(file)}


def records(home):
    return len(list((home.results / "records").rglob("*.json")))


def test_only_runs_of_the_new_model_are_performed(call, home, suite):
    assert board(home, "suite").keys() == {"LR", "NMF"}
    # As in a new checkout, which has the results but no records.
    for record in (home.results / "records").rglob("*.json"):
        record.unlink()
    code, out, err = call("bench", "./guess.py", "--suite", "suite", "--set", "power=2")
    assert code == 0, err
    assert records(home) == 4
    assert "guess, power=2" in out
    assert "transferbench share suite+guess-power-2" in out
    assert "4 runs to do" in err
    assert "from the times of earlier runs (4 as the median of the others)" in err
    standings = board(home, "suite+guess-power-2")
    assert standings.keys() == {"LR", "NMF", "guess, power=2"}
    assert standings["guess, power=2"]["rows"] == "2"
    assert call("tables", "--check")[0] == 0
    text = (home.results / "suite+guess-power-2" / "runs.csv").read_text(encoding="utf-8")
    assert '""power"": 2' in text  # parameters are written into the results
    assert call("bench", "./guess.py", "--suite", "suite", "--set", "power=2")[0] == 0
    assert records(home) == 4


def test_changed_code_or_parameters_are_run_again(call, home, suite):
    for record in (home.results / "records").rglob("*.json"):
        record.unlink()
    path = home.results / "suite" / "runs.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        if line["model"] == "lr":
            line["key"] = "0" * 20
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    assert call("bench", "nmf", "--set", "max_iter=4", "--suite", "suite")[0] == 0
    assert records(home) == 2 + 4  # of LR, and of the new setting


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
    code, _, err = call(
        "bench", name, "--suite", "suite", "--set", "n_estimators=5", "--label", "x"
    )
    assert code == 0, err
    assert records(home) == 6 + 4  # random_state takes two seeds
    own = json.dumps(experiments.load("suite+x", home.results).spec.columns["x"].params)
    assert '"n_estimators": 5' in own


def test_bundles_of_others_are_on_the_board_of_their_suite(call, home, suite):
    assert call("bench", "./guess.py", "--suite", "suite")[0] == 0
    mine, folder = board(home, "suite+guess")["guess"], home.results / "submitted"
    folder.mkdir()
    out = str(folder / "first.zip")
    assert call("share", "suite+guess", "--author", "A. Nother", "--out", out)[0] == 0
    (suite / "imported").unlink()
    (suite / "guess.py").unlink()
    experiments.read.cache_clear()
    (folder / "damaged.zip").write_bytes(b"PK")
    for words in (["tables"], ["report"], ["tables", "--check"]):
        code, _, err = call(*words)
        assert (code, err.count("\n")) == (2, 1), words
        assert "damaged.zip: not a bundle of `share`" in err
    label = "guess (submitted by A. Nother: first.zip)"
    assert board(home, "suite")[label] == mine | {"method": label, "model": "guess.py"}
    assert label in (home.results / "report" / "index.html").read_text(encoding="utf-8")
    (folder / "damaged.zip").unlink()
    assert call("tables", "--check")[0] == 0
    assert not (suite / "imported").exists()


def test_results_with_the_best_seeds_alone_are_not_shown(call, home, suite):
    assert call("bench", "./guess.py", "--suite", "suite")[0] == 0
    path = home.results / "suite+guess" / "runs.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    chosen = [line for line in lines if (line["model"], line["seed"]) != ("./guess.py", "1")]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(chosen)
    (home.results / "submitted").mkdir()
    out = str(home.results / "submitted" / "best.zip")
    assert call("share", "suite+guess", "--out", out)[0] == 0
    assert call("tables", "suite")[0] == 0
    assert board(home, "suite").keys() == {"LR", "NMF"}


def test_a_dry_run_leaves_nothing(call, home, suite):
    before = sorted(home.results.rglob("*"))
    assert call("bench", "./guess.py", "--suite", "suite", "--dry-run")[0] == 0
    assert sorted(home.results.rglob("*")) == before


def test_labels_of_one_folder_do_not_replace_each_other(call, home, suite):
    words = ["bench", "lr", "--set", "C=2", "--suite", "suite", "--label"]
    assert call(*words, "a/b")[0] == 0
    code, _, err = call(*words, "a b")
    assert (code, "give another --label" in err) == (2, True)
    assert "a/b" in board(home, "suite+a-b")


def test_pictures_of_values_with_a_point_have_files_of_their_own(call, home, suite):
    for value in ("0.5", "0.25"):
        assert call("bench", "lr", "--set", f"C={value}", "--suite", "suite")[0] == 0
        assert (home.results / "boards" / f"suite+lr-C-{value}.svg").is_file()


def test_runs_that_are_all_those_of_the_suite_make_a_board(call, home, suite):
    code, out, err = call("bench", "lr", "--suite", "suite", "--label", "again")
    assert (code, "again" in out) == (0, True), err
    assert board(home, "suite+again").keys() == {"LR", "NMF", "again"}


def test_two_files_of_one_name_are_not_shared(call, home, suite):
    columns = ""
    for folder in "pq":
        (suite / folder).mkdir()
        (suite / folder / "m.py").write_text(MODEL.replace("Guess", folder))
        columns += f"  {folder}: {{model: {folder}/m.py, random: true, params: {{power: 1}}}}\n"
    (suite / "two.yaml").write_text(f"extends: suite\ncolumns:\n{columns}")
    assert call("reproduce", "two.yaml")[0] == 0
    code, _, err = call("share", "two")
    assert (code, "another model's file has this name" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["./no.py"], "there is no file './no.py'"),
        (["os:getcwdd"], "expected package.module:Estimator"),
        (["sklearn.linear_model:Ridge"], "Ridge is not a classifier"),
        (["sklearn.cluster:KMeans"], "KMeans is not a classifier"),
        (["sklearn.preprocessing:Normalizer"], "Normalizer is not a classifier"),
        (["lrr"], "Did you mean 'lr'?"),
        (["lr", "--label", "LR"], "'LR' is on the board of suite; give another --label"),
        (["./guess.py", "--set", "pover=1"], "Did you mean 'power'?"),
        (["kmeans"], "models of several families: clustering, transfer"),
    ],
)
def test_mistakes(call, suite, words, message):
    code, out, err = call("bench", *words, "--suite", "suite")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_an_experiment_without_a_board_is_no_suite(call, suite):
    text = SUITE.replace("board: LR\n", "")
    (suite / "experiments" / "plain.yaml").write_text(text)
    code, _, err = call("bench", "lr", "--suite", "plain")
    assert (code, "plain has no board; expected a suite: suite" in err) == (2, True)


def test_a_wheel_has_no_results_but_those_of_the_suites(call, home, suite):
    shipped = suite / "experiments" / "suite"
    os.renames(home.results / "suite", shipped)
    for record in (home.results / "records").rglob("*.json"):
        record.unlink()
    assert call("bench", "./guess.py", "--suite", "suite")[0] == 0
    assert records(home) == 4


def test_a_model_of_which_every_run_fails_is_not_to_be_published(call, suite):
    (suite / "bad.py").write_text("def fit(problem):\n    raise ValueError\n")
    code, out, _ = call("bench", "./bad.py", "--suite", "suite")
    assert (code, "Publish it" in out) == (1, False)


def test_a_bench_that_was_killed_goes_on_with_reuse(call, home, suite):
    """Without --reuse the runs of a file are made anew, and a killed command would start again."""
    fits = suite / "fits"
    # The code of a path is computed once in a process, so this file has a name of its own.
    text = MODEL.replace(
        "    random =", f"    open({str(fits)!r}, 'a').write('fit ')\n    random ="
    )
    (suite / "counted.py").write_text(text)
    words = ["bench", "./counted.py", "--suite", "suite"]
    folders = ["--data", str(home.data), "--results", str(home.results), "--offline"]
    code = (
        "import pathlib, sys\n"
        "from transferbench import settings\n"
        "settings.experiments_dir = lambda: pathlib.Path('experiments')\n"
        "from transferbench.cli import invoke\n"
        f"sys.exit(invoke({[*folders, *words]}))\n"
    )
    before = records(home)
    running = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while records(home) == before:
        assert running.poll() is None
        time.sleep(0.01)
    running.kill()
    running.wait()
    made = {path: path.stat().st_mtime_ns for path in (home.results / "records").rglob("*.json")}
    assert not (home.results / "boards" / "suite+counted.csv").exists()
    assert call(*words, "--reuse")[0] == 0
    assert records(home) == before + 4
    assert made == {path: path.stat().st_mtime_ns for path in made}
    assert len(fits.read_text().split()) <= 5  # one may have been cut
    assert board(home, "suite+counted")["counted"]["rows"] == "2"
