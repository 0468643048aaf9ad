"""Records to tables: ours beside the published value, with a verdict; nothing here runs a model."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from transferbench import figures
from transferbench.experiment import Experiment
from transferbench.files import write_text
from transferbench.records import Cell, read_runs, short

#: Fewer finished runs of a random model than this say too little.
ENOUGH = 3
MARKS = {"within": "=", "above": "▲", "below": "▼", "inconclusive": "?", "unavailable": "–"}


@dataclass(frozen=True)
class Entry:
    """One cell of a table, in the table's unit; mean and std are None where no run finished."""

    row: str
    column: str
    mean: float | None
    std: float | None
    runs: int
    planned: int
    published: float | None
    published_std: float | None
    verdict: str
    reason: str

    @property
    def difference(self) -> float | None:
        """Ours less the published value."""
        if self.mean is None or self.published is None:
            return None
        return self.mean - self.published


# -- entries ------------------------------------------------------------------------------------


def entries(experiment: Experiment, lines: list[dict[str, str]]) -> list[Entry]:
    """Every cell of the table, row by row, then the averages of each group of rows.

    Lines whose task, model or parameters are not the experiment's count as not run.
    """
    planned: dict[tuple[str, str], list[Cell]] = {}
    for row, column, _, cell in experiment.cells():
        planned.setdefault((row, column), []).append(cell)
    by_cell: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in lines:
        by_cell.setdefault((line["row"], line["column"]), []).append(line)
    made = [
        _entry(experiment, row, column, cells, by_cell.get((row, column), []))
        for (row, column), cells in planned.items()
    ]
    groups = dict.fromkeys(row.group for row in experiment.spec.rows.values())
    return made + [
        _average(experiment, group, column, made)
        for group in groups
        for column in experiment.spec.columns
    ]


def _entry(
    experiment: Experiment, row: str, column: str, cells: list[Cell], lines: list[dict[str, str]]
) -> Entry:
    spec = experiment.spec
    wanted = {str("" if cell.seed is None else cell.seed): cell for cell in cells}
    runs: dict[str, list[float]] = {}
    statuses: dict[str, tuple[str, str]] = {}
    for line in lines:
        cell = wanted.get(line["seed"])
        same = cell and (line["task"], line["model"]) == (cell.task, cell.model)
        if not same or json.loads(line["params"]) != cell.params:  # type: ignore[union-attr]
            continue
        statuses[line["seed"]] = line["status"], line["reason"]
        if line["status"] == "done" and spec.rows[row].domain in (None, line["domain"]):
            scale = 100 if spec.unit == "percent" else 1
            value = float(line[spec.metric] or "nan") * scale
            runs.setdefault(line["seed"], []).append(value)
    values = [fmean(domains) for domains in runs.values()]
    published = experiment.published(row, column)
    lost = [(status, why) for status, why in statuses.values() if status != "done"]
    finite = bool(values) and all(map(math.isfinite, values))
    verdict, reason = "", ""
    if any(status == "unavailable" for status, _ in lost):
        verdict, reason = "unavailable", lost[0][1]
    elif lost or not finite or len(values) < min(ENOUGH, len(cells)):
        verdict = "inconclusive"
        reason = ": ".join(lost[0]) if lost else f"{len(values)} of {len(cells)} runs"
    mean = fmean(values) if finite else None
    if not verdict and published and mean is not None and spec.tolerance:
        verdict = _verdict(mean - published[0], spec.tolerance.value)
    return Entry(
        row,
        column,
        mean,
        stdev(values) if finite and len(values) > 1 else None,
        len(values),
        len(cells),
        published[0] if published else None,
        published[1] if published else None,
        verdict,
        reason,
    )


def _average(experiment: Experiment, group: str, column: str, made: list[Entry]) -> Entry:
    """The mean over the rows of a group that are in the table; of the published values likewise."""
    spec = experiment.spec
    rows = [e for e in made if e.column == column and spec.rows[e.row].group == group]
    ours = [entry.mean for entry in rows if entry.mean is not None]
    printed = [entry.published for entry in rows if entry.published is not None]
    mean = fmean(ours) if len(ours) == len(rows) else None
    published = fmean(printed) if len(printed) == len(rows) else None
    open_ = next((e for e in rows if e.verdict in ("inconclusive", "unavailable")), None)
    verdict = open_.verdict if open_ else "" if mean is not None else "inconclusive"
    reason = f"{open_.row} is {open_.verdict}" if open_ else ""
    if open_ is None and mean is not None and published is not None and spec.tolerance:
        verdict = _verdict(mean - published, spec.tolerance.value)
    runs = min((entry.runs for entry in rows), default=0)
    planned = max((entry.planned for entry in rows), default=0)
    name = f"average {group}".strip()
    return Entry(name, column, mean, None, runs, planned, published, None, verdict, reason)


def _verdict(difference: float, tolerance: float) -> str:
    if abs(difference) <= tolerance:
        return "within"
    return "above" if difference > 0 else "below"


# -- what is written ----------------------------------------------------------------------------


def render(experiment: Experiment, lines: list[dict[str, str]]) -> dict[str, str]:
    """File name → contents, from the lines of runs.csv alone."""
    if experiment.spec.figure:
        return figures.render(experiment, lines)
    made = entries(experiment, lines)
    return {
        "table.md": _markdown(experiment, made),
        "table.csv": _csv(made),
        "table.tex": _latex(experiment, made),
    }


