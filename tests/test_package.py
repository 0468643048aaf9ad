"""The wheel, installed outside the checkout, and the README's commands."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pandas as pd
import pytest

from transferbench import experiments
from transferbench.cli import invoke

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("transferbench ")
]


def run(call: list[str], **options) -> str:
    done = subprocess.run(call, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A new virtual environment with the wheel; it borrows the dependencies of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    run([*build, str(ROOT)])
    wheel = next(folder.glob("*.whl"))
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run([str(scripts / "python"), "-m", "pip", "install", "-q", "--no-deps", str(wheel)])
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = run([str(scripts / "python"), "-c", where]).strip()
    # A plain path entry: Python does not follow the editable install of the checkout from there.
    Path(site, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return scripts


@pytest.mark.slow
def test_the_wheel_contains_experiments_and_data_files(installed, tmp_path, real):
    program = str(installed / "transferbench")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRANSFERBENCH_")}
    environment.pop("PYTHONPATH", None)
    options = {"cwd": tmp_path, "env": environment}
    where = run([str(installed / "python"), "-c", "import transferbench as t; print(t.__file__)"],
                **options)  # fmt: skip
    assert str(ROOT) not in where
    assert "gtl-table3" in run([program, "list", "experiments"], **options)
    assert "3938" in run([program, "describe", "comp-vs-rec"], **options)
    ran = run([program, "--data", str(real.data), "run", "comp-vs-rec", "-m", "lr"], **options)
    assert "81.71" in ran
    assert (tmp_path / "results" / "runs.jsonl").read_text()
    dry = [program, "--data", str(real.data), "reproduce", "gtl-unit-length", "--dry-run"]
    assert "1 reused" in run(dry, **options)  # how many are to do depends on what can be fetched
    bench = [program, "--data", str(tmp_path), "--offline", "bench", "lr", "--set", "C=3"]
    suite = ["--suite", "transfer-small", "--dry-run", "--rerun", "missing"]
    planned = run([*bench, *suite], **options)
    rows = len(experiments.load("transfer-small").spec.rows)
    assert f"data needed for {rows} runs" in planned  # the wheel has the runs of the others
    for kind in ("experiment", "model", "dataset"):  # their templates are in the wheel
        assert "Next, in" in run([program, "new", kind, f"my-{kind}"], **options)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_works(command, real, tmp_path, monkeypatch, capfd):
    arguments = shlex.split(command, comments=True)[1:]
    results = tmp_path / "results"
    if arguments[0] in ("reproduce", "bench"):
        arguments.append("--dry-run")
    if arguments[0] in ("share", "explain"):
        results = ROOT / "results"
    folders = ["--data", str(real.data), "--results", str(results)]
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    assert invoke([*folders, *arguments]) == 0, capfd.readouterr().err
    if "found.csv" in arguments:
        found = pd.read_csv("found.csv", index_col="number").predicted
        given = pd.read_csv("docs/examples/labels.csv", index_col="number").label
        assert len(found) == 30
        assert (found[given.index] == given).mean() > 0.9


@pytest.mark.slow
def test_the_python_of_the_readme_works(real, monkeypatch, capsys):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(real.data))
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(block, {})
    assert "accuracy" in capsys.readouterr().out


def test_the_readme_is_short_and_shows_commands():
    assert len(COMMANDS) >= 8
    assert len(README.splitlines()) <= 110


def test_every_requirement_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [line for group in (project["dependencies"], *extras) for line in group]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=~!; \[]", line)[0]).lower() for line in wanted}
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert names <= {re.sub(r"[-_.]+", "-", package).lower() for package in pins}
