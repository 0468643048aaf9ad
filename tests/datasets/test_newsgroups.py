"""20 Newsgroups: the tasks are those of the papers' tables; collections agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals
from scipy.io import loadmat

from transferbench.data.text import document_frequency
from transferbench.datasets import newsgroups, newsgroups_19997, newsgroups_mtc, zhuang
from transferbench.datasets.newsgroups import SPLITS
from transferbench.datasets.newsgroups_bydate import recipe, rennie

PAIRS = [("comp-vs-sci", 16), ("rec-vs-sci", 16), ("sci-vs-talk", 6)]


def test_sub_categories_are_those_of_the_papers():
    gtl, dtl = SPLITS["gtl/comp-vs-sci"], SPLITS["dtl/comp-vs-sci"]
    assert gtl["source"] == {"comp": ["graphics", "ms-windows"], "sci": ["crypt", "electronics"]}
    assert gtl["target"] == {"comp": ["ibm", "mac"], "sci": ["med", "space"]}
    assert dtl["source"]["sci"] == ["crypt", "med"]
    assert dtl["target"]["sci"] == ["electronics", "space"]
    skada = SPLITS["skada/sci-vs-talk"]
    assert skada["target"] == {"sci": ["med", "space"], "talk": ["religion", "mideast"]}
    assert SPLITS["skada/rec-vs-sci"] == SPLITS["gtl/rec-vs-sci"]
    dai = SPLITS["dai/comp-vs-sci"]
    assert dai["target"] == {"comp": ["ibm", "mac", "windows-x"], "sci": ["med", "space"]}
    assert SPLITS["mrtl/rec-vs-sci"]["target-2"] == {"rec": ["motorcycles"], "sci": ["electronics"]}
    rebuilt = SPLITS["mtc/rec-vs-talk-rebuilt"]
    assert rebuilt["task-2"] == {"rec": ["baseball"], "talk": ["mideast"]}


def test_posts_0_9_and_the_last_are_the_right_ones():
    counts, vocabulary, groups = newsgroups._corpus(*originals("gtl/comp-vs-rec").values())
    assert counts.shape[0] == len(groups) == 18_821
    assert [groups[i] for i in (0, 9, -1)] == ["alt.atheism", "alt.atheism", "talk.religion.misc"]
    assert (groups == "rec.sport.hockey").sum() == 999
    atheism, fish = (list(vocabulary).index(word) for word in ("atheism", "fish"))
    assert counts[0, atheism] > counts[0, fish] > 0


def test_posts_that_are_no_plain_text_are_found():
    line = b"M" + b"ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_" * 2 + b"\n"
    is_plain = newsgroups_19997.is_plain
    assert is_plain(b"Subject: a test\n\nOne line.\nAnother one, longer.\n")
    assert not is_plain(b"Subject: a picture\n\n" + 60 * line)
    assert is_plain(b"Subject: a picture\n\n" + 60 * line.replace(b"EFGHIJ", b" E F G"))
    assert not is_plain(b"")
    assert not is_plain(b"a text with bytes \xf8\xf8")


def test_header_lines_that_name_the_class_can_be_left_out():
    head = "Path: cantaloupe!news\n sci.space\nnewsgroups: sci.space\nFrom: a@b\n"
    assert newsgroups_19997.NAMING.sub("", head) == "From: a@b\n"


def test_zhuangs_weights_are_counts_times_log2_of_inverse_frequency():
    counts = sp.csr_array(np.array([[2, 1, 0], [0, 1, 0], [0, 3, 5], [9, 9, 9]], np.int32))
    groups = np.array(["comp.graphics", "comp.graphics", "sci.med", "rec.autos"])
    weights, rows = recipe(counts, groups, ["comp", "sci"], np.array([True, True, True]))
    expected = np.log2(3) * np.array([[2, 0, 0], [0, 0, 0], [0, 0, 5]])
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-6)
    assert rows.tolist() == [0, 1, 2]


@pytest.fixture(scope="module")
def counted():
    """Rennie's counts, and the group of each post."""
    return rennie(*originals("gtl/comp-vs-rec-bydate").values())


@pytest.mark.slow
def test_rennies_counts_have_their_published_size(counted):
    counts, groups, words = counted
    assert words[:3].tolist() == ["archive", "name", "atheism"]
    assert counts.shape == (18_774, 61_188)
    assert (counts.nnz, counts.sum()) == (2_435_219, 4_562_219)
    assert (document_frequency(counts) >= 6).sum() == 25_804  # "approximately 25,800", GTL
    assert [groups[i] for i in (0, 9, -1)] == ["alt.atheism", "alt.atheism", "talk.religion.misc"]
    assert (groups == "rec.sport.hockey").sum() == 997


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "least"), PAIRS)
def test_zhuangs_files_are_the_recipe_to_the_last_value(counted, pair, least):
    counts, groups, _ = counted
    tops = pair.split("-vs-")
    rows = np.flatnonzero(np.isin([group.split(".")[0] for group in groups], tops))
    weights, _ = recipe(counts, groups, tops, document_frequency(counts[rows]) >= least)
    name = f"zhuang/{pair}"
    distributed, of = zhuang.distributed(name, originals(name))
    distributed.data[distributed.data == 1.1e-05] = 0  # the entries that set the sizes
    for group in np.unique(of):
        theirs, ours = distributed[of == group], weights[groups[rows] == group]
        theirs.eliminate_zeros()
        ours.data = np.array([float(f"{value:.6g}") for value in ours.data.astype(float)])
        assert theirs.shape == ours.shape
        assert (theirs != ours).nnz == 0


@pytest.mark.parametrize("name", newsgroups_mtc.TASKS)
def test_weights_of_the_clustering_paper_are_its_counts(name):
    files = originals(name)
    problem, truth = newsgroups_mtc.build(name, files)
    contents = [loadmat(path) for path in files.values()]
    occurs = np.flatnonzero(sum(content["fea"].sum(axis=0) for content in contents))
    for domain, Y, content in zip(problem.domains, truth.Y, contents, strict=True):
        assert abs(domain.X - sp.csr_array(content["fea"])[:, occurs]).max() == 0
        np.testing.assert_array_equal(Y.argmax(axis=1) + 1, content["gnd"].ravel())
