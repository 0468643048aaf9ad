"""Several experiments are one batch of runs."""

from __future__ import annotations

import json
import re
import shlex
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from small_experiment import PLAIN

from transferbench import datasets, experiments
from transferbench.cli.reproduce import _lock
from transferbench.errors import UserError
from transferbench.evidence import pages
from transferbench.experiments.batch import PendingExperiment, Shard, hours_on
from transferbench.runs import store
from transferbench.runs.record import Record
from transferbench.settings import Settings

SMALL = "generated/clusters:documents=200"
KERNELS = "kernels: {model: kernel-kmeans, params: {sigma: 1.0,"


@pytest.fixture
def write(tmp_path):
    def one(name: str, task: str = SMALL, starts: int = 1) -> str:
        path = tmp_path / f"{name}.yaml"
        again = f"again: {{model: kmeans, params: {{n_init: {starts},"
        path.write_text(PLAIN.replace(SMALL, task).replace(KERNELS, again))
        return str(path)

    return one


def lines(folder: Path, name: str) -> list[dict]:
    path = folder / name / "runs.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def falsify(folder: Path, name: str, **values) -> None:
    """Change fields of all runs of an experiment."""
    changed = [line | values for line in lines(folder, name)]
    text = "".join(f"{json.dumps(line)}\n" for line in changed)
    (folder / name / "runs.jsonl").write_text(text)


def test_a_run_that_several_experiments_share_is_made_once(call, home, write):
    code, out, err = call("reproduce", write("one"), write("two", starts=2), write("three"))
    assert code == 0, err
    assert "3 experiments: 4 runs to do, 0 reused" in err
    for name, runs in (("one", 2), ("two", 4), ("three", 2)):
        assert f"{name}: {runs} of {runs} runs finished" in out
        assert (home.results / name / "table.md").is_file()
    one, two, three = (
        {f"{line['finished']} {line['params']}" for line in lines(home.results, name)}
        for name in ("one", "two", "three")
    )
    assert one == three < two
    code, _, err = call("reproduce", write("one"), write("two", starts=2))
    assert code == 0
    assert "0 runs to do, 4 reused" in err


def test_decisions_are_kept_where_claims_may_need_them(call, home, write):
    claim = "claims: [{says: s, place: p, better: {columns: [again], over: [k-means]}}]"
    path = Path(write("one"))
    for text in ("", f"{claim}\n"):
        path.write_text(path.read_text() + text)
        assert call("reproduce", str(path), "--rerun", "all")[0] == 0
        for record in store.read(home.results / "one" / store.NAME).values():
            means = {domain: right.mean() for (_, _, domain), right in record.correct().items()}
            assert means == {d: m["accuracy"] for d, m in record.metrics.items() if text}


def test_options_of_a_column_are_those_of_its_runs(call, home, write, tmp_path):
    path = Path(write("one", starts=2))
    text = path.read_text()
    path.write_text(text.replace("n_init: 2,", "n_init: 1,").replace(
        "  again: {", "  again: {options: {classes: 3}, control: true, ")
    )  # fmt: skip
    code, out, err = call("reproduce", str(path))
    assert code == 0, err
    assert "one: 4 of 4 runs finished" in out
    tasks = {line["task"] for line in lines(home.results, "one")}
    assert tasks == {SMALL, SMALL.replace(":", ":classes=3,")}
    assert call("tables", str(path), "--check")[0] == 0
    code, out, err = call("verify", str(path))
    assert code == 0, err
    code, out, err = call("explain", str(path), "made up", "again")
    assert "transferbench run generated/clusters:classes=3,documents=200 --model kmeans" in out, err
    assert "unchanged" in out


def test_experiments_are_written_when_their_last_run_ends(call, home, write, monkeypatch):
    seen = []
    whole = PendingExperiment.write

    def written(self, records, write_pages):
        seen.append((self.name, sum(map(len, records.files.values()))))
        return whole(self, records, write_pages)

    monkeypatch.setattr(PendingExperiment, "write", written)
    code, _, err = call("reproduce", write("one"), write("two", starts=3))
    assert code == 0, err
    assert seen == [("one", 2), ("two", 4)]


