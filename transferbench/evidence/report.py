"""All results as pages that need no other file: an index, and a page for each experiment."""

import base64
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, get_args

from jinja2 import Environment
from markupsafe import Markup, escape

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import (
    boards,
    figures,
    page,
    pictures,
    summary,
    tables,
)
from transferbench.evidence.claims import Outcome
from transferbench.evidence.explain import describe_cell
from transferbench.evidence.frame import no_runs, table_columns
from transferbench.evidence.page import Block, Page, Section, Table, Value
from transferbench.evidence.pages import Evidence
from transferbench.evidence.verdict import LOOKS
from transferbench.files import open_regular, write_text
from transferbench.runs import store

#: In the footer of every page of a report, also of version 1.
SIGNATURE = b"Written by <code>transferbench report</code>"


@dataclass(frozen=True)
class ReportedExperiment:
    """An experiment of the report."""

    evidence: Evidence
    #: Its pages by name, the main one first.
    pages: Mapping[str, Page]
    #: Its pictures in base64, by name of the file.
    images: Mapping[str, str]

    @classmethod
    def read(cls, name: str, results: Path) -> Self:
        """Return an experiment of the results."""
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
    def title(self) -> str:
        """The title, after the number of the table or figure in a paper."""
        papers = "|".join(summary.NAMES)
        printed = re.fullmatch(rf"({papers})-(table|figure)(\d+[a-z]?)", self.name)
        if not printed:
            return str(self.spec.title)
        paper, kind, number = printed.groups()
        return f"{summary.NAMES[paper]}, {kind.capitalize()} {number}: {self.spec.title}"

    @property
    def spec(self) -> Any:
        """The content of the experiment's file."""
        return self.evidence.experiment.spec

    @property
    def blocks(self) -> list[Block]:
        """The blocks of all pages: board or regrets, values, claims, folded parts."""
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
        return tables.totals(self.evidence.experiment, self.evidence.cells_and_averages)

    @property
    def counts(self) -> dict[str, Counter[str]]:
        """The numbers of verdicts, of outcomes of a paper's claims, and of outcomes of ours."""
        results = self.evidence.results
        return {
            "judged": Counter(verdict for _, verdict in self.printed.elements()),
            "claims": Counter(result.outcome for result in results if not result.claim.by_us),
            "by_us": Counter(result.outcome for result in results if result.claim.by_us),
        }

    @property
    def search(self) -> dict[str, Any]:
        """Data of the search: words, models and counts."""
        spec = self.spec
        models = {label: spec.columns[name].model
                  for label, name, _ in table_columns(self.evidence.experiment)}  # fmt: skip
        judged = {
            (models[cell.column], cell.verdict)
            for cell in self.evidence.cells_and_averages
            if cell.row in spec.rows and cell.column in models
        }
        words = [self.name, spec.title, spec.paper.place, *models, *spec.rows]
        words += [*self.evidence.notes, *(result.claim.says for result in self.evidence.results)]
        return self.counts | {
            "words": " ".join(words).casefold(),
            "models": sorted(set(models.values())),
            "judged": [(*key, self.printed[key]) for key in sorted(judged)],
        }

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """The facts about each number of the tables, by its address."""
        return {
            address(row[0], head): describe_cell(self.evidence.experiment, value.cell)
            for table in self.tables
            for row in (*table.rows, *table.foot)
            for head, value in zip(table.heads, row, strict=True)
            if isinstance(value, Value) and value.cell
        }


def address(row: object, head: str) -> str:
    """Return the address of a cell on its page."""
    return "-".join(f"{row} {head}".split())


def write(results: Path, folder: Path) -> list[UserError]:
    """Write index.html and a page for each experiment that has runs."""
    check_folder(folder)
    texts, errors = render(results)
    check_folder(folder, texts)
    for name, text in texts.items():
        write_text(folder / name, text)
    return errors


def check_folder(folder: Path, texts: Mapping[str, str] = MappingProxyType({})) -> None:
    """Check that writing a report overwrites nothing but a report."""
    # `texts`: Pages by file name; index.html is always checked.
    for name in ("index.html", *texts):
        path = folder / name
        if not os.path.lexists(path) or _is_page(path):
            continue
        text = texts.get(name)
        if not (path.is_file() and path.read_text("utf-8", "replace") == text):
            raise UserError(f"{folder}: its {name} is of no report; name another folder (--out).")


def _is_page(path: Path) -> bool:
    """Return True for a page of a report; other kinds of files are not opened."""
    return path.is_file() and SIGNATURE in path.read_bytes()


def render(results: Path, site: str = "") -> tuple[dict[str, str], list[UserError]]:
    """Return the pages; the same results give the same pages."""
    user_names = experiments.user_names(results)
    papers: dict[str, list[ReportedExperiment]] = {}
    texts: dict[str, str] = {}
    errors = []
    for name in sorted([*experiments.names(), *user_names], key=_order):
        try:
            if (results / name / store.NAME).is_file():
                if name.casefold() == "index":
                    raise UserError(f"{name}: a report has an index.html already; rename the file.")
                reported = ReportedExperiment.read(name, results)
                texts[f"{name}.html"] = _fill("experiment.html.j2", experiment=reported, site=site)
                papers.setdefault(reported.spec.paper.title, []).append(reported)
        except UserError as error:
            errors.append(error)
    every = [reported for experiments_of in papers.values() for reported in experiments_of]
    if not every:
        raise SeveralErrors.combine(errors or [no_runs(results)])
    is_user = all(reported.name in user_names for reported in every)
    suites = [
        (one, boards.standings_table(one.evidence.board)) for one in every if one.evidence.board
    ]
    suites.sort(key=lambda suite: -len(suite[1].rows))
    counts = {
        kind: sum((reported.counts[kind] for reported in every), Counter[str]())
        for kind in ("judged", "claims", "by_us")
    }
    known = {reported.name: reported.evidence for reported in every}
    images: dict[str, str] = {}
    if papers_drawn := summary.scatters(known):
        images[pictures.PAPERS] = base64.b64encode(pictures.scatter(papers_drawn).encode()).decode()
    texts["index.html"] = _fill(
        "index.html.j2", user=[reported.spec.title for reported in every] if is_user else [],
        papers=papers, experiments=every, suites=suites, counts=counts,
        totals=summary.blocks(known), images=images,
        site=site,
        data={reported.name: reported.search for reported in every},
    )  # fmt: skip
    return texts, errors


def _order(name: str) -> tuple[Any, ...]:
    """Return the sort key of a name: papers before others, tables before figures, 10 after 9."""
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
        "dark": figures.DARK, "looks": LOOKS, "outcomes": get_args(Outcome),
    }  # fmt: skip
    return environment


def _code(text: str) -> Markup:
    """Return HTML with the text in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
