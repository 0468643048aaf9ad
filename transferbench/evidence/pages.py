"""The committed pages of an experiment: tables, figures and claims, made of its runs.csv alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from transferbench.choose.criteria import MEANINGS
from transferbench.evidence import claims, claims_page, figures, ranks, readings, regret, tables
from transferbench.evidence.frame import Cell, observations, read_runs, summarise, table_columns
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Column, Row
from transferbench.files import write_text

TEX = {letter: f"\\{letter}" for letter in "&%_#${}"} | {
    "\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}", "λ": "$\\lambda$", "γ": "$\\gamma$",
    "α": "$\\alpha$", "β": "$\\beta$", "κ": "$\\kappa$", "≥": "$\\geq$",
    "→": "$\\to$", "₀": "$_0$", "₁": "$_1$", "Σ": "$\\Sigma$",
}  # fmt: skip
#: Marks of verdicts in LaTeX.
TEX_MARKS = {
    "within": "$=$", "above": "$\\uparrow$", "below": "$\\downarrow$", "inconclusive": "?",
    "unavailable": "--",
}  # fmt: skip


def render(
    experiment: Experiment, cells: Sequence[Cell], others: claims.Others | None = None
) -> dict[str, str]:
    """Return the texts of an experiment's pages by file name.

    cells: the experiment's cells; others: see `claims.judge`.
    """
    common = {
        "name": experiment.name, "spec": experiment.spec, "paper": experiment.spec.paper,
        "tolerance": experiment.compared.tolerance,
    }  # fmt: skip
    if experiment.spec.figure:
        points = figures.points(experiment, cells)
        growth = figures.growth(experiment, points)
        text = fill("figure.md.j2", growth=growth, **common)
        files = {"figure.csv": _csv(points), "figure.md": text}
    else:
        files = _tables(experiment, cells, common)
    if experiment.spec.readings:
        strips = readings.strips(experiment, cells)
        files["readings.csv"] = _csv(strips)
        files["readings.md"] = fill(
            "readings.md.j2",
            strips=list(strips.itertuples()),
            sentences=readings.sentences(experiment, cells),
            printed=experiment.spec.readings,
            digits=tables.digits(experiment),
            **common,
        )
    if experiment.spec.regret:
        regrets = regret.summary(experiment, cells)
        files["regret.csv"] = _csv(regrets)
        files["regret.md"] = fill(
            "regret.md.j2",
            regrets=regrets.to_dict("records"),
            corpora=regret.corpora(experiment),
            meanings=MEANINGS,
            **common,
        )
    if experiment.spec.claims:
        files["claims.md"] = fill(
            "claims.md.j2",
            file=experiment,
            results=claims.judge(experiment, cells, others or {}),
            ranking=ranks.ranking(experiment, cells),
            identical=claims_page.identical(experiment, cells),
            **common,
        )
    return files


def _read(experiment: Experiment, folder: Path) -> tuple[list[Cell], dict[str, str]]:
    """Return the cells of the folder's runs.csv and the pages made of them."""
    cells = summarise(experiment, observations(experiment, read_runs(folder / "runs.csv")))
    return cells, render(experiment, cells, claims.others(experiment, folder.parent))


def write(experiment: Experiment, folder: Path) -> list[Path]:
    """Write the pages and pictures of an experiment from the folder's runs.csv; return their paths.

    Raise UserError if runs.csv cannot be read or a file cannot be written.
    """
    cells, files = _read(experiment, folder)
    for name, text in files.items():
        write_text(folder / name, text)
    paths = [folder / name for name in files]
    if experiment.spec.figure:
        return paths + figures.draw(experiment, figures.points(experiment, cells), folder)
    if experiment.spec.readings:
        paths += readings.draw(experiment, cells, folder)
    ranking = ranks.ranking(experiment, cells) if experiment.spec.claims else None
    return paths + (ranks.draw(experiment, ranking, folder) if ranking else [])


def outdated(experiment: Experiment, folder: Path) -> list[Path]:
    """Return the pages in the folder that differ from what its runs.csv yields.

    Pictures are not compared: their bytes change with the version of the drawing library.
    """
    return [
        folder / name
        for name, text in _read(experiment, folder)[1].items()
        if not (folder / name).is_file()
        or (folder / name).read_text(encoding="utf-8", errors="replace") != text
    ]


def _tables(
    experiment: Experiment, cells: Sequence[Cell], common: dict[str, Any]
) -> dict[str, str]:
    spec, entries = experiment.spec, tables.with_averages(experiment, cells)
    identical = claims_page.identical(experiment, cells)
    notes = [
        f"{name}: {'; '.join(filter(None, [_reading(column), setting(column.data), column.note]))}"
        for name, column in spec.columns.items()
        if column.note or column.data or column.reading_of
    ]
    notes += [f"{name}: {_reading(row)}" for name, row in spec.rows.items() if row.reading_of]
    unit = {"percent": "per cent"}.get(spec.unit, "fractions")
    context = common | {
        "columns": [label for label, _, _ in table_columns(experiment)],
        "rows": tables.by_row(entries),
        "best": tables.best(experiment, entries),
        "digits": tables.digits(experiment),
        "measures": tables.measures(experiment, unit),
        "sections": {
            "Notes": [*notes, *identical, *tables.choices(experiment, entries), *spec.notes],
            "Without a verdict": tables.problems(experiment, entries),
        },
    }
    return {
        "table.md": fill("table.md.j2", **context),
        "table.csv": _csv(tables.to_csv(entries)),
        "table.tex": fill("table.tex.j2", **context),
    }


def _reading(each: Row | Column) -> str:
    return each.reading_of and f"a reading of {each.reading_of}, which the totals leave out"


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def fill(template: str, **context: Any) -> str:
    """Return a page from its template; a page of plain text ends with one newline."""
    text = _environment().get_template(template).render(context)
    return text if template.endswith(".html.j2") else text.rstrip("\n") + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=lambda name: bool(name) and str(name).endswith(".html.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "code": code,
        "cell": markdown_cell,
        "comparisons": claims_page.comparisons,
        "fixed": fixed,
        "table_columns": table_columns,
        "explanation": claims_page.explanation,
        "measure": lambda f: tables.measures(f, "per cent" if f.spec.unit == "percent" else ""),
        "setting": setting,
        "tex": tex,
        "words": ranks.words,
    }
    environment.globals |= {
        "header": claims_page.HEADER,
        "how": claims_page.HOW,
        "marks": tables.MARKS | claims_page.MARKS,
        "tex_marks": TEX_MARKS,
        "outcome_marks": claims_page.MARKS,
        "verdict_marks": tables.MARKS,
    }
    return environment


def fixed(value: float | None, digits: int) -> str:
    """Return a number with so many decimals, "" for None and NaN."""
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def tex(text: str) -> str:
    """Return a text with LaTeX's special letters escaped."""
    return "".join(TEX.get(letter, letter) for letter in text)


def markdown_cell(text: str) -> str:
    """Return a text for a cell of a Markdown table, without what would end the cell."""
    return " ".join(text.splitlines()).replace("|", "\\|")


def code(text: str) -> Markup:
    """Return HTML with the text in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def setting(params: Mapping[str, Any], grid: Iterable[str] = ()) -> str:
    """Return parameters as the report lists them; those of a grid vary."""
    varied = dict(params) | dict.fromkeys(grid, "…")
    return ", ".join(f"{name} = {value}" for name, value in varied.items())
