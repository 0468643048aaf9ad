"""transferbench audit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._terminal import echo, echo_table
from transferbench.errors import UserError

if TYPE_CHECKING:
    from transferbench.evidence.audit import Column, Finding
    from transferbench.experiments.experiment import Experiment

#: Of a file: its size, documents of a row, and a printed value.
MAX_BYTES = 2**24
KEYS = ("row", "documents")
DOCUMENTS = re.compile("[1-9][0-9]{0,5}")
PER_CENT = re.compile(r"(100(\.0{1,4})?|[0-9]{1,2}(\.[0-9]{1,4})?)")


@click.command()
@click.argument("names", nargs=-1, metavar="[EXPERIMENT | FILE.csv]...")
def command(names: tuple[str, ...]) -> None:
    """Check which printed accuracies are single runs, on how many documents, and which are copied.

    EXPERIMENT is a published table; without names, all of them. FILE.csv has the accuracies of
    another paper in per cent, as printed: the columns row and documents, then one for each method.
    An accuracy of one run on n documents is k/n, so its digits allow few n.
    """
    from transferbench.evidence import audit
    from transferbench.evidence.page import words

    files = [name for name in names if name.endswith(".csv")]
    asked = [name for name in names if name not in files]
    found = findings(asked) if asked or not files else {}
    for name in files:
        columns, documents = _read(Path(name))
        found[name] = audit.audit(columns, {"documents": documents})
    for name in names or found:
        if found[name]:
            echo(f"{name}:")
            echo_table(audit.table(name, found[name]).texts())
            echo()
    echo(click.wrap_text(words("audit"), width=100))


def page() -> str:
    """Return the page of all published tables in Markdown."""
    from transferbench.evidence import audit
    from transferbench.evidence.page import Page, Section, markdown, words

    named = findings().items()
    sections = [Section(name, [audit.table(name, found)]) for name, found in named if found]
    title = "what the digits of printed accuracies say"
    return markdown(Page("Audit", title, [words("audit"), *sections]))


def _read(path: Path) -> tuple[list[Column], dict[str, int]]:
    """Return the columns of a table and the documents by row."""
    from transferbench.evidence.audit import Column
    from transferbench.userdata.documents import check_files
    from transferbench.userdata.readers import read_table

    check_files([path], MAX_BYTES)
    documents: dict[str, int] = {}
    printed: dict[str, dict[str, str]] = {}
    table = read_table(path).astype(str)
    table.columns = [c.casefold() if c.casefold() in KEYS else c for c in table]
    if not table.columns.is_unique:
        raise UserError(f"{path}:1: expected row, documents and each method once.")
    for line, values in table.to_dict("index").items():
        row, number = values.pop("row", ""), values.pop("documents", "")
        methods = {name: text.strip() for name, text in values.items() if text.strip()}
        known = DOCUMENTS.fullmatch(number) and row not in documents
        if not (known and row and all(map(PER_CENT.fullmatch, methods.values()))):
            form = "row (each once), documents (1 to 999,999) and per cent of each method"
            raise UserError(f"{path}:{line}: expected {form}, with at most 4 decimals.")
        documents[row] = int(number)
        for name, text in methods.items():
            printed.setdefault(name, {})[row] = text
    if not printed:
        raise UserError(f"{path}: no per cent in it; expected a column for each method.")
    digits = max(len(t.partition(".")[2]) for texts in printed.values() for t in texts.values())
    return [
        Column(name, {row: float(text) / 100 for row, text in texts.items()}, digits + 2)
        for name, texts in printed.items()
    ], documents


def sizes(experiment: Experiment) -> dict[str, dict[str, int]]:
    """Return the numbers of scored documents of a table's tasks, in every form that is known here.

    A form is a collection or a cut of it: `gtl/…-bydate` and `dtl/…-19997` are forms of one task.
    """
    from transferbench import datasets
    from transferbench.evidence.explain import FORM

    forms: dict[str, dict[str, int]] = {}
    for row, spec in experiment.spec.rows.items():
        name = FORM.sub("", spec.data().base.split("/")[-1])
        for task in datasets.tasks() if row in experiment.spec.published else ():
            collection, _, its_name = task.rpartition("/")
            counts = datasets.facts(task).get("documents", {})
            scored = [n for domain, n in counts.items() if spec.domain in (domain, None)]
            if spec.domain is None:
                scored = [n for domain, n in counts.items() if not domain.startswith("source")]
            if FORM.sub("", its_name) == name and scored:
                form = (collection or task) + its_name.removeprefix(name)
                forms.setdefault(form, {})[row] = sum(scored)
    return forms


def findings(names: Iterable[str] = ()) -> dict[str, list[Finding]]:
    """Return what the digits of tables say by their name; without names, of all published ones."""
    from transferbench import experiments
    from transferbench.evidence.audit import audit, printed

    published = [name for of_paper in experiments.papers().values() for name in of_paper]
    loaded = {name: experiments.load(name) for name in {*published, *names}}
    columns = {name: printed(experiment) for name, experiment in loaded.items()}
    found = {}
    for name in names or published:
        others = (
            replace(column, name=f"{other}: {column.name}")
            for other in published if other != name for column in columns[other]
        )  # fmt: skip
        found[name] = audit(columns[name], sizes(loaded[name]), others)
    return found
