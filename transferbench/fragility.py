"""Make the first run of each cell of a table again, with changes that should not matter.

`evidence.frame.Move` holds what a run with a change yields, `evidence.fragility` makes the page.
"""

import platform
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.evidence import fragility, pages
from transferbench.evidence.frame import Cell, Move, read_cells, read_moves
from transferbench.experiments.experiment import Experiment
from transferbench.files import write_text
from transferbench.measures import COSTS
from transferbench.runs import runner, worker
from transferbench.runs.engines.local import Local
from transferbench.runs.record import Record, Run
from transferbench.settings import Settings

#: The other precision of a model.
OTHER = {"float32": "float64", "float64": "float32"}
#: Orders of the documents to try.
ORDERS = 2
#: Seconds that a committed run to be made again may have taken.
MAX_SECONDS = 60


def changes(run: Run, only: Collection[str]) -> Iterator[tuple[str, Run]]:
    """Yield the name of each change (see `Move`) and the run with it.

    only: kinds of changes: order, dtype, threads, libraries.
    With two threads, or with the libraries that are installed, the run itself stays the same.
    """
    task = tasks.Task.named(run.task)
    for number in range(1, ORDERS + 1) if "order" in only else ():
        yield f"order {number}", replace(run, task=replace(task, order=task.order + number).name)
    if "dtype" in only and run.params.get("dtype") in OTHER:
        yield "dtype", replace(run, params={**run.params, "dtype": OTHER[run.params["dtype"]]})
    if "threads" in only:
        yield "threads", run
    if "libraries" in only:
        installed = {"python": platform.python_version()} | worker.versions()
        versions = [f"{name} {each}" for name, each in installed.items() if name != "transferbench"]
        yield f"libraries {', '.join(versions)}", run


def measure(
    experiment: Experiment, settings: Settings, only: Collection[str], jobs: int
) -> tuple[list[Path], list[Record]]:
    """Perform the first runs of a table's cells with changes; add them to its fragility.csv.

    only: see `changes`. jobs: runs at a time. Return the paths of the pages written and the
    records. A run that has a finished record is not repeated: each change has its own folder of
    records. Raise UserError for a figure, and if there are no runs.
    """
    if experiment.spec.figure:
        raise UserError(f"{experiment.name} is a figure; name a table.")
    folder, records = settings.results / experiment.name, list[Record]()
    planned: dict[str, dict[Run, list[Cell]]] = {}
    for cell in read_cells(experiment, folder):
        first = next((each for each in cell.outcomes if each.status == "done"), None)
        if first and first.seconds <= MAX_SECONDS and cell.metric not in COSTS:
            for name, run in changes(first.run, only):
                planned.setdefault(name, {}).setdefault(run, []).append(cell)
    moves = {move[:3]: move for move in read_moves(folder / "fragility.csv")}
    for name, cells in planned.items():
        limits = experiment.spec.limits.each(threads=2 if name == "threads" else 1)
        separate = settings.replace(results=settings.results / "records" / name)
        limits_of = dict.fromkeys(cells, limits).__getitem__
        made = runner.run(list(cells), separate, engine=Local(jobs), limits=limits_of)
        for here, record in zip(cells.values(), made, strict=True):
            for cell in here if record.done else ():
                place, committed = (cell.row, cell.column, name), next(iter(cell.by_seed.values()))
                moves[place] = Move(*place, committed, _value(experiment, cell, record))
        records += made
        write_text(folder / "fragility.csv", pages.to_csv(fragility.to_csv(list(moves.values()))))
    return pages.write(experiment, folder), records


def _value(experiment: Experiment, cell: Cell, record: Record) -> float:
    """Return the value of a cell that a record yields."""
    domain = experiment.spec.rows[cell.row].domain
    shown = [record.metrics[each][cell.metric] for each in ([domain] if domain else record.metrics)]
    return fmean(shown) * experiment.scale(cell.row)
