"""Facts of a problem: what they depend on, and how they are stored."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

from transferbench.data.facts import Facts, same_values, weighted_sum


def test_facts_in_json_come_back_and_have_no_family():
    """Keys of run records are digests of this JSON, which must not change."""
    facts = Facts.from_problem(*make_problem(targets=2), files=["a.csv 1f"])
    stored = json.loads(json.dumps(facts.to_json()))
    assert Facts.from_json("transfer", stored) == facts
    names = "classes documents per_class features nonzeros weight digest values files"
    assert list(stored) == names.split()
    assert replace(facts, values=()).key == facts.key  # lines of 1.1 have no values
    assert "files" not in Facts.from_problem(*make_problem()).to_json()


def test_the_old_name_of_from_problem_works_and_warns():
    built = make_problem()
    with pytest.warns(FutureWarning, match="from_problem"):
        assert Facts.of(*built) == Facts.from_problem(*built)


def test_facts_depend_on_positions_labels_and_weights():
    problem, truth = make_problem()
    before = Facts.from_problem(problem, truth)
    X = problem.domains[0].X
    indices = X.indices.copy()
    X.indices[:] = (X.indices + 1) % 60
    assert Facts.from_problem(problem, truth).digest != before.digest
    X.indices[:] = indices
    truth.Y[1][0] = truth.Y[1][0][::-1]
    assert Facts.from_problem(problem, truth).digest != before.digest
    truth.Y[1][0] = truth.Y[1][0][::-1]
    X.data *= 1.01
    assert Facts.from_problem(problem, truth).weight != before.weight


def changed(X, change):
    """Return the weighted sum of a copy of a matrix after a change of its entries."""
    X = X.copy()
    change(X.data)
    return weighted_sum(X)


def swap(x):
    x[[2, 5]] = x[[5, 2]]


CHANGES = {
    "one value": lambda x: x.__setitem__(7, x[7] * 1.01),
    "two values swap": swap,
    "the order": lambda x: x.__setitem__(slice(None), x[::-1].copy()),
    "a sign": lambda x: np.negative(x, out=x),
    "one sign": lambda x: x.__setitem__(0, -x[0]),
    "the scale": lambda x: np.multiply(x, 2, out=x),
}


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("kind", CHANGES)
def test_values_change_with_every_entry_and_where_it_is(kind, signed):
    """Sum, positions and number of the entries stay: only `values` tells the two apart."""
    X = sp.random_array((200, 300), density=0.1, random_state=np.random.default_rng(0)).tocsr()
    X.data = X.data - 0.5 if signed else X.data + 0.1
    assert not same_values([changed(X, CHANGES[kind])], [weighted_sum(X)])


def test_one_value_of_millions_shows():
    X = sp.random_array(
        (20_000, 5_000), density=0.02, random_state=np.random.default_rng(0)
    ).tocsr()
    before = float(f"{weighted_sum(X):.13g}")
    for kind in ("one value", "two values swap", "one sign"):
        assert not same_values([float(f"{changed(X, CHANGES[kind]):.13g}")], [before])


def test_values_are_equal_but_for_rounding():
    X = sp.csr_array(np.random.default_rng(0).standard_normal((500, 400)))
    rounded = X.copy()
    rounded.data *= 1 + 1e-15 * np.random.default_rng(1).standard_normal(X.nnz)
    assert same_values([weighted_sum(X)], [weighted_sum(rounded)])
    # Embeddings are dense float32; libraries differ in the sixth digit of a value.
    single = X.astype(np.float32)
    other = single.copy()
    other.data *= 1 + 1e-6 * np.random.default_rng(1).standard_normal(X.nnz).astype(np.float32)
    digits = [[float(f"{weighted_sum(each):.8g}")] for each in (single, other)]
    assert same_values(*digits)
    other.data *= np.float32(1.001)
    assert not same_values(digits[0], [float(f"{weighted_sum(other):.8g}")])
    assert not same_values([1.0, 2.0], [1.0])


def test_huge_values_have_a_finite_sum():
    assert np.isfinite(weighted_sum(sp.csr_array([[1e308, 1e308]])))
