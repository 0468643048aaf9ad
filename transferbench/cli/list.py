"""transferbench list."""

from __future__ import annotations

import click


@click.command()
@click.argument("what", type=click.Choice(["all", "models", "tasks", "experiments"]), default="all")
def command(what: str) -> None:
    """List models, tasks and experiments."""
    sections = {"models": _models, "tasks": _tasks, "experiments": _experiments}
    for title, items in sections.items():
        if what in ("all", title):
            _echo(title.capitalize(), items())


def _echo(title: str, items: dict[str, str]) -> None:
    width = max(map(len, items), default=0)
    lines = [f"  {name:<{width}}  {text}" for name, text in items.items()]
    click.echo("\n".join([f"{title}:", *lines, ""]))


def _models() -> dict[str, str]:
    from transferbench import models
    from transferbench.fingerprint import summary

    return {model.name: summary(model.path) for model in models.registry().values()}


def _tasks() -> dict[str, str]:
    from transferbench.data import datasets

    return {name: module.TASKS[name] for name, module in datasets.tasks().items()}


def _experiments() -> dict[str, str]:
    from transferbench import experiments

    return experiments.titles()
