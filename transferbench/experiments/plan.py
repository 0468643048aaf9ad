"""The runs of an experiment."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from transferbench import models, parameters
from transferbench.experiments.schema import Column, Figure, Schema
from transferbench.parameters import Params
from transferbench.runs.record import Run


class PlannedRun(NamedTuple):
    """A run of an experiment.

    Parameters
    ----------
    row, column
        Labels of its cell.
    x
        Position on the x axis of a figure over parameters; None in others.
    run
        The run.
    """

    row: str
    column: str
    x: float | None
    run: Run


def runs(spec: Schema, repeats: int | None = None) -> Iterator[PlannedRun]:
    """Yield every run of a table or figure, with seeds 0, 1, … for random models.

    Parameters
    ----------
    spec
        The experiment's file.
    repeats
        Number of seeds, in place of the file's.

    Yields
    ------
    PlannedRun
        By row, then column, setting and seed.
    """
    curves = bool(spec.figure and spec.figure.iterations)
    settings = {name: list(_settings(column, spec.figure)) for name, column in spec.columns.items()}
    for label, row in spec.rows.items():
        own = row.data()
        for name, column in spec.columns.items():
            task = row.data(column) if column.task or column.options else own
            random = column.random
            if not models.is_external(column.model):
                random = parameters.takes_seed(models.load(column.model))
            seeds = range(repeats or spec.repeats) if random else (None,)
            for x, params in settings[name]:
                for seed in seeds:
                    run = Run(task, column.model, params, seed, curves and not column.control)
                    yield PlannedRun(label, name, x, run)


def _settings(column: Column, figure: Figure | None) -> Iterator[tuple[float | None, Params]]:
    """Yield the settings of a column: x if the figure varies the parameters, and all of them."""
    changes: list[tuple[float | None, dict[str, Any]]]
    if figure and figure.varies(column):
        changes = [(x, dict.fromkeys(figure.params, x)) for x in figure.values]
    else:  # without a grid, the product is one empty setting
        combinations = product(*column.grid.values())
        changes = [(None, dict(zip(column.grid, values, strict=True))) for values in combinations]
    for x, changed in changes:
        params: Params = column.params | changed
        if not models.is_external(column.model):
            params = parameters.resolve(models.load(column.model), params, column.model)
        yield x, params
