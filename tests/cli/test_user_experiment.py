"""An experiment of the user's own: its results, its name afterwards, and all its mistakes."""

from __future__ import annotations

import json
import time

import pytest
from small_experiment import PLAIN

import transferbench
from transferbench import experiments


@pytest.mark.parametrize("given", ["name", "path"])
def test_every_command_knows_it_by_name_and_by_path(call, home, plain, given, monkeypatch):
    name = "plain" if given == "name" else str(plain)
    code, out, err = call("explain", name, "made up", "k-means")
    assert (code, "2 of 2 runs" in out) == (0, True), err
    assert call("tables", name, "--check")[0] == 0
    assert "try more --seconds" in call("verify", name, "--seconds", "1e-9")[2]
    assert call("describe", name)[1].startswith("plain: Plain clusters\n")
    assert "0 runs to do, 4 reused" in call("reproduce", name, "--dry-run")[1]
    monkeypatch.setenv("TRANSFERBENCH_RESULTS", str(home.results))
    assert set(transferbench.results(name).experiment) == {"plain"}


def test_commands_without_names_include_it(call, home, plain):
    assert call("tables", "--check") == (
        0, "1 experiment: every table is what its runs yield\n", ""
    )  # fmt: skip
    assert "try more --seconds" in call("verify", "--seconds", "1e-9")[2]
    assert call("report")[0] == 0
    assert "Plain clusters" in (home.results / "report" / "index.html").read_text(encoding="utf-8")
    lines = [line.split() for line in call("list", "experiments")[1].splitlines()]
    assert [line[0] for line in lines if line[-1:] == ["yours"]] == ["plain"]
    listed = json.loads(call("list", "experiments", "--json")[1])["experiments"]
    assert {each["name"] for each in listed if each["place"] == "yours"} == {"plain"}


def test_by_name_the_file_as_it_was_reproduced_is_meant(call, plain):
    plain.write_text(PLAIN.replace("Plain clusters", "Other clusters"))
    assert "Plain clusters" in call("describe", "plain")[1]
    assert "Other clusters" in call("describe", str(plain))[1]
    plain.unlink()
    assert call("reproduce", "plain")[0] == 0


def test_a_folder_with_a_name_of_ours_is_not_an_own_experiment(home, plain):
    folder = home.results / "gtl-table3"
    folder.mkdir()
    (folder / experiments.COPY).write_text(PLAIN)
    assert experiments.user_names(home.results) == ["plain"]
    assert experiments.load("gtl-table3", home.results).spec.title != "Plain clusters"


def test_two_files_of_one_name_are_refused(call, plain, tmp_path):
    other = tmp_path / "other" / "plain.yaml"
    other.parent.mkdir()
    other.write_text(PLAIN)
    code, out, err = call("reproduce", str(plain), str(other))
    assert (code, out) == (2, "")
    assert "would write to the same folder; rename one" in err


def test_a_broken_experiment_does_not_stop_the_others(call, home, plain):
    broken = home.results / "broken"
    broken.mkdir()
    (broken / experiments.COPY).write_text("title: [")
    (broken / "runs.jsonl").touch()
    table = home.results / "plain" / "table.md"
    table.unlink()
    for command in ("tables", "report"):
        code, _, err = call(command)
        assert (code, err.count("\n")) == (2, 1)
        assert f"{broken / experiments.COPY}:1: " in err
    assert table.is_file()
    assert "Plain clusters" in (home.results / "report" / "index.html").read_text(encoding="utf-8")
    code, out, _ = call("list", "experiments", "--json")
    titles = {each["name"]: each["title"] for each in json.loads(out)["experiments"]}
    assert (code, titles["plain"]) == (0, "Plain clusters")
    assert "experiment.yaml:1: " in titles["broken"]


def test_a_thousand_experiments_are_listed_without_opening_them(home, monkeypatch):
    for number in range(1000):
        folder = home.results / f"own-{number}"
        folder.mkdir(parents=True)
        (folder / experiments.COPY).write_text(PLAIN)
    (home.results / "own-7" / experiments.COPY).write_text(f"{PLAIN}\nrows: [")
    (home.results / "own-8" / experiments.COPY).write_bytes(b"title: \xff")
    (home.results / "own-9" / experiments.COPY).write_text("[title, none]")
    monkeypatch.setattr(experiments, "read", None)
    start = time.process_time()
    titles = experiments.titles(home.results)
    assert time.process_time() - start < 3
    assert (len(titles), titles["own-5"]) == (1000 + len(experiments.names()), "Plain clusters")
    assert "own-7/experiment.yaml:" in titles["own-7"]
    assert "own-8/experiment.yaml: cannot be read" in titles["own-8"]
    assert "own-9/experiment.yaml:1: missing key title" in titles["own-9"]


def test_a_name_of_a_user_is_that_of_one_folder(home, plain):
    assert experiments.is_user_name("plain", home.results)
    for name in ("", ".", "..", "../results/plain", "plain/", "absent", "x" * 999, "a\0b"):
        assert not experiments.is_user_name(name, home.results)


def test_all_mistakes_of_a_kind_are_told_at_once(call, tmp_path):
    path = tmp_path / "plain.yaml"
    text = PLAIN.replace("n_init: 1,", "n_init: 0,")
    path.write_text(text.replace("generated/clusters", "generated/clutsers"))
    code, out, err = call("reproduce", str(path))
    count, task, number = err.splitlines()
    assert (code, out, count) == (2, "", "Error: 2 mistakes:")
    assert task.startswith(f"{path}:7: ")
    assert "Did you mean 'generated/clusters'?" in task
    assert number.startswith(f"{path}:9: ")
    assert "n_init: expected integer ≥ 1" in number
