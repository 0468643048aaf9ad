"""Every result on one page that needs nothing else, made of what `results/` holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import stdev
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from transferbench.errors import UserError
from transferbench.evidence import claims, claims_page, figures, ranks, svg, tables
from transferbench.evidence.entries import Entry, entries, shown
from transferbench.evidence.frame import read_runs
from transferbench.evidence.provenance import Lines, Origin, origins
from transferbench.experiments import experiment
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Figure
from transferbench.files import write_text

TEMPLATES = Path(__file__).parent / "templates"
#: What a cell's dialog tells, in order.
FACTS = (
    "Ours", "Published", "Verdict", "Run it again", "Setting", "Chosen", "By seed",
    "Seconds a fit", "Peak memory", "Run on", "Data digest", "Code", "Versions", "Note",
)  # fmt: skip
Dict = dict[str, Any]


class Pool:
    """Texts by number, each kept once; cells are lists of numbers."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.cells: list[list[int]] = []

    def add(self, title: str, facts: Dict) -> int:
        """The number of a new cell: its title, then its FACTS."""
        texts = [title, *(facts.get(name, "") for name in FACTS)]
        self.cells.append([self.texts.setdefault(text, len(self.texts)) for text in texts])
        return len(self.cells) - 1


def render(results: Path) -> str:
    """The page. The same results give the same text, whenever and wherever.

    Raises UserError where there are none, or runs cannot be read.
    """
    pool = Pool()
    files = [experiment.load(name) for name in experiment.names()]
    # By paper, tables first; shorter names first, so that 10 comes after 9.
    files.sort(key=lambda f: (f.name.split("-")[0], "table" not in f.name, "figure" not in f.name,
                              len(f.name), f.name))  # fmt: skip
    there = [file for file in files if (results / file.name / "runs.csv").is_file()]
    if not there:
        raise UserError(f"no runs.csv under {results}; run `reproduce` first.")
    parts = [_experiment(file, results, pool) for file in there]
    total = sum((one["tally"] for one in parts), Counter[str]())
    decided = Counter(claim["outcome"] for one in parts for claim in one["claims"])
    papers: dict[str, Dict] = {}
    for file, one in zip(there, parts, strict=True):
        paper = file.spec.paper
        group = {"title": paper.title, "authors": paper.authors, "venue": paper.venue}
        papers.setdefault(paper.title, group | {"experiments": []})["experiments"].append(one)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["code"] = _code
    return environment.get_template("report.html").render(
        papers=list(papers.values()),
        verdicts={word: (mark, total[word]) for word, mark in tables.MARKS.items()},
        outcomes={word: (mark, decided[word]) for word, mark in claims_page.MARKS.items()},
        how=claims_page.HOW,
        waiting=[file.name for file in files if file not in there],
        data=_script({"facts": FACTS, "texts": list(pool.texts), "cells": pool.cells}),
    )  # fmt: skip


def write(results: Path, path: Path) -> None:
    """The page as a file. Raises UserError as `render` does, or where it cannot be written."""
    write_text(path, render(results))


def _code(text: str) -> Markup:
    """What stands in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _script(data: Any) -> str:
    """JSON that no text in it can end the script with."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _experiment(file: Experiment, results: Path, pool: Pool) -> Dict:
    spec, folder = file.spec, results / file.name
    lines = read_runs(folder / "runs.csv")
    made = [] if spec.figure else entries(file, lines)
    judged = claims.judge(file, lines, claims.others(file, results))
    ranking = ranks.ranking(file, made)
    return {
        "name": file.name,
        "title": spec.title,
        "place": spec.paper.place,
        "measure": tables.measures(file, "per cent" if spec.unit == "percent" else ""),
        "repeats": spec.repeats,
        "tolerance": spec.tolerance,
        "points": _title(spec.figure) if spec.figure else "",
        "picture": svg.inline(folder / "figure.svg") if spec.figure else None,
        **(_points(file, lines, pool) if spec.figure else _table(file, lines, made, pool)),
        "tally": Counter(e.verdict for e in made if e.verdict and e.cells),
        "claims": [
            {
                "outcome": one.outcome,
                "says": one.claim.says,
                "place": one.claim.place,
                "meaning": one.reason or claims_page.meaning(one.claim),
                "lines": claims_page.comparisons(file, one),
            }
            for one in judged
        ],
        "header": claims_page.HEADER,
        "ranks": ranks.words(ranking) if ranking else "",
        "ranks_picture": svg.inline(folder / "ranks.svg") if ranking else None,
        "notes": [*tables.choices(file, made), *spec.notes],
        "problems": tables.problems(file, made),
        "methods": [
            (
                label,
                spec.columns[name].model,
                _setting(spec.columns[name].params | dict.fromkeys(spec.columns[name].grid, "…")),
                spec.columns[name].note,
            )
            for label, name, _, _ in shown(file)
        ],
    }


