"""Labels in unusual forms, and documents of the sample, do not mislead the estimators."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from transferbench.estimators import MultiLabelClassifier, TransductiveSplit, TransferClassifier

N = 60
TRUTH = np.tile([0, 1], N // 2)
DOMAIN = np.repeat([1, -2], N // 2)
DRAWN = np.arange(N) >= N - 8
RATES = np.array([[3, 0.3] * 5, [0.3, 3] * 5])
X = np.random.default_rng(0).poisson(RATES[TRUTH]) + 0.01
KINDS = {
    "list": list,
    "array": lambda y: np.array(y, object),
    "series": pd.Series,
}


def with_marks(mark="?", hidden=(DOMAIN < 0) & ~DRAWN):
    """Return the labels, a list with a mark for each document without one."""
    return [mark if row else int(label) for label, row in zip(TRUTH, hidden, strict=True)]


@pytest.mark.parametrize("scoring", [None, "f1_macro"])
def test_a_score_of_the_sample_is_warned_of(scoring):
    y = np.where(DRAWN, np.random.default_rng(1).integers(0, 2, N), TRUTH)
    y[(DOMAIN < 0) & ~DRAWN] = -1
    splits = list(TransductiveSplit().split(X, y, DOMAIN))
    params = {"sample_domain": DOMAIN, "label_sample": "given"}
    with pytest.warns(UserWarning, match="8 of 8 documents are in label_sample"):
        cross_val_score(TransferClassifier("lr"), X, y, cv=splits, scoring=scoring, params=params)


def test_a_score_without_the_sample_gives_no_warning():
    fitted = TransferClassifier("lr").fit(X, TRUTH, DOMAIN, DRAWN)
    rest = (DOMAIN < 0) & ~DRAWN
    with pytest.warns(UserWarning, match="8 of 60 documents are in label_sample"):
        fitted.score(X, TRUTH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted.score(X[rest], TRUTH[rest]) > 0.8
        fitted.predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_targets_may_have_placeholders_beside_numbers(kind):
    y = KINDS[kind](with_marks())
    fitted = TransferClassifier("lr").fit(X, y, DOMAIN, "given")
    plain = TransferClassifier("lr").fit(X, with_marks(-1), DOMAIN, "given")
    assert fitted.classes_.dtype == plain.classes_.dtype
    np.testing.assert_array_equal(fitted.label_distributions_, plain.label_distributions_)
    ((_, scored),) = TransductiveSplit().split(X, y, DOMAIN)
    assert scored.tolist() == np.flatnonzero(DRAWN).tolist()
    split, params = [(np.arange(N), scored)], {"sample_domain": DOMAIN}
    assert cross_val_score(TransferClassifier("lr"), X, y, cv=split, params=params)[0] > 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_sources_with_texts_and_numbers_are_refused(kind):
    y = KINDS[kind](["1", *with_marks()[1:]])
    with pytest.raises(ValueError, match="sources mixes texts with other values, such as '1' and"):
        TransferClassifier("lr").fit(X, y, DOMAIN)


@pytest.mark.parametrize("row", [[1, np.nan], [1, -1], ["?", 1]])
def test_rows_that_are_labelled_in_part_are_refused_as_given(row):
    Y = np.c_[TRUTH, 1 - TRUTH].astype(object)
    Y[(DOMAIN < 0) & ~DRAWN] = ["?", "?"] if "?" in row else -1
    fitted = MultiLabelClassifier("linear-svm").fit(X, Y, DOMAIN, "given")
    assert (fitted.transduction_[DRAWN] == Y[DRAWN]).all()
    Y[-1] = row
    with pytest.raises(
        ValueError, match=f"1 of its documents have no label.*row {N - 1}; correct or complete"
    ):
        MultiLabelClassifier("linear-svm").fit(X, Y, DOMAIN, "given")
    ((_, scored),) = TransductiveSplit().split(X, Y, DOMAIN)
    assert scored.tolist() == np.flatnonzero(DRAWN)[:-1].tolist()


def test_a_placeholder_that_looks_like_a_class_is_an_unknown_label():
    y = np.array(["None", "some"], object)[TRUTH]
    y[(DOMAIN < 0) & ~DRAWN] = "?"
    TransferClassifier("lr").fit(X, y, DOMAIN, "given")
    y[-1] = "none"
    with pytest.raises(ValueError, match="have no label of the sources, first 'none'"):
        TransferClassifier("lr").fit(X, y, DOMAIN, "given")
    with pytest.warns(UserWarning, match="1 documents of targets have labels .*'none'"):
        next(TransductiveSplit().split(X, y, DOMAIN))


@pytest.mark.filterwarnings("ignore")  # that the document is new
def test_a_new_document_without_features_has_the_least_confidence():
    empty = np.zeros((1, X.shape[1]))
    y = np.where(np.arange(N) < 20, 0, TRUTH)
    fitted = TransferClassifier("lr").fit(X, y, DOMAIN)
    np.testing.assert_allclose(fitted.predict_proba(empty), 0.5)
    several = MultiLabelClassifier("linear-svm").fit(X, np.c_[TRUTH, 1 - TRUTH], DOMAIN)
    np.testing.assert_allclose(several.predict_proba(empty), 0.5)


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, if its version differs
@pytest.mark.parametrize("name", ["transfer", "multilabel"])
def test_a_pickle_of_version_2_0_says_what_it_lacks(name):
    with (Path(__file__).parent / f"estimator-2.0-{name}.pickle").open("rb") as file:
        stored = pickle.load(file)
    fitted, old = stored["fitted"], stored["X"]
    assert fitted.strength_ == "none"
    assert fitted.chosen_ is fitted.expected_accuracy_ is None
    assert "version 2.0" in fitted.doubts_[0]
    assert fitted.score(old, stored["transduction"]) == 1
