"""An experiment of the user's own: its results, its name afterwards, and all its mistakes."""

from __future__ import annotations

import json
import shutil

import pytest

import transferbench
from transferbench import experiments
from transferbench.cli import invoke

MINE = """\
title: My clusters
paper: {title: mine, authors: me, venue: none, place: none}
metric: accuracy
repeats: 1
rows:
  made up: {task: "generated/clusters:documents=200"}
columns:
  k-means: {model: kmeans, params: {n_init: 1, pool_tasks: false, max_iter: 100}}
"""


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A folder with the file of an experiment, and the data and results of its runs."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.yaml").write_text(MINE)
    folders = ["--data", str(folder / "data"), "--results", str(folder / "results"), "--offline"]
    assert invoke([*folders, "reproduce", str(folder / "mine.yaml")]) == 0
    return folder


@pytest.fixture
def mine(reproduced, home, tmp_path):
    """The file of an experiment that has been reproduced."""
    shutil.copytree(reproduced / "data", home.data)
    shutil.copytree(reproduced / "results", home.results)
    return shutil.copy(reproduced / "mine.yaml", tmp_path / "mine.yaml")


@pytest.mark.parametrize("given", ["name", "path"])
def test_every_command_knows_it_by_name_and_by_path(call, home, mine, given, monkeypatch):
    name = "mine" if given == "name" else str(mine)
    code, out, err = call("explain", name, "made up", "k-means")
    assert (code, "1 of 1 runs" in out) == (0, True), err
    assert call("tables", name, "--check")[0] == 0
    assert call("verify", name)[0] == 0
    assert call("describe", name)[1].startswith("mine: My clusters\n")
    assert "0 runs to do, 1 finished" in call("reproduce", name, "--dry-run")[1]
    monkeypatch.setenv("TRANSFERBENCH_RESULTS", str(home.results))
    assert set(transferbench.results(name).experiment) == {"mine"}


def test_commands_without_names_include_it(call, home, mine):
    assert call("tables", "--check") == (
        0, "1 experiment: every table is what its runs yield\n", ""
    )  # fmt: skip
    assert call("verify")[0] == 0
    assert call("report")[0] == 0
    assert "My clusters" in (home.results / "report" / "index.html").read_text(encoding="utf-8")
    lines = [line.split() for line in call("list", "experiments")[1].splitlines()]
    assert [line[0] for line in lines if line[-1:] == ["yours"]] == ["mine"]
    listed = json.loads(call("list", "experiments", "--json")[1])["experiments"]
    assert {each["name"] for each in listed if each["place"] == "yours"} == {"mine"}


def test_by_name_the_file_as_it_was_reproduced_is_meant(call, mine):
    mine.write_text(MINE.replace("My clusters", "Other clusters"))
    assert "My clusters" in call("describe", "mine")[1]
    assert "Other clusters" in call("describe", str(mine))[1]
    mine.unlink()
    assert call("reproduce", "mine")[0] == 0


def test_a_folder_with_a_name_of_ours_is_not_an_own_experiment(home, mine):
    folder = home.results / "gtl-table3"
    folder.mkdir()
    (folder / experiments.COPY).write_text(MINE)
    assert experiments.own_names(home.results) == ["mine"]
    assert experiments.load("gtl-table3", home.results).spec.title != "My clusters"


@pytest.mark.parametrize("name", ["gtl", "GTL", "mrtl-Table2"])
def test_a_name_that_stands_for_ours_is_refused(call, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(MINE)
    code, out, err = call("reproduce", str(path))
    assert (code, out) == (2, "")
    assert f"the name {name!r} is taken; give the file another." in err


def test_two_files_of_one_name_are_refused(call, mine, tmp_path):
    other = tmp_path / "other" / "mine.yaml"
    other.parent.mkdir()
    other.write_text(MINE)
    code, out, err = call("reproduce", str(mine), str(other))
    assert (code, out) == (2, "")
    assert "would write to the same folder; rename one" in err


def test_a_broken_experiment_does_not_stop_the_others(call, home, mine):
    broken = home.results / "broken"
    broken.mkdir()
    (broken / experiments.COPY).write_text("title: [")
    (broken / "runs.jsonl").touch()
    table = home.results / "mine" / "table.md"
    table.unlink()
    for command in ("tables", "report"):
        code, _, err = call(command)
        assert (code, err.count("\n")) == (2, 1)
        assert f"{broken / experiments.COPY}:1: " in err
    assert table.is_file()
    assert "My clusters" in (home.results / "report" / "index.html").read_text(encoding="utf-8")
    code, out, _ = call("list", "experiments", "--json")
    titles = {each["name"]: each["title"] for each in json.loads(out)["experiments"]}
    assert (code, titles["mine"]) == (0, "My clusters")
    assert "experiment.yaml:1: " in titles["broken"]


def test_all_mistakes_of_a_kind_are_told_at_once(call, tmp_path):
    path = tmp_path / "mine.yaml"
    text = MINE.replace("n_init: 1,", "n_init: 0,")
    path.write_text(text.replace("generated/clusters", "generated/clutsers"))
    code, out, err = call("reproduce", str(path))
    count, task, number = err.splitlines()
    assert (code, out, count) == (2, "", "Error: 2 mistakes:")
    assert task.startswith(f"{path}:6: ")
    assert "Did you mean 'generated/clusters'?" in task
    assert number.startswith(f"{path}:8: ")
    assert "n_init: expected integer ≥ 1" in number
