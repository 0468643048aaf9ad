"""All results as pages that need no other file: an index, and a page for each experiment."""

from __future__ import annotations

import base64
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from transferbench import experiments
from transferbench.choose.criteria import MEANINGS
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import claims, claims_page, figures, ranks, readings, regret, tables
from transferbench.evidence.explain import command
from transferbench.evidence.frame import (
    Cell,
    no_runs,
    observations,
    read_runs,
    summarise,
    table_columns,
)
from transferbench.evidence.pages import fill, setting
from transferbench.experiments.experiment import Experiment
from transferbench.files import write_text


def write(results: Path, folder: Path, site: str = "") -> list[UserError]:
    """Write index.html and a page for each experiment that has runs to the folder.

    results: folder of results, of which the pages are made. site: address of the documentation,
    for a link to it. Return the errors of experiments that cannot be read and are left out. Raise
    UserError if none is left or a file cannot be written.
    """
    pages, errors = render(results, site)
    for name, text in pages.items():
        write_text(folder / name, text)
    return errors


def render(results: Path, site: str = "") -> tuple[dict[str, str], list[UserError]]:
    """Return the pages by file name, and the errors of experiments left out; see `write`.

    The same results give the same pages.
    """
    errors: list[UserError] = []
    known: dict[str, tuple[Experiment, list[Cell]]] = {}
    not_run = []
    for name in [*experiments.names(), *experiments.own_names(results)]:
        try:
            experiment = experiments.load(name, results)
            path = results / name / "runs.csv"
            if path.is_file():
                observed = observations(experiment, read_runs(path))
                known[name] = experiment, summarise(experiment, observed)
            else:
                not_run.append(name)
        except UserError as error:
            errors.append(error)
    sections = []
    for name in sorted(known, key=_order):
        try:
            sections.append(_section(known[name][0], known, results / name))
        except UserError as error:
            errors.append(error)
    if not sections:
        raise SeveralErrors.of(errors or [no_runs(results)])
    papers: dict[str, list[dict[str, Any]]] = {}
    for section in sections:
        papers.setdefault(section["spec"].paper.title, []).append(section)
    sections = [section for of_paper in papers.values() for section in of_paper]
    names = ["", *(section["name"] for section in sections), ""]
    pages = {
        f"{section['name']}.html": fill(
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
        **{
            name: sum((section[name] for section in sections), Counter[str]())
            for name in ("verdicts", "with_readings", "outcomes")
        },
        methods=sorted({each.split(":")[0] for section in sections for each in section["found"]}),
        not_run=sorted(not_run, key=_order),
        site=site,
    )
    return pages, errors


def _order(name: str) -> tuple[Any, ...]:
    """Sort names by paper, tables first, and shorter ones first, so that 10 comes after 9."""
    return name.split("-")[0], "table" not in name, "figure" not in name, len(name), name


def _json(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _section(experiment: Experiment, known: claims.Others, folder: Path) -> dict[str, Any]:
    """Return what the templates show of one experiment."""
    spec, cells = experiment.spec, known[experiment.name][1]
    entries = [] if spec.figure else tables.with_averages(experiment, cells)
    shown = _points(experiment, cells) if spec.figure else _table(entries)
    lines: dict[str, dict[str, Shown]] = {}
    for each in shown:
        lines.setdefault(each.line, {})[each.place] = each
    verdicts, with_readings = tables.totals(experiment, entries)
    results = claims.judge(experiment, cells, known)
    outcomes = Counter[str](result.outcome for result in results)
    columns = {label: spec.columns[name] for label, name, _ in table_columns(experiment)}
    kinds = {
        label: "control" if column.control else "reading" if column.reading_of else ""
        for label, column in columns.items()
    }
    found = {
        f"{columns[entry.column].model}:{entry.verdict}"
        for entry in entries
        if entry.verdict and entry.row in spec.rows
    }
    notes = [
        *claims_page.identical(experiment, cells),
        *tables.choices(experiment, entries),
        *spec.notes,
    ]
    texts = [experiment.name, spec.title, spec.paper.place, *columns, *spec.rows, *notes]
    texts += [result.claim.says for result in results]
    return {
        "file": experiment,
        "name": experiment.name,
        "spec": spec,
        "number": partial(_number, experiment),
        "columns": {place: kinds.get(place, "") for place in dict.fromkeys(e.place for e in shown)},
        "rows": {line: here for line, here in lines.items() if spec.figure or line in spec.rows},
        "averages": {} if spec.figure else {n: c for n, c in lines.items() if n not in spec.rows},
        "best": tables.best(experiment, entries),
        "facts": [_facts(experiment, each.cell) for each in shown if each.number is not None],
        "found": sorted(found | {f"{column.model}:" for column in columns.values()}),
        "words": " ".join(texts).casefold(),
        "verdicts": verdicts,
        "with_readings": with_readings,
        "outcomes": outcomes,
        "counts": [(word, n) for word in tables.MARKS if (n := verdicts[word])]
        + [(word, n) for word in claims_page.MARKS if (n := outcomes[word])],
        "notes": notes,
        "problems": tables.problems(experiment, entries),
        "results": results,
        "growth": figures.growth(experiment, figures.points(experiment, cells)),
        "regret": _regret(experiment, cells) if spec.regret else None,
        "ranking": ranks.ranking(experiment, cells),
        "readings": readings.sentences(experiment, cells) if spec.readings else [],
        "pictures": {
            path.stem: base64.b64encode(path.read_bytes()).decode() for path in folder.glob("*.svg")
        },
    }


def _regret(experiment: Experiment, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the table of regrets: columns, lines, and what each criterion means."""
    table = regret.summary(experiment, cells)
    assert experiment.spec.regret is not None
    names = {"worst_row": "on", "below_reference": f"below {experiment.spec.regret.reference}"}
    lines = [list(line) for line in table.itertuples(index=False, name=None)]
    columns = [names.get(name, name) for name in table.columns]
    return {"columns": columns, "lines": lines, "meanings": MEANINGS}


@dataclass(frozen=True)
class Shown:
    """A cell at the labels of its row and column on the page; number: of its dialog, if any."""

    line: str
    place: str
    cell: Cell
    number: int | None = None


def _table(entries: Sequence[Cell]) -> list[Shown]:
    """Return the entries of a table; averages have no runs, and so no dialog."""
    numbers = count()
    return [
        Shown(cell.row, cell.column, cell, next(numbers) if cell.outcomes else None)
        for cell in entries
    ]


def _points(experiment: Experiment, cells: Sequence[Cell]) -> list[Shown]:
    """Return the points of a figure, of curves the last ones, and the published levels.

    x, or the methods, are along the columns.
    """
    figure = experiment.spec.figure
    assert figure is not None
    if figure.iterations:
        cells = list({(cell.row, cell.column): cell for cell in cells}.values())
    several = not figure.rows and len(experiment.spec.columns) > 1
    levels = {} if figure.rows else figures.published_levels(experiment)
    # Points without x come last.
    points = sorted(cells, key=lambda cell: (math.isnan(cell.x), cell.x))
    shown, published = [], {}
    for number, cell in enumerate(points):
        line = f"{cell.row}, {cell.column}" if several else cell.row
        x = "any x" if math.isnan(cell.x) else f"{cell.x:g}"
        plain = replace(cell, published=math.nan, verdict="")
        shown.append(Shown(line, cell.column if figure.rows else x, plain, number))
        if cell.row in levels:
            level = Cell(cell.row, "published", math.nan, cell.metric, mean=levels[cell.row])
            published[line] = Shown(line, "published", level)
    return [*shown, *published.values()]


def _number(experiment: Experiment, value: float) -> str:
    """Return a value with the table's decimals, "" for NaN."""
    if math.isnan(value):
        return ""
    if experiment.spec.unit in ("seconds", "MiB"):
        return f"{value:.3g}"
    return f"{value:.{tables.digits(experiment)}f}"


def _facts(experiment: Experiment, cell: Cell) -> dict[str, str]:
    """Return the facts of a cell's dialog, its title first."""
    figure, column = experiment.spec.figure, experiment.spec.columns.get(cell.column)
    x = f", {figure.label} = {cell.x:g}" if figure and not math.isnan(cell.x) else ""
    ours, std = _number(experiment, cell.mean) or "none", _number(experiment, cell.std)
    runs = f"{experiment.metric(cell.row)}, {cell.runs} of {cell.planned} runs"
    facts = {
        "title": f"{experiment.name}: {cell.column}, {cell.row}{x}",
        "Ours": f"{ours}{std and f' ± {std}'}, {runs}",
    }
    if not figure:
        printed, std = _number(experiment, cell.published), _number(experiment, cell.published_std)
        verdict = cell.verdict
        if verdict and not math.isnan(cell.difference):
            verdict += f", {cell.difference:+.{tables.digits(experiment)}f}"
        place = experiment.compared.paper.place
        facts |= {
            "Published": f"{printed}{std and f' ± {std}'}, {place}" if printed else "",
            "Verdict": verdict + (f": {cell.reason}" if cell.reason else ""),
            "Chosen": cell.setting,
        }
    days = sorted(time[:10] for time in cell.reported("finished"))
    by_seed = {seed: _number(experiment, v) for seed, v in cell.by_seed.items() if seed is not None}
    versions = [
        ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
        for text in cell.reported("versions")
    ]
    facts |= {
        "Run it again": command(each.run for each in cell.outcomes),
        "Setting": setting(cell.outcomes[0].run.params),
        "By seed": ", ".join(f"{seed}: {value}" for seed, value in by_seed.items()),
        "Seconds a fit": "" if math.isnan(cell.seconds) else f"{cell.seconds:.3g}",
        "Peak memory": "" if math.isnan(cell.peak_mib) else f"{cell.peak_mib:.0f} MiB",
        "Run on": " to ".join(dict.fromkeys(days[:1] + days[-1:])),
        "Data digest": ", ".join(cell.reported("data")),
        "Code": ", ".join(cell.reported("code")),
        "Versions": "; ".join(versions),
        "Note": column.note if column else "",
    }
    return {name: text for name, text in facts.items() if text}
