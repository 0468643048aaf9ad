"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Size(click.ParamType[int]):
    """Bytes, written as 500M or 4G."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", str(value).strip(), re.I)
        if not found:
            self.fail(f"{value!r} is not a size; expected for example 500M or 4G.", param, ctx)
        return int(float(found[1]) * SIZES[found[2].upper()])


class Seeds(click.ParamType[tuple[int, ...]]):
    """0,3,7 or 0-9."""

    name = "seeds"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        seeds: list[int] = []
        for part in str(value).split(","):
            found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
            if not found:
                self.fail(f"{value!r} is not a list of seeds; expected 0,3,7 or 0-9.", param, ctx)
            seeds += range(int(found[1]), int(found[2] or found[1]) + 1)
        return tuple(dict.fromkeys(seeds))


def execution(command: Callable[..., Any]) -> Callable[..., Any]:
    """--jobs, --threads, --time-limit, --memory-limit, --force, --dry-run."""
    for option in reversed(
        (
            click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
                         show_default=True),
            click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
                         help="Threads of each run."),
            click.option("--time-limit", type=click.FloatRange(0, min_open=True),
                         help="Seconds a run may take."),
            click.option("--memory-limit", type=Size(),
                         help="Memory a run may take, for example 4G (enforced on Linux)."),
            click.option("--force", is_flag=True, help="Run again what is already recorded."),
            click.option("--dry-run", is_flag=True, help="Only say what would run."),
        )
    ):  # fmt: skip
        command = option(command)
    return command
