"""Every result on one page that needs no other file, made of the folder of results."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from transferbench import experiments
from transferbench.choose.criteria import MEANINGS
from transferbench.errors import SeveralErrors, UserError
from transferbench.evidence import claims, claims_page, figures, ranks, readings, regret, tables
from transferbench.evidence.frame import no_runs, observations, read_runs, summarise, table_columns
from transferbench.evidence.pages import fill, setting
from transferbench.evidence.provenance import sources
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Column

#: The facts that the dialog of a cell lists, in order.
FACTS = (
    "Ours", "Published", "Verdict", "Run it again", "Setting", "Chosen", "By seed",
    "Seconds a fit", "Peak memory", "Run on", "Data digest", "Code", "Versions", "Note",
)  # fmt: skip


class Dialogs:
    """The texts of all cells' dialogs, each stored once; a cell is a list of numbers of texts."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {"": 0}
        self.cells: list[list[int]] = []

    def add(self, title: str, facts: Mapping[str, str]) -> int:
        """Add a cell with its title and FACTS; return its number."""
        texts = [title, *(facts.get(name, "") for name in FACTS)]
        self.cells.append([self.texts.setdefault(text, len(self.texts)) for text in texts])
        return len(self.cells) - 1


@dataclass(frozen=True)
class Cell:
    """A cell of the page. number: its dialog, None if it has no runs; best: of its row."""

    text: str = ""
    std: str = ""
    published: str = ""
    verdict: str = ""
    sort: float | str = ""
    number: int | None = None
    best: bool = False


def render(results: Path, errors: list[UserError] | None = None) -> str:
    """Return the page. The same results give the same text.

    errors: an experiment that cannot be read is left out, and why is added to this list; without
    one, the first such error is raised. Raise UserError if no experiment is left.
    """

    @contextmanager
    def collecting() -> Iterator[None]:
        try:
            yield
        except UserError as error:
            if errors is None:
                raise
            errors.append(error)

    files: list[Experiment] = []
    for name in [*experiments.names(), *experiments.own_names(results)]:
        with collecting():
            files.append(experiments.load(name, results))
    # By paper, tables first; shorter names first, so that 10 comes after 9.
    files.sort(key=lambda f: (f.name.split("-")[0], "table" not in f.name, "figure" not in f.name,
                              len(f.name), f.name))  # fmt: skip
    have_run = [
        experiment for experiment in files if (results / experiment.name / "runs.csv").is_file()
    ]
    observed: dict[str, pd.DataFrame] = {}
    known: dict[str, tuple[Experiment, pd.DataFrame]] = {}
    for experiment in have_run:
        with collecting():
            each = observations(experiment, read_runs(results / experiment.name / "runs.csv"))
            observed[experiment.name] = each
            known[experiment.name] = experiment, summarise(experiment, each)
    dialogs = Dialogs()
    papers: dict[str, list[dict[str, Any]]] = {}
    for name, (experiment, _) in known.items():
        with collecting():
            section = _section(experiment, observed[name], known, results / name, dialogs)
            papers.setdefault(experiment.spec.paper.title, []).append(section)
    if not papers:
        raise SeveralErrors.of(errors or [no_runs(results)])
    sections = [section for group in papers.values() for section in group]
    return fill(
        "report.html.j2",
        papers=list(papers.values()),
        verdicts=sum((section["verdicts"] for section in sections), Counter[str]()),
        with_readings=sum((section["with_readings"] for section in sections), Counter[str]()),
        outcomes=sum((section["outcomes"] for section in sections), Counter[str]()),
        methods=sorted({found.split(":")[0] for section in sections for found in section["found"]}),
        not_run=[experiment.name for experiment in files if experiment not in have_run],
        data=_script({"facts": FACTS, "texts": list(dialogs.texts), "cells": dialogs.cells}),
    )


