"""The committed pages of an experiment: tables, figures and claims, made of its runs.csv alone."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from transferbench import experiments
from transferbench.evidence import (
    boards,
    claims,
    figures,
    readings,
    regret,
    tables,
)
from transferbench.evidence.frame import Cell, read_cells, table_columns
from transferbench.experiments.experiment import Column, Experiment, Row, Schema
from transferbench.files import write_text

TEX = {letter: f"\\{letter}" for letter in "&%_#${}"} | {
    "\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}", "λ": "$\\lambda$", "γ": "$\\gamma$",
    "α": "$\\alpha$", "β": "$\\beta$", "κ": "$\\kappa$", "≥": "$\\geq$",
    "→": "$\\to$", "±": "$\\pm$", "₀": "$_0$", "₁": "$_1$", "Σ": "$\\Sigma$",
}  # fmt: skip
#: Marks of verdicts in LaTeX.
TEX_MARKS = {
    "within": "$=$", "above": "$\\uparrow$", "below": "$\\downarrow$", "inconclusive": "?",
    "unavailable": "--",
}  # fmt: skip

#: Note of a table with cited values.
CITED = "methods marked (published) were not run here; these values are their authors'"


def content(experiment: Experiment, cells: Sequence[Cell], others: claims.Others) -> dict[str, Any]:
    """Return what the templates show of an experiment.

    cells: the experiment's cells; others: see `claims.judge`.
    """
    spec = experiment.spec
    entries = [] if spec.figure else tables.with_averages(experiment, cells)
    points = figures.points(experiment, cells)
    identical = claims.identical(experiment, cells)
    rows, columns = tables.by_row(entries), [label for label, _, _ in table_columns(experiment)]
    averages = rows.keys() - spec.rows.keys()
    cited = [CITED] if spec.cited else []
    if spec.cited:  # many methods: a line for each, and a column for each row of the file
        columns += map(tables.cited_label, spec.cited)
        lines = {column: {row: rows[row][column] for row in rows} for column in columns}
        rows, columns, averages = lines, [*rows], set()
    return {
        "file": experiment,
        "spec": spec,
        "tolerances": experiment.compared.tolerance,
        "digits": tables.digits(experiment),
        "entries": entries,
        "columns": columns,
        "rows": rows,
        "averages": averages,
        "best": tables.best(experiment, entries),
        "points": points,
        "growth": figures.growth(experiment, points),
        "strips": readings.strips(experiment, cells) if spec.readings else None,
        "nearest": readings.nearest(experiment, cells) if spec.readings else None,
        "regrets": regret.summary(experiment, cells) if spec.regret else None,
        "results": claims.judge(experiment, cells, others),
        "identical": identical,
        "about": _about(spec),
        "notes": [*identical, *tables.choices(experiment, entries), *cited, *spec.notes],
        "problems": tables.problems(experiment, entries),
    }


def render(
    experiment: Experiment, cells: Sequence[Cell], others: claims.Others | None = None
) -> dict[str, str]:
    """Return the texts of an experiment's pages by file name; see `content`."""
    spec, shown = experiment.spec, content(experiment, cells, others or {})
    templates, frames = ["table.md", "table.tex"], {"table.csv": tables.to_csv(shown["entries"])}
    if spec.figure:
        templates, frames = ["figure.md"], {"figure.csv": shown["points"]}
    for name, frame in (("readings", shown["strips"]), ("regret", shown["regrets"])):
        if frame is not None:
            templates.append(f"{name}.md")
            frames[f"{name}.csv"] = frame
    templates += ["claims.md"] if spec.claims else []
    texts = {name: to_csv(frame) for name, frame in frames.items()}
    return texts | {name: fill(f"{name}.j2", **shown) for name in templates}


def render_board(board: boards.Board) -> dict[str, str]:
    """Return the texts of a board by file name."""
    name = board.experiment.name
    pages = {f"{name}.{kind}": fill(f"board.{kind}.j2", board=board) for kind in ("md", "tex")}
    return {f"{name}.csv": to_csv(board.standings), **pages}


def _about(spec: Schema) -> list[str]:
    """Return what a table's notes say of its columns and rows: readings, task options, notes."""
    sentences = []
    described: list[tuple[str, Column | Row]] = [*spec.columns.items(), *spec.rows.items()]
    for name, each in described:
        read = f"a reading of {each.reading_of}, which the totals leave out"
        facts = [read] if each.reading_of else []
        if isinstance(each, Column):
            facts += filter(None, [setting(each.data), each.note])
        sentences += [f"{name}: {'; '.join(facts)}"] if facts else []
    return sentences


def write(experiment: Experiment, folder: Path) -> list[Path]:
    """Write the pages and pictures of an experiment from the folder's runs.csv; return their paths.

    Raise UserError if runs.csv cannot be read or a file cannot be written.
    """
    cells = read_cells(experiment, folder)
    others = claims.others(experiment, folder.parent)
    paths = write_files(folder, render(experiment, cells, others))
    if experiment.spec.board:
        board, place = boards.of(experiment, cells, folder.parent), folder.parent / boards.FOLDER
        paths += [*write_files(place, render_board(board)), *boards.draw(board, place)]
    if experiment.spec.figure:
        return paths + figures.draw(experiment, figures.points(experiment, cells), folder)
    if experiment.spec.readings:
        paths += readings.draw(experiment, cells, folder)
    return paths


def outdated(experiment: Experiment, folder: Path) -> list[Path]:
    """Return the pages in the folder that differ from what its runs.csv yields.

    Pictures are not compared: their bytes change with the version of the drawing library.
    """
    cells, others = read_cells(experiment, folder), claims.others(experiment, folder.parent)
    changed = changed_files(folder, render(experiment, cells, others))
    if experiment.spec.board:
        texts = render_board(boards.of(experiment, cells, folder.parent))
        changed += changed_files(folder.parent / boards.FOLDER, texts)
    return changed


def to_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV, numbers with six digits."""
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts, by file name, to a folder; return their paths."""
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def changed_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Return the files in the folder that are missing or have other texts, by file name."""
    paths = {folder / name: text for name, text in texts.items()}
    return [p for p, t in paths.items() if not p.is_file() or p.read_text("utf-8", "replace") != t]


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
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    environment.filters |= {
        "code": code,
        "cell": markdown_cell,
        "comparisons": claims.comparisons,
        "digits": tables.digits,
        "fixed": fixed,
        "table_columns": table_columns,
        "explanation": claims.explanation,
        "measures": tables.measures,
        "setting": setting,
        "tex": tex,
    }
    environment.globals |= {
        "committed": experiments.names,
        "grids": regret.grids,
        "header": claims.HEADER,
        "level": readings.LEVEL,
        "marks": tables.MARKS | claims.MARKS,
        "tex_marks": TEX_MARKS,
        "outcome_marks": claims.MARKS,
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
    return " ".join(text.splitlines()).replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> Markup:
    """Return HTML with the text in backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def setting(params: Mapping[str, Any], grid: Iterable[str] = ()) -> str:
    """Return parameters as the report lists them; those of a grid vary."""
    varied = dict(params) | dict.fromkeys(grid, "…")
    return ", ".join(f"{name} = {value}" for name, value in varied.items())
