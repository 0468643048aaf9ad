"""The answer of a reproduction in a few lines: totals, the largest differences, why one differs."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import summary
from transferbench.evidence.audit import Finding
from transferbench.evidence.explain import IN_WORDS, label_of_any, printed_cell
from transferbench.evidence.frame import Cell
from transferbench.evidence.pages import Evidence
from transferbench.evidence.summary import Totals
from transferbench.evidence.verdict import DIFFERENT, LOOKS
from transferbench.experiments.experiment import Experiment

#: Largest differences that `reproduce` prints.
LARGEST = 5


def totals(evidences: Mapping[str, Evidence], *, by_paper: bool = False) -> list[list[str]]:
    """Return a table of what is the same, different and not decided, with its heads."""
    # `by_paper`: True for a line for each paper with all its tables, False for one for each
    # experiment.
    if by_paper:
        of_papers = {
            paper: [evidences[name] for name in names if name in evidences]
            for paper, names in experiments.papers().items()
        }
        found = [one for one in summary.totals(of_papers, declared=False) if one.label != "all"]
    else:
        found = [
            Totals.from_numbers(name, summary.numbers(one), False, summary.outcomes_of([one]))
            for name, one in evidences.items()
        ]
    what = "paper" if by_paper else "experiment"
    rows = [[what, "compared", "same (by chance, p)", "different", "cannot tell", "its claims"]]
    for one in found:
        values = [f"{one.available}", f"{one.equivalent}"]
        values += [one.count(*DIFFERENT), one.count("cannot tell")]
        if one.cells or one.outcomes:
            shown = values if one.available else [""] * len(values)
            rows.append([one.label, *shown, str(one.claims)])
    return rows if len(rows) > 1 else []


def differences(evidences: Iterable[Evidence]) -> list[tuple[Evidence, Cell]]:
    """Return the printed numbers with a value of ours, the largest difference in points first."""

    def points(found: tuple[Evidence, Cell]) -> float:
        evidence, cell = found
        return -abs(cell.difference) * (1 if evidence.experiment.spec.unit == "percent" else 100)

    cells = [
        (evidence, number.written)
        for evidence in evidences
        for number in summary.numbers(evidence)
        if not math.isnan(number.written.difference)
    ]
    return sorted(cells, key=points)


def listed(experiment: Experiment, cells: Sequence[Cell], name: str) -> list[Cell]:
    """Return the cells of a row, of a column or of all, those that differ most from print first."""
    # `name`: Label of a row or column, or its task or model; "" for all cells. All cells are those
    # of the paper's table, without second readings.
    if name:
        what, label = label_of_any(experiment, cells, name)
        chosen = [cell for cell in cells if getattr(cell, what) == label]
    else:
        chosen = [
            cell for cell in cells if printed_cell(experiment, cell) == (cell.row, cell.column)
        ]
    chosen = [cell for cell in chosen if not math.isnan(cell.published)]
    if not chosen:
        named = experiment.spec.rows, experiment.spec.columns
        rows, columns = (", ".join(map(shlex.quote, names)) for names in named)
        raise UserError(
            f"{experiment.name}: no printed number is compared there; name a row ({rows}) and a "
            f"column ({columns})."
        )

    return sorted(chosen, key=lambda cell: (math.isnan(cell.difference), -abs(cell.difference)))


def listed_sentence(cells: Sequence[Cell], *, named: bool) -> str:
    """Return how many of the listed numbers have each verdict."""
    # `named`: True for the cells of one row or column, which include second readings.
    counts = Counter[str](cell.verdict for cell in cells)
    parts = [f"{counts[name]} {LOOKS[name].words}" for name in LOOKS if counts[name]]
    readings = (
        "Second readings are listed, too."
        if named
        else "Second readings and controls are left out; name a row or a column to see them."
    )
    return f"{len(cells)} printed numbers: {'; '.join(parts)}. {readings}"


def digits_of(experiment: Experiment) -> int:
    """Return the number of decimals of a difference: two for per cent, four for fractions."""
    return 2 if experiment.spec.unit == "percent" else 4


def difference_row(experiment: Experiment, cell: Cell, *, named: bool = False) -> list[str]:
    """Return a line of a cell: where it is, ours, printed, their difference and the verdict."""
    text = experiment.spec.value_unit.text
    std = "" if math.isnan(cell.std) else f" ± {text(cell.std)}"
    words = f"{LOOKS[cell.verdict].sign} {cell.verdict}" if cell.verdict else ""
    return [
        *([experiment.name] if named else []),
        shlex.quote(cell.row),
        shlex.quote(cell.column),
        f"{text(cell.mean)}{std}",
        text(cell.published),
        "" if math.isnan(cell.difference) else f"{cell.difference:+.{digits_of(experiment)}f}",
        words,
    ]


#: Heads of `difference_row`.
HEADS = ("row", "column", "ours", "printed", "difference", "verdict")


def closing(
    evidences: Mapping[str, Evidence], *, by_paper: bool
) -> Iterator[list[list[str]] | str]:
    """Yield the tables and sentences that `reproduce` ends with."""
    if not (table := totals(evidences, by_paper=by_paper)):
        return
    yield table
    if largest := differences(evidences.values())[:LARGEST]:
        several = len(evidences) > 1
        heads = [*(["experiment"] if several else []), *HEADS]
        yield "Largest differences:"
        yield [
            heads,
            *(difference_row(e.experiment, cell, named=several) for e, cell in largest),
        ]
        evidence, cell = largest[0]
        words = shlex.join([*evidence.experiment.arguments, cell.row, cell.column])
        yield f"`transferbench explain {words}` shows what is known of it."


def first_sentence(
    experiment: Experiment, cells: Sequence[Cell], cell: Cell, findings: Iterable[Finding]
) -> str:
    """Return in a few sentences why a number differs from the published one."""
    spec, text = experiment.spec, experiment.spec.value_unit.text
    if math.isnan(cell.published):
        return "The paper prints no number here."
    if cell.reason:
        return f"There is no number of ours: {cell.reason}."
    row, column = place = printed_cell(experiment, cell)
    low, high = (cell.difference + sign * cell.margin for sign in (-1, 1))
    digits = digits_of(experiment)
    if abs(abs(cell.difference) - cell.tolerance) < 10.0**-digits:
        digits += 2  # so that the difference is not written as the tolerance
    tolerance = f"{cell.tolerance:.3g}"
    differs = f"the difference is {cell.difference:+.{digits}f}, and the tolerance is {tolerance}."
    after = ""
    if cell.margin == 0:
        after = " Neither side states an error."
    elif not math.isnan(low):
        after = f" The 90 % interval of the difference is {low:+.{digits}f} to {high:+.{digits}f}."
    copied = any(f.status == "copied" and f.column == column and row in f.rows for f in findings)
    if spec.data_differ:
        after += f" It is on other data than the paper's: {spec.data_differ.rstrip('.')}."
    if entry := experiment.circular(row, cell.column):
        after += f" The printed value was used to set a choice here ({entry[0].why.rstrip('.')})."
    if cell.verdict in ("same", "within"):
        return f"{IN_WORDS[cell.verdict].capitalize()}: {differs}{after}"
    readings = [
        other
        for other in cells
        if printed_cell(experiment, other) == place
        and other is not cell
        and other.verdict == "same"
    ]
    if readings:
        other = readings[0]
        return (
            f"Another reading is the same: {other.column} on {other.row} has "
            f"{text(other.mean)}. Here {differs}{after}"
        )
    cause = "Cannot tell" if cell.verdict == "cannot tell" else "Unexplained"
    if copied:
        cause = "The printed value may be copied from another paper, as it has a digit less"
    elif spec.data_differ:
        cause = "Other data"
    return f"{cause}: {differs}{after}"
