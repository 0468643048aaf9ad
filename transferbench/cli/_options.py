"""Options declared as fields of a dataclass, and arguments that name models, tasks, experiments.

Names are completed in the shell without heavy imports.
"""

import math
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import MISSING, field, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.parameters import NUMBER
from transferbench.settings import Settings, load


def option(*flags: str, **settings: Any) -> Any:
    """Declare a field of a dataclass that is an option of the command line."""
    return field(metadata={"flags": flags, **settings})


def passing(name: str, values: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a dataclass to a command.

    Parameters
    ----------
    name
        Argument of the command that takes the instance of the dataclass.
    values
        The dataclass.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_value(**arguments: Any) -> Any:
            chosen = {declared.name: arguments.pop(declared.name) for declared in fields(values)}
            return command(**{name: values(**chosen)}, **arguments)

        for declared in reversed(fields(values)):
            settings = dict(declared.metadata)
            if declared.default is not MISSING:
                settings["default"] = declared.default
            if choices := settings.pop("choices", None):
                settings["type"] = click.Choice(choices)
            flags = settings.pop("flags")
            with_value = click.option(*flags, declared.name, **settings)(with_value)
        return with_value

    return decorate


class Integer(click.IntRange):
    """An integer in digits 0 to 9; Python also takes 1_0 for 10, and digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, str) and not re.fullmatch(r"[-+]?[0-9]+", value):
            self.fail(f"{value!r} is not an integer.", param, ctx)
        number: int = super().convert(value, param, ctx)
        return number


class Number(click.FloatRange):
    """A finite number in digits 0 to 9."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if isinstance(value, str) and not (NUMBER.fullmatch(value) and math.isfinite(number)):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class Jobs(click.ParamType[int]):
    """A number of runs at a time, or auto: one for each core that the command may use."""

    name = "N | auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "auto":
            from transferbench.runs.machine import cores

            return cores()
        return Integer(1).convert(value, param, ctx)


#: The option of a command that performs several runs.
JOBS: dict[str, Any] = {
    "type": Jobs(), "default": 1, "show_default": True,
    "help": "Number of runs at a time; auto starts one for each core that this command may use.",
}  # fmt: skip


def completing(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a shell_complete callback for the names that a function returns."""
    return lambda ctx, param, start: sorted(name for name in names() if name.startswith(start))


def model_names() -> Iterable[str]:
    """Return the names of all models."""
    from transferbench import models

    return models.registry()


def task_names() -> Iterable[str]:
    """Return the names of all tasks, with and without the data set."""
    from transferbench import datasets

    names = datasets.tasks()
    return {*names, *(name.rpartition("/")[2] for name in names)}


def experiment_names() -> Iterable[str]:
    """Return the names of papers, of our experiments and of the user's experiments with results."""
    return [*experiments.papers(), *experiments.names(), *experiments.user_names(load().results)]


def all_names() -> Iterable[str]:
    """Return the names of all models, tasks and experiments."""
    return {*model_names(), *task_names(), *experiment_names()}


def have_run(settings: Settings) -> tuple[str, ...]:
    """Return the names of the experiments that have results, sorted."""
    names = [*experiments.names(), *experiments.user_names(settings.results)]
    return tuple(sorted(n for n in names if (settings.results / n / "runs.jsonl").is_file()))


def _expanded(_: click.Context, __: click.Parameter, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the experiments that the arguments name."""
    return tuple(experiments.expand(asked))


#: The option for parameters of a model; the command takes its values as `assignments`.
parameter_options = click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the model; repeatable.",
)  # fmt: skip

#: The arguments of a command for several experiments.
several_experiments = click.argument(
    "names", nargs=-1, metavar="[EXPERIMENT]...", shell_complete=completing(experiment_names),
    callback=_expanded,
)  # fmt: skip


def experiments_named(name: str) -> list[str]:
    """Return the experiments that a name stands for, or the path of a user's file.

    The list is empty if the name stands for no experiment.
    """
    from transferbench import strict_yaml

    if Path(name).suffix in experiments.SUFFIXES and Path(name).is_file():
        data, _ = strict_yaml.load(Path(name))
        is_experiment = isinstance(data, dict) and "columns" in data  # no task has columns
        return [name] if is_experiment else []
    names = experiments.expand([name])
    return names if names[0] in experiments.names() else []


def task(name: str) -> str:
    """Return the name of a task unchanged.

    Raises
    ------
    UserError
        If it names experiments.
    """
    if names := experiments_named(name):
        command = f"`transferbench reproduce {shlex.quote(name)}`"
        remedy = f"use {command}, or a task that `transferbench describe {names[0]}` lists"
        raise UserError(f"{name}: expected a task, got an experiment; {remedy}.")
    return name
