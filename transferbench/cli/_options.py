"""Options declared as fields of a dataclass, and arguments that name models, tasks, experiments.

Names are completed in the shell without heavy imports.
"""

import shlex
from collections.abc import Callable, Iterable
from dataclasses import MISSING, field, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from annotated_types import Ge, Le, Lt

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.parameters import Count, convert, describe_type
from transferbench.settings import Settings, load

Seed = Annotated[int, Ge(0), Lt(2**32)]


def option(*flags: str, **settings: Any) -> Any:
    """Declare a field of a dataclass that is an option of the command line."""
    return field(metadata={"flags": flags, **settings})


def passing(name: str, values: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a dataclass to a command."""

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


class Checked(click.ParamType[Any]):
    """A value of a type with bounds; it is read as a parameter of a model is."""

    def __init__(self, annotation: Any, name: str = "") -> None:
        self.annotation = annotation
        self.name = name or describe_type(annotation)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        try:
            return convert(value, self.annotation, param.opts[0] if param else self.name)
        except UserError as error:
            raise click.UsageError(str(error), ctx) from None


def _number_of_jobs(_: click.Context, __: click.Parameter, jobs: int | Literal["auto"]) -> int:
    """Return the number of runs at a time."""
    from transferbench.runs.machine import cores

    return cores() if jobs == "auto" else jobs


#: Type of an option that is a number of repeats.
REPEATS = Checked(Annotated[int, Ge(1), Le(1000)])
#: The option of a command that performs several runs.
JOBS: dict[str, Any] = {
    "type": Checked(Count | Literal["auto"], "N | auto"), "default": 1, "show_default": True,
    "callback": _number_of_jobs,
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


#: The option for parameters of a model; the command takes its values as `assignments`.
parameter_options = click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE",
    help="Parameter of the model; repeatable.",
)  # fmt: skip

#: The arguments of a command for several experiments.
several_experiments = click.argument(
    "names", nargs=-1, metavar="[EXPERIMENT]...", shell_complete=completing(experiment_names),
    callback=lambda _, __, asked: tuple(experiments.expand(asked)),
)  # fmt: skip


def experiments_named(name: str) -> list[str]:
    """Return the experiments that a name stands for, or the path of a user's file."""
    # The list is empty if the name stands for no experiment.
    from transferbench import strict_yaml

    if Path(name).suffix in experiments.SUFFIXES and Path(name).is_file():
        data, _ = strict_yaml.load(Path(name))
        is_experiment = isinstance(data, dict) and "columns" in data  # no task has columns
        return [name] if is_experiment else []
    names = experiments.expand([name])
    return names if names[0] in experiments.names() else []


def is_task(name: str) -> bool:
    """Return True for the name of a task, with or without options, and for a YAML file."""
    from transferbench.tasks import YAML_SUFFIXES

    base = name.partition(":")[0]
    return base in task_names() or base.endswith(YAML_SUFFIXES)


def task(name: str) -> str:
    """Return the name of a task unchanged."""
    if names := experiments_named(name):
        command = f"`transferbench reproduce {shlex.quote(name)}`"
        remedy = f"use {command}, or a task that `transferbench describe {names[0]}` lists"
        raise UserError(f"{name}: expected a task, got an experiment; {remedy}.")
    return name
