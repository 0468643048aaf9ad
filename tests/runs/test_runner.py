"""Each run has a process of its own: a failure affects that run only; finished runs are kept."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
import toys

from transferbench.errors import UserError
from transferbench.runs import runner
from transferbench.runs.process import block_interrupts

FILES = toys.FILES | {
    "hogs.py": """
        import numpy as np
        def fit(problem, *, watch=None):
            return [np.ones(2**27) for _ in range(64)]
    """,
    "marks.py": """
        import numpy as np, time
        from transferbench.problem import Fit
        seen = []
        def fit(problem, *, mib: int = 0, busy: float = 0.0, seed: int, watch=None):
            seen.append(seed)
            assert seen == [seed], "state leaked from another run"
            much = np.ones(mib * 2**17)
            while time.process_time() < busy:
                pass
            return Fit(tuple(d.Y + 0.5 for d in problem.domains))
    """,
    "shares.py": """
        import time
        from transferbench.artefacts import artefact
        from transferbench.problem import Fit
        @artefact
        def start(Y):
            time.sleep(1)
            return Y + 0.5
        def fit(problem, *, power: int = 1, watch=None):
            return Fit(tuple(start(d.Y) ** power for d in problem.domains))
    """,
    "wrong.py": """
        import numpy as np
        from transferbench.problem import Fit
        def fit(problem, *, watch=None):
            return Fit(tuple(d.Y * np.nan for d in problem.domains))
    """,
}
MODELS = [
    name.removesuffix(".py")
    for name in FILES
    if name not in ("own.py", "marks.py", "shares.py", "sleeps.py")
]
EXPERIMENT = """
title: kill me
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 16
rows: {small: {task: own/small}}
columns: {good: {model: good, params: {pause: 0.25}}}
published: {small: {good: 50.0}}
tolerance: {value: 1.0, reason: none}
"""
COLUMNS = (
    "columns: {good: {model: good, params: {pause: 0.25}}}",
    "columns: {good: {model: marks, params: {mib: 400, busy: 1.0}}, "
    "small: {model: marks, params: {mib: 0, busy: 0.0}}}",
)


@pytest.fixture
def shell(plugin, home, tmp_path, monkeypatch):
    return toys.Shell(plugin, FILES, home, tmp_path, monkeypatch)


def finished(results: Path) -> list[dict]:
    """Return the records on disk, of each run the last finished one."""
    lines = [line for path in results.rglob("runs.jsonl") for line in path.open()]
    records = {}
    for record in map(json.loads, lines):
        run = record["model"], str(record["params"]), record["seed"]
        if record["status"] == "done" or run not in records:
            records[run] = record
    return list(records.values())


def test_each_failure_is_recorded_with_its_reason_and_the_rest_completes(shell):
    models = [part for name in MODELS for part in ("-m", name)]
    call = ("run", "own/small", *models, "-j", "2", "--time-limit", "120", "--memory-limit", "2")
    code, out, err = shell(*call, "--json")
    records = {record["model"]: record for record in map(json.loads, out.splitlines())}
    status = {name: record["status"] for name, record in records.items()}
    assert status == {
        "good": "done",
        "raises": "failed",
        "hogs": "memory",
        "dies": "crashed",
        "wrong": "failed",
    }
    assert records["raises"]["reason"] == "ZeroDivisionError: by the model (raises.py:3)"
    assert "by the model" in records["raises"]["traceback"]
    assert "2 GiB" in records["hogs"]["reason"]
    assert "scores that are NaN or infinite" in records["wrong"]["reason"]
    assert code == 1
    assert len(finished(shell.results)) == len(MODELS)
    # A slow machine also has lines about the progress, such as "2/5 runs".
    lines = [line for line in err.splitlines() if not line[0].isdigit()]
    assert all(line.partition(":")[0] in set(status.values()) for line in lines)


def test_a_record_holds_the_run_and_its_cost(shell):
    _, out, _ = shell("run", "own/small", "-m", "good", "--json", "--threads", "2", "--seeds", "5")
    record = json.loads(out)
    assert record["seed"] == 5
    assert record["params"] == {"pause": 0.0}
    assert set(record["metrics"]) == {"target-1"}
    assert record["documents"] == {"target-1": 40}
    assert record["seconds"] > 0
    assert record["peak_mib"] > 1
    assert record["threads"] == 2
    for library in ("python", "numpy", "scikit-learn"):
        assert f"{library} " in record["versions"]
    assert len(record["data"]) == 16
    assert finished(shell.results) == [record]


def test_runs_share_artefacts_and_their_seconds_do_not_tell(shell, home, monkeypatch):
    call = ("run", "own/small", "-m", "shares", "--json")
    first = json.loads(shell(*call)[1])
    assert first.get("reused_seconds", 0) == 0
    code, out, _ = shell(*call, "--set", "power=2")
    second = json.loads(out)
    assert (code, second["status"]) == (0, "done")
    assert first["seconds"] >= 2
    assert 2 <= second["reused_seconds"] <= second["seconds"]
    monkeypatch.setenv("TRANSFERBENCH_MAX_ARTEFACTS", "0")
    code, out, _ = shell(*call, "--set", "power=3", "--time-limit", "1")
    assert (code, json.loads(out)["status"]) == (1, "timeout")
    assert len(list((home.data / "artefacts").iterdir())) == 2


def test_libraries_start_under_a_small_limit(shell):
    """OpenBLAS asks for its buffers again and again if they are not there before the limit."""
    small = ("run", "generated/clusters:documents=200", "-m", "kmeans", "--memory-limit", "0.01")
    code, _, err = shell(*small, "--time-limit", "120")
    assert code == 0, err


def test_runs_do_not_share_state_memory_or_time(shell, tmp_path):
    file = tmp_path / "marks.yaml"
    file.write_text(EXPERIMENT.replace("16", "2").replace(*COLUMNS))
    code, _, err = shell("reproduce", str(file))  # one at a time, the big ones first
    assert code == 0, err
    for record in finished(shell.results):
        big = record["params"]["mib"] == 400
        assert (record["peak_mib"] > 400) == big


def test_a_finished_run_is_not_repeated_unless_forced(shell):
    call = ("run", "own/small", "-m", "good", "--no-reference", "--json", "--repeats", "2")
    assert shell(*call)[1] == shell(*call)[1]
    assert shell.log.seeds() == [0, 1]
    shell(*call, "--rerun", "all")
    assert Counter(shell.log.seeds()) == {0: 2, 1: 2}
    shell(*call[:-1], "3")
    assert Counter(shell.log.seeds()) == {0: 2, 1: 2, 2: 1}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_or_interrupted_batch_loses_no_finished_run_and_repeats_none(shell, tmp_path, how):
    file = tmp_path / "kill.yaml"
    file.write_text(EXPERIMENT)
    process = shell.start("reproduce", str(file), "--jobs", "2")
    deadline = time.monotonic() + 60
    while len(finished(shell.results)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(how)
    err = process.communicate(timeout=60)[1]
    saved = {record["seed"] for record in finished(shell.results)}
    assert 3 <= len(saved) < 16
    if how == signal.SIGINT:
        assert process.returncode == 130
        forecast, message = err.splitlines()
        assert forecast.startswith("1 experiment: 16 runs to do")
        assert message.startswith("Interrupted")
    # Runs in progress have ended with their parent.
    time.sleep(1)
    started = shell.log.seeds()
    time.sleep(0.7)
    assert shell.log.seeds() == started

    code, out, err = shell("reproduce", str(file), "--jobs", "2")
    assert code == 0, err
    assert "16 of 16 runs finished" in out
    times = Counter(shell.log.seeds())
    assert set(times) == set(range(16))
    assert all(times[seed] == 1 for seed in saved)
    # Only runs in progress at the interrupt have been started twice.
    assert sum(times.values()) - 16 <= 2
    lines = (shell.results / "kill" / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 16


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_end_of_the_block(ctrl_c, number):
    reached = []

    def interrupted() -> None:
        with block_interrupts():
            ctrl_c(number)
            reached.append("end")
        reached.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["end"]


def test_two_reproduce_at_once_repeat_no_run(shell, tmp_path):
    file = tmp_path / "kill.yaml"
    file.write_text(EXPERIMENT.replace("16", "4"))
    both = [shell.start("reproduce", str(file)) for _ in range(2)]
    printed = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(shell.log.seeds()) == [0, 1, 2, 3]
    assert all("4 of 4 runs finished" in out for out, _ in printed)
    assert sorted(err.count("another reproduce") for _, err in printed) == [0, 1]


@pytest.mark.parametrize(
    ("task", "model"),
    [("t\udcff.yaml", "lr"), ("d\udcff/t.yaml", "lr"), ("own/small", "m\udcff.py"),
     ("generated/small:documents=\udcff", "lr")],
)  # fmt: skip
def test_a_name_that_is_not_utf8_is_refused_before_any_run(task, model):
    """A record could not be written."""
    with pytest.raises(UserError, match=r"(task|model) '.*udcff.*': expected a name in UTF-8"):
        runner.plan_runs(task, model, {}, [0])
