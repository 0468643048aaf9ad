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
from conftest import make_clustering, make_multilabel, make_problem
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

SMALL = {"k": 6, "p": 4, "max_iter": 10}


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", models.registry())
def test_every_model_passes_scikit_learn_checks(name):
    family = models.get(name).family
    estimator = CLASSES[family](name, **FEWER.get(name, {}))
    expected = EXPECTED_FAILURES[family]
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
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
        MultiTaskClusterer("kmeans", 3),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[models.get(estimator.model).family],
)
def test_scikit_learn_checks_with_targets(estimator, check):
    check(estimator)


def stacked(problem, truth):
    """Return X, y and domains of a problem, with shuffled rows."""
    X = sp.vstack([domain.X for domain in problem.domains], format="csr")
    y = np.concatenate([Y.argmax(axis=1) for Y in truth.Y])
    sizes = [len(domain.seen) for domain in problem.domains]
    domain = np.repeat([1, *range(-2, -len(sizes) - 1, -1)], sizes)
    order = np.random.default_rng(9).permutation(len(y))
    return sp.csr_matrix(X)[order], y[order], domain[order]


@pytest.mark.parametrize(("model", "targets"), [("gcmf", 2), ("mtrick", 1), ("svm", 2)])
def test_result_equals_that_of_the_model(model, targets):
    """Rows may be in any order: each domain keeps the order of its rows."""
    X, y, domain = stacked(*make_problem(targets=targets, classes=3))
    params = {"k": 6} if model in ("gcmf", "mtrick") else {}
    estimator = TransferClassifier(model, random_state=3, **params).fit(X, y, domain)
    parts = [np.flatnonzero(domain == d) for d in (1, -2, -3)[: targets + 1]]
    domains = tuple(
        transferbench.Domain(
            str(i),
            (sp.csr_array(X[rows]),),
            np.eye(3)[y[rows]] * (i == 0),
            np.full(len(rows), i == 0),
        )
        for i, rows in enumerate(parts)
    )
    problem = transferbench.Problem("p", "transfer", ("a", "b", "c"), domains)
    fit = transferbench.fit(model, problem, seed=3, **params)
    for rows, scores in zip(parts[1:], fit.scores[1:], strict=True):
        np.testing.assert_allclose(
            estimator.label_distributions_[rows], normalize_scores(scores), rtol=1e-6
        )
        np.testing.assert_array_equal(estimator.transduction_[rows], scores.argmax(axis=1))
    np.testing.assert_array_equal(estimator.transduction_[domain > 0], y[domain > 0])
    assert (estimator.transduction_ == y).mean() > 0.6


def test_labels_of_targets_are_ignored():
    X, y, domain = stacked(*make_problem())
    names = np.array(["ham", "spam"])[y]
    plain = TransferClassifier("gcmf", **SMALL).fit(X, names, domain)
    masked = TransferClassifier("gcmf", **SMALL).fit(X, np.where(domain < 0, "?", names), domain)
    np.testing.assert_array_equal(plain.transduction_, masked.transduction_)
    assert masked.classes_.tolist() == ["ham", "spam"]
    auto = TransferClassifier("gcmf", **SMALL).fit(X, np.where(domain < 0, -1, y))
    np.testing.assert_array_equal(auto.label_distributions_, plain.label_distributions_)


@pytest.mark.parametrize("dtype", [np.int8, object])
@pytest.mark.parametrize(
    "estimator", [TransferClassifier("gcmf", **SMALL), MultiLabelClassifier("tram")]
)
def test_documents_of_sources_labelled_minus_one_are_unlabelled(estimator, dtype):
    X, y, domain = stacked(*make_problem())
    names = y.astype(dtype) if dtype is not object else np.array(["ham", "spam"], object)[y]
    hidden = (domain > 0) & (np.arange(len(y)) % 2 == 0)
    given = np.where(hidden, -1, names)
    tasks = domain.astype(np.int8)
    fitted = clone(estimator).fit(X, given, tasks)
    assert fitted.classes_.tolist() == sorted({*names})
    assert (fitted.transduction_[hidden] == names[hidden]).mean() > 0.8
    if isinstance(estimator, TransferClassifier):  # a target of their own
        other = clone(estimator).fit(X, names, np.where(hidden, -9, domain))
        np.testing.assert_array_equal(fitted.label_distributions_, other.label_distributions_)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sources = clone(estimator).fit(X, given, abs(domain).astype(np.uint8))
    caught = [warning for warning in caught if "one label" not in str(warning.message)]
    # Beside names, −1 is no class.
    counted = [f"{hidden.sum()} documents of sources have the label −1"] * (dtype is not object)
    assert [str(warning.message)[: len(counted[0])] for warning in caught] == counted
    np.testing.assert_array_equal(sources.transduction_[~hidden], names[~hidden])


