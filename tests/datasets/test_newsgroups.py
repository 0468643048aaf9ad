"""20 Newsgroups: the tasks are those of the papers' tables, and the built ones are right."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals

from transferbench.data import tasks
from transferbench.datasets import newsgroups, newsgroups_19997, newsgroups_bydate

PAIRS = ["comp-vs-rec", "comp-vs-sci", "comp-vs-talk", "rec-vs-sci", "rec-vs-talk", "sci-vs-talk"]


def test_the_tasks_of_each_collection():
    more = ["comp-vs-rec-vs-sci", "comp-vs-rec-vs-talk", "comp-vs-sci-vs-talk"]
    more += ["rec-vs-sci-vs-talk", "comp-vs-rec-vs-sci-vs-talk"]
    all_terms = [f"gtl/{tops}" for tops in (*PAIRS, *more)]
    all_terms += ["skada/rec-vs-sci", "skada/rec-vs-talk", "skada/sci-vs-talk"]
    all_terms += ["mtc/rec-vs-talk-rebuilt", "mtc/comp-vs-sci-rebuilt"]
    assert list(newsgroups.TASKS) == all_terms
    by_date = [f"gtl/{pair}-bydate" for pair in PAIRS]
    by_date += [f"mrtl/{pair}-bydate" for pair in ("comp-vs-rec", "rec-vs-sci", "sci-vs-comp")]
    assert list(newsgroups_bydate.TASKS) == by_date
    original = [f"{paper}/{pair}-19997" for paper in ("dtl", "dai") for pair in PAIRS]
    assert list(newsgroups_19997.TASKS) == original


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


def test_options_have_their_documented_effect(real):
    def built(options: str):
        return tasks.load(tasks.Task.named(f"gtl/comp-vs-rec:{options}"), real)[0]

    plain = tasks.load(tasks.Task.named("gtl/comp-vs-rec"), real)[0]
    assert built("min_df=15").domains[0].X.shape[1] < plain.domains[0].X.shape[1]
    assert built("max_features=100").domains[0].X.shape[1] == 100
    assert built("weighting=tf,unit_length=false").domains[0].X.data.min() == 1
    assert built("stop_words=none").domains[0].X.shape[1] > plain.domains[0].X.shape[1]


def test_the_papers_least_frequency_holds_for_the_documents_that_remain(real):
    X = {}
    for least in (0, 5):
        task = tasks.Task.named("gtl/comp-vs-rec", documents=100, min_df=least)
        problem, _ = tasks.load(task, real)
        X[least] = sp.csr_array(sp.vstack([domain.X for domain in problem.domains]))
    assert np.bincount(X[0].indices).min() == 5
    assert (X[0] != X[5]).nnz == 0


def test_a_built_task_loads_without_its_originals(real, monkeypatch):
    task = tasks.Task.named("gtl/comp-vs-rec")
    tasks.load(task, real)
    monkeypatch.setattr(newsgroups, "build", None)
    start = time.process_time()
    tasks.load(task, real)
    assert time.process_time() - start < 1


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


@pytest.mark.slow
def test_a_cut_task_keeps_the_weights_of_its_builder(real):
    name = "dtl/rec-vs-sci-19997"
    whole, part = (
        tasks.load(tasks.Task.named(name, **options), real)[0].domains[0].X
        for options in ({}, {"documents": 50})
    )
    assert part.shape[0] == 50
    assert set(part.data) <= set(whole.data)
