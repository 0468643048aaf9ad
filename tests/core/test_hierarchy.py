"""Properties of stacked tri-factorisations, for both losses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import kl_div

from transferbench.core.hierarchy import Data, Layer, Stack
from transferbench.core.losses import Divergence, Squares

LOSSES = [Squares(), Divergence()]
DISTANCE = {Squares: lambda A, B: (A - B) ** 2, Divergence: kl_div}


def loss_name(loss):
    return type(loss).__name__.lower()


def random_stack(seed, alpha=None, beta=None, layers=None):
    """Return data of random sizes, sparse and dense, layers for it, and β."""
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
    """Return eqs. 5 and 23, computed densely from the factors."""
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


def block_updates(stack):
    """Yield every update of a fine-tuning sweep whose factor is part of the objective."""
    for j in range(len(stack.terms)):
        yield lambda j=j: stack.update_M_of(j)
    for level in reversed(range(len(stack.layers))):
        yield lambda level=level: stack.update_R(level)
        yield lambda level=level: stack.update_C(level)


def count_rises(loss, seed):
    """Return how many updates of three sweeps raise the objective, and how many there are."""
    data, layers, beta = random_stack(seed)
    distance = DISTANCE[type(loss)]
    stack = Stack(data, layers, loss, beta)
    values = [objective(data, layers, beta, distance)]
    for update in 3 * list(block_updates(stack)):
        update()
        values.append(objective(data, layers, beta, distance))
    values = np.array(values)
    return np.sum(np.diff(values) > 1e-9 * (1 + abs(values[:-1]))), len(values) - 1


def sweep(stack, times):
    for _ in range(times):
        for update in block_updates(stack):
            update()


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
def test_no_update_of_any_block_raises_the_objective(loss):
    seeds = 30
    rises, updates = np.sum([count_rises(loss, seed) for seed in range(seeds)], axis=0)
    assert updates > 15 * seeds
    assert rises == 0


@pytest.mark.parametrize("seed", range(2))
def test_paper_coupling_raises_the_objective_at_the_minimum_of_the_exact_one(seed):
    data, layers, beta = random_stack(seed, beta=1.0)
    stack = Stack(data, layers, Divergence(), beta)
    for _ in range(200):
        stack.update_M_of(0)
    minimum = objective(data, layers, beta, kl_div)
    stack.update_M_of(0)
    assert objective(data, layers, beta, kl_div) == pytest.approx(minimum, rel=1e-9)
    stack.loss = Divergence("paper")
    stack.update_M_of(0)
    assert objective(data, layers, beta, kl_div) > minimum * (1 + 1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
@pytest.mark.parametrize("seed", range(2))
def test_objective_equals_its_dense_computation(loss, seed):
    data, layers, beta = random_stack(seed)
    stack = Stack(data, layers, loss, beta)
    sweep(stack, 1)
    expected = objective(data, layers, beta, DISTANCE[type(loss)])
    assert stack.objective() == pytest.approx(expected, rel=1e-10)


def factors(layers):
    for layer in layers:
        yield from (*layer.R, *layer.C)
    yield from (m for M in layers[-1].M for m in M)


def residual(data, layers, beta, distance):
    """Return the largest F ∘ ∂objective/∂F, by central differences in log F."""
    worst, step = 0.0, 1e-5
    for F in factors(layers):
        for index in np.ndindex(F.shape):
            original, values = F[index], []
            for sign in (1, -1):
                F[index] = original * np.exp(sign * step)
                values.append(objective(data, layers, beta, distance))
            F[index] = original
            worst = max(worst, abs(values[0] - values[1]) / (2 * step))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
def test_kkt_residual_falls_by_a_factor_of_1000(loss):
    data, layers, beta = random_stack(0, alpha=0.5, beta=0.5, layers=1)
    stack = Stack(data, layers, loss, beta)
    before = residual(data, layers, beta, DISTANCE[type(loss)])
    sweep(stack, 1000)
    assert residual(data, layers, beta, DISTANCE[type(loss)]) < before / 1000
