"""Whatever a plug-in model does costs its own run alone, and no process is left."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import toys

linux = pytest.mark.skipif(sys.platform != "linux", reason="runs are not forked here")

#: Model → the body of its `fit`, the status of its run, and a part of the reason.
BODIES = {
    # What a model returns.
    "trace32": ("trace = np.arange(3, dtype=np.float32)", "done", ""),
    "trace-text": ("trace = ('a', 2.0)", "failed", "could not convert string to float: 'a'"),
    "trace-nan": ("trace = (1.0, np.nan)", "failed", "an objective that is NaN or infinite"),
    "trace-object": ("trace = (object(),)", "failed", "TypeError"),
    "trace-large": ("trace = (10**400,)", "failed", "OverflowError"),
    # What it passes to `watch`.
    "watch-odd": ("watch(1, 0, scores); watch(9, 3, scores); watch(5.5, 5.5, scores)", "done", ""),
    # What it raises.
    "surrogate": ("raise ValueError('\\udcff\\x1b[2J')", "failed", r"ValueError: \udcff\u001b[2J"),
    "long-text": ("raise ValueError('x' * 50_000_000)", "failed", "ValueError: xxx"),
    "no-text": ("raise Rude", "failed", "Rude, whose text cannot be shown"),
    "exits": ("raise SystemExit(0)", "failed", "SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "failed", "KeyboardInterrupt"),
    "base": ("raise BaseException('plain')", "failed", "BaseException: plain"),
    "ends": ("os._exit(3)", "crashed", "its process ended with code 3"),
    # What it writes.
    "prints": ("print('printed'); sys.stderr.write('bell\\a\\n'); os.write(1, b'raw')", "done", ""),
    "prints-much": ("[print('y' * 99) for _ in range(10**5)]", "done", ""),
    "c-prints": ("import ctypes; ctypes.CDLL(None).puts(b'from C')", "done", ""),
    "warns": ("warnings.warn('take care')", "done", ""),
    "everywhere": (
        "for fd in range(3, 99):\n        with suppress(OSError): os.write(fd, b'junk' * 9)",
        "done", "",
    ),
    "closes": ("os.closerange(0, 99)", "crashed", "its process ended with code 1"),
    # What it does to the process from which it was forked, and to itself.
    "stops-server": ("os.kill(os.getppid(), signal.SIGSTOP); time.sleep(1)", "done", ""),
    "stops-and-ends": ("os.kill(os.getppid(), signal.SIGSTOP); os._exit(4)", "crashed", "code 4"),
    "kills-server": ("os.kill(os.getppid(), signal.SIGKILL); time.sleep(1)", "done", ""),
    "stops-late": ("os.killpg(0, signal.SIGSTOP)", "timeout", "limit of"),
    # What it leaves behind.
    "thread": ("threading.Thread(target=time.sleep, args=(600,)).start()", "done", ""),
    "child": ("subprocess.Popen(['sleep', '601'])", "done", ""),
    "daemon": ("subprocess.Popen(['sleep', '601'], start_new_session=True)", "done", ""),
    "forks": ("os.fork() or time.sleep(602)", "done", ""),
    "child-of-dead": ("subprocess.Popen(['sleep', '601']); os.abort()", "crashed", "code -6"),
    "child-late": ("subprocess.Popen(['sleep', '601']); time.sleep(600)", "timeout", "limit of"),
}  # fmt: skip
MODEL = """
import os, signal, subprocess, sys, threading, time, warnings
from contextlib import suppress
import numpy as np
from transferbench.problem import Fit
class Rude(Exception):
    def __str__(self):
        raise KeyboardInterrupt
def fit(problem, *, watch=None):
    trace, scores = (), tuple(d.Y + 0.5 for d in problem.domains)
    {body}
    return Fit(scores, trace)
"""
PRINTS_AT_IMPORT = "print('imported')\n" + MODEL
FILES = {
    "own.py": toys.FILES["own.py"],
    **{f"{name.replace('-', '_')}.py": MODEL.format(body=b) for name, (b, *_) in BODIES.items()},
    "loud.py": PRINTS_AT_IMPORT.format(body="pass"),
    "cries.py": MODEL.format(body="print('worthless result: all of it')"),
    "nan_param.py": MODEL.format(body="pass").replace("*,", "*, x: float = np.nan,"),
}


@pytest.fixture
def shell(plugin, home, tmp_path, monkeypatch):
    """Function that runs models and returns the code, their records and the messages."""
    shell = toys.Shell(plugin, FILES, home, tmp_path, monkeypatch)

    def call(*models: str, options: tuple[str, ...] = ()):
        named = [part for name in models for part in ("-m", name.replace("-", "_"))]
        code, out, err = shell("run", "own/small", "--json", "-j", "2", *named, *options)
        records = map(json.loads, out.splitlines())
        return code, {record["model"].replace("_", "-"): record for record in records}, err

    return call


def sleepers() -> list[str]:
    """Command lines of processes that a model above left."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(file.read_bytes().replace(b"\0", b" ").decode().strip())
    return [line for line in found if line in ("sleep 601",)]


@linux
def test_every_run_has_its_own_record_whatever_a_model_does(shell):
    lates = [name for name in BODIES if name.endswith("-late")]
    others = [name for name in BODIES if name not in lates]
    code, records, err = shell(*others, options=("--time-limit", "120"))
    assert code == 1, err
    _, late, late_err = shell(*lates, options=("--time-limit", "3"))
    records, err = records | late, err + late_err
    assert records, err
    assert {name: record["status"] for name, record in records.items()} == {
        name: status for name, (_, status, _) in BODIES.items()
    }
    for name, (_, _, reason) in BODIES.items():
        assert reason in records[name].get("reason", ""), name
        assert len(records[name].get("reason", "")) <= 500
        assert len(records[name].get("traceback", "")) < 2**15
    assert records["trace32"]["objective"] == 2.0
    assert records["prints"]["output"] == "printed\nbell\\u0007\nraw"
    assert records["c-prints"]["output"] == "from C\n"
    assert records["warns"]["output"] == "UserWarning: take care\n"
    assert records["prints-much"]["output"].endswith("y" * 99 + "\n")
    assert len(records["prints-much"]["output"]) == 2**14
    for name in ("thread", "child", "daemon", "forks"):
        assert records[name]["seconds"] < 120
    assert "\x1b" not in err
    failed = sum(status != "done" for _, status, _ in BODIES.values())
    assert (
        sum(line.startswith(("failed: ", "crashed: ", "timeout: ")) for line in err.splitlines())
        == failed
    )
    assert sleepers() == []


def test_output_of_a_model_does_not_stand_among_the_records(shell):
    code, records, err = shell("prints", "loud", "nan-param", "cries")
    assert (code, len(records)) == (0, 4), "each line of the output is a record"
    assert "prints printed: printed" in err
    assert "doubts" not in records["cries"]
