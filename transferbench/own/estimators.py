"""The models as scikit-learn estimators; `sample_domain` gives the domains, as in skada.

    classifier = TransferClassifier()              # or a model: TransferClassifier("gcmf", k=32)
    classifier.fit(X, y, sample_domain=domain)     # y of targets (domain < 0) is ignored, but
    classifier.fit(X, y, sample_domain=domain, label_sample=known)  # where it is said to be known
    classifier.transduction_[domain < 0]
    cross_val_score(classifier, X, y, cv=list(TransductiveSplit().split(X, y, domain)),
                    params={"sample_domain": domain})   # here true labels of targets in y

The models are transductive: they label only the documents they are fitted on. X (n, d) holds
documents × features. It is nonnegative, and sparse or dense (an array or a DataFrame). Each integer
in `sample_domain` is a domain. Domains from 0 on are sources, and negative ones are targets.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import copy
from numbers import Integral, Number
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.model_selection import BaseCrossValidator
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from transferbench import api, settings
from transferbench.data import sentences
from transferbench.measures import THRESHOLD, normalize_scores
from transferbench.messages import counted
from transferbench.own.doubts import data_doubts, fit_doubts
from transferbench.own.evidence import RECOMMENDED, REFERENCE
from transferbench.own.fits import model_names, plan_fits
from transferbench.own.multilabel import fit_in_tasks
from transferbench.own.sample import LABEL_WEIGHT, sample_of
from transferbench.own.separation import Separation
from transferbench.own.session import Session
from transferbench.own.vectors import embeddings
from transferbench.problem import Domain, Family, Fit, Problem, canonical

#: skada's values: the label of an unlabelled document, the domain of a source.
MASKED, SOURCE = -1, 1
#: Labels that stand for none, among targets if no source has them.
PLACEHOLDERS = {"", "?", "-1", "none", "nan", "na", "<na>", "nat"}
#: Nearest fitted documents that decide about a new one in several labels.
NEIGHBOURS = 10
#: A document is a fitted one if it differs by less than this part of its length. The same document
#: in float32 and float64 differs by 1e-7.
ROUNDING = 1e-6
#: Largest value, as a share of a document's largest, that counts as 0.
NOISE = 1e-12
#: Random projections by which documents are compared.
PROJECTIONS = 8
#: By model, a parameter and another that it must not exceed. Its default follows the other.
AT_MOST = {"dtl": ("kappa", "k"), "mrtl": ("k1", "k2")}


class ModelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of a model; it has the parameters of the model and two more."""

    #: With metadata routing, a Pipeline passes these on by default.
    __metadata_request__fit: ClassVar = {"sample_domain": True, "label_sample": True}

    def __init__(self, model: str, *, random_state: Any = 0, **params: Any) -> None:
        self.model = model
        self.random_state = random_state
        self._params = params

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the estimator's parameters and the given parameters of the model."""
        return {**super().get_params(deep), **self._params}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator or of the model; `fit` checks those of the model."""
        names = super().get_params(deep=False)
        super().set_params(**{name: value for name, value in params.items() if name in names})
        of_model = {name: value for name, value in params.items() if name not in names}
        self._params = (
            self._params | of_model
        )  # a new dict: a copy of the estimator has the old one
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _validated(self, X: Any, y: Any = (), *, reset: bool = True) -> sp.csr_array:
        """Return X as canonical CSR."""
        try:
            X = validate_data(
                self,
                canonical(X) if sp.issparse(X) or np.ma.isMaskedArray(X) else X,
                None if y is None else "no_validation",  # None is an error for a classifier
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_non_negative=True,
                ensure_min_samples=2 if reset else 1,
                # Documents of one feature are all alike by cosine.
                ensure_min_features=2 if isinstance(self, ClusterMixin) else 1,
                reset=reset,
            )
        except (ValueError, TypeError) as error:
            if where := _texts_in(X):
                estimator = f"{type(self).__name__}({self.model!r})"
                raise ValueError(
                    f"{where} texts, expected numbers of 0 or more; vectorise first, for example "
                    f"by make_pipeline(TfidfVectorizer(), {estimator}), which takes a list of texts"
                ) from None
            if "Negative values" in str(error):
                error.add_note("HashingVectorizer makes none with alternate_sign=False.")
            raise
        return canonical(sp.csr_array(X))

    def _problem(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray,
        seen: np.ndarray, weights: np.ndarray | None = None,
    ) -> Problem:  # fmt: skip
        """Return the problem with the domains of `domain` (n,), in the order of `_by_domain`."""
        domains = tuple(
            Domain(
                str(d), (X[rows],), Y[rows], seen[rows],
                label_weights=None if weights is None else weights[rows],
            )
            for d, rows in _by_domain(domain)
        )  # fmt: skip
        classes = tuple(map(str, range(Y.shape[1])))
        return Problem(type(self).__name__, family, classes, domains)

    def _seed(self) -> int:
        state = self.random_state
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31)
        return int(state)

    def _checked_params(self, family: Family) -> dict[str, Any]:
        """Return the given parameters, and lower a default that would reach its bound."""
        # For example, DTL has k=20 clusters, and kappa=10 of them are shared. If k=8 is given and
        # kappa is not, kappa is 4, so that again half are shared.
        resolved: Mapping[str, Any] = api.resolve(self.model, family, self._params)
        name, bound = AT_MOST.get(self.model, ("", ""))
        if not name or name in self._params or resolved[name] < resolved[bound]:
            return self._params
        default: Mapping[str, Any] = api.resolve(self.model, family, {})
        share = default[name] / default[bound]
        return self._params | {name: max(1, int(share * resolved[bound]))}

    def _fit_model(self, problem: Problem) -> Fit:
        """Fit the model by its parameters and the seed."""
        params = self._checked_params(problem.family)
        return api.fit(self.model, problem, seed=self._seed(), **params)


class TransductiveClassifier(ClassifierMixin, ModelEstimator):  # type: ignore[misc]
    """A classifier that labels its fitted documents; a rule of the subclass labels others."""

    # A subclass sets classes_ in `fit`, then calls `_transduce`. It defines the rule in
    # `_confidence_of_new`, and describes it in `_rule_of_new`.

    _rule_of_new: ClassVar[str]

    # skada's scorers pass these arguments.
    __metadata_request__predict: ClassVar = {"sample_domain": True, "allow_source": True}
    __metadata_request__predict_proba: ClassVar = __metadata_request__predict
    # The last one is of the importance weighted scorer.
    __metadata_request__score: ClassVar = __metadata_request__predict | {"sample_weight": True}

    classes_: np.ndarray
    label_distributions_: np.ndarray
    transduction_: np.ndarray

    def predict_proba(
        self, X: Any, sample_domain: Any = None, allow_source: bool = True
    ) -> np.ndarray:
        """Return the confidence in each class (n, c).

        Confidences are the scores of the model, scaled to 0 … 1. They rank classes and documents as
        the scores do. They are not calibrated: a confidence of .9 does not mean that nine of ten
        such documents are right.

        Parameters
        ----------
        X
            (n, d) nonnegative.
        sample_domain, allow_source
            Not used; skada's scorers pass them.

        Warns
        -----
        UserWarning
            If some documents were not fitted; the model does not label them.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        rows = self._fitted.rows_of(X)
        confidence = np.asarray(self.label_distributions_[rows], np.float64)
        if (new := np.flatnonzero(rows < 0)).size:
            warnings.warn(
                f"{type(self).__name__}: {new.size} of {len(rows)} documents were not fitted; they "
                f"are labelled by {self._rule_of_new}; to label them by {self.model}, fit it with "
                "them as a target.",
                stacklevel=3,
            )
            confidence[new] = self._confidence_of_new(X[new])
        return confidence

    def predict(self, X: Any, sample_domain: Any = None, allow_source: bool = True) -> np.ndarray:
        """Return the classes (n,); see `predict_proba` for the other arguments."""
        return self._decide(self.predict_proba(X))

    def fit_predict(self, X: Any, y: Any, sample_domain: Any = None, **options: Any) -> np.ndarray:
        """Fit the model; return its labels of all documents, `transduction_`."""
        self.fit(X, y, sample_domain, **options)
        return self.transduction_

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_domain: Any = None,
        allow_source: bool = True,
    ) -> float:
        """Return the accuracy of `predict`; for several labels, the accuracy of whole label sets.

        Raises
        ------
        ValueError
            If y is a masked array with masked labels, which cannot be scored.
        """
        if np.ma.is_masked(y):
            raise ValueError(
                f"y has {np.ma.getmaskarray(y).sum()} masked labels; leave them out to score"
            )
        return float(super().score(X, y, sample_weight))

    def _transduce(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, Y: np.ndarray,
        seen: np.ndarray, remedy: str, weights: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Label the unseen documents, store data for `predict`, and return confidences (n, c)."""
        # `X`, `domain`: Features (n, d) and domains (n,) of the documents.
        # `Y`, `seen`: Labels (n, c), and True for the documents (n,) that have them. The model
        # labels the others.
        # `weights`: Weights (n,) of the labels, None for 1.
        self._checked_params(family)
        confidence = Y.copy()
        if seen.all():
            name = type(self).__name__
            message = f"{name}: every document has a label, so nothing is transferred and "
            warnings.warn(f"{message}{self.model} is not fitted; {remedy}.", stacklevel=3)
        else:
            fit = self._fit_problem(self._problem(family, X, domain, Y, seen, weights))
            if fit.columns == "clusters":
                raise ValueError(f"{self.model} finds clusters, not classes; choose another model")
            for (_, rows), scores in zip(_by_domain(domain), fit.scores, strict=True):
                confidence[rows] = np.where(seen[rows, None], Y[rows], self._confidence(scores))
            empty = ~seen & (np.diff(X.indptr) == 0)
            confidence[empty] = self._least_confidence(confidence[empty])
        self.label_distributions_ = confidence
        self.transduction_ = self._decide(confidence)
        # For equal documents, `predict` returns the last unseen one.
        order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen)])
        self._fitted = FittedDocuments(X, order)
        return confidence

    def _fit_problem(self, problem: Problem) -> Fit:
        return fit_in_tasks(problem, self._fit_model)

    def _confidence(self, scores: np.ndarray) -> np.ndarray:
        return normalize_scores(scores)

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        raise NotImplementedError

    def _least_confidence(self, confidence: np.ndarray) -> np.ndarray:
        """Return the least confidences (n, c) with the decisions of `confidence` (n, c)."""
        n, c = confidence.shape
        least = np.full((n, c), 1 / c)
        least[np.arange(n), confidence.argmax(axis=1)] = np.nextafter(1 / c, 1)
        return least

    def _decide(self, confidence: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[confidence.argmax(axis=1)])


class TransferClassifier(TransductiveClassifier):
    """A transfer model as a classifier; by default the model that `transferbench predict` uses.

    `predict` looks up a fitted document by its features, which may differ by rounding. If fitted
    documents are equal, the last one counts, and targets come after sources. A new document gets
    the class with the nearest mean by cosine. The means are over the targets' documents by their
    predicted classes. No paper describes this step. To label new documents by the model itself, fit
    it with them as a target. Without a target, no model is fitted and a warning is given; the means
    are then over the sources. The label of a target's document without any feature is a guess, so
    it gets the least confidence, 1/c.

    Parameters
    ----------
    model
        Name of the model (`transferbench list models`).
    random_state
        Seed of the model.
    **params
        Parameters of the model; the defaults are the paper's.

    Attributes
    ----------
    chosen_
        Name of the model that a labelled sample chooses. It is consensus, or `lr` if `lr` is right
        on significantly more held-out documents. The attribute exists only with a sample and the
        model consensus.
    expected_accuracy_
        Accuracy to expect, and the ends of its 95 per cent interval. The attribute exists in the
        same cases.
    transduction_
        (n,) the classes of the fitted documents by position. Sources have the given classes.
    label_distributions_
        (n, c) the confidence in each class, which is not a calibrated probability.
    classes_
        (c,) the classes.
    """

    _rule_of_new = "the nearest mean of the classes"

    __metadata_request__fit: ClassVar = {"sample_weight": True}

    def __init__(self, model: str = "consensus", *, random_state: Any = 0, **params: Any) -> None:
        super().__init__(model, random_state=random_state, **params)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_domain: Any = None,
        label_sample: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Label the targets' documents.

        Parameters
        ----------
        X
            (n, d) nonnegative.
        y
            (n,) classes. Classes of targets may be missing, and are ignored outside `label_sample`.
        sample_domain
            (n,) the domain of each document, 0 or more for sources and negative for targets. By
            default all documents are of one source. Documents of sources with the label −1 are a
            target.
        label_sample
            (n,) bool, True for documents of targets whose y is correct. The model also trains on
            these labels. If they were drawn at random and the model is consensus, they also show
            what accuracy to expect, see `own.compare.compare`.
        sample_weight
            (n,) weights of the labels in training. The default is 1, and 10 in `label_sample`. A
            document of a source with weight 0 is left out of the fit, and then labelled as a new
            document. A label of a target with weight 0 does not count. Weights of other documents
            change nothing.

        Warns
        -----
        UserWarning
            If there is no target, or if y of sources has −1 among other numbers.

        Raises
        ------
        ValueError
            If the input is invalid.
        UserError
            If the model or a parameter is unknown.
        """
        X = self._validated(X, y)
        y = column_or_1d(_labels_array(y), warn=True)
        domain = _checked_domains(sample_domain, X, y)
        drawn = None if label_sample is None else _checked_sample(label_sample, len(y))
        if drawn is not None and not drawn.any():
            drawn = None
        weights = np.ones(len(y))
        if drawn is not None:
            weights[drawn] = LABEL_WEIGHT
        if sample_weight is not None:
            weights = _checked_weights(sample_weight, X)
            if drawn is not None and drawn.any() and not (drawn := drawn & (weights > 0)).any():
                drawn = None
            if (left_out := (weights == 0) & (domain >= 0)).any():
                return self._fit_without(left_out, X, y, domain, drawn, weights)
            weights[(domain < 0) & (weights == 0)] = 1
        y = _checked_labels(y, domain)
        unlabelled = (domain >= 0) & (y == MASKED)
        seen = (domain >= 0) & ~unlabelled
        if not seen.any():
            raise ValueError("no source: expected a domain of 0 or more for some documents")
        if sample_domain is not None:
            _warn_of_masked(y, seen, unlabelled)
        domain = np.where(unlabelled, domain.min(initial=MASKED) - 1, domain)
        self.classes_, Y = _classes_of(y, seen, unlabelled)
        remedy = "fit the documents to label, too, with a negative domain"
        if drawn is not None:
            Y += self._sample_of(y, seen, drawn)
            seen = seen | drawn
            for number, rows in _by_domain(domain):
                if number < 0 and drawn[rows].all():
                    raise ValueError(
                        f"label_sample: it has every document of domain {number}, so none is left "
                        "to label; give these a domain of 0 or more"
                    )
        confidence = self._transduce(
            "transfer", X, domain, Y, seen, remedy, None if (weights[seen] == 1).all() else weights
        )
        decided = np.eye(confidence.shape[1])[confidence.argmax(axis=1)]
        targets = np.where((domain >= 0)[:, None], 0, decided)
        # The mean of a class without documents of a target is that of the sources' documents.
        of_class = np.where(targets.any(axis=0), targets, decided * weights[:, None])
        self._means = np.asarray(normalize(normalize(X).T @ of_class, axis=0))  # (d, c)
        return self

    def _fit_without(
        self, left_out: np.ndarray, X: sp.csr_array, y: np.ndarray, domain: np.ndarray,
        drawn: np.ndarray | None, weights: np.ndarray,
    ) -> Self:  # fmt: skip
        """Fit without some documents (n,), and label them as new documents."""
        kept = ~left_out
        sample = None if drawn is None else drawn[kept]
        self.fit(X[np.flatnonzero(kept)], y[kept], domain[kept], sample, weights[kept])
        confidence = np.empty((len(y), len(self.classes_)))
        confidence[kept] = self.label_distributions_
        confidence[left_out] = self._confidence_of_new(X[np.flatnonzero(left_out)])
        self.label_distributions_, self.transduction_ = confidence, self._decide(confidence)
        self._fitted = self._fitted.at(np.flatnonzero(kept))
        return self

    def _sample_of(self, y: np.ndarray, seen: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """Return Y (n, c) of the drawn documents."""
        if (drawn & seen).any():
            raise ValueError(
                "label_sample: expected documents of targets, whose domain is negative"
            )
        if (without := drawn & (y == MASKED)).any():
            raise ValueError(
                f"label_sample: {without.sum()} of its documents have no label; expected one of "
                "the sources' labels, or False in label_sample"
            )
        if not (known := np.isin(y[drawn], self.classes_)).all():
            other = y[drawn][~known][0]
            raise ValueError(f"label_sample: the label {other!r} is none of the sources'")
        return np.asarray(drawn[:, None] & (y[:, None] == self.classes_), np.float64)

    def _fit_problem(self, problem: Problem) -> Fit:
        """Fit the model."""
        # With a labelled sample and the model consensus, fit the model that the sample chooses.
        if self.model != RECOMMENDED or sample_of(problem) is None:
            fit = super()._fit_problem(problem)
            # As `compare` does; no classifier needs to be trained to find worthless results.
            known = {target.name: Separation(0.0) for target in problem.targets}
            doubts = fit_doubts(self.model, problem, self._params, fit, known)
            for doubt in (*data_doubts(problem), *doubts):
                if doubt.worthless:
                    warnings.warn(f"the labels are worthless: {doubt}", stacklevel=4)
            return fit
        names = model_names("transfer", (REFERENCE["transfer"],))
        plans = plan_fits("transfer", names, {RECOMMENDED: self._params}, seed=self._seed())
        compared = Session(problem, plans).compare(untrained=False)
        choice = compared.choice
        if choice.model is None:
            raise ValueError(f"no model can be used on these documents. {choice.sentences[1]}")
        self.chosen_, self.expected_accuracy_ = choice.model, choice.accuracy
        return compared.models[choice.model].fits[0]

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        """Return the normalised cosines (n, c) with the means of the classes."""
        return normalize_scores(np.asarray(X @ self._means))


class MultiLabelClassifier(TransductiveClassifier):
    """A multi-label model as a classifier of documents with several labels, in several tasks.

    `predict` looks up a fitted document by its features, which may differ by rounding. A new
    document gets the mean confidence of its 10 nearest fitted documents by cosine and of one more
    value, ½. No paper describes this step. To label new documents by the model itself, fit it with
    them, unlabelled.

    Parameters
    ----------
    model
        Name of the model (`transferbench list models`).
    random_state
        Seed of the model.
    **params
        Parameters of the model, such as ensure_one_label; the defaults are the paper's.

    Attributes
    ----------
    transduction_
        (n, c) the labels, 0 or 1, of the fitted documents by position. Labelled documents have
        their given labels. If y was (n,), it is (n,) the class with the best confidence.
    label_distributions_
        (n, c) the confidence in each label, from 0 to 1. It is at least ½ for a label that the
        document gets.
    classes_
        (c,) the column names if y is a DataFrame, the classes if y is (n,), else 0, 1, ….
    """

    _rule_of_new = "the mean of their nearest fitted documents"

    def __init__(self, model: str = "himls", *, random_state: Any = 0, **params: Any) -> None:
        super().__init__(model, random_state=random_state, **params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_domain: Any = None) -> Self:
        """Label the unlabelled documents.

        Parameters
        ----------
        X
            (n, d) nonnegative.
        y
            (n, c) 0 or 1 for each label, sparse, dense or a DataFrame; or (n,) the one label of
            each document. −1 stands for unlabelled documents. Documents of a negative domain may
            have any values, also missing ones.
        sample_domain
            (n,) integers, the task of each document. By default all are of one task. Documents of a
            negative domain are unlabelled, whatever their y, as in `TransferClassifier`. Documents
            of a domain without any labelled document join the task with the most similar mean.

        Warns
        -----
        UserWarning
            If every document is labelled; or if y is (n,), there are domains, and y has −1 among
            other numbers.

        Raises
        ------
        ValueError
            If the input is invalid.
        UserError
            If the model or a parameter is unknown.
        """
        X = self._validated(X, y)
        names = getattr(y, "columns", None)
        y = sp.csr_array(canonical(y)).toarray() if sp.issparse(y) else _labels_array(y)
        domain = _checked_domains(sample_domain, X, y)
        y = _checked_labels(y, domain)
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        labelled = domain >= 0
        self._single = y.ndim == 1 or (y.shape[1] == 1 and not np.isin(y, (MASKED, 0, 1)).all())
        if self._single:
            y = column_or_1d(y, warn=True)
            unlabelled = labelled & (y == MASKED)
            labelled = labelled & ~unlabelled
        else:
            labelled = labelled & ~(y == MASKED).all(axis=1)
        if not labelled.any():
            raise ValueError("no labelled document: expected classes, or rows of 0 and 1")
        if self._single:
            if sample_domain is not None:
                _warn_of_masked(y, labelled, unlabelled)
            self.classes_, Y = _classes_of(y, labelled, unlabelled)
        else:
            if not np.isin(y[labelled], (0, 1)).all():
                raise ValueError("expected 0 or 1 for each label in y, or a row of −1")
            Y = np.zeros(y.shape)
            Y[labelled] = y[labelled]
            self.classes_ = np.arange(Y.shape[1]) if names is None else np.asarray(names)
        remedy = "fit the documents to label, too, with rows of −1 in y"
        self._transduce("multilabel", X, domain, Y, labelled, remedy)
        count = min(NEIGHBOURS, X.shape[0])
        self._neighbours = NearestNeighbors(n_neighbors=count, metric="cosine").fit(X)
        return self

    def _confidence(self, scores: np.ndarray) -> np.ndarray:
        return normalize_scores(scores) if self._single else np.clip(scores, 0, 1)

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        """Return the mean (n, c) of the nearest fitted documents' confidences and of one ½."""
        nearest = self._neighbours.kneighbors(X, return_distance=False)
        total = self.label_distributions_[nearest].sum(axis=1) + THRESHOLD
        return normalize_scores(total) if self._single else total / (nearest.shape[1] + 1)

    def _least_confidence(self, confidence: np.ndarray) -> np.ndarray:
        if self._single:
            return super()._least_confidence(confidence)
        return np.where(confidence >= THRESHOLD, THRESHOLD, np.nextafter(THRESHOLD, 0))

    def _decide(self, confidence: np.ndarray) -> np.ndarray:
        """Return labels (n, c) 0/1, or classes (n,) if `fit` got classes."""
        if self._single:
            return super()._decide(confidence)
        return (confidence >= THRESHOLD).astype(np.int64)


class MultiTaskClusterer(ClusterMixin, ModelEstimator):  # type: ignore[misc]
    """A clustering model as a clusterer of the documents of several tasks.

    Parameters
    ----------
    model
        Name of the model.
    n_clusters
        Number of clusters of every task.
    random_state
        Seed of the model.
    **params
        Parameters of the model; the defaults are the paper's.

    Attributes
    ----------
    labels_
        (n,) the cluster of each fitted document, from 0. Clusters have no order. In some models the
        same number means the same cluster in every task, and in others it does not.
    """

    def __init__(
        self, model: str = "lnkmtc", n_clusters: int = 2, *, random_state: Any = 0, **params: Any
    ) -> None:
        super().__init__(model, random_state=random_state, **params)
        self.n_clusters = n_clusters

    def fit(self, X: Any, y: Any = None, sample_domain: Any = None) -> Self:
        """Cluster the documents.

        Parameters
        ----------
        X
            (n, d) nonnegative.
        y
            Ignored.
        sample_domain
            (n,) integers, the task of each document. By default all are of one task.

        Raises
        ------
        ValueError
            If the input is invalid.
        UserError
            If the model or a parameter is unknown.
        """
        X = self._validated(X)
        n = X.shape[0]
        domain = _checked_domains(sample_domain, X)
        if not 1 <= self.n_clusters <= n:
            raise ValueError(f"expected n_clusters of 1 to {n} (n_samples), got {self.n_clusters}")
        Y = np.zeros((n, self.n_clusters))
        fit = self._fit_model(self._problem("clustering", X, domain, Y, np.zeros(n, bool)))
        self.labels_ = np.zeros(n, np.int64)
        for (_, rows), scores in zip(_by_domain(domain), fit.scores, strict=True):
            self.labels_[rows] = scores.argmax(axis=1)
        return self


def _checked_domains(sample_domain: Any, X: sp.csr_array, y: Any = None) -> np.ndarray:
    """Return sample_domain as an array (n,); None stands for one source."""
    if sample_domain is None:
        sample_domain = np.full(X.shape[0], SOURCE)
    if np.ma.is_masked(sample_domain):
        raise ValueError("sample_domain has masked values; expected the domain of every document")
    domain = np.asarray(column_or_1d(np.asarray(sample_domain)))
    check_consistent_length(X, y, domain)
    if domain.dtype == object and all(isinstance(d, Integral) for d in domain.tolist()):
        domain = np.array(domain.tolist())
    if domain.dtype.kind not in "iu":
        raise ValueError(
            f"expected integers in sample_domain, got {domain.dtype}; give 0 or more to documents "
            "of a source and a negative number to those of a target, as in "
            "np.where(is_source, 1, -2)"
        )
    if domain.size and not -(2**62) < int(domain.min()) <= int(domain.max()) < 2**62:
        raise ValueError("expected integers between -2**62 and 2**62 in sample_domain")
    return domain.astype(np.int64)


def _classes_of(
    y: np.ndarray, labelled: np.ndarray, unlabelled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes (c,) of the labelled documents, and their labels Y (n, c)."""
    # `labelled`: True for the documents (n,) that are labelled. The rows of the others are zero in
    # Y.
    # Shapes: y (n,), unlabelled (n,).
    labels = y[labelled]
    if y.dtype == object and all(isinstance(label, Number | np.bool) for label in labels):
        labels = np.array(labels.tolist())  # pandas' nullable numbers
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        message = f"the sources have one class, {classes[0]}; expected two classes or more"
        if unlabelled.any():
            message += (
                f"; the label −1, which {unlabelled.sum()} documents have, means unlabelled, as in "
                "skada: if it is a class, rename it, as by y + 1"
            )
        raise ValueError(message)
    Y = np.zeros((len(y), len(classes)))
    Y[np.flatnonzero(labelled), codes] = 1
    return classes, Y


def _by_domain(domain: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each domain and its rows: sources first, then by absolute value."""
    for d in sorted({*domain.tolist()}, key=lambda d: (d < 0, abs(d))):
        yield d, np.flatnonzero(domain == d)


def _labels_array(y: Any) -> np.ndarray:
    """Return y as an array; a masked value becomes None, which is a missing label."""
    if not np.ma.is_masked(y):
        return np.asarray(y)
    labels = np.array(y.data, dtype=object)
    labels[np.ma.getmaskarray(y)] = None
    return labels


def _checked_sample(label_sample: Any, n: int) -> np.ndarray:
    """Return label_sample (n,) as bool; raise ValueError if it is no such mask."""
    if np.shape(label_sample) != (n,) and np.ndim(label_sample) == 1:
        raise ValueError(
            f"label_sample has {len(label_sample)} values; expected True or False for each of {n} "
            "documents (of indices: np.isin(np.arange(n), indices))"
        )
    if np.ma.is_masked(label_sample) or pd.isna(np.asarray(label_sample)).any():
        raise ValueError("label_sample has missing values; expected True or False everywhere")
    return np.asarray(column_or_1d(label_sample)).astype(bool)


def _checked_weights(sample_weight: Any, X: sp.csr_array) -> np.ndarray:
    """Return sample_weight as an array (n,); a single number is the weight of every document."""
    weights = np.array(sample_weight, np.float64)
    if weights.ndim == 0:
        weights = np.full(X.shape[0], weights)
    if weights.ndim > 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(X.shape[0],)}!")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("sample_weight: expected finite numbers of 0 or more")
    if not weights.any():
        raise ValueError("sample_weight: every weight is zero; expected some above it")
    return weights


def _is_placeholder(label: object) -> bool:
    """Return True if a label, such as "?", may stand for a missing label."""
    return isinstance(label, str) and label.strip().casefold() in PLACEHOLDERS


def _checked_labels(y: np.ndarray, domain: np.ndarray) -> np.ndarray:
    """Return y (n,) or (n, c) with −1 for missing values of targets."""
    # None, NaN and pandas' NA and NaT count as missing.
    missing = np.asarray(pd.isna(y))
    rows = missing if y.ndim == 1 else missing.any(axis=1)
    if (without := np.flatnonzero(rows & (domain >= 0))).size:
        raise ValueError(
            f"Input y contains NaN or None for {without.size} documents of sources, first in row "
            f"{without[0]}; give them a label, leave them out, or give them a negative domain, "
            "which is a target"
        )
    if y.ndim == 1:
        of_sources = [label for label in y[domain >= 0].tolist() if isinstance(label, str)]
        blank = Counter(label for label in of_sources if label.strip() in ("", "?"))
        for label, count in blank.items():
            warnings.warn(
                f"the label {label!r} of {counted(count, 'document')} of sources is a class like "
                "any other; if it stands for no label, leave them out or give them a negative "
                "domain, which is a target.",
                stacklevel=3,
            )
    if not missing.any():
        return y
    y = y.copy()
    y[missing] = MASKED
    # Without missing values, numbers of pandas' nullable columns are numbers again.
    return y if any(isinstance(label, str) for label in y.ravel()) else np.array(y.tolist())


def _warn_of_masked(y: np.ndarray, labelled: np.ndarray, unlabelled: np.ndarray) -> None:
    """Warn if the label −1 in sources may be a class, because other labels are numbers."""
    classes = set(y[labelled].tolist())
    if unlabelled.any() and len(classes) > 1 and all(isinstance(c, Number) for c in classes):
        warnings.warn(
            f"{unlabelled.sum()} documents of sources have the label −1 and are taken as "
            "unlabelled, as in skada; if −1 is a class, rename it, as by y + 1; otherwise "
            "give these documents a negative domain to silence this warning.",
            stacklevel=3,
        )


def _texts_in(X: Any) -> str:
    """Return the beginning of a message that says where X has texts; "" if it has none."""
    if sp.issparse(X):
        return ""
    if hasattr(X, "columns"):
        named = [name for name in X.columns if _holds_texts(X[name])]
        return f"X has columns ({', '.join(map(repr, named[:5]))}) of" if named else ""
    return "X holds" if _holds_texts(X) else ""


def _holds_texts(values: Any) -> bool:
    """Return True if the values are texts or, in a list, lists of texts (tokens)."""
    try:
        flat = np.asarray(values, dtype=object).ravel()
    except ValueError:  # lists of different shapes
        return False
    return any(
        isinstance(value, str | bytes)
        or (isinstance(value, list | tuple) and any(isinstance(token, str) for token in value))
        for value in flat
    )


class FittedDocuments:
    """Find documents among the fitted ones, even if their values are rounded differently."""

    # Documents are compared by random projections of their features, which are scaled to a largest
    # value of one. A document equals the nearest fitted one if no value differs by more than
    # `ROUNDING` of itself. Cutting digits instead would separate values on both sides of a bound.
    # `X`: (n, d) fitted documents, canonical.
    # `order`: (n,) rows, the preferred ones last. If documents are equal, the last one is found.

    def __init__(self, X: sp.csr_array, order: np.ndarray) -> None:
        largest = X.max(axis=0).toarray().ravel().astype(np.float64)
        scale = 1 / np.where(largest > np.finfo(np.float32).tiny, largest, 1)
        self._directions = np.random.default_rng(0).standard_normal((X.shape[1], PROJECTIONS))
        self._directions *= scale[:, None]
        self._scale = scale
        self._X = X
        points = self._points(X)
        reverse = order[::-1]
        _, first = np.unique(points[reverse], axis=0, return_index=True)
        self._rows = reverse[first]
        self._places = np.arange(X.shape[0])
        self._tree = cKDTree(points[self._rows])

    def at(self, places: np.ndarray) -> Self:
        """Return the same documents with these places as their rows in a larger matrix."""
        moved = copy(self)
        moved._places = places
        return moved

    def _points(self, X: sp.csr_array) -> np.ndarray:
        """Return the projections (n, PROJECTIONS)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(X.astype(np.float64) @ self._directions))

    def rows_of(self, X: sp.csr_array) -> np.ndarray:
        """Return (n,) the row of each document among the fitted ones, −1 if it is new."""
        with np.errstate(over="ignore"):
            distance, nearest = self._tree.query(self._points(X))
            scaled = X.astype(np.float64) * self._scale
            length = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)))
        # The projections of a difference are longer than it by the root of their number.
        same = np.isfinite(distance) & (distance <= ROUNDING * np.sqrt(PROJECTIONS) * length)
        rows = self._rows[np.where(same, nearest, 0)]
        # A column with one huge value hides differences of its small ones from the projections.
        candidates = np.flatnonzero(same)
        fitted = self._X[rows[candidates]].astype(np.float64)
        excess = abs(X[candidates].astype(np.float64) - fitted) - ROUNDING * abs(fitted)
        largest = abs(fitted).max(axis=1).toarray().ravel()
        same[candidates] = excess.max(axis=1).toarray().ravel() <= NOISE * largest
        return np.where(same, self._places[rows], -1)


class SentenceEmbeddings(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sentence embeddings by all-MiniLM-L6-v2: 384 numbers a text, of length one, with both signs.

    Nothing is fitted. Embeddings are stored in the data folder, so that each text is embedded only
    once. The model was trained on English texts. Its licence is the Apache License 2.0. It needs
    the extra `modern`. Embeddings beside words suit classifiers of scikit-learn; make them by
    `make_union(TfidfVectorizer(), SentenceEmbeddings())`. The models of this module take only
    nonnegative features.

    Parameters
    ----------
    max_pieces
        Number of the first word pieces of each text that count, at most 512. A word has one piece
        or a few.
    """

    _n_features_out = sentences.SIZE

    def __init__(self, max_pieces: int = sentences.MAX_PIECES) -> None:
        self.max_pieces = max_pieces

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the texts.

        Parameters
        ----------
        X
            The texts.
        y
            Ignored.

        Raises
        ------
        ValueError
            If X is no list, array or column of texts.
        """
        self._texts(X)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the embeddings (n, 384), float32.

        Parameters
        ----------
        X
            The texts.

        Raises
        ------
        ValueError
            If X is no list, array or column of texts.
        Unavailable
            If the extra `modern` is missing, or if the model cannot be obtained.
        """
        return embeddings(self._texts(X), settings.load(), self.max_pieces)

    def _texts(self, X: Any) -> list[str]:
        """Return the texts as a list."""
        texts = [] if isinstance(X, str) or not np.iterable(X) else list(X)
        if not texts or not all(isinstance(text, str) for text in texts) or np.ndim(X) > 1:
            raise ValueError(
                "SentenceEmbeddings: expected texts, as a list, an array of one dimension or a "
                "column of a DataFrame."
            )
        return [str(text) for text in texts]


class TransductiveSplit(BaseCrossValidator):  # type: ignore[misc]
    """Splits that score a transductive model on the documents that it labels.

    There is one split for each target. Every document is in its training part, and the labelled
    documents of the target are its test part. `TransferClassifier` and `MultiLabelClassifier`
    ignore the labels of targets, so these are hidden from the fit, and `predict` returns
    `transduction_` for documents that were fitted.

        GridSearchCV(TransferClassifier("dtl"), {"k": [8, 16]}, cv=TransductiveSplit())

    scikit-learn's metadata routing passes the parameters of `split` other than X and y. Without it,
    give the domains twice, as `groups` and as `sample_domain`.
    """

    __metadata_request__split: ClassVar = {"sample_domain": True, "label_sample": True}

    def split(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        sample_domain: Any = None,
        label_sample: Any = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield all rows, and the rows to score, for each target.

        Parameters
        ----------
        X
            (n, d), not used.
        y
            (n,) or (n, c) true labels. Documents of targets whose label is missing or −1 are not
            scored. Documents with "?", a blank text or another of PLACEHOLDERS are not scored,
            either, unless a source also has that label.
        groups
            Another way to give `sample_domain`.
        sample_domain
            (n,) the domain of each document, negative for targets.
        label_sample
            (n,) bool, True for documents whose labels the fit gets; they are not scored.

        Warns
        -----
        UserWarning
            If targets have other labels that no source has. They are scored as errors.

        Raises
        ------
        ValueError
            If no target has a label to score.
        """
        given = groups if sample_domain is None else sample_domain
        if given is None:
            raise ValueError(
                "TransductiveSplit: no domains reached the splitter; enable "
                "sklearn.set_config(enable_metadata_routing=True), or give "
                "cv=list(TransductiveSplit().split(X, y, domains))"
            )
        y = y.toarray() if sp.issparse(y) else _labels_array(y)
        domain = _checked_domains(given, y)
        absent = pd.isna(y) | (y == MASKED)
        scored = (domain < 0) & ~(absent if y.ndim == 1 else absent.any(axis=1))
        if label_sample is not None:
            scored &= ~_checked_sample(label_sample, len(y))
        if y.ndim == 1 and (classes := {*y[(domain >= 0) & ~absent].tolist()}):
            new = np.array([label not in classes for label in y.tolist()])
            scored &= ~(new & [_is_placeholder(label) for label in y.tolist()])
            if other := {*y[scored & new].tolist()}:
                listed = ", ".join(sorted(map(repr, other))[:5]) + (", …" if len(other) > 5 else "")
                warnings.warn(
                    f"TransductiveSplit: {np.sum(scored & new)} documents of targets have labels "
                    f"that no source has ({listed}) and count as errors; give them None if these "
                    "stand for no label",
                    stacklevel=2,
                )
        if not scored.any():
            why = "no document of a target has a label to score"
            if label_sample is not None and np.asarray(label_sample, bool).any():
                why += " outside label_sample; leave some labels out of it"
            raise ValueError(f"TransductiveSplit: {why}")
        for _, rows in _by_domain(np.where(scored, domain, 0)):
            if scored[rows[0]]:
                yield np.arange(len(y)), rows

    def get_n_splits(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        sample_domain: Any = None,
        label_sample: Any = None,
    ) -> int:
        """Return the number of targets that have labels to score; see `split`."""
        return sum(1 for _ in self.split(X, y, groups, sample_domain, label_sample))
