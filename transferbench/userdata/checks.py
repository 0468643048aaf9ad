"""Signs of doubtful or worthless results, with what to do about them; no label of a target is used.

The same checks serve `compare`, `evaluate`, `predict` and `run FILE.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.core.documents import label_start
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt
from transferbench.problem import Domain, Fit, Problem
from transferbench.userdata.multilabel import label_warnings

#: Results on fewer documents of a target are never called worthless.
MIN_DOCUMENTS = 10
#: With fewer documents of a class, low reverse accuracy is never worthless.
MIN_OF_CLASS = 5
#: A sign is bad from this share of a target's documents without a feature of the source.
DOUBTFUL_UNRELATED, WORTHLESS_UNRELATED = 0.5, 0.9
#: Share of documents that would need another class for the shares to be those of the source.
FAR = 0.25
#: How far the reverse accuracy is from chance, 1/c, to 1: below the first it is worthless.
WORTHLESS_REVERSE, DOUBTFUL_REVERSE = 0.1, 0.3
#: How far agreement with logistic regression is from chance to 1, to resemble it.
LIKE_REGRESSION = 0.4
#: Probability of so many documents of one class, by the source's shares, that is worthless.
IMPROBABLE = 0.001
#: Classes are unbalanced if the largest is more than so many times the smallest.
UNBALANCED = 3.0

FEATURES_REMEDY = (
    "keep more features: --option min_df=1, tokens=characters (pairs of characters), "
    "stop_words=none or another token_pattern"
)


def check_data(problem: Problem, names: Sequence[str] = ()) -> list[Doubt]:
    """Return doubts about the documents of the targets.

    names: how messages call the targets; by default the names of the domains.
    """
    return [
        Doubt(f"{name}: {doubt.text}", doubt.worthless)
        for name, target in _named(problem, names)
        for doubt in _features(problem, target)
    ]


def check_fit(
    model: str,
    problem: Problem,
    params: Mapping[str, Any],
    fit: Fit,
    reverse: Mapping[str, float],
    names: Sequence[str] = (),
) -> list[Doubt]:
    """Return doubts about the decisions of a model on the targets.

    params: all parameters of the model. reverse: reverse accuracy by name of the target, see
    `criteria.criteria`; targets without one are not checked for it. names: as in `check_data`.
    """
    if problem.family == "multilabel":
        return _label_doubts(problem, fit, names)
    found = [*_assumption(model, problem, params)]
    given = _given_shares(params)
    decisions = [
        scores.argmax(axis=1)
        for domain, scores in zip(problem.domains, fit.scores, strict=True)
        if not domain.seen.all()
    ]
    for (name, target), decided in zip(_named(problem, names), decisions, strict=True):
        doubts = [
            *_decisions(problem, decided, fit.columns == "clusters", "prior" in params, given),
            # Shares given for the target are not those of the source: the sign does not hold.
            *_reverse_accuracy(
                problem, target, decided, reverse.get(target.name) if given is None else None
            ),
        ]
        found += [Doubt(f"{name}: {each.text}", each.worthless) for each in doubts]
    return found


def _label_doubts(problem: Problem, fit: Fit, names: Sequence[str]) -> list[Doubt]:
    """Return doubts about the labels of the targets in a multi-label problem."""
    scores = [s for d, s in zip(problem.domains, fit.scores, strict=True) if not d.seen.all()]
    return [
        Doubt(f"{name}: {text}")
        for (name, _), each in zip(_named(problem, names), scores, strict=True)
        for text in label_warnings(each)
    ]


def shares_text(classes: Sequence[str], shares: np.ndarray) -> str:
    """Return the shares (c,) in per cent, the largest first; of many classes some."""
    order = np.argsort(-shares, kind="stable")
    parts = [f"{classes[i]} {100 * shares[i]:.0f} %" for i in order]
    return ", ".join(parts if len(parts) < 7 else [*parts[:3], "…", *parts[-3:]])


def source_shares(problem: Problem) -> np.ndarray | None:
    """Return (c,) the shares of the classes in the sources; None without a source."""
    return labelled_shares(problem) if problem.sources else None


def _named(problem: Problem, names: Sequence[str]) -> Iterable[tuple[str, Domain]]:
    targets = problem.targets
    return zip(names or [domain.name for domain in targets], targets, strict=True)


def _features(problem: Problem, target: Domain) -> Iterator[Doubt]:
    X, n = sp.csr_array(target.X), target.X.shape[0]
    empty = int(np.sum(np.diff(X.indptr) == 0))
    if empty:
        yield Doubt(
            f"{empty} of {n} documents have no feature left; they are guesses; {FEATURES_REMEDY}."
        )
    if problem.sources:
        in_source = np.zeros(X.shape[1], X.dtype)
        for domain in problem.sources:
            in_source[sp.csr_array(domain.X).indices] = 1
        unrelated = int(np.sum(X @ in_source == 0))
        worthless = n >= MIN_DOCUMENTS and unrelated >= WORTHLESS_UNRELATED * n
        if unrelated - empty:
            remedy = f"; {FEATURES_REMEDY}" if unrelated >= DOUBTFUL_UNRELATED * n else ""
            text = f"{unrelated - empty} of {n} documents share no feature with the source{remedy}."
            yield Doubt(text, worthless)
        elif worthless:
            yield Doubt(f"hardly a document has a feature; {FEATURES_REMEDY}.", True)
    if np.bincount(X.indices, minlength=1).max() < 2:
        yield Doubt(
            f"no two documents share a feature, so nothing is learnt from them; {FEATURES_REMEDY}."
        )


def _given_shares(params: Mapping[str, Any]) -> np.ndarray | None:
    """Return (c,) the target's shares that the user gave; None without."""
    prior = params.get("prior")
    if prior is None or isinstance(prior, str):
        return None
    return np.asarray(np.asarray(prior, float) / np.sum(prior))


