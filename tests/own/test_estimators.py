"""The scikit-learn estimators pass its checks and return the results of the models."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_clustering, make_multilabel, make_problem, slow_unless
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, normalize
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.validation import _num_samples

import transferbench
from transferbench import models
from transferbench.errors import UserError
from transferbench.estimators import (
    MultiLabelClassifier,
    MultiTaskClusterer,
    TransductiveSplit,
    TransferClassifier,
)
from transferbench.measures import normalize_scores

CLASSES = {
    "transfer": TransferClassifier,
    "multilabel": MultiLabelClassifier,
    "clustering": MultiTaskClusterer,
}
UNLABELLED = "one of its two classes is −1, which means unlabelled, as in skada"
CENTRED = "it centres the features despite the tag positive_only; models need nonnegative ones"
#: Checks of scikit-learn that no estimator of a family can pass, with the reason.
EXPECTED_FAILURES = {
    "transfer": {"check_classifiers_classes": UNLABELLED},
    "multilabel": {"check_classifiers_classes": UNLABELLED},
    "clustering": {"check_clustering": CENTRED},
}
#: The checks have 10 to 50 documents; these models take 30 eigenvectors by default.
FEWER = {"lnkmtc": {"b": 3.0}, "lskmtc": {"r": 3}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", slow_unless("kmeans".__eq__, models.registry()))
def test_every_model_passes_scikit_learn_checks(name):
    """Without a target nothing is fitted: one model has the checks of what a fit returns."""
    family = models.get(name).family
    fits = family == "clustering" or name in ("lr", "linear-svm")
    estimator = CLASSES[family](name, **FEWER.get(name, {}))
    expected = EXPECTED_FAILURES[family] if fits else {}
    results = check_estimator(estimator, legacy=fits, expected_failed_checks=expected, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == {*expected}


class Quartered:
    """Make every fourth document a target, so that scikit-learn's checks fit the model itself."""

    def fit(self, X, y, sample_domain=None):
        if sample_domain is None and y is not None:
            sample_domain = np.where(np.arange(_num_samples(X)) % 4 == 3, -2, 1)
        return super().fit(X, y, sample_domain)


class QuarteredTransfer(Quartered, TransferClassifier):
    pass


class QuarteredMultiLabel(Quartered, MultiLabelClassifier):
    pass


