"""Code that a run executes between its built task and its measures is in its fingerprint."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import slow_unless
from contract import MAKE, small_params

from transferbench import fingerprint, models, parameters
from transferbench.data import built
from transferbench.runs.perform import perform

#: Modules that a run executes and that are in no fingerprint: they find, report and store.
OUTSIDE = {"artefacts", "errors", "files", "messages", "models._registry", "plugins", "settings"}


def is_ours(model: models.Model) -> bool:
    return model.path.is_relative_to(models.FOLDER)


OURS = [model.name for model in models.registry().values() if is_ours(model)]
#: One of each engine, graph and start; the slow tests have every model.
QUICK = {"consensus", "gcmf", "himls", "lskmtc", "mtrick"}


@pytest.fixture(params=slow_unless(QUICK.__contains__, OURS))
def run(request, tmp_path):
    """A function that performs the run of a model on a small task."""
    model = models.get(request.param)
    built.write(tmp_path / "a.task", *MAKE[model.family](), name="a")
    params = parameters.resolve(models.load(model.name), small_params(model.name), model.name)

    def result():
        return perform(
            tmp_path / "a.task", "a", 1, model.name, params, 0,
            curve=True, store=None, report=lambda iteration, number: None,
        )  # fmt: skip

    result.model = model
    return result


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(fingerprint.PACKAGE).with_suffix("").parts)


def test_every_module_that_a_run_executes_is_in_its_fingerprint(run):
    run()  # imports what is imported late
    executed = set()

    def note(frame, event, argument):
        executed.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    inside = {Path(file) for file in executed if file.startswith(f"{fingerprint.PACKAGE}/")}
    traced = fingerprint.covered(run.model.path)
    traced |= fingerprint.covered(fingerprint.PACKAGE / "runs" / "perform.py")
    assert {name_of(path) for path in inside - traced} <= OUTSIDE
    assert OUTSIDE <= fingerprint.NOT_FINGERPRINTED


def test_modules_outside_the_fingerprint_change_no_result(run, monkeypatch):
    """Each of their functions is replaced everywhere: by one that raises, or does the least."""
    expected = run()
    costs = SimpleNamespace(clock=time.perf_counter, reused=0.0, peak_mib=0.0)
    least = {
        "artefact": lambda function: function,
        "get": lambda name: run.model,
        "open_regular": lambda path: path.open("rb"),
        "need": lambda name, *rest: importlib.import_module(name),
        "use": lambda store: contextlib.nullcontext(costs),
    }

    def stub(function):
        def raising(*arguments, **more):
            raise AssertionError(f"a result may depend on {function.__qualname__}")

        # A function with artefacts is replaced by the function that makes them.
        return getattr(function, "__wrapped__", None) or least.get(function.__name__, raising)

    files = {str(fingerprint.PACKAGE / f"{name.replace('.', '/')}.py") for name in OUTSIDE}
    for module in [m for n, m in sys.modules.items() if n.startswith("transferbench.")]:
        for key, value in [*vars(module).items()]:
            if inspect.isfunction(value) and value.__code__.co_filename in files:
                monkeypatch.setattr(module, key, stub(value))
    again = run()
    assert again.measures == expected.measures
    assert again.curve == expected.curve
    for ours, theirs in zip(again.fit.scores, expected.fit.scores, strict=True):
        assert np.array_equal(ours, theirs)
