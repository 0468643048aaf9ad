"""Pictures that stand in the page itself."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import NamedTuple


class Picture(NamedTuple):
    """The address that holds all of it, and its size in pixels."""

    src: str
    width: int
    height: int


def inline(path: Path) -> Picture | None:
    """An SVG file as a picture, without what only editors read; None where there is none."""
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    edited = r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>"
    text = re.sub(edited, "", text, flags=re.DOTALL)

    def rounded(path: re.Match[str]) -> str:
        return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", path[0])

    text = re.sub(r' d="[^"]*"', rounded, text)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").strip()
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    width, height = (round(float(side) * 4 / 3) for side in size.groups()) if size else (640, 480)
    src = "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
    return Picture(src, width, height)