def test_unavailable_data_do_not_stop_other_experiments(call, home, write):
    lost = write("lost", task="mtc/webkb4")  # whose originals are not here
    code, out, err = call("reproduce", lost, write("one"))
    assert code == 0, err
    assert "lost: 0 of 2 runs finished, 2 unavailable" in out
    assert "one: 2 of 2 runs finished" in out

    # Runs made elsewhere stay.
    falsify(home.results, "lost", status="done", reason="")
    made = lines(home.results, "lost")
    code, out, err = call("reproduce", lost, write("one"))
    assert code == 0
    assert (
        "lost: 0 of 2 runs finished, 2 without data (earlier results are shown)\n"
        in out.replace(" (1 of 2)", "")
    )
    assert "earlier results are kept" in err
    assert "lost: 2 runs could not be compared with their data, as originals of mtc/webkb4 " in err
    assert [line | {"reason": ""} for line in lines(home.results, "lost")] == made


def test_earlier_results_are_no_success_of_a_command_whose_data_are_missing(call, home, write):
    lost = write("lost", task="mtc/webkb4")
    call("reproduce", lost)
    falsify(home.results, "lost", status="done", reason="")
    code, out, err = call("reproduce", lost, "--rerun", "all")
    assert code == 1
    assert "lost: 0 of 2 runs finished, 2 without data (earlier results are shown)\n" in out
    last = err.splitlines()[-1]
    assert last.startswith("lost: 2 runs could not be performed, as originals of mtc/webkb4 could")
    assert last.endswith("The numbers shown for them are of earlier results.")


def test_missing_originals_are_named_before_anything_runs(call, home, write):
    lost = write("lost", task="mtc/webkb4")
    named = "webkb: webkb-4univ-4class-raw.tar.gz (1.3 MB) is not here and cannot be downloaded"
    code, out, err = call("reproduce", lost, write("one"), "--dry-run")
    assert code == 0, err
    assert "2 experiments: 2 runs to do, 0 reused, 2 without data" in out
    (line,) = (line for line in out.splitlines() if line.startswith(named))
    assert line.endswith("offline; needed for 2 runs")
    assert "TRANSFERBENCH_MIRROR" in out
    assert f"warning: {named}" in call("reproduce", lost)[2]
    file = home.data / "raw" / "webkb" / "webkb-4univ-4class-raw.tar.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"any")  # a copy is checked when it is read
    for words in ((lost, "--dry-run"), (write("one"), "--dry-run")):
        assert "not here" not in "".join(call("reproduce", *words)[1:])


def chosen_lines(home: Settings, name: str) -> set[str]:
    """Return what tells the two columns of the small experiments apart, of each run on disk."""
    return {f"{line['model']} {line['params']['n_init']}" for line in lines(home.results, name)}


@pytest.fixture
def printed(write):
    """An experiment with a printed number in each of two columns."""
    path = Path(write("both", starts=3))
    numbers = "published: {made up: {again: 50.0, k-means: 50.0}}\n"
    path.write_text(f"{path.read_text()}{numbers}tolerance: {{value: 1.0, reason: none}}\n")
    return str(path)