def test_predict_looks_up_fitted_documents_and_classifies_others():
    """Logistic regression learns from the sources and from the labels that targets got."""
    problem, truth = make_problem(documents=120)
    X, y, domain = stacked(problem, truth)
    fitted = np.arange(len(y)) % 3 > 0
    estimator = TransferClassifier("gcmf", **SMALL).fit(X[fitted], y[fitted], domain[fitted])
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
    """Where the target contradicts the source, the labels of the target decide."""
    X, y, domain = stacked(*make_problem(documents=60))
    given = np.where(domain < 0, 1 - y, y)
    drawn = (domain < 0) & (np.arange(len(y)) % 2 == 0)
    weights = np.where(drawn, 1000.0, 1.0)
    fitted = TransferClassifier("lr").fit(X, given, domain, drawn, weights)
    new = X[domain < 0].toarray() * 1.01  # no fitted document
    assert (fitted.predict(new) == given[domain < 0]).mean() > 0.8


def test_a_labelled_sample_chooses_the_model_and_other_labels_of_targets_are_ignored():
    X, y, domain = stacked(*make_problem(documents=120))
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
    with pytest.raises(ValueError, match="expected documents of targets"):
        TransferClassifier().fit(X, names, domain, label_sample=domain > 0)


def test_labels_of_targets_train_any_model_with_their_weights():
    problem, truth = make_problem(documents=60)
    X, y, domain = stacked(problem, truth)
    drawn = (domain < 0) & (np.arange(len(y)) % 3 == 0)
    # The labels of the sample contradict the source, so that their weight decides.
    y = np.where(drawn, 1 - y, y)

    def decided(**options: object) -> np.ndarray:
        fitted = TransferClassifier("lr").fit(X, y, domain, **options)
        return fitted.transduction_[(domain < 0) & ~drawn]

    plain = decided()
    with_sample = decided(label_sample=drawn)
    assert (plain != with_sample).any()
    weights = np.where(drawn, 10.0, 1.0)
    np.testing.assert_array_equal(decided(label_sample=drawn, sample_weight=weights), with_sample)
    none = np.where(drawn, 0.0, 1.0)
    np.testing.assert_array_equal(decided(label_sample=drawn, sample_weight=none), plain)
    with pytest.raises(ValueError, match="sample_weight: expected finite numbers of 0 or more"):
        decided(sample_weight=-weights)


def test_a_document_of_weight_0_is_left_out_and_labelled_as_a_new_one():
    X, y, domain = stacked(*make_problem(documents=60))
    weights = np.where((domain > 0) & (np.arange(len(y)) % 2 == 0), 0.0, 1.0)
    kept = weights > 0
    found = TransferClassifier("svm").fit(X, y, domain, sample_weight=weights)
    alone = TransferClassifier("svm").fit(X[kept], y[kept], domain[kept])
    np.testing.assert_array_equal(found.transduction_[kept], alone.transduction_)
    np.testing.assert_array_equal(found.predict(X[kept]), alone.predict(X[kept]))
    with pytest.warns(UserWarning, match="documents were not fitted"):
        np.testing.assert_array_equal(found.predict(X[~kept]), found.transduction_[~kept])


def test_a_pipeline_passes_labels_and_weights_and_the_split_scores_others():
    X, y, domain = stacked(*make_problem(documents=60))
    drawn = (domain < 0) & (np.arange(len(y)) % 4 == 0)
    routed = {
        "sample_domain": domain, "label_sample": drawn, "sample_weight": np.where(drawn, 3.0, 1.0)
    }  # fmt: skip
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MaxAbsScaler(), TransferClassifier("lr"))
        fitted = pipeline.fit(X, y, **routed)
        alone = TransferClassifier("lr").fit(pipeline[0].transform(X), y, **routed)
        np.testing.assert_array_equal(fitted[-1].transduction_, alone.transduction_)
        ((_, rows),) = TransductiveSplit().split(X, y, **dict([*routed.items()][:2]))
        assert not drawn[rows].any()
        # Before scikit-learn 1.8 a Pipeline refuses weights that its score does not request.
        pipeline.set_score_request(sample_weight=True)
        scores = cross_val_score(pipeline, X, y, cv=TransductiveSplit(), params=routed)
    assert scores == pytest.approx([np.mean(alone.transduction_[rows] == y[rows])])


def test_worthless_labels_are_warned_of():
    X, y, domain = stacked(*make_problem())
    X = X.tolil()
    X[domain < 0] = 0
    with pytest.warns(
        UserWarning, match="the labels are worthless: -2: 40 of 40 documents"
    ) as seen:
        TransferClassifier("lr").fit(X.tocsr(), y, domain)
    assert seen[0].filename == __file__


