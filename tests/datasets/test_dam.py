"""The DAM paper's matrices, which contain data of the MRTL paper, against the suite's own tasks.

Its three matrices of 20 Newsgroups are the source domains of MRTL's tasks: Rennie's counts at unit
length. Its mails are the inboxes of the tasks `email-spam/inbox-…`.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals, reachable
from scipy.io import loadmat

from transferbench import settings
from transferbench.data import fetch
from transferbench.datasets import email_spam, newsgroups_bydate
from transferbench.datasets.newsgroups import GROUPS, SPLITS
from transferbench.datasets.newsgroups_bydate import rennie

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


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["comp-vs-rec", "rec-vs-sci", "sci-vs-comp"])
def test_source_domains_of_mrtl_are_rennies_counts_to_the_last_entry(pair):
    X, labels = matrix(f"20ng_{pair.replace('-', '_')}_tar_data.mat", "tar_")
    counts, groups = rennie(*originals(f"mrtl/{pair}-bydate").values())
    for label, members in zip((1, -1), SPLITS[f"mrtl/{pair}"]["source"].values(), strict=True):
        ours = counts[groups == GROUPS[members[0]]].astype(float)
        ours.data /= np.repeat(np.sqrt(ours.multiply(ours).sum(axis=1)), np.diff(ours.indptr))
        theirs = X[labels == label]
        assert theirs.shape == ours.shape
        assert (theirs.astype(bool) != ours.astype(bool)).nnz == 0
        assert abs(theirs - ours).max() < 1e-15
    task, _ = newsgroups_bydate.build(f"mrtl/{pair}-bydate", originals(f"mrtl/{pair}-bydate"))
    assert task.domains[0].X.shape[0] == len(labels)
    assert task.domains[0].X.nnz == X.nnz


@pytest.mark.slow
@pytest.mark.parametrize(("i", "j"), [(0, 1), (2, 0)])
def test_mails_are_those_of_the_inboxes_as_counts_at_unit_length(i, j):
    name = f"email-spam/inbox-{i}-to-{j}"
    problem, truth = email_spam.build(name, originals(name), weighting="tf", min_df=1)
    inboxes = [matrix(f"inbox_data_{k + 1}.mat") for k in (i, j)]
    occurs = np.flatnonzero(sum(abs(X).sum(axis=0) for X, _ in inboxes))
    for domain, Y, (X, labels) in zip(problem.domains, truth.Y, inboxes, strict=True):
        assert abs(domain.X - X[:, occurs]).max() < 1e-6
        np.testing.assert_array_equal(Y[:, 1], labels == 1)
