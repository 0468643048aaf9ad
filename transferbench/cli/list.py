"""transferbench list."""

from __future__ import annotations

import click

from transferbench.cli._terminal import echo


@click.command()
@click.argument("what", type=click.Choice(["all", "models", "tasks", "experiments"]), default="all")
def command(what: str) -> None:
    """List models, tasks and experiments."""
    from transferbench import experiments

    sections = {"models": _models, "tasks": _tasks, "experiments": experiments.titles}
    for title, summaries in sections.items():
        if what in ("all", title):
            items = summaries()
            width = max(map(len, items), default=0)
            lines = [f"  {name:<{width}}  {text}" for name, text in items.items()]
            echo("\n".join([f"{title.capitalize()}:", *lines, ""]))


def _models() -> dict[str, str]:
    from transferbench import models
    from transferbench.fingerprint import summary

    return {model.name: summary(model.path) for model in models.registry().values()}


def _tasks() -> dict[str, str]:
    from transferbench.data import datasets

    return {name: module.TASKS[name] for name, module in datasets.tasks().items()}
