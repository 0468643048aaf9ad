"""Models outside a package: runs are repeated unless asked, and JSON stays whole."""

from __future__ import annotations

import pytest
from conftest import strict_json

from transferbench import models
from transferbench.runs import policy

TASK = "generated/transfer:documents=60"
READING = """\
import importlib.util
import json
from pathlib import Path

from transferbench.problem import Fit

HERE = Path(__file__).parent


def fit(problem, *, power: float = 1.0):
    spec = importlib.util.spec_from_file_location("beside", HERE / "beside.py")
    beside = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)
    weight = beside.WEIGHT * json.loads((HERE / "weight.json").read_text())
    return Fit(tuple(d.Y + 0.5 for d in problem.domains), diagnostics={"weight": weight})
"""
GUESS = """\
from transferbench.problem import Fit


def fit(problem):
    return Fit(tuple(d.Y + 0.5 for d in problem.domains))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with a model that reads a module and a file beside it."""
    (tmp_path / "reading.py").write_text(READING)
    (tmp_path / "beside.py").write_text("WEIGHT = 1.0\n")
    (tmp_path / "weight.json").write_text("1.0")
    monkeypatch.chdir(tmp_path)
    for cached in (models.load, models.code):
        cached.cache_clear()
    return tmp_path


def weight(call, *options):
    code, out, err = call("run", TASK, "-m", "./reading.py", "--json", *options)
    assert code == 0, err
    assert ("--rerun missing keeps them" in err) == (not options)
    return strict_json(out)["diagnostics"]["weight"]


def test_runs_of_a_file_are_repeated_unless_asked(call, home, here):
    """A module that it loads and a file that it reads may have changed."""
    assert weight(call) == 1
    (here / "weight.json").write_text("2.0")
    assert weight(call, "--rerun", "missing") == 1
    assert weight(call) == 2
    # Of another size: within a second of its last import Python would take the old bytecode.
    (here / "beside.py").write_text("WEIGHT = 30.0\n")
    assert weight(call) == 60
    changed, asked = "to run: its code is in a file of yours and may have changed", "to run: all"
    for rerun, state in ("outdated", changed), ("missing", "done"), ("all", asked):
        options = ("--no-reference", "--dry-run", "--rerun", rerun)
        out = call("run", TASK, "-m", "./reading.py", *options)[1]
        assert f"  {state}" in out.splitlines()[-1]


def test_runs_of_a_lone_module_are_repeated_and_those_of_a_package_are_kept(here, monkeypatch):
    package = here / "package"
    package.mkdir()
    for name in ("__init__.py", "inside.py"):
        (package / name).write_text(f"{GUESS}\nDEPENDS_ON = ()\n")
    known = {
        name: models.Model(name, "transfer", name, path)
        for name, path in (("inside", package / "inside.py"), ("alone", here / "reading.py"))
    }
    known["lr"] = registered["lr"]
    monkeypatch.setattr("transferbench.models._registry.registry", lambda: known)
    names = ("inside", "lr", "sklearn.svm:SVC", "alone", "sklearn.d/inside.py", "mine.svm:SVC")
    assert [policy.has_untracked_code(name) for name in names] == [
        False,
        False,
        False,
        True,
        True,
        True,
    ]


registered = models.registry()


def test_numbers_that_json_lacks_are_null_in_records(call, home, here):
    (here / "weight.json").write_text("NaN")
    assert weight(call, "--rerun", "all") is None


def test_runs_of_a_package_that_declares_nothing_are_repeated(here, monkeypatch):
    package = here / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inside.py").write_text(GUESS)
    known = {"inside": models.Model("inside", "transfer", "inside", package / "inside.py")}
    monkeypatch.setattr("transferbench.models._registry.registry", lambda: known)
    assert policy.has_untracked_code("inside")
