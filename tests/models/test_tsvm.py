"""TSVM: optimal switches, a falling objective, and its limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from sklearn.svm import LinearSVC

from transferbench.models.transfer import tsvm

LEVELS = 2.0 ** np.arange(-6, 1)


def hinge(margin: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - margin)


def objective(w: np.ndarray, X, y, weight) -> float:
    return w @ w / 2 + weight @ hinge(y * tsvm.values(X, w))


def plain_svm(X, y, weight) -> np.ndarray:
    """Return w and b by LIBLINEAR."""
    svm = LinearSVC(loss="hinge", max_iter=100_000, random_state=0).fit(X, y, sample_weight=weight)
    return np.append(svm.coef_, svm.intercept_)


def record_trainings(monkeypatch) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return a list of signs, weights and objective that every training is added to."""
    trainings, train = [], tsvm._train

    def record(X, y, weight, *others):
        w = train(X, y, weight, *others)
        value = w @ w / 2 + weight @ hinge(y * (X @ w))
        trainings.append((y.copy(), weight.copy(), value))
        return w

    monkeypatch.setattr(tsvm, "_train", record)
    return trainings


@pytest.fixture
def small():
    """Twenty labelled documents and 200 random ones, so that many signs are switched."""
    rng = np.random.default_rng(0)
    X, T = rng.standard_normal((20, 30)), rng.standard_normal((200, 30))
    return X, np.repeat([1.0, -1.0], 10), T


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("near", [None, np.zeros(200)])
def test_where_liblinear_does_not_end_soon_the_machine_is_as_good(form, near, monkeypatch):
    """Ten documents are there twice; a third has no weight."""
    rng = np.random.default_rng(0)
    X = 10 * rng.standard_normal((150, 200))
    X[:10] = X[10:20]
    y, weight = rng.choice([-1.0, 1.0], 150), rng.choice([0.0, 1e-3, 1.0], 150)
    passes, liblinear = [], tsvm._liblinear

    def record(X, y, weight, tol, limit):
        passes.append(limit)
        return liblinear(X, y, weight, tol, limit)

    monkeypatch.setattr(tsvm, "_liblinear", record)
    exact = tsvm._train(form(X), y, weight, 1e-8, near)
    assert passes == [tsvm.PASSES]
    monkeypatch.setattr(tsvm, "PASSES", 5)
    w = tsvm._train(form(X), y, weight, 1e-8, near)
    assert passes[1:] == [5]
    np.testing.assert_allclose(w, exact, rtol=1e-5)
    monkeypatch.setattr(tsvm, "MOST_FREE", 1)  # so LIBLINEAR decides
    np.testing.assert_array_equal(tsvm._train(form(X), y, weight, 1e-8, near), exact)


@pytest.mark.parametrize("positives", [0, 4, 9])
def test_positive_signs_of_the_largest_values_are_optimal(positives):
    """Compared with every choice of as many positives; some values are outside the margins."""
    rng = np.random.default_rng(positives)
    for _ in range(20):
        f = 2 * rng.standard_normal(9)
        best = min(
            hinge(f[list(chosen)]).sum() + hinge(-np.delete(f, list(chosen))).sum()
            for chosen in combinations(range(9), positives)
        )
        sign = tsvm.largest(f, positives)
        assert (sign > 0).sum() == positives
        assert hinge(sign * f).sum() == pytest.approx(best)


def test_no_training_at_one_weight_increases_the_objective(small, monkeypatch):
    """Every training is recorded, including those whose machine is rejected."""
    X, sign, T = small
    trainings = record_trainings(monkeypatch)
    _, objectives = zip(*tsvm.transduce(X, sign, T, 80, 1.0, LEVELS), strict=True)
    trainings = trainings[1:]  # the first uses only the labelled documents
    assert all((y[len(sign) :] > 0).sum() == 80 for y, _, _ in trainings)
    assert all((y[: len(sign)] == sign).all() for y, _, _ in trainings)
    falls = 0
    for level, reported in zip(LEVELS, objectives, strict=True):
        values = [value for _, weight, value in trainings if weight[-1] == level]
        assert (np.diff(values) <= 1e-5 * np.array(values[:-1])).all()
        assert (np.diff(reported) < 0).all()
        np.testing.assert_allclose(reported, values[: len(reported)])
        falls += len(reported) - 1
    assert falls >= 3


def test_the_schedule_ends_at_c_and_grows_by_the_factor():
    levels = tsvm.schedule(2.0, 1e-5, 1.5)
    assert levels[0] == pytest.approx(2e-5)
    assert levels[-1] == 2.0
    np.testing.assert_allclose(levels[1:-1] / levels[:-2], 1.5)
    assert 1 < levels[-1] / levels[-2] <= 1.5
    np.testing.assert_allclose(tsvm.schedule(1.0, 2.0**-10, 2.0), 2.0 ** np.arange(-10, 1))
    np.testing.assert_array_equal(tsvm.schedule(3.0, 1.0, 2.0), [3.0])


def test_one_pair_is_switched_a_training_and_positive_signs_weigh_more(small, monkeypatch):
    """Unequal weights: 40 of 200 signs are positive, so they weigh four times as much."""
    X, sign, T = small
    n, trainings = len(sign), record_trainings(monkeypatch)
    list(tsvm.transduce(X, sign, T, 40, 1.0, LEVELS, balance=True, pairs=1))
    # The first uses only the labelled documents.
    trainings = [(y[n:], weight[n:], value) for y, weight, value in trainings[1:]]
    switches = 0
    for (y, weight, value), (then, later, smaller) in pairwise(trainings):
        assert (y > 0).sum() == 40
        np.testing.assert_allclose(weight, np.where(y > 0, 4, 1) * weight.min())
        if weight.min() == later.min():
            assert (y != then).sum() == 2
            assert smaller <= value * (1 + 1e-5)
            switches += 1
    assert switches > 10


def test_every_weight_of_every_class_and_target_is_watched():
    problem, _ = make_problem(targets=2, classes=3)
    calls = []
    fit = tsvm.fit(problem, start=0.1, watch=lambda i, n, scores: calls.append((i, n)))
    n = 2 * 3 * len(tsvm.schedule(1.0, 0.1, 3.0))
    assert calls == [(i, n) for i in range(1, n + 1)]
    assert len(fit.trace) == n


def test_a_class_without_labels_is_never_decided():
    problem, truth = make_problem(classes=3)
    source, target = problem.domains
    source = source.take(np.flatnonzero(truth.Y[0][:, 2] == 0))
    fit = tsvm.fit(replace(problem, domains=(source, target)), start=0.1)
    assert set(fit.scores[1].argmax(axis=1)) == {0, 1}


@pytest.mark.parametrize("pairs", [1, 3, None])
def test_switched_pairs_are_the_most_misplaced(pairs):
    rng = np.random.default_rng(3)
    for _ in range(20):
        f = rng.standard_normal(12)
        sign = rng.permutation(np.repeat([1.0, -1.0], [5, 7]))
        new = tsvm._switch(sign, f, pairs)
        best = sign.copy()
        for _ in range(pairs or 12):
            up = max(np.flatnonzero(best < 0), key=lambda i: f[i])
            down = min(np.flatnonzero(best > 0), key=lambda i: f[i])
            if f[up] > f[down]:
                best[up], best[down] = 1, -1
        np.testing.assert_array_equal(new, best)
