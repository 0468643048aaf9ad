"""Signs of doubtful or worthless results, with what to do about them; no label of a target is used.

The same checks serve `compare`, `evaluate`, `predict` and `run FILE.yaml`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.core.documents import label_start
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt
from transferbench.measures import THRESHOLD
from transferbench.problem import Domain, Fit, Problem

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
    given = params.get("prior")
    given = None if given is None or isinstance(given, str) else np.asarray(given) / np.sum(given)
    expected = source_shares(problem) if given is None else given
    doubts = []
    of_targets = (s for d, s in zip(problem.domains, fit.scores, strict=True) if not d.seen.all())
    for (name, target), scores in zip(_named(problem, names), of_targets, strict=True):
        decided = scores.argmax(axis=1)
        if problem.family == "multilabel":
            of_target = [*_labels(scores)]
        elif fit.columns == "clusters" or expected is None:
            of_target = [*_one_class(decided, None, problem.classes)]
        else:
            of_target = [*_one_class(decided, expected, problem.classes)]
            if not of_target:
                of_target += _shares(problem, decided, expected, params, given is not None)
            # Shares given for the target are not those of the source: the sign does not hold.
            if given is None and target.name in reverse:
                of_target += _reverse(problem, target, decided, reverse[target.name])
        doubts += [Doubt(f"{name}: {doubt.text}", doubt.worthless) for doubt in of_target]
    return doubts


def _labels(scores: np.ndarray) -> Iterator[Doubt]:
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
    in_source = np.zeros(X.shape[1], X.dtype)
    for domain in problem.sources:
        in_source[sp.csr_array(domain.X).indices] = 1
    unrelated = int(np.sum(X @ in_source == 0)) if problem.sources else empty
    worthless = (
        bool(problem.sources) and n >= MIN_DOCUMENTS and unrelated >= WORTHLESS_UNRELATED * n
    )
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


def _one_class(
    decided: np.ndarray, expected: np.ndarray | None, classes: Sequence[str]
) -> Iterator[Doubt]:
    """Yield a doubt if all decisions (n,) are equal; expected (c,): shares, None for clusters."""
    n, only = len(decided), decided[0]
    if n > 1 and (decided == only).all():
        share = 1 / len(classes) if expected is None else expected[only]
        place = "cluster" if expected is None else f"class, {classes[only]}"
        remedy = "set other parameters (--set) or features (--option)"
        if expected is not None:
            remedy = f"label more documents of other classes, or {remedy}"
        worthless = bool(n >= MIN_DOCUMENTS and share**n < IMPROBABLE)
        yield Doubt(f"all {n} documents are in one {place}; {remedy}.", worthless)


def _shares(
    problem: Problem,
    decided: np.ndarray,
    expected: np.ndarray,
    params: Mapping[str, Any],
    given: bool,
) -> Iterator[Doubt]:
    """Yield a doubt if shares of the decisions (n,) are far from those of the source or given."""
    shares = np.bincount(decided, minlength=len(expected)) / len(decided)
    if len(decided) < MIN_DOCUMENTS or np.abs(shares - expected).sum() / 2 <= FAR:
        return
    remedy = "if shares like the source's are expected, do not trust these labels"
    if given:
        remedy = "check the order of the given shares, or choose another model"
    elif "prior" in params:
        remedy = "if shares like the source's are expected: --set prior=source, or give them"
    yield Doubt(
        f"shares of the classes are {shares_text(problem.classes, shares)}, "
        f"{'given are' if given else 'in the source'} {shares_text(problem.classes, expected)}; "
        f"{remedy}."
    )


def _reverse(
    problem: Problem, target: Domain, decided: np.ndarray, reverse: float
) -> Iterator[Doubt]:
    """Yield a doubt if a model trained on the decisions (n,) labels the source badly."""
    above = _above_chance(problem, reverse)
    if len(decided) < MIN_DOCUMENTS or above >= DOUBTFUL_REVERSE:
        return
    text = (
        f"low reverse accuracy: trained on these labels, the model is right on {100 * reverse:.0f} "
        f"% of the source, {100 / len(problem.classes):.0f} % is chance; check the column of "
        "labels, or change the features (--option)."
    )
    enough = np.bincount(decided, minlength=len(problem.classes)).min() >= MIN_OF_CLASS
    worthless = above < WORTHLESS_REVERSE and not _resembles_regression(problem, target, decided)
    yield Doubt(text, bool(enough and worthless))


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
