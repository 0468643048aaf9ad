"""A curve in the terminal, drawn with the eight dots of Braille letters, or in a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

#: Files that `save` can write.
SUFFIXES = (".png", ".svg", ".pdf")
#: Bits of a Braille letter's dots, by row and column.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def plot(values: Sequence[float], width: int = 60, height: int = 8) -> list[str]:
    """Return lines of text: the values from left to right, the range of x and that of y.

    The y axis is logarithmic if positive values span more than a factor of 100.
    """
    log = min(values) > 0 and max(values) > 100 * min(values)
    heights = [math.log(value) for value in values] if log else list(values)
    low, high = min(heights), max(heights)
    letters = [[0] * width for _ in range(height)]
    columns, rows = 2 * width - 1, 4 * height - 1
    for x in range(columns + 1):
        value = heights[round(x / columns * (len(heights) - 1))]
        y = round((high - value) / (high - low) * rows) if high > low else rows // 2
        letters[y // 4][x // 2] |= DOTS[y % 4][x % 2]
    labels = [f"{max(values):.4g}", *[""] * (height - 2), f"{min(values):.4g}"]
    margin = max(map(len, labels))
    drawn = [
        f"{label:>{margin}} ┤{''.join(chr(0x2800 + bits) for bits in line)}"
        for label, line in zip(labels, letters, strict=True)
    ]
    last = f"{len(values)}" + " (log axis)" * log
    return [*drawn, f"{'':>{margin}}  1{last:>{width - 1}}"]


def save(values: Sequence[float], title: str, path: Path) -> None:
    """Draw the values into a file whose suffix is one of SUFFIXES.

    Raise UserError if the file cannot be written.
    """
    import matplotlib

    from transferbench.files import writing

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    ax.plot(range(1, len(values) + 1), values, color="#1b1b1b")
    ax.set(xlabel="iteration", ylabel="objective")
    ax.set_title(title, fontsize=9)
    with writing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=150)
    plt.close(figure)
