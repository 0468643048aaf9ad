"""A curve in the terminal, drawn with the eight dots of Braille letters."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Bits of a Braille letter's dots, by row and column.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def plot(values: Sequence[float], width: int = 60, height: int = 8) -> list[str]:
    """Lines of text: the values from left to right, the first and last place and the y range.

    The y axis is logarithmic where positive values span more than a factor of 100.
    """
    log = min(values) > 0 and max(values) > 100 * min(values)
    heights = [math.log(value) for value in values] if log else list(values)
    low, high = min(heights), max(heights)
    cells = [[0] * width for _ in range(height)]
    columns, rows = 2 * width - 1, 4 * height - 1
    for x in range(columns + 1):
        value = heights[round(x / columns * (len(heights) - 1))]
        y = round((high - value) / (high - low) * rows) if high > low else rows // 2
        cells[y // 4][x // 2] |= DOTS[y % 4][x % 2]
    labels = [f"{max(values):.4g}", *[""] * (height - 2), f"{min(values):.4g}"]
    margin = max(map(len, labels))
    drawn = [
        f"{label:>{margin}} ┤{''.join(chr(0x2800 + bits) for bits in line)}"
        for label, line in zip(labels, cells, strict=True)
    ]
    last = f"{len(values)}" + " (log axis)" * log
    return [*drawn, f"{'':>{margin}}  1{last:>{width - 1}}"]
