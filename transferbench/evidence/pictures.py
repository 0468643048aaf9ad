"""One style for all pictures, and files that read well in print, on light and on dark pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.files import write_text, writing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

INK, PAPER, PUBLISHED, RANGE = "#1b1b1b", "#ffffff", "#9b9890", "#d9a441"
#: Colours of the columns in order. All contrast with PAPER by 4.5 to 1.
COLOURS = (INK, "#0b62a8", "#b3400b", "#3f7d20", "#7a3e9d", "#8a6d00", "#a11a4d", "#4d4d4d")
#: What each colour becomes on a dark page, with the same contrast; black is a library's default.
DARK = dict(
    zip(
        (*COLOURS, PAPER, PUBLISHED, RANGE, "#000000"),
        ("#f1eee8", "#6db6f2", "#ff9b61", "#8fd06b", "#cd9df0", "#e3c544", "#ff87af", "#a9a9a9",
         "#1c1f23", "#7d7a73", "#b98a35", "#f1eee8"),
        strict=True,
    )
)  # fmt: skip
BAND = "± one standard deviation"
#: What varies from one writing to the next, by kind of file.
VARYING = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}


@contextmanager
def style(name: str) -> Iterator[None]:
    """Set the style of pictures; `name` makes the identifiers in an SVG file reproducible."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = dict.fromkeys(inked, INK) | {
        "svg.hashsalt": name,
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": "#8a8a8a",
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.w_pad": 0.08,
    }
    with plt.rc_context(settings):
        yield


def legend(drawing: Figure, handles: Sequence[Artist]) -> None:
    """Put a legend below the drawing, in as many columns as its width allows."""
    for columns in range(len(handles), 0, -1):
        made = drawing.legend(handles=handles, loc="outside lower center", ncols=columns)
        if columns == 1 or made.get_window_extent().width < 0.98 * drawing.bbox.width:
            return
        made.remove()


def save(drawing: Figure, stem: Path, kinds: Sequence[str] = ("svg", "pdf")) -> list[Path]:
    """Write a picture as files of these kinds and close it; return their paths.

    The same drawing gives the same bytes. Raise UserError if a file cannot be written.
    """
    import matplotlib.pyplot as plt

    paths = [stem.with_suffix(f".{kind}") for kind in kinds]
    for kind, path in zip(kinds, paths, strict=True):
        if kind == "svg":
            text = StringIO()
            drawing.savefig(text, format=kind, metadata=VARYING[kind])
            write_text(path, for_both_schemes(text.getvalue()))
            continue
        with writing(path) as temporary:
            drawing.savefig(temporary, format=kind, dpi=150, metadata=VARYING[kind])
    plt.close(drawing)
    return paths


def for_both_schemes(svg: str) -> str:
    """Return an SVG text that has other colours on a dark page, without what only editors read.

    Positions are rounded to a hundredth of a point.
    """
    for_editors = r"<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>"
    svg = re.sub(for_editors, "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:d|x|y)="[^"]*"', lambda attribute: _rounded(attribute[0]), svg)
    rules = "".join(
        f'[style*="{part}: {light}"],[{part}="{light}"]{{{part}:{dark}!important}}\n'
        for light, dark in DARK.items()
        if light in svg
        for part in ("fill", "stroke")
    )
    rules = f"@media screen and (prefers-color-scheme:dark){{\n{rules}}}\n</style>"
    return re.sub(r"\s*\n\s*", "\n", svg.replace("</style>", rules, 1))


def _rounded(attribute: str) -> str:
    """Return an attribute of an SVG element with at most two decimals, on one line."""
    attribute = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute)
    return re.sub(r"\s+", " ", attribute.rstrip()).replace(' "', '"')
