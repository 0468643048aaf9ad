"""Tables of an experiment: ours, the published value and a verdict; sentences about them."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean

import numpy as np
import pandas as pd

from transferbench.evidence.frame import Cell, deviation, parameter, standard_error, table_columns
from transferbench.evidence.page import Section, Table, TableRow, Value
from transferbench.experiments.experiment import Experiment
from transferbench.measures import COSTS, TITLES

#: Tables of a page in their order: title by what the paper, or this project, has the columns for.
PARTS = {
    "published": "Published columns", "method": "Methods", "reading": "Readings",
    "label-free": "Settings chosen without labels", "control": "Controls",
}  # fmt: skip
#: Columns of a table at most, without its labels.
MAX_COLUMNS = 11
#: Columns of table.csv, by field of a cell.
CSV_COLUMNS = {
    "row": "row", "column": "column", "mean": "ours", "std": "std", "runs": "runs",
    "planned": "planned", "published": "published", "published_std": "published_std",
    "difference": "difference", "error": "error", "published_error": "published_error",
    "published_dof": "published_dof", "se": "se", "margin": "margin", "tolerance": "tolerance",
    "verdict": "verdict", "can_be_same": "can_be_same", "reason": "reason",
    "setting": "chosen",
}  # fmt: skip


def with_averages(experiment: Experiment, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a table, then the averages of each group and measure."""
    spec, groups = experiment.spec, dict[tuple[str, str, str], list[Cell]]()
    for cell in cells:
        group_of_cell = spec.rows[cell.row].group, cell.metric, cell.column
        groups.setdefault(group_of_cell, []).append(cell)
    averages = []
    several = {group for group, measure, _ in groups if any(
        other == group and measure != m for other, m, _ in groups)}  # fmt: skip
    for (group, measure, _), of_group in groups.items():
        alone = len(of_group) == 1 and (group or measure != spec.metric)  # needs no average
        label = f"average {group}".strip()
        label += f", {TITLES[measure]}" if group in several and measure != spec.metric else ""
        if not alone:
            averages.append(_average(experiment, label, of_group))
    return [*cells, *averages]


def _average(experiment: Experiment, label: str, cells: Sequence[Cell]) -> Cell:
    """Return the mean of cells of one column, ours and the published one."""
    # Rows may share a run, so our standard error is that of the averages of each seed. The
    # published values count as independent. The tolerance is the mean of the rows' tolerances.
    seeds = set.intersection(*(set(c.by_seed) for c in cells))
    of_seeds = {seed: fmean(c.by_seed[seed] for c in cells) for seed in seeds}
    lost = next((cell for cell in cells if cell.reason), None)
    errors = np.array([cell.published_error for cell in cells])
    # Welch and Satterthwaite: infinite if no error has finite degrees of freedom.
    parts = (errors**4 / np.array([cell.published_dof for cell in cells])).sum()
    return Cell(
        row=label,
        column=cells[0].column,
        metric=cells[0].metric,
        mean=fmean(c.mean for c in cells),
        runs=len(seeds),
        planned=max(cell.planned for cell in cells),
        published=fmean(c.published for c in cells),
        tolerance=fmean(c.tolerance for c in cells),
        error=standard_error(of_seeds, deviation([*of_seeds.values()])),
        published_error=math.hypot(*errors) / len(cells),
        published_dof=float((errors**2).sum() ** 2 / parts) if parts else math.inf,
        reason=f"{lost.row} is unavailable" if lost else "",
    )


def to_csv(experiment: Experiment, cells_and_averages: Sequence[Cell]) -> pd.DataFrame:
    """Return the content of table.csv; the role of an average is "average"."""
    rows = [[getattr(cell, name) for name in CSV_COLUMNS] for cell in cells_and_averages]
    table, of_column = pd.DataFrame(rows, columns=list(CSV_COLUMNS.values())), roles(experiment)
    is_row = table["row"].isin(experiment.spec.rows)
    role = table["column"].map(of_column).where(is_row, "average")
    readings = [name for name, row in experiment.spec.rows.items() if row.reading_of]
    is_reading = table["row"].isin(readings) & (role == "published")
    table.insert(2, "role", role.mask(is_reading, "reading"))
    return table


def roles(experiment: Experiment) -> dict[str, str]:
    """Return a key of PARTS for each column of the table, the columns in the order of the parts."""
    spec, role = experiment.spec, {}
    for label, name, _ in table_columns(experiment):
        column = spec.columns[name]
        role[label] = (
            "label-free" if label != name
            else "control" if column.control
            else "reading" if column.reading_of
            else "published" if any(experiment.published(row, name) for row in spec.rows)
            else "method"
        )  # fmt: skip
    return dict(sorted(role.items(), key=lambda item: [*PARTS].index(item[1])))