def test_without_a_target_no_model_is_fitted(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr(models, "fit", fail)
    X, y, _ = stacked(*make_problem())
    with pytest.warns(
        UserWarning, match="nothing is transferred and consensus is not fitted; "
    ) as seen:
        estimator = TransferClassifier().fit(X, y)
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(estimator.transduction_, y)
    with pytest.warns(UserWarning, match="or with rows of −1 in y"):
        MultiLabelClassifier().fit(X, np.eye(2)[y])
    with pytest.raises(AssertionError, match="a model was fitted"):
        TransferClassifier().fit(X, y, np.arange(len(y)) % 2 - 1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"sample_domain": np.full(80, -1)}, ValueError, "no source"),
        ({"sample_domain": np.full(80, 0.5)}, ValueError, "integers"),
        ({"sample_domain": [1, -1]}, ValueError, "numbers of samples"),
        ({"y": np.full(80, 1)}, ValueError, "one class"),
        ({"model": "lnkmtc"}, UserError, "clustering model"),
        ({"model": "nmf"}, ValueError, "finds clusters, not classes"),
        ({"kk": 3}, UserError, "unknown parameter of gcmf 'kk'"),
        ({"model": "tram", "sample_domain": None}, UserError, "multilabel model"),
    ],
)
def test_invalid_input_raises(given, error, message):
    """Also without a target, when no model is fitted."""
    X, y, domain = stacked(*make_problem())
    given = {"model": "gcmf", "y": y, "sample_domain": domain} | given
    y, domain = given.pop("y"), given.pop("sample_domain")
    with pytest.raises(error, match=message):
        TransferClassifier(**given).fit(X, y, domain)


def test_parameters_of_the_model_are_estimator_parameters():
    one = TransferClassifier("gcmf", k=6, random_state=4)
    assert one.get_params() == {"model": "gcmf", "random_state": 4, "k": 6}
    two = clone(one).set_params(k=8, model="mtrick", beta=2.0)
    assert two.get_params() == {"model": "mtrick", "random_state": 4, "k": 8, "beta": 2.0}
    copy.copy(one).set_params(k=5)
    assert one.get_params()["k"] == 6
    assert repr(one) == "TransferClassifier(k=6, model='gcmf', random_state=4)"
    X, y, domain = stacked(*make_problem())
    grid = GridSearchCV(TransferClassifier("gcmf", **SMALL), {"k": [2, 4]}, cv=2)
    assert grid.fit(X, y, sample_domain=domain).best_params_["k"] in (2, 4)


def test_random_state_is_the_seed():
    X, y, domain = stacked(*make_problem())

    def fit_with(state):
        return TransferClassifier("gcmf", random_state=state, **SMALL).fit(X, y, domain)

    same = fit_with(np.random.RandomState(5)).label_distributions_
    np.testing.assert_array_equal(same, fit_with(np.random.RandomState(5)).label_distributions_)
    assert (same != fit_with(0).label_distributions_).any()
    fit_with(None)


def test_in_a_pipeline():
    """Texts as input; with metadata routing the pipeline passes the domains on by default."""
    owners = ["my cat purrs", "the cat climbs and purrs", "a kitten mews"]
    owners += ["my dog barks", "the dog fetches and barks", "a puppy barks"]
    vets = ["the kitten purrs and mews", "the cat has whiskers", "whiskers of a cat and a kitten"]
    vets += ["the dog barks on its leash", "the puppy on a leash"]
    expected = ["cat"] * 3 + ["dog"] * 2
    pipeline = make_pipeline(TfidfVectorizer(), TransferClassifier("gcmf", k=4, p=3))
    with config_context(enable_metadata_routing=True):
        y = ["cat"] * 3 + ["dog"] * 3 + ["?"] * 5
        pipeline.fit([*owners, *vets], y, sample_domain=[1] * 6 + [-1] * 5)
        assert pipeline.predict(vets).tolist() == expected
    assert pipeline[-1].transduction_[6:].tolist() == expected
    assert pipeline.predict(["a kitten and its whiskers"]).tolist() == ["cat"]


