"""The map of the documents: a point for each, near those with the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from transferbench.choose.sample import held_out
from transferbench.choose.session import Session
from transferbench.core.scale import unit_rows
from transferbench.measures import THRESHOLD
from transferbench.messages import short_label
from transferbench.problem import Fit, Problem, Truth

#: Largest number of documents that are drawn, and the seed of the draw.
MAX_POINTS, SEED = 2000, 0
#: Dimensions of the decomposition that UMAP begins with.
COMPONENTS = 50
#: Bytes of a document's beginning that are shown.
MAX_TEXT = 160
#: Number of colours; the last one is for all other domains or classes.
COLOURS = 8
#: Width and height of a picture, and its margin.
WIDTH, HEIGHT, MARGIN = 480, 400, 12
#: Share of the documents at each end of an axis that may lie on the border, so that a few unusual
#: ones do not press all others together.
OUTLIERS = 0.005


@dataclass(frozen=True)
class Point:
    """A document on the map."""

    #: `x`, `y`: Its place in the picture.
    x: int
    y: int
    #: True if it is of a source, False for a target.
    of_source: bool
    #: `domain`, `decision`: Numbers of the colours of its domain and of its decision.
    domain: int
    decision: int
    #: True if it has a label, and its decision is another one.
    wrong: bool
    #: Its place, label and decision, and the beginning of its text.
    about: str


@dataclass(frozen=True)
class DocumentMap:
    """The map."""

    #: The points, in random order, so that no domain covers another one.
    points: Sequence[Point]
    #: Name, number of drawn documents and number of all documents of each domain.
    drawn: Sequence[tuple[str, int, int]]
    #: `domains`, `decisions`: Name and number of drawn documents of each colour.
    domains: Sequence[tuple[str, int]]
    decisions: Sequence[tuple[str, int]]
    #: True if a point is wrong.
    has_wrong: bool
    #: True if a domain is a source.
    has_source: bool
    #: True if UMAP made the two dimensions, False for a truncated singular value decomposition.
    umap: bool
    width: int = WIDTH
    height: int = HEIGHT
    seed: int = SEED


def draw(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str]
) -> DocumentMap | None:
    """Return the map of the documents, None if they have too few features for two dimensions."""
    # `fit`: The fit whose decisions are shown; None shows the labels of the sources alone.
    problem = session.problem
    rng = np.random.default_rng(SEED)
    counts = _equal_parts([len(d.seen) for d in problem.domains], MAX_POINTS)
    rows = [
        np.sort(rng.choice(len(d.seen), count, replace=False))
        for d, count in zip(problem.domains, counts, strict=True)
    ]
    umap = _umap()
    places = _places(problem, rows, umap)
    if places is None:
        return None
    domain_of = np.repeat(np.arange(len(rows)), counts)
    domain_colours, domains = _colours([problem.domains[i].name for i in domain_of], [])
    decided, wrong, about = [], [], []
    for i, chosen in enumerate(rows):
        for text, label, is_wrong in _descriptions(session, i, chosen, fit, truth, names):
            about.append(text)
            decided.append(label)
            wrong.append(is_wrong)
    colours, decisions = _colours(decided, names)
    points = [
        Point(int(x), int(y), bool(problem.domains[d].seen.all()), *rest)
        for (x, y), d, *rest in zip(
            places, domain_of, domain_colours, colours, wrong, about, strict=True
        )
    ]
    points = [points[i] for i in rng.permutation(len(points))]
    drawn = [(d.name, n, len(d.seen)) for d, n in zip(problem.domains, counts, strict=True)]
    return DocumentMap(
        points, drawn, domains, decisions, any(wrong), bool(problem.sources), umap is not None
    )


def _equal_parts(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many documents of each domain to draw: equally many, or all of a small one."""
    parts = [0] * len(sizes)
    left = total
    for rank, i in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        parts[i] = min(sizes[i], left // (len(sizes) - rank))
        left -= parts[i]
    return parts


def _umap() -> Any:
    """Return the class UMAP of the extra `map`, None if it is not installed."""
    try:
        from umap import UMAP
    except ImportError:
        return None
    return UMAP


def _places(problem: Problem, rows: Sequence[np.ndarray], umap: Any) -> np.ndarray | None:
    """Return the places (n, 2) of documents in the picture, None without two dimensions."""
    # `umap`: The class UMAP, None for a truncated singular value decomposition.
    from sklearn.decomposition import PCA

    parts = [
        sp.hstack([unit_rows(view[drawn]) for view in domain.views])
        for domain, drawn in zip(problem.domains, rows, strict=True)
    ]
    X = sp.csr_array(sp.vstack(parts))
    if min(X.shape) < 4:
        return None
    components = min(COMPONENTS if umap else 2, min(X.shape) - 1)
    Z = PCA(components, svd_solver="arpack", random_state=SEED).fit_transform(X)
    if umap:
        Z = umap(n_neighbors=min(15, len(Z) - 1), random_state=SEED, n_jobs=1).fit_transform(Z)
    low, high = np.quantile(Z, [OUTLIERS, 1 - OUTLIERS], axis=0)
    if not (np.isfinite(Z).all() and (high > low).all()):
        return None
    scale = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    places = MARGIN + (np.clip(Z, low, high) - low) / (high - low) * scale
    return np.asarray(np.rint(places))


def _descriptions(
    session: Session,
    i: int,
    rows: np.ndarray,
    fit: Fit | None,
    truth: Truth | None,
    names: Sequence[str],
) -> list[tuple[str, str, bool]]:
    """Return text, name of the colour and whether it is wrong, for documents of domain i."""
    problem, domain = session.problem, session.problem.domains[i]
    several = problem.family == "multilabel"
    is_source = domain.seen.all()
    scored = truth is not None and truth.scored[i].any()
    judged = fit and held_out(fit)
    described = []
    for row in rows:
        place, text = session.describe(i, row)
        parts = [place]
        colour, wrong = "no decision", False
        if domain.seen[row]:
            labels = [short_label(problem.classes[c]) for c in np.flatnonzero(domain.Y[row])]
            colour = labels[0] if labels else "no label"
            parts.append(f"label: {', '.join(labels) or 'none'}")
        if fit is not None and judged is not None and not is_source:
            scores = judged.scores[i][row]
            best = np.argsort(-scores, kind="stable").tolist()
            ranked = [c for c in best if scores[c] >= THRESHOLD] if several else best[:1]
            colour = names[ranked[0]] if ranked else "no label"
            how = "decision without its label" if domain.seen[row] else "decision"
            parts.append(f"{how}: {', '.join(names[c] for c in ranked) or 'none'}")
            if scored and truth is not None and truth.scored[i][row]:
                true = np.flatnonzero(truth.Y[i][row])
                if fit.columns == "classes":
                    wrong = {*true.tolist()} != {*ranked}
                if not domain.seen[row]:
                    labels = [short_label(truth.classes[c]) for c in true]
                    parts.append(f"its label: {', '.join(labels) or 'none'}")
        text = " ".join(text[: 4 * MAX_TEXT].split())
        encoded = text.encode("utf-8", "replace")
        if len(encoded) > MAX_TEXT:
            text = encoded[:MAX_TEXT].decode("utf-8", "ignore").rstrip() + "…"
        about = "; ".join(parts)
        described.append((f"{about}\n{text}" if text else about, colour, wrong))
    return described


def _colours(names: Sequence[str], order: Sequence[str]) -> tuple[list[int], list[tuple[str, int]]]:
    """Return the colour of each name, and the name and number of documents of each colour."""
    # The most frequent names have a colour each, and all others share the last one.
    counts = Counter(names)
    kept = [name for name in dict.fromkeys([*order, *counts]) if counts[name]]
    if len(kept) > COLOURS:
        frequent = {name for name, _ in counts.most_common(COLOURS - 1)}
        kept = [name for name in kept if name in frequent]
    colour = {name: i for i, name in enumerate(kept)}
    legend = [(name, counts[name]) for name in kept]
    if others := len(counts) - len(kept):
        legend.append((f"{others} others", len(names) - sum(count for _, count in legend)))
    return [colour.get(name, COLOURS - 1) for name in names], legend
