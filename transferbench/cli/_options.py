"""Options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from transferbench.runs import engines
from transferbench.runs.engines import server

SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

MOST = 100_000  # seeds in one command


class Size(click.ParamType[int]):
    """Bytes, written as 500M or 4G."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.I)
        if not found:
            self.fail(f"{value!r} is not a size; expected for example 500M or 4G.", param, ctx)
        size = float(found[1]) * SIZES[found[2].upper()]
        if not 1 <= size < 2**63:
            self.fail(f"{value!r} is out of range; expected for example 500M or 4G.", param, ctx)
        return int(size)


class Seconds(click.FloatRange):
    """More than 0, and a number."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


class Seeds(click.ParamType[tuple[int, ...]]):
    """0,3,7 or 0-9."""

    name = "seeds"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        seeds: list[int] = []
        for part in str(value).split(","):
            found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
            if not found:
                self.fail(f"{value!r} is not a list of seeds; expected 0,3,7 or 0-9.", param, ctx)
            first, last = int(found[1]), int(found[2] or found[1])
            if not first <= last < 2**32 or last - first >= MOST:
                self.fail(f"{part!r}: expected up to {MOST} seeds below 2**32.", param, ctx)
            seeds += range(first, last + 1)
        return tuple(dict.fromkeys(seeds))


class Assignment(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "assignment"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, given = str(value).partition("=")
        if not (name.isidentifier() and equals and given):
            self.fail(f"{value!r} is not NAME=VALUE, for example partition=long.", param, ctx)
        return name, given


def execution(command: Callable[..., Any]) -> Callable[..., Any]:
    """What --help lists last: where, how many at a time, how limited cells are run."""
    for option in reversed(
        (
            click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
                         show_default=True),
            click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
                         help="Threads of each run."),
            click.option("--time-limit", type=Seconds(),
                         help="Seconds a run may take."),
            click.option("--memory-limit", type=Size(),
                         help="Memory a run may take, for example 4G (enforced on Linux)."),
            click.option("--force", is_flag=True, help="Run again what is already recorded."),
            click.option("--engine", type=click.Choice(list(engines.NAMES)),
                         help="Where runs are performed.  [default: local]"),
            click.option("--scheduler", metavar="ADDRESS",
                         help="Scheduler of dask to join, for example tcp://host:8786."),
            click.option("--slurm", multiple=True, type=Assignment(), metavar="NAME=VALUE",
                         help="Option of Slurm's jobs, for example partition=long; repeatable."),
            click.option("--dry-run", is_flag=True, help="Only say what would run."),
        )
    ):  # fmt: skip
        command = option(command)

    @wraps(command)
    def begun(*arguments: Any, **given: Any) -> Any:
        here = not (given["scheduler"] or given["slurm"]) and given["engine"] in (None, "local")
        if here and not given["dry_run"]:
            server.start()  # it makes its imports while this process makes its own
        return command(*arguments, **given)

    return begun
