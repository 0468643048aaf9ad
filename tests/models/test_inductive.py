"""Inductive: held-out documents have no part in the fit, and each is decided once."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps

import numpy as np
import pytest
from conftest import make_problem

from transferbench.models.transfer import inductive
from transferbench.problem import Domain, Fit


def refilled(domain: Domain, rows: np.ndarray) -> Domain:
    """The domain with documents of other words in these rows."""
    X = np.array(domain.X.toarray())
    X[rows] = X[rows][:, ::-1] * 3
    return replace(domain, views=(X,))


@pytest.mark.parametrize("model", ["tsvm", "graph-only"])
def test_held_out_documents_do_not_influence_the_fit(model, monkeypatch):
    problem, _ = make_problem(documents=60)
    fold = np.arange(60) % 5
    monkeypatch.setattr(inductive, "_folds", lambda domain, folds, seed: fold)
    inner, fits = inductive.MODELS[model], []

    @wraps(inner)
    def spy(*arguments, **given) -> Fit:
        fits.append(inner(*arguments, **given))
        return fits[-1]

    monkeypatch.setitem(inductive.MODELS, model, spy)
    kept = np.flatnonzero(fold == 0)[0]
    changed = (fold == 0) & (np.arange(60) != kept)
    plain, other = (
        inductive.fit(
            replace(problem, domains=tuple(refilled(domain, rows) for domain in problem.domains)),
            model=model,
            seed=1,
        ).scores[-1]
        for rows in (fold < 0, changed)
    )
    assert len(fits) == 10
    for one, two in zip(fits[0].scores, fits[5].scores, strict=True):
        np.testing.assert_array_equal(one, two)
    assert (fits[1].scores[-1] != fits[6].scores[-1]).any()
    np.testing.assert_allclose(other[kept], plain[kept])
    assert not np.allclose(other[changed], plain[changed])
    assert not np.allclose(other[fold == 1], plain[fold == 1])


def test_each_document_is_in_one_fold_whatever_the_order():
    domain = make_problem(documents=53)[0].domains[1]
    fold = inductive._folds(domain, 5, 0)
    assert sorted(np.bincount(fold)) == [10, 10, 11, 11, 11]
    order = np.random.default_rng(2).permutation(53)
    permuted = domain.take(order)
    np.testing.assert_array_equal(inductive._folds(permuted, 5, 0), fold[order])
    assert (inductive._folds(domain, 5, 1) != fold).any()


def test_labelled_documents_of_a_target_keep_their_labels():
    problem, truth = make_problem(documents=40)
    seen = np.arange(40) < 10
    target = replace(problem.domains[1], Y=truth.Y[1] * seen[:, None], seen=seen)
    fit = inductive.fit(replace(problem, domains=(problem.domains[0], target)), seed=0)
    np.testing.assert_array_equal(fit.scores[1][seen], truth.Y[1][seen])
    assert np.mean(fit.scores[1].argmax(axis=1) == truth.Y[1].argmax(axis=1)) > 0.8
