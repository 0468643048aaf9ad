"""Options that several commands share."""

import re
from collections.abc import Callable
from typing import Any

import click

from transferbench.parameters import Positive, convert
from transferbench.runs import engines

SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

MAX_SEEDS = 100_000  # of one command
MAX_REPEATS = 1000
#: Type of `--repeats`.
REPEATS = click.IntRange(1, MAX_REPEATS)


def size(text: str) -> int:
    """Return a number of bytes, written as 500M or 4G."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.I)
    if not match:
        raise click.BadParameter(f"{text!r} is not a size; expected for example 500M or 4G.")
    number = float(match[1]) * SIZES[match[2].upper()]
    if not 1 <= number < 2**63:
        raise click.BadParameter(f"{text!r} is out of range; expected for example 500M or 4G.")
    return int(number)


def seconds(text: str) -> float:
    """Return a number of seconds."""
    return float(convert(text, Positive, "seconds"))


def seeds(text: str) -> tuple[int, ...]:
    """Return seeds, written as 0,3,7 or 0-9."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise click.BadParameter(f"{text!r} is not a list of seeds; expected 0,3,7 or 0-9.")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < 2**32 or last - first >= MAX_SEEDS:
            raise click.BadParameter(f"{part!r}: expected up to {MAX_SEEDS} seeds below 2**32.")
        numbers |= dict.fromkeys(range(first, last + 1))
    return tuple(numbers)


def assignment(text: str) -> tuple[str, str]:
    """Return name and value, written as NAME=VALUE."""
    name, _, value = text.partition("=")
    if not (name.isidentifier() and value):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE, for example partition=long.")
    return name, value


def execution(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where and how runs are performed, and with which limits."""
    for option in reversed(
        (
            click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
                         show_default=True),
            click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
                         help="Threads of each run."),
            click.option("--time-limit", type=seconds,
                         help="Seconds a run may take."),
            click.option("--memory-limit", type=size,
                         help="Memory a run may take, for example 4G (enforced on Linux)."),
            click.option("--force", is_flag=True, help="Repeat runs that have a finished record."),
            click.option("--engine", metavar="NAME",
                         help=f"Where runs are performed: {', '.join(engines.BUILT_IN)}, or a "
                         "plug-in's name.  [default: local]"),
            click.option("--scheduler", metavar="ADDRESS",
                         help="Dask scheduler to use, for example tcp://host:8786."),
            click.option("--slurm", multiple=True, type=assignment, metavar="NAME=VALUE",
                         help="Option of Slurm jobs, for example partition=long; repeatable."),
            click.option("--dry-run", is_flag=True, help="Only print what would run."),
        )
    ):  # fmt: skip
        command = option(command)
    return command
