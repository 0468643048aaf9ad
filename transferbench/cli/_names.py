"""Names that the shell completes, found without heavy imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from transferbench.settings import Settings


def completing(known: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a shell_complete callback for the names that `known` returns."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return sorted(name for name in known() if name.startswith(incomplete))

    return complete


def model_names() -> Iterable[str]:
    """Return the names of all models."""
    from transferbench import models

    return models.registry()


def task_names() -> Iterable[str]:
    """Return the names of all tasks, with and without the data set."""
    from transferbench.data import datasets

    names = datasets.tasks()
    return {*names, *(name.rpartition("/")[2] for name in names)}


def experiment_names(settings: Settings | None = None) -> Iterable[str]:
    """Return the names of all experiments, also of the user's own ones that have results."""
    from transferbench import experiments
    from transferbench.settings import load

    return [*experiments.names(), *experiments.own_names((settings or load()).results)]


def have_run(settings: Settings) -> tuple[str, ...]:
    """Return the names of the experiments that have results, sorted."""
    return tuple(
        name
        for name in sorted(experiment_names(settings))
        if (settings.results / name / "runs.csv").is_file()
    )


def all_names() -> Iterable[str]:
    """Return the names of all models, tasks and experiments."""
    return {*model_names(), *task_names(), *experiment_names()}
