"""All results as pages that need no other file: an index, and a page for each experiment."""

import base64
import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import boards, claims, figures, tables
from transferbench.evidence.explain import facts
from transferbench.evidence.frame import Cell, no_runs, read_cells, table_columns
from transferbench.evidence.pages import content, fill
from transferbench.experiments.experiment import Experiment, Figure
from transferbench.files import open_regular, write_text
from transferbench.runs import store


def write(results: Path, folder: Path) -> list[UserError]:
    """Write index.html and a page for each experiment that has runs to the folder.

    results: folder of results, of which the pages are made. Return the errors of experiments that
    cannot be read and are left out. Raise UserError if none is left or a file cannot be written.
    """
    pages, errors = render(results)
    for name, text in pages.items():
        write_text(folder / name, text)
    return errors


def render(results: Path, site: str = "") -> tuple[dict[str, str], list[UserError]]:
    """Return the pages by file name, and the errors of experiments left out; see `write`.

    site: address of the documentation, for a link to it. The same results give the same pages.
    """
    errors: list[UserError] = []
    sections: list[dict[str, Any]] = []
    not_run = []
    own = experiments.own_names(results)
    for name in sorted([*experiments.names(), *own], key=_order):
        try:
            experiment = experiments.load(name, results)
            if (results / name / store.NAME).is_file():
                sections.append(_section(experiment, results / name))
            else:
                not_run.append(name)
        except UserError as error:
            errors.append(error)
    if not sections:
        raise SeveralErrors.of(errors or [no_runs(results)])
    papers: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        papers.setdefault(section["spec"].paper.title, []).append(section)
    sections = [section for of_paper in papers.values() for section in of_paper]
    titles = [section["spec"].title for section in sections if section["file"].name in own]
    if len(titles) < len(sections):
        titles = []
    # Each page has links to the one before and the one after it.
    names = ["", *(section["file"].name for section in sections), ""]
    pages = {
        f"{section['file'].name}.html": fill(
            "experiment.html.j2", section=section, before=before, after=after, site=site
        )
        for before, section, after in zip(names, sections, names[2:], strict=False)
    }
    totals = {
        name: sum((section[name] for section in sections), Counter[str]())
        for name in ("verdicts", "outcomes", "own_outcomes")
    }
    pages["index.html"] = fill(
        "index.html.j2", own=titles, papers=papers, sections=sections,
        not_run=not_run, site=site,
        data={section["file"].name: section["searched"] for section in sections}, **totals,
    )  # fmt: skip
    return pages, errors


def _order(name: str) -> tuple[Any, ...]:
    """Sort the papers' tables before other names, tables first, and so that 10 comes after 9."""
    printed = experiments.PUBLISHED.fullmatch(name) is not None
    paper = name.split("-")[0]
    return not printed, paper, "table" not in name, "figure" not in name, len(name), name


def _section(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return what the templates show of one experiment: `pages.content`, and what is added here."""
    spec, cells = experiment.spec, read_cells(experiment, folder)
    shown = content(experiment, cells, claims.others(experiment, folder.parent))
    entries, results = shown["entries"], shown["results"]
    grid, places = shown["rows"], shown["columns"]
    if spec.figure:
        grid, places = _points(experiment, spec.figure, cells)
    printed = tables.totals(experiment, entries)
    outcomes = Counter[str](result.outcome for result in results if not result.claim.own)
    own_outcomes = Counter[str](result.outcome for result in results if result.claim.own)
    columns = {label: spec.columns[name] for label, name, _ in table_columns(experiment)}
    models = sorted({column.model for column in columns.values()})
    ours = [e for e in entries if e.row in spec.rows and e.column in columns]
    judged = {(columns[e.column].model, e.verdict) for e in ours}
    texts = [experiment.name, spec.title, spec.paper.place, *columns, *spec.rows, *shown["notes"]]
    texts += [result.claim.says for result in results]
    pictures = {svg.stem: svg for svg in folder.glob("*.svg")}
    ranks = folder.parent / boards.FOLDER / f"{experiment.name}.svg"
    if ranks.is_file():
        pictures["board"] = ranks
    return shown | {
        "grid": grid,
        "places": {place: columns.get(place) for place in places},
        "number": partial(tables.number, experiment),
        "facts": {
            line: {place: facts(experiment, c) for place, c in here.items() if c.records}
            for line, here in grid.items()
        },
        "board": boards.of(experiment, cells, folder.parent) if spec.board else None,
        "searched": {
            "words": " ".join(texts).casefold(),
            "models": models,
            "judged": [(*each, printed[each]) for each in sorted(judged)],
            "claims": outcomes,
            "own": own_outcomes,
            "columns": shown["columns"],
            "rows": {
                row: [_words(experiment, here[c]) if c in here else "" for c in shown["columns"]]
                for row, here in shown["rows"].items()
                if not spec.regret
            },
        },
        "verdicts": Counter(verdict for _, verdict in printed.elements()),
        "outcomes": outcomes,
        "own_outcomes": own_outcomes,
        "pictures": {name: _base64(svg) for name, svg in pictures.items()},
        "pdfs": {
            name: _base64(pdf)
            for name, svg in pictures.items()
            if (pdf := svg.with_suffix(".pdf")).is_file()
        },
    }


def _words(experiment: Experiment, cell: Cell) -> str:
    """Return a cell as one line: ours ± the deviation / the published value, and the verdict."""
    number = partial(tables.number, experiment)
    std, printed = number(cell.std), number(cell.published)
    words = (number(cell.mean) or "none" * cell.planned) + (f" ± {std}" if std else "")
    words += f" / {printed}" if printed else ""
    return words.strip() + (f" {tables.MARKS[cell.verdict]} {cell.verdict}" if cell.verdict else "")


def _base64(path: Path) -> str:
    with open_regular(path) as file:
        return base64.b64encode(file.read()).decode()


def _points(
    experiment: Experiment, figure: Figure, cells: Sequence[Cell]
) -> tuple[dict[str, dict[str, Cell]], list[str]]:
    """Return the points of a figure by line and place, of curves the last ones, and the places.

    x, or the methods, are along the places; the last place is that of published levels.
    """
    if figure.iterations:
        cells = list({(cell.row, cell.column): cell for cell in cells}.values())
    several = not figure.rows and len(experiment.spec.columns) > 1
    levels = {} if figure.rows else figures.published_levels(experiment)
    grid: dict[str, dict[str, Cell]] = {}
    places = []
    # Points without x come last.
    for cell in sorted(cells, key=lambda cell: (math.isnan(cell.x), cell.x)):
        x = "any x" if math.isnan(cell.x) else f"{cell.x:g}"
        places.append(cell.column if figure.rows else x)
        here = grid.setdefault(f"{cell.row}, {cell.column}" if several else cell.row, {})
        here[places[-1]] = cell
        if cell.row in levels:
            level = levels[cell.row]
            here["published"] = Cell(
                row=cell.row, column="published", metric=cell.metric, mean=level
            )
    return grid, [*dict.fromkeys(places), *["published"] * bool(levels)]
