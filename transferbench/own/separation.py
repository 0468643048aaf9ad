"""Find the words that separate a target from the source: tags, signatures, a language.

A classifier is trained to separate source and target. The features that decide most are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from transferbench.models.transfer import consensus
from transferbench.own.documents import Documents
from transferbench.own.markup import share_with_tags
from transferbench.parameters import Params
from transferbench.problem import Domain, Problem

#: Area (see `consensus.area`) from which source and target differ. This and the next thresholds
#: come from the ordinary corpora that were measured.
DIFFERENT = 0.75
#: Documents of each domain that the area is computed from.
SAMPLE = 1000
#: Source and target are suspiciously different, whatever the model, from this area, or if a feature
#: or HTML is in so many more documents of one than of the other. Topics of the same kind of text
#: differ less: books and kitchen appliances (reviews of Amazon) have .9988, .78 and 0.
SUSPICIOUS_AREA, SUSPICIOUS_FEATURE, SUSPICIOUS_HTML = 0.9995, 0.9, 0.25
#: Share of documents with HTML from which the option that strips it is named.
SOME_HTML = 0.02
#: Features that a doubt names, those that are kept, and the part of the largest contribution that
#: each must have.
NAMED, KEPT, CONTRIBUTION = 10, 24, 0.05


@dataclass(frozen=True)
class SeparatingWord:
    """A feature that distinguishes a target from the sources."""

    #: The word, or the number of the feature.
    name: str
    #: True if it indicates the target, False if it indicates the sources.
    of_target: bool
    #: `in_sources`, `in_target`: Shares of the documents of the sources and of the target that have
    #: it.
    in_sources: float
    in_target: float


@dataclass(frozen=True)
class Separation:
    """The separation of a target's documents from those of the source."""

    #: Area under the ROC curve, see `consensus.area`.
    area: float
    #: Text that names the features that decide most; "" if no features have names.
    features: str = ""
    #: True if documents have HTML, which an option strips.
    has_html: bool = False
    #: True if the difference is more than another topic.
    suspicious: bool = False
    #: The features that decide most, the strongest first; empty if no features have names.
    words: tuple[SeparatingWord, ...] = ()

    def __str__(self) -> str:
        by = f", mainly by: {self.features}" if self.features else ""
        return f"a classifier separates its documents from the source's (AUC {self.area:.2f}){by}"


def domain_area(problem: Problem, target: Domain) -> float:
    """Return the area of a target against the sources; 0 if it has too few documents."""
    if len(target.seen) < consensus.FEW:
        return 0.0
    single = replace(problem, domains=(*problem.sources, target))
    return consensus.area(consensus.sampled(single, SAMPLE, 0), 0)


def separations(
    problem: Problem,
    sources: Sequence[Documents],
    targets: Sequence[Documents],
    options: Params,
) -> dict[str, Separation]:
    """Return the separation of each target that differs from the sources, by name."""
    found: dict[str, Separation] = {}
    names = np.array(problem.features, object)
    if not sources or problem.family == "clustering":
        return found
    for target, documents in zip(problem.domains[-len(targets) :], targets, strict=True):
        html = [0.0, 0.0]
        if documents.kind == "texts" and options.get("html") != "strip":
            texts = [text for d in sources for text in d.content[: SAMPLE // len(sources)]]
            html = [share_with_tags(part) for part in (texts, documents.content[:SAMPLE])]
        differs_in_html = abs(html[1] - html[0]) >= SUSPICIOUS_HTML
        area = domain_area(problem, target)
        few = min(len(target.seen), sum(len(d.seen) for d in problem.sources)) < consensus.FEW
        if few or (area < DIFFERENT and not differs_in_html):
            continue
        if not len(names):  # embeddings
            suspicious = differs_in_html or area >= SUSPICIOUS_AREA
            found[target.name] = Separation(area, "", max(html) >= SOME_HTML, suspicious)
            continue
        columns, is_of_target, shares = _strongest(problem, target)
        words = tuple(
            SeparatingWord(str(names[column]), bool(side), *map(float, shares[:, column]))
            for column, side in zip(columns, is_of_target, strict=True)
        )
        named: dict[str, list[str]] = {"target": [], "source": []}
        for word in words[:NAMED]:
            named["target" if word.of_target else "source"].append(word.name)
        sides = [f"{', '.join(of)} in the {where}" for where, of in named.items() if of]
        gap = float(np.abs(shares[1] - shares[0]).max())
        suspicious = differs_in_html or area >= SUSPICIOUS_AREA or gap >= SUSPICIOUS_FEATURE
        has_html = max(html) >= SOME_HTML
        found[target.name] = Separation(area, " and ".join(sides), has_html, suspicious, words)
    return found


def _strongest(problem: Problem, target: Domain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features that distinguish a target from the sources."""
    # `columns`: The features with the largest contributions, the largest first. A contribution is
    # the weight of a logistic regression times the difference of the means.
    # `shares`: (2, d) shares of the documents of the sources and of the target that have each
    # feature.
    from sklearn.linear_model import LogisticRegression

    single = replace(problem, domains=(*problem.sources, target))
    sampled = [sp.csr_array(d.X) for d in consensus.sampled(single, SAMPLE, 0).domains]
    parts = sp.csr_array(sp.vstack(sampled[:-1])), sampled[-1]
    is_target = np.repeat([False, True], [part.shape[0] for part in parts])
    model = LogisticRegression(max_iter=100, class_weight="balanced")
    weights = model.fit(sp.vstack(parts), is_target).coef_[0]
    source, of_target = (np.asarray(part.mean(axis=0)).ravel() for part in parts)
    contributions = weights * (of_target - source)
    columns = np.argsort(-contributions, kind="stable")[:KEPT]
    columns = columns[contributions[columns] > CONTRIBUTION * contributions.max()]
    shares = [np.bincount(p.indices, minlength=p.shape[1]) / p.shape[0] for p in parts]
    return columns, weights[columns] > 0, np.array(shares)
