"""Baselines and controls against scikit-learn and their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import transferbench
from transferbench.core.graph import cosine_graph
from transferbench.core.logistic import logistic_regression
from transferbench.core.scale import unit_rows
from transferbench.problem import Domain, Problem


@pytest.fixture
def parts():
    problem, truth = make_problem(seed=2, documents=60)
    source, target = problem.domains
    return problem, source.X, truth.Y[0].argmax(axis=1), target.X


@pytest.mark.parametrize("intercept", [True, False])
def test_lr_equals_scikit_learn(parts, intercept):
    problem, X, y, T = parts
    X, y, T = unit_rows(X[:50]), y[:50], unit_rows(T)  # unequal classes need an intercept
    source = Domain("source", (X,), np.eye(2)[y], np.ones(50, bool))
    problem = replace(problem, domains=(source, replace(problem.domains[1], views=(T,))))
    classifier = LogisticRegression(C=0.5, fit_intercept=intercept, max_iter=1000)
    expected = classifier.fit(X, y).predict_proba(T)
    got = transferbench.fit("lr", problem, C=0.5, intercept=intercept).scores[1]
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize(
    ("model", "params"), [("lr", {}), ("lr-self-training", {"threshold": 1 - 1e-15})]
)
@pytest.mark.parametrize("length", [1, 150])
def test_lr_converges_at_every_length_of_the_documents(length, model, params):
    """At a length of 150, probabilities are wrong by .37 at the usual tolerance."""
    rng = np.random.default_rng(0)
    R = (rng.random((300, 200)) < 0.1) * rng.lognormal(0, 1, (300, 200))
    X = sp.csr_array(length * R / np.sqrt((R**2).sum() / 300))
    w = rng.normal(0, 3 / length, 200)
    y = (rng.random(300) < 1 / (1 + np.exp(-X @ w))).astype(int)
    S, T = X[:200], X[200:]
    domains = (
        Domain("source", (S,), np.eye(2)[y[:200]], np.ones(200, bool)),
        Domain("target", (T,), np.zeros((100, 2)), np.zeros(100, bool)),
    )
    problem = Problem("p", "transfer", ("a", "b"), domains)
    exact = LogisticRegression(tol=1e-12, max_iter=100_000).fit(S, y[:200])
    ours = transferbench.fit(model, problem, **params).scores[-1]
    np.testing.assert_allclose(ours, exact.predict_proba(T), atol=0.01)


def test_svm_decisions_nearly_equal_libsvm(parts):
    """LIBSVM does not penalise the intercept, LIBLINEAR does: nearly all decisions agree."""
    problem, X, y, T = parts
    expected = SVC(kernel="linear", C=1.0).fit(X, y).predict(T)
    got = transferbench.fit("svm", problem).scores[1].argmax(axis=1)
    assert np.mean(got == expected) >= 0.95


def test_graph_only_converges_to_its_fixed_point(parts):
    """The fixed point of label spreading is (1 − α)(I − αS)⁻¹P."""
    problem, _, _, T = parts
    P = transferbench.fit("lr", problem).scores[1]
    W = cosine_graph(T, 4).W.toarray()
    d = W.sum(axis=1)
    d = np.where(d > 0, d, 1)
    S = W / np.sqrt(np.outer(d, d))
    F = 0.2 * np.linalg.solve(np.eye(len(P)) - 0.8 * S, P)
    got = transferbench.fit("graph-only", problem, p=4, alpha=0.8, max_iter=500).scores[1]
    np.testing.assert_allclose(got, F / F.sum(axis=0), rtol=1e-9)


def test_lr_kmeans_equals_scikit_learn(parts, monkeypatch):
    """It starts at the means of decisions, not at means weighted by probabilities."""
    problem, X, y, T = parts
    decided = LogisticRegression(max_iter=1000).fit(X, y).predict(T)
    means = [T[np.flatnonzero(decided == c)].mean(axis=0) for c in (0, 1)]
    starts = []

    def record(*arguments, init, **settings):
        starts.append(init)
        return KMeans(*arguments, init=init, **settings)

    monkeypatch.setattr("sklearn.cluster.KMeans", record)
    got = transferbench.fit("lr-kmeans", problem).scores[1].argmax(axis=1)
    np.testing.assert_allclose(starts, [means])
    expected = KMeans(2, init=np.array(means), n_init=1).fit(sp.csr_matrix(T)).labels_
    np.testing.assert_array_equal(got, expected)


def test_nmf_ignores_the_source_and_its_columns_are_clusters(parts):
    problem, *_ = parts
    source, target = problem.domains
    other = type(source)("source", (source.X * 3,), source.Y[::-1].copy(), source.seen)
    swapped = type(problem)("p", "transfer", problem.classes, (other, target))
    one, two = (transferbench.fit("nmf", p, seed=1) for p in (problem, swapped))
    np.testing.assert_array_equal(one.scores[1], two.scores[1])
    assert one.columns == "clusters"


def self_training(X: np.ndarray, y: np.ndarray, T: np.ndarray, threshold: float, rounds: int):
    """Self-training by its definition: train, label what is confident, train again."""
    added = np.full(len(T), -1)
    for _ in range(rounds):
        known = added >= 0
        classifier = logistic_regression(X)
        P = classifier.fit(np.vstack([X, T[known]]), np.r_[y, added[known]]).predict_proba(T)
        new = ~known & (P.max(axis=1) > threshold)
        if not new.any():
            return P, added
        added[new] = P[new].argmax(axis=1)
    known = added >= 0
    classifier = logistic_regression(X)
    return classifier.fit(np.vstack([X, T[known]]), np.r_[y, added[known]]).predict_proba(T), added


@pytest.mark.parametrize("rounds", [1, 10])
def test_lr_self_training_equals_its_definition(parts, rounds):
    problem, X, y, T = parts
    expected, added = self_training(X.toarray(), y, T.toarray(), 0.98, rounds)
    fit = transferbench.fit("lr-self-training", problem, threshold=0.98, max_iter=rounds)
    np.testing.assert_allclose(fit.scores[1], expected, atol=1e-6)
    assert 0 < (added >= 0).sum() < len(added)


def test_label_propagation_equals_label_spreading_of_scikit_learn(parts):
    problem, X, y, T = parts
    both = sp.csr_array(sp.vstack([X, T]))
    W = cosine_graph(both, 5).W.toarray()
    model = LabelSpreading(kernel=lambda *_: W, alpha=0.7, max_iter=2000, tol=1e-12)
    model.fit(both.toarray(), np.r_[y, np.full(60, -1)])
    scores = transferbench.fit("label-propagation", problem, p=5, alpha=0.7, max_iter=2000)
    F = scores.scores[1] / scores.scores[1].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(F, model.label_distributions_[60:], atol=1e-6)


def test_label_propagation_keeps_labels_of_a_target_in_every_step(parts):
    """F = αSF + (1 − α)Y in all rows but those of labelled documents of the target, F = Y there."""
    problem, X, y, T = parts
    seen = np.arange(60) < 20
    Y = np.where(seen[:, None], [[0.0, 1.0]], 0)
    target = replace(problem.domains[1], Y=Y, seen=seen, label_weights=np.full(60, 3.0))
    problem = replace(problem, domains=(problem.domains[0], target))
    fit = transferbench.fit("label-propagation", problem, p=5, alpha=0.7, max_iter=2000)
    W = cosine_graph(sp.csr_array(sp.vstack([X, T[seen], T[~seen]])), 5).W.toarray()
    degree = W.sum(axis=1)
    S = W / np.sqrt(np.outer(degree, degree))
    start = np.vstack([np.eye(2)[y], 3 * Y[seen], Y[~seen]])
    alpha = np.full((120, 1), 0.7)
    alpha[60:80] = 0
    F = np.linalg.solve(np.eye(120) - alpha * S, (1 - alpha) * start)
    np.testing.assert_allclose(fit.scores[1][~seen], F[80:], atol=1e-9)
    np.testing.assert_array_equal(fit.scores[1][seen], Y[seen])
