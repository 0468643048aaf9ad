"""A picture of the shares of topics in each domain, side by side."""

from __future__ import annotations

import pandas as pd

from transferbench.evidence import figures
from transferbench.evidence.figures import Mark, draw_points
from transferbench.messages import printable, short_label
from transferbench.own.corpus import CorpusTopics

#: Topics that are drawn, the largest first; the table has all.
MAX_TOPICS = 40


def draw(found: CorpusTopics) -> str:
    """Return a row for each topic, with a point for each domain and a line between them, as SVG."""
    topics = found.topics[:MAX_TOPICS]
    with figures.style("topic-shares"):
        import matplotlib.pyplot as plt

        height = 1 + 0.26 * len(topics)
        drawing, ax = plt.subplots(figsize=(7.6, height), layout="constrained")
        for y, topic in enumerate(topics):
            shares = [100 * share for share in topic.shares.values()]
            ax.hlines(y, min(shares), max(shares), color=figures.PUBLISHED, linewidth=2, zorder=1)
        for i, domain in enumerate(found.shares):
            points = pd.DataFrame(
                [
                    (
                        100 * t.shares[domain],
                        y,
                        f"{t.name}: {100 * t.shares[domain]:.1f} % of {domain}",
                    )
                    for y, t in enumerate(topics)
                ],
                columns=["x", "y", "title"],
            )
            look = figures.mark(1 + i)
            drawn = draw_points(ax, points, Mark(look.colour, look.marker), markersize=6)
            drawn.set_label(printable(short_label(domain)))
        ax.set_yticks(range(len(topics)), [printable(short_label(t.name)) for t in topics])
        ax.set_ylim(len(topics) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.set_xlabel("share of the topic in per cent")
        ax.grid(axis="x")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.6 / height), ncols=3, fontsize=8)
        return figures.to_svg(drawing)
