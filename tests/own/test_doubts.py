"""Doubts about documents and decisions: what they say, and when a result is worthless."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_problem
from user_documents import SOURCE, make_documents

import transferbench
from transferbench.own.doubts import WEAK_AGREEMENT, data_doubts, fit_doubts
from transferbench.own.problem import documents_problem
from transferbench.problem import Domain, Fit


def decide(decided, *, classes=2, source=None, params=(), diagnostics=()):
    """Return the doubts about decisions (n,) of the one target; `source` has labels."""
    problem, _ = make_problem(documents=len(decided), classes=classes)
    if source is not None:
        first = replace(problem.domains[0], Y=np.eye(classes)[source])
        problem = replace(problem, domains=(first, problem.domains[1]))
    scores = problem.domains[0].Y, np.eye(classes)[decided]
    fit = Fit(scores, diagnostics=dict(diagnostics))
    return fit_doubts("dtl", problem, dict(params), fit)


def test_sound_decisions_have_no_doubt():
    assert decide([0, 1] * 20) == []
    assert decide([0, 0, 1] * 12 + [0] * 4) == []


def doubts_about(source, texts, **options):
    """Return the doubts about unlabelled texts, except those about shared documents."""
    target = make_documents("t.csv", texts, [""] * len(texts))
    problem, _ = documents_problem([source], [target], options)
    return [doubt for doubt in data_doubts(problem) if "also in the source" not in doubt.text]


def test_documents_without_features_of_the_source_name_the_options():
    texts = ["the cat", "", "zebra zoo", "the sea", "a cat"]
    empty, unrelated = doubts_about(SOURCE, texts, min_df=1)
    assert empty.text.startswith("1 of 5 documents have no feature left")
    assert "the option min_df=1 or, for texts, tokens=characters" in empty.text
    assert str(unrelated) == "t: 1 of 5 documents share no feature with the source"
    assert not empty.worthless
    assert not unrelated.worthless
    (doubt,) = doubts_about(SOURCE, ["zebra zoo", "zoo zebra"] * 6)
    assert str(doubt).startswith("t: 12 of 12 documents share no feature with the source; keep")
    assert "the option min_df=1" in doubt.text
    assert doubt.worthless


@pytest.mark.parametrize(("blank", "found"), [([], []), (["", ""], ["s: 2 of 18 labelled docu"])])
def test_empty_documents_of_a_source_are_doubted(blank, found):
    texts = [*blank, *["the cat", "the sea"] * 8]
    source = make_documents("s.csv", texts, ["cat", "sea"] * (len(texts) // 2))
    doubts = doubts_about(source, ["the cat", "the sea"] * 3, min_df=1)
    assert [str(doubt)[: len(found[0])] for doubt in doubts] == found
    assert all("teach nothing" in doubt.text for doubt in doubts)


@pytest.mark.parametrize(
    ("n", "source", "worthless"),
    [(4, [0, 1] * 2, False), (40, [0, 1] * 20, True), (40, [0] * 36 + [1] * 4, False)],
    ids=["few documents", "improbable", "as in the source"],
)
def test_one_class_is_worthless_if_the_sources_shares_make_it_improbable(n, source, worthless):
    (doubt,) = decide([0] * n, source=source)
    assert str(doubt).startswith(f"target-1: all {n} documents are in one class, a; ")
    assert doubt.worthless == worthless


@pytest.mark.parametrize(
    ("n", "given", "text"),
    [
        (40, None, "50 % of the documents are a, 90 % of the source's"),
        (40, (9, 1), "50 % of the documents are a, 90 % are given; check the order of the shares"),
        (40, (0.7, 0.3), None),
        (8, None, None),
    ],
    ids=["source", "given", "near", "few documents"],
)
def test_shares_far_from_the_expected_ones_are_a_doubt(n, given, text):
    params = {} if given is None else {"prior": given}
    doubts = decide([0, 1] * (n // 2), source=[0] * (n * 9 // 10) + [1] * (n - n * 9 // 10),
                    params=params)  # fmt: skip
    assert [doubt.text[: len(text or "")] for doubt in doubts] == [text] * (text is not None)
    assert not any(doubt.worthless for doubt in doubts)


def test_a_class_that_is_never_decided_is_named():
    (doubt,) = decide([0, 1] * 20, classes=3, source=[0, 1, 2, 2] * 10)
    assert doubt.text.startswith("few or no documents are c (0 %, 50 % of the source's); if")


@pytest.mark.parametrize("diagnostics", [{}, {"area": 0.9}], ids=["lr", "consensus"])
def test_few_documents_of_a_class_are_a_doubt_about_every_model(diagnostics):
    """A third of the expected share or less, and less than chance makes of as many documents."""

    def texts(of_a: int, n: int) -> list[str]:
        source = [0] * round(0.27 * n) + [1] * (n - round(0.27 * n))
        doubts = decide([0] * of_a + [1] * (n - of_a), source=source, params={"prior": "source"},
                        diagnostics=diagnostics)  # fmt: skip
        return [doubt.text for doubt in doubts]

    for of_a, n in ((4, 100), (12, 300), (1, 30)):
        (text,) = texts(of_a, n)
        assert re.match(
            rf"few or no documents are a \({100 * of_a / n:.0f} %, 27 % of the sou", text
        )
        assert text.endswith("if you know better, give the parameter prior, in the order a, b")
    for of_a, n in ((1, 12), (30, 100), (45, 300)):
        assert texts(of_a, n) == []


@pytest.mark.parametrize(
    ("diagnostics", "texts"),
    [
        ({"share_width": 0.1, "agreement": WEAK_AGREEMENT}, []),
        ({"share_width": 0.31, "share_peaks": 2}, ["class shares that are 31 points apart fit "]),
        ({"agreement": WEAK_AGREEMENT - 0.01}, ["its members agree little ("]),
    ],
)
def test_uncertain_shares_or_members_of_consensus_are_a_doubt(diagnostics, texts):
    problem, truth = make_problem()
    doubts = fit_doubts("consensus", problem, {}, Fit(truth.Y, diagnostics=diagnostics))
    assert [doubt.text[: len(texts[0])] for doubt in doubts] == texts
    assert not any(doubt.worthless or doubt.target for doubt in doubts)


def test_odds_of_a_class_of_several_that_are_far_are_a_doubt():
    """From thirds, 8, 22 and 6 of 36 documents: the odds of the second are three times as large."""
    assert decide([0, 1, 2] * 12, classes=3) == []
    (doubt,) = decide([0] * 8 + [1] * 22 + [2] * 6, classes=3)
    assert doubt.text.startswith("61 % of the documents are b, 33 % of the source's")
    assert decide([0] * 9 + [1] * 18 + [2] * 9, classes=3) == []


def near_and_far():
    """Return a problem with two targets: more documents of the source, and longer documents."""
    problem, _ = make_problem(documents=120)
    source, far = problem.domains

    def half(name: str, seen: bool) -> Domain:
        rows = slice(int(not seen), None, 2)
        return Domain(name, (source.X[rows],), source.Y[rows] * seen, np.full(60, seen))

    far = replace(far, views=(3 * far.X,))
    return replace(problem, domains=(half("source", True), half("near", False), far))


@pytest.mark.parametrize("model", ["lr", "svm"])
def test_a_model_without_transfer_is_doubted_where_source_and_target_differ(model):
    problem = near_and_far()
    fit = transferbench.fit(model, problem)
    (doubt,) = fit_doubts(model, problem, {}, fit)
    assert re.fullmatch(
        r"target-1: a classifier separates its documents from the source's \(AUC \d\.\d\d\); this "
        r"model learns from the source alone",
        str(doubt),
    )
    assert not doubt.worthless


def test_labels_of_a_target_are_expected_and_end_the_doubt_about_transfer():
    problem = near_and_far()
    *others, far = problem.domains
    Y = np.tile([0.0, 1.0], (120, 1))
    seen = np.arange(120) < 60
    weights = np.full(120, 10.0)
    labelled = replace(far, Y=Y * seen[:, None], seen=seen, label_weights=weights)
    sampled = replace(problem, domains=(*others, labelled))
    decided = Fit(tuple(np.tile([1.0, 0.0], (len(d.seen), 1)) for d in problem.domains))
    texts = [str(doubt) for doubt in fit_doubts("svm", sampled, {}, decided)]
    assert not [text for text in texts if text.startswith("target-1: a classifier")]
    half = np.eye(2)[np.arange(120) % 2]
    decided = Fit(tuple(half[: len(d.seen)] for d in problem.domains))
    found = [doubt.text for doubt in fit_doubts("lr", sampled, {}, decided)]
    assert "50 % of the documents are a, 14 % of the source's and the sample's" in found
    few = replace(far, Y=Y * (seen & (np.arange(120) < 3))[:, None], seen=np.arange(120) < 3)
    sampled = replace(problem, domains=(*others, few))
    assert not [doubt for doubt in fit_doubts("lr", sampled, {}, decided) if "sample" in doubt.text]


def test_a_model_that_transfers_is_not_doubted_where_source_and_target_differ():
    problem = near_and_far()
    assert fit_doubts("cocc", problem, {}, transferbench.fit("lr", problem)) == []
