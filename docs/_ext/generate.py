"""Sphinx extension: pages of models, datasets and results; docstrings as reStructuredText."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

from transferbench import datasets, models, parameters
from transferbench.evidence import report
from transferbench.experiments.experiment import Schema

RESULTS = Path(__file__).parent.parent.parent / "results"
#: A link to a page of results, relative to the page that contains it.
RESULT = re.compile(r"(?:\.\./)*results/([\w-]+\.html)")
PAGE = "# {}\n\n```{{eval-rst}}\n.. automodule:: {}\n\n.. autofunction:: {}\n```\n"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the page of each model and dataset."""
    for name, model in models.registry().items():
        yield f"models/{name}.md", PAGE.format(name, model.module, f"{model.module}.fit")
    for name, module in datasets.modules().items():
        rows = [("task", "content"), ("---", "---")]
        rows += [(f"`{task}`", text) for task, text in module.TASKS.items()]
        rows += [(f"`{f.name}`", f"file, {f.licence}") for f in module.FILES.values()]
        table = "\n".join(f"| {one} | {two} |" for one, two in rows)
        page = PAGE.format(name, module.__name__, f"{module.__name__}.build")
        yield f"datasets/{name}.md", f"{page}\n## Tasks and files\n\n{table}\n"
    schema = json.dumps(Schema.model_json_schema(), indent=1, ensure_ascii=False)
    yield "../_static/experiment.schema.json", schema


def write_pages(app: Any) -> None:
    """Write the pages that have changed below reference/."""
    for name, text in pages():
        file = Path(app.srcdir) / "reference" / name
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def to_rst(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Mark equations, lists and special characters of a docstring; add the types of parameters."""
    blocks = []
    for block in "\n".join(lines).split("\n\n"):
        if block.startswith("    "):
            blocks += [".. code-block:: text", block]
            continue
        block = re.sub(r"(?m)^(?!- |  )(.*)\n- ", r"\1\n\n- ", block)
        parts = re.split(r"(?m)(`[^`]*`|^\*\*\w+$)", block)
        parts[::2] = [re.sub(r"(?<=[\w*])_(?=\W)|[*|]", r"\\\g<0>", part) for part in parts[::2]]
        blocks.append("".join(parts))
    text = "\n\n".join(blocks)
    for p in parameters.schema(thing).values() if name.endswith((".fit", ".build")) else ():
        kind = f"{p.name} : {parameters.describe_type(p.type)}, default {p.default!r}"
        text = re.sub(rf"(?m)^{p.name}$", kind.replace("\\", r"\\"), text)
    lines[:] = [*text.splitlines(), ""]


@cache
def results() -> dict[str, str]:
    """Return the pages of results by file name, with a link back to the documentation."""
    made, errors = report.render(RESULTS, site="../index.html")
    assert not errors, errors
    return made


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
    (folder := Path(app.outdir) / "results").mkdir(exist_ok=True)
    for name, text in results().items():
        (folder / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", to_rst, priority=400)  # numpydoc comes at 500
    app.add_post_transform(ResultLinks)
    app.connect("build-finished", write_results)
