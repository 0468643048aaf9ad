"""All results as pages that need no other file: an index, and a page for each experiment."""

import base64
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment
from markupsafe import Markup, escape

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import boards, page, summary, tables
from transferbench.evidence.explain import facts
from transferbench.evidence.frame import no_runs, table_columns
from transferbench.evidence.page import MARKS, OUTCOMES, Block, Page, Section, Table, Value
from transferbench.evidence.pages import Evidence
from transferbench.files import open_regular, write_text
from transferbench.runs import store


@dataclass(frozen=True)
class Entry:
    """An experiment of the report.

    evidence : what its runs show.
    pages    : its pages by name, the main one first.
    images   : its pictures in base64, by the name of the file.
    """

    evidence: Evidence
    pages: Mapping[str, Page]
    images: Mapping[str, str]

    @classmethod
    def read(cls, name: str, results: Path) -> Self:
        """Return an experiment from the results. Raise UserError if a file cannot be read."""
        experiment = experiments.load(name, results)
        evidence = Evidence.read(experiment, results / name)
        pictures = [*(results / name).glob("*.svg"), results / boards.FOLDER / f"{name}.svg"]
        images = {path.name: _base64(path) for path in pictures if path.exists()}
        return cls(evidence, evidence.pages(), images)

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.evidence.experiment.name

    @property
    def spec(self) -> Any:
        """The content of the experiment's file."""
        return self.evidence.experiment.spec

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all pages on one page: board or regrets, values, claims, what is folded."""
        main, *others = self.pages.values()
        sections = [Section(page.title.capitalize(), page.blocks) for page in others]
        claims = [sections.pop()] if "claims" in self.pages else []
        # The first block names the source.
        blocks = [*main.blocks[:1], *sections, *main.blocks[1:], *claims]
        return sorted(blocks, key=lambda block: isinstance(block, Section) and block.folded)

    @property
    def tables(self) -> list[Table]:
        """The tables of the main page."""
        return next(iter(self.pages.values())).tables

    @cached_property
    def printed(self) -> Counter[tuple[str, str]]:
        """The number of published cells by model and verdict."""
        return tables.totals(self.evidence.experiment, self.evidence.entries)

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """The numbers of verdicts, of outcomes of a paper's claims, and of claims of our own."""
        results = self.evidence.results
        return {
            "judged": Counter(verdict for _, verdict in self.printed.elements()),
            "claims": Counter(each.outcome for each in results if not each.claim.own),
            "by_us": Counter(each.outcome for each in results if each.claim.own),
        }

    @property
    def search(self) -> dict[str, Any]:
        """Data of the search: words, models and counts."""
        spec = self.spec
        models = {label: spec.columns[name].model
                  for label, name, _ in table_columns(self.evidence.experiment)}  # fmt: skip
        judged = {
            (models[cell.column], cell.verdict)
            for cell in self.evidence.entries
            if cell.row in spec.rows and cell.column in models
        }
        words = [self.name, spec.title, spec.paper.place, *models, *spec.rows]
        words += [*self.evidence.notes, *(result.claim.says for result in self.evidence.results)]
        return self.counts | {
            "words": " ".join(words).casefold(),
            "models": sorted(set(models.values())),
            "judged": [(*each, self.printed[each]) for each in sorted(judged)],
        }

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """The facts about each number of the tables, by its address."""
        return {
            address(row[0], head): facts(self.evidence.experiment, value.cell)
            for table in self.tables
            for row in (*table.rows, *table.foot)
            for head, value in zip(table.heads, row, strict=True)
            if isinstance(value, Value) and value.cell
        }


def address(row: object, head: str) -> str:
    """Return the address of a cell on its page."""
    return "-".join(f"{row} {head}".split())


def write(results: Path, folder: Path) -> list[UserError]:
    """Write index.html and a page for each experiment that has runs to the folder.

    results: folder of results, of which the pages are made. Return the errors of experiments that
    cannot be read and are left out. Raise UserError if none is left or a file cannot be written.
    """
    texts, errors = render(results)
    for name, text in texts.items():
        write_text(folder / name, text)
    return errors


def render(results: Path, site: str = "") -> tuple[dict[str, str], list[UserError]]:
    """Return the pages by file name, and the errors of experiments left out; see `write`.

    site: address of the documentation, for a link to it. The same results give the same pages.
    """
    user_names = experiments.own_names(results)
    papers: dict[str, list[Entry]] = {}
    texts: dict[str, str] = {}
    errors = []
    for name in sorted([*experiments.names(), *user_names], key=_order):
        try:
            if (results / name / store.NAME).is_file():
                entry = Entry.read(name, results)
                texts[f"{name}.html"] = _fill("experiment.html.j2", entry=entry, site=site)
                papers.setdefault(entry.spec.paper.title, []).append(entry)
        except UserError as error:
            errors.append(error)
    entries = [entry for of_paper in papers.values() for entry in of_paper]
    if not entries:
        raise SeveralErrors.of(errors or [no_runs(results)])
    is_user = all(entry.name in user_names for entry in entries)
    suites = [(e, boards.table(e.evidence.board)) for e in entries if e.evidence.board]
    suites.sort(key=lambda suite: -len(suite[1].rows))
    counts = {
        kind: sum((entry.counts[kind] for entry in entries), Counter[str]())
        for kind in ("judged", "claims", "by_us")
    }
    texts["index.html"] = _fill(
        "index.html.j2", user=[entry.spec.title for entry in entries] if is_user else [],
        papers=papers, entries=entries, suites=suites, counts=counts,
        totals=summary.blocks({entry.name: entry.evidence for entry in entries}),
        site=site,
        data={entry.name: entry.search for entry in entries},
    )  # fmt: skip
    return texts, errors


def _order(name: str) -> tuple[Any, ...]:
    """Sort the papers' tables before other names, tables first, and so that 10 comes after 9."""
    printed = experiments.PUBLISHED.fullmatch(name) is not None
    paper = name.split("-")[0]
    return not printed, paper, "table" not in name, "figure" not in name, len(name), name


def _base64(path: Path) -> str:
    with open_regular(path) as file:
        return base64.b64encode(file.read()).decode()


def _fill(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    environment = page.environment().overlay()
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {"address": address, "code": _code}
    environment.tests["of"] = lambda block, name: type(block).__name__ == name
    environment.globals |= {
        "marks": MARKS | OUTCOMES, "verdict_marks": MARKS, "outcome_marks": OUTCOMES
    }  # fmt: skip
    return environment


def _code(text: str) -> Markup:
    """Return HTML with the text in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
