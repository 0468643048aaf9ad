"""Label-free criteria and doubts: how far to trust a fit, without any label of a target.

A criterion is a number. A doubt is a warning of a doubtful or worthless result, with the remedy.
`compare`, `evaluate`, `predict` and `run FILE.yaml` print the same doubts.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench import models
from transferbench.core.documents import label_start
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt
from transferbench.measures import THRESHOLD, explained_variance, normalize_scores
from transferbench.parameters import Params
from transferbench.problem import Domain, Fit, Problem

#: Criteria by name, each from 0 to 1; more is better.
MEANINGS = {
    "confidence": "mean confidence in the decisions",
    "shares": "overlap of the decided class shares with the source's",
    "agreement": "share of documents decided as by logistic regression",
    "explained": "share of the documents' variance that lies between the decided classes",
    "reverse-lr": "accuracy on the source of logistic regression trained on the decisions",
    "reverse": "accuracy on the source of the same model trained on the decisions",
}

#: Most documents of a problem whose reverse accuracy is computed.
MAX_DOCUMENTS = 50_000
#: Results on fewer documents of a target are never called worthless.
MIN_DOCUMENTS = 10
#: With fewer documents of a class, low reverse accuracy is never worthless.
MIN_OF_CLASS = 5
#: Shares of a target's documents without a feature of the source from which a result is doubtful,
#: and worthless.
DOUBTFUL_UNRELATED, WORTHLESS_UNRELATED = 0.5, 0.9
#: Class shares are far from the source's if more than this part of the documents would need another
#: class to have them.
FAR = 0.25
#: Reverse accuracy on a scale from chance (0) to perfect (1): below the first number a result is
#: worthless, below the second doubtful.
WORTHLESS_REVERSE, DOUBTFUL_REVERSE = 0.1, 0.3
#: Agreement with logistic regression, on the same scale, from which decisions resemble it.
LIKE_REGRESSION = 0.4
#: A result of one class is worthless if the source's shares give it a lower probability than this.
IMPROBABLE = 0.001

REMEDY = "set other parameters (--set) or features (--option)"
FEATURES_REMEDY = (
    "keep more features: --option min_df=1, tokens=characters (pairs of characters), "
    "stop_words=none or another token_pattern"
)


def criteria(
    model: str, problem: Problem, params: Params, seed: int | None, fit: Fit
) -> dict[str, dict[str, float]]:
    """Return the criteria of MEANINGS of each target: {target: {criterion: value}}.

    model, params and seed made the fit of a transfer problem; the model is fitted once more for
    each target. A criterion that the model or logistic regression cannot give is left out.
    """
    labelled, lr = labelled_shares(problem), label_start(problem)
    reverse = reverse_accuracies(model, problem, params, seed, fit)
    found = {}
    for domain, scores, P in zip(problem.domains, fit.scores, lr, strict=True):
        if domain.seen.all():
            continue
        decided = scores.argmax(axis=1)
        shares = np.bincount(decided, minlength=len(problem.classes)) / len(decided)
        values = {
            "confidence": float(normalize_scores(scores).max(axis=1).mean()),
            "shares": float(np.minimum(labelled, shares).sum()),  # 1 − total variation distance
            "agreement": float(np.mean(decided == P.argmax(axis=1))),
            "explained": explained_variance(domain.X, decided),
            "reverse-lr": reverse_accuracy("lr", problem, domain, decided, {}, None),
            "reverse": reverse.get(domain.name),
        }
        found[domain.name] = {name: v for name, v in values.items() if v is not None}
    return found


def reverse_accuracies(
    model: str, problem: Problem, params: Params, seed: int | None, fit: Fit
) -> dict[str, float]:
    """Return the reverse accuracy of each target of a transfer problem, see `reverse_accuracy`.

    It takes about as long as the fit, so problems of more than MAX_DOCUMENTS are left out, as are
    warnings, which concern the source.
    """
    documents = sum(len(domain.seen) for domain in problem.domains)
    if problem.family != "transfer" or documents > MAX_DOCUMENTS:
        return {}
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for domain, scores in zip(problem.domains, fit.scores, strict=True):
            if not domain.seen.all():
                decided = scores.argmax(axis=1)
                value = reverse_accuracy(model, problem, domain, decided, params, seed)
                if value is not None:
                    found[domain.name] = value
    return found


def reverse_accuracy(
    model: str,
    problem: Problem,
    target: Domain,
    decided: np.ndarray,
    params: Params,
    seed: int | None,
) -> float | None:
    """Return the accuracy on the sources of a model trained on a target's decisions (n,).

    If all decisions are one class, every document of the sources gets it. None if the model cannot
    be fitted.
    """
    sources = problem.sources
    y = np.concatenate([domain.Y.argmax(axis=1) for domain in sources])
    if len(np.unique(decided)) == 1:
        return float(np.mean(y == decided[0]))
    labelled = replace(
        target, Y=np.eye(len(problem.classes))[decided], seen=np.ones(len(decided), bool)
    )
    unlabelled = [
        replace(domain, Y=np.zeros_like(domain.Y), seen=np.zeros_like(domain.seen))
        for domain in sources
    ]
    reverse = replace(problem, domains=(labelled, *unlabelled))
    try:
        fit = models.fit(model, reverse, params, seed=seed, watch=None)
    except (ValueError, ArithmeticError):
        return None
    back = np.concatenate([scores.argmax(axis=1) for scores in fit.scores[1:]])
    return float(np.mean(back == y))


def check_data(problem: Problem, names: Sequence[str] = ()) -> list[Doubt]:
    """Return doubts about the documents of the targets.

    names: how messages call the targets; by default the names of the domains.
    """
    in_source = np.zeros(problem.domains[0].X.shape[1])
    for domain in problem.sources:
        in_source[sp.csr_array(domain.X).indices] = 1
    named = zip(names or [domain.name for domain in problem.targets], problem.targets, strict=True)
    return [
        Doubt(f"{name}: {doubt.text}", doubt.worthless)
        for name, target in named
        for doubt in _feature_doubts(sp.csr_array(target.X), in_source)
    ]


def _feature_doubts(X: sp.csr_array, in_source: np.ndarray) -> Iterator[Doubt]:
    """Yield doubts about documents X (n, d); in_source (d,): 1 for features of the source."""
    n, has_source = X.shape[0], bool(in_source.any())
    empty = int(np.sum(np.diff(X.indptr) == 0))
    unrelated = int(np.sum(X @ in_source == 0)) if has_source else empty
    worthless = has_source and n >= MIN_DOCUMENTS and unrelated >= WORTHLESS_UNRELATED * n
    if empty:
        text = f"{empty} of {n} documents have no feature left; they are guesses"
        yield Doubt(f"{text}; {FEATURES_REMEDY}.", worthless and empty == unrelated)
    if unrelated > empty:
        remedy = f"; {FEATURES_REMEDY}" if unrelated >= DOUBTFUL_UNRELATED * n else ""
        text = f"{unrelated - empty} of {n} documents share no feature with the source{remedy}."
        yield Doubt(text, worthless)
    if np.bincount(X.indices, minlength=1).max() < 2:
        yield Doubt(
            f"no two documents share a feature, so nothing is learnt from them; {FEATURES_REMEDY}."
        )


def check_fit(
    problem: Problem,
    params: Mapping[str, Any],
    fit: Fit,
    reverse: Mapping[str, float],
    names: Sequence[str] = (),
) -> list[Doubt]:
    """Return doubts about the decisions of a model on the targets.

    params: all parameters of the model. reverse: `reverse_accuracies` of the fit; targets without
    one are not checked for it. names: as in `check_data`.
    """
    called = iter(names or [domain.name for domain in problem.targets])
    doubts = []
    for i, (domain, scores) in enumerate(zip(problem.domains, fit.scores, strict=True)):
        if domain.seen.all():
            continue
        decided = scores.argmax(axis=1)
        if problem.family == "multilabel":
            of_target = [*_label_doubts(scores)]
        elif fit.columns == "clusters" or not problem.sources:
            of_target = _one_class(decided, 1 / len(problem.classes), "cluster", REMEDY)
        else:
            of_target = [*_decision_doubts(problem, i, decided, params, reverse)]
        name = next(called)
        doubts += [Doubt(f"{name}: {doubt.text}", doubt.worthless) for doubt in of_target]
    return doubts


def _label_doubts(scores: np.ndarray) -> Iterator[Doubt]:
    """Yield doubts about scores (n, c): documents without a label, labels never given."""
    decided = scores >= THRESHOLD
    without = int(np.sum(~decided.any(axis=1)))
    if without:
        yield Doubt(
            f"{without} of {len(scores)} documents get no label; --set ensure_one_label=true gives "
            "each its best one."
        )
    never = int(np.sum(~decided.any(axis=0)))
    if never and without < len(scores):
        yield Doubt(f"{never} of {decided.shape[1]} labels are given to no document.")


def _one_class(decided: np.ndarray, share: float, place: str, remedy: str) -> list[Doubt]:
    """Return a doubt if all decisions (n,) are equal; share: the expected one of that class."""
    n = len(decided)
    if n < 2 or (decided != decided[0]).any():
        return []
    worthless = bool(n >= MIN_DOCUMENTS and share**n < IMPROBABLE)
    return [Doubt(f"all {n} documents are in one {place}; {remedy}.", worthless)]


def _decision_doubts(
    problem: Problem,
    i: int,
    decided: np.ndarray,
    params: Mapping[str, Any],
    reverse: Mapping[str, float],
) -> Iterator[Doubt]:
    """Yield doubts about the decisions (n,) of a model on domain i; see `check_fit`.

    Expected shares are those that the user gives, else those of the source.
    """
    classes, expected = problem.classes, labelled_shares(problem)
    prior = params.get("prior", "source")
    given = prior is not None and not isinstance(prior, str)
    if given:
        expected = np.asarray(prior) / np.sum(prior)
    place = f"class, {classes[decided[0]]}"
    remedy = f"label more documents of other classes, or {REMEDY}"
    same = _one_class(decided, expected[decided[0]], place, remedy)
    yield from same
    if same or len(decided) < MIN_DOCUMENTS:
        return
    counts = np.bincount(decided, minlength=len(classes))
    shares = counts / len(decided)
    if np.abs(shares - expected).sum() / 2 > FAR:
        remedy = "if shares like the source's are expected, do not trust these labels"
        if given:
            remedy = "check the order of the given shares, or choose another model"
        elif "prior" in params:
            remedy = "if shares like the source's are expected: --set prior=source, or give them"
        yield Doubt(
            f"shares of the classes are {shares_text(classes, shares)}, "
            f"{'given are' if given else 'in the source'} {shares_text(classes, expected)}; "
            f"{remedy}."
        )
    accuracy = reverse.get(problem.domains[i].name, 1.0)
    # Shares given for the target are not those of the source: the sign does not hold.
    if given or _above_chance(accuracy, classes) >= DOUBTFUL_REVERSE:
        return
    # Decisions that are mostly those of logistic regression, but not all, may be right: k-means
    # finds other clusters in the source. In the experiment `choice` this was so for 4 of 32 runs.
    agreed = float(np.mean(label_start(problem)[i].argmax(axis=1) == decided))
    resembles = agreed < 1 and _above_chance(agreed, classes) >= LIKE_REGRESSION
    worthless = _above_chance(accuracy, classes) < WORTHLESS_REVERSE and not resembles
    yield Doubt(
        f"low reverse accuracy: trained on these labels, the model is right on "
        f"{100 * accuracy:.0f} % of the source, {100 / len(classes):.0f} % is chance; check the "
        "column of labels, or change the features (--option).",
        bool(counts.min() >= MIN_OF_CLASS and worthless),
    )


def _above_chance(accuracy: float, classes: Sequence[str]) -> float:
    """Return an accuracy on a scale from chance (0) to perfect (1)."""
    chance = 1 / len(classes)
    return (accuracy - chance) / (1 - chance)


def shares_text(classes: Sequence[str], shares: np.ndarray) -> str:
    """Return the shares (c,) in per cent, the largest first; of many classes some."""
    order = np.argsort(-shares, kind="stable")
    parts = [f"{classes[i]} {100 * shares[i]:.0f} %" for i in order]
    return ", ".join(parts if len(parts) < 7 else [*parts[:3], "…", *parts[-3:]])
