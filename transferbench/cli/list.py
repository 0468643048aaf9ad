"""transferbench list."""

from __future__ import annotations

import click


@click.command()
@click.argument("what", type=click.Choice(["all", "models", "tasks", "experiments"]), default="all")
def command(what: str) -> None:
    """List models, tasks and experiments."""
    from transferbench import models
    from transferbench.data import datasets
    from transferbench.experiments import experiment
    from transferbench.fingerprint import summary

    def section(title: str, items: dict[str, str]) -> None:
        if what in ("all", title.lower()):
            width = max(map(len, items), default=0)
            lines = [f"  {name:<{width}}  {text}" for name, text in items.items()]
            click.echo("\n".join([f"{title}:", *lines, ""]))

    section("Models", {m.name: summary(m.path) for m in models.registry().values()})
    section("Tasks", {n: module.TASKS[n] for n, module in datasets.tasks().items()})
    section("Experiments", {n: experiment.load(n).spec.title for n in experiment.names()})
