"""Contract tests of every registered model; a new model file is tested automatically."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from contract import ALL, small_params

from transferbench import artefacts, models, parameters
from transferbench.contract import (
    CHECKS,
    MAKE,
    ORDERS,
    SEED,
    Trial,
    labelled,
    plain_problem,
    report,
)  # fmt: skip
from transferbench.core import graph
from transferbench.core.parallel import use_threads
from transferbench.errors import Unavailable
from transferbench.problem import Fit, Problem

#: Checks for which few iterations are enough.
FEW = ("degenerate", "extreme-scale", "layouts")
#: Models without a check: with random starts by position, or with scores of clusters.
NOT_CHECKED = {
    **dict.fromkeys(("himlsd", "inductive", "lssmtc"), ("order",)),
    "nmf": ("order", "target-labels", "label-weights", "more-labels", "negative-entries"),
}


def family(name: str) -> str:
    return models.get(name).family


def moved(name: str) -> frozenset[str] | None:
    """Random starts follow the positions of features and domains: their own tests permute them."""
    if not parameters.takes_seed(models.load(name)):
        return ORDERS
    if name in NOT_CHECKED:
        return None
    return frozenset({"features" if family(name) == "clustering" else "documents"})


@cache
def trial(name: str, few: bool, thorough: bool) -> Trial:
    return Trial(name, small_params(name, few=few), thorough, moved(name), least_accuracy=0.8)


@cache
def checked(name: str, check: str, thorough: bool = False):
    """Return the result of a check; skip the test if an optional library is missing."""
    try:
        return trial(name, check in FEW, thorough).run(CHECKS[check])
    except Unavailable as error:
        pytest.skip(str(error))


def fitted(name: str) -> Fit:
    """Return the fit of the plain problem; skip the test if an optional library is missing."""
    try:
        return trial(name, few=False, thorough=False).fitted[0]
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("check", "name"),
    [(c.name, name) for c in CHECKS.values() for name in ALL if family(name) in c.families],
)
def test_a_model_keeps_the_contract(check, name):
    result = checked(name, check)
    expected = "skipped" if check in NOT_CHECKED.get(name, ()) else "ok"
    assert result.status == expected, "\n".join(report(result))


@pytest.mark.slow
@pytest.mark.parametrize("check", ["degenerate", "extreme-scale"])
@pytest.mark.parametrize("name", ALL)
def test_a_model_keeps_the_contract_at_all_limits(name, check):
    assert checked(name, check, thorough=True).status == "ok"


@pytest.mark.parametrize("name", [name for name in ALL if family(name) == "transfer"])
def test_scores_are_of_clusters_and_negative_entries_refused_where_this_is_stated(name):
    fit = fitted(name)
    assert (fit.columns == "clusters") == (name == "nmf")
    note = checked(name, "negative-entries").note
    refused = name in models.NONNEGATIVE and name != "nmf"
    assert ("refused: " in note and f"{name} needs" in note and "tsvm" in note) == refused


def run(name: str, problem: Problem, seed: int = SEED, **changes) -> Fit:
    """Fit with small sizes; skip the test if an optional library is missing."""
    try:
        values = parameters.resolve(models.load(name), small_params(name) | changes, name)
        return models.fit(name, problem, values, seed=seed, watch=None)
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ALL)
def test_artefacts_change_no_score(name, tmp_path, monkeypatch):
    """The first fit makes the artefacts on several threads, the second reuses them on one."""
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    plain = fitted(name)
    folder = artefacts.Folder(tmp_path, 2**30)
    for threads in (3, 1):
        with artefacts.use(folder) as usage, use_threads(threads):
            fit = run(name, plain_problem(family(name))[0])
        assert [F.tobytes() for F in fit.scores] == [F.tobytes() for F in plain.scores]
        assert fit.trace == plain.trace
    assert (usage.reused > 0) == any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["lr", "svm"])
def test_a_weight_of_two_is_the_document_twice(name):
    problem, truth = plain_problem("transfer")
    n, Y = len(problem.domains[-1].seen), truth.Y[-1]
    few = np.arange(n) % 3 == 0
    double = labelled(problem, Y, few, np.full(n, 2.0))
    once = labelled(problem, Y, few)
    *domains, target = once.domains
    rows = np.r_[np.arange(n), np.flatnonzero(few)]
    twice = replace(once, domains=(*domains, target.take(rows)))
    for C in (0.01, 1.0):
        np.testing.assert_allclose(
            run(name, double, C=C).scores[-1], run(name, twice, C=C).scores[-1][:n], atol=2e-3
        )


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (None, "NoneType, expected a Fit"),
        (Fit((np.ones((40, 2)),)), "scores of 1 domains, expected 2"),
        (Fit((np.ones((40, 2)), np.ones((40, 3)))), r"shape \(40, 3\) for target-1"),
        (Fit((np.ones((40, 2)), np.full((40, 2), np.nan))), "80 scores that are NaN or infinite"),
        (Fit((np.ones((40, 2)),) * 2, (1.0, np.nan)), "an objective that is NaN or infinite"),
        (
            Fit((np.ones((40, 2), complex),) * 2),
            "scores of type complex128 for source, expected re",
        ),
        (Fit((np.ones((40, 2), object),) * 2), "scores of type object for source"),
        (Fit((np.full((40, 2), "a"),) * 2), "scores of type <U1 for source"),
        (Fit((np.zeros((40, 2), "M8[s]"),) * 2), r"scores of type datetime64\[s\] for source"),
        (Fit((np.ma.masked_equal(np.eye(40)[:, :2], 0),) * 2), "masked scores for source; fill"),
        (Fit((sp.csr_array(np.ones((40, 3))),) * 2), r"shape \(40, 3\) for source"),
        (Fit((np.ones(40),) * 2), r"shape \(40,\) for source"),
        (Fit((np.full((40, 2), np.inf, np.float16),) * 2), "80 scores that are NaN or infinite"),
    ],
)
def test_a_wrong_fit_fails(fit, message, monkeypatch):
    monkeypatch.setattr("transferbench.models._fit.load", lambda name: lambda problem: fit)
    with pytest.raises(ValueError, match=f"gcmf returned .*{message}"):
        models.fit("gcmf", make_problem()[0], {}, seed=None, watch=None)


@pytest.mark.parametrize(
    "change",
    [np.asarray, np.matrix, sp.csr_array, sp.coo_matrix, np.ma.masked_array, list,
     *(lambda M, t=t: M.astype(t) for t in (bool, int, np.int8, np.float16, np.longdouble))],
)  # fmt: skip
def test_scores_of_any_real_type_become_arrays_of_floats(change, monkeypatch):
    given = np.arange(80).reshape(40, 2) % 2
    fit = Fit((change(given),) * 2)
    monkeypatch.setattr("transferbench.models._fit.load", lambda name: lambda problem: fit)
    for scores in models.fit("gcmf", make_problem()[0], {}, seed=None, watch=None).scores:
        assert type(scores) is np.ndarray
        assert scores.dtype == float
        assert np.array_equal(scores, given)


@pytest.mark.parametrize(
    "name", [name for name in ALL if "search" in parameters.schema(models.load(name))]
)
def test_the_least_recall_of_the_graphs_is_reported(name, monkeypatch):
    problem, _ = MAKE[models.get(name).family]()
    assert run(name, problem).diagnostics["graph_recall"] == 1
    if len(problem.targets) == 1:
        problem, _ = make_problem(targets=2)
    recalls = [0.93, 0.97]
    monkeypatch.setattr(graph, "_recall", lambda *_: recalls.pop(0))
    assert run(name, problem, search="rare-words").diagnostics["graph_recall"] == 0.93
    assert not recalls
