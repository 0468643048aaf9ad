"""What every model in the folder promises, asked of each; a new file is tested by existing."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_clustering, make_multilabel, make_problem

import transferbench
from transferbench import models, parameters
from transferbench.errors import Unavailable
from transferbench.metrics import evaluate
from transferbench.problem import Domain, Fit, Problem, Truth

#: Family → what makes a small problem of it.
MAKE = {"transfer": make_problem, "clustering": make_clustering, "multilabel": make_multilabel}
TRANSFER, CLUSTERING, MULTILABEL = (
    [model.name for model in models.registry().values() if model.family == family]
    for family in MAKE
)
ALL = list(models.registry())
#: Small settings for small problems, where a model's own are too large.
SMALL = {"k": 6, "kappa": 3, "k1": 3, "k2": 6, "k3": 2, "p": 4, "b": 6.0, "r": 8, "sigma": 4.0}
#: The same for models of several layers.
FEW = {"p": [6], "q": [6]}
DETERMINISTIC = [name for name in TRANSFER if not parameters.takes_seed(models.load(name))]


def made(name: str, **size) -> tuple[Problem, Truth]:
    """A small problem for a model."""
    return MAKE[models.get(name).family](**size)


def small(name: str) -> dict:
    chosen = FEW if models.get(name).family == "multilabel" else SMALL
    return {
        key: value for key, value in chosen.items() if key in parameters.schema(models.load(name))
    }


def run(name: str, problem: Problem, seed: int = 3, **changes) -> Fit:
    """A small fit; skips the test of a model whose library, of an extra, is not installed."""
    try:
        return transferbench.fit(name, problem, seed=seed, **(small(name) | changes))
    except Unavailable as error:
        pytest.skip(str(error))


def changed(problem: Problem, rows=None, columns=None, classes=None, dense=False) -> Problem:
    """The problem with permuted documents, features or classes, or with dense views."""
    domains = []
    for i, domain in enumerate(problem.domains):
        views, Y, seen = [sp.csr_array(view) for view in domain.views], domain.Y, domain.seen
        if rows is not None:
            views, Y, seen = [X[rows[i]] for X in views], Y[rows[i]], seen[rows[i]]
        if columns is not None:
            views[0] = views[0][:, columns]
        if classes is not None:
            Y = Y[:, classes]
        found = tuple(X.toarray() if dense else X for X in views)
        domains.append(Domain(domain.name, found, Y, seen))
    names = problem.classes if classes is None else tuple(problem.classes[c] for c in classes)
    return Problem(problem.name, problem.family, names, tuple(domains))


@pytest.mark.parametrize("name", ALL)
def test_the_file_says_what_it_is(name):
    """The docstring opens with a name and states an objective; every parameter is typed."""
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


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", TRANSFER)
def test_scores_have_the_promised_shape_and_beat_guessing(name, classes):
    problem, truth = make_problem(classes=classes, documents=90)
    fit = run(name, problem)
    assert [s.shape for s in fit.scores] == [(90, classes)] * 2
    assert all(np.isfinite(s).all() for s in fit.scores)
    assert evaluate(fit, truth)["target-1"]["accuracy"] > 1 / classes + 0.1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLUSTERING)
def test_clusters_have_the_promised_shape_and_beat_guessing(name, classes):
    problem, truth = make_clustering(classes=classes, documents=90, tasks=3)
    fit = run(name, problem)
    assert fit.columns == "clusters"
    assert [s.shape for s in fit.scores] == [(90, classes)] * 3
    assert all(np.isfinite(s).all() for s in fit.scores)
    found = evaluate(fit, truth, problem)
    guessing = 0.6 if classes == 2 else 0.42  # matched with classes, random clusters reach this
    best = max(
        np.mean([d["accuracy"] for d in evaluate(run(name, problem, seed=s), truth).values()])
        for s in range(4)
    )
    assert best > guessing
    assert all(0 <= d["explained"] <= 1 for d in found.values())


@pytest.mark.parametrize("name", TRANSFER)
def test_takes_several_targets(name):
    problem, truth = make_problem(targets=3)
    assert set(evaluate(run(name, problem), truth)) == {"target-1", "target-2", "target-3"}


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_scores_and_the_problem_is_left_alone(name):
    problem, _ = made(name)
    before = [[sp.csr_array(view).toarray() for view in (*d.views, d.Y)] for d in problem.domains]
    first, second = run(name, problem), run(name, problem)
    for one, two in zip(first.scores, second.scores, strict=True):
        np.testing.assert_array_equal(one, two)
    for kept, domain in zip(before, problem.domains, strict=True):
        for array, now in zip(kept, (*domain.views, domain.Y), strict=True):
            np.testing.assert_array_equal(array, sp.csr_array(now).toarray())


@pytest.mark.parametrize("name", [n for n in TRANSFER if n != "nmf"])
def test_documents_in_another_order_get_the_same_scores(name):
    """Not asked of NMF, whose start belongs to the place of a document."""
    problem, _ = make_problem(documents=41)
    rng = np.random.default_rng(5)
    rows = [rng.permutation(41) for _ in problem.domains]
    plain, permuted = run(name, problem), run(name, changed(problem, rows=rows))
    for one, two, order in zip(plain.scores, permuted.scores, rows, strict=True):
        np.testing.assert_allclose(two, one[order], rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_features_and_classes_in_another_order_change_nothing(name):
    """Not asked of models that start at random: tests of their own permute the start, too."""
    problem, _ = make_problem(classes=3)
    columns = np.random.default_rng(6).permutation(60)
    classes = [2, 0, 1]
    plain = run(name, problem)
    permuted = run(name, changed(problem, columns=columns, classes=classes))
    for one, two in zip(plain.scores, permuted.scores, strict=True):
        np.testing.assert_allclose(two, one[:, classes], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ALL)
def test_sparse_and_dense_views_agree(name):
    problem, _ = made(name)
    for one, two in zip(
        run(name, problem).scores, run(name, changed(problem, dense=True)).scores, strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_watch_is_told_every_iteration_or_never(name):
    told = []
    problem, _ = made(name)
    fit = run(name, problem, seed=0, watch=lambda i, n, s: told.append((i, n, len(s))))
    assert told == [(i + 1, len(told), 2) for i in range(len(told))]
    assert len(fit.trace) == len(told)


@pytest.mark.parametrize("name", TRANSFER)
def test_target_labels_cannot_matter(name):
    """A problem carries no label of a target at all: nothing to leak."""
    problem, _ = make_problem()
    assert not any(domain.Y.any() for domain in problem.targets)
    assert problem.domains[0].Y.sum() == 40


@pytest.mark.parametrize("name", ALL)
def test_a_wrong_parameter_is_refused_before_it_runs(name):
    from transferbench.errors import UserError

    with pytest.raises(UserError, match="unknown parameter"):
        transferbench.fit(name, made(name)[0], no_such_thing=1)


@pytest.mark.parametrize("name", CLUSTERING)
def test_clusters_do_not_hang_on_the_order_of_features(name):
    """Documents are not permuted: which of them a random start picks hangs on its place."""
    problem, _ = make_clustering(classes=3)
    columns = np.random.default_rng(6).permutation(60)
    plain, permuted = run(name, problem), run(name, changed(problem, columns=columns))
    for one, two in zip(plain.scores, permuted.scores, strict=True):
        np.testing.assert_allclose(two, one, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("tasks", "views"), [(1, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("name", MULTILABEL)
def test_labels_have_the_promised_shape_and_beat_guessing(name, tasks, views):
    problem, truth = make_multilabel(tasks=tasks, views=views, labels=4, documents=90)
    fit = run(name, problem)
    assert fit.columns == "classes"
    assert [s.shape for s in fit.scores] == [(90, 4)] * tasks
    assert all(np.isfinite(s).all() for s in fit.scores)
    every = Fit(tuple(np.ones_like(Y) for Y in truth.Y))
    found, guessed = (np.mean([d["f1"] for d in evaluate(f, truth).values()]) for f in (fit, every))
    assert found > guessed + 0.1
