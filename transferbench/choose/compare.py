"""Fit models on one problem and recommend one.

Labels of a target reach no model, criterion or recommendation: nothing here receives the truth.
`table` uses it, if there is one, to add measures beside them.
"""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from transferbench import models, packing, parameters
from transferbench.choose import choice, criteria
from transferbench.choose.plan import REFERENCE, Plan
from transferbench.errors import Doubt, UserError
from transferbench.parameters import Count
from transferbench.problem import Domain, Fit, Problem
from transferbench.userdata.checks import check_data, check_fit
from transferbench.userdata.multilabel import fit_in_tasks

#: No sign that needs no labels has been tested for several labels.
NONE_RECOMMENDED = (
    "No model is recommended: no sign that needs no labels has been tested for several labels. "
    "Label some documents of the target, and score the models on them."
)


@dataclass(frozen=True)
class Entry:
    """A compared model.

    fits     : the fit of each seed; empty if the model could not be fitted.
    seconds  : mean wall time of a fit.
    criteria : target → criterion → mean over the seeds, see `criteria.MEANINGS`; of a transfer
               problem only.
    doubts : reasons to doubt the first seed's decisions, or why there is no fit.
    """

    model: str
    params: Mapping[str, Any]
    fits: tuple[Fit, ...]
    seconds: float
    criteria: Mapping[str, Mapping[str, float]]
    doubts: tuple[Doubt, ...]

    @property
    def worthless(self) -> bool:
        """True if the decisions should not be used."""
        return any(doubt.worthless for doubt in self.doubts)


@dataclass(frozen=True)
class Comparison:
    """The compared models by name, in order, and doubts about the documents.

    recommended    : the model to use; None for several labels.
    recommendation : a sentence that says which and why.
    evidence       : see `choice.Choice`.
    """

    problem: Problem
    entries: Mapping[str, Entry]
    doubts: tuple[Doubt, ...]
    recommended: str | None
    recommendation: str
    evidence: choice.Evidence | None

    @property
    def worthless(self) -> bool:
        """True if the recommended model's decisions should not be used."""
        if self.recommended is None:
            return False
        documents = any(doubt.worthless for doubt in self.doubts)
        return documents or self.entries[self.recommended].worthless


def compare(
    problem: Problem,
    plans: Sequence[Plan],
    *,
    equal_shares: bool = False,
    jobs: int = 1,
    names: Sequence[str] = (),
    on_done: Callable[[str], object] = lambda model: None,
) -> Comparison:
    """Fit the models and recommend one.

    plans, equal_shares: see `plan.plan`. jobs: processes. names: how doubts call the targets.
    on_done: called with each model that is done. Raise UserError if the reference cannot be fitted.
    """
    jobs = parameters.convert(jobs, Count, "jobs")
    entries = {}
    for entry in _entries(problem, plans, min(jobs, len(plans)), tuple(names)):
        entries[entry.model] = entry
        on_done(entry.model)
    reference = entries[REFERENCE[problem.family]]
    if not reference.fits:
        raise UserError(reference.doubts[0].text)
    doubts = tuple(check_data(problem, names))
    if problem.family == "multilabel":
        return Comparison(problem, entries, doubts, None, NONE_RECOMMENDED, None)
    signs = {name: entry.worthless or not entry.fits for name, entry in entries.items()}
    chosen = choice.choose(signs, equal_shares)
    return Comparison(problem, entries, doubts, chosen.model, chosen.sentence, chosen.evidence)


def _entries(
    problem: Problem, plans: Sequence[Plan], jobs: int, names: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield the entry of each plan, in order."""
    if jobs == 1:
        yield from (_fit(problem, names, each) for each in plans)
        return
    from pebble import ProcessExpired, ProcessPool

    from transferbench.runs.engines import server

    with TemporaryDirectory() as folder:
        # Processes read the problem from a file: with large arguments they start slowly, and one
        # that is stopped while it starts prints a traceback.
        path = Path(folder, "problem")
        arrays: dict[str, np.ndarray] = {}
        packing.write_arrays(path, packing.pack(problem, arrays), arrays)
        context = server.start()
        pool = ProcessPool(jobs, initializer=_keep, initargs=(path, names), context=context)
        try:
            with server.block_interrupts():  # starts the processes
                futures = [pool.schedule(_fit_kept, args=(each,)) for each in plans]
            for each, future in zip(plans, futures, strict=True):
                try:
                    yield future.result()
                except (ProcessExpired, BrokenProcessPool):
                    text = f"the process of {each.model} ended without a result, usually for lack"
                    yield _failed(each, f"{text} of memory; use fewer --jobs or more memory.")
        finally:  # end the processes at once, also on Ctrl-C
            pool.stop()
            pool.join()


def _keep(path: Path, names: tuple[str, ...]) -> None:
    """Prepare a process: read the problem once; end at once on SIGTERM, also within a library."""
    global _kept
    with packing.open_arrays(path) as (packed, arrays):
        problem = packing.unpack(packed, arrays, {"Problem": Problem, "Domain": Domain})
    _kept = problem, names
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


_kept: tuple[Problem, tuple[str, ...]]


def _fit_kept(each: Plan) -> Entry:
    return _fit(*_kept, each)


def _fit(problem: Problem, names: tuple[str, ...], each: Plan) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead."""
    fits, seconds, judged = [], [], []
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in each.seeds:
                start = time.perf_counter()
                fit = fit_in_tasks(
                    problem,
                    partial(models.fit, each.model, params=each.params, seed=seed, watch=None),
                )
                seconds.append(time.perf_counter() - start)
                if fit.columns == "clusters":
                    raise ValueError("finds clusters, which have no names")
                fits.append(fit)
                if problem.family == "transfer":
                    with warnings.catch_warnings():  # those of the reverse fit concern the source
                        warnings.simplefilter("ignore")
                        judged.append(
                            criteria.criteria(each.model, problem, each.params, seed, fit)
                        )
        except (ValueError, ArithmeticError, MemoryError) as error:
            return _failed(each, fit_failed(each.model, error))
    means = _means(judged)
    reverse = {t: values["reverse"] for t, values in means.items() if "reverse" in values}
    texts = dict.fromkeys(str(warning.message) for warning in printed)
    doubts = [Doubt(text) for text in texts]
    doubts += check_fit(problem, each.params, fits[0], reverse, names)
    return Entry(each.model, each.params, tuple(fits), fmean(seconds), means, tuple(doubts))


def _failed(each: Plan, text: str) -> Entry:
    """Return the entry of a model without a fit; text: why."""
    return Entry(each.model, each.params, (), math.nan, {}, (Doubt(text, True),))


def fit_failed(model: str, error: Exception) -> str:
    """Return the message that a model could not be fitted, with the remedy."""
    reason = str(error).rstrip(".") or "out of memory"
    return f"{model}: {reason}; other parameters are given by --set."


def _means(judged: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the mean over seeds of each target's criteria, of those that every seed has."""
    return {
        target: {
            name: fmean(each[target][name] for each in judged)
            for name in values
            if all(name in each[target] for each in judged)
        }
        for target, values in (judged[0] if judged else {}).items()
    }
