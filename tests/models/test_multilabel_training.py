"""Start and training of HiMLS and HiMLSD on documents."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import make_multilabel

import transferbench
from transferbench import artefacts
from transferbench.core.losses import Divergence, Squares
from transferbench.models.multilabel._layers import Documents, LayerPlan, start_M, train

LOSSES = [Squares(), Divergence()]
PLAN = LayerPlan((5, 3), (4, 3), 3, 3, "random", 5, "length", 0)


def loss_name(loss):
    return type(loss).__name__.lower()


def test_start_of_M_is_near_the_M_of_the_data():
    rng = np.random.default_rng(0)
    R, M, C = rng.random((50, 3)), rng.random((3, 4)) + 0.5, rng.random((30, 4))
    np.testing.assert_allclose(start_M(R, R @ M @ C.T, C), M, rtol=0.1)
    # Fewer columns than clusters: CᵀC has no inverse.
    few = start_M(R, R @ M @ C[:2].T, C[:2])
    assert np.isfinite(few).all()
    assert (few > 0).all()


def make_documents():
    problem, _ = make_multilabel(0)
    return Documents.from_problem(problem, False, False, "float64")


@pytest.mark.parametrize("loss", LOSSES, ids=loss_name)
def test_labels_of_unseen_rows_are_never_used(loss):
    documents = make_documents()
    start = PLAN.start_factors(documents.X, 0)
    clean = train(documents, documents.seen, loss, PLAN, (1.0, 1.0), start)
    documents.Y[~documents.seen] = np.nan
    spoilt = train(documents, documents.seen, loss, PLAN, (1.0, 1.0), start)
    np.testing.assert_array_equal(clean, spoilt)


def test_pooling_merges_tasks_and_views():
    problem, _ = make_multilabel(tasks=3, views=2, documents=20)
    given = Documents.from_problem(problem, False, False, "float32")
    pooled = Documents.from_problem(problem, True, True, "float32")
    assert (len(given.tasks), len(given.X)) == (3, 2)
    assert (len(pooled.tasks), len(pooled.X)) == (1, 1)
    both = np.hstack([given.X[0].toarray(), given.X[1]])
    np.testing.assert_array_equal(pooled.X[0].toarray(), both)
    np.testing.assert_array_equal(np.concatenate(given.tasks), pooled.tasks[0])


def test_each_pair_of_weights_is_tried_with_its_own_training(monkeypatch):
    """The trials see the kept rows; the last training has the chosen pair and every seen row."""
    problem, _ = make_multilabel(0)
    trained = []

    def record(documents, seen, loss, plan, pair, start, on_sweep=None):
        trained.append((pair, seen.sum()))
        return train(documents, seen, loss, plan, pair, start, on_sweep)

    monkeypatch.setattr("transferbench.models.multilabel._layers.train", record)
    alphas = (0.01, 0.1, 1.0)
    transferbench.fit("himls", problem, p=[6], q=[6], alpha=alphas, pretrain=2, seed=0)
    pairs, rows = zip(*trained, strict=True)
    assert pairs[:3] == tuple((alpha, 1.0) for alpha in alphas)
    assert pairs[3] in pairs[:3]
    everyone = sum(domain.seen.sum() for domain in problem.domains)
    assert len(set(rows[:3])) == 1
    assert rows[0] < rows[3] == everyone


def test_runs_that_differ_in_the_decision_share_every_training(monkeypatch):
    problem, _ = make_multilabel(0)
    trained = []

    def record(*arguments):
        trained.append(arguments)
        return train(*arguments)

    monkeypatch.setattr("transferbench.models.multilabel._layers.train", record)
    settings = {"p": [6], "q": [6], "pretrain": 2, "seed": 0}
    with artefacts.use({}):
        plain = transferbench.fit("himls", problem, alpha=[0.1], **settings)
        again = transferbench.fit("himls", problem, alpha=[0.1], ensure_one_label=True, **settings)
    assert len(trained) == 1
    assert plain.trace == again.trace
    assert len(plain.trace) == 2
