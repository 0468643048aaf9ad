"""Stacking of members by few labels, against its objective written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from transferbench.core import stacking
from transferbench.core.stacking import Stack, fit_stack, held_out, margins


def made(m: int, c: int = 3, K: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return margins Z (K, m, c) of members, the first is right most often, and y (m,)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(c, size=m)
    signal = np.eye(c)[y]
    Z = np.array([margins(signal * (1.5 - 0.4 * k) + rng.normal(size=(m, c))) for k in range(K)])
    return Z, y


def objective(stack: Stack, Z: np.ndarray, y: np.ndarray, prior: np.ndarray) -> float:
    total = 0.0
    for i, label in enumerate(y):
        scores = sum(a * Z[k, i] for k, a in enumerate(stack.a)) + stack.b
        total -= scores[label] - np.log(np.exp(scores).sum())
    total += ((stack.a - prior) ** 2).sum() / 2 / stacking.WEIGHT_DEVIATION**2
    return float(total + (stack.b**2).sum() / 2 / stacking.OFFSET_DEVIATION**2)


@pytest.mark.parametrize("prior", [np.full(4, 0.25), np.array([0, 1, 1, 1]) / 3])
def test_the_stack_is_a_minimum_of_the_objective(prior):
    Z, y = made(40)
    found = fit_stack(Z, y, prior)
    assert (found.a >= 0).all()

    def at(parameters: np.ndarray) -> float:
        return objective(Stack(parameters[:4], parameters[4:]), Z, y, prior)

    x = np.append(found.a, found.b)
    gradient = approx_fprime(x, at, 1e-6)
    free = np.append(found.a > 0, np.ones(3, bool))
    np.testing.assert_allclose(gradient[free], 0, atol=2e-3)
    assert (gradient[~free] >= -2e-3).all()
    best = min(at(np.abs(x + 0.3 * np.random.default_rng(s).normal(size=7))) for s in range(200))
    assert at(x) <= best


def test_without_labels_the_stack_is_the_prior():
    stack = fit_stack(np.empty((4, 0, 3)), np.empty(0, int), np.full(4, 0.25))
    np.testing.assert_allclose(stack.a, 0.25)
    np.testing.assert_allclose(stack.b, 0)


def test_a_better_member_gets_a_larger_weight_and_a_useless_one_none():
    Z, y = made(300)
    Z[3] = -Z[0]
    a = fit_stack(Z, y, np.full(4, 0.25)).a
    assert a[0] > a[1] > a[2]
    assert a[3] == 0


def test_the_order_of_documents_members_and_classes_permutes_the_stack():
    Z, y = made(30)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    plain = fit_stack(Z, y, prior)
    rows, members, classes = np.random.default_rng(1).permutation(30), [2, 0, 3, 1], [2, 0, 1]
    moved = fit_stack(Z[members][:, rows][:, :, classes], np.argsort(classes)[y][rows],
                      prior[members])  # fmt: skip
    np.testing.assert_allclose(moved.a, plain.a[members], atol=1e-4)
    np.testing.assert_allclose(moved.b, plain.b[classes], atol=1e-4)


def test_a_held_out_document_does_not_weigh_its_members():
    Z, y = made(30)
    fold, prior = np.arange(30) % 5, np.full(4, 0.25)
    scores = held_out(Z, y, prior, fold)
    changed = np.where(fold == 2, (y + 1) % 3, y)
    again = held_out(Z, changed, prior, fold)
    np.testing.assert_array_equal(scores[fold == 2], again[fold == 2])
    assert (scores[fold != 2] != again[fold != 2]).any()


def test_margins_compare_with_the_best_rival_in_units_of_the_typical_one():
    scores = np.array([[2.0, 1.0, 0.0], [0.0, -1.0, 3.0]])
    D = np.array([[1, -1, -2], [-3, -4, 3]])
    typical = np.sqrt(np.mean(np.minimum(abs(D), np.quantile(abs(D), 0.95)) ** 2))
    np.testing.assert_allclose(margins(scores - 5), np.clip(D / typical, -3, 3))
    # One huge value does not shrink the others.
    many = np.random.default_rng(0).normal(size=(50, 3))
    huge = many.copy()
    huge[0] = [-1e3, 0, 0]
    np.testing.assert_allclose(margins(huge)[1:], margins(many)[1:], rtol=0.1)
    ratios = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    np.testing.assert_allclose(margins(ratios), margins(np.log(ratios)), atol=1e-12)
    np.testing.assert_allclose(margins(ratios * [[3], [7]]), margins(ratios), atol=1e-12)
    assert not margins(np.ones((3, 2))).any()
    # A class without labels has probability 0 and is never decided.
    assert (margins(np.array([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]]))[:, 2] < -1).all()
