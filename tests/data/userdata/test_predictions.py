"""Confidences of predictions, and warnings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from own_documents import CAT, SEA, SOURCE, make_documents

from transferbench.data.userdata import predictions
from transferbench.data.userdata.documents import Documents
from transferbench.data.userdata.problem import documents_problem
from transferbench.metrics import normalize_scores
from transferbench.problem import Fit


def test_normalized_scores_are_fractions_of_their_row():
    scores = np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(normalize_scores(scores), [[0.75, 0.25], [0.5, 0.5], [0, 1]])


def test_normalized_negative_scores_keep_their_order_and_sum_to_one():
    scores = -np.random.default_rng(0).random((50, 4)) * 2000
    normalized = normalize_scores(scores)
    np.testing.assert_array_equal(normalized.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(normalized.sum(axis=1), 1)
    np.testing.assert_allclose(normalize_scores(scores - 7), normalized)
    tiny = normalize_scores(np.array([[-1.0, -2.0]]))
    np.testing.assert_allclose(tiny[0, 0] / tiny[0, 1], math.e)


def test_nan_scores_are_refused():
    with pytest.raises(ValueError, match="1 scores are not numbers"):
        normalize_scores(np.array([[0.5, np.nan], [1.0, 0.0]]))


def warnings_for(source: Documents, target: Documents, decided: list[int]) -> str:
    built, _ = documents_problem([source], [target], {"min_df": 1})
    scores = np.eye(2)[decided]
    return "\n".join(
        predictions.prediction_warnings(built, [target], Fit((built.domains[0].Y, scores)))
    )


def test_sound_predictions_have_no_warnings():
    target = make_documents("t.csv", ["the cat", "a cat at sea", "the sea"], [""] * 3)
    assert warnings_for(SOURCE, target, [0, 1, 1]) == ""


def test_warnings_state_numbers():
    target = make_documents("t.csv", ["the cat", "", "zebra zoo", "the sea"], [""] * 4)
    warnings = warnings_for(SOURCE, target, [0, 0, 0, 0])
    assert "t.csv: 1 of 4 documents have no feature left" in warnings
    assert "t.csv: 1 of 4 documents share no feature with the source" in warnings
    assert "t.csv: unbalanced predictions: cat 4, sea 0" in warnings
    assert "graph is empty" not in warnings
    lopsided = make_documents("s.csv", [*CAT, SEA[0]], ["cat"] * 4 + ["sea"])
    target = make_documents("t.csv", ["cat", "sea"], [""] * 2)
    warnings = warnings_for(lopsided, target, [0, 1])
    assert "the source's classes are unbalanced: cat 4, sea 1" in warnings
    assert "t.csv: no two documents share a feature: their graph is empty" in warnings
