from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.losses import (
    CHUNK,
    Divergence,
    DivergenceTerm,
    Side,
    Squares,
    SquaresTerm,
    chain_product,
    numerator_denominator_M,
    sampled_product,
)


@pytest.mark.parametrize("size", [0, 2 * CHUNK + 5])
def test_sampled_product_equals_the_dense_product(size):
    rng = np.random.default_rng(0)
    P, Q = rng.random((50, 7)), rng.random((300, 7))
    rows, columns = rng.integers(50, size=size), rng.integers(300, size=size)
    np.testing.assert_allclose(sampled_product(P, Q, rows, columns), (P @ Q.T)[rows, columns])


@pytest.mark.parametrize(("d", "p"), [(3, 2), (20, 6), (20, 40)])
@pytest.mark.parametrize("term", [SquaresTerm, DivergenceTerm])
def test_sparse_and_dense_terms_agree(term, p, d):
    """A dense X of three columns is narrow, a sparse one never; p is below and above the rows."""
    rng = np.random.default_rng(1)
    X = sp.random_array((30, d), density=0.3, rng=rng, format="csr")
    R, C = rng.random((30, p)), [rng.random((d, 5)), rng.random((5, 4))]
    rows = (slice(10), slice(10, 30))
    M = [rng.random((p, 4)) for _ in rows]
    found = []
    for matrix in (X, X.toarray()):
        one = term(matrix, rows)
        one.R, one.M = [Side(R[part]) for part in rows], M
        one.set_C(C)
        parts = [one.value()]
        for i in range(2):
            parts += [chain_product(each) for each in one.numerator_denominator_P(i)]
            parts += numerator_denominator_M(one, i)
        for level in range(2):
            num, den = one.numerator_denominator_C(level)
            parts += [num, chain_product(den)]
        found.append(parts)
    for sparse, dense in zip(*found, strict=True):
        np.testing.assert_allclose(sparse, dense)


@pytest.mark.parametrize("beta", [1e-3, 0.3, 1.0, 50.0])
def test_exact_coupling_is_the_minimiser(beta):
    rng = np.random.default_rng(2)
    h, num, w, y = (rng.random(40) * 10.0 ** rng.integers(-2, 3, 40) for _ in range(4))
    num[:5] = 0.0  # then the minimum is y exp(−w / β)
    a = h * num
    Divergence().step_M([h, y], 0, num, w, beta)
    np.testing.assert_allclose(h[:5], (y * np.exp(-w / beta))[:5], atol=1e-300)
    # Σ w h − a log h + β D(h‖y) is convex, so its slope is zero at the minimum only.
    slopes = np.array([-a / h, w, beta * np.log(h / y)])[:, 5:]
    assert (abs(slopes.sum(axis=0)) < 1e-11 * abs(slopes).sum(axis=0)).all()


@pytest.mark.parametrize("loss", [Squares(), Divergence(), Divergence(coupling="paper")])
def test_updates_leave_no_subnormal_entry_and_keep_nan(loss):
    tiny = np.finfo(np.float32).tiny
    den = np.ones((1, 3), np.float32)
    num = np.array([[tiny, 1, np.nan]], np.float32)
    factor = np.array([[tiny, tiny, 1]], np.float32)
    M = [factor.copy(), factor.copy()]
    loss.step(factor, num, den)
    loss.step_M(M, 0, num, den, 0.0)
    for updated in (factor, M[0]):
        np.testing.assert_array_equal(updated, np.array([[0, tiny, np.nan]], np.float32))
