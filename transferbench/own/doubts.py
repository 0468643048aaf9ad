"""Doubts: reasons not to trust a result, found without any label of a target.

A doubt is a warning that a result is doubtful or worthless, with the remedy. `compare`, `predict`
and `run FILE.yaml` print the same doubts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

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
#: Class shares are far from the source's if more than this part of the documents would need another
#: class to have them.
FAR = 0.25
#: A result of one class is worthless if the source's shares give it a lower probability than this.
IMPROBABLE = 0.001
#: A class has hardly any document if its share is less than this part of the expected one. In the
#: experiment `choice` no class is so rare.
RARE = 0.2
#: Most classes that a doubt names.
MAX_NAMED = 8
#: Number and share of a target's documents in the source from which the target is doubtful, and
#: the share from which results on it are worthless.
MIN_SHARED, DOUBTFUL_SHARED, WORTHLESS_SHARED = 3, 0.05, 0.9

FEATURES_REMEDY = (
    "keep more features: --option min_df=1 or, for texts, tokens=characters (pairs of "
    "characters), stop_words=none or another token_pattern"
)


EMPTY_REMEDY = f"remove empty texts, or {FEATURES_REMEDY}"

#: No features with names are known.
UNNAMED: Mapping[str, Separation] = MappingProxyType({})


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
    for domain in problem.sources:
        in_source[sp.csr_array(domain.X).indices] = 1
    doubts = [
        Doubt(text, worthless, target.name)
        for target in problem.targets
        for text, worthless in _feature_doubts(sp.csr_array(target.X), in_source)
    ]
    labelled = [domain.Y[domain.seen] for domain in problem.domains]
    counts = np.concatenate(labelled).sum(axis=0)
    if rare := [name for name, n in zip(problem.classes, counts, strict=True) if 0 < n < 3]:
        named = ", ".join(repr(short_label(name)) for name in rare[:3])
        text = f"fewer than 3 labelled documents are {named}{', …' * (len(rare) > 3)}"
        if problem.family == "transfer" and len(labelled[0]) >= MIN_DOCUMENTS:
            doubts.append(Doubt(f"{text}; correct or remove these labels"))
    for source in problem.sources:
        n, empty = len(source.seen), int(np.sum(np.diff(sp.csr_array(source.X).indptr) == 0))
        if empty >= EMPTY_SOURCE * n:
            text = f"{empty} of {n} labelled documents have no feature and teach nothing"
            doubts.append(Doubt(f"{text}; {EMPTY_REMEDY}", target=source.name))
    for target, found in separations.items():
        if found.suspicious:
            strip = " (--option html=strip removes HTML)" if found.has_html else ""
            text = f"{found}; if these are markup or signatures, remove them{strip}"
            doubts.append(Doubt(text, target=target))
    return doubts + overlap_doubts(problem)


def _feature_doubts(X: sp.csr_array, in_source: np.ndarray) -> Iterator[tuple[str, bool]]:
    """Yield the text of each doubt, and True if the target's results are worthless."""
    # `X`: (n, d) documents of the target.
    # `in_source`: (d,) 1 for features of the source, else 0.
    n, has_source = X.shape[0], bool(in_source.any())
    empty = int(np.sum(np.diff(X.indptr) == 0))
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
        if problem.family == "multilabel":
            texts = _label_doubts(scores)
        elif fit.columns == "clusters" or not problem.sources:
            texts = _one_class(scores.argmax(axis=1), 1 / len(problem.classes), "cluster")
        else:
            matched = "area" in fit.diagnostics  # consensus decides by shares
            texts = _decision_doubts(problem, target, scores.argmax(axis=1), params, matched)
        doubts += [Doubt(text, worthless, target.name) for text, worthless in texts]
    for target in problem.targets if model in NO_TRANSFER else ():
        if target.seen.any():  # its labels train the model
            continue
        found = separations.get(target.name) or Separation(domain_area(problem, target))
        if found.area >= DIFFERENT:
            # `data_doubts` names what separates suspicious ones.
            why = "the source differs, see what separates it" if found.suspicious else str(found)
            text = f"{why}; this model learns from the source alone"
            doubts.append(Doubt(text, target=target.name))
    width, peaks = (fit.diagnostics.get(name, 0) for name in ("share_width", "share_peaks"))
    if width > WIDE or peaks > 1:
        why = (
            f"class shares that are {100 * width:.0f} points apart fit the data nearly equally well"
        )
        doubts.append(Doubt(f"{why}; label a sample (--label-sample)"))
    agreement = fit.diagnostics.get("agreement", 1.0)
    if agreement < WEAK_AGREEMENT:
        why = f"its members agree little ({agreement:.2f}, below {WEAK_AGREEMENT})"
        doubts.append(Doubt(f"{why}; label a sample (--label-sample)"))
    return doubts