@parametrize_with_checks(
    [
        QuarteredTransfer("gcmf", k=3, p=3, max_iter=4),
        QuarteredMultiLabel("linear-svm"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[models.get(estimator.model).family],
)
def test_scikit_learn_checks_with_targets(estimator, check):
    check(estimator)


def small(documents: int = 60):
    """Return X, y and domains of two classes that are easy to separate."""
    y = np.arange(documents) % 2
    rng = np.random.default_rng(0)
    X = rng.poisson(np.where(y[:, None] == np.arange(20) % 2, 1.0, 0.1)).astype(float)
    return X, y, np.repeat([1, -2], documents // 2)


LR, SVM = TransferClassifier("lr"), MultiLabelClassifier("linear-svm")
GCMF = TransferClassifier("gcmf", k=6, p=4, max_iter=10)
X, Y, DOMAIN = small()
TARGET = DOMAIN < 0
NAMES = np.array(["ham", "spam"], object)[Y]
TEXTS = [" ".join(f"w{j}" for j in np.flatnonzero(row)) + f" u{i}" for i, row in enumerate(X)]
#: A third of the documents of the target; y has no label of the others.
KNOWN = TARGET & (np.arange(60) % 3 == 0)
PARTLY = np.where(TARGET & ~KNOWN, -1, Y)


def fit(estimator, X=X, y=Y, sample_domain=DOMAIN, **options):
    """Return a fitted copy of an estimator."""
    return clone(estimator).fit(X, y, sample_domain, **options)


def shuffled(problem, truth):
    """Return X, y and domains of a problem, with the rows of its domains in between each other."""
    n = len(problem.domains[0].seen)
    domain = np.repeat([1, *range(-2, -len(problem.domains) - 1, -1)], n)
    domain = np.random.default_rng(9).permutation(domain)
    order = np.argsort(
        np.argsort(-domain, kind="stable")
    )  # each domain keeps the order of its rows
    X = sp.vstack([domain.X for domain in problem.domains], format="csr")
    y = np.concatenate([Y.argmax(axis=1) for Y in truth.Y])
    return sp.csr_matrix(X)[order], y[order], domain


@pytest.mark.parametrize(("model", "targets"), [("gcmf", 2), ("mtrick", 1), ("svm", 2)])
def test_result_equals_that_of_the_model(model, targets):
    problem, truth = make_problem(targets=targets, classes=3)
    X, y, domain = shuffled(problem, truth)
    params = {"k": 6} if model in ("gcmf", "mtrick") else {}
    estimator = TransferClassifier(model, random_state=3, **params).fit(X, y, domain)
    fitted = transferbench.fit(model, problem, seed=3, **params)
    for d, scores in zip((-2, -3)[:targets], fitted.scores[1:], strict=True):
        found = estimator.label_distributions_[domain == d]
        np.testing.assert_allclose(found, normalize_scores(scores), rtol=1e-6)
        np.testing.assert_array_equal(estimator.transduction_[domain == d], scores.argmax(axis=1))
    np.testing.assert_array_equal(estimator.transduction_[domain > 0], y[domain > 0])
    assert (estimator.transduction_ == y).mean() > 0.6


def test_labels_of_targets_are_ignored():
    plain, masked = fit(GCMF, y=NAMES), fit(GCMF, y=np.where(TARGET, "?", NAMES))
    np.testing.assert_array_equal(plain.label_distributions_, masked.label_distributions_)
    assert masked.classes_.tolist() == ["ham", "spam"]
    without_domains = fit(GCMF, y=np.where(TARGET, -1, Y), sample_domain=None)
    np.testing.assert_array_equal(without_domains.label_distributions_, plain.label_distributions_)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [Y.astype(np.int8), NAMES])
@pytest.mark.parametrize("estimator", [GCMF, MultiLabelClassifier("tram")])
def test_documents_of_sources_labelled_minus_one_are_unlabelled(estimator, names):
    hidden = ~TARGET & (np.arange(60) % 4 < 2)
    given = np.where(hidden, -1, names)
    fitted = fit(estimator, y=given, sample_domain=DOMAIN.astype(np.int8))
    assert fitted.classes_.tolist() == sorted({*names})
    assert (fitted.transduction_[hidden] == names[hidden]).mean() > 0.8
    if estimator is GCMF:  # a target of their own
        other = fit(estimator, y=names, sample_domain=np.where(hidden, -9, DOMAIN))
        np.testing.assert_array_equal(fitted.label_distributions_, other.label_distributions_)
    sources = fit(estimator, y=given, sample_domain=abs(DOMAIN).astype(np.uint8))
    np.testing.assert_array_equal(sources.transduction_[~hidden], names[~hidden])


def test_predict_looks_up_fitted_documents_and_classifies_others():
    """Logistic regression learns from the sources and from the labels that targets got."""
    X, y, domain = shuffled(*make_problem(documents=120))
    fitted = np.arange(len(y)) % 3 > 0
    estimator = fit(GCMF, X[fitted], y[fitted], domain[fitted])
    np.testing.assert_array_equal(estimator.predict(X[fitted]), estimator.transduction_)
    same = X[fitted][10:30].toarray()
    np.testing.assert_array_equal(estimator.predict(same), estimator.transduction_[10:30])
    new = X[~fitted].toarray()
    regression = LogisticRegression().fit(normalize(X[fitted]), estimator.transduction_)
    with pytest.warns(UserWarning, match="not fitted; they are labelled by logistic regression"):
        found = estimator.predict_proba(new)
    np.testing.assert_allclose(found, regression.predict_proba(normalize(new)), atol=1e-3)
    assert (estimator.predict(new) == y[~fitted]).mean() > 0.8


def test_new_documents_get_what_the_target_taught():
    """Source and target contradict each other. New documents get the classes of the target."""
    given = np.where(TARGET, 1 - Y, Y)
    sample = TARGET & (np.arange(60) % 4 < 2)
    fitted = fit(LR, y=given, label_sample=sample, sample_weight=np.where(sample, 1000.0, 1.0))
    new = X[TARGET] * 1.01  # no fitted document
    assert (fitted.predict(new) == given[TARGET]).mean() > 0.8


def test_a_labelled_sample_chooses_the_model_and_other_labels_of_targets_are_ignored():
    X, y, domain = shuffled(*make_problem(documents=120))
    names = np.array(["ham", "spam"])[y]
    drawn = (domain < 0) & (np.arange(len(y)) % 4 == 0)
    hidden = np.where((domain < 0) & ~drawn, "?", names)
    classifier = TransferClassifier()
    found = classifier.fit_predict(X, hidden, sample_domain=domain, label_sample=drawn)
    assert (found == names).mean() > 0.8
    expected, low, high = classifier.expected_accuracy_
    assert low < expected <= high
    assert classifier.chosen_ in ("consensus", "lr")
    np.testing.assert_array_equal(found[drawn], names[drawn])


def test_labels_of_targets_train_any_model_with_their_weights():
    X, y, domain = shuffled(*make_problem(documents=60))
    drawn = (domain < 0) & (np.arange(len(y)) % 3 == 0)
    # The labels of the sample contradict the source, so that their weight decides.
    y = np.where(drawn, 1 - y, y)

    def decided(**options: object) -> np.ndarray:
        return fit(LR, X, y, domain, **options).transduction_[(domain < 0) & ~drawn]

    plain = decided()
    with_sample = decided(label_sample=drawn)
    assert (plain != with_sample).any()
    weights = np.where(drawn, 10.0, 1.0)
    np.testing.assert_array_equal(decided(label_sample=drawn, sample_weight=weights), with_sample)
    none = np.where(drawn, 0.0, 1.0)
    np.testing.assert_array_equal(decided(label_sample=drawn, sample_weight=none), plain)


def test_a_document_of_weight_0_is_left_out_and_labelled_as_a_new_one():
    weights = np.where(~TARGET & (np.arange(60) % 4 < 2), 0.0, 1.0)
    kept = weights > 0
    svm = TransferClassifier("svm")
    found, alone = fit(svm, sample_weight=weights), fit(svm, X[kept], Y[kept], DOMAIN[kept])
    np.testing.assert_array_equal(found.transduction_[kept], alone.transduction_)
    np.testing.assert_array_equal(found.predict(X[kept]), alone.predict(X[kept]))
    with pytest.warns(UserWarning, match="documents were not fitted"):
        np.testing.assert_array_equal(found.predict(X[~kept]), found.transduction_[~kept])


def test_a_pipeline_passes_labels_and_weights_and_the_split_scores_others():
    weights = np.where(KNOWN, 3.0, 1.0)
    routed = {"sample_domain": DOMAIN, "label_sample": KNOWN, "sample_weight": weights}
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MaxAbsScaler(), TransferClassifier("lr"))
        fitted = pipeline.fit(X, Y, **routed)
        alone = fit(LR, pipeline[0].transform(X), **routed)
        np.testing.assert_array_equal(fitted[-1].transduction_, alone.transduction_)
        # Before scikit-learn 1.8 a Pipeline refuses weights that its score does not request.
        pipeline.set_score_request(sample_weight=True)
        scores = cross_val_score(pipeline, X, Y, cv=TransductiveSplit(), params=routed)
    rows = TARGET & ~KNOWN
    assert scores == pytest.approx([np.mean(alone.transduction_[rows] == Y[rows])])


def test_without_a_target_no_model_is_fitted(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr(models, "fit", fail)
    with pytest.warns(UserWarning, match="nothing is transferred and consensus is not fit") as seen:
        estimator = TransferClassifier().fit(X, Y)
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(estimator.transduction_, Y)
    with pytest.warns(UserWarning, match="or with rows of −1 in y"):
        MultiLabelClassifier().fit(X, np.eye(2)[Y])
    with pytest.raises(AssertionError, match="a model was fitted"):
        TransferClassifier().fit(X, Y, DOMAIN)


def masked(values, mask=KNOWN):
    return np.ma.array(values, mask=mask)


#: An estimator, arguments of its `fit`, and a part of the error that they raise.
REFUSED = [
    (LR, {"sample_domain": np.full(60, -1)}, "no source"),
    (LR, {"sample_domain": np.full(60, 0.5)}, "integers"),
    (LR, {"sample_domain": ~TARGET}, r"got bool; .*np.where\(is_source, 1, -2\)"),
    (LR, {"sample_domain": [1, -1]}, "numbers of samples"),
    (LR, {"sample_domain": masked(DOMAIN)}, "sample_domain has masked values"),
    (LR, {"y": np.full(60, 1)}, "one class"),
    (LR, {"y": masked(Y, ~TARGET)}, "NaN or None for .* documents of sources"),
    (LR, {"y": np.arange(60) % 2 * 2 - 1}, "one class, 1; .* −1, which 15 documents have"),
    (SVM, {"y": np.where(TARGET, -1, 1)}, "one class, 1; expected two classes or more$"),
    (LR, {"sample_weight": TARGET * 1.0}, "sample_weight: it is 0 for all documents of sources"),
    (LR, {"sample_weight": Y - 1.0}, "sample_weight: expected finite numbers of 0 or more"),
    (LR, {"label_sample": masked(TARGET)}, "label_sample has missing values"),
    (LR, {"label_sample": ~TARGET}, "expected documents of targets"),
    (LR, {"label_sample": "given"}, "every document of domain -2"),
    (LR, {"label_sample": "all"}, "label_sample='all': expected a mask.* or in `fit` 'given'"),
    (
        LR,
        {"y": PARTLY, "label_sample": TARGET},
        "20 of its documents have no label of the sources, first -1 in row 31",
    ),
    (
        LR,
        {"y": np.where(KNOWN, 7, PARTLY), "label_sample": "given"},
        "10 of its documents .*, first 7 in row 30",
    ),
    (LR, {"X": np.ma.masked_greater(X, 0.5)}, "masked"),
    (LR, {"X": np.r_[X[:30], X[:30]]}, "domain -2 has the features of 1, document by"),
    (SVM, {"y": np.full((60, 2), -1)}, "no labelled document"),
    (SVM, {"y": np.full((60, 2), 2)}, "0 or 1 for each label"),
    (SVM, {"y": np.ones((60, 2)), "sample_domain": np.full(60, -1)}, "no source"),
    (SVM, {"y": np.ones((60, 2)), "sample_domain": [1.5] * 60}, "integers"),
    (MultiTaskClusterer("kmeans", 61), {"y": None}, "n_clusters of 1 to 60"),
    (MultiTaskClusterer("lnkmtc", 61), {"y": None}, "n_clusters of 1 to 60"),
    (TransferClassifier("nmf"), {}, "finds clusters, not classes"),
]


@pytest.mark.parametrize(("estimator", "given", "message"), REFUSED)
def test_invalid_input_raises(estimator, given, message):
    with pytest.raises(ValueError, match=message):
        fit(estimator, **given)


@pytest.mark.parametrize("domain", [DOMAIN, None])
@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("lnkmtc", {}, "clustering model"),
        ("gcmf", {"kk": 3}, "unknown parameter of gcmf 'kk'"),
        ("tram", {}, "multilabel model"),
    ],
)
def test_a_wrong_model_or_parameter_is_a_user_error_even_if_nothing_is_fitted(
    model, given, message, domain
):
    with pytest.raises(UserError, match=message):
        TransferClassifier(model, **given).fit(X, Y, domain)


