"""The engine against the definition of its objective, written out densely and slowly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import Objective

from transferbench.core.graph import Graph
from transferbench.core.nmtf import NMTF, Factor, Term, Tie, by_rows
from transferbench.core.parallel import use_threads
from transferbench.core.scale import (
    drop_empty_columns,
    frobenius_one,
    product,
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


def dense(model: NMTF, F: dict[str, Factor]) -> Objective:
    """Return the same objective, written out densely, at copies of the factors."""
    every = F | {f"tie {i}": tie.to for i, tie in enumerate(model.ties)}
    name = {id(factor): name for name, factor in reversed(every.items())}
    terms = []
    for term in model.terms:
        parts = [(name[id(U)], name[id(H)]) for U, H in term.parts]
        terms.append((term.weight, sp.csr_array(term.X).toarray().T, parts, name[id(term.V)]))
    return Objective(
        {key: factor.value.copy() for key, factor in every.items()},
        terms,
        [(tie.weight, name[id(tie.F)], name[id(tie.to)]) for tie in model.ties],
        [(f.graph_weight, key, f.graph.W.toarray()) for key, f in F.items() if f.graph],
    )


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
        expected = dense(model, F).step(name)
        model.update(F[name])
        np.testing.assert_allclose(F[name].value, expected, rtol=1e-10)
        assert model.objective() == pytest.approx(dense(model, F).value(), rel=1e-11)


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
            sides.append(dense(model, factors).value())
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


def test_neither_the_size_of_blocks_nor_threads_change_an_update(monkeypatch):
    (one, _), (two, _) = system(), system()
    one.update(*one.factors)
    monkeypatch.setattr("transferbench.core.nmtf.BLOCK", 3 * K)
    two.update(*two.factors)
    three, _ = system()
    with use_threads(3):
        three.update(*three.factors)
    for a, b, c in zip(one.factors, two.factors, three.factors, strict=True):
        np.testing.assert_allclose(b.value, a.value, rtol=1e-12)
        assert (b.value == c.value).all()


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize(("columns", "order"), [(1, "C"), (3, "F"), (7, "C")])
def test_a_product_is_the_dense_one(columns, sparse, order):
    rng = np.random.default_rng(columns)
    X, B = rng.random((9, M)) * (rng.random((9, M)) < 0.5), rng.random((M, columns))
    A = by_rows(sp.csr_array(X), np.dtype(float)) if sparse else X
    XB = product(A, np.asarray(B, order=order))
    np.testing.assert_allclose(XB, X @ B, rtol=1e-12)
    np.testing.assert_allclose(product(A, B, np.empty_like(XB)), X @ B, rtol=1e-12)


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


@pytest.mark.parametrize("shares", [None, np.array([0.7, 0.3])])
@pytest.mark.parametrize("normalize", ["rows", "columns"])
def test_fixed_rows_stay_and_the_others_sum_to_the_rest(normalize, shares):
    rng = np.random.default_rng(3)
    X, fixed = rng.random((30, 8)), np.arange(30) % 5 == 0
    value = rng.random((30, 2))
    value[fixed] = np.eye(2)[np.arange(6) % 2] / (1 if normalize == "rows" else 15)
    X[0] = 0  # its row would become zero
    V = Factor(value, fixed_rows=fixed, normalize=normalize, column_shares=shares)
    U, H = Factor(rng.random((8, 3))), Factor(rng.random((3, 2)))
    model = NMTF([Term(X, V, ((U, H),))], normalize_at="update", dtype="float64")
    for _ in range(20):
        model.update(V, U, H)
    np.testing.assert_array_equal(V.value[fixed], value[fixed])
    np.testing.assert_allclose(V.value.sum(axis=1 if normalize == "rows" else 0), 1)
    assert not np.allclose(V.value[~fixed], value[~fixed])
    # The objective and the cached products follow the scaled values.
    A = U.value @ H.value
    assert model.objective() == pytest.approx(np.sum((X - V.value @ A.T) ** 2))


def test_frobenius_one_and_drop_empty_columns():
    X = sp.csr_array(np.array([[3.0, 0, 4], [0, 0, 0]]))
    assert np.sqrt((frobenius_one(X).toarray() ** 2).sum()) == pytest.approx(1)
    assert frobenius_one(X * 0).toarray().sum() == 0
    np.testing.assert_array_equal(drop_empty_columns(X).toarray(), [[3, 4], [0, 0]])
    assert sum_one(X).toarray().sum() == pytest.approx(1)
    scaled = [[3 / 7, 0, 4 / 7], [0, 0, 0]]
    np.testing.assert_allclose(rows_sum_one(X).toarray(), scaled)
    np.testing.assert_allclose(rows_sum_one(X.toarray()), scaled)


def test_an_objective_of_nan_is_an_error():
    model, F = system()
    with pytest.raises(FloatingPointError, match="iteration 1"):
        model.solve(lambda: F["H"].value.fill(np.nan), 3, [F["Vs"], F["Vt"]])
