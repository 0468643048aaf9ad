"""The engine against the definition of its objective, written out densely and slowly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.graph import Graph
from transferbench.core.nmtf import NMTF, Factor, Term, Tie, by_rows, product
from transferbench.core.scale import (
    drop_empty_columns,
    frobenius_one,
    rows_sum_one,
    scale_to_one,
    sum_one,
)

M, K, C = 13, 4, 3


def graph(n: int, rng) -> Graph:
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    W = np.triu(W, 1)
    return Graph(sp.csr_array(W + W.T))


def system(
    seed=0, *, dtype="float64", sparse=True, graphs=True, shared_u=False, ties=True, twice=False
) -> tuple[NMTF, dict[str, Factor]]:
    """Two terms [U0, Us] [H0; H] Vs and [U0, Ut] [H0; H] Vt that use every option of the engine.

    Returns the model and its factors by name. `twice` adds a term with the X, U and V of the last.
    """
    rng = np.random.default_rng(seed)

    def smoothed(rows: int, columns: int, weight: float) -> Factor:
        value = rng.random((rows, columns))
        return Factor(value, graph=graph(rows, rng) if graphs else None, graph_weight=weight)

    F = {
        "U0": smoothed(M, 2, 0.3),
        "H0": Factor(rng.random((2, C))),
        "H": Factor(rng.random((K, C))),
    }
    terms, tied = [], []
    for name, n, weight in (("s", 7, 1.0), ("t", 9, 0.6)):
        X = rng.random((n, M)) * (rng.random((n, M)) < 0.5)
        u = "U" if shared_u else f"U{name}"
        if u not in F:
            F[u] = smoothed(M, K, 0.7)
        V = F[f"V{name}"] = smoothed(n, C, 0.2)
        tied.append(Tie(V, Factor(rng.random((n, C))), 0.5))
        parts = ((F["U0"], F["H0"]), (F[u], F["H"]))
        terms.append(Term(sp.csr_array(X) if sparse else X, V, parts, weight))
    if twice:
        F["H1"] = Factor(rng.random((K, C)))
        terms.append(Term(terms[-1].X, V, ((F[u], F["H1"]),), 0.4))
    if not shared_u:
        tied.append(Tie(F["Us"], F["Ut"], 0.9))
    return NMTF(terms, tied if ties else (), normalize_at="domain", dtype=dtype), F


def slow_objective(model: NMTF) -> float:
    total = 0.0
    for term in model.terms:
        X = term.X.toarray() if sp.issparse(term.X) else term.X
        middle = sum(U.value @ H.value for U, H in term.parts)
        total += term.weight * np.sum((X - term.V.value @ middle.T) ** 2)
    for factor in model.factors:
        if factor.graph is not None:
            W, F = factor.graph.W.toarray(), factor.value
            pairs = np.sum((F[:, None] - F[None]) ** 2, axis=2)
            total += factor.graph_weight * np.sum(W * pairs) / 2
    for tie in model.ties:
        total += tie.weight * np.sum((tie.F.value - tie.to.value) ** 2)
    return total


def slow_step(model: NMTF, factor: Factor) -> np.ndarray:
    """F ∘ √(num/den), every product written out from the objective."""
    F = factor.value
    num, den = np.zeros_like(F), np.zeros_like(F)
    for term in model.terms:
        X = term.X.toarray() if sp.issparse(term.X) else term.X
        V = term.V.value
        middle = sum(U.value @ H.value for U, H in term.parts)  # (m, c)
        fitted = V @ middle.T
        if term.V is factor:
            num += term.weight * X @ middle
            den += term.weight * fitted @ middle
        for U, H in term.parts:
            if U is factor:
                num += term.weight * X.T @ V @ H.value.T
                den += term.weight * fitted.T @ V @ H.value.T
            if H is factor:
                num += term.weight * U.value.T @ X.T @ V
                den += term.weight * U.value.T @ fitted.T @ V
    if factor.graph is not None:
        W = factor.graph.W.toarray()
        num += factor.graph_weight * W @ F
        den += factor.graph_weight * np.diag(W.sum(axis=1)) @ F
    for tie in model.ties:
        if tie.F is factor or tie.to is factor:
            num += tie.weight * (tie.to if tie.F is factor else tie.F).value
            den += tie.weight * F
    return F * np.sqrt(num / den)


def gradient(model: NMTF, F: Factor) -> np.ndarray:
    """Return ∂objective/∂F = 2 (den − num) from the engine's numerators and denominators."""
    half = sum((Q - P) @ R for P, Q, R in model.contributions(F))
    if F.graph is not None:
        L = np.diag(F.graph.degree) - F.graph.W.toarray()
        half = half + F.graph_weight * L @ F.value
    for weight, values in model.tie_targets(F):
        half = half + weight * (F.value - values)
    return 2 * half


