"""Class shares: estimated, given, and their effect on the models."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

import transferbench
from transferbench.core import priors
from transferbench.errors import UserError
from transferbench.problem import Domain, Problem

MODELS = {
    "gcmf": {"k": 6, "p": 4, "max_iter": 20},
    "dtl": {"k": 6, "kappa": 3, "max_iter": 20},
    "mtrick": {"k": 6, "max_iter": 20},
    "dkt": {"k": 6, "max_iter": 20},
    "mrtl": {"k1": 4, "k2": 6, "max_iter": 20},
    "graph-only": {"p": 4},
    "lr-kmeans": {},
    "cocc": {"k": 8},
    "tsvm": {},
}
#: Models whose decisions have the given shares exactly; the others only lean towards them.
EXACT = ("gcmf", "graph-only", "lr-kmeans")


def unequal(sizes: tuple[int, ...], seed: int = 0) -> tuple[Problem, np.ndarray]:
    """Return a problem whose target has classes of these sizes, and the target's classes (n,)."""
    problem, truth = make_problem(seed, classes=len(sizes), documents=60 * len(sizes))
    source, target = problem.domains
    y = truth.Y[1].argmax(axis=1)
    rows = np.sort(np.concatenate([np.flatnonzero(y == c)[:n] for c, n in enumerate(sizes)]))
    few = Domain("target", (target.X[rows],), target.Y[rows], target.seen[rows])
    return replace(problem, domains=(source, few)), y[rows]


@pytest.mark.parametrize("sizes", [(6, 60), (60, 30, 15, 30)])
def test_shares_are_estimated_where_classes_are_clear(sizes):
    problem, _ = unequal(sizes)
    (found,) = transferbench.estimate_shares(problem)
    np.testing.assert_allclose(found, np.array(sizes) / sum(sizes), atol=0.05)


@pytest.mark.parametrize("model", MODELS)
def test_decisions_have_given_shares(model):
    problem, y = unequal((60, 12))
    given = np.bincount(y) / len(y)
    fit = transferbench.fit(model, problem, prior=tuple(given), **MODELS[model])
    found = np.bincount(fit.scores[1].argmax(axis=1), minlength=2) / len(y)
    np.testing.assert_allclose(found, given, atol=0.01 if model in EXACT else 0.15)
    assert np.mean(fit.scores[1].argmax(axis=1) == y) > 0.85


@pytest.mark.parametrize("model", MODELS)
def test_the_sources_shares_are_those_of_its_labels(model):
    problem, _ = unequal((60, 12))
    source = problem.domains[0].Y.mean(axis=0)
    by_name, by_value = (
        transferbench.fit(model, problem, prior=prior, **MODELS[model]).scores[1]
        for prior in ("source", tuple(source))
    )
    np.testing.assert_allclose(by_name, by_value, rtol=1e-5)


def test_what_remains_of_shares_is_for_unlabelled_documents():
    problem, truth = make_problem(documents=40)
    target, Y, shares = problem.domains[1], truth.Y[1], np.array([0.6, 0.4])
    assert priors.remaining_shares(target, shares) is shares
    first, all_of_one = np.arange(40) < 10, Y[:, 1] > 0  # 20 documents, where 16 are expected
    for seen, expected in (
        (first, (40 * shares - Y[first].sum(axis=0)) / 30),
        (all_of_one, [1.0, 0.0]),
    ):
        given = replace(target, Y=Y * seen[:, None], seen=seen)
        np.testing.assert_allclose(priors.remaining_shares(given, shares), expected)


def test_weights_of_labels_count_in_their_shares():
    problem, truth = make_problem(documents=40)
    source, target = problem.domains
    seen = np.arange(40) < 10
    Y = truth.Y[1] * seen[:, None]
    target = replace(target, Y=Y, seen=seen, label_weights=np.full(40, 4.0))
    counts = truth.Y[0].sum(axis=0) + 4 * Y.sum(axis=0)
    shares = priors.labelled_shares(replace(problem, domains=(source, target)))
    np.testing.assert_allclose(shares, counts / 80)


