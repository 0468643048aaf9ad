"""The engine against the definition of its objective, written out densely and slowly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.graph import Graph
from transferbench.core.nmtf import NMTF, Factor, Term, Tie
from transferbench.core.scale import frobenius_one, present, scale_to_one, sum_one

M, K, C = 13, 4, 3


def graph(n: int, rng) -> Graph:
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    W = np.triu(W, 1)
    return Graph.of(sp.csr_array(W + W.T))


def system(
    seed=0, *, dtype="float64", sparse=True, graphs=True, shared_u=False, ties=True, twice=False
):
    """Two terms: [U0, Us] H0/Hs Vs and [U0, Ut] …, everything the engine knows used at once."""
    rng = np.random.default_rng(seed)
    factors = {
        "U0": Factor(rng.random((M, 2)), graph=graph(M, rng) if graphs else None, graph_weight=0.3),
        "H0": Factor(rng.random((2, C))),
        "H": Factor(rng.random((K, C))),
    }
    terms, tied = [], []
    for name, n, weight in (("s", 7, 1.0), ("t", 9, 0.6)):
        X = rng.random((n, M)) * (rng.random((n, M)) < 0.5)
        u = "U" if shared_u else f"U{name}"
        if u not in factors:
            factors[u] = Factor(
                rng.random((M, K)), graph=graph(M, rng) if graphs else None, graph_weight=0.7
            )
        factors[f"V{name}"] = Factor(
            rng.random((n, C)),
            graph=graph(n, rng) if graphs else None,
            graph_weight=0.2,
        )
        tied.append(Tie(f"V{name}", rng.random((n, C)), 0.5))
        parts = (("U0", "H0"), (u, "H"))
        terms.append(Term(sp.csr_array(X) if sparse else X, parts, f"V{name}", weight))
    if twice:
        # The last X once more, through another association: three terms share one U and one V.
        factors["H1"] = Factor(rng.random((K, C)))
        terms.append(Term(terms[-1].X, ((u, "H1"),), "Vt", 0.4))
    if not shared_u:
        tied.append(Tie("Us", "Ut", 0.9))
    return NMTF(factors, terms, dtype, tied if ties else ())


def slow_objective(model: NMTF) -> float:
    total = 0.0
    for term in model.terms:
        X = term.X.toarray() if sp.issparse(term.X) else term.X
        middle = sum(model[u] @ model[h] for u, h in term.parts)
        total += term.weight * np.sum((X - model[term.v] @ middle.T) ** 2)
    for factor in model.factors.values():
        F = factor.value
        if factor.graph is not None:
            W = factor.graph.W.toarray()
            pairs = np.sum((F[:, None] - F[None]) ** 2, axis=2)
            total += factor.graph_weight * np.sum(W * pairs) / 2
    for tie in model.ties:
        to = model[tie.to] if isinstance(tie.to, str) else tie.to
        total += tie.weight * np.sum((model[tie.factor] - to) ** 2)
    return total


def slow_step(model: NMTF, name: str) -> np.ndarray:
    """F ∘ √(num/den), every product written out from the objective."""
    factor = model.factors[name]
    F = factor.value
    num, den = np.zeros_like(F), np.zeros_like(F)
    for term in model.terms:
        X = term.X.toarray() if sp.issparse(term.X) else term.X
        V = model[term.v]
        middle = sum(model[u] @ model[h] for u, h in term.parts)  # (m, c)
        fitted = V @ middle.T
        if term.v == name:
            num += term.weight * X @ middle
            den += term.weight * fitted @ middle
        for u, h in term.parts:
            if u == name:
                num += term.weight * X.T @ V @ model[h].T
                den += term.weight * fitted.T @ V @ model[h].T
            if h == name:
                num += term.weight * model[u].T @ X.T @ V
                den += term.weight * model[u].T @ fitted.T @ V
    if factor.graph is not None:
        W = factor.graph.W.toarray()
        num += factor.graph_weight * W @ F
        den += factor.graph_weight * np.diag(W.sum(axis=1)) @ F
    for tie in model.ties:
        ends = {tie.factor, tie.to} if isinstance(tie.to, str) else {tie.factor}
        if name in ends:
            other = ends - {name}
            num += tie.weight * (model[other.pop()] if other else tie.to)
            den += tie.weight * F
    return F * np.sqrt(num / den)


CASES = [
    {},
    {"shared_u": True},
    {"graphs": False, "ties": False},
    {"sparse": False},
    {"twice": True},
]
NAMES = ["U0", "H0", "H", "Vs", "Vt"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_objective_in_trace_form_is_the_objective(case):
    model = system(**case)
    assert model.objective() == pytest.approx(slow_objective(model), rel=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_update_is_the_dense_step(case):
    for name in [*NAMES, "U" if case.get("shared_u") else "Us"]:
        model = system(**case)
        expected = slow_step(model, name)
        model.update(name)
        np.testing.assert_allclose(model[name], expected, rtol=1e-11)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kept_products_never_go_stale(case):
    """Many updates in mixed order still give each dense step and the objective."""
    model = system(**case)
    order = np.random.default_rng(1).choice(NAMES, size=40)
    for name in order:
        expected = slow_step(model, name)
        model.update(name)
        np.testing.assert_allclose(model[name], expected, rtol=1e-10)
        assert model.objective() == pytest.approx(slow_objective(model), rel=1e-11)


@pytest.mark.parametrize("name", [*NAMES, "Us"])
def test_gradient_agrees_with_finite_differences(name):
    model = system()
    gradient = model.gradient(name)
    F = model.factors[name].value
    step = 1e-6
    for index in np.ndindex(F.shape):
        sides = []
        for sign in (1, -1):
            F[index] += sign * step
            sides.append(slow_objective(model))
            F[index] -= sign * step
        assert gradient[index] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_update_raises_the_objective(seed):
    model = system(seed, shared_u=seed % 2 == 1)
    last = model.objective()
    for _ in range(15):
        for name in model.factors:
            model.update(name)
            now = model.objective()
            assert now <= last * (1 + 1e-12)
            last = now


def test_updates_find_a_stationary_point():
    """F ∘ ∂objective/∂F = 0 is met a thousand times better, and ∂ ≥ 0 nearly."""

    def residual(model):
        return max(np.abs(model[name] * model.gradient(name)).max() for name in model.factors)

    model = system()
    before = residual(model)
    for _ in range(6000):
        model.update(*model.factors)
    assert residual(model) < before / 1000
    assert all(model.gradient(name).min() > -before / 1000 for name in model.factors)


def test_float32_agrees_with_float64():
    models = [system(dtype=dtype) for dtype in ("float32", "float64")]
    for model in models:
        for _ in range(20):
            model.update(*model.factors)
        assert all(factor.value.dtype == model.dtype for factor in model.factors.values())
    for name in models[0].factors:
        np.testing.assert_allclose(models[0][name], models[1][name], rtol=2e-4, atol=1e-6)
    assert models[0].objective() == pytest.approx(models[1].objective(), rel=1e-5)


def test_zeros_stay_zero_without_a_graph_and_fixed_factors_stay():
    model = system(graphs=False, ties=False)
    model["Us"][3] = 0
    model.factors["Vs"].fixed = True
    fixed = model["Vs"].copy()
    for _ in range(5):
        model.update(*model.factors)
        model.normalize(*model.factors)
    assert not model["Us"][3].any()
    np.testing.assert_array_equal(model["Vs"], fixed)


def test_permuting_rows_permutes_the_factors():
    rng = np.random.default_rng(3)
    order = rng.permutation(9)
    models = []
    for permuted in (False, True):
        model = system(graphs=False, ties=False)
        s, t = model.terms
        factors = {
            name: Factor(f.value[order] if permuted and name == "Vt" else f.value)
            for name, f in model.factors.items()
        }
        X = t.X[order] if permuted else t.X
        model = NMTF(factors, (s, Term(X, t.parts, t.v, t.weight)), "float64")
        for _ in range(5):
            model.update(*model.factors)
        models.append(model)
    np.testing.assert_allclose(models[1]["Vt"], models[0]["Vt"][order], rtol=1e-10)
    np.testing.assert_allclose(models[1]["H"], models[0]["H"], rtol=1e-10)


def test_blocks_of_rows_change_nothing(monkeypatch):
    whole, cut = system(), system()
    whole.update(*whole.factors)
    monkeypatch.setattr("transferbench.core.nmtf.BLOCK", 3)
    cut.update(*cut.factors)
    for name in whole.factors:
        np.testing.assert_allclose(cut[name], whole[name], rtol=1e-12)


def test_normalize_makes_sums_one_and_leaves_zero_lines():
    F = np.array([[1.0, 0.0], [3.0, 0.0]])
    np.testing.assert_allclose(scale_to_one(F.copy(), "columns"), [[0.25, 0], [0.75, 0]])
    np.testing.assert_allclose(scale_to_one(F.copy(), "rows"), [[1, 0], [1, 0]])


def test_frobenius_one_and_present():
    X = sp.csr_array(np.array([[3.0, 0, 4], [0, 0, 0]]))
    assert np.sqrt((frobenius_one(X).toarray() ** 2).sum()) == pytest.approx(1)
    assert frobenius_one(X * 0).toarray().sum() == 0
    np.testing.assert_array_equal(present(X).toarray(), [[3, 4], [0, 0]])
    assert sum_one(X).toarray().sum() == pytest.approx(1)


def test_blocks_of_one_factor_updated_jointly_are_that_factor():
    """H = [H0; H1] over [U0, U1] in two blocks takes the step of the undivided H."""
    rng = np.random.default_rng(0)
    X, U, H, V = (rng.random(shape) for shape in ((9, M), (M, 5), (5, C), (9, C)))
    whole = NMTF({"U": Factor(U), "H": Factor(H), "V": Factor(V)}, [Term(X, (("U", "H"),), "V")],
                 "float64")  # fmt: skip
    parts = {"U0": U[:, :2], "U1": U[:, 2:], "H0": H[:2], "H1": H[2:], "V": V}
    blocks = NMTF(
        {name: Factor(value) for name, value in parts.items()},
        [Term(X, (("U0", "H0"), ("U1", "H1")), "V")],
        "float64",
    )
    whole.update("H")
    blocks.update_jointly("H0", "H1")
    np.testing.assert_allclose(np.vstack([blocks["H0"], blocks["H1"]]), whole["H"], rtol=1e-12)
    blocks.update("H0", "H1")
    whole.update("H")
    assert not np.allclose(np.vstack([blocks["H0"], blocks["H1"]]), whole["H"], rtol=1e-6)


def test_a_lost_objective_is_an_error_not_a_result():
    model = system()
    with pytest.raises(FloatingPointError, match="iteration 1"):
        model.solve(lambda: model["H"].fill(np.nan), 3, ["Vs", "Vt"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.__setitem__("Vs", Factor(np.ones((8, C)))), "Vs has 8 rows"),
        (lambda f: f.__setitem__("H", Factor(np.ones((K + 1, C)))), "not a product"),
        (lambda f: f.__setitem__("H", Factor(-np.ones((K, C)))), "nonnegative"),
    ],
)
def test_shapes_and_signs_are_checked(change, message):
    model = system()
    factors = dict(model.factors)
    change(factors)
    with pytest.raises(ValueError, match=message):
        NMTF(factors, model.terms)


def test_the_shape_of_a_tie_is_checked():
    model = system()
    with pytest.raises(ValueError, match="another shape"):
        NMTF(model.factors, model.terms, ties=[Tie("Vt", np.ones((2, C)), 1.0)])
