"""RCV1-v2: content of the files, their defect, and its correction in the tasks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals

from transferbench.datasets import rcv1
from transferbench.datasets._rcv1_counts import recover_counts

#: Two of the five, which all have the same defect.
NAMES = ["rcv1/subset1", "rcv1/subset5"]


def file(name: str):
    return originals(name)[rcv1.needed(name)[0]]


def statistics(Y: np.ndarray) -> tuple[float, float, int]:
    """Cardinality, density and diversity, as in the paper's Table 1."""
    size = Y.sum(axis=1).mean()
    return round(size, 3), round(size / Y.shape[1], 3), len({tuple(y) for y in Y.astype(int)})


def agreement(Y: np.ndarray) -> float:
    """Correlation of label frequencies between the two halves of the rows."""
    return np.corrcoef(Y[:3000].mean(axis=0), Y[3000:].mean(axis=0))[0, 1]


#: Cardinality and diversity of the 101 labels, by subset.
CORRECTED = [(2.895, 811), (2.905, 814)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_corrected_rows_are_consistent(name):
    _, published = rcv1._published(file(name))
    assert -0.08 < agreement(published) < 0.18
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


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_recovered_counts_reproduce_the_published_weights(name):
    exact = dict(zip(NAMES, (5850, 5868), strict=True))[name]
    X, _ = rcv1._corrected(file(name))
    C, containing = recover_counts(X, rcv1.IDF_DOCUMENTS)
    rows = np.repeat(np.arange(6000), np.diff(X.indptr))
    w = (1 + np.log(C.data.astype(float))) * np.log(rcv1.IDF_DOCUMENTS / containing)[C.indices]
    w /= np.sqrt(np.bincount(rows, w * w))[rows]
    off = np.abs(w - X.data) > 5.1e-7  # six decimals are published
    assert abs(6000 - len(np.unique(rows[off])) - exact) <= 3


def test_a_shift_is_undone():
    """Labels of the first half are 2 columns further to the left, and cut off its last features."""
    X, Y = np.arange(1, 41.0).reshape(4, 10), np.tile(np.arange(101.0), (4, 1))
    X[:2, 8:] = 0
    table = np.hstack([X, Y])
    table[:2] = np.hstack([X[:2, :8], Y[:2], np.zeros((2, 2))])
    weights, labels = rcv1.undo_shifts(sp.csr_array(table[:, :10]), table[:, 10:], (2, 0))
    np.testing.assert_array_equal(labels, Y)
    assert weights.shape == (4, 47_236)
    np.testing.assert_array_equal(weights[:, :10].toarray(), X)
    assert not weights[:, 10:].nnz


def test_label_sets_are_topics_of_the_files():
    Y = np.zeros((6, 101))
    for n, size in (("C15", 6), ("CCAT", 5), ("E11", 4), ("GCAT", 3)):
        Y[:size, rcv1.TOPICS.index(n)] = 1
    assert [*rcv1._groups("frequent-4", Y)] == ["C15", "CCAT", "E11", "GCAT"]
    assert [*rcv1._groups("file-tops", Y)] == ["CCAT", "ECAT", "GCAT"]
    assert rcv1._groups("tops", Y)["MCAT"] == ["M11", "M12", "M13", "M14"]
    second = {*rcv1._groups("second-level", Y)}
    assert len(second) == 55
    assert not {*rcv1.TOPS, "C151", "G154", "M141"} & second
    assert {"C15", "GSPO", "G15", "M14"} <= second


@pytest.mark.slow
def test_options_choose_labels_documents_and_topics():
    name = "rcv1/subset1"
    options = {"labels": "frequent-4", "drop_unlabelled": True, "topics": 20}
    problem, truth = rcv1.build(name, originals(name), **options)
    _, Y = rcv1._corrected(file(name))
    chosen = [rcv1.TOPICS.index(topic) for topic in truth.classes]
    assert sorted(-Y.sum(axis=0))[:4] == [*-Y[:, chosen].sum(axis=0)]
    labels = np.vstack(truth.Y)
    assert len(labels) == Y[:, chosen].any(axis=1).sum()
    assert labels.any(axis=1).all()
    assert {domain.views[1].shape[1] for domain in problem.domains} == {20}


@pytest.mark.slow
def test_labels_cannot_be_chosen_of_a_task_that_has_all():
    name = "rcv1/subset1-101"
    with pytest.raises(ValueError, match="without -101"):
        rcv1.build(name, originals(name), labels="file-tops")
