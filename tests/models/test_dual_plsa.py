"""CD-PLSA and HIDC against EM by their definitions, with a posterior of each word and document."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_problem

import transferbench
from transferbench.core.logistic import label_start
from transferbench.models.transfer import cd_plsa
from transferbench.models.transfer._shared import word_topics

STEPS, SEED = 4, 5


@pytest.fixture(scope="module")
def case():
    """A problem of two targets; counts (n, m) of each domain, and the start of P(z|d)."""
    problem, _ = make_problem(seed=3, classes=3, documents=15, features=20, targets=2)
    Ns = [domain.X.toarray() for domain in problem.domains]
    total = sum(N.sum() for N in Ns)
    return problem, [N / total for N in Ns], [*label_start(problem)]


def columns(A: np.ndarray) -> np.ndarray:
    return A / A.sum(axis=0)


def posterior(W: np.ndarray, H: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(d, w) (n, m), and P(y, z|d, w) (n, m, k, c), from the joint of all four variables."""
    joint = V[:, None, None, :] * W[None, :, :, None] * H[None, None, :, :]
    P = joint.sum(axis=(2, 3))
    return P, joint / np.where(P > 0, P, 1)[:, :, None, None]


def likelihood(N: np.ndarray, P: np.ndarray) -> float:
    return float(np.sum(N[N > 0] * np.log(P[N > 0])))


def test_cd_plsa_equals_em_by_its_definition(case):
    problem, Ns, start = case
    k = 4
    topics, _ = word_topics(problem, k, max_iter=cd_plsa.PLSA_STEPS, seed=SEED)
    Ws = [topics] * 3
    H = np.random.default_rng(SEED).random((k, 3))
    H = H / H.sum()
    Vs = [columns(P) for P in start]
    trace = []
    for _ in range(STEPS):
        R = [
            N[:, :, None, None] * posterior(W, H, V)[1] for N, W, V in zip(Ns, Ws, Vs, strict=True)
        ]
        Ws = [columns(r.sum(axis=(0, 3))) for r in R]
        H = sum(r.sum(axis=(0, 1)) for r in R)
        H = H / H.sum()
        Vs = [Vs[0], *(columns(r.sum(axis=(1, 2))) for r in R[1:])]
        Ps = [posterior(W, H, V)[0] for W, V in zip(Ws, Vs, strict=True)]
        trace.append(-sum(likelihood(N, P) for N, P in zip(Ns, Ps, strict=True)))
    fit = transferbench.fit("cd-plsa", problem, k=k, max_iter=STEPS, seed=SEED)
    np.testing.assert_allclose(fit.trace, trace, rtol=1e-9)
    for V, scores in zip(Vs, fit.scores, strict=True):
        expected = V * H.sum(axis=0)
        np.testing.assert_allclose(scores, expected / expected.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("ks", [(3, 2, 2), (0, 3, 0)])
def test_hidc_equals_em_by_its_definition(case, ks):
    """Each kind has its own posterior; P(d|z) and P(z) get the counts of all kinds."""
    problem, Ns, start = case
    k1, k2, k3 = ks
    topics, _ = word_topics(problem, max(1, k1 + k2), seed=SEED)
    words = [topics[:, :k1], topics[:, k1 : k1 + k2], np.full((20, k3), 1 / 20)]
    W = {(j, r): words[j] for j in range(3) for r in range(3)}
    H = {(j, r): np.full((ks[j], 3), 1 / max(1, ks[j])) for j in range(3) for r in range(3)}
    D = [columns(start[0]), *(columns((P + 1 / 3) / 2) for P in start[1:])]
    Z = [np.full(3, 1 / 3)] * 3
    used = [j for j in range(3) if ks[j]]
    trace = []
    for _ in range(STEPS):
        R = {
            (j, r): Ns[r][:, :, None, None] * posterior(W[j, r], H[j, r], D[r] * Z[r])[1]
            for j in used
            for r in range(3)
        }
        for j in used:
            each = [R[j, r] for r in range(3)]
            for r in range(3):
                over = each if j == 0 else [each[r]]
                W[j, r] = columns(sum(e.sum(axis=(0, 3)) for e in over))
                over = each if j < 2 else [each[r]]
                H[j, r] = columns(sum(e.sum(axis=(0, 1)) for e in over))
        for r in range(3):
            counts = sum(R[j, r].sum(axis=(1, 2)) for j in used)
            Z[r] = counts.sum(axis=0) / counts.sum()
            D[r] = D[r] if r == 0 else columns(counts)
        trace.append(
            -sum(
                likelihood(Ns[r], posterior(W[j, r], H[j, r], D[r] * Z[r])[0])
                for j in used
                for r in range(3)
            )
        )
    fit = transferbench.fit("hidc", problem, k1=k1, k2=k2, k3=k3, max_iter=STEPS, seed=SEED)
    np.testing.assert_allclose(fit.trace, trace, rtol=1e-9)
    for r, scores in enumerate(fit.scores):
        expected = D[r] * Z[r]
        np.testing.assert_allclose(scores, expected / expected.sum(axis=1, keepdims=True))
