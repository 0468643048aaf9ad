"""What Problem and Domain accept and refuse, and the form in which a domain has its matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from transferbench.core.scale import warn_unusual_scale
from transferbench.problem import Domain, Problem, canonical

DTYPES = ("float64", "float32", "longdouble", "int64", "int8", "uint16", "bool")
DENSE = {
    "C": lambda X: X,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "half": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f4"),
}
PROBLEM = make_problem()[0]
SOURCE, TARGET = PROBLEM.domains
Y, SEEN = np.eye(3, 2), np.array([True, True, False])


@st.composite
def matrices(draw):
    """Return a matrix (4, 5) of any type and layout, possibly with zeros and duplicates stored."""
    dtype = draw(st.sampled_from(DTYPES))
    value = st.integers(0, 1 if dtype == "bool" else 100)
    places = st.tuples(st.integers(0, 3), st.integers(0, 4), value)
    entries = np.array(draw(st.lists(places, max_size=12)), int).reshape(-1, 3)
    rows, columns, values = entries[np.argsort(entries[:, 0], kind="stable")].T
    values = values.astype(dtype)
    match draw(st.sampled_from(("csr", "csc", "coo", "lil", "dok", "bsr", "dia", *DENSE))):
        case "coo":
            return sp.coo_array((values, (rows, columns)), (4, 5))
        case "csr":
            return sp.csr_array((values, columns, np.searchsorted(rows, range(5))), (4, 5))
        case "csc":
            return sp.csr_array((values, columns, np.searchsorted(rows, range(6))), (5, 5)).T
        case form:
            X = sp.coo_array((values.astype(float), (rows, columns)), (4, 5))
            return DENSE[form](X.toarray()) if form in DENSE else X.asformat(form)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(matrices())
def test_every_layout_becomes_the_same_matrix(X):
    plain = X.tocoo(copy=True) if sp.issparse(X) else sp.coo_array(X.astype(float))
    expected = np.zeros(X.shape, bool if X.dtype.kind == "b" else float)
    np.add.at(expected, plain.coords, plain.data)
    A = canonical(X)
    single = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    assert A.dtype == (np.float32 if single else np.float64)
    if isinstance(A, np.ndarray):
        assert A.flags.c_contiguous
    else:
        assert type(A) is sp.csr_array
        assert A.indices.dtype == A.indptr.dtype == np.int32
        assert sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape).has_canonical_format
        assert A.data.all()
    np.testing.assert_array_equal(sp.csr_array(A).toarray(), expected)


def test_a_canonical_matrix_is_not_copied():
    X = canonical(np.eye(3, dtype=np.float32))
    assert canonical(X) is X
    A = canonical(sp.csr_array(np.eye(3)))
    assert np.shares_memory(canonical(A).data, A.data)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("outside", [3, 2**32 + 1, -1])
def test_indices_outside_the_matrix_are_refused(form, outside):
    X = sp.coo_array((np.ones(2), (np.array([0, 1]), np.array([0, 1]))), (3, 3)).asformat(form)
    if form == "coo":
        X.coords = (X.coords[0], np.array([0, outside]))
    else:
        X.indices = np.array([0, outside])
    with pytest.raises(ValueError, match="ind"):
        canonical(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.where(X > 0, -X, X), "view 0 has -.* in row 0; expected finite numbers"),
        (lambda X: sp.csr_array(X * np.nan), "view 0 has nan in row 0"),
        (lambda X: X + np.inf, "view 0 has inf in row 0"),
        (lambda X: X * 1j, "entries of type complex128; expected real numbers"),
        (lambda X: X.astype(str), "entries of type"),
        (lambda X: X[0], "expected a matrix"),
        (lambda X: np.ma.masked_less(X, 1), "a masked array; fill its missing"),
        (lambda X: X[:, :0], "view 0 has no columns"),
        (lambda X: X[:5], "must have the same 40 rows"),
    ],
)
def test_the_message_says_where_a_matrix_is_wrong(change, message):
    with pytest.raises(ValueError, match=f"^domain d: .*{message}"):
        Domain("d", (change(SOURCE.X.toarray()),), SOURCE.Y, SOURCE.seen)


@pytest.mark.parametrize(
    "parts",
    [
        {"Y": Y * np.nan}, {"Y": -Y}, {"Y": Y[:, 0]}, {"Y": Y[:2]}, {"Y": Y + 1},
        {"seen": np.arange(3)}, {"seen": SEEN[:, None]}, {"views": ()}, {"views": np.eye(3)},
        {"views": (np.eye(3), np.eye(3) * np.nan)},
    ],
)  # fmt: skip
def test_a_wrong_domain_is_refused(parts):
    with pytest.raises(ValueError, match=r"^domain d: "):
        Domain(**{"name": "d", "views": (np.eye(3),), "Y": Y, "seen": SEEN} | parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"family": "other"}, {"domains": ()}, {"classes": ("a",)}, {"classes": ("a", "b", "c")},
        {"classes": ("a", "a")}, {"domains": (SOURCE, replace(TARGET, name="source"))},
        {"domains": (SOURCE, replace(TARGET, views=(TARGET.X[:, :9],)))},
        {"domains": (replace(SOURCE, views=(SOURCE.X, SOURCE.X)), TARGET)},
        {"domains": (replace(SOURCE, Y=SOURCE.Y + 1), TARGET)},
        {"domains": (SOURCE, replace(TARGET, views=SOURCE.views))},
    ],
)  # fmt: skip
def test_a_wrong_problem_is_refused_in_one_line(parts):
    with pytest.raises(ValueError, match=r"^made-up: ") as error:
        replace(PROBLEM, **parts)
    assert "\n" not in str(error.value)


def scaled(factor: float) -> Problem:
    domains = (replace(d, views=(d.X * factor,)) for d in PROBLEM.domains)
    return replace(PROBLEM, domains=tuple(domains))


@pytest.mark.parametrize("factor", [1e-300, 1e-20, 1e20, 1e300])
def test_entries_beyond_single_precision_are_scaled_by_a_power_of_two(factor):
    with pytest.warns(UserWarning, match=r"view 0: the largest number .* 2\*\*"):
        problem = warn_unusual_scale(scaled(factor))
    for before, after in zip(scaled(factor).domains, problem.domains, strict=True):
        assert 0.5 <= max(d.X.data.max() for d in problem.domains) < 1
        mantissa = np.frexp(before.X.data)[0]
        np.testing.assert_array_equal(np.frexp(after.X.data)[0], mantissa)


def test_a_view_is_scaled_alone():
    domains = (replace(d, views=(d.X, d.X * 1e300, d.X * 2)) for d in PROBLEM.domains)
    problem = replace(PROBLEM, domains=tuple(domains))
    with pytest.warns(UserWarning, match="view 1: the largest number"):
        found = warn_unusual_scale(problem)
    for before, after in zip(problem.domains, found.domains, strict=True):
        assert len(after.views) == 3
        for j in (0, 2):
            np.testing.assert_array_equal(after.views[j].toarray(), before.views[j].toarray())


def test_an_unusual_scale_is_warned_of_and_a_usual_one_is_not(recwarn):
    for factor in (1e-2, 1.0, 100.0):
        assert warn_unusual_scale(usual := scaled(factor)) is usual
    assert not recwarn.list
    for factor in (1e-5, 1e6):
        with pytest.warns(UserWarning, match="documents have lengths of about"):
            assert warn_unusual_scale(unusual := scaled(factor)) is unusual
