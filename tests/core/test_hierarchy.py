"""Stacks of tri-factorisations: what holds for both losses."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_multilabel
from scipy.special import kl_div

from transferbench.core import hierarchy
from transferbench.core.hierarchy import Data, Layer, Stack
from transferbench.core.losses import Divergence, Squares
from transferbench.core.multilabel import Documents, Plan, association, train
from transferbench.problem import Domain

LOSSES = [Squares(), Divergence()]
DISTANCE = {Squares: lambda A, B: (A - B) ** 2, Divergence: kl_div}


def name(loss):
    return type(loss).__name__.lower()


def case(seed, alpha=None, beta=None, layers=None):
    """Data of random sizes, sparse and dense, and layers upon it; α and β."""
    rng = np.random.default_rng(seed)
    tasks, views, depth = rng.integers(1, 4), rng.integers(1, 3), layers or rng.integers(1, 4)
    n = [int(size) for size in rng.integers(4, 12, tasks)]
    labelled = [int(rng.integers(0 if i else 1, size + 1)) for i, size in enumerate(n)]
    d = [*(int(size) for size in rng.integers(3, 9, views)), int(rng.integers(2, 5))]
    X = [rng.poisson(0.7, (sum(n), size)) * rng.random((sum(n), size)) for size in d[:-1]]
    X[0] = sp.csr_array(X[0])
    Y = (rng.random((sum(labelled), d[-1])) < 0.4).astype(float)

    def slices(sizes):
        ends = np.cumsum(sizes).tolist()
        return tuple(slice(end - size, end) for end, size in zip(ends, sizes, strict=True))

    weights = [0.0, 0.01, 1.0, 30.0]
    alpha = float(rng.choice(weights)) if alpha is None else alpha
    beta = float(rng.choice(weights)) if beta is None else beta
    data = Data((*X, Y), (slices(n),) * views + (slices(labelled),), alpha)
    stack, rows, columns = [], n, d
    for _ in range(depth):
        p, q = (int(size) for size in rng.integers(1, 6, 2))
        M = [[rng.random((p, q)) * 10.0 ** rng.integers(-2, 2) for _ in d] for _ in n]
        R, C = [rng.random((r, p)) for r in rows], [rng.random((c, q)) for c in columns]
        stack.append(Layer(R, C, M))
        rows, columns = [p] * len(n), [q] * len(d)
    return data, stack, beta


def objective(data, layers, beta, distance):
    """Eqs. 5 and 23, dense, from the factors alone."""
    total = 0.0
    for i, M in enumerate(layers[-1].M):
        for j, X in enumerate(data.X):
            labels = j == len(data.X) - 1
            X = sp.csr_array(X).toarray()[data.rows[j][i]]
            R = np.linalg.multi_dot([np.eye(len(layers[0].R[i])), *[a.R[i] for a in layers], M[j]])
            C = np.linalg.multi_dot([np.eye(X.shape[1]), *[a.C[j] for a in layers]])
            weight = data.alpha if labels else 1
            total += weight * distance(X, R[: len(X)] @ C.T).sum() if weight else 0
            total += beta * distance(M[j], M[-1]).sum() if beta else 0
    assert np.isfinite(total)
    return total


def blocks(stack):
    """Every update of a sweep of fine-tuning that the objective knows of."""
    for j in range(len(stack.terms)):
        yield lambda j=j: stack.update_M_of(j)
    for level in reversed(range(len(stack.layers))):
        yield lambda level=level: stack.update_R(level)
        yield lambda level=level: stack.update_C(level)


def rises(loss, seed):
    """How many of the updates of three sweeps raise the objective, and how many there are."""
    data, layers, beta = case(seed)
    distance = DISTANCE[type(loss)]
    stack = Stack(data, layers, loss, beta)
    values = [objective(data, layers, beta, distance)]
    for update in 3 * list(blocks(stack)):
        update()
        values.append(objective(data, layers, beta, distance))
    values = np.array(values)
    return np.sum(np.diff(values) > 1e-9 * (1 + abs(values[:-1]))), len(values) - 1


def sweep(stack, times):
    for _ in range(times):
        for update in blocks(stack):
            update()


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_update_of_any_block_raises_the_objective(loss):
    found, count = np.sum([rises(loss, seed) for seed in range(150)], axis=0)
    assert count > 2500
    assert found == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_coupling_raises_the_divergence_where_the_exact_one_is_at_rest(seed):
    data, layers, beta = case(seed, beta=1.0)
    stack = Stack(data, layers, Divergence(), beta)
    for _ in range(200):
        stack.update_M_of(0)
    rest = objective(data, layers, beta, kl_div)
    stack.update_M_of(0)
    assert objective(data, layers, beta, kl_div) == pytest.approx(rest, rel=1e-9)
    stack.loss = Divergence("paper")
    stack.update_M_of(0)
    assert objective(data, layers, beta, kl_div) > rest * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_is_that_of_the_factors(loss, seed):
    data, layers, beta = case(seed)
    stack = Stack(data, layers, loss, beta)
    sweep(stack, 1)
    expected = objective(data, layers, beta, DISTANCE[type(loss)])
    assert stack.objective() == pytest.approx(expected, rel=1e-10)


def factors(layers):
    for layer in layers:
        yield from (*layer.R, *layer.C)
    yield from (m for M in layers[-1].M for m in M)


def residual(data, layers, beta, distance):
    """Largest F ∘ ∂objective/∂F, by central differences in log F."""
    worst, step = 0.0, 1e-5
    for F in factors(layers):
        for place in np.ndindex(F.shape):
            kept, values = F[place], []
            for sign in (1, -1):
                F[place] = kept * np.exp(sign * step)
                values.append(objective(data, layers, beta, distance))
            F[place] = kept
            worst = max(worst, abs(values[0] - values[1]) / (2 * step))
    return worst


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("depth", [1, 2])
def test_the_kkt_residual_falls_a_thousandfold(loss, depth):
    data, layers, beta = case(0, alpha=0.5, beta=0.5, layers=depth)
    stack = Stack(data, layers, loss, beta)
    before = residual(data, layers, beta, DISTANCE[type(loss)])
    sweep(stack, 1000)
    assert residual(data, layers, beta, DISTANCE[type(loss)]) < before / 1000


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("seed", range(5))
def test_an_identity_on_top_changes_nothing(loss, seed):
    data, [layer], beta = case(seed, layers=1)
    below = copy.deepcopy(layer)
    (p, q), M = layer.M[0][0].shape, copy.deepcopy(layer.M)
    identity = Layer([np.eye(p) for _ in layer.R], [np.eye(q) for _ in layer.C], M)
    one, two = Stack(data, [layer], loss, beta), Stack(data, [below, identity], loss, beta)
    for _ in range(3):
        for stack in (one, two):
            stack.update_M()
            stack.update_R(0)
            stack.update_C(0)
    upper = Layer(below.R, below.C, identity.M)
    for F, G in zip(factors([layer]), factors([upper]), strict=True):
        np.testing.assert_allclose(G, F, rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("seed", range(5))
def test_without_alpha_and_beta_labels_do_not_matter(loss, seed):
    data, layers, _ = case(seed, alpha=0.0, beta=0.0)
    others = copy.deepcopy(layers)
    other = replace(data, X=(*data.X[:-1], 1 - data.X[-1]))
    for chosen, on in ((data, layers), (other, others)):
        stack = Stack(chosen, on, loss, 0.0)
        for _ in range(3):
            hierarchy.finetune(stack)
    for one, two in zip(layers, others, strict=True):
        for F, G in zip((*one.R, *one.C[:-1]), (*two.R, *two.C[:-1]), strict=True):
            np.testing.assert_array_equal(F, G)
        for M, N in zip(one.M, two.M, strict=True):
            np.testing.assert_array_equal(M[:-1], N[:-1])
        assert all(np.isfinite(F).all() for F in factors(others))


def test_factors_of_another_shape_are_refused():
    data, layers, beta = case(0, layers=1)
    layers[0].C[0] = layers[0].C[0][1:]
    with pytest.raises(ValueError, match="view 0"):
        Stack(data, layers, Squares(), beta)


def test_the_start_of_m_is_near_the_one_that_made_the_data():
    rng = np.random.default_rng(0)
    R, M, C = rng.random((50, 3)), rng.random((3, 4)) + 0.5, rng.random((30, 4))
    np.testing.assert_allclose(association(R, R @ M @ C.T, C), M, rtol=0.1)
    # Fewer columns than clusters: CᵀC has no inverse.
    few = association(R, R @ M @ C[:2].T, C[:2])
    assert np.isfinite(few).all()
    assert (few > 0).all()


# -- training on documents -------------------------------------------------------------------

PLAN = Plan((5, 3), (4, 3), 3, 3, "random", 5, "length", 0)


def documents(seed=0, **changes):
    problem, _ = make_multilabel(seed, **changes)
    return Documents.of(problem, "given", "given", "float64")


def begin(found):
    C = [PLAN.features(x, PLAN.q[0], j) for j, x in enumerate(found.X)]
    return PLAN.instances(list(found.X), PLAN.p[0]), C


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_documents_in_another_order_get_the_same_scores(loss):
    found = documents()
    R, C = begin(found)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(rows) for rows in found.tasks])
    X, Y, seen = tuple(x[order] for x in found.X), found.Y[order], found.seen[order]
    moved = replace(found, X=X, Y=Y, seen=seen)
    one = train(found, found.seen, loss, PLAN, (1.0, 1.0), (R, C))
    two = train(moved, moved.seen, loss, PLAN, (1.0, 1.0), (R[order], C))
    np.testing.assert_allclose(two, one[order], rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_labels_of_unseen_rows_are_never_touched(loss):
    found = documents()
    clean = train(found, found.seen, loss, PLAN, (1.0, 1.0), begin(found))
    found.Y[~found.seen] = np.nan
    spoilt = train(found, found.seen, loss, PLAN, (1.0, 1.0), begin(found))
    np.testing.assert_array_equal(clean, spoilt)


def test_joined_tasks_and_views_are_one():
    problem, _ = make_multilabel(tasks=3, views=2, documents=20)
    given = Documents.of(problem, "given", "given", "float32")
    joined = Documents.of(problem, "joined", "joined", "float32")
    assert (len(given.tasks), len(given.X)) == (3, 2)
    assert (len(joined.tasks), len(joined.X)) == (1, 1)
    both = np.hstack([given.X[0].toarray(), given.X[1]])
    np.testing.assert_array_equal(joined.X[0].toarray(), both)
    np.testing.assert_array_equal(np.concatenate(given.tasks), joined.tasks[0])


def test_features_of_no_document_are_left_out():
    problem, _ = make_multilabel()
    domains = []
    for d in problem.domains:
        X = d.views[0].toarray()
        X[:, 3] = 0
        domains.append(Domain(d.name, (sp.csr_array(X), d.views[1]), d.Y, d.seen))
    found = Documents.of(replace(problem, domains=tuple(domains)), "given", "given", "float64")
    assert [x.shape[1] for x in found.X] == [29, 10]


def test_columns_start_with_the_length_or_sum_asked_for():
    X = documents().X[0]
    np.testing.assert_allclose(np.linalg.norm(PLAN.features(X, 4, 0), axis=0), 1)
    plan = replace(PLAN, columns="sum", start="plsa")
    np.testing.assert_allclose(plan.features(X, 4, 0).sum(axis=0), 1)


def test_layers_that_p_and_q_do_not_share_are_refused():
    with pytest.raises(ValueError, match="same layers"):
        replace(PLAN, p=(5,))
