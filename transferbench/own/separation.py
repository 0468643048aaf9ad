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
#: Documents of each domain, drawn at random, that train the classifier and give the area.
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
    #: `in_sources`, `in_target`: Shares of all documents of the sources and of the target that have
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
    return consensus.area(_sampled(problem, target), 0)


def separations(
    problem: Problem,
    sources: Sequence[Documents],
    targets: Sequence[Documents],
    options: Params,
) -> dict[str, Separation]:
    """Return the separation of each target that differs from the sources, by name."""
    found: dict[str, Separation] = {}
    if not sources or problem.family == "clustering":
        return found
    of_sources, number = _html_share(sources, options), sum(map(len, sources))
    for target, documents in zip(problem.domains[-len(targets) :], targets, strict=True):
        html = of_sources, _html_share([documents], options)
        differs_in_html = abs(html[1] - html[0]) >= SUSPICIOUS_HTML
        area = domain_area(problem, target)
        few = min(len(documents), number) < consensus.FEW
        if few or (area < DIFFERENT and not differs_in_html):
            continue
        words, gap = _strongest(problem, target)
        named = {
            where: ", ".join(word.name for word in words[:NAMED] if word.of_target == of_target)
            for where, of_target in (("target", True), ("source", False))
        }
        features = " and ".join(
            f"{names} in the {where}" for where, names in named.items() if names
        )
        suspicious = differs_in_html or area >= SUSPICIOUS_AREA or gap >= SUSPICIOUS_FEATURE
        found[target.name] = Separation(area, features, max(html) >= SOME_HTML, suspicious, words)
    return found


def _html_share(files: Sequence[Documents], options: Params) -> float:
    """Return the share of the first texts of files that have HTML; 0 if it is stripped."""
    if files[0].kind != "texts" or options.get("html") == "strip":
        return 0.0
    return share_with_tags([t for file in files for t in file.content[: SAMPLE // len(files)]])


def _sampled(problem: Problem, target: Domain) -> Problem:
    """Return random documents of the sources and of one target."""
    single = replace(problem, domains=(*problem.sources, target))
    return consensus.sampled(single, SAMPLE, 0)


def _strongest(problem: Problem, target: Domain) -> tuple[tuple[SeparatingWord, ...], float]:
    """Return the words that distinguish a target, and the largest difference of their shares."""
    # The words have the largest contributions, the largest first. A contribution is the weight of a
    # logistic regression times the difference of the means. All words count in the difference.
    if not problem.features:  # embeddings
        return (), 0.0
    from sklearn.linear_model import LogisticRegression

    sampled = _sampled(problem, target).domains
    X = sp.csr_array(sp.vstack([domain.X for domain in sampled]))
    is_target = np.arange(X.shape[0]) >= X.shape[0] - len(sampled[-1].seen)
    model = LogisticRegression(max_iter=100, class_weight="balanced").fit(X, is_target)
    weights = model.coef_[0]
    contributions = weights * (X[is_target].mean(axis=0) - X[~is_target].mean(axis=0))
    columns = np.argsort(-contributions, kind="stable")[:KEPT]
    columns = columns[contributions[columns] > CONTRIBUTION * contributions.max()]
    shares = np.array([_shares(problem.sources), _shares([target])])
    words = tuple(
        SeparatingWord(str(problem.features[k]), bool(weights[k] > 0), *shares[:, k].tolist())
        for k in columns
    )
    return words, float(np.abs(shares[1] - shares[0]).max())


def _shares(domains: Sequence[Domain]) -> np.ndarray:
    """Return the share (d,) of all documents of the domains that have each feature."""
    indices = np.concatenate([sp.csr_array(domain.X).indices for domain in domains])
    counts = np.bincount(indices, minlength=domains[0].X.shape[1])
    return np.asarray(counts / sum(len(domain.seen) for domain in domains))