def judged(experiment: Experiment, cells: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the published cells, without averages and readings."""
    rows, columns = experiment.spec.rows, experiment.spec.columns
    for cell in cells:
        if cell.row not in rows or not cell.planned or math.isnan(cell.published):
            continue
        if not (rows[cell.row].reading_of or columns[cell.column].reading_of):
            yield cell


def value(experiment: Experiment, cell: Cell) -> Value:
    """Return a cell of a table, or a point of a figure, as pages show it."""
    text, figure = experiment.spec.value_unit.text, experiment.spec.figure
    std = text(cell.std)
    return Value(
        text(cell.mean) or "none",
        std and f"± {std}",
        "" if figure else text(cell.published),
        "" if figure else cell.verdict,
        cell if cell.records else None,
    )


def parts(experiment: Experiment, cells_and_averages: Sequence[Cell]) -> list[Section]:
    """Return the tables of an experiment, each in a section."""
    # Returns: Rows by columns, then the averages. The columns of each role have a table, or several
    # of equal size if they are more than MAX_COLUMNS. Only the first role's are unfolded.
    spec, of_column = experiment.spec, roles(experiment)
    values = {(c.row, c.column): value(experiment, c) for c in cells_and_averages}
    averages = {cell.row for cell in cells_and_averages} - spec.rows.keys()
    sections = list[Section]()
    main = next(iter(of_column.values()))
    for role, of_role in groupby(of_column, of_column.__getitem__):
        columns = list(of_role)
        size = math.ceil(len(columns) / math.ceil(len(columns) / MAX_COLUMNS))
        for start in range(0, len(columns), size):
            shown = columns[start : start + size]
            title = PARTS[role]
            title += f": {shown[0]} to {shown[-1]}" if size < len(columns) else ""
            part = {keys: shown_value for keys, shown_value in values.items() if keys[1] in shown}
            table = _grid(f"{spec.title}: {title}", part, averages)
            sections.append(Section(title, [table], folded=role != main))
    return sections


def points_table(
    experiment: Experiment, cells: Sequence[Cell], levels: Mapping[str, float]
) -> Table:
    """Return the points of a figure as a table."""
    # `cells`: Its points; of a curve over iterations, the last one is shown.
    spec, figure = experiment.spec, experiment.spec.figure
    assert figure is not None
    if figure.iterations:
        cells = list({(cell.row, cell.column): cell for cell in cells}.values())
    values, published = {}, {}
    for cell in sorted(cells, key=lambda cell: (math.isnan(cell.x), cell.x)):  # without x last
        row, column = cell.row, "any x" if math.isnan(cell.x) else f"{cell.x:.15g}"
        if figure.rows:
            column = cell.column
        elif len(spec.columns) > 1:
            row = f"{cell.row}, {cell.column}"
        values[row, column] = value(experiment, cell)
        of_level = figure.levels and figure.levels.column == cell.column
        if cell.row in levels and not figure.rows and (of_level or len(spec.columns) == 1):
            published[row, "published"] = Value(spec.value_unit.text(levels[cell.row]))
    return _grid(f"{spec.title}: values", values | published)


def _grid(label: str, values: Mapping[tuple[str, str], Value], foot: Container[str] = ()) -> Table:
    """Return a table of values by row and column, in their order."""
    rows, columns = (dict.fromkeys(keys[i] for keys in values) for i in (0, 1))
    lines: list[TableRow] = [
        [row, *(values.get((row, column), Value()) for column in columns)] for row in rows
    ]
    body, last = ([one for one in lines if (one[0] in foot) is part] for part in (False, True))
    return Table(label, ["row", *columns], body, last, wide=True)


def measures(experiment: Experiment) -> str:
    """Return what the rows show: shares in the unit, then costs in their own."""
    shown = dict.fromkeys(experiment.metric(row) for row in experiment.spec.rows)
    shares = [TITLES[measure] for measure in shown if measure not in COSTS]
    costs = [TITLES[measure] for measure in shown if measure in COSTS]
    shares += [experiment.spec.value_unit.words] if shares else []
    return "; ".join(filter(None, [", ".join(shares), *costs]))


def without_verdict(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return why cells have no verdict, a sentence for each reason, and the remedy."""
    by_reason: dict[str, list[str]] = {}
    for cell in cells:
        if cell.row in experiment.spec.rows and cell.reason:
            by_reason.setdefault(cell.reason.rstrip("."), []).append(f"{cell.row} {cell.column}")
    sentences = [
        f"{reason}: {', '.join(names) if len(names) < 7 else f'{len(names)} cells'}"
        for reason, names in by_reason.items()
    ]
    reasons = [cell.reason for cell in cells if cell.reason.startswith("unavailable")]
    remedy = f"`transferbench reproduce {experiment.name}` fills them"
    if any("left out" in reason for reason in reasons):
        sentences.append(f"without these terms in --without-terms, {remedy}")
    elif reasons:
        sentences.append(f"once the data of the unavailable cells are there, {remedy}")
    return sentences


def choices(experiment: Experiment, cells: Sequence[Cell]) -> list[str]:
    """Return how the setting of each column with a grid was chosen, and which one."""
    sentences = []
    for label, name, choose in table_columns(experiment):
        if not choose:
            continue
        grid = experiment.spec.columns[name].grid
        among = "; ".join(f"{p} among {', '.join(map(parameter, v))}" for p, v in grid.items())
        by = f"by {TITLES[choose]}: with the labels it is then scored on"
        if choose == "explained":
            by = "without labels, by the share of the documents' variance between clusters"
        rows: dict[str, list[str]] = {}
        for cell in cells:
            if cell.column == label and cell.setting and not math.isnan(cell.mean):
                rows.setdefault(cell.setting, []).append(cell.row)
        chosen = "; ".join(f"{setting} on {', '.join(of)}" for setting, of in rows.items())
        sentence = f"{label}: {among}, chosen for each task {by}"
        sentences.append(f"{sentence} ({chosen})" if chosen else sentence)
    return sentences