def test_a_number_is_made_on_demand_and_the_whole_reuses_it(call, home, printed):
    for names in (("--column", "again"), ("--row", "clusters", "--column", "AGAIN")):
        out = call("reproduce", printed, *names, "--dry-run")[1]
        assert "1 experiment: 2 runs to do, 0 reused" in out
    code, out, err = call("reproduce", printed, *names)
    assert code == 0, err
    assert chosen_lines(home, "both") == {"kmeans 3"}
    assert not (home.results / "both" / "table.md").exists()
    assert "both: 2 of 2 runs finished\n" in out
    assert "no page is written, as 2 of 4 runs have no present result" in out
    assert "both: again, made up\n" in out
    assert re.search(r"verdict  . .*difference [+-]\d+\.\d\d, tolerance 1;", out)
    assert "`transferbench explain both 'made up' again` shows" in out
    again = re.search(r"`transferbench (.*)` makes it again", out)[1]
    assert again == "reproduce both --row 'made up' --column again --rerun all"
    assert "2 of 2 runs" in call("explain", "both", "made up", "again")[1]

    assert "2 runs to do, 2 reused" in call("reproduce", printed)[2]
    page = (home.results / "both" / "table.md").read_text()
    before = lines(home.results, "both")
    code, out, err = call(*shlex.split(again))
    assert (code, "2 runs to do, 0 reused" in err) == (0, True)
    assert "both: 4 of 4 runs finished (2 kept from earlier)" in out  # a whole table again
    assert (home.results / "both" / "table.md").read_text() == page
    made_again = [old["params"] for old in before if old not in lines(home.results, "both")]
    assert {params["n_init"] for params in made_again} <= {3}
    assert call("tables", "both", "--check")[0] == 0


def test_chosen_numbers_have_other_options_too(call, home, printed):
    two = ("reproduce", printed, "--column", "again")
    assert call("reproduce", printed)[0] == 0
    code, out, err = call(*two, "--repeats", "1")  # its run is known, and becomes one of the file
    assert code == 0, err
    assert "0 runs to do, 1 reused" in err
    again = "reproduce both --repeats 1 --row 'made up' --column again --rerun all"
    assert f"`transferbench {again}` makes it again" in out
    assert "1 of 1 runs" in call("explain", "both", "made up", "again", "--repeats", "1")[1]

    folder = str(home.results.parent / "shards")
    ended = [call("--results", folder, *two, "--shard", f"{number}/2") for number in (1, 2)]
    assert [code for code, *_ in ended] == [0, 0]
    assert "of other shards are not" in ended[0][1] or "2 of 2 runs finished" in ended[0][1]
    assert "both: 2 of 2 runs finished" in ended[1][1]
    assert len(lines(Path(folder), "both")) == 2

    code, out, _ = call("--results", folder, *two, "--rerun", "all", "--time-limit", "1e-9")
    assert code == 1
    assert "2 timeout" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["both", "--row", "made op"], "unknown row 'made op'. Did you mean 'made up'?"),
        (["both", "--column", "agian"], "unknown column 'agian'. Did you mean 'again'?"),
        (["both", "one", "--row", "made up"], "are for one experiment; name one alone."),
        (["--all", "--row", "made up"], "are for one experiment; name one alone."),
        (["mtc", "--column", "LSKMTC"], "are for one experiment; name one alone."),
    ],
)
def test_a_number_that_is_none_is_one_line(call, home, write, printed, arguments, message):
    known = {"both": printed, "one": write("one")}
    code, out, err = call("reproduce", *(known.get(word, word) for word in arguments))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not home.results.exists()


def test_failed_runs_keep_earlier_results(call, home, write):
    both = write("both", starts=2)
    assert call("reproduce", both)[0] == 0
    made = (home.results / "both" / "table.csv").read_text()
    code, out, err = call("reproduce", both, "--rerun", "all", "--time-limit", "1e-9")
    assert code == 1
    assert "both: 0 of 4 runs finished, 4 timeout" in out
    assert err.count(": exceeded its limit of 1e-09 s; allow more by --time-limit, or ") == 4
    assert (home.results / "both" / "table.csv").read_text() == made
    assert {line["status"] for line in lines(home.results, "both")} == {"done"}


