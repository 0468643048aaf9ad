"""Consensus: the shares on which several methods agree, and decisions with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

import transferbench
from transferbench.core.documents import label_folds, seen_rows
from transferbench.models.transfer import consensus, tsvm
from transferbench.problem import Domain, Problem


def mixture(share: float, n: int = 300, *, shift: float = 1.5, seed: int = 0) -> tuple:
    """Return a problem of two clusters, moved in the target, and the target's classes (n,)."""
    rng = np.random.default_rng(seed)

    def domain(name: str, share: float, moved: float) -> tuple[Domain, np.ndarray]:
        y = (np.arange(n) < round(share * n)).astype(int)
        centres = np.zeros((2, 20))
        centres[0, :4] = centres[1, 4:8] = 4
        centres[:, 8:12] = moved
        X = rng.poisson(centres[y] + 0.5).astype(float)
        X[:, 12:] += rng.poisson(1.0, (n, 8))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        seen = np.full(n, name == "source")
        return Domain(name, (X,), np.eye(2)[y] * seen[:, None], seen), y

    source, _ = domain("source", 0.5, 0.0)
    target, y = domain("target", share, shift)
    return Problem("mixture", "transfer", ("a", "b"), (source, target)), y


def test_the_shares_of_the_target_are_found():
    problem, y = mixture(0.2)
    fit = transferbench.fit("consensus", problem)
    decided = fit.scores[1].argmax(axis=1)
    assert np.mean(decided == 0) == pytest.approx(np.mean(y == 0), abs=0.08)
    assert np.mean(decided == y) > 0.9
    assert fit.diagnostics["area"] > 0.6


def test_agreed_shares_by_a_slow_oracle():
    """Compare with loops over documents, sets of documents and SciPy's functions."""
    problem, _ = mixture(0.3, n=60)
    source, target = problem.domains
    problem = replace(problem, domains=(source.take(np.arange(15, 60)), target))  # unequal classes
    X, y = seen_rows(problem)
    T, n, sign = problem.domains[1].X, 60, np.where(y == 1, 1.0, -1.0)
    others = []
    for name in ("graph-only", "dtl", "cocc"):
        S = transferbench.fit(name, problem).scores[1]
        margin = [np.log(b / a) if (S >= 0).all() else b - a for a, b in S]
        others.append(sorted(range(n), key=lambda i, m=margin: -m[i]))
    objective, shares = [], []
    for step in np.linspace(-2.4, 2.4, 9):
        share = expit(logit(np.mean(y == 1)) + step)
        count = round(share * n)
        levels = tsvm.schedule(1.0, 1e-3, 3.0)
        *_, (w, _) = tsvm.transduce(X, sign, T, count, 1.0, levels, balance=True, tol=1e-2)
        best = {int(i) for i in np.argsort(-tsvm.values(T, w))[:count]}
        z = [
            np.interp(
                len(best & set(other[:count])) / n,
                [count / n - 2 * owens(ndtri(count / n), np.exp(-x)) for x in GRID],
                GRID,
            )
            for other in others
        ]
        objective.append(10 * np.mean(z) - step**2 / 2)
        shares.append(share)
    weights = np.exp(objective - np.max(objective))
    found = consensus.agreed_shares(problem, 10.0, 1.0, 0)
    assert found.shares[1] == pytest.approx(weights @ shares / weights.sum(), abs=1e-6)
    below = np.cumsum(weights / weights.sum())
    assert found.width == shares[np.sum(below < 0.95)] - shares[np.sum(below < 0.05)]


GRID = np.linspace(-0.5, 3.0, 351)


def owens(h: float, a: float) -> float:
    """Return Owen's T by its integral."""
    x = np.linspace(0, a, 2001)
    return float(np.trapezoid(np.exp(-(h**2) * (1 + x**2) / 2) / (1 + x**2), x) / (2 * np.pi))


def test_alike_domains_are_decided_by_the_svm():
    problem, _ = mixture(0.5, shift=0.0, seed=3)
    fit = transferbench.fit("consensus", problem)
    np.testing.assert_array_equal(fit.scores[1], transferbench.fit("svm", problem).scores[1])
    assert fit.diagnostics["area"] < 0.6
    assert fit.diagnostics["alike"] == 1
    assert "agreement" not in fit.diagnostics


def with_labels(problem: Problem, y: np.ndarray, rows: np.ndarray, weight: float = 10) -> Problem:
    """Return the problem with the labels of some documents of its target."""
    source, target = problem.domains
    seen = np.isin(np.arange(len(y)), rows)
    target = replace(
        target, Y=np.eye(2)[y] * seen[:, None], seen=seen, label_weights=np.full(len(y), weight)
    )
    return replace(problem, domains=(source, target))


def with_views(problem: Problem, seed: int = 0) -> Problem:
    """Return the problem with a second view: noisy projections, of both signs."""
    directions = np.random.default_rng(seed).normal(size=(20, 6))
    domains = (replace(d, views=(d.X, d.X @ directions)) for d in problem.domains)
    return replace(problem, domains=tuple(domains))


