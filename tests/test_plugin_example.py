"""The example of a plug-in, installed by its own pyproject.toml: listed, described, run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "plugin_example"


@pytest.fixture
def shell(home, tmp_path):
    """The command line in a process that has the example installed, as pip would lay it out."""
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
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"PYTHONPATH": str(site)},
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return call


def test_the_examples_model_and_dataset_are_as_good_as_those_of_the_house(shell):
    listed = shell("list")
    assert "  nearest-mean " in listed
    assert "  example/pets " in listed
    assert "prior: number ≥ 0 = 0.0" in shell("describe", "nearest-mean")
    assert '"owners": 6' in shell("describe", "example/pets")
    found = shell("run", "example/pets", "-m", "nearest-mean", "--set", "prior=1", "--no-reference")
    assert "documents: owners 6, vets 6" in found
    model, domain, accuracy, *_ = found.splitlines()[3].split()
    assert (model, domain) == ("nearest-mean", "vets")
    assert float(accuracy) > 60