@pytest.mark.parametrize("prior", [(0.5,), "even", "0.9,-0.1", (0.0, 1.0), "0.9,x"])
def test_what_is_no_share_of_each_class_is_refused(prior):
    with pytest.raises(UserError, match=r"prior|shares given"):
        transferbench.fit("dtl", make_problem()[0], prior=prior)


def test_a_warning_where_estimators_disagree():
    problem, _ = unequal((60, 12), seed=3)
    # Half of the words of one class are those of the other: the regression leans to one side.
    rng = np.random.default_rng(0)
    X = problem.domains[1].X.toarray()
    mixed = np.where(rng.random(X.shape) < 0.7, X[:, ::-1], X)
    target = replace(problem.domains[1], views=(sp.csr_array(mixed),))
    doubtful = replace(problem, domains=(problem.domains[0], target))
    said = r"\(a 0\.\d+, b 0\.\d+\) are uncertain, .* in the order a, b: .* prior=0\.7,0\.3"
    with pytest.warns(UserWarning, match=said):
        fit = transferbench.fit("graph-only", doubtful, p=4, prior="estimated")
    assert fit.diagnostics["share_disagreement"] >= priors.LARGE_DISAGREEMENT


@pytest.mark.parametrize(("difference", "warned"), [(0.045, False), (0.055, True)])
def test_estimators_disagree_from_a_twentieth_on(difference, warned, monkeypatch):
    problem, _ = make_problem(documents=40)
    half = np.eye(2)[np.arange(40) % 2]
    monkeypatch.setattr(priors, "probabilities", lambda *_: [half, half])
    estimate = (np.array([0.5 + difference, 0.5 - difference]),)
    monkeypatch.setattr(priors, "estimate_shares", lambda *_, **__: estimate)
    with pytest.warns(UserWarning, match="uncertain") if warned else contextlib.nullcontext():
        found = priors.class_priors(problem, "estimated", 1.0)
    expected = {"share_disagreement": pytest.approx(difference)} if warned else {}
    assert found.diagnostics == expected


@pytest.mark.parametrize(
    ("decided", "of_labels", "start"), [(5, 0.5, 51), (8, 0.5, 9), (8, 0.0, 9), (0, 0.0, 1)]
)
def test_a_class_that_is_decided_rarely_starts_at_the_shares_of_the_labels(
    decided, of_labels, start, monkeypatch
):
    """The mean probability of the class is .30 to .35; a fifth of it is 6 or 7 of 100 documents."""
    p = np.where(np.arange(100) < decided, 0.9, np.linspace(0.31, 0.29, 100))
    P = np.stack([p, 1 - p], axis=1)
    begun = {}

    class Mixture:
        def __init__(self, components, **settings):
            begun.update(settings)

        def fit(self, Z):
            self.weights_, begun["Z"] = begun["weights_init"], Z
            return self

    monkeypatch.setattr("sklearn.mixture.GaussianMixture", Mixture)
    target = make_problem(documents=100)[0].domains[1]
    shares = priors._mixture(target, P, np.array([of_labels, 1 - of_labels]), "auto")
    assert shares[0] == pytest.approx(start / 102)
    if start == 1:  # no decision: it starts at the mean by its probabilities
        np.testing.assert_allclose(begun["means_init"][0], p @ begun["Z"] / p.sum())


def test_em_goes_on_until_the_likelihood_is_greatest():
    """Uninformative probabilities make EM slow."""
    p = np.linspace(0.3, 0.68, 400)
    P, source = np.column_stack([p, 1 - p]), np.array([0.5, 0.5])
    grid = np.linspace(0, 1, 2001)
    likelihood = np.log(np.outer(p, grid) + np.outer(1 - p, 1 - grid)).sum(axis=0)
    best = grid[likelihood.argmax()]
    assert 0.1 < best < 0.4
    assert priors.saerens(P, source)[0] == pytest.approx(best, abs=1e-3)