def test_negative_features_are_refused_with_a_hint():
    with pytest.raises(ValueError, match="Negative values") as raised:
        fit(LR, sp.csr_array(-X))
    assert any("alternate_sign=False" in note for note in raised.value.__notes__)


def test_parameters_of_the_model_are_estimator_parameters():
    one = TransferClassifier("gcmf", k=6, random_state=4)
    assert one.get_params() == {"model": "gcmf", "random_state": 4, "k": 6}
    two = clone(one).set_params(k=8, model="mtrick", beta=2.0)
    assert two.get_params() == {"model": "mtrick", "random_state": 4, "k": 8, "beta": 2.0}
    copy.copy(one).set_params(k=5)
    assert one.get_params()["k"] == 6
    assert repr(one) == "TransferClassifier(k=6, model='gcmf', random_state=4)"


def test_random_state_is_the_seed():
    def fit_with(state):
        return fit(clone(GCMF).set_params(random_state=state)).label_distributions_

    same = fit_with(np.random.RandomState(5))
    np.testing.assert_array_equal(same, fit_with(np.random.RandomState(5)))
    assert (same != fit_with(0)).any()
    fit_with(None)


@pytest.mark.parametrize("model", ["lnkmtc", "kmeans"])
def test_clusters_equal_those_of_the_model(model):
    problem, _ = make_clustering(classes=3)
    X = sp.vstack([domain.X for domain in problem.domains], format="csr")
    tasks = np.repeat([7, 4], [len(domain.seen) for domain in problem.domains])
    params = {"b": 6.0, "p": 4} if model == "lnkmtc" else {}
    estimator = MultiTaskClusterer(model, 3, random_state=2, **params)
    labels = estimator.fit_predict(X, sample_domain=tasks)
    swapped = transferbench.Problem("p", "clustering", problem.classes, problem.domains[::-1])
    fitted = transferbench.fit(model, swapped, seed=2, **params)
    for task, scores in zip((4, 7), fitted.scores, strict=True):
        np.testing.assert_array_equal(labels[tasks == task], scores.argmax(axis=1))


