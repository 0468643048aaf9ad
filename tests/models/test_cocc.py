"""CoCC against its definition by divergences of dense joint distributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from scipy.special import rel_entr

import transferbench
from transferbench.models.transfer.cocc import CoClustering
from transferbench.problem import Domain, Problem


def case(seed: int, k: int = 4, c: int = 2, lam: float = 0.25) -> CoClustering:
    """Random tables with zeros and, for some seeds, words that are absent from one of them."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 15), rng.integers(5, 25)
    X = rng.poisson(0.5, (n, m)) * rng.random((n, m))
    X[0, 0] += 1
    labelled = rng.poisson(0.7, (m, c)) * rng.random((m, c))
    labelled[:c] += np.eye(c)
    start = rng.random((n, c))
    seen = rng.random(n) < 0.2 * (seed % 2)
    return CoClustering(sp.csr_array(X), start, seen, labelled / labelled.sum(), k, lam)


def approximation(joint: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """p̃(x, y) = p(x̂, ŷ) p(x|x̂) p(y|ŷ), entry by entry."""
    together = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(together, (rows[:, None], columns[None, :]), joint)
    across, down = joint.sum(axis=1), joint.sum(axis=0)
    size = (np.bincount(rows, across), np.bincount(columns, down))
    result = np.zeros_like(joint)
    for x, y in np.argwhere(np.outer(across, down) > 0):
        i, j = rows[x], columns[y]
        result[x, y] = together[i, j] * across[x] / size[0][i] * down[y] / size[1][j]
    return result


def loss(clustering: CoClustering) -> float:
    """KL(p ‖ p̃) + λ KL(f ‖ f̃), which equals the lost information (lemma of Dai et al.)."""
    P, F = clustering.P.toarray(), clustering.labelled.T
    classes = np.arange(len(F))
    target = rel_entr(P, approximation(P, clustering.documents, clustering.words)).sum()
    return target + clustering.lam * rel_entr(F, approximation(F, classes, clustering.words)).sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_objective_is_a_divergence_between_joint_distributions(seed):
    clustering = case(seed, k=1 + seed % 6, c=2 + seed % 3)
    for _ in range(2):
        assert clustering.objective() == pytest.approx(loss(clustering), abs=1e-12)
        clustering.assign_documents()
        clustering.assign_words()


def test_no_assignment_increases_the_objective():
    fell = 0
    for seed in range(40):
        clustering = case(seed, k=1 + seed % 9, c=2 + seed % 3, lam=3.0 * (seed % 2))
        before = clustering.objective()
        for _ in range(5):
            for assign in (clustering.assign_documents, clustering.assign_words):
                assign()
                after = clustering.objective()
                assert after <= before + 1e-12
                fell += after < before - 1e-6
                before = after
    assert fell > 40


def conditional(joint: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; an empty row becomes the marginal."""
    rows = np.array([row if row.sum() > 0 else joint.sum(axis=0) for row in joint])
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_each_document_and_word_gets_the_cluster_of_least_divergence(seed):
    clustering = case(seed, c=3, lam=0.7)
    P, F = clustering.P.toarray(), clustering.labelled
    c, k = 3, clustering.k
    D, W = np.eye(c)[clustering.documents], np.eye(k)[clustering.words]
    given = conditional(D.T @ P @ W)  # p(ŵ|d̂)
    clustering.assign_documents()
    for d in np.flatnonzero(~clustering.seen & (P.sum(axis=1) > 0)):
        p = P[d] @ W / P[d].sum()
        divergence = [rel_entr(p, given[cluster]).sum() for cluster in range(c)]
        assert divergence[clustering.documents[d]] == min(divergence)
        finite = np.isfinite(divergence)
        gaps = clustering.scores[d][finite] + np.array(divergence)[finite]
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-12)

    D = np.eye(c)[clustering.documents]
    table = P.T @ D  # p(w, d̂)
    by_target, by_label = conditional(W.T @ table), conditional(W.T @ F)
    clustering.assign_words()
    for w in range(len(F)):
        costs = [
            rel_entr(table[w], table[w].sum() * by_target[cluster]).sum()
            + 0.7 * rel_entr(F[w], F[w].sum() * by_label[cluster]).sum()
            for cluster in range(k)
        ]
        assert costs[clustering.words[w]] <= min(costs) + 1e-12


def test_seen_rows_of_a_target_keep_their_labels():
    problem, truth = make_problem(documents=60)
    source, target = problem.domains
    seen = np.arange(60) < 20
    wrong = np.where(seen[:, None], 1 - truth.Y[1], 0)
    part = Domain("target-1", target.views, wrong, seen)
    fit = transferbench.fit("cocc", Problem("p", "transfer", problem.classes, (source, part)), k=6)
    np.testing.assert_array_equal(fit.scores[1][seen], wrong[seen])
