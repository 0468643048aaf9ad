"""RCV1-v2: content of the files, their defect, and its correction in the tasks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals

from transferbench.core.term_counts import recover_counts
from transferbench.datasets import rcv1

#: A file is large: reading one takes some seconds.
pytestmark = pytest.mark.slow
NAMES = [f"rcv1/subset{n}" for n in range(1, 6)]


def file(name: str):
    return originals(name)[rcv1.needed(name)[0]]


def statistics(Y: np.ndarray) -> tuple[float, float, int]:
    """Cardinality, density and diversity, as in the paper's Table 1."""
    size = Y.sum(axis=1).mean()
    return round(size, 3), round(size / Y.shape[1], 3), len({tuple(y) for y in Y.astype(int)})


def agreement(Y: np.ndarray) -> float:
    """Correlation of label frequencies between the two halves of the rows."""
    return np.corrcoef(Y[:3000].mean(axis=0), Y[3000:].mean(axis=0))[0, 1]


# The paper swaps the features of its subsets 3 and 4; subset 5 is not in it.
PUBLISHED = [
    (47236, 2.880, 0.029, 1028),
    (47236, 2.634, 0.026, 954),
    (47236, 2.614, 0.026, 939),
    (47229, 2.484, 0.025, 816),
    (47235, 2.642, 0.026, 946),
]
CORRECTED = [(2.895, 811), (2.890, 817), (2.905, 801), (2.908, 785), (2.905, 814)]


@pytest.mark.parametrize("name", NAMES)
def test_the_published_file_has_the_papers_statistics_and_halves_that_disagree(name):
    X, Y = rcv1._published(file(name))
    number = NAMES.index(name)
    assert (X.shape[1], *statistics(Y)) == PUBLISHED[number]
    assert -0.08 < agreement(Y) < 0.18
    shifts = rcv1.SHIFTS[rcv1.needed(name)[0]]
    for rows, shift in zip((slice(3000), slice(3000, 6000)), shifts, strict=True):
        # One column more would be a label: some rows would be longer than one.
        table = sp.csr_array(sp.hstack([X, Y]))[rows]
        for columns, right in ((X.shape[1] - shift, True), (X.shape[1] - shift + 1, False)):
            part = table[:, :columns]
            length = np.sqrt(part.multiply(part).sum(axis=1))
            assert (np.abs(length - 1).max() < 1e-5) == right


@pytest.mark.parametrize("name", NAMES)
def test_corrected_rows_are_consistent(name):
    X, Y = rcv1._corrected(file(name))
    assert X.shape == (6000, 47236)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1, atol=1e-5)
    assert agreement(Y) > 0.9965
    assert statistics(Y)[::2] == CORRECTED[NAMES.index(name)]
    has = dict(zip(rcv1.TOPICS, Y.T.astype(bool), strict=True))
    for topic, documents in has.items():
        above = [topic[:end] for end in range(2, len(topic)) if topic[:end] in has]
        root = f"{topic[0]}CAT"
        for other in [*above, root] if root in has else above:
            assert not (documents & ~has[other]).any(), (topic, other)


#: Topics of stories of each half.
ITEMS = {
    "rcv1/subset1": {
        0: "C11 C18 C181 CCAT",
        9: "C13 C17 C24 CCAT GCAT GDIS GWEA",
        3000: "C24 CCAT",
    },
    "rcv1/subset5": {0: "C13 C41 CCAT", 9: "C15 C152 CCAT", 3000: "C11 C18 C181 CCAT"},
}


@pytest.mark.parametrize("name", ITEMS)
def test_stories_of_each_half_are_the_right_ones(name):
    _, Y = rcv1._corrected(file(name))
    items = {at: " ".join(np.array(rcv1.TOPICS)[Y[at] == 1]) for at in ITEMS[name]}
    assert items == ITEMS[name]


@pytest.mark.parametrize("name", NAMES)
def test_recovered_counts_reproduce_the_published_weights(name):
    exact = dict(zip(NAMES, (5850, 5870, 5816, 5902, 5868), strict=True))[name]
    X, _ = rcv1._corrected(file(name))
    C, containing = recover_counts(X, rcv1.IDF_DOCUMENTS)
    rows = np.repeat(np.arange(6000), np.diff(X.indptr))
    w = (1 + np.log(C.data.astype(float))) * np.log(rcv1.IDF_DOCUMENTS / containing)[C.indices]
    w /= np.sqrt(np.bincount(rows, w * w))[rows]
    off = np.abs(w - X.data) > 5.1e-7  # six decimals are published
    assert abs(6000 - len(np.unique(rows[off])) - exact) <= 3


def test_the_four_top_topics_and_the_tasks():
    files = originals(NAMES[0])
    problem, truth = rcv1.build(NAMES[0], files, views="tf-idf")
    assert problem.family == "multilabel"
    assert problem.classes == ("CCAT", "ECAT", "GCAT", "MCAT")
    assert truth.names == ("task-1", "task-2", "task-3", "task-4")
    Y = np.vstack(truth.Y)
    assert statistics(Y)[1] == 0.294
    assert Y.any(axis=1).all()
    for own in truth.Y:  # every task has documents of all topics
        assert (own.mean(axis=0) > 0.1).all()
    everything, all_truth = rcv1.build("rcv1/subset1-101", files, views="tf-idf")
    assert everything.classes == tuple(rcv1.TOPICS)
    M = [rcv1.TOPICS.index(topic) for topic in ("M11", "M12", "M13", "M14")]
    for four, many, one, other in zip(
        truth.Y, all_truth.Y, problem.domains, everything.domains, strict=True
    ):
        np.testing.assert_array_equal(four[:, 3], many[:, M].any(axis=1))
        np.testing.assert_array_equal(four[:, 0], many[:, rcv1.TOPICS.index("CCAT")])
        np.testing.assert_array_equal(one.seen, other.seen)


def test_options_have_their_documented_effect():
    files = originals(NAMES[0])

    def seen(**options):
        return rcv1.build(NAMES[0], files, views="tf-idf", tasks=1, **options)[0].domains[0].seen

    assert seen().sum() == seen(split=1).sum() == 3000
    assert 1200 < (seen() & seen(split=1)).sum() < 1800
    assert seen(train=0.1).sum() == 600


def made_up(shift: int, n: int = 40, d: int = 60) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of length one with labels; in the first half, `shift` columns further to the left."""
    rng = np.random.default_rng(0)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.3)
    X[:, 0] += 0.1
    X[: n // 2, d - shift :] = 0
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    Y = np.tile((rng.random((n // 2, 101)) < 0.2) | (np.arange(101) == 0), (2, 1)).astype(float)
    table = np.hstack([X, Y])
    if shift:
        table[: n // 2] = np.hstack([X[:, :-shift], Y, np.zeros((n, shift))])[: n // 2]
    return sp.csr_array(table[:, :d]), table[:, d:]


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_a_shift_is_undone(shift):
    X, Y = rcv1.undo_shifts(*made_up(shift), (shift, 0))
    expected_X, expected_Y = made_up(0)
    np.testing.assert_array_equal(Y, expected_Y)
    assert X.shape == (40, 47236)
    np.testing.assert_allclose(X[20:, :60].toarray(), expected_X[20:].toarray())
    assert not X[:20, 60 - shift :].nnz
