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

from transferbench import datasets, settings
from transferbench.data import fetch

ORIGIN = (
    "https://raw.githubusercontent.com/hnjzlishuang/DAM/ac51f0357cbe85e403aadb2b25dfdf7b12d6dd76"
)
#: By name, path at the origin, size and SHA-256.
FILES = {
    "20ng_comp_vs_rec_tar_data.mat": (
        "data_20Newsgroups/20Newsgroups/comp_vs_rec/tar_data.mat", 1_488_148,
        "10905b0a463b7f1b1f346b11fe3fc8bf119ff7999969cc9f4ec8a155641f5527"),
    "inbox_data_1.mat": (
        "data_Emailspam/emailspam/data_1.mat", 2_157_496,
        "8b456dab7040a7ac0bb67c56ec5282756caef0a5c0391d4d4d1836e987df86c1"),
    "inbox_data_2.mat": (
        "data_Emailspam/emailspam/data_2.mat", 2_410_137,
        "bfefa9c0d09b479adf79ae6952cc579cc685fdb87557b5d7fe4ec21832bc8ff6"),
}  # fmt: skip


def matrix(name: str, prefix: str = "") -> tuple[sp.csr_array, np.ndarray]:
    """Return the weights (n, d) of a file and its labels (n,), -1 or 1."""
    path, size, sha256 = FILES[name]
    origin = fetch.Url(f"{ORIGIN}/{path}")
    file = fetch.File(f"dam/{name}", size, f"sha256:{sha256}", (origin,), "none stated")
    with reachable("DAM's data"):
        contents = loadmat(fetch.get(file, settings.load()))
    return sp.csr_array(contents[f"{prefix}features"]), contents[f"{prefix}labels"].ravel()


@pytest.mark.slow
def test_the_source_domain_of_an_mrtl_task_has_rennies_counts_at_unit_length():
    X, labels = matrix("20ng_comp_vs_rec_tar_data.mat", "tar_")
    name = "mrtl/comp-vs-rec-bydate"
    problem, truth = datasets.tasks()[name].build(name, originals(name))
    every = X[:, np.flatnonzero(X.sum(axis=0))]
    ours = problem.domains[0].X
    ours = ours[:, np.flatnonzero(ours.sum(axis=0))]
    for c, label in enumerate((1, -1)):
        assert abs(ours[truth.Y[0][:, c] == 1] - every[labels == label]).max() < 1e-7


def test_mails_are_those_of_the_inboxes_as_counts_at_unit_length():
    name = "email-spam/inbox-0-to-1"
    build = datasets.tasks()[name].build
    problem, truth = build(name, originals(name), weighting="tf", min_df=1)
    inboxes = [matrix(f"inbox_data_{k}.mat") for k in (1, 2)]
    occurs = np.flatnonzero(sum(abs(X).sum(axis=0) for X, _ in inboxes))
    for domain, Y, (X, labels) in zip(problem.domains, truth.Y, inboxes, strict=True):
        assert abs(domain.X - X[:, occurs]).max() < 1e-6
        np.testing.assert_array_equal(Y[:, 1], labels == 1)
