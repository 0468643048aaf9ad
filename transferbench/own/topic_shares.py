"""A picture of the shares of topics in each domain, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from transferbench.evidence import figures
from transferbench.evidence.figures import Mark, draw_points
from transferbench.messages import printable, short_label, shorten

#: Topics and domains that are drawn, the first ones; the table has all.
MAX_TOPICS, MAX_DOMAINS = 40, 8
#: Characters of a name of a domain.
MAX_NAME = 24


def draw(names: Sequence[str], shares: Mapping[str, Sequence[float]]) -> str:
    """Return a row for each topic, with a point for each domain and a line between them, as SVG."""
    # `names`: Names of the topics.
    # `shares`: Share of each topic, by domain.
    names, shares = names[:MAX_TOPICS], dict([*shares.items()][:MAX_DOMAINS])
    with figures.style("topic-shares"):
        height = 1 + 0.26 * len(names)
        drawing, ((ax,),) = figures.subplots(1, 1, (7.6, height))
        for y in range(len(names)):
            ends = [100 * of_domain[y] for of_domain in shares.values()]
            ax.hlines(y, min(ends), max(ends), color=figures.PUBLISHED, linewidth=2, zorder=1)
        for i, (domain, of_domain) in enumerate(shares.items()):
            points = pd.DataFrame(
                [
                    (100 * share, y, f"{name}: {100 * share:.1f} % of {domain}")
                    for y, (name, share) in enumerate(zip(names, of_domain, strict=False))
                ],
                columns=["x", "y", "title"],
            )
            look = figures.mark(1 + i)
            drawn = draw_points(ax, points, Mark(look.colour, look.marker), markersize=6)
            drawn.set_label(shorten(domain, MAX_NAME))
        ax.set_yticks(range(len(names)), [printable(short_label(name)) for name in names])
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(left=-0.02 * ax.get_xlim()[1])
        ax.set_xlabel("share of the topic in per cent")
        ax.grid(axis="x")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.6 / height), ncols=3, fontsize=8)
        return figures.to_svg(drawing)
