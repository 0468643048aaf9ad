"""The models as scikit-learn estimators; `sample_domain` gives the domains, as in skada.

    classifier = TransferClassifier()              # or a model: TransferClassifier("gcmf", k=32)
    classifier.fit(X, y, sample_domain=domain)     # y of targets (domain < 0) is not used, but
    classifier.fit(X, y, sample_domain=domain, label_sample="given")  # here all that it has
    classifier.transduction_[domain < 0]
    cross_val_score(classifier, X, y, cv=list(TransductiveSplit().split(X, y, domain)),
                    params={"sample_domain": domain})   # here true labels of targets in y

The models are transductive: they label only the documents they are fitted on. X (n, d) holds
documents × features. It is nonnegative, and sparse or dense (an array or a DataFrame). Each integer
in `sample_domain` is a domain. Domains from 0 on are sources, and negative ones are targets.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score
from sklearn.model_selection import BaseCrossValidator
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from transferbench import api, settings
from transferbench.core.logistic import logistic_regression
from transferbench.data import sentences
from transferbench.measures import THRESHOLD, ensure_one_label, normalize_scores
from transferbench.own import label_arrays as arrays
from transferbench.own.advice import Choice, choose, choose_by_sample
from transferbench.own.doubts import data_doubts, fit_doubts
from transferbench.own.evidence import RECOMMENDED, REFERENCE
from transferbench.own.fits import ComparedModel, model_names, plan_fits
from transferbench.own.fitted_documents import FittedDocuments
from transferbench.own.multilabel import fit_in_tasks
from transferbench.own.sample import LABEL_WEIGHT, cross_fit, sample_of
from transferbench.own.session import Session
from transferbench.own.topics import Topics, topics_of
from transferbench.own.vectors import embeddings
from transferbench.problem import Domain, Family, Fit, Problem, canonical

#: By model, a parameter and another that it must not exceed. Its default follows the other.
AT_MOST = {"dtl": ("kappa", "k"), "mrtl": ("k1", "k2")}
#: The clusterer's default model, and its parameters.
POOLED = ("kmeans", {"pool_tasks": True, "n_init": 10})


class ModelEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of a model; it has the parameters of the model and two more."""

    #: With metadata routing, a Pipeline passes these on by default.
    __metadata_request__fit: ClassVar = {"sample_domain": True}

    def __init__(self, model: str | None, *, random_state: Any = 0, **params: Any) -> None:
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
        self._params = self._params | of_model  # a new dict: a copy has the old one
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
                raise ValueError(
                    f"{where} texts, expected numbers of 0 or more; vectorise first, for example "
                    f"by make_pipeline(TfidfVectorizer(), {self!r}), which takes a list of texts"
                ) from None
            if "Negative values" in str(error):
                error.add_note("HashingVectorizer makes none with alternate_sign=False.")
            raise
        return canonical(sp.csr_array(X))

    def _problem(
        self, family: Family, X: sp.csr_array, domain: np.ndarray, fitted: np.ndarray,
        Y: np.ndarray, seen: np.ndarray, weights: np.ndarray,
    ) -> Problem:  # fmt: skip
        """Return the problem with the fitted documents (n,), in the order of `by_domain`."""
        plain = (weights[seen] == 1).all()
        domains = tuple(
            Domain(
                str(d), (X[rows],), Y[rows], seen[rows],
                label_weights=None if plain else weights[rows],
            )
            for d, rows in arrays.by_domain(domain, fitted)
        )  # fmt: skip
        names = [*map(str, getattr(self, "classes_", ()))]
        if len({*names}) < Y.shape[1]:  # clusters, or columns of a DataFrame with equal names
            names = [*map(str, range(Y.shape[1]))]
        return Problem(type(self).__name__, family, tuple(names), domains)

    def _topics(self, problem: Problem, fit: Fit) -> Topics | None:
        """Return the topics of a fit, None without factors or without any word in a cluster."""
        default = [f"x{i}" for i in range(self.n_features_in_)]  # as in scikit-learn
        names = tuple(getattr(self, "feature_names_in_", default))
        try:
            return topics_of(fit, replace(problem, features=names))
        except ValueError:
            return None

    def _seed(self) -> int:
        state = self.random_state
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31)
        return int(state)

    def _plan(self, family: Family) -> tuple[str, dict[str, Any]]:
        """Return the model and its given parameters, and lower a default that exceeds its bound."""
        # For example, DTL has k=20 clusters, and kappa=10 of them are shared. If k=8 is given and
        # kappa is not, kappa is 4, so that again half are shared.
        model, given = self.model, self._params
        if model is None:
            model, given = POOLED[0], POOLED[1] | given
        resolved: Mapping[str, Any] = api.resolve(model, family, given)
        name, bound = AT_MOST.get(model, ("", ""))
        if not name or name in given or resolved[name] < resolved[bound]:
            return model, given
        default: Mapping[str, Any] = api.resolve(model, family, {})
        share = default[name] / default[bound]
        return model, given | {name: max(1, int(share * resolved[bound]))}


