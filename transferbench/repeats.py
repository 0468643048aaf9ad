"""Repeat finished runs in processes, by this version of the package or by several side by side."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol, TypeVar

from tqdm import tqdm

from transferbench import models, parameters, tasks
from transferbench.errors import Unavailable
from transferbench.runs.record import Run
from transferbench.settings import PACKAGE, Settings

#: The folder from which this package is imported.
HERE = PACKAGE.parent
#: What a process answers: see `repeat_fits`.
Answer = dict[str, Any]


class Timed(Protocol):
    """Anything that took seconds; None if they are unknown, as of a run on a GPU."""

    @property
    def seconds(self) -> float | None:
        """Seconds that it took."""


T = TypeVar("T", bound=Timed)


def choose(
    runs: Iterable[T],
    traits: Callable[[T], set[str]],
    max_seconds: float,
    factor: Callable[[T], float] = lambda run: 1.0,
) -> tuple[list[T], list[str]]:
    """Return the runs to repeat, and the traits that only longer runs have."""
    # From the quickest run on, one is repeated if it has a trait that no quicker one has; `factor`
    # multiplies the seconds in this order.

    def cost(run: T) -> float:
        return (run.seconds or math.inf) * factor(run)

    chosen, covered, left = list[T](), set[str](), set[str]()
    for run in sorted(runs, key=cost):
        new = traits(run) - covered
        if new and run.seconds and run.seconds <= max_seconds:
            chosen.append(run)
            covered |= new
        left |= new
    return chosen, sorted(left - covered)


def question(run: Run) -> dict[str, Any]:
    """Return the line that asks for the fit of a run."""
    asked = {"task": str(run.task), "model": run.model, "params": dict(run.params)}
    return asked | {"seed": run.seed, "curve": run.curve, "defaults": defaults(run.model)}


def defaults(model: str) -> dict[str, parameters.Value]:
    """Return the default of each parameter of a model."""
    schema = parameters.schema(models.load(model))
    return {name: parameter.default for name, parameter in schema.items()}


def fits(
    tree: Path, questions: Iterable[Mapping[str, Any]], settings: Settings, limit: float
) -> Iterator[Answer]:
    """Yield the answers of the version of the package in a folder, each when it is known."""
    # A process that ends, as it does after `limit` seconds of a fit, is started again for the rest.
    left = [*questions]
    environment = os.environ | {
        "PYTHONPATH": str(tree),
        "PYTHONSAFEPATH": "1",
        "TRANSFERBENCH_DATA": str(settings.data.absolute()),
        "TRANSFERBENCH_MIRROR": " ".join(settings.mirrors),
        "TRANSFERBENCH_OFFLINE": str(settings.offline),
        "OMP_NUM_THREADS": "1",
    }
    script = Path(__file__).with_name("repeat_fits.py")
    while left:
        with TemporaryFile("w+") as lines:
            lines.writelines(f"{json.dumps(question)}\n" for question in left)
            lines.seek(0)
            process = subprocess.Popen(
                [sys.executable, script, str(limit)],
                env=environment, stdin=lines, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert process.stdout
            try:
                for line in process.stdout:
                    left.pop(0)
                    yield json.loads(line)  # only the script has this pipe
            finally:
                process.kill()
                process.communicate()
        if left:
            left.pop(0)
            yield {"error": f"its process has ended, or it took more than {limit:g} s"}


def repeat(
    runs: Sequence[Run], settings: Settings, *, limit: float, n_jobs: int = 1
) -> list[Answer]:
    """Repeat runs by this version of the package; return the answers in their order."""
    answers: dict[int, Answer] = {}
    for i, run in enumerate(runs):
        try:
            tasks.ensure_built(run.task.built, settings)
        except Unavailable as error:
            answers[i] = {"unavailable": error.brief}
    left = [i for i in range(len(runs)) if i not in answers]
    bar = tqdm(total=len(left), leave=False, disable=None)

    def work(part: Sequence[int]) -> None:
        questions = [question(runs[i]) for i in part]
        for i, answer in zip(part, fits(HERE, questions, settings, limit), strict=True):
            answers[i] = answer
            bar.update()

    with bar, ThreadPoolExecutor(n_jobs) as pool:
        [*pool.map(work, (left[j::n_jobs] for j in range(n_jobs)))]
    return [answers[i] for i in range(len(runs))]
