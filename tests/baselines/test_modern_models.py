"""Baselines equal the methods of their libraries; their names are available without them."""

from __future__ import annotations

import threading
import tomllib

import numpy as np
import pytest
import sklearn
from conftest import ROOT, make_problem
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

import transferbench
from transferbench.core import dense as vectors
from transferbench.errors import Unavailable
from transferbench.problem import Domain, Problem

POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
NAMES = list(POINTS["transferbench.models.transfer"])
SKADA = ("coral", "jdot", "ot-mapping", "sa")
NEEDED = "needs the extra modern"
R = 7


@pytest.fixture(scope="module")
def parts():
    """Return a problem, and the coordinates of its source and target documents by NumPy's SVD."""
    problem, truth = make_problem(seed=2, documents=60)
    X = np.vstack([domain.X.toarray() for domain in problem.domains])
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    Z = (U * s)[:, :R]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return problem, Z[:60], truth.Y[0].argmax(axis=1), Z[60:]


def with_embeddings(problem: Problem) -> Problem:
    """Return the problem with a second view that has both signs."""
    rng = np.random.default_rng(1)
    return Problem(
        problem.name,
        problem.family,
        problem.classes,
        tuple(
            Domain(d.name, (d.X, (d.X @ rng.normal(size=(60, 9))).astype(np.float32)), d.Y, d.seen)
            for d in problem.domains
        ),
    )


def test_coordinates_equal_those_of_the_full_svd(parts):
    problem, Zs, _, Zt = parts
    source, target = (domain.X for domain in vectors.dense(problem, "svd", R).domains)
    np.testing.assert_allclose(source @ target.T, Zs @ Zt.T, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(target, axis=1), 1)


def test_features_embedding_uses_the_second_view_only(parts):
    problem = with_embeddings(parts[0])
    embedded = vectors.dense(problem, "embedding", R)
    for domain, given in zip(embedded.domains, problem.domains, strict=True):
        view = given.views[1] / np.linalg.norm(given.views[1], axis=1, keepdims=True)
        np.testing.assert_allclose(domain.X, view, rtol=1e-5)
        assert domain.X.min() < 0
        np.testing.assert_array_equal(domain.Y, given.Y)
    with pytest.raises(Unavailable, match=r"^made-up has no embeddings of its documents$"):
        transferbench.fit("dense-lr", parts[0], features="embedding")


def test_dense_lr_equals_scikit_learn(parts):
    problem, Zs, y, Zt = parts
    expected = LogisticRegression(C=0.5, max_iter=1000).fit(Zs, y).predict_proba(Zt)
    got = transferbench.fit("dense-lr", problem, C=0.5, components=R).scores[1]
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_dense_lr_kmeans_equals_scikit_learn(parts):
    problem, Zs, y, Zt = parts
    guess = LogisticRegression(max_iter=1000).fit(Zs, y).predict(Zt)
    means = np.array([Zt[guess == c].mean(axis=0) for c in (0, 1)])
    expected = -KMeans(2, init=means, n_init=1).fit(Zt).transform(Zt)
    got = transferbench.fit("dense-lr-kmeans", problem, components=R).scores[1]
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize("name", SKADA)
def test_skada_models_equal_skada_on_the_same_coordinates(name, parts):
    skada = pytest.importorskip("skada", reason=NEEDED)
    problem, Zs, y, Zt = parts
    base = LogisticRegression(C=2.0, max_iter=1000)
    with sklearn.config_context(enable_metadata_routing=True):
        direct = {
            "coral": lambda: skada.CORAL(base),
            "ot-mapping": lambda: skada.OTMapping(base, max_iter=10**6),
            "jdot": lambda: skada.JDOTClassifier(base, alpha=0.3, n_iter_max=5),
            "sa": lambda: skada.SubspaceAlignment(base, n_components=4),
        }[name]()
        labels = np.concatenate([y, np.full(60, -1)])
        direct.fit(np.vstack([Zs, Zt]), labels, sample_domain=np.repeat([1, -2], 60))
        expected = direct.predict_proba(Zt, sample_domain=np.full(60, -2))
    more = {"jdot": {"alpha": 0.3, "max_iter": 5}, "sa": {"q": 4}}.get(name, {})
    got = transferbench.fit(name, problem, C=2.0, components=R, **more)
    # The sign of coordinates is arbitrary, but does not change the scores.
    np.testing.assert_allclose(got.scores[1], expected, atol=1e-3)
    np.testing.assert_array_equal(got.scores[0], problem.domains[0].Y)


def test_skada_models_fit_in_a_thread_and_where_metadata_routing_is_off(parts):
    pytest.importorskip("skada", reason=NEEDED)
    fits = []
    with sklearn.config_context(enable_metadata_routing=False):
        fits.append(transferbench.fit("coral", parts[0]))
    thread = threading.Thread(target=lambda: fits.append(transferbench.fit("coral", parts[0])))
    thread.start()
    thread.join()
    assert np.array_equal(*(fit.scores[1] for fit in fits))


class Spy:
    """An estimator that stores the arguments of fit."""

    def __init__(self) -> None:
        self.calls: list = []

    def fit(self, X, y, sample_domain):
        sklearn.set_config(enable_metadata_routing=True)
        self.calls.append((X, y, sample_domain))

    def predict_proba(self, X, sample_domain):
        assert (sample_domain == -2).all()
        return np.tile([0.25, 0.75], (len(X), 1))


def test_target_labels_are_masked_and_settings_of_scikit_learn_stay():
    problem, _ = make_problem(targets=2, classes=3, documents=30)
    # The source has two of three classes; targets have no labels.
    source = problem.domains[0]
    rows = np.flatnonzero(source.Y[:, 1] == 0)
    source = Domain("source", (source.X[rows],), source.Y[rows], source.seen[rows])
    dense = vectors.dense(
        Problem("p", "transfer", problem.classes, (source, *problem.domains[1:])), "svd", R
    )
    before, spy = sklearn.get_config(), Spy()
    fit = vectors.adapt(dense, 1.0, lambda _: spy)
    assert sklearn.get_config() == before
    assert len(spy.calls) == 2
    for (X, y, domain), target in zip(spy.calls, dense.domains[1:], strict=True):
        np.testing.assert_array_equal(X[:20], dense.domains[0].X)
        np.testing.assert_array_equal(X[20:], target.X)
        assert set(y[domain == 1]) == {0, 2}
        assert (y[domain == -2]).tolist() == [-1] * 30
    np.testing.assert_array_equal(fit.scores[1], np.tile([0.25, 0, 0.75], (30, 1)))
