"""Without the wing for a user's own documents the rest of the package works as before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, reachable
from small_experiment import PLAIN
from test_layers import WING, WING_COMMANDS

from transferbench import fingerprint, settings
from transferbench.datasets import of_plugins

INSTALLED = ("transferbench", "experiments", "results", "pyproject.toml", "README.md")

POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]


def is_of_wing(module: str) -> bool:
    return module.split(".")[1] in WING


@pytest.fixture(scope="module")
def without_wing(tmp_path_factory):
    """Function that runs a command of a copy of the package without the wing."""
    root = tmp_path_factory.mktemp("house")
    for name in INSTALLED:
        source, target = ROOT / name, root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "report", ".*.lock")
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy(source, target)
    package = root / "transferbench"
    for part in WING:
        path = package / part
        shutil.rmtree(path) if path.is_dir() else path.with_suffix(".py").unlink()
    for command in WING_COMMANDS:
        (package / "cli" / f"{command}.py").unlink()
    # The entry points of an installed package without the wing.
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items() if not is_of_wing(v))
        for group, points in POINTS.items()
    ]
    (info := root / "transferbench-0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: transferbench\nVersion: 0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        used = settings.load()
        environment = os.environ | {
            "PYTHONPATH": str(root),
            "TRANSFERBENCH_DATA": str(used.data),
            "TRANSFERBENCH_MIRROR": " ".join(used.mirrors),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.run(
            [sys.executable, "-P", "-m", "transferbench", *arguments],
            cwd=root, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return command


@pytest.mark.slow
def test_the_rest_runs_reproduces_and_checks_every_table(without_wing, tmp_path):
    with reachable("gtl/comp-vs-rec"):
        from transferbench import tasks

        tasks.ensure_built(tasks.Task.parse("comp-vs-rec"), settings.load())
    (tmp_path / "plain.yaml").write_text(PLAIN)
    results = ("--results", str(tmp_path / "results"))
    ran = without_wing(*results, "run", "comp-vs-rec", "--model", "gcmf", "--set", "max_iter=2")
    assert ran.returncode == 0, ran.stderr
    assert "gcmf" in ran.stdout
    made = without_wing(*results, "reproduce", str(tmp_path / "plain.yaml"))
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "results" / "plain" / "table.md").is_file()
    checked = without_wing("tables", "--check")
    assert checked.returncode == 0, checked.stderr
    assert "every table is what its runs yield" in checked.stdout


@pytest.mark.slow
def test_what_belongs_to_the_wing_is_refused_in_one_line(without_wing, tmp_path):
    (tmp_path / "own.yaml").write_text("source: a.csv\ntargets: [b.csv]\n")
    for arguments in (("predict",), ("compare",), ("run", f"{tmp_path}/own.yaml", "-m", "lr")):
        ended = without_wing(*arguments)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    listed = without_wing("--help").stdout
    assert "reproduce" in listed
    assert "predict" not in listed


def test_entry_points_of_the_wing_name_modules_that_exist():
    named = [v for points in POINTS.values() for v in points.values() if is_of_wing(v)]
    assert len(named) == 2
    for name in named:
        module = name.partition(":")[0].removeprefix("transferbench.")
        assert Path(fingerprint.PACKAGE, *module.split(".")).with_suffix(".py").is_file()
    assert {"user"} <= {dataset.name for dataset in of_plugins()}