def write(experiment: Experiment, folder: Path) -> list[Path]:
    """Table files, or a figure and its points, made from the folder's runs.csv.

    Raises UserError where that cannot be read.
    """
    lines = read_runs(folder / "runs.csv")
    files = render(experiment, lines)
    for name, text in files.items():
        write_text(folder / name, text)
    drawn = figures.draw(experiment, lines, folder) if experiment.spec.figure else []
    return [*(folder / name for name in files), *drawn]


def drift(experiment: Experiment, folder: Path) -> list[Path]:
    """Text files in the folder that are not what its runs.csv yields.

    Pictures are drawn from the same points, but their bytes change with the drawing library.
    """
    files = render(experiment, read_runs(folder / "runs.csv"))
    return [
        folder / name
        for name, text in files.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]


def _markdown(experiment: Experiment, made: list[Entry]) -> str:
    spec = experiment.spec
    unit = "per cent" if spec.unit == "percent" else "fractions"
    columns = list(spec.columns)
    verdicts = (
        [
            "Each cell: ours / published, verdict. "
            "Verdicts: = within, ▲ above, ▼ below, ? inconclusive, – unavailable.",
            f"Within means {spec.tolerance.value:g} or less from the published value: "
            f"{spec.tolerance.reason}",
        ]
        if spec.tolerance
        else []
    )
    lines = [
        f"# {experiment.name}: {spec.title}",
        "",
        f"{spec.paper.authors}: *{spec.paper.title}*, {spec.paper.venue}, {spec.paper.place}.",
        f"{spec.metric.capitalize()}, {unit}; mean ± standard deviation of up to {spec.repeats} "
        "runs; deterministic methods run once.",
        *verdicts,
        "",
        "| | " + " | ".join(columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for row, cells in _by_row(made).items():
        lines.append(f"| {row} | " + " | ".join(_cell(cells[c]) for c in columns) + " |")
    notes = [f"{c}: {m.note}" for c, m in spec.columns.items() if m.note] + list(spec.notes)
    problems = _problems(experiment, made)
    for title, items in (("Notes", notes), ("Without a verdict", problems)):
        if items:
            lines += ["", f"## {title}", "", *(f"- {item}" for item in items)]
    return "\n".join(lines) + "\n"


def _problems(experiment: Experiment, made: list[Entry]) -> list[str]:
    """Why cells have no verdict, a line for each reason, and what to do where data are missing."""
    cells: dict[str, list[str]] = {}
    for e in made:
        if e.reason and e.row in experiment.spec.rows:
            cells.setdefault(f"{e.verdict}, {e.reason}", []).append(f"{e.row} {e.column}")
    lines = [
        f"{why}: {', '.join(names) if len(names) < 7 else f'{len(names)} cells'}"
        for why, names in cells.items()
    ]
    if any(e.verdict == "unavailable" for e in made):
        remedy = f"`transferbench reproduce {experiment.name}` fills them"
        lines.append(f"once `transferbench fetch` has the data of the unavailable cells, {remedy}")
    return lines


def _cell(entry: Entry) -> str:
    ours = "" if entry.mean is None else f"{entry.mean:.2f}"
    if entry.std is not None:
        ours += f" ± {entry.std:.2f}"
    if entry.published is not None:
        ours = f"{ours or 'none'} / {entry.published:.2f}"
    return f"{ours} {MARKS.get(entry.verdict, '')}".strip()


def _csv(made: list[Entry]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["row", "column", "ours", "std", "runs", "planned", "published", "published_std",
         "difference", "verdict", "reason"]
    )  # fmt: skip
    for e in made:
        writer.writerow(
            [e.row, e.column, short(e.mean), short(e.std), e.runs, e.planned, short(e.published),
             short(e.published_std), short(e.difference), e.verdict, e.reason]
        )  # fmt: skip
    return out.getvalue()


def _latex(experiment: Experiment, made: list[Entry]) -> str:
    columns = list(experiment.spec.columns)
    lines = [
        f"% {experiment.name}, written by transferbench; needs booktabs.",
        f"\\begin{{tabular}}{{l{'r' * len(columns)}}}",
        "\\toprule",
        " & " + " & ".join(map(_tex, columns)) + " \\\\",
        "\\midrule",
    ]
    for row, cells in _by_row(made).items():
        body = [_tex(row)]
        for column in columns:
            e = cells[column]
            ours = "--" if e.mean is None else f"{e.mean:.2f}"
            body.append(ours + (f" ({e.published:.2f})" if e.published is not None else ""))
        lines.append(
            ("\\midrule\n" if row not in experiment.spec.rows else "") + " & ".join(body) + " \\\\"
        )
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _by_row(made: list[Entry]) -> dict[str, dict[str, Entry]]:
    rows: dict[str, dict[str, Entry]] = {}
    for entry in made:
        rows.setdefault(entry.row, {})[entry.column] = entry
    return rows


def _tex(text: str) -> str:
    special = {letter: f"\\{letter}" for letter in "&%_#${}"} | {
        "\\": "\\textbackslash{}", "^": "\\^{}", "~": "\\~{}", "λ": "$\\lambda$",
        "γ": "$\\gamma$", "→": "$\\to$", "₀": "$_0$", "₁": "$_1$", "Σ": "$\\Sigma$",
    }  # fmt: skip
    return "".join(special.get(letter, letter) for letter in text)
