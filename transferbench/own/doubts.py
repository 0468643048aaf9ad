"""Doubts: reasons not to trust a result, found without any label of a target.

A doubt is a warning that a result is doubtful or worthless, with the remedy. `compare`, `predict`
and `run FILE.yaml` print the same doubts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from transferbench.core.priors import labelled_shares
from transferbench.core.scale import unit_rows
from transferbench.errors import Doubt
from transferbench.evidence.thresholds import WEAK_AGREEMENT, WIDE
from transferbench.measures import THRESHOLD
from transferbench.messages import short_label
from transferbench.models.transfer.consensus import SOURCE_COUNT
from transferbench.own.separation import DIFFERENT, Separation, domain_area
from transferbench.problem import Domain, Fit, Problem

#: Models without transfer.
NO_TRANSFER = ("lr", "svm")
#: Results on fewer documents of a target are never called worthless.
MIN_DOCUMENTS = 10
#: Shares of a target's documents without a feature of the source from which a result is doubtful,
#: and worthless.
DOUBTFUL_UNRELATED, WORTHLESS_UNRELATED = 0.5, 0.9
#: Share of a source's documents without a feature from which it is doubtful.
EMPTY_SOURCE = 0.1
#: Class shares differ if they, or their odds, are this many times as large or as small as expected,
#: and if chance makes so large a difference with a lower probability than the second number.
TIMES, CHANCE = 3, 0.01
#: A result of one class is worthless if the source's shares give it a lower probability than this.
IMPROBABLE = 0.001
#: Most classes that a doubt names.
MAX_NAMED = 8
#: Number and share of a target's documents in the source from which the target is doubtful, and
#: the share from which results on it are worthless.
MIN_SHARED, DOUBTFUL_SHARED, WORTHLESS_SHARED = 3, 0.05, 0.9

FEATURES_REMEDY = (
    "keep more features: the option min_df=1 or, for texts, tokens=characters (pairs of "
    "characters; a word has two or more letters or digits), stop_words=none or another "
    "token_pattern"
)
EMPTY_REMEDY = f"remove empty texts, or {FEATURES_REMEDY}"
LABEL_REMEDY = "label a sample of the target"

#: No features with names are known.
UNNAMED: Mapping[str, Separation] = MappingProxyType({})
#: Texts of doubts, each with True if the result should not be used.
Texts: TypeAlias = Iterator[tuple[str, bool]]


def data_doubts(problem: Problem, separations: Mapping[str, Separation] = UNNAMED) -> list[Doubt]:
    """Return doubts about the documents of the targets.

    Parameters
    ----------
    problem
        The problem.
    separations
        Words or features that separate targets from the source, see `separation.separations`.
    """
    in_source = np.zeros(problem.domains[0].X.shape[1])
    for source in problem.sources:
        in_source[sp.csr_array(source.X).indices] = 1
    of_domains = [(target.name, _feature_doubts(target, in_source)) for target in problem.targets]
    of_domains += [("", _label_doubts(problem))]
    of_domains += [(source.name, _source_doubts(source)) for source in problem.sources]
    of_domains += [(name, _difference_doubts(found)) for name, found in separations.items()]
    doubts = [Doubt(*text, name) for name, texts in of_domains for text in texts]
    return doubts + overlap_doubts(problem)


def _feature_doubts(target: Domain, in_source: np.ndarray) -> Texts:
    """Yield doubts about a target whose documents lack features of the sources (d,) 0/1."""
    X, has_source = sp.csr_array(target.X), bool(in_source.any())
    n, empty = X.shape[0], int(np.sum(np.diff(X.indptr) == 0))
    unrelated = int(np.sum(X @ in_source == 0)) if has_source else empty
    worthless = has_source and n >= MIN_DOCUMENTS and unrelated >= WORTHLESS_UNRELATED * n
    if empty:
        text = f"{empty} of {n} documents have no feature left and are guesses; {EMPTY_REMEDY}"
        yield text, worthless and empty == unrelated
    if unrelated > empty:
        remedy = f"; {FEATURES_REMEDY}" if unrelated >= DOUBTFUL_UNRELATED * n else ""
        text = f"{unrelated - empty} of {n} documents share no feature with the source{remedy}"
        yield text, worthless
    if n > 1 and np.bincount(X.indices, minlength=1).max() < 2:
        yield f"no two documents share a feature; {FEATURES_REMEDY}", False


def _label_doubts(problem: Problem) -> Texts:
    """Yield a doubt about classes with fewer than three labels."""
    labelled = [domain.Y[domain.seen] for domain in problem.domains]
    counts = np.concatenate(labelled).sum(axis=0)
    rare = [name for name, n in zip(problem.classes, counts, strict=True) if 0 < n < 3]
    if rare and problem.family == "transfer" and len(labelled[0]) >= MIN_DOCUMENTS:
        named = ", ".join(repr(short_label(name)) for name in rare[:3]) + ", …" * (len(rare) > 3)
        yield f"fewer than 3 labelled documents are {named}; correct or remove these labels", False


def _source_doubts(source: Domain) -> Texts:
    """Yield a doubt about a source with documents without features."""
    n, empty = len(source.seen), int(np.sum(np.diff(sp.csr_array(source.X).indptr) == 0))
    if empty >= EMPTY_SOURCE * n:
        text = f"{empty} of {n} labelled documents have no feature and teach nothing"
        yield f"{text}; {EMPTY_REMEDY}", False


def _difference_doubts(found: Separation) -> Texts:
    """Yield a doubt about a target that differs from the sources by more than another topic."""
    if found.suspicious:
        strip = " (the option html=strip removes HTML)" if found.has_html else ""
        yield f"{found}; if these are markup or signatures, remove them{strip}", False


def overlap_doubts(problem: Problem) -> list[Doubt]:
    """Return a doubt for each target that shares documents with a source.

    Two documents are the same if their features, scaled to length one, are the same. Short
    documents can be the same by chance. The share of repeated documents within the sources is the
    expected share, and only an excess over it is doubtful.
    """
    if not problem.sources:
        return []
    directions = np.random.default_rng(0).standard_normal((problem.domains[0].X.shape[1], 2))
    sources, repeated = {}, 0
    for domain in problem.sources:
        sources[domain.name], counts = np.unique(_keys(domain, directions), return_counts=True)
        repeated += int(counts[counts > 1].sum())
    chance = repeated / sum(len(domain.seen) for domain in problem.sources)
    doubts = []
    for target in problem.targets:
        keys, n = _keys(target, directions), len(target.seen)
        shared = {source: np.isin(keys, source_keys) for source, source_keys in sources.items()}
        same = int(np.any([*shared.values()], axis=0).sum())
        excess = same / n - chance
        if same >= MIN_SHARED and excess >= DOUBTFUL_SHARED:
            where = ", ".join(source for source, flags in shared.items() if flags.any())
            also = f"{same} of {n} documents are also in the source ({where})"
            text = f"{also}, so results are too good; remove them from one of both"
            worthless = excess >= WORTHLESS_SHARED * (1 - chance)
            doubts.append(Doubt(text, worthless, target.name))
    return doubts


def _keys(domain: Domain, directions: np.ndarray) -> np.ndarray:
    """Return a number for each document with a feature; equal documents have the same number."""
    # It is the rounded projection of the document, at length one, on two random directions (d, 2).
    X = sp.csr_array(domain.X, dtype=np.float64)  # in float32 lengths change the last digits
    X = unit_rows(X[np.flatnonzero(np.diff(X.indptr) >= 1)])
    return np.asarray(np.round(X @ directions, 5).view(complex).ravel())


def fit_doubts(
    model: str,
    problem: Problem,
    params: Mapping[str, Any],
    fit: Fit,
    separations: Mapping[str, Separation] = UNNAMED,
) -> list[Doubt]:
    """Return doubts about the decisions of a model on the targets.

    Parameters
    ----------
    model
        Name of the model.
    problem
        The problem.
    params
        All parameters of the model.
    fit
        Its fit.
    separations
        Words or features that separate targets from the source, see `separation.separations`.
    """
    doubts = []
    for target, scores in zip(problem.domains, fit.scores, strict=True):
        if target.seen.all():
            continue
        decided = scores.argmax(axis=1)
        if problem.family == "multilabel":
            texts = _label_set_doubts(scores >= THRESHOLD)
        elif fit.columns == "clusters" or not problem.sources:
            texts = _one_group_doubts(decided, 1 / len(problem.classes), "cluster")
        else:
            texts = _share_doubts(problem, target, decided, params, "area" in fit.diagnostics)
        doubts += [Doubt(*text, target.name) for text in texts]
        if model in NO_TRANSFER and not target.seen.any():  # labels would train the model
            found = separations.get(target.name) or Separation(domain_area(problem, target))
            # `data_doubts` names what separates suspicious ones.
            why = "the source differs, see what separates it" if found.suspicious else f"{found}"
            if found.area >= DIFFERENT:
                text = f"{why}; this model learns from the source alone"
                doubts.append(Doubt(text, target=target.name))
    return doubts + [Doubt(text) for text in _uncertain(fit.diagnostics)]


def _uncertain(diagnostics: Mapping[str, float]) -> Iterator[str]:
    """Yield doubts about a consensus whose class shares or members are uncertain."""
    width, agreement = diagnostics.get("share_width", 0), diagnostics.get("agreement", 1.0)
    if width > WIDE or diagnostics.get("share_peaks", 0) > 1:
        text = f"class shares that are {100 * width:.0f} points apart fit the data nearly equally"
        yield f"{text} well; {LABEL_REMEDY}"
    if agreement < WEAK_AGREEMENT:
        text = f"its members agree little ({agreement:.2f}, below {WEAK_AGREEMENT})"
        yield f"{text}; {LABEL_REMEDY}"


def _label_set_doubts(decided: np.ndarray) -> Texts:
    """Yield doubts about decisions (n, c): documents without a label, and labels never given."""
    without, never = (int(np.sum(~decided.any(axis=axis))) for axis in (1, 0))
    if without:
        remedy = "the parameter ensure_one_label=true gives each its best one"
        yield f"{without} of {len(decided)} documents get no label; {remedy}", False
    if never and without < len(decided):
        yield f"{never} of {decided.shape[1]} labels are given to no document", False


def _one_group_doubts(decided: np.ndarray, share: float, group: str) -> Texts:
    """Yield a doubt if all decisions (n,) are one class or cluster, of an expected share."""
    n = len(decided)
    if n > 1 and (decided == decided[0]).all():
        worthless = bool(n >= MIN_DOCUMENTS and share**n < IMPROBABLE)
        yield f"all {n} documents are in one {group}; name another model", worthless


def _share_doubts(
    problem: Problem,
    target: Domain,
    decided: np.ndarray,
    params: Mapping[str, Any],
    estimated: bool,
) -> Texts:
    """Yield doubts about the class shares of decisions (n,) beside the expected ones."""
    # Expected are the shares that the user gives, or else those of the source. With a labelled
    # sample of the target, they are those from which `consensus` begins.
    # `estimated`: True if the model estimates the shares, as `consensus` does. Then other ones than
    # expected are no reason to doubt, but few or no documents of a class are.
    names, sample = [*map(short_label, problem.classes)], target.Y[target.seen].sum(axis=0)
    of_sources = labelled_shares(replace(problem, domains=problem.sources))
    expected = (sample + SOURCE_COUNT * of_sources) / (sample.sum() + SOURCE_COUNT)
    whose = "of the source's and the sample's" if sample.any() else "of the source's"
    remedy = ""
    if "prior" in params:
        remedy = f"; if you know better, give the parameter prior, in the order {', '.join(names)}"
    prior = params.get("prior")
    if prior is not None and not isinstance(prior, str):
        total = float(np.sum(prior))
        expected, whose = np.asarray(prior) / total, "are given"
        remedy = "; check the order of the shares"
        if min(prior) < 1 and abs(total - 1) > 0.01:
            yield f"prior: the class shares sum to {total:g}, and are divided by it", False
        chances = _by_chance(sample, expected)
        k = chances.argmin()
        if chances[k] < CHANCE:
            text = f"{100 * expected[k]:.0f} % of the documents are given as {names[k]}, but "
            text += f"{sample[k]:.0f} of {sample.sum():.0f} labelled ones are; check the prior"
            yield text, False
    counts = np.bincount(decided, minlength=len(names))
    shares = counts / len(decided)
    yield from _one_group_doubts(decided, expected[decided[0]], f"class, {names[decided[0]]}")
    differs = (_by_chance(counts, expected) < CHANCE) & (shares < 1).all()
    odds, usual = shares * (1 - expected), expected * (1 - shares)
    far = differs & ((odds > TIMES * usual) | (TIMES * odds < usual))
    few = far & (TIMES * shares < expected)
    if few.any():
        listed = [
            f"{names[k]} ({100 * shares[k]:.0f} %, {100 * expected[k]:.0f} % {whose})"
            for k in np.flatnonzero(few)
        ]
        text = ", ".join(listed[:MAX_NAMED]) + ", …" * (len(listed) > MAX_NAMED)
        absent = "if the target has no such documents, remove the class from the source"
        yield f"few or no documents are {text}; {absent}{remedy}", False
    elif far.any() and not estimated:
        k = np.where(far, np.abs(shares - expected), 0).argmax()
        text = f"{100 * shares[k]:.0f} % of the documents are {names[k]}"
        yield f"{text}, {100 * expected[k]:.0f} % {whose}{remedy}", False


def _by_chance(counts: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the probability (c,) of counts that are at least as far from expected shares."""
    from scipy.special import bdtr, bdtrc

    n, p = int(counts.sum()), expected.clip(0, 1)
    return np.asarray(np.minimum(bdtr(counts, n, p), bdtrc(counts - 1, n, p)))