def _table(file: Experiment, lines: Lines, made: list[Entry], pool: Pool) -> Dict:
    behind = {(one.row, one.column): one for one in origins(file, lines)}
    columns = [(c.label, file.spec.columns[c.column].control) for c in shown(file)]
    rows = []
    for row, cells in tables.by_row(made).items():
        found = [_cell(file, behind.get((row, label)), cells[label], pool) for label, _ in columns]
        rows.append({"label": row, "foot": row not in file.spec.rows, "cells": found})
    return {"columns": columns, "rows": rows}


def _title(figure: Figure) -> str:
    """Of the table of a figure's points."""
    if figure.iterations:
        return "Values after the last iteration"
    return f"Values {'by' if figure.rows else 'over'} {figure.label}"


def _points(file: Experiment, lines: Lines, pool: Pool) -> Dict:
    """The points of a figure as a table: x, or the methods, along its columns."""
    figure = file.spec.figure
    assert figure is not None
    found = sorted(origins(file, lines), key=lambda one: (one.x is None, one.x or 0))
    names, grid = [], dict[str, dict[str, Origin]]()
    for one in found:
        name = one.column if figure.rows else "any x" if one.x is None else f"{one.x:g}"
        label = one.row
        if not figure.rows and len(file.spec.columns) > 1:
            label += f", {one.column}"
        names.append(name)
        grid.setdefault(label, {})[name] = one
    columns = list(dict.fromkeys(names))
    levels = {row: figures.level(file, row) for row in file.spec.rows}
    published = not figure.rows and any(level is not None for level in levels.values())
    rows = []
    for label, by_name in grid.items():
        cells = [_cell(file, by_name.get(name), None, pool) for name in columns]
        if published:
            level = levels[next(iter(by_name.values())).row]
            cells.append(_plain("" if level is None else _number(file, level), level))
        rows.append({"label": label, "foot": False, "cells": cells})
    columns += ["published"] * published
    return {"columns": [(name, False) for name in columns], "rows": rows}


def _plain(text: str, value: float | None = None) -> Dict:
    """A cell without runs of its own."""
    sort = "" if value is None else value
    return {"text": text, "std": "", "published": "", "verdict": "", "mark": "", "sort": sort}


def _cell(file: Experiment, one: Origin | None, entry: Entry | None, pool: Pool) -> Dict:
    """What a cell shows, and the number of its dialog where runs are behind it."""
    if entry is None and one is None:
        return _plain("")
    mean = entry.mean if entry else one.mean if one else None
    cell = _plain("none" if mean is None else _number(file, mean), mean)
    values = list(one.values.values()) if one else []
    if len(values) > 1:
        cell["std"] = _number(file, stdev(values))
    if entry:
        cell["published"] = "" if entry.published is None else _number(file, entry.published)
        cell |= {"verdict": entry.verdict, "mark": tables.MARKS.get(entry.verdict, "")}
    if one:
        figure = file.spec.figure
        place = f", {figure.label} = {one.x:g}" if figure and one.x is not None else ""
        title = f"{file.name}: {one.column}, {one.row}{place}"
        cell["number"] = pool.add(title, _facts(file, one, cell))
    return cell


def _facts(file: Experiment, one: Origin, cell: Dict) -> dict[str, str]:
    entry, spec = one.entry, file.spec
    of = f"{file.metric(one.row)}, {len(one.values)} of {len(one.cells)} runs"
    ended = sorted(one.told("finished"))
    peaks = [float(line["peak_mib"]) for line in one.lines if line["peak_mib"]]
    spread = f" ± {cell['std']}" if cell["std"] else ""
    printed = cell["published"]
    if entry and entry.published_std is not None:
        printed += f" ± {_number(file, entry.published_std)}"
    verdict = cell["verdict"]
    if entry and entry.difference is not None and verdict:
        verdict += f", {entry.difference:+.{tables.digits(file)}f}"
    found = [json.loads(text) for text in one.told("versions")]
    versions = [", ".join(f"{name} {version}" for name, version in each.items()) for each in found]
    return {
        "Ours": f"{cell['text']}{spread}, {of}",
        "Published": f"{printed}, {spec.paper.place}" if printed else "",
        "Verdict": verdict + (f": {entry.reason}" if entry and entry.reason else ""),
        "Run it again": one.command,
        "Setting": _setting(one.cells[0].params),
        "Chosen": entry.chosen if entry else "",
        "By seed": ", ".join(f"{s}: {_number(file, v)}" for s, v in one.values.items() if s),
        "Seconds a fit": "" if one.seconds is None else f"{one.seconds:.3g}",
        "Peak memory": f"{max(peaks):.0f} MiB" if peaks else "",
        "Run on": " to ".join(dict.fromkeys((ended[0][:10], ended[-1][:10]))) if ended else "",
        "Data digest": ", ".join(one.told("data")),
        "Code": ", ".join(one.told("code")),
        "Versions": "; ".join(versions),
        "Note": spec.columns[one.column].note if one.column in spec.columns else "",
    }  # fmt: skip


def _setting(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in params.items())


def _number(file: Experiment, value: float) -> str:
    return f"{value:.3g}" if file.spec.unit == "seconds" else f"{value:.{tables.digits(file)}f}"