def _decisions(
    problem: Problem,
    decided: np.ndarray,
    clusters: bool,
    prior: bool,
    given: np.ndarray | None,
) -> Iterator[Doubt]:
    """Yield doubts about the shares of the classes among the decisions (n,).

    prior: the model has this parameter. given: (c,) the shares that the user stated with it.
    """
    n, c = len(decided), len(problem.classes)
    expected = source_shares(problem) if given is None else given
    kind = "class" if problem.sources and not clusters else "cluster"
    only = np.unique(decided)
    if len(only) == 1:
        share = 1 / c if expected is None or clusters else expected[only[0]]
        if n > 1:
            name = problem.classes[only[0]] if kind == "class" else ""
            remedy = "set other parameters (--set)"
            if kind == "class":
                other = "label more documents of other classes, or change the features (--option)"
                remedy = _remedy(prior, given is not None) if prior else other
            text = f"all {n} documents are in one {kind}{name and f', {name}'}; {remedy}."
            yield Doubt(text, bool(n >= MIN_DOCUMENTS and share**n < IMPROBABLE))
        return
    if expected is None or clusters or n < MIN_DOCUMENTS:
        return
    found = np.bincount(decided, minlength=c) / n
    if np.abs(found - expected).sum() / 2 > FAR:
        yield Doubt(
            f"shares of the classes are {shares_text(problem.classes, found)}, "
            f"{'in the source' if given is None else 'given are'} "
            f"{shares_text(problem.classes, expected)}; {_remedy(prior, given is not None)}."
        )


def _remedy(prior: bool, given: bool) -> str:
    if given:
        return "check the order of the given shares, or choose another model"
    if prior:
        return "if shares like the source's are expected: --set prior=source, or give them"
    return "if shares like the source's are expected, do not trust these labels"


def _reverse_accuracy(
    problem: Problem, target: Domain, decided: np.ndarray, reverse: float | None
) -> Iterator[Doubt]:
    """Yield a doubt if a model trained on the decisions (n,) labels the source badly."""
    if reverse is None or len(decided) < MIN_DOCUMENTS:
        return
    chance = 1 / len(problem.classes)
    above = _above_chance(problem, reverse)
    if above >= DOUBTFUL_REVERSE:
        return
    text = (
        f"low reverse accuracy: trained on these labels, the model is right on {reverse:.0%} of "
        f"the source, {chance:.0%} is chance; check the column of labels, or change the features "
        "(--option)."
    )
    enough = np.bincount(decided, minlength=len(problem.classes)).min() >= MIN_OF_CLASS
    worthless = above < WORTHLESS_REVERSE and not _resembles_regression(problem, target, decided)
    yield Doubt(text.replace("%", " %"), bool(enough and worthless))


def _above_chance(problem: Problem, accuracy: float) -> float:
    """Return how far an accuracy is from chance, 0, to 1."""
    chance = 1 / len(problem.classes)
    return (accuracy - chance) / (1 - chance)


def _resembles_regression(problem: Problem, target: Domain, decided: np.ndarray) -> bool:
    """True if the decisions (n,) are mostly those of logistic regression, but not all of them.

    Such decisions may be right in spite of low reverse accuracy: k-means finds other clusters in
    the source. In the experiment `choice` this was so for 4 of the 32 runs below the limit.
    """
    place = next(i for i, domain in enumerate(problem.domains) if domain is target)
    agreed = float(np.mean(label_start(problem)[place].argmax(axis=1) == decided))
    return agreed < 1 and _above_chance(problem, agreed) >= LIKE_REGRESSION


def _assumption(model: str, problem: Problem, params: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield a doubt if the model assumes classes of equal size and the source's differ much."""
    shares = source_shares(problem)
    if params.get("prior") != "equal" or shares is None:
        return
    if shares.max() > UNBALANCED * shares.min():
        yield Doubt(
            f"{model} assumes that the target's classes have equal shares; in the source they are "
            f"{shares_text(problem.classes, shares)}; --set prior=source or =estimated drops the "
            "assumption."
        )
