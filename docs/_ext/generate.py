"""Sphinx extension: pages of models, datasets and results; docstrings as reStructuredText."""

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import model_pages
from docstring_rst import restructured
from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.util.docutils import SphinxDirective

from transferbench import datasets, models, parameters
from transferbench.evidence import report
from transferbench.experiments.schema import Schema
from transferbench.terms import TERMS

RESULTS = Path(__file__).parent.parent.parent / "results"
#: Files that pages link, which a clone has → the pages that the site makes of them.
MADE = {
    r"results/([\w-]+)/(?:table|figure|regret|claims|labels)": "results/{}.html",
    r"results/boards/([\w-]+)": "results/{}.html",
    r"results/boards/()": "results/boards.html",
    r"results/README()": "results/index.html",
    r"transferbench/(models|datasets)/(?:\w+/)?(\w+)\.py": "reference/{}/{}.html",
}
#: Links of the header, by name; the first is the front page.
LINKS = {
    "transferbench": "index.html",
    "Start": "getting-started.html",
    "Guides": "how-to/index.html",
    "Results": "results/index.html",
    "Boards": "results/boards.html",
    "Reference": "reference/index.html",
}
PAGE = "# {}\n\n```{{eval-rst}}\n.. automodule:: {}\n\n.. autofunction:: {}\n```\n"
TABLE = "\n## Tasks and files\n\n| name | content |\n|---|---|\n"
TERMS_TABLE = (
    "\n\n## Terms\n\nWhat the licences say, in words of "
    "[this list](../../tutorials/add-a-dataset.md#licence-and-terms):\n\n"
    "| term | meaning |\n|---|---|\n"
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the page of each model and dataset."""
    for name, model in models.registry().items():
        yield f"models/{name}.md", model_pages.page(model)
    modules = datasets.modules()
    for dataset in datasets.every():
        name, module = dataset.name, modules[dataset.name]
        rows = [(f"`{task}`", text) for task, text in module.TASKS.items()]
        rows += [(f"`{f.name}`", f"file, {f.licence}") for f in module.FILES.values()]
        text = PAGE.format(name, module.__name__, f"{module.__name__}.build") + TABLE
        text += markdown_table(rows)
        terms = [(f"`{term}`", TERMS[term]) for term in dataset.terms]
        yield f"datasets/{name}.md", text + (TERMS_TABLE + markdown_table(terms) if terms else "")
    yield "../_static/experiment.schema.json", json.dumps(Schema.model_json_schema(), indent=1)


def markdown_table(rows: Iterable[Iterable[str]]) -> str:
    """Return the lines of a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_pages(app: Any) -> None:
    """Write the pages that have changed below reference/."""
    for name, text in pages():
        file = Path(app.srcdir) / "reference" / name
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def to_rst(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Mark equations, lists and special characters of a docstring; add the types of parameters."""
    text = restructured("\n".join(lines))
    for p in parameters.schema(thing).values() if name.endswith((".fit", ".build")) else ():
        kind = f"{p.name} : {parameters.describe_type(p.type)}, default {p.default!r}"
        text = re.sub(rf"(?m)^{p.name}$", kind.replace("\\", r"\\"), text)
    lines[:] = [*text.splitlines(), ""]


def link_made(app: Any, doctree: nodes.document) -> None:
    """Replace links to files of MADE by links to their pages."""
    up = "../" * app.env.docname.count("/")
    for node in list(doctree.findall(lambda n: isinstance(n, pending_xref | download_reference))):
        for file, page in MADE.items():
            if found := re.search(f"/{file}$", node["reftarget"]):
                names = (part.replace("_", "-") for part in found.groups())
                url = up + page.format(*names)
                node.replace_self(nodes.reference("", "", *node, refuri=url))


def keep_together(app: Any, doctree: nodes.document) -> None:
    """Keep "3 of 9", "1.2 ± 0.1" and a value with its mark on one line of a table."""
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            if "of" in text or "±" in text or re.search(r"\S [●▲▼◆○–]", text):
                new = re.sub(r"(?<=\d) (of|±) (?=\d)", "\u00a0\\1\u00a0", text)
                new = re.sub(r"(?<=\S) (?=[●▲▼◆○–](\s|$))", "\u00a0", new)
                text.parent.replace(text, nodes.Text(new))


class Cells(SphinxDirective):
    """Rows and columns, each a line with semicolons, of results/NAME/table.md."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return one table of the cells, which may be in several tables of the page."""
        name = self.arguments[0]
        text = (RESULTS / name / "table.md").read_text("utf-8")
        title = re.match(r"# [^:]+: (.*)", text)[1]
        up = "../" * (1 + self.env.docname.count("/"))
        cells = {}
        for table in re.findall(r"(?m)^\| row .*\n(?:\|.*\n)+", text):
            heads, *lines = [re.split(r" *\| *", line[2:-2]) for line in table.splitlines()]
            for line in lines:
                cells |= {(line[0], head): cell for head, cell in zip(heads, line, strict=True)}
        rows, columns = (line.split("; ") for line in self.content)
        chosen = [["row", *columns], ["---", *["---:"] * len(columns)]]
        chosen += [[row, *(cells[row, column] for column in columns)] for row in rows]
        caption = f"*Rows of [{name}]({up}results/{name}/table.md): {title}*"
        return self.parse_text_to_nodes(f"{caption}\n\n{markdown_table(chosen)}")


class Topics(SphinxDirective):
    """The quality of the topics of each model with committed ones."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        table = model_pages.topic_quality().reset_index()
        lines = [[*table.columns], ["---", *["---:"] * (len(table.columns) - 1)]]
        for _, (name, count, *others) in table.iterrows():
            link = f"[{name}](../reference/models/{name}.md)"
            lines.append([link, f"{count:.0f}", *(f"{value:.2f}" for value in others)])
        return self.parse_text_to_nodes(markdown_table(lines))


def add_links(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page the links of the header, and the name of the one that it is below."""
    folders = {name: re.sub(r"(index)?\.html.*", "", link) for name, link in LINKS.items()}
    context["here"] = next(
        (n for n, folder in folders.items() if folder and page.startswith(folder)), ""
    )
    context["links"] = {name: context["pathto"](link, 1) for name, link in LINKS.items()}


def write_results(app: Any, made: Future[Any]) -> None:
    """Write the pages of results into the site, beside its own."""
    pages, errors = made.result()
    assert not errors, errors
    (folder := Path(app.outdir) / "results").mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Register the extension, and start to make the pages of results."""
    site = {name: f"../{link}" for name, link in LINKS.items()}
    results = ProcessPoolExecutor(1).submit(report.render, RESULTS, site)
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", to_rst, priority=400)  # numpydoc comes at 500
    app.add_directive("cells", Cells)
    app.add_directive("topics", Topics)
    app.connect("doctree-read", link_made, priority=400)  # downloads are collected at 500
    app.connect("doctree-read", keep_together)
    app.connect("html-page-context", add_links)
    app.connect("build-finished", lambda app, exception: write_results(app, results))
