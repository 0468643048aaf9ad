"""A broken plug-in is reported once, by name; everything else works."""

from __future__ import annotations

import json
import sys

import pytest

from transferbench import datasets, models, plugins

GOOD = """
'''A good model.'''
from transferbench.problem import Fit
def fit(problem, *, seed: int = 0, watch=None):
    return Fit(tuple(d.Y + 0.5 for d in problem.domains))
"""
DATASET = """
from transferbench.errors import Unavailable
FILES, TASKS = {}, {"good/one": "made up"}
def build(task, files):
    raise Unavailable("good/one: unavailable; bring it.")
"""
FILES = {
    "good_model.py": GOOD,
    "good_data.py": DATASET,
    "syntax.py": "def fit(:",
    "without_fit.py": "fit = 5",
    "exits.py": "raise SystemExit(3)",
    "raises.py": "raise RuntimeError('at import')",
    "greet.py": "import click\n@click.command()\ndef command(): click.echo('hello')",
    "without_tasks.py": "FILES, FACTS = {}, {}\ndef build(task, files): ...",
    "without_build.py": "FILES, TASKS, FACTS = {}, {'a/b': 'c'}, {}",
}
POINTS = """
[transferbench.datasets]
good-data = plugged.good_data
without-tasks = plugged.without_tasks
without-build = plugged.without_build
exiting-data = plugged.exits
raising-data = plugged.raises
syntax-data = plugged.syntax
gone-data = plugged.gone
taken-out = transferbench.taken_out
[transferbench.commands]
greet = plugged.greet:command
exit-command = plugged.exits:command
raise-command = plugged.raises:command
no-command = plugged.good_model:fit
[transferbench.models.clustering]
good-model = plugged.good_model
without-fit = plugged.without_fit
exits = plugged.exits
raises = plugged.raises
syntax = plugged.syntax
gone = plugged.gone
of-function = plugged.good_model:fit
not-a-name = 5 of them
of-exiting = exiting.model
"""
LEFT_OUT_DATA = {
    *("without-tasks", "without-build"),
    *("exiting-data", "raising-data", "syntax-data", "gone-data"),
}
LEFT_OUT_MODELS = {"syntax", "gone", "of-function", "not-a-name", "of-exiting"}


@pytest.fixture
def site(plugin):
    """A folder with many broken plug-ins."""
    site = plugin(FILES, POINTS)
    (site / "exiting").mkdir()
    (site / "exiting" / "__init__.py").write_text("print('exiting')\nraise SystemExit('bye')")
    return site


def forget() -> None:
    """Forget the plug-ins that this process knows."""
    caches = models.registry, models.load, models.code, datasets.of_plugins
    for known in (*caches, plugins.points):
        known.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("plugged", "exiting")]:
        del sys.modules[name]


@pytest.fixture
def beside(site, call, monkeypatch):
    """Function that runs a command of this process beside the plug-ins: (out, err)."""
    monkeypatch.syspath_prepend(site)
    forget()

    def command(*arguments: str, code: int = 0) -> tuple[str, str]:
        got, out, err = call(*arguments)
        assert got == code, err
        return out, err

    yield command
    monkeypatch.undo()
    forget()


def left_out(err: str) -> list[str]:
    lines = [line for line in err.splitlines() if line.startswith("warning: plug-in ")]
    return sorted(line.split()[2] for line in lines)


def test_broken_plugins_are_named_once_and_the_rest_is_listed(beside, site):
    out, err = beside("list")
    assert left_out(err) == sorted(LEFT_OUT_DATA | LEFT_OUT_MODELS)
    assert "good-model" in out
    assert "kmeans" in out
    assert "good/one" in out
    assert "gtl/comp-vs-rec" in out
    assert not {f" {name} " for name in LEFT_OUT_MODELS} & {f" {word} " for word in out.split()}
    assert str(site) not in err, "a user needs no path in our code"


def test_other_models_run_beside_broken_plugins(beside):
    """Plug-ins are not looked up for a task and a model of ours."""
    out, err = beside("run", "generated/small:documents=40", "-m", "kmeans", "--json")
    assert json.loads(out)["status"] == "done"
    assert left_out(err) == []
    _, err = beside("run", "generated/small:documents=40", "-m", "good-model", "--dry-run")
    assert set(left_out(err)) == LEFT_OUT_MODELS
    _, err = beside("run", "good/one", "-m", "kmeans", code=2)
    assert set(left_out(err)) == LEFT_OUT_DATA


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("without-fit", "TypeError: there is no function `fit`"),
        ("exits", "SystemExit: 3"),
        ("raises", "RuntimeError: at import"),
    ],
)
def test_a_model_that_cannot_be_imported_is_one_line(beside, model, why):
    for command in (["run", "generated/small", "-m", model], ["describe", model]):
        out, err = beside(*command, code=2)
        last = err.splitlines()[-1]
        assert last.startswith(f"Error: model {model} cannot be used")
        assert why in last
        assert out == ""


def test_a_command_of_another_package_is_found_by_its_name(beside):
    assert beside("greet") == ("hello\n", "")
    assert "greet" not in beside("--help")[0]
    assert "Did you mean 'greet'?" in beside("gret", code=2)[1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("exit-command", "SystemExit: 3"),
        ("raise-command", "RuntimeError: at import"),
        ("no-command", "expected MODULE:NAME of a click.Command"),
    ],
)
def test_a_broken_command_of_another_package_is_one_line(beside, name, why):
    out, err = beside(name, code=2)
    assert out == ""
    assert err.startswith(f"Error: command {name} of another package")
    assert why in err
    assert err.count("\n") == 1
