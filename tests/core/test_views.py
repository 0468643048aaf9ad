"""Views side by side and domains one below the other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.core.views import apart, beside, join
from transferbench.problem import Domain, Problem


def make(seen: tuple[list[int], list[int]] = ([0, 1], [3])) -> Problem:
    rng = np.random.default_rng(0)
    domains = []
    for name, n, which in zip("ab", (3, 4), seen, strict=True):
        views = (sp.csr_array(rng.poisson([1.0, 1, 1, 1, 1, 0], (n, 6)) * 7.0), rng.random((n, 2)))
        mask = np.isin(np.arange(n), which)
        Y = np.where(mask[:, None], rng.integers(0, 2, (n, 3)), 0)
        domains.append(Domain(name, views, Y, mask))
    return Problem("p", "multilabel", ("x", "y", "z"), tuple(domains))


def cosines(X: np.ndarray) -> np.ndarray:
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return unit @ unit.T


def test_products_of_views_side_by_side_are_the_mean_of_the_views_cosines():
    problem = make()
    views, Y, seen = join(problem, "all")
    one, two = (
        np.vstack([sp.csr_array(d.views[j]).toarray() for d in problem.domains]) for j in (0, 1)
    )
    X = beside(views)
    np.testing.assert_allclose((X @ X.T).toarray(), (cosines(one) + cosines(two)) / 2)
    np.testing.assert_array_equal(Y, np.vstack([d.Y for d in problem.domains]))
    np.testing.assert_array_equal(seen, [True, True, False, False, False, False, True])
    X = beside(join(problem, "first")[0])
    assert X.shape == (7, np.count_nonzero(one.any(axis=0)))
    np.testing.assert_allclose((X @ X.T).toarray(), cosines(one))


def test_apart_cuts_where_domains_end():
    first, second = apart(make(), np.arange(14).reshape(7, 2))
    np.testing.assert_array_equal(first, np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(second, np.arange(6, 14).reshape(4, 2))


@pytest.mark.parametrize("seen", [([], []), ([], [2])])
def test_next_to_nothing_labelled_is_an_error(seen):
    with pytest.raises(ValueError, match="two labelled documents"):
        join(make(seen), "all")
