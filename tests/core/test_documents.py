"""The documents of a problem: stacked, split by domain, and classified by logistic regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

from transferbench.core.documents import hstack_views, joined, seen_rows, stack_labels
from transferbench.core.logistic import label_start
from transferbench.problem import Domain, Problem


def two_domains() -> Problem:
    rng = np.random.default_rng(0)
    domains = []
    for name, n, labelled in zip("ab", (3, 4), ([0, 1], [3]), strict=True):
        views = (sp.csr_array(rng.poisson([1.0, 1, 1, 1, 1, 0], (n, 6)) * 7.0), rng.random((n, 2)))
        mask = np.isin(np.arange(n), labelled)
        Y = np.where(mask[:, None], rng.integers(0, 2, (n, 3)), 0)
        domains.append(Domain(name, views, Y, mask))
    return Problem("p", "multilabel", ("x", "y", "z"), tuple(domains))


def cosines(X: np.ndarray) -> np.ndarray:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return unit @ unit.T


def test_inner_products_of_stacked_views_are_the_mean_cosines():
    problem = two_domains()
    Y, seen = stack_labels(problem)
    one, two = (
        np.vstack([sp.csr_array(d.views[j]).toarray() for d in problem.domains]) for j in (0, 1)
    )
    X = hstack_views(problem, "all")
    np.testing.assert_allclose((X @ X.T).toarray(), (cosines(one) + cosines(two)) / 2)
    np.testing.assert_array_equal(Y, np.vstack([d.Y for d in problem.domains]))
    np.testing.assert_array_equal(seen, [True, True, False, False, False, False, True])
    X = hstack_views(problem, "first")
    assert X.shape == (7, np.count_nonzero(one.any(axis=0)))
    np.testing.assert_allclose((X @ X.T).toarray(), cosines(one))


def test_a_class_without_examples_gets_probability_zero():
    problem, _ = make_problem(classes=3)
    source, target = problem.domains
    keep = np.flatnonzero(source.Y[:, 1] == 0)
    source = Domain("source", (source.X[keep],), source.Y[keep], source.seen[keep])
    start = label_start(Problem("p", "transfer", problem.classes, (source, target)))
    assert not start[1][:, 1].any()
    np.testing.assert_allclose(start[1].sum(axis=1), 1)


def test_fewer_than_two_labelled_classes_are_an_error():
    problem, _ = make_problem()
    with pytest.raises(ValueError, match="two classes"):
        seen_rows(Problem("p", "transfer", problem.classes, problem.targets))


def test_joined_views_are_one_sparse_signed_view_with_parts_of_length_one():
    problem = two_domains()
    signed = [replace(d, views=(d.X, d.views[1] - 0.5)) for d in problem.domains]
    found = joined(replace(problem, domains=tuple(signed)))
    assert found.classes == problem.classes
    for one, domain in zip(found.domains, signed, strict=True):
        assert (len(one.views), one.signed, one.X.shape[1]) == (1, True, 8)
        assert sp.issparse(one.X)
        np.testing.assert_array_equal(one.Y, domain.Y)
        words, dense = one.X.toarray()[:, :6], one.X.toarray()[:, 6:]
        for part, view in ((words, domain.X.toarray()), (dense, domain.views[1])):
            length = np.linalg.norm(view, axis=1, keepdims=True)
            np.testing.assert_allclose(part * length, view, atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(part, axis=1)[length[:, 0] > 0], 1)
