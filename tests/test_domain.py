"""What Problem and Domain accept and refuse, and the form in which a domain has its matrices."""

from __future__ import annotations

from dataclasses import replace

import contract
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem

from transferbench.core.scale import warn_unusual_scale
from transferbench.problem import Domain, Problem, canonical


@pytest.mark.parametrize("family", contract.MAKE)
@pytest.mark.parametrize("case", contract.hostile())
def test_what_no_model_can_take_is_refused_in_one_line(family, case):
    raw = contract.hostile()[case](family)
    with pytest.raises(ValueError, match=r"^(domain |contract: )") as error:
        raw.build()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda X: np.where(X > 0, -X, X),
            "view 0 has -0.93.* in row 0; expected finite numbers of 0",
        ),
        (lambda X: sp.csr_array(X * np.nan), "view 0 has nan in row 0"),
        (lambda X: X * 1j, "entries of type complex128; expected real numbers"),
        (lambda X: X[0], r"shape \(60,\); expected a matrix"),
        (lambda X: np.ma.masked_less(X, 1), "a masked array; fill its missing"),
        (lambda X: X[:, :0], "view 0 has no columns"),
    ],
)
def test_the_message_says_where_and_what_is_expected(change, message):
    source = make_problem()[0].domains[0]
    with pytest.raises(ValueError, match=f"^domain d: .*{message}"):
        Domain("d", (change(source.X.toarray()),), source.Y, source.seen)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, 1], [0, 2, 1]), ([-1, 1], [0, 1, 2])]
)
def test_indices_outside_the_matrix_are_refused(indices, indptr):
    X = sp.csr_array((2, 3))
    X.data, X.indices, X.indptr = np.ones(2), np.array(indices), np.array(indptr)
    with pytest.raises(ValueError, match="ind"):
        canonical(X)


@pytest.mark.parametrize("form", ["csc", "coo", "csr"])
@pytest.mark.parametrize("outside", [3, 2**32 + 1, -1])
def test_indices_outside_are_refused_in_every_format(form, outside):
    X = sp.coo_array((np.ones(2), (np.array([0, 1]), np.array([0, 1]))), (3, 3)).asformat(form)
    if form == "coo":
        X.coords = (X.coords[0], np.array([0, outside]))
    else:
        X.indices = np.array([0, outside])
    with pytest.raises(ValueError, match="ind"):
        canonical(X)


def test_one_matrix_in_place_of_a_tuple_is_refused():
    source = make_problem()[0].domains[0]
    with pytest.raises(ValueError, match=r"expected a tuple of matrices, \(X,\)"):
        Domain("d", source.X, source.Y, source.seen)


def test_lists_and_sparse_labels_are_accepted():
    Y = sp.csr_array([[1, 0], [0, 1], [0, 0]])
    domain = Domain("d", [[[1, 0], [2, 3], [0, 0]]], Y, [True, 1, 0])
    assert domain.X.dtype == domain.Y.dtype == float
    assert domain.seen.tolist() == [True, True, False]
    problem = Problem("p", "transfer", ["a", "b"], [domain])
    assert problem.classes == ("a", "b")
    assert problem.targets == (domain,)


@pytest.mark.parametrize("layout", [name for name, _, _ in contract.LAYOUTS])
def test_every_layout_becomes_the_same_matrix(layout):
    values, change = {n: (v, c) for n, v, c in contract.LAYOUTS}[layout]
    raw = contract.base("transfer", values)
    plain, other = raw.build(), raw.views(change)
    before = [contract.digest(part) for part in other.domains]
    built = other.build()
    assert before == [contract.digest(part) for part in other.domains]
    for one, two in zip(plain.domains, built.domains, strict=True):
        X = two.X
        single = layout.partition(",")[0] in ("float32", "float16", ">f4")
        assert X.dtype == (np.float32 if single else np.float64)
        if isinstance(X, np.ndarray):
            assert type(X) is np.ndarray
            assert X.flags.c_contiguous
        else:
            assert type(X) is sp.csr_array
            assert X.indices.dtype == X.indptr.dtype == np.int32
            fresh = sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)
            assert fresh.has_canonical_format
            assert X.data.all()
        np.testing.assert_array_equal(sp.csr_array(X).toarray(), one.X.toarray())


def test_a_canonical_matrix_is_not_copied():
    X = sp.csr_array(np.eye(3))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    assert np.shares_memory(canonical(X).data, X.data)
    dense = np.eye(3, dtype=np.float32)
    assert canonical(dense) is dense


def test_booleans_that_occur_twice_are_one():
    X = sp.csr_array((np.array([True, True]), [1, 1], [0, 2]), shape=(1, 2))
    assert canonical(X).toarray().tolist() == [[0.0, 1.0]]


def test_duplicate_bytes_do_not_overflow():
    X = sp.coo_array((np.array([200, 100], np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
    assert canonical(X).toarray().tolist() == [[0.0, 300.0]]


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_duplicate_bytes_of_labels_do_not_overflow(form):
    Y = sp.coo_array((np.array([128, 128], np.uint8), ([0, 0], [1, 1])), shape=(1, 2))
    if form == "csr":
        Y = sp.csr_array((Y.data, Y.col, [0, 2]), shape=(1, 2))
    if form == "csc":
        Y = sp.csc_array((Y.data, Y.row, [0, 0, 2]), shape=(1, 2))
    assert Domain("d", (np.ones((1, 1)),), Y, [True]).Y.tolist() == [[0.0, 256.0]]


@pytest.mark.parametrize("factor", [1e-300, 1e-20, 1e20, 1e300])
def test_entries_beyond_single_precision_are_scaled_by_a_power_of_two(factor):
    raw = contract.base("transfer", "bits").views(lambda X: X * factor)
    with pytest.warns(UserWarning, match=r"contract: view 0: the largest number .* 2\*\*"):
        problem = warn_unusual_scale(raw.build())
    for part, domain in zip(raw.domains, problem.domains, strict=True):
        assert 0.5 <= domain.X.data.max() < 1
        _, exponent = np.frexp(part[1][0].data)
        np.testing.assert_array_equal(np.ldexp(part[1][0].data, -exponent), domain.X.data)


@pytest.mark.parametrize("factor", [1e-5, 1e6])
def test_an_unusual_scale_is_warned_of_and_kept(factor):
    problem = contract.base("transfer").views(lambda X: X * factor).build()
    with pytest.warns(UserWarning, match="documents have lengths of about"):
        assert warn_unusual_scale(problem) is problem


def test_a_usual_scale_gives_no_warning(recwarn):
    for factor in (1e-2, 1.0, 100.0):
        problem = contract.base("transfer").views(lambda X, factor=factor: X * factor).build()
        assert warn_unusual_scale(problem) is problem
    assert not recwarn.list


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_target_that_equals_a_source_in_every_view_is_refused(form):
    def make(*views):
        return tuple(map(form, views))

    A, B = np.eye(2), np.array([[1.0, 2], [3, 0]])
    source = Domain("s", make(A, B), np.eye(2), np.array([True, True]))
    target = Domain("t", make(A, B), np.zeros((2, 2)), np.array([False, False]))
    with pytest.raises(ValueError, match="p: domain t has the features of s, document by"):
        Problem("p", "transfer", ("a", "b"), (source, target))
    other = replace(target, views=make(A, 2 * B))
    assert Problem("p", "transfer", ("a", "b"), (source, other)).targets == (other,)
