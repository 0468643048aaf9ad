"""Contract tests of every registered model; a new model file is tested automatically."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from functools import cache

import contract
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_clustering, make_multilabel, make_problem
from contract import ALL, MAKE, small_params

import transferbench
from transferbench import artefacts, models, parameters
from transferbench.core import graph
from transferbench.errors import Unavailable
from transferbench.measures import evaluate
from transferbench.problem import Domain, Fit, Problem, Truth

TRANSFER, CLUSTERING, MULTILABEL = (
    [model.name for model in models.registry().values() if model.family == family]
    for family in MAKE
)
DETERMINISTIC = [name for name in TRANSFER if not parameters.takes_seed(models.load(name))]


def make_small(name: str, **size) -> tuple[Problem, Truth]:
    """A small problem for a model."""
    return MAKE[models.get(name).family](**size)


def run(name: str, problem: Problem, seed: int = 3, **changes) -> Fit:
    """Fit with small sizes; skip the test if an optional library is missing."""
    try:
        sizes = small_params(name, few=False)
        return transferbench.fit(name, problem, seed=seed, **(sizes | changes))
    except Unavailable as error:
        pytest.skip(str(error))


@cache
def fitted(name: str) -> tuple[Problem, Fit, list[tuple[int, int, int]]]:
    """Fit a small problem once for all tests; return it, the fit, and the calls of `watch`."""
    calls: list[tuple[int, int, int]] = []
    problem, _ = make_small(name)
    fit = run(name, problem, watch=lambda i, n, scores: calls.append((i, n, len(scores))))
    return problem, fit, calls


def changed(problem: Problem, rows=None, columns=None, classes=None, dense=False) -> Problem:
    """Return the problem with permuted documents, features or classes, or with dense views."""
    domains = []
    for i, domain in enumerate(problem.domains):
        views, Y, seen = [sp.csr_array(view) for view in domain.views], domain.Y, domain.seen
        if rows is not None:
            views, Y, seen = [X[rows[i]] for X in views], Y[rows[i]], seen[rows[i]]
        if columns is not None:
            views[0] = views[0][:, columns]
        if classes is not None:
            Y = Y[:, classes]
        if dense:
            views = [X.toarray() for X in views]
        domains.append(Domain(domain.name, tuple(views), Y, seen))
    names = problem.classes if classes is None else tuple(problem.classes[c] for c in classes)
    return Problem(problem.name, problem.family, names, tuple(domains))


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


def test_importing_a_model_does_not_import_scikit_learn():
    """It takes a second to import, and is needed only to fit or score."""
    own = [
        model.module
        for model in models.registry().values()
        if model.module.startswith("transferbench.models.") and model.family != "multilabel"
    ]
    code = f"import sys, {', '.join(own)}, transferbench.measures; print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {"sklearn", "scipy.stats", "scipy.optimize"} & set(output.stdout.split())


@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("name", TRANSFER)
def test_scores_have_the_right_shape_and_beat_guessing(name, classes):
    """Also with several targets."""
    problem, truth = make_problem(classes=classes, documents=90, targets=classes - 1)
    fit = run(name, problem)
    assert [s.shape for s in fit.scores] == [(90, classes)] * classes
    assert all(np.isfinite(s).all() for s in fit.scores)
    measured = evaluate(fit, truth)
    assert list(measured) == [domain.name for domain in problem.targets]
    assert measured["target-1"]["accuracy"] > 1 / classes + 0.1


@pytest.mark.parametrize("classes", [pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("name", CLUSTERING)
def test_clusters_have_the_right_shape_and_beat_guessing(name, classes):
    problem, truth = make_clustering(classes=classes, documents=90, tasks=3)
    fit = run(name, problem)
    assert fit.columns == "clusters"
    assert [s.shape for s in fit.scores] == [(90, classes)] * 3
    assert all(np.isfinite(s).all() for s in fit.scores)
    guessing = 0.6 if classes == 2 else 0.42  # accuracy of random clusters after matching
    best = max(
        np.mean([d["accuracy"] for d in evaluate(run(name, problem, seed=s), truth).values()])
        for s in range(4)
    )
    assert best > guessing
    assert all(0 <= d["explained"] <= 1 for d in evaluate(fit, truth, problem).values())


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_scores_and_the_problem_is_unchanged(name):
    """Nor does it matter whether the fit is watched."""
    watched, first, _ = fitted(name)
    problem, _ = make_small(name)
    second = run(name, problem)
    for one, two in zip(first.scores, second.scores, strict=True):
        np.testing.assert_array_equal(one, two)
    fresh, _ = make_small(name)
    for before, *used in zip(fresh.domains, problem.domains, watched.domains, strict=True):
        for domain in used:
            pairs = zip((*before.views, before.Y), (*domain.views, domain.Y), strict=True)
            for array, after in pairs:
                np.testing.assert_array_equal(
                    sp.csr_array(array).toarray(), sp.csr_array(after).toarray()
                )


@pytest.mark.parametrize("name", [n for n in TRANSFER if n not in ("nmf", "consensus")])
def test_the_order_of_documents_does_not_matter(name):
    """NMF's start depends on the positions of documents; of consensus see its own tests."""
    problem, plain, _ = fitted(name)
    rng = np.random.default_rng(5)
    rows = [rng.permutation(len(domain.seen)) for domain in problem.domains]
    permuted = run(name, changed(problem, rows=rows))
    for one, two, order in zip(plain.scores, permuted.scores, rows, strict=True):
        np.testing.assert_allclose(two, one[order], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_order_of_features_and_classes_does_not_matter(name):
    """Models with a random start are excluded: their own tests also permute the start."""
    problem, _ = make_problem(classes=3)
    columns = np.random.default_rng(6).permutation(60)
    classes = [2, 0, 1]
    plain = run(name, problem)
    permuted = run(name, changed(problem, columns=columns, classes=classes))
    for one, two in zip(plain.scores, permuted.scores, strict=True):
        np.testing.assert_allclose(two, one[:, classes], rtol=2e-3, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_sparse_and_dense_views_agree(name):
    problem, sparse, _ = fitted(name)
    dense = run(name, changed(problem, dense=True))
    for one, two in zip(sparse.scores, dense.scores, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_watch_is_called_after_every_iteration_or_never(name):
    _, fit, calls = fitted(name)
    assert calls == [(i + 1, len(calls), 2) for i in range(len(calls))]
    assert len(fit.trace) == len(calls)


def test_a_problem_contains_no_target_labels():
    problem, _ = make_problem()
    assert not any(domain.Y.any() for domain in problem.targets)
    assert problem.domains[0].Y.sum() == 40


@pytest.mark.parametrize("name", ALL)
def test_an_unknown_parameter_is_an_error(name):
    from transferbench.errors import UserError

    with pytest.raises(UserError, match="unknown parameter"):
        transferbench.fit(name, make_small(name)[0], no_such_thing=1)


@pytest.mark.parametrize("name", [name for name in CLUSTERING if name != "lssmtc"])
def test_clusters_do_not_depend_on_the_order_of_features(name):
    """Documents are not permuted: a random start depends on their positions.

    LSSMTC takes the first features.
    """
    problem, _ = make_clustering(classes=3)
    columns = np.random.default_rng(6).permutation(60)
    plain, permuted = (run(name, p) for p in (problem, changed(problem, columns=columns)))
    for one, two in zip(plain.scores, permuted.scores, strict=True):
        np.testing.assert_allclose(two, one, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("tasks", "views"), [(1, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("name", MULTILABEL)
def test_labels_have_the_right_shape_and_beat_guessing(name, tasks, views):
    problem, truth = make_multilabel(tasks=tasks, views=views, labels=4, documents=90)
    fit = run(name, problem)
    assert fit.columns == "classes"
    assert [s.shape for s in fit.scores] == [(90, 4)] * tasks
    assert all(np.isfinite(s).all() for s in fit.scores)
    all_labels = Fit(tuple(np.ones_like(Y) for Y in truth.Y))
    f1, guessing = (
        np.mean([d["f1"] for d in evaluate(f, truth).values()]) for f in (fit, all_labels)
    )
    assert f1 > guessing + 0.1


def breaches(name: str, kind: str, cases) -> list[str]:
    """Return the cases that break the contract; skip the test without an optional library."""
    try:
        outcomes = {case: contract.check(name, kind, case) for case in cases}
    except Unavailable as error:
        pytest.skip(str(error))
    return [f"{case}: {outcome.wrong}" for case, outcome in outcomes.items() if outcome.wrong]


#: Those that reach the most different code; the others are slow tests.
LIMITS = (
    "one class", "no label in seen rows", "one document a domain", "all seen", "nothing seen",
    "half seen in each", "only the first domain", "all zero", "one feature", "largest floats",
)  # fmt: skip
SCALES = ("X · 1e-20 in float64", "X · 1e+30 in float64")
FORMS = ("float64, csr, read-only", "float64, C, read-only", "float32, csr, unsorted")


@pytest.mark.parametrize("name", ALL)
def test_a_degenerate_problem_is_solved_or_refused_in_one_line(name):
    assert not breaches(name, "degenerate", LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_any_degenerate_problem_is_solved_or_refused_in_one_line(name):
    assert not breaches(name, "degenerate", contract.degenerate().keys() - {*LIMITS})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "setting"), [("ncut", "pool_tasks=True")])
def test_a_degenerate_problem_is_solved_or_refused_by_a_variant(name, setting):
    cases = [f"{case} with {setting}" for case in contract.degenerate()]
    assert not breaches(name, "variant", cases)


@pytest.mark.parametrize("name", ALL)
def test_an_extreme_scale_changes_no_decision_without_a_warning(name):
    assert not breaches(name, "scaled", SCALES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_no_scale_changes_a_decision_without_a_warning(name):
    assert not breaches(name, "scaled", list(contract.scaled())[::4])


@pytest.mark.parametrize("name", ALL)
def test_the_layouts_that_a_domain_keeps_give_the_same_decisions(name):
    """All other layouts become one of these, see test_domain.py."""
    assert not breaches(name, "layout", FORMS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_permutations_change_no_decision(name):
    assert not breaches(name, "permuted", contract.permutations(name)[::7])


def test_a_model_without_sources_or_labels_of_one_class_is_clear():
    """These raised errors about unpacking values."""
    for name, case in (("mrtl", "all seen"), ("gcmf", "all zero"), ("ncut", "all zero")):
        outcome = contract.check(name, "degenerate", case)
        assert re.search(
            "expected a target|has the features of|share a feature", str(outcome.error)
        )
    assert contract.check("mrtl", "degenerate", "half seen in each").fit is not None
    assert contract.check("ls-ml", "degenerate", "one class").fit is not None


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (None, "NoneType, expected a Fit"),
        (Fit((np.ones((40, 2)),)), "scores of 1 domains, expected 2"),
        (Fit((np.ones((40, 2)), np.ones((39, 2)))), r"shape \(39, 2\) for target-1"),
        (Fit((np.ones((40, 2)), np.ones((40, 3)))), r"shape \(40, 3\) for target-1"),
        (Fit((np.ones((40, 2)), np.full((40, 2), np.nan))), "80 scores that are NaN or infinite"),
        (Fit((np.full((40, 2), -np.inf), np.ones((40, 2)))), "80 scores that are NaN or infinite"),
        (Fit((np.ones((40, 2)),) * 2, (1.0, np.nan)), "an objective that is NaN or infinite"),
    ],
)
def test_a_wrong_fit_fails(fit, message, monkeypatch):
    monkeypatch.setattr(models, "load", lambda name: lambda problem: fit)
    with pytest.raises(ValueError, match=f"gcmf returned .*{message}"):
        models.fit("gcmf", make_problem()[0], {}, seed=None, watch=None)


def test_clusters_may_differ_in_number_from_the_classes(monkeypatch):
    fit = Fit((np.ones((40, 3)),) * 2, columns="clusters")
    monkeypatch.setattr(models, "load", lambda name: lambda problem: fit)
    assert models.fit("kmeans", make_clustering()[0], {}, seed=None, watch=None) is fit


@pytest.mark.parametrize("name", ALL)
def test_artefacts_change_no_score(name, tmp_path, monkeypatch):
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    problem, plain, _ = fitted(name)
    for _ in range(2):  # the first fit makes the artefacts, the second reuses them
        with artefacts.use(artefacts.Folder(tmp_path, 2**30)) as usage:
            fit = run(name, problem)
        assert [F.tobytes() for F in fit.scores] == [F.tobytes() for F in plain.scores]
        assert fit.trace == plain.trace
    assert (usage.reused > 0) == any(tmp_path.iterdir())


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
