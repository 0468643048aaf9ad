"""Repeat finished runs in processes, by this version of the package or by several side by side."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
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


class Fits:
    """A process that repeats fits by the version of the package in a folder."""

    def __init__(self, tree: Path, settings: Settings) -> None:
        environment = os.environ | {
            "PYTHONPATH": str(tree),
            "PYTHONSAFEPATH": "1",
            "TRANSFERBENCH_DATA": str(settings.data.absolute()),
            "TRANSFERBENCH_MIRROR": " ".join(settings.mirrors),
            "TRANSFERBENCH_OFFLINE": str(settings.offline),
            "OMP_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("repeat_fits.py")],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, question: Mapping[str, Any]) -> None:
        """Send a line."""
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(question)}\n")
        self._process.stdin.flush()

    def answer(self, limit: float | None = None) -> Answer:
        """Return the answer to the last line; after `limit` seconds the process is killed."""
        assert self._process.stdout
        timer = threading.Timer(limit or threading.TIMEOUT_MAX, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if line:
            answered: Answer = json.loads(line)
            return answered
        self.close()
        return {"error": "its process has ended" + f", or took more than {limit:g} s" * bool(limit)}

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    @property
    def ended(self) -> bool:
        """True if the process has ended."""
        return self._process.poll() is not None


@contextmanager
def versions(
    trees: Sequence[Path], settings: Settings, limit: float | None = None
) -> Iterator[Callable[[Mapping[str, Any]], list[Answer]]]:
    """Give a function that asks all versions at the same time; each thread has its processes."""
    own, opened = threading.local(), list[Fits]()

    def ask(question: Mapping[str, Any]) -> list[Answer]:
        if not hasattr(own, "fits") or any(fits.ended for fits in own.fits):
            own.fits = [Fits(tree, settings) for tree in trees]
            opened.extend(own.fits)
            for fits in own.fits:  # the limit is for fits, not for imports
                fits.ask({"codes": []})
                fits.answer()
        for fits in own.fits:
            fits.ask(question)
        return [fits.answer(limit) for fits in own.fits]

    try:
        yield ask
    finally:
        for fits in opened:
            fits.close()


def repeat(
    runs: Sequence[Run], settings: Settings, *, n_jobs: int = 1, limit: float | None = None
) -> list[Answer]:
    """Repeat runs by this version of the package; return the answers in their order."""

    def repeated(run: Run) -> Answer:
        try:
            tasks.ensure_built(run.task.built, settings)
        except Unavailable as error:
            return {"unavailable": error.brief}
        return ask(question(run))[0]

    with ThreadPoolExecutor(n_jobs) as pool, versions([HERE], settings, limit) as ask:
        answers = pool.map(repeated, runs)
        return [*tqdm(answers, total=len(runs), leave=False, disable=None)]