def _script(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _section(
    experiment: Experiment,
    observed: pd.DataFrame,
    known: claims.Others,
    folder: Path,
    dialogs: Dialogs,
) -> dict[str, Any]:
    """Return what the template shows of one experiment."""
    _, cells = known[experiment.name]
    described = sources(experiment, observed, cells)
    entries = tables.entries(experiment, cells.head(0) if experiment.spec.figure else cells)
    if experiment.spec.figure:
        values = _points(experiment, described, dialogs)
    else:
        values = _table(experiment, described, entries, dialogs)
    own = entries[entries["row"].isin(list(experiment.spec.rows)) & (entries["verdict"] != "")]
    verdicts, with_readings = tables.totals(experiment, entries)
    results = claims.judge(experiment, cells, known)
    return values | {
        "file": experiment,
        "found": _found(experiment, own),
        "verdicts": verdicts,
        "with_readings": with_readings,
        "outcomes": Counter(result.outcome for result in results),
        "notes": [
            *claims_page.identical(experiment, cells),
            *tables.choices(experiment, entries),
            *experiment.spec.notes,
        ],
        "problems": tables.problems(experiment, entries),
        "results": results,
        "regret": _regret(experiment, cells) if experiment.spec.regret else None,
        "ranking": ranks.ranking(experiment, cells),
        "picture": inline(folder / "figure.svg") if experiment.spec.figure else None,
        "readings_picture": inline(folder / "readings.svg"),
        "readings": readings.sentences(experiment, cells) if experiment.spec.readings else [],
        "ranks_picture": inline(folder / "ranks.svg"),
    }


def _found(experiment: Experiment, own: pd.DataFrame) -> list[str]:
    """Return what a reader can filter by, "model:verdict"; the verdict is "" if there is none."""
    columns = {label: experiment.spec.columns[name] for label, name, _ in table_columns(experiment)}
    judged = {
        f"{columns[entry.column].model}:{entry.verdict}" for entry in own.itertuples()
    }  # fmt: skip
    return sorted(judged | {f"{column.model}:" for column in columns.values()})


def _regret(experiment: Experiment, cells: pd.DataFrame) -> dict[str, Any]:
    """Return the table of regrets: columns, lines, and what each criterion means."""
    table = regret.summary(experiment, cells)
    assert experiment.spec.regret is not None
    names = {"worst_row": "on", "below_reference": f"below {experiment.spec.regret.reference}"}
    lines = [list(line) for line in table.itertuples(index=False, name=None)]
    columns = [names.get(name, name) for name in table.columns]
    return {"columns": columns, "lines": lines, "meanings": MEANINGS}


def _table(
    experiment: Experiment, known: pd.DataFrame, entries: pd.DataFrame, dialogs: Dialogs
) -> dict[str, Any]:
    """Return a table: columns (label, "control", "reading" or ""), rows and averages by label."""
    by_place = {(source.row, source.column): source for source in known.itertuples()}
    columns = [
        (label, _kind(experiment.spec.columns[name]))
        for label, name, _ in table_columns(experiment)
    ]
    best = tables.best(experiment, entries)
    rows = {
        row: [
            replace(
                _cell(experiment, by_place.get((row, label)), here[label], dialogs),
                best=(row, label) in best,
            )
            for label, _ in columns
        ]
        for row, here in tables.by_row(entries).items()
    }
    averages = {row: rows.pop(row) for row in list(rows) if row not in experiment.spec.rows}
    return {"columns": columns, "rows": rows, "averages": averages}


def _kind(column: Column) -> str:
    return "control" if column.control else "reading" if column.reading_of else ""


def _points(experiment: Experiment, known: pd.DataFrame, dialogs: Dialogs) -> dict[str, Any]:
    """Return the points of a figure as a table: x, or the methods, along its columns."""
    figure = experiment.spec.figure
    assert figure is not None
    grid: dict[str, dict[str, Any]] = {}
    for source in known.sort_values("x", kind="stable").itertuples():
        x = "any x" if math.isnan(source.x) else f"{source.x:g}"
        several = not figure.rows and len(experiment.spec.columns) > 1
        label = f"{source.row}, {source.column}" if several else source.row
        grid.setdefault(label, {})[source.column if figure.rows else x] = source
    names = list(dict.fromkeys(name for here in grid.values() for name in here))
    rows = {
        label: [_cell(experiment, here.get(name), None, dialogs) for name in names]
        for label, here in grid.items()
    }
    levels = {} if figure.rows else figures.published_levels(experiment)
    for label, shown in rows.items() if levels else ():
        level = levels.get(next(iter(grid[label].values())).row)
        shown.append(Cell() if level is None else Cell(_number(experiment, level), sort=level))
    columns = [(name, "") for name in [*names, *["published"] * bool(levels)]]
    return {"columns": columns, "rows": rows, "averages": {}}


def _cell(experiment: Experiment, source: Any, entry: Any, dialogs: Dialogs) -> Cell:
    """Return what a cell shows from its source, None for an average, and entry of a table."""
    if source is None and entry is None:
        return Cell()
    mean, std = (entry.ours, entry.std) if entry else (source.mean, source.std)
    text, spread = _number(experiment, mean) or "none", _number(experiment, std)
    published = _number(experiment, entry.published) if entry else ""
    number = None
    if source:
        figure = experiment.spec.figure
        place = f", {figure.label} = {source.x:g}" if figure and not math.isnan(source.x) else ""
        title = f"{experiment.name}: {source.column}, {source.row}{place}"
        facts = _facts(experiment, source, text + (f" ± {spread}" if spread else ""))
        number = dialogs.add(title, facts | (_compared(experiment, entry) if entry else {}))
    verdict = entry.verdict if entry else ""
    return Cell(text, spread, published, verdict, "" if math.isnan(mean) else float(mean), number)


def _facts(experiment: Experiment, source: Any, ours: str) -> dict[str, str]:
    """Return the facts of a cell's dialog that its runs give."""
    by_seed = {
        seed: _number(experiment, v) for seed, v in source.by_seed.items() if seed is not None
    }
    days = sorted(time[:10] for time in source.finished)
    versions = [
        ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
        for text in source.versions
    ]
    column = experiment.spec.columns.get(source.column)
    of = f"{experiment.metric(source.row)}, {source.runs} of {source.planned} runs"
    return {
        "Ours": f"{ours}, {of}",
        "Run it again": source.command,
        "Setting": setting(source.runs_behind[0].params),
        "By seed": ", ".join(f"{seed}: {value}" for seed, value in by_seed.items()),
        "Seconds a fit": "" if math.isnan(source.seconds) else f"{source.seconds:.3g}",
        "Peak memory": "" if math.isnan(source.peak_mib) else f"{source.peak_mib:.0f} MiB",
        "Run on": " to ".join(dict.fromkeys(days[:1] + days[-1:])),
        "Data digest": ", ".join(source.data),
        "Code": ", ".join(source.code),
        "Versions": "; ".join(versions),
        "Note": column.note if column else "",
    }


def _compared(experiment: Experiment, entry: Any) -> dict[str, str]:
    """Return the facts of a cell's dialog that compare it with the published value."""
    published, std = _number(experiment, entry.published), _number(experiment, entry.published_std)
    printed = published + (f" ± {std}" if std else "")
    verdict = entry.verdict
    if verdict and not math.isnan(entry.difference):
        verdict += f", {entry.difference:+.{tables.digits(experiment)}f}"
    return {
        "Published": f"{printed}, {experiment.compared.paper.place}" if printed else "",
        "Verdict": verdict + (f": {entry.reason}" if entry.reason else ""),
        "Chosen": entry.chosen,
    }


def _number(experiment: Experiment, value: float) -> str:
    """Return a value with the table's decimals, "" for NaN."""
    if math.isnan(value):
        return ""
    if experiment.spec.unit in ("seconds", "MiB"):
        return f"{value:.3g}"
    return f"{value:.{tables.digits(experiment)}f}"


def inline(path: Path) -> dict[str, Any] | None:
    """Return an SVG file to stand in an attribute of the page; None if it is missing.

    svg: its text, which the page shows as an image; width and height: in pixels.
    """
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8", errors="replace")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    width, height = (round(float(side) * 4 / 3) for side in size.groups()) if size else (640, 480)
    # Double quotes would end the attribute.
    quoted = text.replace("&", "&amp;").replace("'", "&amp;apos;").replace('"', "'")
    return {"svg": Markup(quoted.replace("\n", " ")), "width": width, "height": height}
