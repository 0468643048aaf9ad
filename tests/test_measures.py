"""Measures against scikit-learn or values computed by hand; decision rules."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_clustering
from sklearn import metrics as reference

from transferbench import measures
from transferbench.problem import Fit, Truth

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 4, 300)
GUESS = np.where(RNG.random(300) < 0.6, TRUE, RNG.integers(0, 4, 300))
Y = (RNG.random((200, 6)) < 0.3).astype(int)
D = np.where(RNG.random((200, 6)) < 0.8, Y, 1 - Y)


def test_single_label_measures_are_scikit_learns():
    assert measures.accuracy(TRUE, GUESS) == reference.accuracy_score(TRUE, GUESS)
    assert measures.macro_f1(TRUE, GUESS) == pytest.approx(
        reference.f1_score(TRUE, GUESS, average="macro")
    )


def test_nmi_is_mutual_information_over_the_geometric_mean_of_entropies():
    table = np.histogram2d(TRUE, GUESS, bins=4)[0] / 300
    p, q = table.sum(axis=1), table.sum(axis=0)
    independent = np.outer(p, q)
    information = np.sum(table[table > 0] * np.log(table[table > 0] / independent[table > 0]))
    entropies = [-np.sum(x * np.log(x)) for x in (p, q)]
    assert measures.nmi(TRUE, GUESS) == pytest.approx(information / np.sqrt(np.prod(entropies)))
    one = np.zeros_like(TRUE)
    assert measures.nmi(TRUE, one) == measures.nmi(one, TRUE) == 0
    assert measures.nmi(one, one) == reference.normalized_mutual_info_score(one, one) == 1


def test_clustering_accuracy_is_the_best_of_all_matchings():
    from itertools import permutations

    best = max(np.mean(np.array(p)[GUESS] == TRUE) for p in permutations(range(4)))
    assert measures.clustering_accuracy(TRUE, GUESS) == pytest.approx(best)
    renamed = np.array([3, 1, 0, 2])[GUESS]
    assert measures.clustering_accuracy(TRUE, renamed) == pytest.approx(best)


def test_multilabel_measures_are_scikit_learns():
    options = {"average": "samples", "zero_division": 1.0}
    assert measures.example_f1(Y, D) == pytest.approx(reference.f1_score(Y, D, **options))
    assert measures.jaccard(Y, D) == pytest.approx(reference.jaccard_score(Y, D, **options))
    assert measures.hamming_loss(Y, D) == pytest.approx(reference.hamming_loss(Y, D))


def truth(family: str = "transfer") -> Truth:
    labels = np.eye(2)[[0, 0, 1, 1]]
    return Truth(
        family,
        ("a", "b"),
        ("source", "target"),
        (labels, labels),
        (np.zeros(4, bool), np.ones(4, bool)),
    )


def test_evaluate_scores_only_the_scored_rows():
    scores = np.eye(2)[[0, 1, 1, 1]]
    found = measures.evaluate(Fit((np.zeros((4, 2)), scores)), truth())
    f1 = pytest.approx((2 / 3 + 4 / 5) / 2)
    assert found == {"target": {"accuracy": 0.75, "f1": f1, "balanced_accuracy": 0.75}}


@pytest.mark.parametrize(
    ("columns", "family", "right"),
    [
        ("classes", "transfer", [0, 0, 0, 1]),
        ("clusters", "transfer", [1, 1, 1, 0]),
        ("classes", "clustering", [1, 1, 1, 0]),
    ],
)
def test_clusters_are_matched_and_classes_are_not(columns, family, right):
    flipped = np.eye(2)[[1, 1, 0, 1]]
    fit = Fit((flipped, flipped), columns=columns)
    assert measures.evaluate(fit, truth(family))["target"]["accuracy"] == np.mean(right)
    assert measures.correct(fit, truth(family))["target"].tolist() == right


def test_multilabel_decides_at_one_half():
    scores = np.array([[0.5, 0.4], [0.9, 0.0], [0.2, 0.7], [0.6, 0.6]])
    found = measures.evaluate(Fit((scores, scores)), truth("multilabel"))["target"]
    assert found == {
        "f1": pytest.approx((3 + 2 / 3) / 4), "accuracy": pytest.approx(3.5 / 4), "hamming": 1 / 8
    }  # fmt: skip


def test_nan_and_wrong_shapes_are_errors():
    bad = np.full((4, 2), np.nan)
    with pytest.raises(ValueError, match="not numbers"):
        measures.evaluate(Fit((bad, bad)), truth())
    with pytest.raises(ValueError, match="expected"):
        measures.evaluate(Fit((np.zeros((4, 3)),) * 2), truth())
    with pytest.raises(ValueError, match="2 domains"):
        measures.evaluate(Fit((np.zeros((4, 2)),)), truth())


def test_explained_variance_is_between_over_total_variance():
    rng = np.random.default_rng(0)
    X, decided = rng.random((30, 5)), rng.integers(3, size=30)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    within = sum(np.sum((X[decided == c] - X[decided == c].mean(axis=0)) ** 2) for c in range(3))
    expected = 1 - within / total
    assert measures.explained_variance(X, decided) == pytest.approx(expected)
    assert measures.explained_variance(sp.csr_array(X), decided) == pytest.approx(expected)
    assert measures.explained_variance(X, np.zeros(30, int)) == pytest.approx(0, abs=1e-12)
    assert measures.explained_variance(np.ones((4, 2)), np.array([0, 1, 0, 1])) == 0
    for scale in (1e-30, 1e20):  # squares in single precision are 0 or infinite
        single = (scale * (1 + 1e-3 * X)).astype(np.float32)
        for form in (single, sp.csr_array(single)):
            found = measures.explained_variance(form, decided)
            assert found == pytest.approx(expected, rel=1e-3)


def test_several_multilabel_tasks_also_get_measures_of_all_documents():
    truth = Truth(
        "multilabel",
        tuple("abcdef"),
        ("x", "y"),
        (Y[:50], Y[50:]),
        (TRUE[:50] > 0, TRUE[50:200] > 1),
    )
    scores = 0.2 + 0.5 * D
    found = measures.evaluate(Fit((scores[:50], scores[50:])), truth)
    rows = np.concatenate(truth.scored)
    assert list(found) == ["x", "y", "all"]
    assert found["all"]["f1"] == measures.example_f1(Y[rows], D[rows])
    assert found["all"]["hamming"] == measures.hamming_loss(Y[rows], D[rows])
    one = Truth("multilabel", tuple("abcdef"), ("x",), (Y,), (TRUE[:200] > 0,))
    assert list(measures.evaluate(Fit((scores,)), one)) == ["x"]


def test_ensure_one_label_raises_the_best_score_of_rows_without_a_label():
    scores = np.array([[0.2, 0.4, 0.1], [0.6, 0.1, 0.9], [0.0, 0.0, 0.0], [-2.0, -3.0, -1.0]])
    expected = [[0.2, 0.5, 0.1], [0.6, 0.1, 0.9], [0.5, 0.0, 0.0], [-2.0, -3.0, 0.5]]
    before = scores.copy()
    np.testing.assert_array_equal(measures.ensure_one_label(scores), expected)
    np.testing.assert_array_equal(scores, before)


def test_macro_f1_is_a_mean_over_the_true_classes():
    """Class 1 is never decided, and still counts; class 2 is decided, but not true."""
    assert measures.macro_f1(np.array([0, 0, 1]), np.array([0, 0, 0])) == pytest.approx(0.4)
    assert measures.macro_f1(np.array([0, 0, 1]), np.array([0, 2, 1])) == pytest.approx(5 / 6)


def test_explained_variance_is_that_of_each_tasks_own_documents():
    problem, truth = make_clustering()
    found = measures.evaluate(Fit(truth.Y), truth, problem)
    for domain, Y in zip(problem.domains, truth.Y, strict=True):
        expected = measures.explained_variance(domain.X, Y.argmax(axis=1))
        assert found[domain.name]["explained"] == expected
