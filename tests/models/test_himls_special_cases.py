"""HiMLS, Theorem 11: MSL (White et al., 2012) and LS-CCA (Sun, Ji and Ye, 2011) as special cases.

One task, all of its documents labelled, and one M for all views and labels (eq. 44). MSL has two
views and α = 0, LS-CCA one view and α = 1, so two matrices A (n, a) and B (n, b) count: both views,
or the view and the labels. With C = [C₁; C₂] the objective is eq. 47, ‖[A, B] − R M Cᵀ‖². β does
not matter.
"""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.core.hierarchy import Data, Layer, Stack, predict
from transferbench.core.losses import Squares

DOCUMENTS, A_COLUMNS, B_COLUMNS, K = 30, 7, 4, 4


def special_case(case, A, B, R, M, C, beta=1.0):
    """Return HiMLS with the parameters of the theorem; C (a + b, k)."""
    C_A, C_B = np.split(C, [A.shape[1]])
    X, factors, alpha = (A, B), [C_A, C_B], 1.0
    if case == "MSL":  # the labels have no weight
        X, factors, alpha = (A, B, np.ones((len(A), 3))), [C_A, C_B, np.ones((3, len(M)))], 0.0
    rows = ((slice(0, len(A)),),) * len(X)
    layer = Layer([R.copy()], [F.copy() for F in factors], [[M.copy() for _ in X]])
    return Stack(Data(X, rows, alpha), [layer], Squares(), beta)


@pytest.mark.parametrize(("case", "beta"), [("MSL", 2.5), ("LS-CCA", 0.0)])
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
