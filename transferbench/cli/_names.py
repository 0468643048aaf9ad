"""Names completed in the shell, found without heavy imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from transferbench.settings import Settings


def completing(known: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """A shell_complete callback over the names `known` gives."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return sorted(name for name in known() if name.startswith(incomplete))

    return complete


def model_names() -> Iterable[str]:
    """All models."""
    from transferbench import models

    return models.registry()


def task_names() -> Iterable[str]:
    """All tasks, in full and bare."""
    from transferbench.data import datasets

    names = datasets.tasks()
    return {*names, *(name.rpartition("/")[2] for name in names)}


def experiment_names() -> Iterable[str]:
    """All experiment files, by name."""
    from transferbench import settings

    return [path.stem for path in settings.experiments_dir().glob("*.yaml")]


def have_run(settings: Settings) -> tuple[str, ...]:
    """The experiments that have results."""
    there = (
        name for name in experiment_names() if (settings.results / name / "runs.csv").is_file()
    )
    return tuple(sorted(there))


def all_names() -> Iterable[str]:
    """Everything `describe` knows."""
    return {*model_names(), *task_names(), *experiment_names()}