@pytest.mark.parametrize("model", ["lnkmtc", "kmeans"])
def test_clusters_equal_those_of_the_model(model):
    problem, _ = make_clustering(classes=3)
    X = sp.vstack([domain.X for domain in problem.domains], format="csr")
    tasks = np.repeat([7, 4], [len(domain.seen) for domain in problem.domains])
    params = {"b": 6.0, "p": 4} if model == "lnkmtc" else {}
    estimator = MultiTaskClusterer(model, 3, random_state=2, **params).fit(X, sample_domain=tasks)
    swapped = transferbench.Problem("p", "clustering", problem.classes, problem.domains[::-1])
    fit = transferbench.fit(model, swapped, seed=2, **params)
    for task, scores in zip((4, 7), fit.scores, strict=True):
        np.testing.assert_array_equal(estimator.labels_[tasks == task], scores.argmax(axis=1))
    labels = MultiTaskClusterer(model, 3, random_state=2, **params).fit_predict(
        X, sample_domain=tasks
    )
    np.testing.assert_array_equal(labels, estimator.labels_)
    with pytest.raises(ValueError, match="n_clusters of 1 to 80"):
        MultiTaskClusterer(model, 81).fit(X)


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
    sparse = MultiLabelClassifier(model, random_state=3, **params).fit(X, sp.csr_array(Y), tasks)
    np.testing.assert_array_equal(sparse.transduction_, estimator.transduction_)


def test_new_documents_get_labels_that_few_documents_have():
    problem, truth = make_multilabel(tasks=1, views=1, documents=120)
    X, Y = problem.domains[0].X, truth.Y[0]
    hidden = np.where(np.arange(80)[:, None] < 40, Y[:80], -1)
    given = np.c_[hidden, hidden[:, 0] * 0, hidden[:, 0] * 0 + 1]  # a label of none, one of all
    given[40:] = -1
    estimator = MultiLabelClassifier("linear-svm").fit(X[:80], given)
    found = estimator.predict(X[80:])
    assert (found[:, :-2] == Y[80:]).mean() > 0.7
    assert (found[:, -2:] == [0, 1]).all()
    rare = MultiLabelClassifier("linear-svm", ensure_one_label=True).fit(X[:80], hidden)
    assert rare.predict(X[80:]).any(axis=1).all()


@pytest.mark.parametrize(
    ("y", "domain", "message"),
    [
        (np.full((40, 2), -1), None, "no labelled document"),
        (np.full((40, 2), 2), None, "0 or 1 for each label"),
        (np.ones((40, 2)), np.full(40, -1), "no source"),
        (np.ones((40, 2)), [1.5] * 40, "integers"),
    ],
)
def test_invalid_labels_raise(y, domain, message):
    X = make_multilabel(tasks=1, views=1)[0].domains[0].X
    with pytest.raises(ValueError, match=message):
        MultiLabelClassifier("linear-svm").fit(X, y, domain)


def test_data_frames_in_and_out():
    X, y, domain = stacked(*make_problem())
    index = [f"mail-{i}" for i in range(len(y))]
    table = pd.DataFrame(X.toarray(), index=index, columns=[f"w{j}" for j in range(X.shape[1])])
    names = pd.Series(np.where(domain < 0, "?", np.array(["ham", "spam"])[y]), index=index)
    estimator = TransferClassifier("gcmf", **SMALL).fit(
        table, names, pd.Series(domain, index=index)
    )
    assert estimator.feature_names_in_.tolist() == table.columns.tolist()
    plain = TransferClassifier("gcmf", **SMALL).fit(X, names, domain)
    assert estimator.classes_.tolist() == plain.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(estimator.transduction_, plain.transduction_)
    labels = pd.DataFrame(np.eye(2, dtype=int)[y], index=index, columns=["ham", "spam"])
    several = MultiLabelClassifier("linear-svm").fit(table, labels, domain)
    assert several.classes_.tolist() == ["ham", "spam"]


def test_impossible_features_are_refused():
    X, y, domain = stacked(*make_problem())
    with pytest.raises(ValueError, match="masked"):
        TransferClassifier("lr").fit(np.ma.masked_greater(X.toarray(), 0.5), y, domain)
    with pytest.raises(ValueError, match="Negative values") as raised:
        TransferClassifier("lr").fit(-X, y, domain)
    assert any("alternate_sign=False" in note for note in raised.value.__notes__)
    twice, of_both = sp.vstack([X, X]), np.repeat([1, -1], len(y))
    with pytest.raises(ValueError, match="domain -1 has the features of 1, document by"):
        TransferClassifier("lr").fit(twice, np.tile(y, 2), sample_domain=of_both)


