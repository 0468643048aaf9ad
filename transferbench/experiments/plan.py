"""The runs of an experiment."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from transferbench import models, parameters
from transferbench.experiments.schema import Column, Figure, Schema
from transferbench.parameters import Params
from transferbench.runs.record import Run


class PlannedRun(NamedTuple):
    """A run of an experiment."""

    row: str
    column: str
    #: Position on the x axis of a figure over parameters; None in others.
    x: float | None
    run: Run
    #: Number of the repeat, from 0: the seed, or the split; None for a method without repeats.
    repeat: int | None


def runs(spec: Schema, repeats: int | None = None) -> Iterator[PlannedRun]:
    """Yield every run of a table or figure, with seeds 0, 1, … for random models."""
    # With `repeats_over: splits` each repeat has the split of its number, and a random model has
    # the same number as its seed.
    curves = bool(spec.figure and spec.figure.iterations)
    settings = {name: list(_settings(column, spec.figure)) for name, column in spec.columns.items()}
    for label, row in spec.rows.items():
        own = row.data()
        for name, column in spec.columns.items():
            task = row.data(column) if column.task or column.options else own
            random = column.random
            if not models.is_external(column.model):
                random = parameters.takes_seed(models.load(column.model))
            over_splits = spec.repeats_over == "splits"
            numbers = range(repeats or spec.repeats) if random or over_splits else (None,)
            for x, params in settings[name]:
                for number in numbers:
                    drawn = task.with_options({"split": number}) if over_splits else task
                    seed = number if random else None
                    run = Run(drawn, column.model, params, seed, curves and not column.control)
                    yield PlannedRun(label, name, x, run, number)


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
