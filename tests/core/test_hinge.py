"""Machines trained in turn: the conditions of the optimum, and LIBLINEAR's objective."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core import hinge
from transferbench.core.hinge import HingeTrainer


def documents(n: int = 200, d: int = 60, seed: int = 0) -> np.ndarray:
    """Return documents (n, d), of which ten are there twice, and a column of ones."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:10] = X[10:20]
    X[:, -1] = 1
    return X


def sequence(n: int, rounds: int, switched: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return signs and weights (n,); each time some signs are switched and half the weights grow.

    A tenth of the weights begin at 0.
    """
    rng = np.random.default_rng(1)
    sign = rng.choice([-1.0, 1.0], n)
    weight = np.where(np.arange(n) % 10, 10.0 ** rng.uniform(-3, 0, n), 0)
    result = []
    for _ in range(rounds):
        result.append((sign, weight))
        sign, weight = sign.copy(), weight.copy()
        sign[rng.choice(n, switched, replace=False)] *= -1
        weight[n // 2 :] = np.clip(1.5 * weight[n // 2 :], 1e-4, 1)
    return result


def objective(w: np.ndarray, X, sign: np.ndarray, weight: np.ndarray) -> float:
    return float(w @ w / 2 + weight @ np.maximum(0, 1 - sign * (X @ w)))


@pytest.fixture
def svm_trainings(monkeypatch) -> list[float]:
    """Tolerances of the trainings by LIBLINEAR."""
    tolerances, train = [], hinge.train_svm

    def record(X, sign, weight, tol):
        tolerances.append(tol)
        return train(X, sign, weight, tol)

    monkeypatch.setattr(hinge, "train_svm", record)
    return tolerances


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("changed", [3, 200])  # so few make factors anew
@pytest.mark.parametrize("switched", [2, 60])
def test_every_machine_is_as_good_as_an_exact_one(
    form, changed, switched, svm_trainings, monkeypatch
):
    """Compare with LIBLINEAR at a tolerance of 1e-9."""
    monkeypatch.setattr(hinge, "MOST_CHANGED", changed)
    X = documents()
    trainer = HingeTrainer(form(X), 1e-4, 1.0)
    for sign, weight in sequence(len(X), 12, switched):
        w, f = trainer.train(sign, weight)
        np.testing.assert_allclose(f, X @ w, atol=1e-12)
        del svm_trainings[:-12]
        assert 1e-4 not in svm_trainings  # pivoting ended
        exact = hinge.train_svm(X, sign, weight, 1e-9)
        assert objective(w, X, sign, weight) == pytest.approx(
            objective(exact, X, sign, weight), rel=1e-6
        )
        np.testing.assert_allclose(w, exact, atol=1e-5)


def test_small_changes_need_no_other_solver(svm_trainings):
    X = documents(d=300)
    trainer = HingeTrainer(X, 1e-4, 1.0)
    for sign, weight in sequence(len(X), 12, 2):
        trainer.train(sign, weight)
    assert len(svm_trainings) == 1  # the first machine


def singular(*args, **kwargs):
    raise np.linalg.LinAlgError


@pytest.mark.parametrize(
    ("name", "value"), [("MOST_FREE", 5), ("STEPS", 0), ("cholesky", singular)]
)
def test_liblinear_decides_where_pivoting_does_not_end(name, value, monkeypatch):
    monkeypatch.setattr(hinge, name, value)
    X = documents()
    trainer = HingeTrainer(X, 1e-4, 1.0)
    for sign, weight in sequence(len(X), 4, 20):
        w, f = trainer.train(sign, weight)
        np.testing.assert_array_equal(w, hinge.train_svm(X, sign, weight, 1e-4))
        np.testing.assert_array_equal(f, X @ w)


def test_without_pivoting_every_machine_is_liblinears():
    X = documents()
    trainer = HingeTrainer(X, 1e-2, 1.0, pivoting=False)
    for sign, weight in sequence(len(X), 3, 20):
        w, _ = trainer.train(sign, weight)
        np.testing.assert_array_equal(w, hinge.train_svm(X, sign, weight, 1e-2))
