"""All results as pages that need no other file: an index, and a page for each experiment."""

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from transferbench import experiments, models
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import boards, html, pictures, summary, totals
from transferbench.evidence.boards import Board
from transferbench.evidence.explain import describe_cell
from transferbench.evidence.frame import ReadCells, no_runs, table_columns
from transferbench.evidence.page import Block, Page, Section, Table, Value, anchor, words
from transferbench.evidence.pages import Evidence, to_csv
from transferbench.files import write_text
from transferbench.runs import store

#: In the footer of every page of a report, also of version 1.
SIGNATURE = b"Written by <code>transferbench report</code>"


Watch = Callable[[Sequence[str]], Iterable[str]]
EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class ReportedExperiment:
    """An experiment of the report."""

    evidence: Evidence
    #: Its pages by name, the main one first.
    pages: Mapping[str, Page]
    #: Its pictures by name of the file.
    images: Mapping[str, str]

    @classmethod
    def read(cls, name: str, read: ReadCells) -> Self:
        """Return an experiment of the results."""
        folder_of_runs = experiments.load(name, read.results).folder(read.results)
        if not (folder_of_runs / store.NAME).is_file():
            raise no_runs(folder_of_runs)
        experiment, _, cells = read.named(name)
        evidence = Evidence.from_cells(experiment, cells, read)
        # Pictures are drawn, not read: a file in the results may be of someone else.
        with TemporaryDirectory() as folder:
            paths = evidence.draw(Path(folder) / experiment.name)
            images = {path.name: path.read_text(encoding="utf-8") for path in paths}
        pages = {name: part.page for name, part in evidence.parts.items()}
        return cls(evidence, pages, images)

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.evidence.experiment.name

    @property
    def title(self) -> str:
        """The title, after the number of the table or figure in a paper."""
        papers = "|".join(totals.NAMES)
        printed = re.fullmatch(rf"({papers})-(table|figure)(\d+[a-z]?)", self.name)
        if not printed:
            return str(self.spec.title)
        paper, kind, number = printed.groups()
        return f"{totals.NAMES[paper]}, {kind.capitalize()} {number}: {self.spec.title}"

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
        readings = [self.readings] if self.readings else []
        blocks = [*main.blocks[:1], *sections, *main.blocks[1:], *readings, *claims]
        return sorted(blocks, key=lambda block: isinstance(block, Section) and block.folded)

    @property
    def readings(self) -> list[str]:
        """Sentences on the rows that are readings: they have the data of another row."""
        groups: dict[str, list[str]] = {}
        for name, row in self.spec.rows.items():
            if row.reading_of:
                groups.setdefault(row.group, []).append(f"{name} (`{row.task}`)")
        return [
            f"Rows {group}: {', '.join(names)}. They are the data of other rows in another form, "
            "beside the same printed numbers; the totals leave them out."
            for group, names in groups.items()
        ]

    @property
    def tables(self) -> list[Table]:
        """The tables of the main page."""
        return next(iter(self.pages.values())).tables

    @cached_property
    def verdicts(self) -> Counter[str]:
        """The number of printed cells by verdict; of a control, which has another's, none."""
        cells = [] if self.spec.control_of else self.evidence.compared_cells
        return Counter(cell.verdict for cell in cells)

    @property
    def claims(self) -> dict[str, Counter[str]]:
        """The numbers of outcomes of a paper's claims, and of ours."""
        results = self.evidence.results
        return {
            "claim": Counter(result.outcome for result in results if not result.claim.by_us),
            "own claim": Counter(result.outcome for result in results if result.claim.by_us),
        }

    @property
    def search(self) -> dict[str, Any]:
        """Data of the search: words, models, their verdicts, and outcomes of claims."""
        spec = self.spec
        models = {label: spec.columns[name].model
                  for label, name, _ in table_columns(self.evidence.experiment)}  # fmt: skip
        words = [self.name, spec.title, spec.paper.place, *models, *spec.rows]
        words += [*self.evidence.notes, *(result.claim.says for result in self.evidence.results)]
        judged = {(models[cell.column], cell.verdict) for cell in self.evidence.compared_cells}
        return {
            "words": " ".join(words).casefold(),
            "models": sorted(set(models.values())),
            "judged": sorted(judged),
            "outcomes": sorted({result.outcome for result in self.evidence.results}),
        }

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """The facts about each number of the tables, by its address."""
        return {
            html.address(value, row[0], head): describe_cell(self.evidence.experiment, value.cell)
            for table in self.tables
            for row in (*table.rows, *table.foot)
            for head, value in zip(table.heads, row, strict=True)
            if isinstance(value, Value) and value.cell
        }


class BoardLine(NamedTuple):
    """What a board shows of a method beside its numbers."""

    kind: str
    #: Addresses by head of the column.
    links: Mapping[str, str]


