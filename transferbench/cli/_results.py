"""Find the results of an experiment: in the folder of results, or in its repeats-N."""

from collections.abc import Sequence
from os.path import isfile

import click

from transferbench import experiments
from transferbench.cli._options import have_run
from transferbench.cli._runs import REPEATS
from transferbench.cli._terminal import say
from transferbench.errors import UserError
from transferbench.settings import Settings

repeats_option = click.option(
    "--repeats", type=REPEATS, help="Use the results of `reproduce --repeats N`, which are in "
    "results/repeats-N/.  [default: results/EXPERIMENT/, or if there is none, the one that is]",
)  # fmt: skip


def locate(settings: Settings, name: str, repeats: int | None) -> Settings:
    """Return the settings whose folder of results has the runs of an experiment.

    Raises
    ------
    UserError
        If there are none with this number of repeats, or without a number, if several folders
        beside the usual one have some.
    """
    runs = f"{experiments.folder_name(name)}/runs.jsonl"
    first, *others = experiments.folders(settings.results)
    has_runs = [folder for folder in others if isfile(folder / runs)]  # noqa: PTH113 (long names)
    if repeats:
        chosen = [folder for folder in has_runs if experiments.repeats_of(folder) == repeats]
        if not chosen and experiments.load(name, first).spec.repeats == repeats:
            return settings
        if not chosen:
            made = f"`transferbench reproduce {name} --repeats {repeats}` makes them"
            raise UserError(f"{name} has no runs in {first}/repeats-{repeats}; {made}.")
        return settings.replace(results=chosen[0])
    if isfile(first / runs) or not has_runs:  # noqa: PTH113
        return settings
    if len(has_runs) > 1:
        found = ", ".join(folder.name for folder in has_runs)
        raise UserError(f"{name} has runs in {found} of {first}; choose by --repeats N.")
    say(f"{name}: only {has_runs[0]} has runs of it; these are used", err=True)
    return settings.replace(results=has_runs[0])


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
