"""The committed pages of an experiment: tables, figures and claims, made of its runs alone."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandas as pd

from transferbench import experiments
from transferbench.evidence import boards, claims, figures, labels, pictures, regret, tables
from transferbench.evidence.boards import Board
from transferbench.evidence.frame import (
    Cell,
    ReadCells,
    Records,
    observations,
    summarise,
    table_columns,
)
from transferbench.evidence.page import (
    Block,
    Page,
    Picture,
    Section,
    Table,
    latex,
    markdown,
    words,
)
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Figure
from transferbench.files import write_text
from transferbench.measures import decimals
from transferbench.messages import no_formula
from transferbench.runs import store

#: Folder of the statistics of all datasets, see `statistics`.
STATISTICS = "data-statistics"


class Part(NamedTuple):
    """A page, and its numbers if it has a file of them."""

    page: Page
    numbers: pd.DataFrame | None = None


@dataclass(frozen=True)
class Evidence:
    """An experiment and what its cells show."""

    experiment: Experiment
    cells: Sequence[Cell]
    #: Cells and averages of the table; empty for a figure.
    cells_and_averages: Sequence[Cell]
    #: Points of the figure, see `figures.points`; empty for a table.
    points: pd.DataFrame
    results: Sequence[claims.ClaimResult]
    #: The board; None if the experiment has none.
    board: Board | None

    @classmethod
    def from_cells(
        cls, experiment: Experiment, cells: Sequence[Cell], others: ReadCells | Path | None = None
    ) -> Self:
        """Return what the cells show."""
        # `others`: See `claims.judge`.
        figure = experiment.spec.figure
        return cls(
            experiment,
            cells,
            [] if figure else tables.with_averages(experiment, cells),
            figures.points(experiment, cells if figure else []),
            claims.judge(experiment, cells, others),
            boards.from_cells(experiment, cells) if experiment.spec.board else None,
        )

    @classmethod
    def read(cls, experiment: Experiment, folder: Path) -> Self:
        """Return what the runs of a folder show."""
        return cls.from_records(experiment, store.read(folder / store.NAME), folder.parent)

    @classmethod
    def from_records(cls, experiment: Experiment, records: Records, results: Path) -> Self:
        """Return what records show; see `from_cells`."""
        cells = summarise(experiment, observations(experiment, records))
        return cls.from_cells(experiment, cells, results)

    @property
    def notes(self) -> list[str]:
        """The notes of the experiment, and those that follow from the cells."""
        return [
            *claims.identical(self.experiment, self.cells),
            *tables.choices(self.experiment, self.cells_and_averages),
            *self.counted_apart,
            *self.experiment.spec.notes,
        ]

    @property
    def counted_apart(self) -> list[str]:
        """Sentences on cells that the totals count apart: circular ones, and other data."""
        spec = self.experiment.spec
        sentences = [words("circular", entry) for entry in spec.circular]
        in_totals = any(self.experiment.name in names for names in experiments.papers().values())
        differs = spec.data_differ and in_totals
        return sentences + [words("data_differ", spec)] * bool(differs)

    @cached_property
    def regrets(self) -> pd.DataFrame:
        """Regrets of an experiment with the key `regret`, see `regret.summary`."""
        return regret.summary(self.experiment, self.cells)

    @cached_property
    def by_labels(self) -> pd.DataFrame:
        """Accuracies of an experiment with the key `by_labels`, see `labels.summary`."""
        return labels.summary(self.experiment, self.cells)

    @cached_property
    def label_curves(self) -> pd.DataFrame:
        """Points of the picture of an experiment with the key `by_labels`."""
        return labels.curves(self.by_labels)

    @property
    def compared_cells(self) -> list[Cell]:
        """The cells of printed numbers, see `tables.judged`."""
        return [*tables.judged(self.experiment, self.cells_and_averages)]

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The printed numbers beside ours, see `pictures.compared`; empty for a figure."""
        return pictures.compared(self.experiment, self.compared_cells)

    @property
    def without_verdict(self) -> list[str]:
        """Reasons why cells have no verdict."""
        return tables.without_verdict(self.experiment, self.cells_and_averages)

    @property
    def outdated(self) -> list[str]:
        """Sentences on the cells with runs of other data or code than the newest."""
        return [text for text in self.without_verdict if text.startswith("outdated")]

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The pages with their numbers by name of the file, the main one first."""
        experiment, spec, cells = self.experiment, self.experiment.spec, self.cells_and_averages
        if spec.figure:
            parts = {"figure": Part(self._figure(spec.figure), self.points)}
        else:
            parts = {"table": Part(self._table(), tables.to_csv(experiment, cells))}
        if self.board:
            of_board = Part(boards.page(self.board), self.board.standings)
            parts[f"../{boards.FOLDER}/{experiment.name}"] = of_board
        if spec.regret:
            page = regret.page(experiment, self.regrets, self.cells)
            parts["regret"] = Part(page, self.regrets)
        if spec.by_labels:
            page = labels.page(experiment, self.by_labels, self.label_curves)
            parts["labels"] = Part(page, self.by_labels)
        if self.results:
            parts["claims"] = Part(self._claims())
        return parts

    def texts(self) -> dict[str, str]:
        """Return the files, Markdown and CSV, by path relative to the folder of the runs."""
        texts = {
            f"{name}.csv": to_csv(part.numbers)
            for name, part in self.parts.items()
            if part.numbers is not None
        }
        return texts | {f"{name}.md": markdown(part.page) for name, part in self.parts.items()}

    def main_text(self, form: str, *, ours_only: bool = False) -> str:
        """Return the tables, or the points of the figure, as "markdown", "csv" or "latex"."""
        # `ours_only`: True for cells of a LaTeX table with our mean and deviation only, without the
        # published value and its verdict.
        name, part = next(iter(self.parts.items()))
        if form != "latex":
            return self.texts()[f"{name}.{'csv' if form == 'csv' else 'md'}"]
        shown = [table.ours for table in part.page.tables] if ours_only else part.page.tables
        return "\n".join(map(latex, shown))

    def write(self, folder: Path) -> list[Path]:
        """Write the pages and pictures to the folder of the runs."""
        return write_files(folder, self.texts()) + self.draw(folder)

    def draw(self, folder: Path) -> list[Path]:
        """Write the pictures of the pages to the folder of the runs."""
        paths = []
        if self.board:
            paths += pictures.draw_board(self.board, folder.parent / boards.FOLDER)
        if self.experiment.spec.figure:
            paths.append(figures.draw(self.experiment, self.points, folder))
        if self.experiment.spec.by_labels:
            path = folder / labels.PICTURE
            paths += pictures.draw_labels(self.experiment, self.label_curves, path)
        paths += pictures.draw(self.experiment, self.compared, folder)
        return paths

    def _table(self) -> Page:
        spec, compared = self.experiment.spec, self.experiment.compared
        measures = tables.measures(self.experiment)
        blocks: list[Block] = [
            words("source", spec.paper),
            words("table", measures, spec),
            *self._pictures(),
            *([words("cells", compared.tolerance)] if compared.tolerance else []),
            *tables.parts(self.experiment, self.cells_and_averages),
        ]
        if compared.tolerance:
            legend: list[Block] = [
                words("verdicts", compared, spec),
                [words("tolerance", tolerance) for tolerance in compared.tolerance],
            ]
            blocks.append(Section("Verdicts", legend, folded=True))
        blocks += self._sections()
        return Page(self.experiment.name, spec.title, blocks, self._links("All numbers", "table"))

    def _pictures(self) -> list[Block]:
        """Return the pictures of ours beside the printed numbers, if there are any."""
        if self.compared.empty:
            return []
        counts = words("results", Counter(self.compared["verdict"]))
        differences = f"Ours less the printed number, by row and method: {counts}"
        pairs = f"Ours beside the printed number, a panel for each method: {counts}"
        return [
            Picture(pictures.DIFFERENCES, differences),
            words("differences", self.experiment.spec, set(self.compared["verdict"])),
            Section("Both numbers side by side", [Picture(pictures.PAIRS, pairs)], folded=True),
        ]

    def _figure(self, figure: Figure) -> Page:
        spec = self.experiment.spec
        levels = figures.published_levels(self.experiment)
        blocks: list[Block] = [
            words("source", spec.paper),
            words("figure", figure, spec, figures.shares_scale(figure)),
            Picture("figure.svg", spec.title),
            tables.points_table(self.experiment, self.cells, levels),
        ]
        if growth := figures.growth(self.experiment, self.points):
            rows = [[name, *(decimals(n, 2) for n in both)] for name, both in growth.items()]
            table = Table("Exponents of growth", ["method", "all", "last two"], rows)
            blocks += [words("growth", figure), table]
        blocks += self._sections()
        return Page(self.experiment.name, spec.title, blocks, self._links("All points", "figure"))

    def _links(self, text: str, name: str) -> dict[str, str]:
        claims_page = {"Claims": "claims.md"} if self.results else {}
        return {text: f"{name}.csv"} | claims_page

    def _sections(self) -> list[Section]:
        """Return the notes of a page."""
        parts = {
            "Notes": self.notes,
            "Methods and settings": methods(self.experiment),
            "Without a verdict": self.without_verdict,
        }
        return [Section(title, [items], folded=True) for title, items in parts.items() if items]

    def _claims(self) -> Page:
        name, links = self.experiment.name, {}
        if name in experiments.names():
            links["How claims are tested"] = "../../docs/reproduce.md#how-claims-are-tested"
        same = claims.identical(self.experiment, self.cells)
        sections: list[Block] = [same] if same else []
        for result in self.results:
            claim, lines = result.claim, claims.comparisons(self.experiment, result)
            blocks: list[Block] = [claims.explanation(self.experiment, result)]
            blocks += [Table(f"Comparisons: {claim.says}", claims.HEADER, lines)] if lines else []
            sections.append(Section(claim.says, blocks, result.outcome, claim.origin))
        return Page(name, "claims and what our runs show", sections, links)


def methods(experiment: Experiment) -> list[str]:
    """Return a sentence on each column, its model and setting, and on each second reading."""
    spec = experiment.spec

    def reading(of: str, name: str = "") -> str:
        counted = "count as we read it" if name in spec.declared else "leave out"
        return f"a reading of {of}, which the totals {counted}"

    sentences = []
    for label, name, _ in table_columns(experiment):
        column = spec.columns[name]
        data = {"task": column.task} | column.options if column.task else column.options
        facts = [
            f"`{column.model}` {setting(column.params | dict.fromkeys(column.grid, '…'))}".strip(),
            f"tasks with {setting(data)}" if data else "",
            column.reading_of and reading(column.reading_of, name),
            column.note,
        ]
        sentences.append(f"{label}: {'; '.join(filter(None, facts))}")
    rows = {name: row.reading_of for name, row in spec.rows.items() if row.reading_of}
    return sentences + [f"{name}: {reading(of)}" for name, of in rows.items()]


def setting(params: Mapping[str, Any]) -> str:
    """Return parameters as pages list them."""
    return ", ".join(f"{name} = {value}" for name, value in params.items())


def to_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV, numbers with six digits; no text is a formula."""
    return str(table.map(no_formula).to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def _by_path(folder: Path, texts: Mapping[str, str]) -> dict[Path, str]:
    """Return texts, by file name, by their paths in a folder."""
    return {Path(normpath(folder / name)): text for name, text in texts.items()}


def write_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write texts, by file name, to a folder; return their paths."""
    for path, text in (paths := _by_path(folder, texts)).items():
        write_text(path, text)
    return [*paths]


def changed_files(folder: Path, texts: Mapping[str, str]) -> list[Path]:
    """Return the files in the folder that are missing or have other texts, by file name."""
    return [
        path
        for path, text in _by_path(folder, texts).items()
        if not path.is_file() or path.read_text("utf-8", "replace") != text
    ]


def write_pages(
    experiment: Experiment,
    folder: Path,
    records: Records,
    kept: dict[str, Evidence] | None = None,
) -> list[Path]:
    """Write the pages and pictures of an experiment from its records; return their paths."""
    # A warning names cells with runs of other data or code than the newest.
    evidence = Evidence.from_records(experiment, records, folder.parent)
    for sentence in evidence.outdated:
        warnings.warn(f"{experiment.name}: {sentence}", stacklevel=2)
    if kept is not None:
        kept[experiment.name] = evidence
    return evidence.write(folder)