class TransductiveClassifier(ClassifierMixin, ModelEstimator):  # type: ignore[misc]
    """A classifier that labels fitted documents by a model, others by logistic regression."""

    _family: ClassVar[Family]
    #: The default weight of a label in a sample of the targets.
    _label_weight: ClassVar[float] = LABEL_WEIGHT
    #: True if each document has one label, whose classes are `classes_`.
    _single = True

    __metadata_request__fit: ClassVar = {"label_sample": True, "sample_weight": True}
    # skada's scorers pass these arguments.
    __metadata_request__predict: ClassVar = {"sample_domain": True, "allow_source": True}
    __metadata_request__predict_proba: ClassVar = __metadata_request__predict
    # The last one is of the importance weighted scorer.
    __metadata_request__score: ClassVar = __metadata_request__predict | {"sample_weight": True}

    classes_: np.ndarray
    chosen_: str | None
    expected_accuracy_: tuple[float, float, float] | None
    topics_: Topics | None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_domain: Any = None,
        label_sample: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Label the documents without a label.

        Parameters
        ----------
        X
            (n, d) nonnegative.
        y
            (n,) the class of each document; or, for several labels, (n, c) 0 or 1 for each label,
            sparse, dense or a DataFrame. −1, or a row of −1, stands for no label. Labels of targets
            may also be missing, and are not used outside `label_sample`.
        sample_domain
            (n,) the domain of each document, 0 or more for sources and negative for targets. By
            default all documents are of one source.
        label_sample
            (n,) bool, True for documents of targets whose y is correct; or "given" for all that y
            labels. The model also trains on these labels, and the documents keep them. If they were
            drawn at random, they also show what accuracy to expect of a `TransferClassifier`.
        sample_weight
            (n,) weights of the labels in training. The default is 1, and 10 in the `label_sample`
            of a `TransferClassifier`. A document of a source with weight 0 is left out of the fit,
            and then labelled as a new document. A label of a target with weight 0 does not count.
            Weights of other documents change nothing. Multi-label models cannot weigh labels, so
            all weights above 0 must be equal.

        Warns
        -----
        UserWarning
            If there is nothing to label, if y labels a part of a target and `label_sample` is not
            given, if the labels are weakly recommended or worthless, or if y of sources has −1
            among other numbers.

        Raises
        ------
        ValueError
            If the input is invalid.
        UserError
            If the model or a parameter is unknown.
        """
        self._plan(self._family)  # a mistake is reported even if no model is fitted
        names = getattr(y, "columns", None)
        X = self._validated(X, y)
        y, missing = arrays.label_array(y)
        domain = arrays.checked_domains(sample_domain, X, y)
        weights = arrays.checked_weights(sample_weight, y)
        ignored = weights == 0
        source = (domain >= 0) & ~ignored
        if not source.any():
            why = "no source: expected a domain of 0 or more for some documents"
            if (domain >= 0).any():
                why = "sample_weight: it is 0 for all documents of sources; expected some above it"
            raise ValueError(why)
        arrays.check_sources(y, missing, source)
        Y, labelled = self._labels(y, source, names)
        seen, unlabelled = source & labelled, source & ~labelled
        if sample_domain is not None and self._single:
            arrays.warn_of_masked(self.classes_, int(unlabelled.sum()))
        sample = self._sample(label_sample, y, domain, labelled, ignored)
        trained, fitted = seen | sample, source | (domain < 0)
        Y[~trained] = 0
        if sample_weight is None:
            weights = np.where(sample, self._label_weight, 1.0)
        weights = np.where(trained, weights, 1.0)
        if self._family == "transfer" and unlabelled.any():  # they are one more target
            domain = np.where(unlabelled, domain.min(initial=arrays.MASKED) - 1, domain)

        self.strength_, self.doubts_ = "none", list[str]()
        self.expected_accuracy_ = self.chosen_ = self.topics_ = None
        confidence = Y.copy()
        if trained[fitted].all():
            warnings.warn(
                f"{type(self).__name__}: every document has a label, so nothing is transferred and "
                f"{self.model} is not fitted; fit the documents to label, too, with a negative "
                f"domain{'' if self._family == 'transfer' else ', or with rows of −1 in y'}.",
                stacklevel=2,
            )
        else:
            if self._family == "multilabel" and np.ptp(weights[trained]):
                raise ValueError(
                    f"sample_weight: {self.model} cannot weigh labels; expected one weight for all "
                    "of them, or 0 to leave some out"
                )
            problem = self._problem(self._family, X, domain, fitted, Y, trained, weights)
            fit = self._fit_problem(problem)
            for (_, rows), scores in zip(arrays.by_domain(domain, fitted), fit.scores, strict=True):
                found = normalize_scores(scores) if self._single else np.clip(scores, 0, 1)
                confidence[rows] = np.where(trained[rows, None], Y[rows], found)
        # Of equal documents, `predict` returns the last one that had no label.
        order = np.concatenate([np.flatnonzero(trained), np.flatnonzero(fitted & ~trained)])
        self._remember(X[order], order, confidence[order], weights[order])
        if not fitted.all():
            confidence[~fitted] = self._confidence_of_new(X[np.flatnonzero(~fitted)])
        rows = np.flatnonzero(~trained)
        confidence[rows] = self._doubt_empty(X[rows], confidence[rows])
        self.label_distributions_, self._sampled = confidence, sample
        self.transduction_ = self._decide(confidence)
        return self

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
            If some documents were not fitted; the model does not label them. If all documents are
            of the `label_sample`; they keep their given labels.
        """
        return self._look_up(X, np.all)

    def _look_up(self, X: Any, warned: Callable[[np.ndarray], bool]) -> np.ndarray:
        """Return the confidence (n, c); warn if `warned` holds for the documents of the sample."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        rows = self._fitted.rows_of(X)
        confidence = np.asarray(self.label_distributions_[rows], np.float64)
        if (new := np.flatnonzero(rows < 0)).size:
            warnings.warn(
                f"{type(self).__name__}: {new.size} of {len(rows)} documents were not fitted; they "
                f"are labelled by logistic regression, trained on the fitted ones; to label them "
                f"by {self.model}, fit it with them as a target.",
                stacklevel=4,
            )
            confidence[new] = self._doubt_empty(X[new], self._confidence_of_new(X[new]))
        drawn = (rows >= 0) & self._sampled[rows]
        if warned(drawn):
            warnings.warn(
                f"{drawn.sum()} of {len(drawn)} documents are in label_sample and keep its labels; "
                "to test the model, score others, as TransductiveSplit does with the same mask.",
                stacklevel=4,
            )
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

        Warns
        -----
        UserWarning
            If some documents are of the `label_sample`; they keep their given labels.

        Raises
        ------
        ValueError
            If y has missing or masked labels, which cannot be scored.
        """
        y, missing = arrays.label_array(y)
        if missing.any():
            raise ValueError(
                f"y has {missing.sum()} missing or masked labels; leave them out to score"
            )
        decided = self._decide(self._look_up(X, np.any))
        return float(accuracy_score(y, decided, sample_weight=sample_weight))

    def _labels(
        self, y: np.ndarray, source: np.ndarray, names: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Set `classes_`; return the labels Y (n, c), and True for the documents (n,) with one."""
        y = column_or_1d(y, warn=True)
        blank = y == arrays.MASKED
        if blank[source].all():
            raise ValueError("no labelled document of a source: expected classes other than −1")
        self.classes_ = arrays.classes_of(y[source & ~blank], int(np.sum(source & blank)))
        Y = np.asarray(y[:, None] == self.classes_, np.float64)
        return Y, np.asarray(Y.any(axis=1))

    def _sample(
        self, label_sample: Any, y: np.ndarray, domain: np.ndarray, labelled: np.ndarray,
        ignored: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Return True for the documents (n,) of targets whose labels train the model."""
        given = (domain < 0) & ~arrays.absent(y, {*self.classes_.tolist()}).all(axis=1)
        if label_sample is None:
            arrays.warn_of_hidden(domain, given)
            return np.zeros(len(y), bool)
        named = isinstance(label_sample, str) and label_sample == arrays.GIVEN
        drawn = given if named else arrays.checked_sample(label_sample, len(y))
        drawn = np.asarray(drawn & ~ignored)
        if (drawn & (domain >= 0)).any():
            raise ValueError(
                "label_sample: expected documents of targets, whose domain is negative"
            )
        if (without := np.flatnonzero(drawn & ~labelled)).size:
            raise ValueError(
                f"label_sample: {without.size} of its documents have no label of the sources, "
                f"first {y[without].tolist()[0]!r} in row {without[0]}; correct or complete "
                "them, or leave them out of label_sample"
            )
        for number, rows in arrays.by_domain(domain, domain < 0):
            if drawn[rows].all():
                raise ValueError(
                    f"label_sample: it has every document of domain {number}, so none is left "
                    "to label; give these a domain of 0 or more"
                )
        return drawn

    def _fit_problem(self, problem: Problem) -> Fit:
        """Fit the model; set and warn of what `compare` says about its decisions."""
        name, given = self._plan(self._family)
        seed, sample = self._seed(), sample_of(problem)
        choice = Choice(None, ())
        if name == RECOMMENDED and sample:  # the sample may choose the reference instead
            names = model_names("transfer", (REFERENCE["transfer"],))
            plans = plan_fits("transfer", names, {name: given}, seed=seed)
            compared = Session(problem, plans).compare(untrained=False)
            choice, doubts = compared.choice, compared.doubts
            model = compared.models[choice.model or name]
            if not model.fits:
                raise ValueError(f"{name}: {model.doubts[0]}")
        else:
            fit_one = partial(api.fit, name, seed=seed, **given)
            fit = cross_fit(problem, partial(fit_in_tasks, fit=fit_one))
            if fit.columns == "clusters":
                raise ValueError(f"{name} finds clusters, not classes; choose another model")
            params, doubts = api.resolve(name, self._family, given), tuple(data_doubts(problem))
            of_fit = tuple(fit_doubts(name, problem, params, fit))
            model = ComparedModel(name, params, (fit,), 0.0, of_fit)
            if sample:  # it shows the accuracy of a model that is not recommended
                choice = choose_by_sample(problem, {name: model}, sample)
                choice = replace(choice, strength="none")
            elif name == RECOMMENDED:
                choice = choose(problem, model)
        doubts = (*doubts, *model.doubts)
        worthless = [doubt for doubt in doubts if doubt.worthless]
        self.chosen_, self.doubts_ = model.model, [*map(str, doubts)]
        self.strength_ = "none" if worthless else choice.strength
        self.expected_accuracy_ = choice.accuracy
        for doubt in worthless:
            warnings.warn(f"the labels are worthless: {doubt}", stacklevel=3)
        if self.strength_ == "weak":
            said = choice.sentences if sample else choice.sentences[:2]
            more = "more" if sample else "a random sample of"
            warnings.warn(
                f"{' '.join(said)} Label {more} documents of the target, and name them by "
                "label_sample.",
                stacklevel=3,
            )
        self.topics_ = self._topics(problem, model.fits[0])
        return model.fits[0]

    def _remember(
        self, X: sp.csr_array, rows: np.ndarray, confidence: np.ndarray, weights: np.ndarray
    ) -> None:
        """Store the fitted documents for `predict`, and train on their labels for new ones."""
        self._fitted = FittedDocuments(X, rows)
        X = normalize(X)
        if self._single:
            self._of_new = [logistic_regression(X).fit(X, confidence.argmax(axis=1), weights)]
            return
        # Rare labels would be given to no document without balanced weights. A label that all
        # documents have, or none, needs no training.
        self._of_new = [
            label[0] if (label == label[0]).all()
            else logistic_regression(X).set_params(class_weight="balanced").fit(X, label, weights)
            for label in (confidence >= THRESHOLD).T
        ]  # fmt: skip

    def _confidence_of_new(self, X: sp.csr_array) -> np.ndarray:
        """Return the confidence (n, c) in each class of documents that were not fitted."""
        X = normalize(X)
        if self._single:
            return np.asarray(self._of_new[0].predict_proba(X))
        confidence = np.empty((X.shape[0], len(self._of_new)))
        for label, model in enumerate(self._of_new):
            fixed = isinstance(model, np.bool)
            confidence[:, label] = model if fixed else model.predict_proba(X)[:, 1]
        one = self._params.get("ensure_one_label", False)
        return ensure_one_label(confidence) if one else confidence

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle; add what one of version 2.0 lacks."""
        super().__setstate__(state)
        if hasattr(self, "_fitted") and not hasattr(self, "_of_new"):
            doubt = "Fitted by version 2.0, which did not look for doubts; fit it again."
            none = np.zeros(len(self.transduction_), bool)
            lacking: dict[str, Any] = {"strength_": "none", "doubts_": [doubt], "_sampled": none}
            lacking |= {"chosen_": None, "expected_accuracy_": None, "topics_": None}
            self.__dict__ = lacking | self.__dict__
            old = vars(self._fitted)
            X, rows = old["_X"][old["_rows"]], old["_places"][old["_rows"]]
            self._remember(X, rows, self.label_distributions_[rows], np.ones(len(rows)))

    def _doubt_empty(self, X: sp.csr_array, confidence: np.ndarray) -> np.ndarray:
        """Return confidences (n, c) that are least for a document without features."""
        if self._single:
            c = confidence.shape[1]
            best = np.arange(c) == confidence.argmax(axis=1)[:, None]
            least = np.where(best, np.nextafter(1 / c, 1), 1 / c)
        else:
            least = np.where(confidence >= THRESHOLD, THRESHOLD, np.nextafter(THRESHOLD, 0))
        return np.where(np.diff(X.indptr)[:, None] == 0, least, confidence)

    def _decide(self, confidence: np.ndarray) -> np.ndarray:
        """Return the classes (n,), or labels (n, c) 0/1."""
        if not self._single:
            return (confidence >= THRESHOLD).astype(np.int64)
        return np.asarray(self.classes_[confidence.argmax(axis=1)])


class TransferClassifier(TransductiveClassifier):
    """A transfer model as a classifier; by default the model that `transferbench predict` uses.

    `predict` looks up a fitted document by its features, which may differ by rounding. If fitted
    documents are equal, the last one counts, and targets come after sources. A new document is
    labelled by logistic regression. It is trained on all fitted documents: the sources and the
    sample with their labels and weights, and the targets with the labels that the model found. No
    paper describes this step. To label new documents by the model itself, fit it with them as a
    target. Without a target, no model is fitted and a warning is given. The label of a target's
    document without any feature is a guess, so it gets the least confidence, 1/c.

    Documents of sources with the label −1 are one more target.

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
    transduction_
        (n,) the classes of the fitted documents by position. Sources and the sample have the given
        classes.
    label_distributions_
        (n, c) the confidence in each class, which is not a calibrated probability.
    classes_
        (c,) the classes.
    strength_
        "strong" or "weak" as `transferbench predict` recommends these labels. "none" if it
        recommends no model: the labels are worthless, or the model is not consensus.
    doubts_
        Sentences: reasons to doubt the documents or the labels.
    expected_accuracy_
        Accuracy to expect on the documents without a label, and the ends of its 95 per cent
        interval; None without a sample. A model other than consensus is fitted five more times for
        it.
    chosen_
        Name of the fitted model, None if none was fitted. With a sample and the model consensus, it
        is `lr` if `lr` is right on significantly more held-out documents.
    topics_
        The topics of the model's clusters of features, by domain, see
        `transferbench.topics.Topics`; `topics_.components` has the share of each feature in each
        topic. None for a model without such clusters, such as consensus.
    """

    _family = "transfer"

    def __init__(self, model: str = "consensus", *, random_state: Any = 0, **params: Any) -> None:
        super().__init__(model, random_state=random_state, **params)


class MultiLabelClassifier(TransductiveClassifier):
    """A multi-label model as a classifier of documents with several labels, in several tasks.

    Each domain is a task. A domain without any labelled document joins the task with the most
    similar mean.

    `predict` looks up a fitted document by its features, which may differ by rounding. A new
    document is labelled by one logistic regression for each label, with balanced weights. They are
    trained on all fitted documents: with their given labels, or with those that the model found. No
    paper describes this step. To label new documents by the model itself, fit it with them,
    unlabelled.

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
    doubts_
        Sentences: reasons to doubt the documents or the labels.
    """

    _family = "multilabel"
    _label_weight = 1.0

    def __init__(self, model: str = "himls", *, random_state: Any = 0, **params: Any) -> None:
        super().__init__(model, random_state=random_state, **params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _labels(
        self, y: np.ndarray, source: np.ndarray, names: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        of_labels = np.isin(y, (arrays.MASKED, 0, 1))
        self._single = y.ndim == 1 or (y.shape[1] == 1 and not of_labels[source].all())
        if self._single:
            if any(isinstance(label, str) for label in y.ravel().tolist()):
                warnings.warn(
                    "MultiLabelClassifier: each text in y counts as one label; for several labels "
                    "give a column of 0 and 1 for each, as MultiLabelBinarizer makes them.",
                    stacklevel=3,
                )
            return super()._labels(y, source, names)
        labelled = np.asarray(np.isin(y, (0, 1)).all(axis=1))
        blank = np.asarray(y == arrays.MASKED).all(axis=1)
        if not (labelled | blank)[source].all():
            raise ValueError("expected 0 or 1 for each label in y, or a row of −1")
        if not labelled[source].any():
            raise ValueError("no labelled document of a source: expected rows of 0 and 1")
        self.classes_ = np.arange(y.shape[1]) if names is None else np.asarray(names)
        return np.where(labelled[:, None], y, 0).astype(np.float64), labelled


class MultiTaskClusterer(ClusterMixin, ModelEstimator):  # type: ignore[misc]
    """A clustering model as a clusterer of the documents of several tasks.

    Parameters
    ----------
    model
        Name of the model. None is k-means of all tasks together with ten starts, which is `kmeans`
        with `pool_tasks=True` and `n_init=10`. Other models seldom find better clusters by their
        default parameters.
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
        self, model: str | None = None, n_clusters: int = 2, *, random_state: Any = 0, **params: Any
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
        domain, everything = arrays.checked_domains(sample_domain, X), np.ones(n, bool)
        if not 1 <= self.n_clusters <= n:
            raise ValueError(f"expected n_clusters of 1 to {n} (n_samples), got {self.n_clusters}")
        Y = np.zeros((n, self.n_clusters))
        problem = self._problem("clustering", X, domain, everything, Y, ~everything, np.ones(n))
        model, params = self._plan("clustering")
        fit = api.fit(model, problem, seed=self._seed(), **params)
        self.labels_ = np.zeros(n, np.int64)
        for (_, rows), scores in zip(arrays.by_domain(domain, everything), fit.scores, strict=True):
            self.labels_[rows] = scores.argmax(axis=1)
        return self


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
    documents of the target outside `label_sample` are its test part. `TransferClassifier` and
    `MultiLabelClassifier` do not use these labels, so they are hidden from the fit, and `predict`
    returns `transduction_` for documents that were fitted.

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
            (n,) bool, True for documents whose labels the fit gets; they are not scored. "given" is
            refused, because it would leave no label to score.

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
        y, _ = arrays.label_array(y)
        domain = arrays.checked_domains(given, y)
        labels = y.tolist() if y.ndim == 1 else []
        classes = {label for label, d in zip(labels, domain, strict=False) if d >= 0} - {
            arrays.MASKED
        }
        scored = (domain < 0) & ~arrays.absent(y, classes).any(axis=1)
        if label_sample is not None:
            scored &= ~arrays.checked_sample(label_sample, len(y))
        other = [
            label
            for label, row in zip(labels, scored, strict=False)
            if row and label not in classes
        ]
        if classes and other:
            named = sorted({*map(repr, other)})
            listed = ", ".join(named[:5]) + (", …" if len(named) > 5 else "")
            warnings.warn(
                f"TransductiveSplit: {len(other)} documents of targets have labels that no source "
                f"has ({listed}) and count as errors; give them None if these stand for no label",
                stacklevel=2,
            )
        if not scored.any():
            why = "no document of a target has a label to score"
            if label_sample is not None and np.any(label_sample):
                why += " outside label_sample; leave some labels out of it"
            raise ValueError(f"TransductiveSplit: {why}")
        for _, rows in arrays.by_domain(domain, scored):
            yield np.arange(len(y)), rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, **given: Any) -> int:
        """Return the number of targets that have labels to score; see `split`."""
        return sum(1 for _ in self.split(X, y, groups, **given))
