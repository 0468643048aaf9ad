"""All results as pages that need no other file: an index, and a page for each experiment."""

import base64
import json
import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from transferbench import experiments
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import claims, figures, tables
from transferbench.evidence.explain import facts
from transferbench.evidence.frame import Cell, no_runs, read_cells, table_columns
from transferbench.evidence.pages import content, fill
from transferbench.experiments.experiment import Experiment, Figure
from transferbench.files import write_text
from transferbench.messages import counted


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
    names = [*experiments.names(), *experiments.own_names(results)]
    for name in sorted(names, key=_order):
        try:
            experiment = experiments.load(name, results)
            if (results / name / "runs.csv").is_file():
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
    verdicts, with_readings = tables.totals((each["file"], each["entries"]) for each in sections)
    # Each page has links to the one before and the one after it.
    names = ["", *(section["file"].name for section in sections), ""]
    pages = {
        f"{section['file'].name}.html": fill(
            "experiment.html.j2",
            section=section,
            before=before,
            after=after,
            data=_json(section["facts"]),
            site=site,
        )
        for before, section, after in zip(names, sections, names[2:], strict=False)
    }
    pages["index.html"] = fill(
        "index.html.j2",
        papers=papers,
        verdicts=verdicts,
        with_readings=with_readings,
        **{
            name: sum((section[name] for section in sections), Counter[str]())
            for name in ("outcomes", "own_outcomes")
        },
        methods=sorted({each.split(":")[0] for section in sections for each in section["found"]}),
        not_run=not_run,
        site=site,
    )
    return pages, errors


def _order(name: str) -> tuple[Any, ...]:
    """Sort names by paper, tables first, and shorter ones first, so that 10 comes after 9."""
    return name.split("-")[0], "table" not in name, "figure" not in name, len(name), name


def _json(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _section(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """Return what the templates show of one experiment: `pages.content`, and what is added here."""
    spec, cells = experiment.spec, read_cells(experiment, folder)
    shown = content(experiment, cells, claims.others(experiment, folder.parent))
    entries, results = shown["entries"], shown["results"]
    grid, places = shown["rows"], shown["columns"]
    if spec.figure:
        grid, places = _points(experiment, spec.figure, cells)
    verdicts, _ = tables.totals([(experiment, entries)])
    outcomes = Counter[str](result.outcome for result in results if not result.claim.own)
    own_outcomes = Counter[str](result.outcome for result in results if result.claim.own)
    columns = {label: spec.columns[name] for label, name, _ in table_columns(experiment)}
    models = {(column.model, "") for column in columns.values()}
    judged = {(columns[e.column].model, e.verdict) for e in entries if e.row in spec.rows}
    texts = [experiment.name, spec.title, spec.paper.place, *columns, *spec.rows, *shown["notes"]]
    texts += [result.claim.says for result in results]
    counts = [(word, str(verdicts[word])) for word in tables.MARKS if verdicts[word]]
    for found, noun in ((outcomes, "claim"), (own_outcomes, "own claim")):
        counts += [(word, counted(found[word], noun)) for word in claims.MARKS if found[word]]
    return shown | {
        "grid": grid,
        "places": {place: columns.get(place) for place in places},
        "number": partial(_number, experiment),
        "facts": {
            line: {place: _facts(experiment, c) for place, c in here.items() if c.outcomes}
            for line, here in grid.items()
        },
        "found": sorted(f"{model}:{verdict}" for model, verdict in models | judged),
        "words": " ".join(texts).casefold(),
        "outcomes": outcomes,
        "own_outcomes": own_outcomes,
        "counts": counts,
        "pictures": {
            path.stem: base64.b64encode(path.read_bytes()).decode() for path in folder.glob("*.svg")
        },
    }


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
            here["published"] = Cell(cell.row, "published", math.nan, cell.metric, mean=level)
    return grid, [*dict.fromkeys(places), *["published"] * bool(levels)]


def _number(experiment: Experiment, value: float) -> str:
    """Return a value with the table's decimals, "" for NaN."""
    if math.isnan(value):
        return ""
    if experiment.spec.unit in ("seconds", "MiB"):
        return f"{value:.3g}"
    return f"{value:.{tables.digits(experiment)}f}"


def _facts(experiment: Experiment, cell: Cell) -> dict[str, str]:
    """Return the facts of a cell's dialog: its title, those of `explain`, and of its runs."""
    figure = experiment.spec.figure
    x = f", {figure.label} = {cell.x:g}" if figure and not math.isnan(cell.x) else ""
    days = sorted(time[:10] for time in cell.reported("finished"))
    versions = [
        ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
        for text in cell.reported("versions")
    ]
    found = {
        "title": f"{experiment.name}: {cell.column}, {cell.row}{x}",
        **facts(experiment, cell),
        "run on": " to ".join(dict.fromkeys(days[:1] + days[-1:])),
        "data": ", ".join(cell.reported("data")),
        "code": ", ".join(cell.reported("code")),
        "versions": "; ".join(versions),
    }
    return {name: text for name, text in found.items() if text}
