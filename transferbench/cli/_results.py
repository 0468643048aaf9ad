"""Find the results of an experiment: in the folder of results, or in its repeats-N."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench import experiments
from transferbench.cli._options import REPEATS, have_run
from transferbench.cli._terminal import say
from transferbench.errors import UserError
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.evidence.frame import Cell
    from transferbench.experiments.experiment import Experiment

#: Files of which results have at least one.
FILES = ("runs.jsonl", experiments.COPY)

repeats_option = click.option(
    "--repeats", type=REPEATS, help="Use the results of `reproduce --repeats N`, which are in "
    "results/repeats-N/.  [default: results/EXPERIMENT/, or if there is none, the one that is]",
)  # fmt: skip


def locate(settings: Settings, name: str, repeats: int | None) -> Settings:
    """Return the settings whose folder of results has the runs of an experiment."""

    def has_results(folder: Path) -> bool:
        files = (folder / experiments.folder_name(name) / file for file in FILES)
        return any(map(isfile, files))  # Path.is_file raises for a long name

    first, *others = experiments.folders(settings.results)
    is_usual, has_runs = has_results(first), [*filter(has_results, others)]
    if repeats:
        folder = first / f"repeats-{repeats}"
        if folder in has_runs:
            return settings.replace(results=folder)
        if is_usual and experiments.load(name, first).spec.repeats == repeats:
            return settings
        remedy = f"`transferbench reproduce {name} --repeats {repeats}` makes them"
        raise UserError(f"{name}: no runs in {folder}; {remedy}.")
    if is_usual or not has_runs:
        return settings
    if len(has_runs) > 1:
        found = ", ".join(folder.name for folder in has_runs)
        raise UserError(f"{name} has runs in {found} of {first}; choose by --repeats N.")
    say(f"{name}: only {has_runs[0]} has runs of it; these are used", err=True)
    return settings.replace(results=has_runs[0])


def read(
    settings: Settings, name: str, repeats: int | None
) -> tuple[Settings, Experiment, list[Cell]]:
    """Return an experiment and its cells, by its name or by that of a number, see `locate`."""
    from transferbench.evidence.frame import read_cells

    name = name.partition("#")[0]
    settings = locate(settings, name, repeats)
    file = experiments.load(name, settings.results)
    return settings, file, read_cells(file, settings.with_runs(file.name) / file.name)


def with_runs(
    settings: Settings, names: Sequence[str], repeats: int | None
) -> list[tuple[Settings, str]]:
    """Return experiments with the settings whose folder of results has them, by default all."""
    if names:
        return [(locate(settings, name, repeats), name) for name in names]
    folders = [settings.replace(results=each) for each in experiments.folders(settings.results)]
    if repeats:
        folders = [each for each in folders if experiments.repeats_of(each.results) == repeats]
    return [(each, name) for each in folders for name in have_run(each)]
