"""Sphinx extension: write the pages that follow from the code and from the committed results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import reference
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

from transferbench.errors import SeveralErrors
from transferbench.evidence import report

RESULTS = Path(__file__).parent.parent.parent / "results"
#: A link to a page of results, relative to the page that contains it.
RESULT = re.compile(r"(?:\.\./)*results/([\w-]+\.html)")


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
    """Write reference/ and the JSON schema below the source folder."""
    docs = Path(app.srcdir)
    write(docs / "reference", [*reference.pages(), ("index.md", reference.INDEX)])
    (docs / "_static" / "experiment.schema.json").write_text(reference.json_schema(), "utf-8")


@cache
def results() -> dict[str, str]:
    """Return the pages of results by file name, with a link back to the documentation."""
    pages, errors = report.render(RESULTS, site="../index.html")
    if errors:
        raise SeveralErrors.of(errors)
    return pages


class ResultLinks(SphinxPostTransform):
    """Resolve links to the pages of results, which are no documents of the site."""

    default_priority = 5  # before MyST resolves links, and warns of unknown ones

    def run(self, **_: Any) -> None:
        """Replace each link to a page that exists."""
        for node in list(self.document.findall(pending_xref)):
            target = RESULT.fullmatch(node["reftarget"])
            if target and target[1] in results():
                node.replace_self(nodes.reference("", "", *node, refuri=node["reftarget"]))


def write_results(app: Any, exception: Exception | None) -> None:
    """Write the pages of results into the site, beside its own."""
    if exception is None:
        folder = Path(app.outdir) / "results"
        folder.mkdir(exist_ok=True)
        for name, text in results().items():
            (folder / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", generate)
    app.add_post_transform(ResultLinks)
    app.connect("build-finished", write_results)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
