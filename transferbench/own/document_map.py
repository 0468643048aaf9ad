"""The map of the documents: a point for each, near those with the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from transferbench.core.scale import unit_rows
from transferbench.evidence import figures
from transferbench.evidence.figures import Mark, draw_points
from transferbench.measures import THRESHOLD
from transferbench.messages import printable, short_label
from transferbench.own.sample import held_out
from transferbench.own.session import Session
from transferbench.problem import Fit, Problem, Truth

#: Largest number of documents that are drawn, and the seed of the draw.
MAX_POINTS, SEED = 2000, 0
#: Dimensions of the decomposition that UMAP begins with.
COMPONENTS = 50
#: Characters of a document's beginning that are shown.
MAX_TEXT = 160
#: Colours of domains and classes; the last one is for all further ones.
COLOURS = figures.COLOURS[1:]
#: Number of parts that are drawn one after the other, so that no domain covers another one.
LAYERS = 8
#: Share of the documents at each end of an axis that may lie on the border, so that a few unusual
#: ones do not press all others together.
OUTLIERS = 0.005


class DocumentMap(NamedTuple):
    """The picture of a map as SVG, and what to know of it."""

    svg: str
    sentences: list[str]


def draw(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str], model: str
) -> DocumentMap | None:
    """Return the map of the documents, None if they have too few features for two dimensions."""
    # `fit`: The fit of the model whose decisions are shown; None shows the labels of the sources
    # alone.
    # `names`: Names of the columns of its scores.
    points = points_of(session, fit, truth, names)
    if points is None:
        return None
    problem = session.problem
    counts = [
        f"{n:,} of {len(domain.seen):,} in {domain.name}"
        for domain, n in zip(problem.domains, _numbers(problem), strict=True)
    ]
    how = (
        "The two dimensions are the first two of a truncated singular value decomposition of the "
        "centred features. The extra `map` installs UMAP, which separates groups better."
    )
    if _umap():
        how = (
            f"The two dimensions are made by UMAP, of the first {COMPONENTS} of a truncated "
            "singular value decomposition."
        )
    marks = []
    if problem.sources:
        marks.append("Circles are documents of a source, squares are documents of a target.")
    if points["wrong"].any():
        marks.append("A dark edge means that the decision is not the label.")
    sentences = [
        "Each point is a document. Documents with alike features are near each other; directions "
        f"have no meaning. {how} The few most distant documents stand at the edge.",
        f"Drawn at random (seed {SEED}): {', '.join(counts)}. {' '.join(marks)}".rstrip(),
    ]
    source = "; the source by label" if problem.sources else ""
    by = f"by decision of {model}{source}" if model else f"by label{source}"
    return DocumentMap(_picture(points, {"domain": "by domain", "decision": by}, names), sentences)


def points_of(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str]
) -> pd.DataFrame | None:
    """Return the drawn documents in random order, None without two dimensions."""
    # Returns: With x, y, title, the names of the domain and the decision, and whether it is of a
    # source or has a wrong decision.
    problem = session.problem
    rng = np.random.default_rng(SEED)
    rows = [
        np.sort(rng.choice(len(domain.seen), n, replace=False))
        for domain, n in zip(problem.domains, _numbers(problem), strict=True)
    ]
    places = _places(problem, rows, _umap())
    if places is None:
        return None
    found = [
        (domain.name, bool(domain.seen.all()), *described)
        for i, (domain, chosen) in enumerate(zip(problem.domains, rows, strict=True))
        for described in _descriptions(session, i, chosen, fit, truth, names)
    ]
    points = pd.DataFrame(found, columns=["domain", "is_source", "title", "decision", "wrong"])
    points = points.assign(x=places[:, 0], y=places[:, 1])
    for column in ("domain", "decision"):
        points[column] = grouped(points[column])
    return points.iloc[rng.permutation(len(points))]


def grouped(names: Sequence[str]) -> list[str]:
    """Return the names, with one name for the least frequent of more than there are COLOURS."""
    counts = Counter(names)
    if len(counts) <= len(COLOURS):
        return [*names]
    frequent = {name for name, _ in counts.most_common(len(COLOURS) - 1)}
    return [n if n in frequent else f"{len(counts) - len(frequent)} others" for n in names]


def _picture(points: pd.DataFrame, panels: dict[str, str], names: Sequence[str]) -> str:
    """Draw a panel for each column of points by which they are coloured, with its title."""
    with figures.style("map"):
        import matplotlib.pyplot as plt

        plt.rcParams["text.parse_math"] = False  # a name may have dollars
        drawing, axes = plt.subplots(1, 2, figsize=(7.6, 4.2), layout="constrained")
        for ax, (column, title) in zip(axes, panels.items(), strict=True):
            counts = Counter(points[column])
            order = [name for name in dict.fromkeys([*names, *sorted(counts)]) if counts[name]]
            order.sort(key=lambda name: name.endswith(" others"))  # the last colour
            colour = dict(zip(order, COLOURS, strict=False))
            for layer in (points.iloc[i::LAYERS] for i in range(LAYERS)):
                for (name, is_source, wrong), part in layer.groupby([column, "is_source", "wrong"]):
                    has_edge = wrong and column == "decision"
                    draw_points(
                        ax, part, Mark(colour[name], "o" if is_source else "s"), markersize=4,
                        alpha=0.8, markeredgecolor=figures.INK, markeredgewidth=int(has_edge),
                    )  # fmt: skip
            for name in order:
                label = printable(f"{name} ({counts[name]:,})")
                ax.plot([], [], "o", color=colour[name], label=label)
            ax.set(xticks=[], yticks=[])
            ax.set_title(printable(title))
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, fontsize=8)
        return figures.to_svg(drawing)


def _numbers(problem: Problem) -> list[int]:
    """Return how many documents of each domain to draw: equally many, or all of a small one."""
    sizes = [len(domain.seen) for domain in problem.domains]
    parts = [0] * len(sizes)
    left = MAX_POINTS
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
    return np.asarray(np.clip((Z - low) / (high - low), 0, 1))


def _descriptions(
    session: Session,
    i: int,
    rows: np.ndarray,
    fit: Fit | None,
    truth: Truth | None,
    names: Sequence[str],
) -> list[tuple[str, str, bool]]:
    """Return title, decision and whether it is wrong, for documents of domain i."""
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
        beginning = text[:MAX_TEXT] + "…" * (len(text) > MAX_TEXT)
        described.append((": ".join(filter(None, ["; ".join(parts), beginning])), colour, wrong))
    return described
