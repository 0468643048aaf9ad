"""20 Newsgroups: the tasks are those of the papers' tables, and the built ones are right."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals

from transferbench.data import tasks
from transferbench.datasets import newsgroups, newsgroups_19997

PAIRS = ["comp-vs-rec", "comp-vs-sci", "comp-vs-talk", "rec-vs-sci", "rec-vs-talk", "sci-vs-talk"]


@pytest.mark.parametrize("name", newsgroups.SPLITS)
def test_sub_categories_are_disjoint_and_classes_agree(name):
    split = newsgroups.SPLITS[name]
    groups = [g for domain in split.values() for members in domain.values() for g in members]
    assert len(groups) == len(set(groups))
    assert set(groups) <= set(newsgroups.GROUPS)
    assert len({tuple(domain) for domain in split.values()}) == 1
    for domain in split.values():
        for top, members in domain.items():
            assert all(newsgroups.GROUPS[g].startswith(f"{top}.") for g in members)


def test_sub_categories_are_those_of_the_papers():
    gtl, dtl = newsgroups.SPLITS["gtl/comp-vs-sci"], newsgroups.SPLITS["dtl/comp-vs-sci"]
    assert gtl["source"] == {"comp": ("graphics", "ms-windows"), "sci": ("crypt", "electronics")}
    assert gtl["target"] == {"comp": ("ibm", "mac"), "sci": ("med", "space")}
    assert dtl["source"]["sci"] == ("crypt", "med")
    assert dtl["target"]["sci"] == ("electronics", "space")
    skada = newsgroups.SPLITS["skada/sci-vs-talk"]
    assert skada["source"] == {"sci": ("crypt", "electronics"), "talk": ("guns", "politics")}
    assert skada["target"] == {"sci": ("med", "space"), "talk": ("religion", "mideast")}
    assert newsgroups.SPLITS["skada/rec-vs-sci"] == newsgroups.SPLITS["gtl/rec-vs-sci"]
    dai = newsgroups.SPLITS["dai/comp-vs-sci"]
    assert dai["target"] == {"comp": ("ibm", "mac", "windows-x"), "sci": ("med", "space")}
    mrtl = newsgroups.SPLITS["mrtl/rec-vs-sci"]
    assert mrtl["source"] == {"rec": ("hockey",), "sci": ("space",)}
    assert mrtl["target-2"] == {"rec": ("motorcycles",), "sci": ("electronics",)}
    assert newsgroups.SPLITS["mtc/rec-vs-talk-rebuilt"]["task-2"] == {
        "rec": ("baseball",), "talk": ("mideast",)
    }  # fmt: skip


def test_posts_0_9_and_the_last_are_the_right_ones(real):
    files = tuple(tasks.fetch.get(file, real) for file in newsgroups.FILES.values())
    counts, vocabulary, groups = newsgroups._corpus(files, "[a-z]{2,}")
    assert counts.shape[0] == len(groups) == 18_821
    assert [groups[i] for i in (0, 9, -1)] == ["alt.atheism", "alt.atheism", "talk.religion.misc"]
    sizes = dict(zip(*np.unique(groups, return_counts=True), strict=True))
    assert len(sizes) == 20
    assert sizes["rec.sport.hockey"] == 999
    assert sizes["talk.religion.misc"] == 628
    atheism, fish = (list(vocabulary).index(word) for word in ("atheism", "fish"))
    assert counts[0, atheism] > counts[0, fish] > 0


def test_the_papers_least_frequency_holds_for_the_documents_that_remain(real):
    X = {}
    for least in (0, 5):
        task = tasks.Task.named("gtl/comp-vs-rec", documents=100, min_df=least)
        problem, _ = tasks.load(task, real)
        X[least] = sp.csr_array(sp.vstack([domain.X for domain in problem.domains]))
    assert np.bincount(X[0].indices).min() == 5
    assert (X[0] != X[5]).nnz == 0


def test_posts_that_are_no_plain_text_are_found():
    line = b"M" + b"ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_" * 2 + b"\n"
    assert newsgroups_19997.is_plain(b"Subject: a test\n\nOne line.\nAnother one, longer.\n")
    assert not newsgroups_19997.is_plain(b"Subject: a picture\n\n" + 60 * line)
    assert newsgroups_19997.is_plain(
        b"Subject: a picture\n\n" + 60 * line.replace(b"EFGHIJ", b" E F G")
    )
    assert not newsgroups_19997.is_plain(b"")
    assert not newsgroups_19997.is_plain(b"a text with bytes \xf8\xf8")


@pytest.mark.slow
def test_headers_that_name_the_class_can_be_left_out():
    post = "Path: cantaloupe!news\n sci.space\nnewsgroups: sci.space\nFrom: a@b\n\nPath: sci.med\n"
    head = post.partition("\n\n")[0]
    assert newsgroups_19997.NAMING.sub("", f"{head}\n") == "From: a@b\n"
    files = originals("dtl/sci-vs-talk-19997")
    words = {}
    for headers in ("all", "unnamed", "none"):
        problem, truth = newsgroups_19997.build("dtl/sci-vs-talk-19997", files, headers=headers)
        words[headers] = problem.domains[0].X.shape[1]
        assert [len(Y) for Y in truth.Y] == [3997, 4000]
        assert truth.Y[1].sum(axis=0).tolist() == [2000, 2000]
        assert problem.domains[1].seen.sum() == 0
    assert words["none"] < words["unnamed"] < words["all"] == 15_194
