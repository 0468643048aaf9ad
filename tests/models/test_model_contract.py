"""Contract tests of every registered model; a new model file is tested automatically."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from contract import (
    ALL,
    LAYOUTS,
    MAKE,
    QUICK,
    SLOW,
    Change,
    changed,
    check_scores,
    content,
    different,
    read_only,
    small_params,
    solve,
    with_views,
)  # fmt: skip

import transferbench
from transferbench import artefacts, models, parameters
from transferbench.core import graph
from transferbench.core.parallel import use_threads
from transferbench.errors import Unavailable
from transferbench.measures import evaluate
from transferbench.problem import Domain, Fit, Problem, Truth

TRANSFER, CLUSTERING, MULTILABEL = (
    [model.name for model in models.registry().values() if model.family == family]
    for family in MAKE
)


def run(name: str, problem: Problem, seed: int = 3, **changes) -> Fit:
    """Fit with small sizes; skip the test if an optional library is missing."""
    try:
        sizes = small_params(name)
        return transferbench.fit(name, problem, seed=seed, **(sizes | changes))
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ALL)
def test_the_docstring_states_an_objective_and_parameters_are_typed(name):
    doc = ast.get_docstring(ast.parse(models.get(name).path.read_text(encoding="utf-8")))
    assert doc
    first, _, rest = doc.partition("\n")
    assert first.endswith(".")
    assert "min " in rest
    function = models.load(name)
    assert next(iter(inspect.signature(function).parameters)) == "problem"
    for parameter in parameters.schema(function).values():
        assert parameter.default is not inspect.Parameter.empty, f"{parameter.name} has no default"
        assert parameters.convert(parameter.default, parameter.type, "") == parameter.default


#: Models that depend on the positions of documents, by their start or by rounding in a choice.
POSITIONS = {"nmf", "consensus", "inductive", "himlsd", *CLUSTERING}


@cache
def fitted(name: str) -> tuple[Problem, Truth, Fit, list[tuple[int, int, int]]]:
    """Fit a problem of three domains once for all tests; return also the calls of `watch`."""
    size = {"labels": 4, "documents": 60} if name in MULTILABEL else {"classes": 3}
    size |= {"targets": 2} if name in TRANSFER else {"tasks": 3}
    problem, truth = MAKE[models.get(name).family](**size)
    calls: list[tuple[int, int, int]] = []
    fit = run(name, problem, watch=lambda i, n, scores: calls.append((i, n, len(scores))))
    return problem, truth, fit, calls


def mean(measure: str, fit: Fit, truth: Truth) -> float:
    return float(np.mean([domain[measure] for domain in evaluate(fit, truth).values()]))


@pytest.mark.parametrize("name", ALL)
def test_scores_have_the_right_shape_and_beat_guessing(name):
    problem, truth, fit, _ = fitted(name)
    check_scores(fit, problem)
    if name != "nmf":  # whose clusters are matched with classes
        assert fit.columns == ("clusters" if name in CLUSTERING else "classes")
    if name in TRANSFER:
        assert list(evaluate(fit, truth)) == [domain.name for domain in problem.targets]
        assert evaluate(fit, truth)["target-1"]["accuracy"] > 1 / 3 + 0.1
    elif name in MULTILABEL:
        all_labels = Fit(tuple(np.ones_like(Y) for Y in truth.Y))
        assert mean("f1", fit, truth) > mean("f1", all_labels, truth) + 0.1
    else:  # random clusters match 0.42 of the documents
        others = (run(name, problem, seed=seed) for seed in range(3))
        assert any(mean("accuracy", each, truth) > 0.42 for each in chain([fit], others))
        assert all(0 <= d["explained"] <= 1 for d in evaluate(fit, truth, problem).values())


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_scores(name, tmp_path, monkeypatch):
    """Watched or not, with artefacts made or reused, and threads; the problem stays as it was."""
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    problem, _, plain, calls = fitted(name)
    before = content(problem)
    folder, memory = artefacts.Folder(tmp_path, 2**30), {}
    # The first fit makes the artefacts, the second reuses them.
    for store, threads in ((memory, 2), (memory, 1), (folder, 3), (folder, 1)):
        with artefacts.use(store) as usage, use_threads(threads):
            fit = run(name, problem)
        assert [F.tobytes() for F in fit.scores] == [F.tobytes() for F in plain.scores]
        assert fit.trace == plain.trace
    assert (usage.reused > 0) == any(tmp_path.iterdir())
    assert content(problem) == before
    assert calls == [(i + 1, len(calls), 3) for i in range(len(calls))]
    assert len(fit.trace) == len(calls)


@pytest.mark.parametrize("name", ALL)
def test_permutations_permute_the_scores(name):
    """Random starts follow the positions of features and domains: their own tests permute them."""
    problem, _, plain, _ = fitted(name)
    rng = np.random.default_rng(5)
    free = not parameters.takes_seed(models.load(name))
    n, m, classes = len(problem.domains), len(problem.domains[0].seen), len(problem.classes)
    rows = [np.arange(m) if name in POSITIONS else rng.permutation(m) for _ in range(n)]
    order = rng.permutation(classes) if free else np.arange(classes)
    domains = []
    for domain, take in zip(problem.domains, rows, strict=True):
        views = [sp.csr_array(view)[take] for view in domain.views]
        if free or (name in CLUSTERING and name != "lssmtc"):  # which starts with the first
            columns = np.random.default_rng(6).permutation(views[0].shape[1])
            views[0] = views[0][:, columns]
        Y, seen = domain.Y[take][:, order], domain.seen[take]
        domains.append(Domain(domain.name, tuple(views), Y, seen))
    places = [0, *range(n - 1, 0, -1)] if free else range(n)
    names = tuple(problem.classes[c] for c in order)
    moved = Problem(problem.name, problem.family, names, tuple(domains[i] for i in places))
    permuted = run(name, moved)
    expected = [plain.scores[i][rows[i]][:, order] for i in places]
    if name in MULTILABEL:  # fine-tuning magnifies rounding
        assert not different(Fit(tuple(expected)), permuted, "multilabel")
    else:
        for one, two in zip(expected, permuted.scores, strict=True):
            np.testing.assert_allclose(one, two, rtol=2e-3, atol=2e-3)


def broken(name: str, cases: dict[str, Change], **params: object) -> dict[str, str]:
    """Return what breaks the contract by case; skip the test without an optional library."""
    errors = {}
    for case, change in cases.items():
        try:
            problem = changed(models.get(name).family, change)
        except ValueError:  # refused by Problem
            continue
        try:
            solve(name, problem, **params)
        except Unavailable as error:
            pytest.skip(str(error))
        except Exception as error:
            errors[case] = f"{type(error).__name__}: {error}"
    return errors


@pytest.mark.parametrize(
    "cases", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)], ids=["quick", "all"]
)
@pytest.mark.parametrize("name", ALL)
def test_a_degenerate_problem_is_solved_or_refused_in_one_line(name, cases):
    assert not broken(name, cases)


@cache
def reference(name: str, dtype: type = float) -> Fit:
    try:
        family = models.get(name).family
        problem = with_views(changed(family), lambda X: read_only(X.astype(dtype)))
        fit, _ = solve(name, problem)
    except Unavailable as error:
        pytest.skip(str(error))
    assert fit is not None
    return fit


@pytest.mark.parametrize(
    "factors",
    [(1e-20, 1e30), pytest.param((1e-300, 1e-4, 1e4, 1e10, 1e300), marks=pytest.mark.slow)],
    ids=["quick", "all"],
)
@pytest.mark.parametrize("name", ALL)
def test_an_extreme_scale_changes_no_decision_without_a_warning(name, factors):
    family, plain = models.get(name).family, reference(name)
    for factor in factors:
        fit, warned = solve(name, with_views(changed(family), lambda X, f=factor: X * f))
        assert fit is None or warned or not different(plain, fit, family), factor


@pytest.mark.parametrize("name", ALL)
def test_the_layouts_that_a_domain_keeps_give_the_same_decisions(name):
    """All other layouts become one of these, see test_domain.py."""
    family = models.get(name).family
    for layout, change in LAYOUTS.items():
        # The one-hot scores of NCut hide near ties: compare fits of the same precision.
        plain = reference(name, np.float32 if layout == "float32" and name == "ncut" else float)
        fit, _ = solve(name, with_views(changed(family), change))
        assert fit is not None
        assert not different(plain, fit, family), layout


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