def _label_doubts(scores: np.ndarray) -> Iterator[tuple[str, bool]]:
    """Yield doubts about scores (n, c): documents without a label, and labels never given."""
    decided = scores >= THRESHOLD
    without = int(np.sum(~decided.any(axis=1)))
    if without:
        remedy = "--set ensure_one_label=true gives each its best one"
        yield f"{without} of {len(scores)} documents get no label; {remedy}", False
    never = int(np.sum(~decided.any(axis=0)))
    if never and without < len(scores):
        yield f"{never} of {decided.shape[1]} labels are given to no document", False


def _far_from_sample(shares: np.ndarray, counts: np.ndarray) -> int | None:
    """Return the class whose share is farthest outside its interval by a sample, else None."""
    # `counts`: (c,) number of labelled documents of each class.
    # Shapes: shares (c,).
    m = counts.sum()
    likely = (counts + 2) / (m + 4)  # Agresti and Coull, 1998
    excess = np.abs(shares - likely) - 2 * np.sqrt(likely * (1 - likely) / (m + 4))
    return int(excess.argmax()) if excess.max() > 0 else None


def _one_class(decided: np.ndarray, share: float, group: str) -> Iterator[tuple[str, bool]]:
    """Yield a doubt if all decisions are equal."""
    # Shapes: decided (n,).
    n = len(decided)
    if n > 1 and (decided == decided[0]).all():
        worthless = bool(n >= MIN_DOCUMENTS and share**n < IMPROBABLE)
        yield f"all {n} documents are in one {group}; name another model", worthless


def _decision_doubts(
    problem: Problem,
    target: Domain,
    decided: np.ndarray,
    params: Mapping[str, Any],
    matched: bool,
) -> Iterator[tuple[str, bool]]:
    """Yield doubts about the decisions of a model on a target; see `fit_doubts`."""
    # Expected shares are those that the user gives, or else those of the source. With a labelled
    # sample of the target, they are the shares from which `consensus` begins, see
    # `consensus.labelled_members`.
    # `matched`: True if the model estimates the shares, so that a difference is no reason to doubt.
    # Shapes: decided (n,).
    classes, whose = [*map(short_label, problem.classes)], "the source's"
    expected = labelled_shares(replace(problem, domains=problem.sources))
    if target.seen.any():
        whose = "the source's and the sample's"
        counts = target.Y[target.seen].sum(axis=0)
        expected = (counts + SOURCE_COUNT * expected) / (counts.sum() + SOURCE_COUNT)
    prior = params.get("prior", "source")
    has_prior = prior is not None and not isinstance(prior, str)
    if has_prior:
        total = float(np.sum(prior))
        expected = np.asarray(prior) / total
        if min(prior) < 1 and abs(total - 1) > 0.01:
            yield f"prior: the class shares sum to {total:g}, and are divided by it", False
        if target.seen.any() and (found := _far_from_sample(expected, counts)) is not None:
            yield (
                f"{100 * expected[found]:.0f} % of the documents are given as {classes[found]}, "
                f"but {counts[found]:.0f} of {counts.sum():.0f} labelled ones are; check the prior",
                False,
            )
    one_class = [*_one_class(decided, expected[decided[0]], f"class, {classes[decided[0]]}")]
    yield from one_class
    shares = np.bincount(decided, minlength=len(classes)) / len(decided)
    if one_class or len(decided) < MIN_DOCUMENTS:
        return
    rare = shares < RARE * expected if matched else shares == 0
    if rare.any():
        few = [
            f"{classes[k]} ({100 * shares[k]:.0f} %, {100 * expected[k]:.0f} % of {whose})"
            for k in np.flatnonzero(rare)
        ]
        more = ", …" if len(few) > MAX_NAMED else ""
        text = f"hardly any or no document is {', '.join(few[:MAX_NAMED])}{more}"
        yield (
            f"{text}; if the target has no such documents, remove the class from the source",
            False,
        )
    if matched:
        return
    if target.seen.any() and not has_prior:
        whose, expected = "the sample", counts / counts.sum()
        if _far_from_sample(shares, counts) is None:
            return
    if np.abs(shares - expected).sum() / 2 > FAR:
        k = int(np.abs(shares - expected).argmax())
        text = f"{100 * shares[k]:.0f} % of the documents are {classes[k]}, "
        if has_prior:
            text += f"{100 * expected[k]:.0f} % are given; check the order of the shares"
        else:
            text += f"{100 * expected[k]:.0f} % of {whose}"
            if "prior" in params:
                text += f"; if you know better: --set prior=…, in the order {', '.join(classes)}"
        yield text, False
