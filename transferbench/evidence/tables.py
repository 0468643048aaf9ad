"""Tables as Markdown, CSV and LaTeX, written from the lines of a runs.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from transferbench.evidence import claims, claims_page, figures, ranks
from transferbench.evidence.entries import Entry, entries, shown, value
from transferbench.evidence.frame import read_runs
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import COSTS, NAMES
from transferbench.files import write_text
from transferbench.runs.record import short

MARKS = {"within": "=", "above": "▲", "below": "▼", "inconclusive": "?", "unavailable": "–"}


def render(
    experiment: Experiment,
    lines: list[dict[str, str]],
    others: Mapping[str, list[dict[str, str]]] = {},
) -> dict[str, str]:
    """File name → contents, from the lines of runs.csv alone.

    `others` are the runs of the experiments that its claims name besides.
    """
    if experiment.spec.figure:
        made, files = [], figures.render(experiment, lines)
    else:
        made = entries(experiment, lines)
        files = {
            "table.md": _markdown(experiment, made),
            "table.csv": _csv(made),
            "table.tex": _latex(experiment, made),
        }
    if experiment.spec.claims:
        judged = claims.judge(experiment, lines, others)
        files["claims.md"] = claims_page.page(experiment, judged, made)
    return files


def write(experiment: Experiment, folder: Path) -> list[Path]:
    """Table files, or a figure and its points, and the claims, made from the folder's runs.csv.

    Raises UserError where that cannot be read.
    """
    lines = read_runs(folder / "runs.csv")
    files = render(experiment, lines, claims.others(experiment, folder.parent))
    for name, text in files.items():
        write_text(folder / name, text)
    drawn = figures.draw(experiment, lines, folder) if experiment.spec.figure else []
    if experiment.spec.claims and not experiment.spec.figure:
        ranking = ranks.ranking(experiment, entries(experiment, lines))
        if ranking and ranks.draw(experiment, ranking, folder / "ranks.svg"):
            drawn.append(folder / "ranks.svg")
    return [*(folder / name for name in files), *drawn]


def drift(experiment: Experiment, folder: Path) -> list[Path]:
    """Text files in the folder that are not what its runs.csv yields.

    Pictures are drawn from the same points, but their bytes change with the drawing library.
    """
    lines = read_runs(folder / "runs.csv")
    files = render(experiment, lines, claims.others(experiment, folder.parent))
    return [
        folder / name
        for name, text in files.items()
        if not (folder / name).is_file()
        or (folder / name).read_text(encoding="utf-8", errors="replace") != text
    ]


def _markdown(experiment: Experiment, made: list[Entry]) -> str:
    spec = experiment.spec
    columns = [column.label for column in shown(experiment)]
    own = {label: row.tolerance for label, row in spec.rows.items() if row.tolerance is not None}
    others = "".join(f" ({value:g} for {label})" for label, value in own.items())
    verdicts = (
        [
            "Each cell: ours / published, verdict. "
            "Verdicts: = within, ▲ above, ▼ below, ? inconclusive, – unavailable.",
            f"Within means {spec.tolerance.value:g} or less{others} from the published value: "
            f"{spec.tolerance.reason}",
        ]
        if spec.tolerance
        else []
    )
    places = digits(experiment)
    named = measures(experiment, {"percent": "per cent"}.get(spec.unit, "fractions"))
    lines = [
        f"# {experiment.name}: {spec.title}",
        "",
        f"{spec.paper.authors}: *{spec.paper.title}*, {spec.paper.venue}, {spec.paper.place}.",
        f"{named[0].upper()}{named[1:]}; mean ± standard deviation of up to "
        f"{spec.repeats} runs; deterministic methods run once.",
        *verdicts,
        "",
        "| | " + " | ".join(columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for row, cells in by_row(made).items():
        lines.append(f"| {row} | " + " | ".join(_cell(cells[c], places) for c in columns) + " |")
    notes = [f"{c}: {m.note}" for c, m in spec.columns.items() if m.note]
    notes += [*choices(experiment, made), *spec.notes]
    open_ = problems(experiment, made)
    for title, items in (("Notes", notes), ("Without a verdict", open_)):
        if items:
            lines += ["", f"## {title}", "", *(f"- {item}" for item in items)]
    return "\n".join(lines) + "\n"


def measures(experiment: Experiment, unit: str) -> str:
    """What the rows show: shares in the unit, then what runs cost, in units of its own."""
    shown = dict.fromkeys(experiment.metric(row) for row in experiment.spec.rows)
    shares = [NAMES.get(measure, measure) for measure in shown if measure not in COSTS]
    costs = [NAMES.get(measure, measure) for measure in shown if measure in COSTS]
    return "; ".join([", ".join([*shares, *[unit] * bool(unit)])] * bool(shares) + costs)


def problems(experiment: Experiment, made: list[Entry]) -> list[str]:
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
        lines.append(f"once the data of the unavailable cells are there, {remedy}")
    return lines


def choices(experiment: Experiment, made: list[Entry]) -> list[str]:
    """How settings were chosen where a column has a grid, and which."""
    lines = []
    for label, name, choose, _ in shown(experiment):
        grid = experiment.spec.columns[name].grid
        if not choose:
            continue
        chosen: dict[str, list[str]] = {}
        for e in made:
            if e.column == label and e.chosen and e.mean is not None:
                chosen.setdefault(e.chosen, []).append(e.row)
        among = "; ".join(f"{p} among {', '.join(map(value, v))}" for p, v in grid.items())
        by = (
            "without labels, by the share of the documents' variance that lies between clusters"
            if choose == "explained"
            else f"by {NAMES.get(choose, choose)}: with the labels it is then scored on"
        )
        found = "; ".join(
            f"{setting} on {', '.join(rows)}" if len(chosen) > 1 else setting
            for setting, rows in chosen.items()
        )
        lines.append(f"{label}: {among}, chosen for each task {by}" + f" ({found})" * bool(found))
    return lines


def digits(experiment: Experiment) -> int:
    """How many decimals the table's values have."""
    return 2 if experiment.spec.unit == "percent" else 3