@pytest.mark.parametrize(("error", "code"), [(UserError("odd"), 2), (ValueError("odd"), 1)])
def test_results_that_cannot_be_written_do_not_stop_others(
    call, home, write, monkeypatch, error, code
):
    whole = pages.Evidence.write

    def broken(evidence, folder):
        if evidence.experiment.name == "one":
            raise error
        return whole(evidence, folder)

    monkeypatch.setattr(pages.Evidence, "write", broken)
    ended, out, err = call("reproduce", write("one"), write("two"))
    assert (ended, "two: 2 of 2 runs finished" in out) == (1, True)
    (line,) = (line for line in err.splitlines() if line.startswith("one: results not written: "))
    assert "odd" in line
    assert (home.results / "two" / "table.md").is_file()
    assert call("reproduce", write("one"))[0] == code


def test_fewer_repeats_are_written_elsewhere(call, home, write):
    assert call("reproduce", write("one"))[0] == 0
    before = (home.results / "one" / "runs.jsonl").read_bytes()
    code, out, err = call("reproduce", write("one"), "--repeats", "1")
    assert code == 0, err
    assert (home.results / "one" / "runs.jsonl").read_bytes() == before
    assert len({line["seed"] for line in lines(home.results / "repeats-1", "one")}) == 1
    assert "repeats-1" in out
    assert call("reproduce", write("one"), "--repeats", "2")[0] == 0
    assert not (home.results / "repeats-2").exists()
    code, _, err = call("reproduce", write("one"), "--repeats", "100000000")
    assert (code, "expected integer ≥ 1 ≤ 1000" in err) == (2, True)


def test_results_of_other_repeats_are_found_chosen_and_checked(call, home, write):
    path = write("one", starts=2)
    printed = "published: {made up: {again: 50.0}}\ntolerance: {value: 1.0, reason: none}\n"
    Path(path).write_text(Path(path).read_text() + printed)
    code, out, err = call("reproduce", path, "--repeats", "1")
    assert code == 0, err
    assert "repeats-1/one: 2 of 2 runs finished" in out
    hint = re.search(r"`transferbench (explain .*)` shows", out)[1]
    assert "--repeats 1" in hint
    for words in ("tables one", "tables one --check", "status one", hint):  # no other has runs
        code, out, err = call(*shlex.split(words))
        assert code == 0, err
        assert ("only" in err and "repeats-1" in err) == ("--repeats" not in words)
    assert "1 of 1 runs" in call(*shlex.split(hint))[1]

    assert call("reproduce", path, "--repeats", "3")[0] == 0
    code, _, err = call("tables", "one")
    assert (code, "repeats-1, repeats-3" in err, "--repeats N" in err) == (2, True, True)
    assert call("reproduce", path)[0] == 0
    assert "repeats-" not in "".join(call("tables", "one")[1:])
    for number in ("1", "3"):
        out = call("tables", "one", "--repeats", number)[1]
        assert f"repeats-{number}/one/table.md" in out
    rows = [line.split()[:3] for line in call("status")[1].splitlines()]
    assert ["repeats-1/one", "2", "0"] in rows
    assert "3 experiments: every table" in call("tables", "--check")[1]
    (home.results / "repeats-3" / "one" / "table.md").write_text("other")
    code, _, err = call("tables", "--check")
    assert (code, "repeats-3/one/table.md: not what its runs yield" in err) == (1, True)
    code, _, err = call("explain", "one", "made up", "again", "--repeats", "7")
    assert (code, "reproduce one --repeats 7` makes them" in err) == (2, True)


