"""The printed numbers of the papers beside ours in one frame, and every total of them.

Each number has two lines: as the paper is written, and as we read it, by the reading that its table
declares. Every page and command takes its totals from here, so no two show different ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from transferbench import experiments
from transferbench.evidence.chance import Chance, Place
from transferbench.evidence.pages import Evidence
from transferbench.evidence.verdict import DIFFERENT
from transferbench.measures import LOWER_IS_BETTER

NAMES = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "LNKMTC, LSKMTC", "himls": "HiMLS"}
#: The two ways to compare a number, and all papers together.
WRITTEN, READ, ALL = "written", "read", "all"
#: Outcomes of claims, and what tables call their number.
CLAIMS = {"holds": "claims that hold", "fails": "claims that fail", "open": "open claims"}
#: Columns of `frame`.
COLUMNS = [
    "paper", "experiment", "row", "column", "kind", "measure", "again", "apart", "values",
    "chosen_on", "way", "circular", "cell", "verdict", "mean", "points",
]  # fmt: skip
#: Kinds of methods, in the order of the answer, and what pages call them.
KINDS = {
    "own": "the papers' own methods",
    "variant": "their variants",
    "rival": "rivals that we rebuilt",
    "simple": "simple methods",
}


def frame(named: Mapping[str, Sequence[Evidence]]) -> pd.DataFrame:
    """Return two lines for each printed number, one for each way, by name of the paper."""
    lines, seen = list[dict[str, Any]](), set[Any]()
    for label, evidence in ((label, each) for label, of in named.items() for each in of):
        experiment, spec = evidence.experiment, evidence.experiment.spec
        cells = {(cell.row, cell.column): cell for cell in evidence.cells_and_averages}
        for cell in evidence.compared_cells:
            readings = {
                name: cells[cell.row, name]
                for name, column in spec.columns.items()
                if column.reading_of == cell.column and (cell.row, name) in cells
            }
            values = {cell.column: cell} | readings
            entries = [e for name in readings for e in experiment.circular(cell.row, name)]
            # A paper may print a number of the same runs in a second table.
            runs = tuple(record.identity for record in cell.records)
            key = label, runs, cell.metric, cell.published, str(cell.published_std)
            about = {
                "paper": label,
                "experiment": experiment.name,
                "row": cell.row,
                "column": cell.column,
                "kind": spec.columns[cell.column].kind or "",
                "measure": cell.metric,
                "again": not cell.reason and key in seen,
                "apart": bool(spec.data_differ),
                "values": values,
                "chosen_on": any(not readings.keys().isdisjoint(e.columns) for e in entries),
            }
            seen.add(key)
            declared = next((name for name in spec.declared if name in readings), cell.column)
            for way, column in ((WRITTEN, cell.column), (READ, declared)):
                shown = replace(values[column], column=cell.column)
                lines.append(
                    about
                    | {"way": way, "circular": bool(experiment.circular(cell.row, column))}
                    | {"cell": shown, "verdict": shown.verdict, "mean": shown.mean}
                    | {"points": spec.to_percent * abs(shown.difference)}
                )
    return pd.DataFrame(lines, columns=COLUMNS)


@dataclass(frozen=True)
class Totals:
    """Totals of some printed numbers, compared in one way."""

    label: str
    #: Lines of `frame`.
    lines: pd.DataFrame

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The lines with a value of ours."""
        return self.lines[~self.lines["verdict"].isin(["", "unavailable"])]

    def count(self, *verdicts: str) -> int:
        """Return the number of lines with one of these verdicts."""
        return int(self.lines["verdict"].isin(verdicts).sum())

    @property
    def counts(self) -> list[int]:
        """Numbers of lines: compared, the same, different, and those where we cannot tell."""
        decided = self.count("same"), self.count(*DIFFERENT), self.count("cannot tell")
        return [len(self.compared), *decided]

    @property
    def undecidable(self) -> pd.DataFrame:
        """The lines whose printed error alone exceeds the tolerance."""
        return self.lines.loc[[cell.can_be_same is False for cell in self.lines["cell"]]]

    @property
    def without_error(self) -> int:
        """The number of compared lines where neither number has a known error."""
        return sum(cell.margin == 0 for cell in self.compared["cell"])

    @property
    def confirmed(self) -> str:
        """Number of lines that are not circular and the same, of those compared, as a text."""
        rest = Totals(self.label, self.lines[~self.lines["circular"]])
        return f"{rest.count('same')} of {len(rest.compared)}"

    def same_at(self, factor: float) -> int:
        """Return the number that is the same at a multiple of the tolerance."""
        cells = (replace(c, tolerance=factor * c.tolerance) for c in self.compared["cell"])
        return sum(cell.verdict == "same" for cell in cells)

    @property
    def circular(self) -> tuple[int, int]:
        """Numbers of circular lines: those that are the same, and all."""
        of_circular = Totals(self.label, self.lines[self.lines["circular"]])
        return of_circular.count("same"), len(of_circular.lines)

    @cached_property
    def correlation(self) -> tuple[float, list[str]]:
        """Spearman's correlation of the methods' means, and the methods that are left out."""
        # It is the mean over tables and measures with three methods or more. A method without a
        # value on each row has another mean, so it is left out.
        found, left_out = [], dict[str, None]()
        for _, table in self.compared.groupby(["experiment", "measure"], sort=False):
            sizes = table.groupby("column", sort=False).size()
            full = sizes.index[sizes == sizes.max()]
            left_out |= dict.fromkeys(sizes.index.difference(full, sort=False))
            of_method = table.assign(published=[cell.published for cell in table["cell"]]).groupby(
                "column", sort=False
            )
            means = of_method[["mean", "published"]].mean().loc[full]
            if len(full) > 2:
                found.append(float(means.rank().corr().iloc[0, 1]))
        finite = [value for value in found if not math.isnan(value)]
        return (fmean(finite) if finite else math.nan), [*left_out]

    @cached_property
    def leads(self) -> tuple[int, int, int, int]:
        """Rows where an own method is best by mean: in print, here, here nearly, and all rows."""
        # Nearly: within one tolerance of the best. Rows without other methods than variants do not
        # count.
        printed = here = near = rows = 0
        keys = ["experiment", "measure", "row"]
        for (_, measure, _), row in self.compared.groupby(keys, sort=False):
            is_own = row["kind"] == "own"
            if not is_own.any() or not row["kind"].isin(["rival", "simple"]).any():
                continue
            sign = -1 if measure in LOWER_IS_BETTER else 1
            in_print = pd.Series([sign * cell.published for cell in row["cell"]], row.index)
            ours = sign * row["mean"]
            tolerance = row["cell"].iloc[0].tolerance
            rows += 1
            printed += int(in_print[is_own].max() >= in_print.max())
            here += int(ours[is_own].max() >= ours.max())
            near += int(ours[is_own].max() >= ours.max() - tolerance)
        return printed, here, near, rows

    def chance(self, way: str, *, circular: bool = True) -> Chance:
        """Return the number that is the same, and those of random orders within rows."""
        # `circular`: False to leave out circular numbers; then no reading is chosen.
        lines = self.compared if circular else self.compared[~self.compared["circular"]]
        with_choice = way == READ and circular
        lines = lines.assign(
            place=[
                Place(cell.column, cell, values, chosen_on)
                if with_choice
                else Place(cell.column, cell, {cell.column: cell})
                for cell, values, chosen_on in zip(
                    lines["cell"], lines["values"], lines["chosen_on"], strict=True
                )
            ]
        )
        return together(
            Chance.from_rows(
                str(paper),
                [[*row] for _, row in of_paper.groupby(["experiment", "row"], sort=False)["place"]],
            )
            for paper, of_paper in lines.groupby("paper", sort=False)
        )


