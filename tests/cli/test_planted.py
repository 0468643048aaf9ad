"""Files that somebody put into results or data run no code, and no command waits for them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_experiment import PLAIN

from transferbench import cli, npz, strict_yaml, tasks
from transferbench.errors import UserError
from transferbench.runs import store

TASK = "generated/small:documents=60,features=40,words=9"


class Payload:
    """An object whose pickle makes a file when it is read."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.made,)


def calls(folder: Path) -> dict[str, list[str]]:
    """Return a call of every command, below `folder`."""
    for own in ("here", "there"):
        lines = [f"word{n % 7} word{n % 5} {own}{n},{'ab'[n % 2]}" for n in range(40)]
        (folder / f"{own}.csv").write_text("\n".join(["text,label", *lines]))
    (folder / "plain.yaml").write_text(PLAIN)
    model = folder / "mine.py"
    model.write_text("def fit(problem):\n    return [d.Y for d in problem.domains]\n")
    files = ["--source", str(folder / "here.csv"), "--target", str(folder / "there.csv")]
    experiment = str(folder / "plain.yaml")
    return {
        "reproduce": [experiment],
        "audit": ["dtl-table3"],
        "bench": [str(model), "--suite", "plain", "--dry-run"],
        "check": [str(model)],
        "cite": [],
        "clean": [],
        "compare": files,
        "describe": ["kmeans"],
        "doctor": [],
        "explain": [experiment],
        "export": [TASK, "--out", str(folder / "exported")],
        "fetch": ["comp-vs-rec", "--dry-run"],
        "list": [],
        "new": ["model", "mine", "--out", str(folder / "new")],
        "predict": [*files, "--out", str(folder / "found.csv")],
        "report": ["--out", str(folder / "report.html")],
        "run": [TASK, "-m", "kmeans"],
        "share": [experiment, "--out", str(folder / "bundle.zip")],
        "tables": [experiment],
        "topics": ["cocc", *files, "--html", str(folder / "topics.html")],
        "merge": [str(folder / "here" / "results"), "--into", str(folder / "joined")],
        "status": [experiment],
        "verify": [experiment],
    }


def plant(folder: Path, made: Path) -> None:
    """Put files that run code if they are imported or unpickled into every folder below one."""
    pickled = pickle.dumps(Payload(made))
    python = f"open({str(made)!r}, 'w')\n"
    objects, packed = np.array([Payload(made)]), io.BytesIO()
    np.savez(packed, header=objects, **{"0": objects})
    sealed = hashlib.sha256(packed.getvalue()).digest() + packed.getvalue()
    for path in [*folder.rglob("*")]:
        if path.suffix in (".task", ".artefact"):
            path.write_bytes(sealed)
    for place in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        for name in ("sitecustomize", "transferbench", "numpy", "json", "conftest", "worker"):
            (place / f"{name}.py").write_text(python)
        (place / "evil.pth").write_text(f"import pathlib; {python}")
        for name in ("1_submitted.pkl", "evil.pickle", "x.joblib", "x.npy", "x.jsonl"):
            (place / name).write_bytes(pickled)
        (place / "evil.yaml").write_text(f"!!python/object/apply:os.mkdir [{str(made)!r}]")


#: Runs each call that it reads, as one process that imports the libraries once.
CALLS = """
import json, sys
from transferbench.cli import invoke
sys.stdout = sys.stderr
for line in sys.stdin:
    code = invoke(json.loads(line))
    print(code, file=sys.__stdout__, flush=True)
"""


@pytest.mark.slow
def test_no_command_runs_what_is_planted_in_its_folders(tmp_path):
    """Two commands run in empty folders, then every command beside what is planted there."""
    made, here = tmp_path / "made", tmp_path / "here"
    here.mkdir()
    todo = calls(tmp_path)
    assert {*todo} == {*cli.main.list_commands(None)}
    env = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
    env |= {"XDG_CACHE_HOME": str(here)}
    folders = ["--data", str(here / "data"), "--results", str(here / "results"), "--offline"]
    said = tmp_path / "said"
    for names in (["run", "reproduce"], [*todo]):
        with (
            said.open("w") as err,
            subprocess.Popen(
                [sys.executable, "-P", "-c", CALLS], cwd=here, env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
            ) as process,
        ):  # fmt: skip
            for name in names:
                print(json.dumps([*folders, name, *todo[name]]), file=process.stdin, flush=True)
                assert process.stdout.readline().strip() in ("0", "1", "2"), said.read_text()
                assert "Traceback" not in said.read_text(), (name, said.read_text())
                assert "Failure in" not in said.read_text(), (name, said.read_text())
                assert not made.exists(), name
                plant(here, made)


@pytest.mark.skipif(os.name != "posix", reason="no FIFOs")
@pytest.mark.parametrize("read", [npz.read_header, tasks.read, store.read, strict_yaml.load])
def test_a_special_file_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "endless").symlink_to("/dev/zero")
    signal.alarm(60)  # ends the tests, instead of a wait without end
    for name in ("fifo", "endless"):
        with pytest.raises((OSError, UserError), match="no regular file"):
            read(tmp_path / name)
    signal.alarm(0)