CASES = [
    {},
    {"shared_u": True},
    {"graphs": False, "ties": False},
    {"sparse": False},
    {"twice": True},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_updates_in_any_order_are_the_dense_steps(case):
    """Cached products are never stale, and the objective in trace form is the objective."""
    model, F = system(**case)
    order = np.random.default_rng(1).choice(list(F), size=40)
    for name in order:
        expected = slow_step(model, F[name])
        model.update(F[name])
        np.testing.assert_allclose(F[name].value, expected, rtol=1e-10)
        assert model.objective() == pytest.approx(slow_objective(model), rel=1e-11)


@pytest.mark.parametrize("name", ["U0", "H0", "H", "Vs", "Vt", "Us"])
def test_gradient_agrees_with_finite_differences(name):
    model, factors = system()
    slope = gradient(model, factors[name])
    F = factors[name].value
    step = 1e-6
    for index in np.ndindex(F.shape):
        sides = []
        for sign in (1, -1):
            F[index] += sign * step
            sides.append(slow_objective(model))
            F[index] -= sign * step
        assert slope[index] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_update_increases_the_objective(seed):
    model, _ = system(seed, shared_u=seed % 2 == 1)
    last = model.objective()
    for _ in range(15):
        for factor in model.factors:
            model.update(factor)
            value = model.objective()
            assert value <= last * (1 + 1e-12)
            last = value


def test_zeros_stay_zero_without_a_graph_and_fixed_factors_stay():
    model, F = system(graphs=False, ties=False)
    F["Us"].value[3] = 0
    F["Vs"].fixed, F["Vs"].normalize = True, "rows"
    fixed = F["Vs"].value.copy()
    for _ in range(5):
        model.update(*model.factors)
        model.end_domain(*model.factors)
    assert not F["Us"].value[3].any()
    np.testing.assert_array_equal(F["Vs"].value, fixed)


def test_permuting_rows_permutes_the_factors():
    order = np.random.default_rng(3).permutation(9)
    (plain, F), (model, G) = (system(graphs=False, ties=False) for _ in range(2))
    G["Vt"].value = G["Vt"].value[order]
    s, t = model.terms
    permuted = NMTF(
        [s, Term(t.X[order], t.V, t.parts, t.weight)], normalize_at="domain", dtype="float64"
    )
    for _ in range(5):
        plain.update(*plain.factors)
        permuted.update(*permuted.factors)
    np.testing.assert_allclose(G["Vt"].value, F["Vt"].value[order], rtol=1e-10)
    np.testing.assert_allclose(G["H"].value, F["H"].value, rtol=1e-10)


def test_the_size_of_blocks_does_not_change_an_update(monkeypatch):
    (one, _), (two, _) = system(), system()
    one.update(*one.factors)
    monkeypatch.setattr("transferbench.core.nmtf.BLOCK", 3 * K)
    two.update(*two.factors)
    for a, b in zip(one.factors, two.factors, strict=True):
        np.testing.assert_allclose(b.value, a.value, rtol=1e-12)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(("columns", "order"), [(1, "C"), (3, "F"), (7, "C")])
def test_a_product_is_the_dense_one(columns, sparse, order):
    rng = np.random.default_rng(columns)
    X, B = rng.random((9, M)) * (rng.random((9, M)) < 0.5), rng.random((M, columns))
    A = by_rows(sp.csr_array(X), np.dtype(float)) if sparse else X
    XB = product(A, np.asarray(B, order=order))
    np.testing.assert_allclose(XB, X @ B, rtol=1e-12)
    np.testing.assert_allclose(product(A, B, np.empty_like(XB)), X @ B, rtol=1e-12)


def test_a_matrix_by_rows_has_32_bit_indices():
    X = sp.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    held = by_rows(X, np.dtype("float32"))
    assert (held.indices.dtype, held.indptr.dtype, held.dtype) == ("int32", "int32", "float32")
    np.testing.assert_array_equal(held.toarray(), np.eye(3))


def test_normalize_makes_sums_one_and_leaves_zero_lines():
    F = np.array([[1.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(scale_to_one(F.copy(), "columns"), [[0.25, 0], [0.75, 0]])
    np.testing.assert_allclose(scale_to_one(F.copy(), "rows"), [[1, 0], [1, 0]])
    np.testing.assert_allclose(
        scale_to_one(F.copy(), "columns", fill=True), [[0.25, 0.5], [0.75, 0.5]]
    )
    np.testing.assert_allclose(
        scale_to_one(F.T.copy(), "rows", fill=True), [[0.25, 0.75], [0.5, 0.5]]
    )


def test_frobenius_one_and_drop_empty_columns():
    X = sp.csr_array(np.array([[3.0, 0, 4], [0, 0, 0]]))
    assert np.sqrt((frobenius_one(X).toarray() ** 2).sum()) == pytest.approx(1)
    assert frobenius_one(X * 0).toarray().sum() == 0
    np.testing.assert_array_equal(drop_empty_columns(X).toarray(), [[3, 4], [0, 0]])
    assert sum_one(X).toarray().sum() == pytest.approx(1)
    scaled = [[3 / 7, 0, 4 / 7], [0, 0, 0]]
    np.testing.assert_allclose(rows_sum_one(X).toarray(), scaled)
    np.testing.assert_allclose(rows_sum_one(X.toarray()), scaled)


def test_blocks_of_one_factor_updated_jointly_are_that_factor():
    """H = [H0; H1] over [U0, U1] in two blocks takes the step of the undivided H."""
    rng = np.random.default_rng(0)
    X, U, H, V = (rng.random(shape) for shape in ((9, M), (M, 5), (5, C), (9, C)))
    undivided = Factor(H)
    whole = NMTF(
        [Term(X, Factor(V), ((Factor(U), undivided),))], normalize_at="domain", dtype="float64"
    )
    H0, H1 = Factor(H[:2]), Factor(H[2:])
    parts = ((Factor(U[:, :2]), H0), (Factor(U[:, 2:]), H1))
    blocks = NMTF([Term(X, Factor(V), parts)], normalize_at="domain", dtype="float64")
    whole.update(undivided)
    blocks.update_jointly(H0, H1)
    np.testing.assert_allclose(np.vstack([H0.value, H1.value]), undivided.value, rtol=1e-12)
    blocks.update(H0, H1)
    whole.update(undivided)
    assert not np.allclose(np.vstack([H0.value, H1.value]), undivided.value, rtol=1e-6)


def test_an_objective_of_nan_is_an_error():
    model, F = system()
    with pytest.raises(FloatingPointError, match="iteration 1"):
        model.solve(lambda: F["H"].value.fill(np.nan), 3, [F["Vs"], F["Vt"]])
