"""Contract tests of every registered model; a new model file is tested automatically."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
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


#: Transfer models that are trained on labels of a target.
TRAINED = [name for name in TRANSFER if name != "nmf"]


def labelled(
    problem: Problem, Y: np.ndarray, seen: np.ndarray, weights: np.ndarray | None = None
) -> Problem:
    """Return the problem with labels Y (n, c) of some documents of its last domain."""
    *domains, target = problem.domains
    target = replace(target, Y=Y * seen[:, None], seen=seen, label_weights=weights)
    return replace(problem, domains=(*domains, target))


@cache
def fitted_with_labels(name: str) -> tuple[Problem, Truth, Fit]:
    """Fit the problem of `fitted` with twelve labels, of weights from 1 to 4."""
    problem, truth, _, _ = fitted(name)
    n = len(problem.domains[-1].seen)
    weights = 1 + np.arange(n) % 4 / 1.5
    problem = labelled(problem, truth.Y[-1], np.arange(n) % 3 == 0, weights)
    return problem, truth, run(name, problem)


@pytest.mark.parametrize(
    ("name", "labels"),
    [*((name, False) for name in ALL), *((name, True) for name in TRAINED)],
)
def test_permutations_permute_the_scores(name, labels):
    """Random starts follow the positions of features and domains: their own tests permute them."""
    problem, _, plain, *_ = fitted_with_labels(name) if labels else fitted(name)
    rng = np.random.default_rng(5)
    free = not parameters.takes_seed(models.load(name))
    n, m, classes = len(problem.domains), len(problem.domains[0].seen), len(problem.classes)
    rows = [np.arange(m) if name in POSITIONS else rng.permutation(m) for _ in range(n)]
    order = rng.permutation(classes) if free else np.arange(classes)
    domains = []
    for domain, take in zip(problem.domains, rows, strict=True):
        taken = domain.take(take)
        views = [sp.csr_array(view) for view in taken.views]
        if free or (name in CLUSTERING and name != "lssmtc"):  # which starts with the first
            columns = np.random.default_rng(6).permutation(views[0].shape[1])
            views[0] = views[0][:, columns]
        domains.append(replace(taken, views=tuple(views), Y=taken.Y[:, order]))
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


@pytest.mark.parametrize("name", TRAINED)
def test_labels_of_a_target_decide_its_documents_and_change_others(name):
    problem, truth, _, _ = fitted(name)
    n = len(problem.domains[-1].seen)
    seen, Y = np.arange(n) % 3 == 0, truth.Y[-1]
    wrong = np.roll(Y, 1, axis=1)
    fits = [run(name, labelled(problem, labels, seen)).scores[-1] for labels in (Y, wrong)]
    for labels, scores in zip((Y, wrong), fits, strict=True):
        assert (scores.argmax(axis=1) == labels.argmax(axis=1))[seen].all()
    assert (fits[0][~seen] != fits[1][~seen]).any()


@pytest.mark.parametrize("name", TRAINED)
def test_weights_of_labels_count_and_weights_of_one_change_no_digit(name):
    problem, truth, _, _ = fitted(name)
    n = len(problem.domains[-1].seen)
    seen, Y = np.arange(n) % 3 == 0, np.roll(truth.Y[-1], 1, axis=1)
    # The margin of a support vector machine with a large C is hard: weights would change nothing.
    soft = {"C": 0.01} if "C" in parameters.schema(models.load(name)) else {}
    plain, one, heavy = (
        run(name, labelled(problem, Y, seen, weights), **soft).scores[-1]
        for weights in (None, np.ones(n), np.where(seen, 1e3, 7.0))
    )
    assert plain.tobytes() == one.tobytes()
    assert (plain[~seen] != heavy[~seen]).any()


@pytest.mark.parametrize("name", ["lr", "svm"])
def test_a_weight_of_two_is_the_document_twice(name):
    problem, truth, _, _ = fitted(name)
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


def misleading(documents: int = 200) -> tuple[Problem, np.ndarray]:
    """Return a problem and the labels (n, 2) of its target.

    Of the words of a class in the source, 30 have the same class in the target and 12 the other; 18
    further words tell the classes in the target alone.
    """
    rng = np.random.default_rng(0)
    domains = []
    for source in (True, False):
        y = rng.permutation(np.arange(documents) % 2)
        rate = np.full((2, 60), 0.1)
        for c in range(2):
            rate[c, c:30:2] = 0.4
            rate[c, (30 + c if source else 31 - c) : 42 : 2] = 0.5
            rate[c, 42 + c :: 2] = 0.1 if source else 0.4
        X = rng.poisson(rate[y]) * rng.uniform(0.8, 1.2, (documents, 60))
        X /= np.linalg.norm(X, axis=1, keepdims=True).clip(1e-9)
        Y, seen = np.eye(2)[y], np.full(documents, source)
        name = "source" if source else "target"
        domains.append(Domain(name, (sp.csr_array(X),), Y * seen[:, None], seen))
    return Problem("misleading", "transfer", ("a", "b"), tuple(domains)), Y


@pytest.mark.parametrize("name", TRAINED)
def test_more_labels_do_no_harm_where_the_source_misleads(name):
    """Logistic regression has 64 per cent without labels.

    The bound is two standard errors of a difference of accuracies if one document in ten changes.
    """
    problem, Y = misleading()
    n = len(Y)
    accuracies = []
    for count in (0, 20, 60):
        fit = run(name, labelled(problem, Y, np.arange(n) < count))
        accuracies.append(np.mean((fit.scores[-1].argmax(axis=1) == Y.argmax(axis=1))[60:]))
    assert (np.diff(accuracies) > -2 * np.sqrt(0.1 / (n - 60))).all(), accuracies


@cache
def signed(labels: bool) -> tuple[Problem, np.ndarray]:
    """Return a problem with words and, beside them, numbers of both signs; and the target's labels.

    More than `graph.MANY_ENTRIES` numbers of a document are not zero.
    """
    problem, truth = make_problem(classes=3, documents=60)
    rng = np.random.default_rng(1)
    means = 0.3 * rng.standard_normal((3, 120))
    domains = []
    for domain, Y in zip(problem.domains, truth.Y, strict=True):
        vectors = (means[Y.argmax(axis=1)] + rng.standard_normal((60, 120))) / 8
        view = sp.csr_array(sp.hstack([domain.X, sp.csr_array(vectors)]))
        domains.append(replace(domain, views=(view,), signed=True))
    problem, seen = replace(problem, domains=tuple(domains)), np.arange(60) < 12
    return labelled(problem, truth.Y[-1], seen) if labels else problem, truth.Y[-1]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", TRAINED)
def test_negative_entries_are_accepted_or_refused_in_one_line(name, labels):
    problem, Y = signed(labels)
    if name in models.NONNEGATIVE:
        with pytest.raises(ValueError, match=f"{name} needs .*tsvm"):
            run(name, problem)
        return
    scores = run(name, problem).scores[-1]
    assert np.mean(scores.argmax(axis=1) == Y.argmax(axis=1)) > 0.8


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