def _cell(entry: Entry, digits: int) -> str:
    ours = "" if entry.mean is None else f"{entry.mean:.{digits}f}"
    if entry.std is not None:
        ours += f" ± {entry.std:.{digits}f}"
    if entry.published is not None:
        ours = f"{ours or 'none'} / {entry.published:.{digits}f}"
    return f"{ours} {MARKS.get(entry.verdict, '')}".strip()


def _csv(made: list[Entry]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["row", "column", "ours", "std", "runs", "planned", "published", "published_std",
         "difference", "verdict", "reason", "chosen"]
    )  # fmt: skip
    for e in made:
        writer.writerow(
            [e.row, e.column, short(e.mean), short(e.std), e.runs, e.planned, short(e.published),
             short(e.published_std), short(e.difference), e.verdict, e.reason, e.chosen]
        )  # fmt: skip
    return out.getvalue()


def _latex(experiment: Experiment, made: list[Entry]) -> str:
    columns = [column.label for column in shown(experiment)]
    places = digits(experiment)
    lines = [
        f"% {experiment.name}, written by transferbench; needs booktabs.",
        f"\\begin{{tabular}}{{l{'r' * len(columns)}}}",
        "\\toprule",
        " & " + " & ".join(map(_tex, columns)) + " \\\\",
        "\\midrule",
    ]
    for row, cells in by_row(made).items():
        body = [_tex(row)]
        for column in columns:
            e = cells[column]
            ours = "--" if e.mean is None else f"{e.mean:.{places}f}"
            body.append(ours + (f" ({e.published:.{places}f})" if e.published is not None else ""))
        lines.append(
            ("\\midrule\n" if row not in experiment.spec.rows else "") + " & ".join(body) + " \\\\"
        )
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def by_row(made: list[Entry]) -> dict[str, dict[str, Entry]]:
    """Row → column → entry."""
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
