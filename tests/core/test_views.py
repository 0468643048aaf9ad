"""Joining views and domains, and splitting by domain."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.core.documents import hstack_views, split_by_domain, stack_labels
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


def test_scores_are_split_at_the_ends_of_domains():
    first, second = split_by_domain(two_domains(), np.arange(14).reshape(7, 2))
    np.testing.assert_array_equal(first, np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(second, np.arange(6, 14).reshape(4, 2))
