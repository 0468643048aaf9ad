"""Committed figures are compared with runs made anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transferbench import experiments, repeats
from transferbench.evidence import verify
from transferbench.runs import runner
from transferbench.settings import Settings

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def answers() -> dict:
    """The answers of runs that a test of this file has made again, by run."""
    return {}


@pytest.fixture
def once(answers, monkeypatch):
    """Make each run again once for the tests of this file: it starts a program."""
    repeat = repeats.repeat

    def known(runs, settings, **options):
        new = [run for run in runs if run.identity not in answers]
        answers.update(
            zip((r.identity for r in new), repeat(new, settings, **options), strict=True)
        )
        return [answers[run.identity] for run in runs]

    monkeypatch.setattr(repeats, "repeat", known)


def change(home: Settings, name: str, model: str, value: float) -> None:
    """Falsify one measure of all runs of a model."""
    path = home.results / "plain" / "runs.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        for measures in line["metrics"].values() if line["model"] == model else ():
            measures[name] = value
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_equal_results_pass_and_nothing_is_written(call, home, plain):
    before = {path: path.read_bytes() for path in home.results.rglob("*") if path.is_file()}
    code, out, _ = call("verify", str(plain), "--seconds", "60")
    assert code == 0, out
    assert "2 runs made again, 12 figures compared: none differs" in out
    assert [line[0] for line in out.splitlines()[1:3]] == ["=", "="]
    assert before == {path: path.read_bytes() for path in home.results.rglob("*") if path.is_file()}


def test_one_experiment_is_named_or_all_are_meant(call, plain, once):
    for named in (["plain"], []):
        assert call("verify", *named)[0] == 0


def test_a_difference_is_listed_with_its_run_and_measure(call, home, plain, once):
    change(home, "nmi", "kmeans", 1.0)
    code, out, _ = call("verify", str(plain), "--seconds", "60")
    assert code == 1
    bad = [line for line in out.splitlines() if line.startswith("NO")]
    assert len(bad) == 2
    assert all("kmeans on generated" in line and "nmi, task-" in line for line in bad)
    assert out.endswith("1 run differs\n")


def test_unavailable_runs_are_listed_and_fail_if_no_run_is_left(
    call, home, plain, once, monkeypatch
):
    repeat = repeats.repeat

    def without(*lost: str):
        def some(runs, settings, **options):
            found = iter(repeat([r for r in runs if r.model not in lost], settings, **options))
            return [
                {"unavailable": "not installed"} if run.model in lost else next(found)
                for run in runs
            ]

        monkeypatch.setattr(repeats, "repeat", some)
        return call("verify", str(plain), "--seconds", "60")

    code, out, _ = without("kmeans")
    assert code == 0
    assert [line[0] for line in out.splitlines()[1:3]] == ["=", "–"]
    assert out.endswith("1 run made again, 6 figures compared: none differs; 1 unavailable here\n")
    code, out, _ = without("kmeans", "kernel-kmeans")
    assert (code, out.count("not installed")) == (1, 2)


MODEL = """\
import sys, time

def fit(problem, *, how: str = "sleep"):
    print("printed")
    time.sleep(60) if how == "sleep" else sys.exit(0)
"""


@pytest.mark.slow
def test_a_run_that_takes_too_long_or_exits_is_an_answer(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(MODEL)
    runs = [
        runner.plan_runs("generated/transfer:documents=60", "slow.py", {"how": how}, [0])[0]
        for how in ("sleep", "exit", "sleep")
    ]
    runs += runner.plan_runs("generated/transfer:documents=60", "lr", {}, [0])
    first, second, third, last = repeats.repeat(runs, home, limit=10.0)
    assert "took more than 10 s" in first["error"]
    assert "SystemExit" in second["error"]
    assert "took more than 10 s" in third["error"]
    assert last["measures"]["target"]["accuracy"] > 0.5


def test_nothing_quick_enough_is_an_error(call, plain):
    code, _, err = call("verify", str(plain), "--seconds", "1e-9")
    assert (code, err.count("\n")) == (2, 1)
    assert "try more --seconds" in err


def test_the_jitter_is_the_spread_over_seeds():
    settings = Settings(data=ROOT / "data", results=ROOT / "results")
    measured = verify.committed([(settings, "dtl-table3")], settings.results)
    models = measured["run"].map(lambda run: run.model)
    tasks = measured["run"].map(lambda run: str(run.task))
    dtl = measured[(models == "dtl") & (tasks == "reuters/orgs-vs-people")]
    assert (dtl["jitter"][dtl["measure"] == "accuracy"] > verify.ROUNDING).all()
    assert (measured["jitter"][models == "lr"] == verify.ROUNDING).all()
    planned = {each.run.identity for each in experiments.load("dtl-table3").runs()}
    assert {run.identity for run in measured["run"]} == planned


def test_of_every_model_the_quickest_is_made_again():
    settings = Settings(data=ROOT / "data", results=ROOT / "results")
    measured = verify.committed([(settings, "dtl-table3")], settings.results)
    chosen = verify.quickest(measured, 2.0)
    least = measured["seconds"].groupby(measured["run"].map(lambda run: run.model)).min()
    found = chosen["seconds"].groupby(chosen["run"].map(lambda run: run.model)).agg(["min", "max"])
    assert (found["min"] == found["max"]).all()
    assert dict(found["max"]) == dict(least[least <= 2])
