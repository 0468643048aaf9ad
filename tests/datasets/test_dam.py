"""The DAM paper's matrices, which contain data of the MRTL paper, against the suite's own tasks.

Its three matrices of 20 Newsgroups are the source domains of MRTL's tasks: Rennie's "bydate"
counts at unit length. Its mails are the inboxes of the tasks `email-spam/inbox-…`.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals, reachable
from scipy.io import loadmat

from transferbench import settings
from transferbench.data import fetch
from transferbench.data.text import document_frequency
from transferbench.datasets import email_spam, newsgroups, zhuang

ORIGIN = (
    "https://raw.githubusercontent.com/hnjzlishuang/DAM/ac51f0357cbe85e403aadb2b25dfdf7b12d6dd76"
)
#: By name, path at the origin, size and SHA-256.
FILES = {
    "20ng_comp_vs_rec_tar_data.mat": (
        "data_20Newsgroups/20Newsgroups/comp_vs_rec/tar_data.mat", 1_488_148,
        "10905b0a463b7f1b1f346b11fe3fc8bf119ff7999969cc9f4ec8a155641f5527"),
    "20ng_rec_vs_sci_tar_data.mat": (
        "data_20Newsgroups/20Newsgroups/rec_vs_sci/tar_data.mat", 1_892_275,
        "28f55544ebf782907f77a122748744a7a67bfdefb7fa066ae1681d3ce6ad82c7"),
    "20ng_sci_vs_comp_tar_data.mat": (
        "data_20Newsgroups/20Newsgroups/sci_vs_comp/tar_data.mat", 1_597_752,
        "71537721684f08cc8e1d6637acd46ad66b0efce11f29997d2d3ef634791a1837"),
    "inbox_data_1.mat": (
        "data_Emailspam/emailspam/data_1.mat", 2_157_496,
        "8b456dab7040a7ac0bb67c56ec5282756caef0a5c0391d4d4d1836e987df86c1"),
    "inbox_data_2.mat": (
        "data_Emailspam/emailspam/data_2.mat", 2_410_137,
        "bfefa9c0d09b479adf79ae6952cc579cc685fdb87557b5d7fe4ec21832bc8ff6"),
    "inbox_data_3.mat": (
        "data_Emailspam/emailspam/data_3.mat", 1_824_163,
        "461aab771992c9c33fe7f0705ab6ed523f490a02c95b6ec58f216d08b6db8efa"),
}  # fmt: skip


def matrix(name: str, prefix: str = "") -> tuple[sp.csr_array, np.ndarray]:
    """Return the weights (n, d) of a file and its labels (n,), -1 or 1."""
    path, size, sha256 = FILES[name]
    file = fetch.File(
        f"dam/{name}", size, f"sha256:{sha256}", (fetch.Url(f"{ORIGIN}/{path}"),), "none stated"
    )
    with reachable("DAM's data"):
        contents = loadmat(fetch.get(file, settings.load()))
    return sp.csr_array(contents[f"{prefix}features"]), contents[f"{prefix}labels"].ravel()


def source(pair: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return DAM's counts (n, 61188) of a source domain and its labels."""
    X, labels = matrix(f"20ng_{pair.replace('-', '_')}_tar_data.mat", "tar_")
    X.sort_indices()
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1)
    least = np.minimum.reduceat(X.data, X.indptr[:-1])
    X.data /= np.repeat(least, np.diff(X.indptr))
    # Three posts of hockey have no word that occurs once; their least count is 2.
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    X.data[np.isin(row, row[np.abs(X.data - np.rint(X.data)) > 0.1])] *= 2
    np.testing.assert_allclose(X.data, np.rint(X.data))
    X.data = np.rint(X.data)
    return X, labels


def columns(X: sp.csr_array) -> list[bytes]:
    """Return the rows and the values of each column that is not empty, in the order of columns."""
    C = sp.csc_array(X)
    C.sort_indices()
    ends = zip(C.indptr[:-1], C.indptr[1:], strict=True)
    pairs = np.stack([C.indices, C.data]).astype(np.int32)
    return [pairs[:, a:b].tobytes() for a, b in ends if b > a]


def test_the_three_matrices_contain_three_groups_twice_each():
    parts = {}
    for pair in ("comp-vs-rec", "rec-vs-sci", "sci-vs-comp"):
        X, labels = source(pair)
        for top, label in zip(pair.split("-vs-"), (1, -1), strict=True):
            parts.setdefault(top, []).append(X[labels == label])
    assert {top: X.shape[0] for top, (X, _) in parts.items()} == {
        "comp": 958, "rec": 997, "sci": 985
    }  # fmt: skip
    assert all((a != b).nnz == 0 for a, b in parts.values())


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["rec-vs-sci", "sci-vs-talk"])
def test_zhuangs_weights_come_from_these_counts_of_some_of_the_words_in_order(pair):
    files = zhuang._distributed(pair, originals(f"zhuang/{pair}"))
    for weights in files.values():
        weights.data[weights.data < 1e-4] = 0  # the entry that sets the size
        weights.eliminate_zeros()
    together = sp.csr_array(sp.vstack(list(files.values())))
    df = document_frequency(together)
    counts = files["space"].copy()
    counts.data /= np.log2(together.shape[0] / df[counts.indices])
    counts.data = np.rint(counts.data)
    X, labels = source("sci-vs-comp")
    theirs = iter(columns(X[labels == 1]))
    assert all(column in theirs for column in columns(counts))  # in order: it is an iterator


@pytest.mark.parametrize(
    ("pair", "additional", "words"),
    [
        ("comp-vs-rec", (5, 2), 16_897),
        ("rec-vs-sci", (2, 2), 20_477),
        ("sci-vs-comp", (2, 5), 18_917),
    ],
)
def test_source_domains_of_mrtl_are_these_posts_with_their_subjects(pair, additional, words):
    """Our posts begin with their subject, and some have nothing else.

    The words differ by those that occur once in the 20 groups, which DAM's matrices do not have.
    """
    theirs, labels = source(pair)
    files = tuple(originals(f"mrtl/{pair}").values())
    counts, _, groups = newsgroups._corpus(files, "[a-z]{2,}")
    y = newsgroups.labels(newsgroups.SPLITS[f"mrtl/{pair}"]["source"], groups)
    rows = np.flatnonzero(y >= 0)
    assert tuple(np.bincount(y[rows]) - [(labels == 1).sum(), (labels == -1).sum()]) == additional
    ours = counts[rows]
    assert 5 < ours.sum() / len(rows) - theirs.sum() / len(labels) < 7
    assert 3 < ours.nnz / len(rows) - theirs.nnz / len(labels) < 4.5
    assert len(columns(theirs)) == words
    assert len(columns(ours[:, counts.sum(axis=0) > 1])) == pytest.approx(words, rel=0.01)


@pytest.mark.parametrize(("i", "j"), [(0, 1), (2, 0)])
def test_mails_are_those_of_the_inboxes_as_counts_at_unit_length(i, j):
    name = f"email-spam/inbox-{i}-to-{j}"
    problem, truth = email_spam.build(name, originals(name), weighting="tf", min_df=1)
    inboxes = [matrix(f"inbox_data_{k + 1}.mat") for k in (i, j)]
    occurs = np.flatnonzero(sum(abs(X).sum(axis=0) for X, _ in inboxes))
    for domain, Y, (X, labels) in zip(problem.domains, truth.Y, inboxes, strict=True):
        assert abs(domain.X - X[:, occurs]).max() < 1e-6
        np.testing.assert_array_equal(Y[:, 1], labels == 1)