def small(documents: int = 60):
    """Return X, y, domains and texts of two classes that are easy to separate."""
    y = np.arange(documents) % 2
    rng = np.random.default_rng(0)
    X = rng.poisson(np.where(y[:, None] == np.arange(20) % 2, 1.0, 0.1)).astype(float)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) + " common" for row in X]
    return X, y, np.repeat([1, -2], documents // 2), texts


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


@pytest.mark.parametrize("precision", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("change", "share"),
    [
        (lambda X: X.toarray(), 1),
        (lambda X: X.astype(np.float32), 1),
        (lambda X: X.astype(np.float32).astype(np.float64), 1),
        (lambda X: X.tocsc(), 1),
        (unsorted, 1),
        (lambda X: X * (1 + 1e-12), 1),
        (lambda X: X * 1.0001, 0),
        (lambda X: X * 2, 0),
        (lambda X: X.toarray() + 1e-4 * np.eye(*X.shape, dtype=X.dtype), 0),
        (lambda X: X.toarray().astype(np.float64) * 1e307, 0),
    ],
    ids=["dense", "single", "single as double", "csc", "unsorted", "rounding", "scaled", "twice",
         "one entry", "huge"],
)  # fmt: skip
def test_fitted_documents_are_found_within_rounding(change, share, precision):
    _, y, domain, texts = small()
    texts = [f"{text} u{i}" for i, text in enumerate(texts)]  # no two are equal
    X = TfidfVectorizer(dtype=precision).fit_transform(texts)[:, :60]
    rows = np.flatnonzero(np.diff(X.indptr) > 0)
    X, y, domain = X[rows], y[rows], domain[rows]
    classifier = TransferClassifier("lr").fit(X, y, sample_domain=domain)
    found = classifier._fitted.rows_of(classifier._validated(change(X), reset=False))
    expected = np.arange(len(rows)) if share else np.full(len(rows), -1)
    np.testing.assert_array_equal(found, expected)


def test_large_features_do_not_hide_small_ones():
    rng = np.random.default_rng(0)
    X = np.c_[1.7e9 + rng.integers(0, 10**6, 60), rng.poisson(2, (60, 5))].astype(float)
    y, domain = np.arange(40) % 2, np.repeat([1, -2], 20)
    classifier = TransferClassifier("lr").fit(X[:40], y, sample_domain=domain)
    with pytest.warns(UserWarning, match="20 of 60 documents were not fitted"):
        classifier.predict(X)


def test_of_equal_documents_the_last_one_of_a_target_is_found():
    X, y, domain, _ = small()
    X[40], X[50] = X[3], X[3]
    classifier = TransferClassifier("lr").fit(X, y, sample_domain=domain)
    assert classifier._fitted.rows_of(classifier._validated(X[[3, 40, 50]], reset=False)).tolist()\
        == [50] * 3  # fmt: skip


def test_documents_without_features_have_the_least_confidence():
    X, y, domain, _ = small()
    X[[40, 41]] = 0
    classifier = TransferClassifier("lr").fit(X, y, sample_domain=domain)
    np.testing.assert_allclose(classifier.label_distributions_[[40, 41]], 0.5)
    np.testing.assert_array_equal(classifier.predict(X), classifier.transduction_)
    several = MultiLabelClassifier("linear-svm").fit(X, np.eye(2)[y], domain)
    np.testing.assert_allclose(several.label_distributions_[[40, 41]], 0.5)


@pytest.mark.parametrize(
    "texts",
    [
        lambda texts: texts,
        pd.Series,
        lambda texts: pd.Series(texts, dtype="string"),
        lambda texts: np.array(texts, object),
        lambda texts: pd.DataFrame({"body": texts, "n": range(len(texts))}),
        lambda texts: [text.split() for text in texts],
        lambda texts: pd.DataFrame({"body": [None, *texts[1:]]}),
    ],
)
def test_texts_in_place_of_features_say_vectorise_first(texts):
    X, y, domain, raw = small()
    with pytest.raises(ValueError, match=r"texts, expected .*; vectorise first.*TfidfVectorizer"):
        TransferClassifier("lr").fit(texts(raw), y, sample_domain=domain)
    fitted = TransferClassifier("lr").fit(X, y, sample_domain=domain)
    with pytest.raises(ValueError, match="vectorise first"):
        fitted.predict(texts(raw))


def test_booleans_are_no_domains_and_nullable_integers_are():
    X, y, domain, _ = small()
    with pytest.raises(ValueError, match=r"got bool; .*np.where\(is_source, 1, -2\)"):
        TransferClassifier("lr").fit(X, y, sample_domain=domain > 0)
    for given in (domain.astype(object), pd.Series(domain, dtype="Int64")):
        TransferClassifier("lr").fit(X, y, sample_domain=given)


@pytest.mark.parametrize(
    "estimator", [TransferClassifier("lr"), MultiLabelClassifier("linear-svm")]
)
@pytest.mark.parametrize("kind", ["string", "str", "category", object, "Int64", float])
def test_labels_of_targets_may_be_missing_and_those_of_sources_not(estimator, kind):
    X, y, domain, _ = small()
    numbers = kind in ("Int64", float)
    given = pd.Series(y if numbers else np.array(["ham", "spam"], object)[y], dtype=kind)
    given[30:] = None
    fitted = clone(estimator).fit(X, given, sample_domain=domain)
    assert fitted.classes_.tolist() == ([0, 1] if numbers else ["ham", "spam"])
    assert (fitted.transduction_[30:] == fitted.classes_[y[30:]]).all()
    given[3] = None
    with pytest.raises(ValueError, match="NaN or None for 1 documents of sources, first in row 3"):
        clone(estimator).fit(X, given, sample_domain=domain)


@pytest.mark.parametrize("frame", [False, True])
def test_rows_of_several_labels_may_be_missing_in_targets(frame):
    X, y, domain, _ = small()
    Y = np.c_[y, 1 - y].astype(float)
    full = MultiLabelClassifier("linear-svm").fit(X, Y, domain)
    Y[30:] = np.nan
    Y[30, 0] = 1
    given = pd.DataFrame(Y, columns=["a", "b"]).astype("Int64") if frame else Y
    several = MultiLabelClassifier("linear-svm").fit(X, given, domain)
    np.testing.assert_array_equal(several.transduction_, full.transduction_)
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="first in row 3"):
        MultiLabelClassifier("linear-svm").fit(X, Y, domain)