@pytest.mark.parametrize("model", ["himls", "linear-svm", "tram"])
def test_several_labels_equal_those_of_the_model(model):
    """Domains are tasks with labelled and unlabelled documents."""
    problem, truth = make_multilabel(tasks=2, views=1)
    X = sp.vstack([domain.X for domain in problem.domains], format="csr")
    seen = np.concatenate([domain.seen for domain in problem.domains])
    Y = np.where(seen[:, None], np.vstack(truth.Y), -1)
    tasks = np.repeat([0, 1], [len(domain.seen) for domain in problem.domains])
    params = {"p": (6,), "q": (6,)} if model == "himls" else {}
    estimator = MultiLabelClassifier(model, random_state=3, **params).fit(X, Y, tasks)
    scores = np.vstack(transferbench.fit(model, problem, seed=3, **params).scores)
    unseen = np.flatnonzero(~seen)
    np.testing.assert_allclose(
        estimator.label_distributions_[unseen], np.clip(scores[unseen], 0, 1), rtol=1e-5
    )
    np.testing.assert_array_equal(estimator.transduction_[unseen], scores[unseen] >= 0.5)
    np.testing.assert_array_equal(estimator.transduction_[seen], np.vstack(truth.Y)[seen])
    np.testing.assert_array_equal(estimator.predict(X), estimator.transduction_)
    assert estimator.classes_.tolist() == [0, 1, 2]
    sparse = fit(estimator, X, sp.csr_array(Y), tasks)
    np.testing.assert_array_equal(sparse.transduction_, estimator.transduction_)


def test_new_documents_get_labels_that_few_documents_have():
    problem, truth = make_multilabel(tasks=1, views=1, documents=120)
    X, Y = problem.domains[0].X, truth.Y[0]
    hidden = np.where(np.arange(80)[:, None] < 40, Y[:80], -1)
    given = np.c_[hidden, hidden[:, 0] * 0, hidden[:, 0] * 0 + 1]  # a label of none, one of all
    given[40:] = -1
    found = MultiLabelClassifier("linear-svm").fit(X[:80], given).predict(X[80:])
    assert (found[:, :-2] == Y[80:]).mean() > 0.7
    assert (found[:, -2:] == [0, 1]).all()
    rare = MultiLabelClassifier("linear-svm", ensure_one_label=True).fit(X[:80], hidden)
    assert rare.predict(X[80:]).any(axis=1).all()


@pytest.mark.parametrize("kind", ["Int64", object])
def test_data_frames_in_and_out(kind):
    index = [f"mail-{i}" for i in range(60)]
    table = pd.DataFrame(X, index=index, columns=[f"w{j}" for j in range(X.shape[1])])
    names = pd.Series(np.where(TARGET, "?", NAMES), index=index)
    estimator = fit(GCMF, table, names, pd.Series(DOMAIN, index=index, dtype=kind))
    assert estimator.feature_names_in_.tolist() == table.columns.tolist()
    plain = fit(GCMF, y=names)
    assert estimator.classes_.tolist() == plain.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(estimator.transduction_, plain.transduction_)
    labels = pd.DataFrame(np.eye(2, dtype=int)[Y], index=index, columns=["ham", "spam"])
    assert fit(SVM, table, labels).classes_.tolist() == ["ham", "spam"]