def together(chances: Iterable[Chance]) -> Chance:
    """Return the sum of the chances of several papers."""
    return sum(chances, Chance.from_rows(ALL, []))


class ByPaper(NamedTuple):
    """Totals of each paper, of all papers, and of tables on other data, which "all" leaves out."""

    papers: list[Totals]
    together: Totals
    apart: list[Totals]

    @property
    def every(self) -> list[Totals]:
        """All of them, in the order of a table."""
        return [*self.papers, self.together, *self.apart]


def by_kind(lines: pd.DataFrame, *, once: bool = True) -> list[Totals]:
    """Return the totals of each kind of methods, as written."""
    # `once`: True to count a number once that its paper prints in two tables.
    counted = lines[(lines["way"] == WRITTEN) & ~lines["apart"] & ~(lines["again"] & once)]
    return [Totals(name, counted[counted["kind"] == kind]) for kind, name in KINDS.items()]


def by_paper(lines: pd.DataFrame, way: str = WRITTEN) -> ByPaper:
    """Return the totals by paper."""
    of_way = lines[lines["way"] == way]
    counted, apart = of_way[~of_way["apart"]], of_way[of_way["apart"]]
    return ByPaper(
        [Totals(str(paper), of) for paper, of in counted.groupby("paper", sort=False)],
        Totals(ALL, counted),
        [Totals(f"{paper}: data differ", of) for paper, of in apart.groupby("paper", sort=False)],
    )


def of_papers(known: Mapping[str, Evidence]) -> dict[str, list[Evidence]]:
    """Return the evidence of each paper's published tables, by short name of the paper."""
    # `known`: Evidence by name of the experiment; other experiments are left out.
    return {
        NAMES.get(paper, paper): evidences
        for paper, names in experiments.papers().items()
        if (evidences := [known[name] for name in names if name in known])
    }


def outcomes(evidences: Iterable[Evidence], outcome: str) -> int:
    """Return the number of claims with an outcome that papers make, not of ours."""
    return sum(r.outcome == outcome and not r.claim.by_us for e in evidences for r in e.results)
