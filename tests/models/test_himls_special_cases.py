"""HiMLS, Theorem 11: MSL (White et al., 2012) and LS-CCA (Sun, Ji and Ye, 2011) as special cases.

One task, all of its documents labelled, and one M for all views and labels (eq. 44). MSL has two
views and α = 0, LS-CCA one view and α = 1, so two matrices A (n, a) and B (n, b) count: both views,
or the view and the labels. With H = R M and C = [C₁; C₂] the objective is eq. 47, ‖[A, B] − H Cᵀ‖².
β does not matter. With Z = [A (AᵀA)^−½, B (BᵀB)^−½] in place of [A, B] and CᵀC = I, the minimum
(eqs. 48 and 49) is a + b − Σ_{i≤k} (1 + ρ_i), with ρ the canonical correlations of A and B.

The theorem is about objectives, not about fits: C at the minimum has negative entries, which HiMLS
excludes, and a fit has an M of its own for each view. So the tests compare the objective at given
factors, one update of R and of C, and the minimum. The paper writes (A Aᵀ)^−½ A for the whitened
A, which is the same with a pseudo-inverse.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from transferbench.core.hierarchy import Data, Layer, Stack, predict
from transferbench.core.losses import Squares

DOCUMENTS, A_COLUMNS, B_COLUMNS, K = 30, 7, 4, 4
CASES = ("MSL", "LS-CCA")


def special_case(case, A, B, R, M, C, beta=1.0):
    """Return HiMLS with the parameters of the theorem; C (a + b, k)."""
    C_A, C_B = np.split(C, [A.shape[1]])
    X, factors, alpha = (A, B), [C_A, C_B], 1.0
    if case == "MSL":  # the labels have no weight
        X, factors, alpha = (A, B, np.ones((len(A), 3))), [C_A, C_B, np.ones((3, len(M)))], 0.0
    rows = ((slice(0, len(A)),),) * len(X)
    layer = Layer([R.copy()], [F.copy() for F in factors], [[M.copy() for _ in X]])
    return Stack(Data(X, rows, alpha), [layer], Squares(), beta)


def whitened(A):
    """Return A (AᵀA)^−½."""
    U, _, Vt = np.linalg.svd(A, full_matrices=False)
    return U @ Vt


@pytest.mark.parametrize("beta", [0.0, 2.5])
@pytest.mark.parametrize("case", CASES)
def test_case_is_one_factorisation_of_both_matrices(case, beta):
    rng = np.random.default_rng(3)
    A, B, R = (rng.random((DOCUMENTS, size)) for size in (A_COLUMNS, B_COLUMNS, K))
    M, C = rng.random((K, K)), rng.random((A_COLUMNS + B_COLUMNS, K))
    stack = special_case(case, A, B, R, M, C, beta)
    X = np.hstack([A, B])

    assert stack.objective() == pytest.approx(np.sum((X - R @ M @ C.T) ** 2), rel=1e-12)

    stack.update_R(0)
    R = R * np.sqrt((X @ C @ M.T) / (R @ M @ C.T @ C @ M.T))
    np.testing.assert_allclose(stack.layers[0].R[0], R, rtol=1e-12)
    stack.update_C(0)
    H = R @ M
    C = C * np.sqrt((X.T @ H) / (C @ H.T @ H))
    np.testing.assert_allclose(np.vstack(stack.layers[0].C[:2]), C, rtol=1e-12)
    if case == "LS-CCA":
        np.testing.assert_allclose(predict(stack.layers)[0], H @ C[A_COLUMNS:].T, rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_minimum_on_whitened_matrices_is_that_of_canonical_correlations(case):
    rng = np.random.default_rng(4)
    A = rng.standard_normal((DOCUMENTS, A_COLUMNS))
    B = A @ rng.standard_normal((A_COLUMNS, B_COLUMNS))
    B += 2 * rng.standard_normal(B.shape)
    correlations = np.sort(np.cos(subspace_angles(A, B)))[::-1]
    minimum = A_COLUMNS + B_COLUMNS - np.sum(1 + correlations[:K])
    Z_A, Z_B = whitened(A), whitened(B)
    Z = np.hstack([Z_A, Z_B])
    if case == "MSL":
        C = np.linalg.eigh(Z.T @ Z)[1][:, -K:]
    else:  # from the regression W of the whitened labels on A, as LS-CCA has it
        W = np.linalg.lstsq(A, Z_B, rcond=None)[0]
        U, _, Vt = np.linalg.svd(Z_A.T @ A @ W, full_matrices=False)
        C = np.vstack([U, Vt.T]) / np.sqrt(2)
    np.testing.assert_allclose(C.T @ C, np.eye(K), atol=1e-12)
    M = rng.standard_normal((K, K))
    R = Z @ C @ np.linalg.inv(M)

    assert special_case(case, Z_A, Z_B, R, M, C).objective() == pytest.approx(minimum, rel=1e-10)
    for size in (1e-3, 1e-1, 1.0):
        near = R + size * rng.standard_normal(R.shape), C + size * rng.standard_normal(C.shape)
        assert special_case(case, Z_A, Z_B, near[0], M, near[1]).objective() > minimum
    assert (C @ C.T).min() < 0  # so no rotation of C is nonnegative
