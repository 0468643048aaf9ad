"""Several experiments are one batch of runs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from small_experiment import PLAIN

from transferbench import experiments, reproduce
from transferbench.errors import UserError
from transferbench.evidence import pages

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


def lines(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name / "runs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


TABLES = {f"himls-table{number}" for number in range(2, 14)}
GTL_TEXT = {f"gtl-text-{name}" for name in ("p", "seconds", "objective", "settled")}
FIGURE2 = {"gtl-figure2a", "gtl-figure2b", "gtl-figure2c"}


@pytest.mark.parametrize(
    ("given", "experiments"),
    [
        (["gtl"], {"gtl-table3", *GTL_TEXT, *FIGURE2}),
        (["himls"], {*TABLES, "himls-figure2a", "himls-figure2b", "himls-figure2c"}),
        (["gtl-table3", "gtl-table3", "choice"], {"gtl-table3", "choice"}),
    ],
)
def test_papers_are_experiments(monkeypatch, call, given, experiments):
    from transferbench import reproduce

    planned = []
    monkeypatch.setattr(reproduce, "plan", lambda names, *_, **__: planned.extend(names) or [])
    call("reproduce", *given, "--dry-run")
    assert (set(planned), len(planned)) == (experiments, len(experiments))


def test_a_run_that_several_experiments_share_is_made_once(call, home, write):
    code, out, err = call("reproduce", write("one"), write("two", starts=2), write("three"))
    assert code == 0, err
    assert "3 experiments: 4 runs to do, 0 finished" in err
    assert sum(1 for _ in (home.results / "records").glob("*/*.json")) == 4
    for name, runs in (("one", 2), ("two", 4), ("three", 2)):
        assert f"{name}: {runs} of {runs} runs finished" in out
        assert (home.results / name / "table.md").is_file()
    keys = [{line["key"] for line in lines(home.results, name)} for name in ("one", "two", "three")]
    assert keys[0] == keys[2] < keys[1]
    code, _, err = call("reproduce", write("one"), write("two", starts=2))
    assert code == 0
    assert "0 runs to do, 4 finished" in err


def test_options_of_a_column_are_those_of_its_runs(call, home, write, tmp_path):
    path = Path(write("one", starts=2))
    text = path.read_text()
    path.write_text(text.replace("n_init: 2,", "n_init: 1,").replace(
        "  again: {", "  again: {options: {classes: 3}, control: true, ")
    )  # fmt: skip
    code, out, err = call("reproduce", str(path))
    assert code == 0, err
    assert "one: 4 of 4 runs finished" in out
    tasks = {(line["column"], line["task"]) for line in lines(home.results, "one")}
    assert tasks == {("k-means", SMALL), ("again", f"{SMALL.replace(':', ':classes=3,')}")}
    assert call("tables", str(path), "--check")[0] == 0
    code, out, err = call("verify", str(path))
    assert code == 0, err
    code, out, err = call("explain", str(path), "made up", "again")
    assert "transferbench run generated/clusters:classes=3,documents=200 --model kmeans" in out, err
    assert "unchanged" in out


def test_experiments_are_written_when_their_last_run_ends(call, home, write, monkeypatch):
    from transferbench import reproduce

    seen = []
    whole = reproduce.Rebuild.write

    def written(self):
        seen.append((self.name, sum(1 for _ in (home.results / "records").glob("*/*.json"))))
        return whole(self)

    monkeypatch.setattr(reproduce.Rebuild, "write", written)
    code, _, err = call("reproduce", write("one"), write("two", starts=3))
    assert code == 0, err
    assert seen == [("one", 2), ("two", 4)]


def test_unavailable_data_do_not_stop_other_experiments(call, home, write):
    lost = write("lost", task="mtc/webkb4")  # whose originals are not here
    code, out, err = call("reproduce", lost, write("one"))
    assert code == 0, err
    assert "lost: 0 of 2 runs finished, 2 unavailable" in out
    assert "one: 2 of 2 runs finished" in out

    # A table that is there from runs made elsewhere is not replaced by an empty one.
    runs = home.results / "lost" / "runs.csv"
    made = runs.read_text().replace(",unavailable,", ",done,")
    runs.write_text(made)
    code, out, err = call("reproduce", lost, write("one"))
    assert code == 0
    assert "lost: nothing could be run; the results are left as they are" in err
    assert runs.read_text() == made


def test_unavailable_runs_keep_earlier_lines(call, home, write, tmp_path):
    """Rows of a table may come from machines that have other data."""
    both = Path(write("both", starts=2))
    text = both.read_text()
    both.write_text(text.replace("columns:", '  elsewhere: {task: "mtc/webkb4"}\ncolumns:'))
    assert "4 of 8 runs finished, 4 unavailable\n" in call("reproduce", str(both))[1]
    runs = home.results / "both" / "runs.csv"
    made = runs.read_text().replace(",unavailable,", ",done,")
    runs.write_text(made)
    code, out, _ = call("reproduce", str(both))
    assert code == 0
    assert "4 of 8 runs finished, 4 unavailable (4 kept from earlier runs)" in out
    assert runs.read_text() == made


def test_failed_runs_keep_earlier_lines(call, home, write):
    both = write("both", starts=2)
    assert call("reproduce", both)[0] == 0
    runs = home.results / "both" / "runs.csv"
    made = runs.read_text()
    late = ("--force", "--time-limit", "1e-9")
    code, out, _ = call("reproduce", both, *late)
    assert code == 1
    assert "both: 0 of 4 runs finished, 4 timeout (4 kept from earlier runs)" in out
    assert runs.read_text() == made
    code, out, _ = call("reproduce", write("both", starts=3), "--missing", *late)
    assert code == 1
    assert "both: 0 of 2 runs finished, 2 timeout (2 kept from earlier runs)" in out
    statuses = {(line["column"], line["status"]) for line in lines(home.results, "both")}
    assert statuses == {("k-means", "done"), ("again", "timeout")}


@pytest.mark.parametrize(("error", "code"), [(UserError("odd"), 2), (ValueError("odd"), 1)])
def test_results_that_cannot_be_written_do_not_stop_others(
    call, home, write, monkeypatch, error, code
):
    whole = pages.write

    def broken(experiment, folder):
        if experiment.name == "one":
            raise error
        return whole(experiment, folder)

    monkeypatch.setattr(pages, "write", broken)
    ended, out, err = call("reproduce", write("one"), write("two"))
    assert (ended, "two: 2 of 2 runs finished" in out) == (1, True)
    (line,) = (line for line in err.splitlines() if line.startswith("one: results not written: "))
    assert "odd" in line
    assert (home.results / "two" / "table.md").is_file()
    assert call("reproduce", write("one"))[0] == code


def test_fewer_repeats_are_written_elsewhere(call, home, write):
    assert call("reproduce", write("one"))[0] == 0
    before = (home.results / "one" / "runs.csv").read_bytes()
    code, out, err = call("reproduce", write("one"), "--repeats", "1")
    assert code == 0, err
    assert (home.results / "one" / "runs.csv").read_bytes() == before
    assert len({line["seed"] for line in lines(home.results / "repeats-1", "one")}) == 1
    assert "repeats-1" in out
    assert call("reproduce", write("one"), "--repeats", "2")[0] == 0
    assert not (home.results / "repeats-2").exists()
    code, _, err = call("reproduce", write("one"), "--repeats", "100000000")
    assert (code, "not in the range" in err) == (2, True)


def test_limits_are_each_experiments_own(call, home, write):
    tight = Path(write("tight", starts=2))
    tight.write_text(tight.read_text() + "limits: {seconds: 77, memory_gib: 2}\n")
    assert call("reproduce", write("one"), str(tight))[0] == 0
    found = [json.loads(p.read_text()) for p in (home.results / "records").glob("*/*.json")]
    seconds = sorted((r["params"]["n_init"], r["limits"]["seconds"]) for r in found)
    assert seconds == [(1, 3600.0), (1, 3600.0), (2, 77.0), (2, 77.0)]


def test_missing_runs_alone_are_performed_and_other_lines_stay(call, home, write):
    import shutil

    one = write("one")
    assert call("reproduce", one)[0] == 0
    csv_file = home.results / "one" / "runs.csv"
    made_by = lines(home.results, "one")[0]["code"]
    csv_file.write_text(csv_file.read_text().replace(made_by, "older-code"))
    shutil.rmtree(home.results / "records")
    one = write("one", starts=2)  # the second column now has other parameters
    code, out, err = call("reproduce", "--missing", one)
    assert code == 0, err
    assert "one: 2 of 2 runs finished (2 kept from earlier runs)" in out
    codes = {line["column"]: line["code"] for line in lines(home.results, "one")}
    assert codes == {"k-means": "older-code", "again": made_by}
    code, out, err = call("reproduce", "--missing", one)
    assert code == 0, err
    assert "one: 0 of 0 runs finished (4 kept from earlier runs)" in out


def test_outdated_runs_alone_are_performed(call, home, write):
    import shutil

    one = write("one")
    assert call("reproduce", one)[0] == 0
    csv_file = home.results / "one" / "runs.csv"
    key = lines(home.results, "one")[0]["key"]
    csv_file.write_text(csv_file.read_text().replace(key, "older-key"))
    shutil.rmtree(home.results / "records")
    code, out, err = call("reproduce", "--outdated", one)
    assert code == 0, err
    assert "one: 1 of 1 runs finished (1 kept from earlier runs)" in out
    assert lines(home.results, "one")[0]["key"] == key
    code, out, err = call("reproduce", "--outdated", one)
    assert code == 0, err
    assert "one: 0 of 0 runs finished (2 kept from earlier runs)" in out


def test_lines_of_other_data_are_not_kept(call, home, write):
    one = write("one")
    assert call("reproduce", one)[0] == 0
    csv_file = home.results / "one" / "runs.csv"
    csv_file.write_text(csv_file.read_text().replace(lines(home.results, "one")[0]["data"], "old"))
    code, out, err = call("reproduce", "--missing", one)
    assert code == 0, err
    assert "one: 2 of 2 runs finished\n" in out


HERE = Path(__file__).parents[2]


def test_a_copy_of_our_experiment_takes_our_runs():
    text = (HERE / "experiments" / "transfer-small.yaml").read_text(encoding="utf-8")
    text = text.replace("columns:", "columns:\n  mine: {model: lr, params: {C: 3}}")
    file = experiments.read(text, Path("copy.yaml"))
    rebuild = reproduce.Rebuild(file, HERE / "results", None)
    unknown = [run for run in rebuild.waiting if run.identity not in rebuild.earlier_lines]
    assert len(unknown) == len(file.spec.rows)
    assert {run.params["C"] for run in unknown} == {3}
