"""transferbench check."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import completing, model_names, parameter_options
from transferbench.cli._terminal import echo
from transferbench.messages import counted

if TYPE_CHECKING:
    from transferbench.contract import CheckResult


@click.command()
@click.argument("model", required=False, shell_complete=completing(model_names))
@parameter_options
@click.option("--only", multiple=True, metavar="CHECK", help="Run this check only; repeatable.")
@click.option(
    "--time-limit",
    type=click.FloatRange(1),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="Number of seconds that a check may take.",
)
@click.option("--list", "listing", is_flag=True, help="List the checks, and run none.")
def command(
    model: str | None,
    assignments: tuple[str, ...],
    only: tuple[str, ...],
    time_limit: float,
    listing: bool,
) -> int:
    """Check a model by the contract that every model of the repository keeps.

    \b
    transferbench check ./mymodel.py
    transferbench check my-model --set k=6 --only same-seed

    MODEL is a Python file with a function `fit`, a name, or package.module:Estimator. Its code is
    run, in a process of its own, on tiny problems of at most 200 documents in each domain. A board
    demands each check that applies to the model. The exit code is 1 if a check fails.

    The parameters of the model are its defaults. If they are too large for such problems, give
    smaller ones by --set.
    """
    from transferbench import contract, models, parameters
    from transferbench.errors import UserError

    if listing:
        for check in contract.CHECKS.values():
            families = "" if check.families == models.FAMILIES else f" ({check.families[0]} models)"
            echo(f"{check.name:21} {check.expected}{families}")
        echo("\nA board demands each check that applies to the model.")
        return 0
    if model is None:
        raise UserError("no model is named; expected a Python file or a name, or --list.")
    given = parameters.parse(assignments)
    counts = dict.fromkeys(("ok", "failed", "skipped"), 0)
    for result in _results(model, only or [*contract.CHECKS], given, time_limit):
        counts[result.status] += 1
        for line in contract.report(result):
            echo(line)
        if result.status == "failed":
            options = [part for each in assignments for part in ("--set", each)]
            again = ["transferbench", "check", model, *options, "--only", result.check]
            echo(f"         again     {shlex.join(again)}\n")
    total = counted(sum(counts.values()), "check")
    echo(f"{total}: " + ", ".join(f"{count} {status}" for status, count in counts.items()) + ".")
    return 1 if counts["failed"] else 0


def _results(
    model: str, names: Sequence[str], given: Mapping[str, str], seconds: float
) -> Iterator[CheckResult]:
    """Yield the results of a process, which the model may end or keep waiting."""
    from transferbench.contract import CHECKS, CheckResult
    from transferbench.errors import UserError
    from transferbench.runs.process import kill_all

    request = json.dumps([model, names, given])
    words = [sys.executable, "-P", "-m", "transferbench.contract", request]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8")
    assert child.stdout is not None
    lines, source = Queue[str](), chain(child.stdout, [""])
    Thread(target=lambda: deque(map(lines.put, source), 0), daemon=True).start()
    running, left = "", [*names]
    try:
        while True:
            try:
                # Before the first message the process imports libraries.
                line = lines.get(timeout=seconds if running else None)
            except Empty:
                got = f"no result after {seconds:g} s; see --time-limit"
                break
            if not line:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(1)
                code = child.returncode
                got = f"its process reports no more (code {code}); do not end it, and close no file"
                break
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):  # the model has written it
                continue
            if message == [] and not left:
                return
            if isinstance(message, list) and message:
                raise UserError(message[0])
            if isinstance(message, str):
                running = message
            elif isinstance(message, dict):
                left = [name for name in left if name != message["check"]]
                yield CheckResult(**message)
        running = running or names[0]
        yield CheckResult(running, "failed", CHECKS[running].expected, "fits", got)
        for name in left:
            if name != running:
                yield CheckResult(name, "skipped", "", note=f"{running} ended its process.")
    finally:
        kill_all([child.pid])
        child.wait()