@pytest.mark.parametrize("model", ["lr", "linear-svm"])
@pytest.mark.parametrize("kind", [int, float, object, "Int64"])
def test_minus_one_beside_other_numbers_is_counted(model, kind):
    X, _, domain, _ = small()
    estimator = (TransferClassifier if model == "lr" else MultiLabelClassifier)(model)
    y = pd.Series(np.arange(60) % 3 - 1, dtype=kind)
    with pytest.warns(UserWarning, match="10 documents of sources have the label −1") as caught:
        estimator.fit(X, y, sample_domain=domain)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match=r"one class, 1; .* −1, which 15 documents have"):
        estimator.fit(X, np.arange(60) % 2 * 2 - 1, sample_domain=domain)
    with pytest.raises(ValueError, match=r"one class, 1; expected two classes or more$"):
        estimator.fit(X, np.where(domain < 0, -1, 1), sample_domain=domain)


@pytest.mark.filterwarnings("error")
def test_the_usual_marks_of_unlabelled_documents_give_no_warning():
    X, y, domain, _ = small()
    masked = np.where(domain < 0, -1, y)
    TransferClassifier("lr").fit(X, masked, sample_domain=domain)
    TransferClassifier("lr").fit(X, masked)
    TransferClassifier("lr").fit(X, (np.arange(60) % 3 - 1).astype(str), domain)
    hidden = (np.arange(60) % 3 == 0) | (domain < 0)
    rows = np.where(hidden[:, None], -1, np.eye(2, dtype=int)[y])
    MultiLabelClassifier("linear-svm").fit(X, rows, domain)


def test_defaults_follow_the_parameters_that_bound_them():
    X, y, domain, _ = small()
    grid = GridSearchCV(
        TransferClassifier("dtl", max_iter=2),
        {"k": [4, 12]},
        cv=list(TransductiveSplit().split(X, y, domain)),
        error_score="raise",
    )
    grid.fit(X, y, sample_domain=domain)
    assert "kappa" not in grid.best_params_
    same = TransferClassifier("dtl", k=4, kappa=2, max_iter=2).fit(X, y, domain)
    found = TransferClassifier("dtl", k=4, max_iter=2).fit(X, y, domain)
    np.testing.assert_array_equal(found.label_distributions_, same.label_distributions_)
    TransferClassifier("mrtl", k2=5, max_iter=2).fit(X, y, domain)
    with pytest.raises(ValueError, match="kappa must be at most k"):
        TransferClassifier("dtl", k=4, kappa=5).fit(X, y, domain)


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


PARTLY = {
    "−1": lambda y, hidden: np.where(hidden, -1, y),
    "NaN": lambda y, hidden: np.where(hidden, np.nan, y),
    "None": lambda y, hidden: np.where(hidden, None, np.array(["ham", "spam"], object)[y]),
    "masked": lambda y, hidden: np.ma.array(y, mask=hidden),
    "NA": lambda y, hidden: pd.Series(y, dtype="Int64").mask(hidden),
    "NA of texts": lambda y, hidden: pd.Series(y).map({0: "ham", 1: "spam"}).mask(hidden),
    "?": lambda y, hidden: np.where(hidden, "?", np.array(["ham", "spam"])[y]),
}


