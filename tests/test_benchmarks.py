"""The benchmarks run: each is measured once on little data; `make bench` measures them all."""

from __future__ import annotations

import importlib
import math
import sys

import pytest
from conftest import ROOT, make_problem


@pytest.fixture
def suite(monkeypatch):
    """Function that imports a file of benchmarks/suite."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    yield lambda name: importlib.import_module(f"suite.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "suite"]:
        monkeypatch.delitem(sys.modules, name)


MODELS = ("gcmf", "mtrick", "dkt", "dtl", "tritl", "mrtl", "himls")


@pytest.mark.parametrize("model", MODELS)
def test_an_iteration_is_compared_with_nmf_and_with_the_machine(suite, model):
    iteration = suite("iteration")
    assert tuple(iteration.MODELS) == MODELS
    problem, truth = make_problem(documents=100, features=150)
    found = iteration.measure(model, problem, truth, machine=(1e9, 1e9), rounds=1, iterations=3)
    assert found.keys() >= {"seconds", "over nmf mu", "over nmf cd"}
    assert ("over limit" in found) == (model != "himls")
    assert all(math.isfinite(value) and value > 0 for value in found.values())
    tracks = iteration.Iteration()
    assert tracks.track_iteration_over_nmf({model: found}, model) == found["over nmf mu"]


@pytest.mark.parametrize("model", ["dtl", "himls"])
def test_a_fit_is_compared_with_one_without_flush_and_with_two_threads(suite, model):
    iteration = suite("iteration")
    problem = iteration.problem_of(model, *make_problem(documents=100, features=150))
    for ratio in (iteration.flush_ratio, iteration.threads_ratio):
        assert 0 < ratio(model, problem, rounds=1, iterations=3) < math.inf


def test_a_second_fit_reads_graphs_and_start(suite):
    assert suite("large").reuse(make_problem(documents=100, features=150)[0]) > 0


@pytest.mark.slow
def test_predict_and_the_searches_are_measured_on_texts(suite, real, monkeypatch):
    large = suite("large")
    monkeypatch.setattr(large, "PROBE", 50)
    found = large.predict(600, ("LogisticRegression", "lr"))
    assert all(each["accuracy"] > 0.6 and each["MiB"] > 20 for each in found.values())
    searches = large.search_all(text for _, text in large.made_texts(300)["target"])
    assert tuple(searches) == large.SEARCHES
    assert all(seconds >= 0 and 0.5 < recall <= 1 for seconds, recall in searches.values())
