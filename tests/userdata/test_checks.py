"""Doubts about documents and decisions: what they say, and when a result is worthless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import make_problem
from own_documents import SOURCE, make_documents

from transferbench.choose.criteria import (
    check_data,
    check_fit,
)
from transferbench.core.documents import label_start
from transferbench.problem import Fit
from transferbench.userdata.load import documents_problem


def decide(decided, *, classes=2, source=None, params=(), reverse=None):
    """Return the doubts about decisions (n,) of the one target; source: labels of the source."""
    problem, _ = make_problem(documents=len(decided), classes=classes)
    if source is not None:
        first = replace(problem.domains[0], Y=np.eye(classes)[source])
        problem = replace(problem, domains=(first, problem.domains[1]))
    fit = Fit((problem.domains[0].Y, np.eye(classes)[decided]))
    known = {} if reverse is None else {"target-1": reverse}
    return check_fit(problem, dict(params), fit, known, ["t.csv"])


def test_sound_decisions_have_no_finding():
    assert decide([0, 1] * 20, reverse=0.9) == []
    assert decide([0, 0, 1] * 12 + [0] * 4, reverse=0.9) == []


def test_documents_without_features_of_the_source_name_the_options():
    texts = ["the cat", "", "zebra zoo", "the sea", "a cat"]
    built, _ = documents_problem(
        [SOURCE], [make_documents("t.csv", texts, [""] * 5)], {"min_df": 1}
    )
    empty, unrelated = check_data(built, ["t.csv"])
    assert empty.text.startswith("t.csv: 1 of 5 documents have no feature left")
    assert "--option min_df=1, tokens=characters" in empty.text
    assert unrelated.text == "t.csv: 1 of 5 documents share no feature with the source."
    assert not empty.worthless
    assert not unrelated.worthless


def test_no_feature_in_common_is_worthless_and_names_the_options():
    target = make_documents("t.csv", ["zebra zoo", "zoo zebra"] * 6, [""] * 12)
    built, _ = documents_problem([SOURCE], [target], {})
    (doubt,) = check_data(built)
    assert doubt.text.startswith("t: 12 of 12 documents share no feature with the source; keep")
    assert "--option min_df=1" in doubt.text
    assert doubt.worthless


def test_nothing_is_learnt_from_documents_without_a_common_feature():
    target = make_documents("t.csv", ["cat", "sea"], [""] * 2)
    built, _ = documents_problem([SOURCE], [target], {"min_df": 1})
    assert "no two documents share a feature" in check_data(built)[0].text


@pytest.mark.parametrize(
    ("n", "source", "worthless"),
    [(4, [0, 1] * 2, False), (40, [0, 1] * 20, True), (40, [0] * 36 + [1] * 4, False)],
    ids=["few documents", "improbable", "as in the source"],
)
def test_one_class_is_worthless_if_the_sources_shares_make_it_improbable(n, source, worthless):
    (doubt,) = decide([0] * n, source=source)
    assert doubt.text.startswith(f"t.csv: all {n} documents are in one class, a; ")
    assert doubt.worthless == worthless


def test_shares_far_from_the_source_name_the_models_own_remedy():
    source = [0] * 36 + [1] * 4
    (doubt,) = decide([0, 1] * 20, source=source)
    assert "shares of the classes are a 50 %, b 50 %, in the source a 90 %, b 10 %" in doubt.text
    assert "--set" not in doubt.text
    (doubt,) = decide([0, 1] * 20, source=source, params={"prior": "source"})
    assert "--set prior=source" in doubt.text


def test_shares_of_several_classes_are_far_if_any_of_them_are():
    assert decide([0, 1, 2] * 12, classes=3) == []
    (doubt,) = decide([0] * 12 + [1] * 23 + [2], classes=3)
    assert "shares of the classes are b 64 %, a 33 %, c 3 %, in the source" in doubt.text


def test_given_shares_are_judged_instead_of_the_sources():
    decided, given = [0] * 38 + [1] * 2, {"prior": (0.96, 0.04)}
    assert decide(decided, source=[0, 1] * 20, params=given, reverse=0.51) == []
    (doubt,) = decide([0, 1] * 20, source=[0, 1] * 20, params=given)
    assert "given are a 96 %, b 4 %; check the order of the given shares" in doubt.text


@pytest.mark.parametrize(
    ("classes", "reverse", "worthless"),
    [(2, 0.9, None), (2, 0.6, False), (2, 0.54, True), (4, 0.54, None), (4, 0.31, True)],
)
def test_reverse_accuracy_is_judged_by_the_number_of_classes(classes, reverse, worthless):
    doubts = decide(list(range(classes)) * 12, classes=classes, reverse=reverse)
    assert [doubt.worthless for doubt in doubts] == [w for w in [worthless] if w is not None]


def test_labels_of_a_rare_class_need_not_carry_back():
    for rare, worthless in ((4, False), (10, True)):
        doubts = decide([0] * (40 - rare) + [1] * rare, reverse=0.5)
        (doubt,) = [each for each in doubts if "reverse accuracy" in each.text]
        assert doubt.worthless == worthless


def test_decisions_close_to_logistic_regression_need_not_carry_back():
    """Of two targets, the second is checked."""
    problem, _ = make_problem(targets=2)
    _, first, P = label_start(problem)
    regression = P.argmax(axis=1)
    decided = np.where(np.arange(len(regression)) < 4, 1 - regression, regression)
    for changed, worthless in ((decided, False), (regression, True), (1 - decided, True)):
        fit = Fit((problem.domains[0].Y, first, np.eye(2)[changed]))
        (doubt,) = check_fit(problem, {}, fit, {"target-2": 0.5}, ["t.csv", "u.csv"])
        assert doubt.worthless == worthless


def test_clusters_of_one_file_each_are_worthless():
    problem, _ = make_problem()
    nothing = np.zeros(40, bool)
    domains = [replace(d, Y=np.zeros_like(d.Y), seen=nothing) for d in problem.domains]
    problem = replace(problem, family="clustering", domains=tuple(domains))
    fit = Fit((np.eye(2)[[0] * 40], np.eye(2)[[1] * 40]), columns="clusters")
    doubts = check_fit(problem, {}, fit, {}, ["a.csv", "b.csv"])
    assert [f.text.partition(";")[0] for f in doubts] == [
        "a.csv: all 40 documents are in one cluster",
        "b.csv: all 40 documents are in one cluster",
    ]
    assert all(doubt.worthless for doubt in doubts)
