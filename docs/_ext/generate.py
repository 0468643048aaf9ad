"""Sphinx extension: write the pages that follow from the code and from the committed results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gallery
import reference


def write(folder: Path, pages: Iterable[tuple[str, str]]) -> None:
    """Write the pages, path and text, that have changed; remove those that are no longer made."""
    made = set()
    for name, text in pages:
        file = folder / name
        made.add(file)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for file in set(folder.rglob("*.md")) - made:
        file.unlink()


def generate(app: Any) -> None:
    """Write reference/, results/ and the JSON schema below the source folder."""
    docs = Path(app.srcdir)
    write(docs / "reference", [*reference.pages(), ("index.md", reference.INDEX)])
    write(docs / "results", gallery.pages(docs.parent / "results", docs / "results"))
    (docs / "_static" / "experiment.schema.json").write_text(reference.json_schema(), "utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