def test_a_pipeline_finds_every_fitted_document():
    """fit_transform and transform of a TfidfVectorizer differ in the last digits."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{j}" for j in range(300)])
    y, domain = np.arange(200) % 2, np.repeat([1, -2], 100)
    texts = [" ".join(rng.choice(words[100 * c :][:200], rng.integers(3, 60))) for c in y]
    pipeline = make_pipeline(TfidfVectorizer(min_df=2), TransferClassifier("lr"))
    with config_context(enable_metadata_routing=False):  # skada, if it is imported, turns it on
        pipeline.fit(texts, y, transferclassifier__sample_domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(pipeline.predict(texts), pipeline[-1].transduction_)
        found = pipeline.predict(texts[::-3])
    np.testing.assert_array_equal(found, pipeline[-1].transduction_[::-3])


def unsorted(X):
    """Return sparse X with its indices in descending order, and with stored zeros."""
    X = sp.csr_matrix(X.toarray())
    for i, j in zip(X.indptr, X.indptr[1:], strict=False):
        X.indices[i:j], X.data[i:j] = X.indices[i:j][::-1].copy(), X.data[i:j][::-1].copy()
    X = sp.csr_matrix((np.r_[X.data, 0.0], np.r_[X.indices, 0], np.r_[X.indptr[:-1], X.nnz + 1]))
    X.has_sorted_indices = False
    return X


#: Changes of documents: those that rounding explains, and others.
SAME = {
    "dense": lambda X: X.toarray(),
    "single": lambda X: X.astype(np.float32),
    "single as double": lambda X: X.astype(np.float32).astype(np.float64),
    "csc": lambda X: X.tocsc(),
    "unsorted": unsorted,
    "rounding": lambda X: X * (1 + 1e-12),
}
CHANGED = {
    "scaled": lambda X: X * 1.0001,
    "twice": lambda X: X * 2,
    "one entry": lambda X: X.toarray() + 1e-4 * np.eye(*X.shape, dtype=X.dtype),
    "huge": lambda X: X.toarray().astype(np.float64) * 1e307,
}


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize("change", [*SAME, *CHANGED])
def test_fitted_documents_are_found_within_rounding(change, precision):
    X = TfidfVectorizer(dtype=precision).fit_transform(TEXTS)
    classifier = fit(LR, X)
    given = (SAME | CHANGED)[change](X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = classifier.predict_proba(given)
    if change in SAME:
        np.testing.assert_array_equal(found, classifier.label_distributions_)
    text = "TransferClassifier: 60 of 60 documents were not fitted"
    assert [str(each.message)[: len(text)] for each in caught] == [text] * (change in CHANGED)


def test_large_features_do_not_hide_small_ones():
    rng = np.random.default_rng(0)
    X = np.c_[1.7e9 + rng.integers(0, 10**6, 60), rng.poisson(2, (60, 5))].astype(float)
    classifier = fit(LR, X[10:50], Y[10:50], DOMAIN[10:50])
    with pytest.warns(UserWarning, match="20 of 60 documents were not fitted"):
        classifier.predict(X)


def test_of_equal_documents_the_last_one_of_a_target_is_found():
    """The first is of the source, the second has a label in the sample, the last one none."""
    changed, y = X.copy(), Y.copy()
    changed[[3, 50]], y[40] = changed[40], 1 - Y[40]
    classifier = fit(LR, changed, y, label_sample=np.arange(60) == 40)
    found = classifier.predict_proba(changed[[3, 40, 50]])
    np.testing.assert_array_equal(found, classifier.label_distributions_[[50] * 3])


def test_documents_without_features_have_the_least_confidence():
    changed = X.copy()
    changed[[40, 41]] = 0
    classifier = fit(LR, changed)
    np.testing.assert_allclose(classifier.label_distributions_[[40, 41]], 0.5)
    np.testing.assert_array_equal(classifier.predict(changed), classifier.transduction_)
    several = fit(SVM, changed, np.eye(2)[Y])
    np.testing.assert_allclose(several.label_distributions_[[40, 41]], 0.5)


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="string"),
        np.array(TEXTS, object),
        pd.DataFrame({"body": TEXTS, "n": range(60)}),
        [text.split() for text in TEXTS],
        pd.DataFrame({"body": [None, *TEXTS[1:]]}),
    ],
)
def test_texts_in_place_of_features_say_vectorise_first(texts):
    with pytest.raises(ValueError, match=r"texts, expected .*; vectorise first.*TfidfVectorizer"):
        fit(LR, texts)
    with pytest.raises(ValueError, match="vectorise first"):
        fit(LR).predict(texts)


#: Labels of y, of which some are hidden.
MARKS = {
    "−1": lambda y, hidden: np.where(hidden, -1, y),
    "?": lambda y, hidden: np.where(hidden, "?", np.array(["ham", "spam"])[y]),
    "masked": lambda y, hidden: np.ma.array(y, mask=hidden),
    "NaN": lambda y, hidden: np.where(hidden, np.nan, y),
    "None": lambda y, hidden: np.where(hidden, None, np.array(["ham", "spam"], object)[y]),
    "NA": lambda y, hidden: pd.Series(y, dtype="Int64").mask(hidden),
    **{
        kind: lambda y, hidden, kind=kind: (
            pd.Series(y).map({0: "ham", 1: "spam"}).mask(hidden).astype(kind)
        )
        for kind in ("string", "str", "category", object)
        if kind != "str" or int(pd.__version__.partition(".")[0]) >= 3  # before, a text "nan"
    },
}


@pytest.mark.parametrize("estimator", [LR, SVM])
@pytest.mark.parametrize("mark", MARKS)
def test_labels_of_targets_may_be_missing_and_those_of_sources_not(estimator, mark):
    fitted = fit(estimator, y=MARKS[mark](Y, TARGET))
    assert fitted.classes_.tolist() in ([0, 1], ["ham", "spam"])
    assert (fitted.transduction_ == fitted.classes_[Y]).all()
    if mark not in ("−1", "?"):  # the first one is unlabelled, the second one a class
        given = MARKS[mark](Y, TARGET | (np.arange(60) == 3))
        with pytest.raises(ValueError, match=r"NaN or None for 1 .* sources, .* row 3"):
            fit(estimator, y=given)


@pytest.mark.parametrize("frame", [False, True])
def test_rows_of_several_labels_may_be_missing_in_targets(frame):
    labels = np.c_[Y, 1 - Y].astype(float)
    full = fit(SVM, y=labels)
    labels[30:] = np.nan
    labels[30, 0] = 1
    given = pd.DataFrame(labels, columns=["a", "b"]).astype("Int64") if frame else labels
    np.testing.assert_array_equal(fit(SVM, y=given).transduction_, full.transduction_)
    labels[3, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 3"):
        fit(SVM, y=labels)


@pytest.mark.parametrize("estimator", [LR, SVM])
@pytest.mark.parametrize("kind", [int, float, object, "Int64"])
def test_minus_one_beside_other_numbers_is_counted(estimator, kind):
    y = pd.Series(np.arange(60) % 3 - 1, dtype=kind)
    with pytest.warns(UserWarning, match="10 documents of sources have the label −1") as caught:
        fit(estimator, y=y)
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_the_usual_marks_of_unlabelled_documents_give_no_warning():
    hidden = TARGET | (np.arange(60) % 3 == 0)
    masked = np.where(TARGET, -1, Y)
    fit(LR, y=masked)
    fit(LR, y=masked, sample_domain=None)
    fit(LR, y=(np.arange(60) % 3 - 1).astype(str))
    fit(LR, y=np.where(hidden, -1, NAMES))  # beside names, −1 is no class
    fit(SVM, y=np.where(hidden[:, None], -1, np.eye(2, dtype=int)[Y]))


def test_defaults_follow_the_parameters_that_bound_them():
    dtl = TransferClassifier("dtl", k=4, max_iter=2)
    cv = list(TransductiveSplit().split(X, Y, DOMAIN))
    grid = GridSearchCV(dtl, {"k": [4, 12]}, cv=cv, error_score="raise")
    assert {*grid.fit(X, Y, sample_domain=DOMAIN).best_params_} == {"k"}
    same = fit(clone(dtl).set_params(kappa=2))
    np.testing.assert_array_equal(fit(dtl).label_distributions_, same.label_distributions_)
    fit(TransferClassifier("mrtl", k2=5, max_iter=2))
    with pytest.raises(ValueError, match="kappa must be at most k"):
        fit(clone(dtl).set_params(kappa=5))


@pytest.mark.parametrize("mark", ["?", "", " ", "-1", -1, None, float("nan"), "nan"])
@pytest.mark.filterwarnings("error")
def test_a_transductive_split_scores_no_placeholder(mark):
    domain = np.repeat([1, -2], 6)
    y = np.array(["a", "b"] * 6, dtype=object)
    y[6:9] = mark
    ((_, rows),) = TransductiveSplit().split(y, y, domain)
    assert rows.tolist() == [9, 10, 11]
    y[6:] = mark
    with pytest.raises(ValueError, match="no document of a target has a label to score"):
        next(TransductiveSplit().split(y, y, domain))


def test_labels_of_targets_that_no_source_has_are_named():
    domain = np.repeat([1, -2], 6)
    y = np.array(["a", "b"] * 5 + ["z", "y"])
    with pytest.warns(UserWarning, match=r"2 documents of .* no source has \('y', 'z'\) and count"):
        assert len(next(TransductiveSplit().split(y, y, domain))[1]) == 6
    y[0] = "?"  # now a class like any other
    y[-2:] = "?"
    assert len(next(TransductiveSplit().split(y, y, domain))[1]) == 6


@pytest.mark.parametrize("mark", ["−1", "?", "None"])
def test_labels_of_a_part_of_a_target_are_unseen_unless_given(mark):
    """Random labels of the target: a fit that saw them would score 1."""
    X, y, domain = small(400)
    rng = np.random.default_rng(3)
    known = (domain < 0) & (rng.random(400) < 0.5)
    truth = np.where(known, rng.integers(0, 2, 400), y)
    given = MARKS[mark](truth, (domain < 0) & ~known)
    with config_context(enable_metadata_routing=True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        grid = GridSearchCV(TransferClassifier("lr"), {"C": [0.1, 10.0]}, cv=TransductiveSplit())
        grid.fit(X, given, sample_domain=domain)
    assert abs(grid.best_score_ - 0.5) < 0.15
    text = f"y labels {known.sum()} of 200 documents of target -2"
    assert [str(one.message).startswith(text) for one in seen] == [True] * 3  # a fit warns once
    fitted = fit(LR, X, given, domain, label_sample="given")
    of_mask = fit(LR, X, given, domain, label_sample=known)
    names = fitted.classes_[truth]
    np.testing.assert_array_equal(fitted.transduction_[known], names[known])
    np.testing.assert_array_equal(fitted.label_distributions_, of_mask.label_distributions_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(LR, X, given, domain, label_sample=np.zeros(400, bool))


def test_the_fit_says_what_the_command_says():
    """Weak by the size of these data; a sample shows what accuracy to expect."""
    X, y, domain = small(200)
    with pytest.warns(UserWarning, match="Weakly recommended: consensus") as seen:
        weak = TransferClassifier().fit(X, y, domain)
    assert [one.filename for one in seen] == [__file__]
    assert (weak.strength_, weak.expected_accuracy_, weak.chosen_) == ("weak", None, "consensus")
    assert all(isinstance(doubt, str) for doubt in weak.doubts_)
    drawn = (domain < 0) & (np.arange(200) % 2 == 0)
    for model, strength in (("consensus", "weak"), ("lr", "none")):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            sampled = TransferClassifier(model).fit(X, y, domain, label_sample=drawn)
        assert (sampled.strength_, len(seen)) == (strength, strength == "weak")
        accuracy, low, high = sampled.expected_accuracy_
        assert low <= accuracy <= high
        assert low <= (sampled.transduction_ == y)[(domain < 0) & ~drawn].mean() <= high
    X[domain < 0] = 0
    with pytest.warns(UserWarning, match="labels are worthless: -2: 100 of 100 docum") as seen:
        worthless = TransferClassifier().fit(X, y, domain)
    assert seen[0].filename == __file__
    assert worthless.strength_ == "none"
    assert any("no feature left" in doubt for doubt in worthless.doubts_)


@pytest.mark.filterwarnings("error")
def test_a_strong_recommendation_gives_no_warning():
    rng = np.random.default_rng(0)
    y, domain = np.arange(1200) % 2, np.repeat([1, -2], 600)
    rate = np.where(y[:, None] == np.arange(300) % 2, 0.08, 0.02)
    rate[600:, :100] = 0.001  # words of the source alone
    X = sp.csr_array(rng.poisson(rate).astype(float))
    fitted = TransferClassifier().fit(normalize(X), y, domain)
    assert (fitted.strength_, fitted.doubts_) == ("strong", [])


def test_doubts_name_the_classes():
    with pytest.warns(UserWarning, match="documents are in one class, ham"):
        fit(LR, np.where(TARGET[:, None], X[0], X), NAMES)


def test_several_labels_of_a_target_train_without_weights():
    labels = np.c_[Y, 1 - Y]
    labels[KNOWN] = 1  # no document of the source has both
    hidden = np.where((TARGET & ~KNOWN)[:, None], -1, labels)
    with pytest.warns(UserWarning, match="y labels 10 of 30 documents of target -2"):
        plain = fit(SVM, y=hidden)
    assert (plain.transduction_[KNOWN] != 1).any()
    for sample in ("given", KNOWN):
        fitted = fit(SVM, y=hidden, label_sample=sample)
        np.testing.assert_array_equal(fitted.transduction_[KNOWN], labels[KNOWN])
    assert (fitted.label_distributions_[~KNOWN] != plain.label_distributions_[~KNOWN]).any()
    weights = np.where(TARGET, 1.0, 2.0)
    fit(SVM, y=hidden, sample_weight=weights, label_sample=KNOWN * 0)
    with pytest.raises(ValueError, match="sample_weight: linear-svm cannot weigh labels"):
        fit(SVM, y=hidden, sample_weight=weights, label_sample=KNOWN)
    weights = np.where(~TARGET & (np.arange(60) % 2 == 0), 0.0, 1.0)
    left_out = fit(SVM, y=hidden, label_sample=KNOWN, sample_weight=weights)
    kept = weights > 0
    alone = fit(SVM, X[kept], hidden[kept], DOMAIN[kept], label_sample=KNOWN[kept])
    np.testing.assert_array_equal(left_out.transduction_[kept], alone.transduction_)


def test_texts_in_a_column_of_labels_are_one_label_each():
    with pytest.warns(UserWarning, match="each text in y counts as one label; .* MultiLabelBina"):
        fitted = fit(SVM, y=np.array(["ham|new", "spam"])[Y])
    assert fitted.classes_.tolist() == ["ham|new", "spam"]


@pytest.mark.parametrize("seed", range(3))
def test_pooled_k_means_is_the_clusterer_by_default(seed):
    """By default it is no worse than k-means of scikit-learn on the documents of all tasks."""
    rng = np.random.default_rng(seed)
    classes, tasks = np.tile(range(5), 60), np.repeat([0, 1], 150)
    rate = np.where(classes[:, None] == np.arange(40) % 5, 0.6, 0.2)
    X = rng.poisson(rate).astype(float)
    clusterer = MultiTaskClusterer(n_clusters=5, random_state=seed).fit(X, sample_domain=tasks)
    theirs = KMeans(5, random_state=seed).fit(X)
    means = np.array([X[clusterer.labels_ == k].mean(axis=0) for k in range(5)])
    inertia = ((X - means[clusterer.labels_]) ** 2).sum()
    assert inertia <= theirs.inertia_ * 1.001
    assert clusterer.get_params() == {"model": None, "n_clusters": 5, "random_state": seed}
    fewer = MultiTaskClusterer(n_clusters=5, random_state=seed, n_init=1, pool_tasks=False)
    same = MultiTaskClusterer("kmeans", 5, random_state=seed)
    np.testing.assert_array_equal(
        fewer.fit(X, sample_domain=tasks).labels_, same.fit(X, sample_domain=tasks).labels_
    )


@pytest.mark.filterwarnings("ignore")  # of scikit-learn, if its version differs
@pytest.mark.parametrize("name", ["transfer", "multilabel"])
def test_pickles_of_version_2_0_load_and_predict(name):
    """One has a document of weight 0, which was not fitted."""
    with (Path(__file__).parent / f"estimator-2.0-{name}.pickle").open("rb") as file:
        stored = pickle.load(file)
    estimator, X, decided = stored["fitted"], stored["X"], stored["transduction"]
    np.testing.assert_array_equal(estimator.predict(X), decided)
    np.testing.assert_array_equal(estimator.predict(X * 1.01), decided)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.predict_proba(X * 1.01), estimator.predict_proba(X * 1.01))
    assert repr(clone(estimator)) == repr(estimator)


@pytest.mark.parametrize("label", ["", "?"])
def test_blank_labels_of_sources_are_classes(label):
    with pytest.warns(UserWarning, match=r"the label '[?]?' of .* is a class like any"):
        fitted = fit(LR, y=np.where(Y == 0, label, "b"))
    assert fitted.classes_.tolist() == [label, "b"]


def test_masked_labels_are_missing_and_cannot_be_scored():
    labels = masked(Y)
    ((_, rows),) = TransductiveSplit().split(X, labels, DOMAIN)
    assert rows.tolist() == np.flatnonzero(TARGET & ~KNOWN).tolist()
    classifier = fit(LR, y=labels)
    assert classifier.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="masked labels; leave them out"):
        classifier.score(X, labels)


def test_a_transductive_split_scores_hidden_labels_of_fitted_documents():
    domain = np.repeat([1, -2, -5], 20)
    known = np.where(np.isin(np.arange(60), [21, 25, 45]), Y, np.where(domain < 0, -1, Y))
    splits = list(TransductiveSplit().split(X, known, domain))
    assert [test.tolist() for _, test in splits] == [[21, 25], [45]]
    assert all(train.tolist() == list(range(60)) for train, _ in splits)
    drawn = np.arange(60) == 25
    (_, first), _ = TransductiveSplit().split(X, known, domain, label_sample=drawn)
    assert first.tolist() == [21]
    # Wrong labels of targets change the score only: the fit does not see them.
    wrong = np.where(domain == -2, 1 - Y, Y)
    params = {"sample_domain": domain}
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels, expected in ((Y, [1, 1]), (wrong, [0, 1])):
            lr = TransferClassifier("lr")
            scores = cross_val_score(lr, X, labels, cv=TransductiveSplit(), params=params)
            np.testing.assert_allclose(scores, expected, atol=0.1)
    listed = [*TransductiveSplit().split(X, wrong, domain)]
    with config_context(enable_metadata_routing=False):  # skada enables it for the process
        scores = cross_val_score(LR, X, wrong, cv=listed, params=params)
    np.testing.assert_allclose(scores, [0, 1], atol=0.1)


@pytest.mark.parametrize(
    ("domain", "sample", "message"),
    [
        (None, None, "no domains reached the splitter; enable sk"),
        (abs(DOMAIN), None, "has a label to score"),
        (DOMAIN, "given", "label_sample='given': expected a mask.* needs other labels to score"),
        (DOMAIN, TARGET, "outside label_sample; leave some labels out of it"),
    ],
)
def test_a_split_without_domains_or_labels_to_score_is_refused(domain, sample, message):
    with pytest.raises(ValueError, match=message):
        next(TransductiveSplit().split(X, Y, domain, label_sample=sample))
    if sample is None:
        with pytest.raises(ValueError, match=message):
            TransductiveSplit().get_n_splits(X, Y, domain)


def test_only_the_estimators_are_exported():
    names: dict[str, object] = {}
    exec("from transferbench.estimators import *", names)
    assert {*names} - {"__builtins__"} == {
        "MultiLabelClassifier", "MultiTaskClusterer", "SentenceEmbeddings", "TransductiveSplit",
        "TransferClassifier",
    }  # fmt: skip