def test_another_folder_has_a_forecast_from_the_committed_runs(
    call, home, write, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    one = write("one")
    assert "no times of earlier runs" in call("reproduce", one, "--dry-run")[1]
    assert call("reproduce", one)[0] == 0
    home.results.rename(tmp_path / "clone")
    monkeypatch.setattr(Settings, "committed", tmp_path / "clone")
    for options in ([], ["--repeats", "1"]):
        out = call("reproduce", one, *options, "--dry-run")[1]
        assert "0 reused; about" in out
    for words in (["explain", one, "made up", "again"], ["share", one], ["report"]):
        assert call(*words)[0] == 0, words


def test_a_table_of_some_runs_has_what_is_finished(call, home, write):
    both = write("both", starts=2)
    assert call("reproduce", both)[0] == 0
    path = home.results / "both" / "runs.jsonl"
    kept = [
        line for line in path.read_text().splitlines() if json.loads(line)["params"]["n_init"] == 2
    ]
    path.write_text("".join(f"{line}\n" for line in kept))
    code, out, err = call("tables", both, "--format", "markdown")
    assert code == 0, err
    assert re.findall(r"(?m)^\| made up \| (\d\d|none)", out) == ["none"], out


@pytest.mark.parametrize("rerun", ["outdated", "all"])
def test_experiments_that_share_runs_take_the_new_ones(call, home, write, rerun):
    both = write("one"), write("three")
    assert call("reproduce", *both)[0] == 0
    for name in ("one", "three"):
        falsify(home.results, name, code="older", finished="2020-01-01T00:00:00Z")
    assert call("reproduce", *both, "--rerun", rerun)[0] == 0
    for name in ("one", "three"):
        assert not any(line["code"] == "older" for line in lines(home.results, name))


def test_more_repeats_are_kept(call, home, write):
    assert call("reproduce", write("one"), "--repeats", "3")[0] == 0
    _, _, err = call("reproduce", write("one"), "--repeats", "3")
    assert "0 runs to do, 3 reused" in err


def test_limits_are_each_experiments_own(call, home, write):
    tight = Path(write("tight", starts=2))
    tight.write_text(tight.read_text() + "limits: {seconds: 1.0e-9}\n")
    assert call("reproduce", write("one"), str(tight))[0] == 1
    statuses = {
        name: {line["status"] for line in lines(home.results, name)} for name in ("one", "tight")
    }
    assert statuses == {"one": {"done"}, "tight": {"done", "timeout"}}


@pytest.mark.parametrize(
    ("rerun", "kept"),
    [("missing", (2, 2, 2, 0)), ("outdated", (2, 0, 0, 0)), ("all", (0,))],
)
def test_runs_are_kept_as_asked(call, home, write, rerun, kept):
    one = write("one")
    assert call("reproduce", one)[0] == 0
    changes = ({}, {"code": "older"}, {"data": "older"}, {"status": "failed"})
    for change, number in zip(changes, kept, strict=False):
        falsify(home.results, "one", finished="2020-01-01T00:00:00Z", **change)
        code, out, err = call("reproduce", one, "--rerun", rerun)
        assert code == 0, err
        earlier = f" ({number} kept from earlier)" if number else ""
        assert f"one: 2 of 2 runs finished{earlier}\n" in out
        years = [line["finished"][:4] for line in lines(home.results, "one")]
        assert years.count("2020") == number


def test_shards_are_parts_that_make_a_whole(call, home, write):
    path = write("one", starts=3)
    whole = [planned.run for planned in experiments.load(path).runs()]
    parts = [[run for run in whole if Shard(number, 2).has(run)] for number in (1, 2)]
    assert sorted(map(str, parts[0] + parts[1])) == sorted(map(str, whole))
    assert all(parts)
    code, out, err = call("reproduce", path, "--shard", "1/2")
    assert code == 0, err
    assert out == f"one: shard 1/2 is done; {len(parts[1])} runs of other shards are not\n"
    assert not (home.results / "one" / "table.md").exists()
    code, out, err = call("reproduce", path, "--shard", "2/2")
    assert code == 0, err
    assert out.splitlines()[-1] == f"one: {len(whole)} of {len(whole)} runs finished " + (
        f"({len(parts[0])} kept from earlier)"
    )
    assert (home.results / "one" / "table.md").exists()
    assert call("reproduce", path, "--shard", "2/2")[2].startswith("1 experiment: 0 runs to do")


@pytest.mark.parametrize("text", ["3/2", "0/2", "1", "a/b", "1/0", "-1/2", "1/99999"])
def test_a_shard_that_is_none_is_one_line(call, write, text):
    code, _, err = call("reproduce", write("one"), "--shard", text)
    assert code == 2
    assert "expected I/N with I from 1 to N, such as 3/16" in err


def test_shards_run_side_by_side_and_a_whole_waits_for_them(home, capfd):
    folder, entered = home.results / "one", []

    def enter(shard: Shard | None) -> threading.Thread:
        def wait() -> None:
            with _lock(folder, shard):
                entered.append(shard)

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.5)
        return thread

    with _lock(folder, Shard(1, 2)), _lock(folder, Shard(2, 2)):
        whole = enter(None)
        assert entered == []
        late = enter(Shard(2, 2))
        assert entered == []
    whole.join(10)
    late.join(10)
    assert entered == [None, Shard(2, 2)]
    assert "another reproduce of one is running here" in capfd.readouterr().err
    with _lock(folder, None):
        shard = enter(Shard(1, 2))
        assert len(entered) == 2
    shard.join(10)
    assert entered[2:] == [Shard(1, 2)]