def _standings(
    site: Mapping[str, str], suite: ReportedExperiment, board: Board
) -> dict[str, tuple[Table, list[BoardLine]]]:
    """Return the standings and a line for each method, by corpus; "" for all."""
    found, known, file = {}, _kinds(), f"{quote(suite.name)}.html"
    for corpus in ["", *board.corpora]:
        part, lines = board.of_corpus(corpus) if corpus else board, []
        done = part.values.dropna(subset="value").drop_duplicates("column").set_index("column")
        for one in part.standings.itertuples():
            kind = known.get(one.method) or known.get(one.model) or "in no table of the papers"
            links = {"method": f"{file}#Methods-and-settings"}
            if site and not models.is_external(one.model):
                links["method"] = f"{Path(site['Reference']).parent}/models/{one.model}.html"
            if one.rows:
                links["worst"] = f"{file}#{anchor(one.worst_row, one.method)}"
                links["tasks"] = f"{file}#{anchor(done.at[one.method, 'task'], one.method)}"
            lines.append(BoardLine(kind, links))
        found[corpus] = boards.standings_table(part), lines
    return found


@cache
def _kinds() -> dict[str, str]:
    """Return the kinds of methods in tables of the papers by label and by model."""
    # Of several kinds it is the first of `totals.KINDS`.
    order, found = [*totals.KINDS], dict[str, str]()
    for name in itertools.chain(*experiments.papers().values()):
        for label, column in experiments.load(name).spec.columns.items():
            if kind := column.kind:
                for key in (label, column.model):
                    found[key] = min(found.get(key, kind), kind, key=order.index)
    return {key: totals.KINDS[kind] for key, kind in found.items()}


def write(
    results: Path, folder: Path, named: Mapping[str, Path] = EMPTY, watch: Watch = iter
) -> tuple[list[Path], list[UserError]]:
    """Write the pages of `render` to a folder; return their paths."""
    if not named:  # refuse before the work
        check_folder(folder, {"index.html": ""})
    texts, errors = render(results, named=named, watch=watch)
    check_folder(folder, texts)
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts], errors


def check_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Check that writing pages, by file name, overwrites nothing but a report."""
    for name, text in texts.items():
        path = folder / name
        if not os.path.lexists(path) or _is_page(path):
            continue
        if not (path.is_file() and path.read_text("utf-8", "replace") == text):
            raise UserError(f"{folder}: its {name} is of no report; name another folder (--out).")


def _is_page(path: Path) -> bool:
    """Return True for a page of a report; other kinds of files are not opened."""
    return path.is_file() and SIGNATURE in path.read_bytes()


def render(
    results: Path,
    site: Mapping[str, str] = EMPTY,
    named: Mapping[str, Path] = EMPTY,
    watch: Watch = iter,
) -> tuple[dict[str, str], list[UserError]]:
    """Return an index, then a page for each experiment with runs, by name of the file."""
    # The same results give the same pages.
    # `site`: Links of a site that the pages are part of, by name.
    # `named`: Folders of results by name of an experiment: only these have a page, without an
    # index.
    # `watch`: Returns the same names, and shows how many of them are done.
    user_names = experiments.user_names(results)
    papers: dict[str, list[ReportedExperiment]] = {}
    texts: dict[str, str] = {}
    errors = []
    read = cache(ReadCells)
    known = [*experiments.names(), *user_names]
    having_runs = [name for name in known if (results / name / store.NAME).is_file()]
    for name in watch([*named] or sorted(having_runs, key=_order)):
        try:
            if name.casefold() in ("index", "boards"):
                raise UserError(f"{name}: a report has a {name}.html already; rename the file.")
            reported = ReportedExperiment.read(name, read(named.get(name, results)))
            texts[f"{reported.name}.html"] = html.fill(
                "experiment.html.j2", experiment=reported, site=site, has_index=not named
            )
            papers.setdefault(reported.spec.paper.title, []).append(reported)
        except UserError as error:
            errors.append(error)
    every = [reported for experiments_of in papers.values() for reported in experiments_of]
    if not every:
        raise SeveralErrors.combine(errors or [no_runs(results)])
    if not named:
        is_user = all(reported.name in user_names for reported in every)
        suites = [(one, board) for one in every if (board := one.evidence.board)]
        suites.sort(key=lambda suite: -len(suite[1].standings))
        pages = {"index.html": _index(papers, every, suites, site, is_user=is_user)}
        if suites:
            pages["boards.html"] = html.fill(
                "boards.html.j2", suites=suites, standings=partial(_standings, site), csv=to_csv,
                column=partial(words, "column"), site=site, has_index=True,
            )  # fmt: skip
        texts = pages | texts
    return texts, errors


def _index(
    papers: Mapping[str, Sequence[ReportedExperiment]],
    every: Sequence[ReportedExperiment],
    suites: Sequence[tuple[ReportedExperiment, Board]],
    site: Mapping[str, str],
    *,
    is_user: bool,
) -> str:
    """Return the text of index.html."""
    evidences = {reported.name: reported.evidence for reported in every}
    drawn = summary.scatters(evidences)
    return html.fill(
        "index.html.j2",
        user=[reported.spec.title for reported in every] if is_user else [],
        papers=papers,
        experiments=every,
        suites=suites,
        answer=[
            replace(block, folded=True) if isinstance(block, Section) else block
            for block in summary.blocks(evidences)
        ],
        images={pictures.PAPERS: pictures.scatter(drawn)} if drawn else {},
        site=site,
        has_index=True,
        data={reported.name: reported.search for reported in every},
    )


def _order(name: str) -> tuple[Any, ...]:
    """Return the sort key of a name: papers before others, tables before figures, 10 after 9."""
    printed = experiments.PUBLISHED.fullmatch(name) is not None
    paper = name.split("-")[0]
    return not printed, paper, "table" not in name, "figure" not in name, len(name), name
