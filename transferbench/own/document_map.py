"""The map of the documents: a point for each, near those with the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from transferbench.core.scale import unit_rows
from transferbench.evidence import figures
from transferbench.evidence.figures import Mark, draw_points
from transferbench.messages import printable, short_label
from transferbench.own.corpus import CorpusTopics
from transferbench.own.predictions import decisions
from transferbench.own.sample import held_out
from transferbench.own.session import Session
from transferbench.problem import Fit, Problem, Truth

#: Largest number of documents that are drawn, and the seed of the draw.
MAX_POINTS, SEED = 2000, 0
#: Characters of a document's beginning that are shown.
MAX_TEXT = 160
#: Colours of domains and classes; the last one is for all further ones.
COLOURS = figures.COLOURS[1:]
#: Number of parts that are drawn one after the other, so that no domain covers another one.
LAYERS = 8
#: Share of the documents at each end of an axis that may lie on the border, so that a few unusual
#: ones do not press all others together.
OUTLIERS = 0.005
DIMENSIONS = (
    "Documents with alike features are near each other; directions have no meaning. The two "
    "dimensions are the first two of a truncated singular value decomposition of the centred "
    "features. The few most distant documents stand at the edge."
)


#: The title of a point, its label or decision, if that is wrong, and if it is of a source.
Described: TypeAlias = tuple[str, str, bool, bool]


def draw(
    session: Session, fit: Fit | None, truth: Truth | None, names: Sequence[str], model: str
) -> tuple[str, list[str]] | None:
    """Return the map as SVG and what to know of it; None without two dimensions."""
    # `fit`: The fit of the model whose decisions are shown; None shows the labels of the sources
    # alone.
    # `names`: Names of the columns of its scores.
    problem = session.problem
    rows = _drawn(problem)
    found = [
        described
        for i in range(len(problem.domains))
        for described in _descriptions(session, i, rows[i], fit, truth, names)
    ]
    key = (
        "Each point is a document, a circle in a source and a square in a target. "
        f"{DIMENSIONS} A dark edge means that the decision is not the label."
    )
    by = f"by decision of {model}" if model else "by label"
    return _picture(problem, rows, found, f"{by};\nthe source by label", names, key)


def draw_topics(
    problem: Problem, found: CorpusTopics, describe: Callable[[str, int], tuple[str, str]]
) -> tuple[str, list[str]] | None:
    """Return the map of documents by topic as SVG, and what to know of it; None as `draw`."""
    rows = _drawn(problem)
    names = [*(topic.name for topic in found.topics), "no topic"]
    described = []
    for domain, chosen in zip(problem.domains, rows, strict=True):
        shares = found.shares[domain.name][chosen]
        largest = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        for row, j in zip(chosen, largest, strict=True):
            place, text = describe(domain.name, row)
            title = [place, f"topic: {names[j]}", beginning(text)]
            described.append((": ".join(filter(None, title)), names[j], False, True))
    names += [domain.name for domain in problem.domains]
    key = f"Each point is a document. {DIMENSIONS}"
    return _picture(problem, rows, described, "by largest topic", names, key)


def _drawn(problem: Problem) -> list[np.ndarray]:
    """Return the rows of each domain that are drawn, at random."""
    rng, most = np.random.default_rng(SEED), MAX_POINTS // len(problem.domains)
    return [np.sort(rng.permutation(len(domain.seen))[:most]) for domain in problem.domains]


def _places(problem: Problem, rows: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the places (n, 2) of documents in the picture, None without two dimensions."""
    from sklearn.decomposition import PCA

    parts = [
        sp.hstack([unit_rows(view[drawn]) for view in domain.views])
        for domain, drawn in zip(problem.domains, rows, strict=True)
    ]
    X = sp.csr_array(sp.vstack(parts))
    if min(X.shape) < 4 or not (X.max(axis=0) - X.min(axis=0)).nnz:  # equal documents
        return None
    Z = PCA(2, svd_solver="arpack", random_state=SEED).fit_transform(X)
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
) -> Iterator[Described]:
    """Describe the drawn documents of domain i."""
    problem, domain = session.problem, session.problem.domains[i]
    Y, known, decided = domain.Y, domain.seen, None
    if truth is not None and truth.scored[i].any():
        Y, known = truth.Y[i], truth.scored[i]
    if fit is not None and not domain.seen.all():
        decided = decisions(held_out(fit).scores[i], problem.family == "multilabel")
    for row in rows:
        place, text = session.describe_in(domain.name, row)
        parts, shown, wrong = [place], ["no decision"], False
        if known[row]:
            shown = [short_label(problem.classes[c]) for c in np.flatnonzero(Y[row])] or ["none"]
            parts.append(f"label: {', '.join(shown)}")
        if fit is not None and decided is not None:
            label, shown = shown, [names[c] for c in decided[row]] or ["none"]
            parts.append(f"decision: {', '.join(shown)}")
            wrong = known[row] and fit.columns == "classes" and {*shown} != {*label}
        title = ": ".join(filter(None, ["; ".join(parts), beginning(text)]))
        yield title, shown[0], bool(wrong), bool(domain.seen.all())


def beginning(text: str) -> str:
    """Return the first MAX_TEXT characters of a text."""
    return text[:MAX_TEXT] + "…" * (len(text) > MAX_TEXT)


def grouped(names: Sequence[str]) -> list[str]:
    """Return the names, with one name for the least frequent of more than there are COLOURS."""
    counts = Counter(names)
    if len(counts) <= len(COLOURS):
        return [*names]
    frequent = {name for name, _ in counts.most_common(len(COLOURS) - 1)}
    return [n if n in frequent else f"{len(counts) - len(frequent)} others" for n in names]


def _picture(
    problem: Problem, rows: Sequence[np.ndarray], described: Sequence[Described],
    decision: str, names: Sequence[str], key: str,
) -> tuple[str, list[str]] | None:  # fmt: skip
    """Draw the described documents by domain and by decision, and say which they are."""
    # `decision`: Title of the second panel.
    # `names`: What is decided, in the order of its colours.
    # `key`: Sentences that explain the points.
    places = _places(problem, rows)
    if places is None:
        return None
    drawn = list(zip(problem.domains, rows, strict=True))
    points = pd.DataFrame(described, columns=["title", "decision", "wrong", "is_source"])
    points = points.assign(
        domain=[domain.name for domain, chosen in drawn for _ in chosen],
        x=places[:, 0],
        y=places[:, 1],
    ).sample(frac=1, random_state=SEED)
    panels = {"domain": "by domain", "decision": decision}
    with figures.style("map"):
        drawing, (axes,) = figures.subplots(1, 2, (7.6, 4.2))
        for ax, (column, title) in zip(axes, panels.items(), strict=True):
            coloured = points.assign(**{column: grouped(points[column])})
            counts = Counter(coloured[column])
            order = [name for name in dict.fromkeys([*names, *sorted(counts)]) if counts[name]]
            order.sort(key=lambda name: name.endswith(" others"))  # the last colour
            colour = dict(zip(order, COLOURS, strict=False))
            for layer in (coloured.iloc[i::LAYERS] for i in range(LAYERS)):
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
        numbers = (f"{len(c):,} of {len(d.seen):,} in {d.name}" for d, c in drawn)
        which = f"Drawn at random (seed {SEED}): {', '.join(numbers)}."
        return figures.to_svg(drawing), [key, which]