def test_shards_of_a_users_file_can_be_joined_and_failures_count(call, home, write):
    path = write("one", starts=3)
    for number in (1, 2):
        folder = home.results.parent / f"node{number}"
        arguments = ("--results", str(folder), "reproduce", path, "--shard", f"{number}/2")
        assert call(*arguments)[0] == 0
    nodes = [str(home.results.parent / f"node{number}") for number in (1, 2)]
    assert call("merge", *nodes, "--into", str(home.results))[0] == 0
    assert call("tables", "one")[0] == 0
    assert (home.results / "one" / "table.md").exists()
    lines = (home.results / "one" / "runs.jsonl").read_text().splitlines()
    failed = replace(Record.from_line(lines[0]), status="timeout", metrics={}, right={})
    (home.results / "one" / "runs.jsonl").write_text("\n".join([failed.line, *lines[1:]]) + "\n")
    other = 2 if Shard(1, 2).has(failed.run) else 1
    code, out, _ = call("reproduce", path, "--shard", f"{other}/2")
    assert code == 1
    assert "runs finished (" in out or ", 1 timeout" in out


def test_all_runs_again_by_shards_need_a_folder_of_their_own(call, write):
    code, _, err = call("reproduce", write("one"), "--rerun", "all", "--shard", "1/2")
    assert code == 2
    assert "cannot tell new results from old" in err


def test_the_longest_run_is_first_so_that_no_core_idles_at_the_end():
    assert hours_on([3600, 1800, 1800], 2) == 1
    assert hours_on([1800, 1800, 3600], 2) == 1.5
    assert hours_on([], 16) == 0


def test_a_dry_run_forecasts_the_time_on_several_cores(call, home, write):
    assert call("reproduce", write("one"))[0] == 0
    out = call("reproduce", write("one"), "--dry-run", "--rerun", "all")[1]
    assert "on 2 cores " in out
    assert ", on 16 cores " in out
    assert ", on 64 cores " in out


def test_a_dry_run_says_which_data_are_needed_and_counts_no_minutes_for_them(call, home, write):
    needs = write("needs", task="nus-wide")
    code, out, err = call("reproduce", needs, write("one"), "--dry-run")
    assert code == 0, err
    row = next(line for line in out.splitlines() if line.startswith("needs"))
    assert row.split() == ["needs", "0", "0", "data", "needed", "for", "2", "runs"]
    assert "2 experiments: 2 runs to do, 0 reused, 2 without data" in out
    assert "data needed: nus-wide. `transferbench describe NAME` says which files." in out
    (home.data / "own" / "nus-wide").mkdir(parents=True)
    assert "data needed" not in call("reproduce", needs, "--dry-run")[1]


