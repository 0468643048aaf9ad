"""GCMF against a dense version of Algorithm 1 of its paper."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from oracles import Objective, columns

import transferbench
from transferbench.core.graph import cosine_graph
from transferbench.core.logistic import label_start

K, P, ITERATIONS = 5, 3, 7


def algorithm_1(problem, seed, lam, gamma, at) -> Objective:
    """Return the objective of eqs. 7–10 after its updates, X_π features × documents.

    With `at` "domain" columns are scaled after the updates of a domain, as in Algorithm 1; else
    after each update.
    """
    rng = np.random.default_rng(seed)
    model = Objective({"H": rng.random((K, len(problem.classes)))}, [])
    for d, (domain, V) in enumerate(zip(problem.domains, label_start(problem), strict=True)):
        X = sp.csr_array(domain.X).toarray().T
        X = X[X.sum(axis=1) > 0]
        model.graphs.append((lam, f"U{d}", cosine_graph(X, P).W.toarray()))
        if not domain.seen.all():
            model.graphs.append((gamma, f"V{d}", cosine_graph(X.T, P).W.toarray()))
        model.terms.append((1, X / np.linalg.norm(X), [(f"U{d}", "H")], f"V{d}"))
        model.factors |= {f"U{d}": rng.random((len(X), K)), f"V{d}": columns(V)}
    for _ in range(ITERATIONS):
        for d, domain in enumerate(problem.domains):
            free = [f"U{d}"] if domain.seen.all() else [f"U{d}", f"V{d}"]
            for name in free:
                model.update(name, scale=columns if at == "update" else None)
            model.update("H")
            if at == "domain":
                model.scale(columns, *free)
        model.trace.append(model.value())
    return model


def fit(problem, **changes):
    settings = {"k": K, "p": P, "lam": 2.0, "gamma": 3.0, "max_iter": ITERATIONS}
    return transferbench.fit("gcmf", problem, seed=4, **(settings | {"dtype": "float64"} | changes))


@pytest.mark.parametrize(
    ("targets", "classes", "weights", "at"),
    [
        (1, 2, (2.0, 3.0), "domain"),
        (2, 3, (2.0, 3.0), "domain"),
        (2, 2, (2.0, 3.0), "update"),
        (1, 3, (0.0, 0.0), "domain"),
    ],
)
def test_equals_algorithm_1(targets, classes, weights, at):
    problem, _ = make_problem(targets=targets, classes=classes)
    expected = algorithm_1(problem, 4, *weights, at)
    got = fit(problem, lam=weights[0], gamma=weights[1], normalize_at=at)
    for d, scores in enumerate(got.scores):
        np.testing.assert_allclose(scores, expected.factors[f"V{d}"], rtol=1e-9)
    np.testing.assert_allclose(got.trace, expected.trace, rtol=1e-9)


def test_neighbours_among_all_domains_are_the_block_of_the_joint_graph():
    from transferbench.models.transfer.gcmf import _graph_of

    (problem, _), p = make_problem(seed=3), 4
    X = np.vstack([domain.X.toarray() for domain in problem.domains])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    cosine = X @ X.T
    np.fill_diagonal(cosine, 0)
    nearest = np.zeros_like(cosine, bool)
    for i, row in enumerate(cosine):
        nearest[i, np.argsort(-row, kind="stable")[:p]] = True
    joint = np.where(nearest | nearest.T, cosine, 0)
    start = len(problem.domains[0].seen)
    found = _graph_of(problem, 1, p, "auto").W.toarray()
    np.testing.assert_allclose(found, joint[start:, start:], atol=1e-6)
    assert (found != cosine_graph(problem.domains[1].X, p).W.toarray()).any()
    scores = [fit(problem, neighbours=which).scores[1] for which in ("domain", "all")]
    assert not np.allclose(*scores)


def test_with_stop_the_scores_are_those_of_the_least_objective():
    """Scaling may raise the objective: on this problem it is least long before the last one."""
    problem, _ = make_problem(1, targets=2)
    settings = {"lam": 0.0, "gamma": 0.0}
    seen = []

    def watch(iteration, planned, scores):
        seen.append(tuple(V.copy() for V in scores))

    fixed = fit(problem, max_iter=150, **settings)
    stopped = fit(problem, max_iter=150, stop="objective", watch=watch, **settings)
    least = int(np.argmin(fixed.trace)) + 1
    assert 50 < least < 140
    assert stopped.trace == fixed.trace
    for result in (fixed, stopped):
        assert result.diagnostics["least_objective_iteration"] == least
    shorter = fit(problem, max_iter=least, **settings)
    for scores in (stopped.scores, seen[least - 1], seen[-1]):
        np.testing.assert_array_equal(np.vstack(scores), np.vstack(shorter.scores))
    assert (fixed.scores[1] != shorter.scores[1]).any()
