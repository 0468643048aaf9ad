"""The table of compared models: means over the seeds, votes, recall."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_problem

from transferbench.choose import compare
from transferbench.choose.compare import Choice, Comparison, Entry, FitPlan
from transferbench.problem import Fit

SOURCE, TRUTH = make_problem(documents=4)


def table(true: list[int], **decisions: list[list[int]]) -> dict[str, dict]:
    """Return by model the line of the table; true: −1 for a document without a label.

    decisions: by model the classes of the four documents of the target, by seed.
    """
    Y = np.array([np.zeros(2) if y < 0 else np.eye(2)[y] for y in true])
    truth = replace(
        TRUTH, Y=(TRUTH.Y[0], Y), scored=(np.zeros(4, bool), np.array(true) >= 0)
    )  # fmt: skip
    entries = {
        model: Entry(
            model, {}, tuple(Fit((TRUTH.Y[0], np.eye(2)[seed])) for seed in seeds), 1.0, {}, ()
        )
        for model, seeds in decisions.items()
    }
    found = compare.table(Comparison(SOURCE, entries, (), Choice("lr", "", None)), truth)
    return {line["model"]: line for line in found.to_dict("records")}


def test_a_line_has_the_mean_and_the_deviation_over_the_seeds():
    found = table([0, 0, 1, 1], lr=[[0, 0, 1, 1]], gcmf=[[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
    line = found["gcmf"]
    assert line["accuracy"] == line["agreement_lr"] == line["agreement_vote"] == 0.75
    assert line["accuracy_std"] == 0.25  # of 1, 0.75 and 0.5, with n − 1
    assert (line["recall a"], line["recall b"]) == (0.5, 1)
    assert line["share a"] == pytest.approx((2 + 1 + 0) / 12)
    assert math.isnan(found["lr"]["accuracy_std"])


def test_documents_without_a_label_are_not_scored_and_an_absent_class_has_no_recall():
    line = table([0, -1, -1, 0], lr=[[0, 1, 1, 1]])["lr"]
    assert (line["documents"], line["scored"], line["accuracy"]) == (4, 2, 0.5)
    assert line["recall a"] == 0.5
    assert math.isnan(line["recall b"])


def test_a_tie_of_votes_goes_to_logistic_regression_and_models_that_combine_others_do_not_vote():
    found = table([0] * 4, lr=[[0, 0, 1, 1]], dtl=[[1, 0, 0, 1]], vote=[[1, 0, 0, 1]])
    assert [line["agreement_vote"] for line in found.values()] == [1, 0.5, 0.5]


def test_seeds_follow_each_other_from_the_given_one():
    plans = compare.plan(SOURCE, ["gcmf"], repeats=2, seed=5)
    assert [plan.seeds for plan in plans] == [(None,), (None,), (5, 6)]


def test_reverse_accuracy_is_a_mean_over_the_seeds(monkeypatch):
    monkeypatch.setattr(compare.models, "fit", lambda *_, **options: Fit(TRUTH.Y))
    monkeypatch.setattr(
        compare, "reverse_accuracies", lambda model, problem, params, seed, fit: {"t": seed / 8}
    )
    entry = compare.fit_plan(SOURCE, ["t"], FitPlan("gcmf", {}, (1, 3, 8)))
    assert entry.reverse_accuracy == {"t": 0.5}