@pytest.mark.parametrize("mark", PARTLY)
def test_labels_of_a_part_of_a_target_are_unseen_unless_given(mark):
    """Random labels of the target: a fit that saw them would score 1."""
    X, y, domain, _ = small(400)
    rng = np.random.default_rng(3)
    known = (domain < 0) & (rng.random(400) < 0.5)
    truth = np.where(known, rng.integers(0, 2, 400), y)
    given = PARTLY[mark](truth, (domain < 0) & ~known)
    estimator = TransferClassifier("lr")
    with config_context(enable_metadata_routing=True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        grid = GridSearchCV(estimator, {"C": [0.1, 10.0]}, cv=TransductiveSplit())
        grid.fit(X, given, sample_domain=domain)
    assert abs(grid.best_score_ - 0.5) < 0.15
    text = f"y labels {known.sum()} of 200 documents of target -2"
    assert [str(one.message).startswith(text) for one in seen] == [True] * 3  # a fit warns once
    fitted = estimator.fit(X, given, domain, label_sample="given")
    masked = clone(estimator).fit(X, given, domain, label_sample=known)
    names = fitted.classes_[truth]
    np.testing.assert_array_equal(fitted.transduction_[known], names[known])
    np.testing.assert_array_equal(fitted.label_distributions_, masked.label_distributions_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(X, given, domain, label_sample=np.zeros(400, bool))


def test_a_sample_is_given_or_a_mask_and_the_split_scores_none_of_it():
    X, y, domain, _ = small()
    known = (domain < 0) & (np.arange(60) % 3 == 0)
    partly = np.where((domain < 0) & ~known, -1, y)
    ((_, rows),) = TransductiveSplit().split(X, y, domain, label_sample=known)
    assert rows.tolist() == np.flatnonzero((domain < 0) & ~known).tolist()
    with pytest.raises(ValueError, match="label_sample='given': expected a mask"):
        next(TransductiveSplit().split(X, partly, domain, label_sample="given"))
    with config_context(enable_metadata_routing=True):
        grid = GridSearchCV(TransferClassifier("lr"), {"C": [1.0]}, cv=TransductiveSplit())
        with pytest.raises(ValueError, match="a split needs other labels to score"):
            grid.fit(X, partly, sample_domain=domain, label_sample="given")
    for labels, sample, message in (
        (y, "given", "every document of domain -2"),
        (partly, "all", "label_sample='all': expected a mask.* or in `fit` 'given'"),
        (
            partly,
            domain < 0,
            "20 of its documents have no label of the sources, first -1 in row 31",
        ),
        (np.where(known, 7, partly), "given", "10 of its documents .*, first 7 in row 30"),
    ):
        with pytest.raises(ValueError, match=message):
            TransferClassifier("lr").fit(X, labels, domain, label_sample=sample)


def test_the_fit_says_what_the_command_says():
    """Weak by the size of these data; a sample shows what accuracy to expect."""
    X, y, domain, _ = small(200)
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
    with pytest.warns(UserWarning, match="the labels are worthless"):
        worthless = TransferClassifier().fit(X, y, domain)
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
    X, y, domain, _ = small()
    X[domain < 0] = X[0]
    names = np.array(["ham", "spam"])[y]
    with pytest.warns(UserWarning, match="documents are in one class, ham"):
        TransferClassifier("lr").fit(X, names, domain)


def test_several_labels_of_a_target_train_without_weights():
    X, y, domain, _ = small()
    known = (domain < 0) & (np.arange(60) % 3 == 0)
    Y = np.c_[y, 1 - y]
    Y[known] = 1  # no document of the source has both
    hidden = np.where(((domain < 0) & ~known)[:, None], -1, Y)
    estimator = MultiLabelClassifier("linear-svm")
    with pytest.warns(UserWarning, match="y labels 10 of 30 documents of target -2"):
        plain = clone(estimator).fit(X, hidden, domain)
    assert (plain.transduction_[known] != 1).any()
    for sample in ("given", known):
        fitted = clone(estimator).fit(X, hidden, domain, label_sample=sample)
        np.testing.assert_array_equal(fitted.transduction_[known], Y[known])
    assert (fitted.label_distributions_[~known] != plain.label_distributions_[~known]).any()
    weights = np.where(domain > 0, 2.0, 1.0)
    clone(estimator).fit(X, hidden, domain, sample_weight=weights, label_sample=known * 0)
    with pytest.raises(ValueError, match="sample_weight: linear-svm cannot weigh labels"):
        clone(estimator).fit(X, hidden, domain, sample_weight=weights, label_sample=known)
    weights = np.where((domain > 0) & (np.arange(60) % 2 == 0), 0.0, 1.0)
    left_out = clone(estimator).fit(X, hidden, domain, known, weights)
    kept = weights > 0
    alone = clone(estimator).fit(X[kept], hidden[kept], domain[kept], known[kept])
    np.testing.assert_array_equal(left_out.transduction_[kept], alone.transduction_)


def test_texts_in_a_column_of_labels_are_one_label_each():
    X, y, domain, _ = small()
    texts = np.array(["ham|new", "spam"])[y]
    with pytest.warns(UserWarning, match="each text in y counts as one label; .* MultiLabelBina"):
        fitted = MultiLabelClassifier("linear-svm").fit(X, texts, domain)
    assert fitted.classes_.tolist() == ["ham|new", "spam"]


def test_weights_of_0_for_all_sources_are_named():
    X, y, domain, _ = small()
    with pytest.raises(ValueError, match="sample_weight: it is 0 for all documents of sources"):
        TransferClassifier("lr").fit(X, y, domain, sample_weight=(domain < 0) * 1.0)


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


def test_only_the_estimators_are_exported():
    names: dict[str, object] = {}
    exec("from transferbench.estimators import *", names)
    assert {*names} - {"__builtins__"} == {
        "MultiLabelClassifier", "MultiTaskClusterer", "SentenceEmbeddings", "TransductiveSplit",
        "TransferClassifier",
    }  # fmt: skip


def test_blank_labels_of_sources_are_classes_and_masked_ones_are_missing():
    X, y, domain, _ = small()
    for label in ("", "?"):
        with pytest.warns(UserWarning, match=r"the label '[?]?' of .* is a class like any"):
            TransferClassifier("lr").fit(X, np.where(y == 0, label, "b"), domain)
    mask = (domain < 0) & (np.arange(len(y)) % 2 == 0)
    masked = np.ma.array(y, mask=mask)
    ((_, rows),) = TransductiveSplit().split(X, masked, domain)
    assert rows.tolist() == np.flatnonzero((domain < 0) & ~mask).tolist()
    classifier = TransferClassifier("lr").fit(X, masked, domain)
    assert classifier.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="masked labels; leave them out"):
        classifier.score(X, masked)
    with pytest.raises(ValueError, match=r"NaN or None for .* documents of sources"):
        TransferClassifier("lr").fit(X, np.ma.array(y, mask=~mask), domain)
    with pytest.raises(ValueError, match="sample_domain has masked values"):
        TransferClassifier("lr").fit(X, y, np.ma.array(domain, mask=mask))
    with pytest.raises(ValueError, match="label_sample has missing values"):
        TransferClassifier().fit(X, y, domain, label_sample=np.ma.array(domain < 0, mask=mask))


def test_a_transductive_split_scores_hidden_labels_of_fitted_documents():
    X, y, _, _ = small()
    domain = np.repeat([1, -2, -5], 20)
    known = np.where(np.isin(np.arange(60), [21, 25, 45]), y, np.where(domain < 0, -1, y))
    splits = list(TransductiveSplit().split(X, known, domain))
    assert [test.tolist() for _, test in splits] == [[21, 25], [45]]
    assert all(train.tolist() == list(range(60)) for train, _ in splits)
    drawn = np.arange(60) == 25
    (_, first), _ = TransductiveSplit().split(X, known, domain, label_sample=drawn)
    assert first.tolist() == [21]
    # Wrong labels of targets change the score only: the fit does not see them.
    wrong = np.where(domain == -2, 1 - y, y)
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("error")
        for labels, expected in ((y, [1, 1]), (wrong, [0, 1])):
            scores = cross_val_score(
                TransferClassifier("lr"), X, labels, cv=TransductiveSplit(),
                params={"sample_domain": domain},
            )  # fmt: skip
            np.testing.assert_allclose(scores, expected, atol=0.1)
    score_without_routing = GridSearchCV(
        TransferClassifier("lr"), {"C": [1.0]}, cv=TransductiveSplit(), refit=False
    )
    cv = [*TransductiveSplit().split(X, wrong, domain)]
    listed = GridSearchCV(TransferClassifier("lr"), {"C": [1.0]}, cv=cv, refit=False)
    with config_context(enable_metadata_routing=False):  # skada enables it for the process
        with pytest.raises(ValueError, match="no domains reached the splitter; enable sk"):
            score_without_routing.fit(X, y, sample_domain=domain)
        listed.fit(X, wrong, sample_domain=domain)
    given = [listed.cv_results_[f"split{i}_test_score"][0] for i in range(2)]
    np.testing.assert_allclose(given, [0, 1], atol=0.1)
    for given, message in ((None, "no domains"), (abs(domain), "has a label to score")):
        with pytest.raises(ValueError, match=message):
            TransductiveSplit().get_n_splits(X, y, given)
