"""The example plug-in, installed from its pyproject.toml: list, describe and run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from programs import without_progress

EXAMPLE = Path(__file__).parent / "plugin_example"


@pytest.fixture
def shell(home, tmp_path):
    """Return a function that runs the command line with the example installed as by pip."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    shutil.copytree(
        EXAMPLE / "transferbench_example",
        site / "transferbench_example",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    info = site / f"transferbench_example-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(points))

    def call(*arguments: str) -> str:
        command = [sys.executable, "-m", "transferbench", "--offline"]
        command += ["--data", str(home.data), "--results", str(home.results), *arguments]
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"PYTHONPATH": str(site)},
        )
        assert (process.returncode, without_progress(process.stderr)) == (0, "")
        return process.stdout

    return call


def test_model_and_dataset_of_the_example_work_like_built_in_ones(shell):
    listed = shell("list")
    assert "\nnearest-mean " in listed
    assert "\nexample/pets " in listed
    assert "shrinkage: number ≥ 0 = 0.0" in shell("describe", "nearest-mean")
    assert '"owners": 6' in shell("describe", "example/pets")
    output = shell(
        "run", "example/pets", "-m", "nearest-mean", "--set", "shrinkage=1", "--no-reference"
    )
    assert "documents: owners 6, vets 6" in output
    model, domain, accuracy, *_ = output.splitlines()[3].split()
    assert (model, domain) == ("nearest-mean", "vets")
    assert float(accuracy) > 60