@pytest.mark.parametrize("views", [1, 2])
def test_labels_train_and_each_is_held_out_once(views):
    problem, y = mixture(0.3, n=120, shift=2.5)
    problem = problem if views == 1 else with_views(problem)
    rows = np.arange(0, 120, 6)
    labelled = with_labels(problem, y, rows)
    fit = transferbench.fit("consensus", labelled)
    P, held_out = fit.scores[1], fit.held_out[1]
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P[rows].argmax(axis=1) == y[rows]).all()
    rest = np.setdiff1d(np.arange(120), rows)
    np.testing.assert_array_equal(held_out[rest], P[rest])
    assert np.mean(P[rest].argmax(axis=1) == y[rest]) > 0.9
    right = (held_out[rows].argmax(axis=1) == y[rows]).sum()
    assert (fit.diagnostics["held_out"], fit.diagnostics["held_out_right"]) == (20, right)
    # A wrong label of one fold changes other documents, but not the decision on its own.
    fold = label_folds(labelled.domains[1])
    row = rows[fold == 0][0]
    other = np.where(np.arange(120) == row, 1 - y, y)
    wrong = transferbench.fit("consensus", with_labels(problem, other, rows))
    assert (wrong.scores[1][rest] != P[rest]).any()
    assert wrong.scores[1][row].argmax() == 1 - y[row]


def test_labels_need_no_document_of_each_class():
    problem, y = mixture(0.3, n=80)
    for rows in (np.flatnonzero(y == 1)[:6], np.flatnonzero(y == 0)[:1]):
        fit = transferbench.fit("consensus", with_labels(problem, y, rows))
        assert np.isfinite(fit.scores[1]).all()
        assert fit.diagnostics["held_out"] == len(rows)


def test_given_shares_replace_the_offsets_of_the_stack():
    problem, y = mixture(0.3, n=80)
    labelled = with_labels(problem, y, np.arange(0, 80, 8))
    fit = transferbench.fit("consensus", labelled, prior=(0.25, 0.75))
    assert np.mean(fit.scores[1].argmax(axis=1) == 0) == pytest.approx(0.25, abs=0.05)


def test_further_views_add_members_and_a_signed_view_is_enough():
    problem, y = mixture(0.3, n=120)
    plain = transferbench.fit("consensus", problem)
    two = transferbench.fit("consensus", with_views(problem))
    assert two.diagnostics["area"] == plain.diagnostics["area"]
    assert two.diagnostics["agreement"] != plain.diagnostics["agreement"]
    assert (two.scores[1] != plain.scores[1]).any()
    assert np.mean(two.scores[1].argmax(axis=1) == y) > 0.9
    domains = (replace(d, views=d.views[1:], signed=True) for d in with_views(problem).domains)
    signed = replace(problem, domains=tuple(domains))
    assert np.mean(transferbench.fit("consensus", signed).scores[1].argmax(axis=1) == y) > 0.8


def test_words_do_not_outvote_a_dense_view():
    problem, y = mixture(0.5, n=200)
    rng = np.random.default_rng(1)
    words = np.arange(200), rng.permutation(200)  # those of the target say nothing of its classes
    centres = rng.normal(size=(2, 8))
    domains = [
        replace(domain, views=(domain.X[rows], centres[y] + 0.3 * rng.normal(size=(200, 8))))
        for domain, rows in zip(problem.domains, words, strict=True)
    ]
    fit = transferbench.fit("consensus", replace(problem, domains=tuple(domains)))
    assert np.mean(fit.scores[1].argmax(axis=1) == y) > 0.9


def test_a_sample_has_all_labelled_documents_of_a_target():
    problem, y = mixture(0.3, n=120)
    rows = np.arange(0, 120, 10)
    part = consensus.sampled(with_labels(problem, y, rows), 50, 0)
    source, target = part.domains
    assert target.seen.sum() == 12
    assert 50 <= len(target.seen) <= 62
    assert len(source.seen) == 50


@pytest.mark.parametrize("few", [19, 20])
def test_a_target_of_fewer_than_twenty_documents_is_decided_by_the_svm(few):
    problem, _ = mixture(0.5, n=60, shift=3.0)
    source, target = problem.domains
    target = target.take(np.arange(0, 60, 3)[:few])
    fit = transferbench.fit("consensus", replace(problem, domains=(source, target)))
    assert (fit.diagnostics["alike"] == 1) == (few < 20)
    assert fit.diagnostics["area"] == 1.0 or few == 20


def test_a_sample_has_twenty_documents_of_each_labelled_class():
    problem, _ = mixture(0.5, n=300)
    source, target = problem.domains
    Y = np.eye(2)[(np.arange(300) < 30).astype(int)]
    part = consensus.sampled(replace(problem, domains=(replace(source, Y=Y), target)), 40, 0)
    assert part.domains[0].Y[:, 1].sum() == 20
    assert 40 < len(part.domains[0].seen) < 60


def test_the_shares_of_the_sources_count_as_twenty_five_labels(monkeypatch):
    problem, y = mixture(0.3, n=80)
    rows = np.arange(0, 80, 16)
    given = []

    def spy(views, shares):
        given.append(shares)
        return [transferbench.fit("lr", view) for view in views]

    monkeypatch.setattr(consensus, "fit_tsvm", spy)
    consensus.labelled_members(with_labels(problem, y, rows))
    labels = np.bincount(y[rows], minlength=2)
    np.testing.assert_allclose(given, [(labels + 25 * np.array([0.5, 0.5])) / 30])


@pytest.mark.parametrize(("least", "counts"), [(0.3, True), (0.7, False)])
def test_a_member_that_agrees_too_little_has_no_vote(least, counts):
    n = np.arange(100)
    first = np.stack([-n, n], axis=1) / 100.0
    third = first.copy()
    third[45:55] = third[45:55][::-1]  # 5 of its best 50 documents are not those of the others
    third[30:70] = third[30:70][::-1]
    total = consensus.weighted_sum([first, first, third], np.array([0.5, 0.5]), least)
    without = consensus.weighted_sum([first, first, 0 * third], np.array([0.5, 0.5]), least)
    assert (total != without).any() == counts