def test_a_dry_run_says_what_was_unavailable_the_last_time(call, home, write):
    path = write("one", starts=2)
    assert call("reproduce", path)[0] == 0
    falsify(home.results, "one", status="unavailable", reason="target has too few documents")
    code, out, err = call("reproduce", path, "--dry-run")
    assert code == 0, err
    assert "no result yet" not in out
    assert "0 runs to do, 0 reused, 4 unavailable" in out
    assert "  4 runs: target has too few documents\n" in out
    assert "one: 4 of 4 runs finished" in call("reproduce", path)[1]  # they are tried again


def test_data_are_left_out_by_their_terms(call, home, write):
    path = write("mixed")
    pages = f'{{task: "{SMALL}"}}\n  web pages: {{task: mtc/webkb4}}'
    Path(path).write_text(Path(path).read_text().replace(f'{{task: "{SMALL}"}}', pages))
    words = ("reproduce", path, "--without-terms", "unknown")
    code, out, err = call(*words, "--dry-run")
    assert code == 0, err
    assert "2 runs to do, 0 reused, 2 unavailable" in out
    assert "left out:\n  2 runs: data under 'unknown' are left out\n" in out
    assert "the last time" not in out
    code, out, err = call(*words)
    assert code == 0, err
    assert "mixed: 2 of 4 runs finished, 2 unavailable" in out
    reasons = {line["task"]: line.get("reason", "") for line in lines(home.results, "mixed")}
    assert reasons == {SMALL: "", "mtc/webkb4": "data under 'unknown' are left out"}
    assert "unavailable" in (home.results / "mixed" / "table.md").read_text()
    falsify(home.results, "mixed", status="done", reason="")  # as if made elsewhere
    for more, verb in ((), "compared with their data"), (("--rerun", "all"), "performed"):
        code, out, err = call(*words, *more)
        assert code == 0, err
        assert "mixed: 2 of 4 runs finished, 2 without data (earlier results are shown)" in out
        assert "data under 'unknown' are left out; earlier results are kept" in err
        why = "as data under 'unknown' are left out. The numbers shown for them are of"
        assert f"mixed: 2 runs could not be {verb}, {why} earlier results.\n" in err


def test_terms_of_the_option_are_added_to_those_of_the_environment(call, write, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_WITHOUT_TERMS", "unknown")
    path = write("pages", task="mtc/webkb4")
    out = call("reproduce", path, "--without-terms", "third-party-copyright", "--dry-run")[1]
    assert "2 runs: data under 'third-party-copyright' and 'unknown' are left out" in out
    assert (
        "'unknown' are left out"
        in call("reproduce", path, "--without-terms", "agreement", "--dry-run")[1]
    )


def test_a_dry_run_names_runs_that_are_counted_for_another_experiment(call, home, write):
    out = call("reproduce", write("one"), write("three"), "--dry-run")[1]
    lines = [line for line in out.splitlines() if line.startswith(("one", "three"))]
    assert sorted(line.endswith("2 runs counted for another") for line in lines) == [False, True]


def test_a_number_is_explained_though_its_task_is_left_out_by_a_term(
    call, home, printed, monkeypatch
):
    assert call("reproduce", printed)[0] == 0
    of_data = call("explain", "both", "made up", "again")[1].split("Since then:")[1]
    assert "data      unchanged" in of_data
    (dataset,) = (one for one in datasets.of_package() if one.name == "generated")
    monkeypatch.setitem(dataset.content, "terms", ["agreement"])
    monkeypatch.setenv("TRANSFERBENCH_WITHOUT_TERMS", "agreement")
    code, out, err = call("explain", "both", "made up", "again")
    assert code == 0, err
    assert "data      data under 'agreement' are left out" in out


def test_an_unknown_term_is_one_line(call, write):
    path = write("mixed")
    code, out, err = call("reproduce", path, "--without-terms", "unknwon")
    assert (code, out, err.count("\n"), "Did you mean 'unknown'?" in err) == (2, "", 1, True)
