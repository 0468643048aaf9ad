"""Fit models on one problem and recommend one, without labels of a target.

Labels of a target reach no model, criterion or recommendation: nothing here receives the truth.
`table` uses it, if there is one, to add measures beside them.

The rule of the recommendation is fixed: CoCC, or logistic regression where CoCC's result is
worthless by its doubts. If the user states that the target's classes have equal shares, the vote of
three models comes first. The evidence is the regret of these strategies in the experiment `choice`:
how far the chosen model is below the best of all models, in points of accuracy, over its tasks.
"""

import csv
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from statistics import fmean
from typing import Any

from transferbench import models, parameters
from transferbench.choose.criteria import reverse_accuracies
from transferbench.errors import Doubt, UserError, brief
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem
from transferbench.settings import experiments_dir
from transferbench.userdata.checks import check_data, check_fit
from transferbench.userdata.multilabel import fit_in_tasks

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
#: Family → models that take seconds on some thousand documents.
QUICK = {
    "transfer": ("lr", "cocc", "graph-only", "lr-kmeans", "dtl", "gcmf"),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Also compared by default up to FEW_DOCUMENTS; their time grows faster with the documents.
SLOWER, FEW_DOCUMENTS = {"transfer": ("tsvm",), "multilabel": ()}, 1000
RECOMMENDED = "cocc"
#: Recommended first if the classes have equal shares; joins other models.
JOINT = ("vote",)
#: Model → the strategy in the table that recommends it.
STRATEGIES = {"cocc": "CoCC with a check", "vote": "vote of three", "lr": "LR"}
#: Table of the experiment `choice`, beside the experiments: in a checkout with the results, else
#: packaged with the YAML files.
REGRET = ("../results/choice/regret.csv", "regret.csv")
#: No label-free criterion is validated for multi-label models.
NONE_RECOMMENDED = (
    "No model is recommended: no label-free criterion is validated for multi-label models. "
    "Label some documents of the target, and score the models on them."
)


@dataclass(frozen=True)
class FitPlan:
    """A model to compare: its name, all its parameters and its seeds."""

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


def model_names(
    family: str, names: Sequence[str] = (), equal_shares: bool = False, documents: float = math.inf
) -> list[str]:
    """Return the models to compare: the reference and those that can be recommended come first.

    names: the others; by default the models that are quick for this number of documents.
    """
    recommended = candidates(equal_shares) if family == "transfer" else ()
    slower = SLOWER[family] if documents <= FEW_DOCUMENTS else ()
    default = (*QUICK[family], *slower)
    return list(dict.fromkeys([REFERENCE[family], *recommended, *(names or default)]))


def plan(
    problem: Problem,
    names: Sequence[str] = (),
    params: Mapping[str, Mapping[str, object]] | None = None,
    *,
    repeats: int = 1,
    seed: int = 0,
    equal_shares: bool = False,
) -> list[FitPlan]:
    """Return what to compare on a problem; see `model_names`.

    params: given parameters by model. repeats: seeds of a random model, from `seed` on.
    equal_shares: the user states that the target's classes have equal shares. Raise UserError if
    the problem cannot be compared on, or for an unknown or unsuitable model or parameter.
    """
    repeats = parameters.convert(repeats, Count, "repeats")
    check_problem(problem, equal_shares)
    params = params or {}
    documents = sum(len(domain.seen) for domain in problem.domains)
    names = model_names(problem.family, names, equal_shares, documents)
    for name in params:
        if name not in names:
            message = f"parameters of {brief(name)}, which is not compared"
            raise UserError(f"{message}; expected some of {', '.join(names)}.")
    plans = []
    for name in names:
        models.check_family(name, problem.family)
        function = models.load(name)
        seeds = range(seed, seed + repeats) if parameters.takes_seed(function) else (None,)
        resolved = parameters.resolve(function, params.get(name, {}), name)
        plans.append(FitPlan(name, resolved, tuple(seeds)))
    return plans


def check_problem(problem: Problem, equal_shares: bool = False) -> None:
    """Raise UserError if models cannot be compared on a problem."""
    labelled = {"transfer": bool(problem.sources), "multilabel": True}.get(problem.family, False)
    if not labelled or not problem.targets:
        raise UserError(f"{problem.name}: expected a source with labels and a target to compare.")
    if problem.family == "multilabel" and equal_shares:
        raise UserError(f"{problem.name}: equal_shares is for one label a document; leave it out.")


@dataclass(frozen=True)
class Evidence:
    """Regret of a strategy over the tasks of the experiment `choice`, in points of accuracy.

    mean, worst : the regret; place : the task where it is worst. below : by how many points the
    strategy is below logistic regression at most, negative if it never is.
    """

    mean: float
    worst: float
    place: str
    below: float

    def __str__(self) -> str:
        below = f"at most {self.below:.1f} below" if self.below > 0 else "never below"
        return (
            f"in the experiment `choice` it is {self.mean:.1f} points below the best model on "
            f"average, {self.worst:.1f} at worst ({self.place}), and {below} logistic regression"
        )


@dataclass(frozen=True)
class Choice:
    """The recommended model, a sentence that says why, and the evidence.

    No model for several labels; no evidence without a table of regrets.
    """

    model: str | None
    sentence: str
    evidence: Evidence | None


def candidates(equal_shares: bool) -> tuple[str, ...]:
    """Return the models that can be recommended, the preferred one first."""
    return (*(JOINT if equal_shares else ()), RECOMMENDED, "lr")


def choose(worthless: Mapping[str, bool], equal_shares: bool) -> Choice:
    """Return the first candidate whose result is not worthless, else the reference.

    worthless: whether each compared model's result is, by checks without labels of a target.
    """
    wanted = candidates(equal_shares)
    model = next((name for name in wanted if not worthless[name]), "lr")
    skipped = wanted[: wanted.index(model)]
    if worthless[model]:
        sound = [name for name in worthless if not worthless[name]]
        others = f"; not worthless: {', '.join(sound)}" if sound else ""
        reason = f"though its result, as that of {RECOMMENDED}, is worthless{others}"
    elif skipped:
        reason = f"as the result of {' and '.join(skipped)} is worthless"
    elif model in JOINT:
        reason = "as you state that the classes have equal shares"
    else:
        reason = "the model with the least regret where nothing is known of the target"
    found = evidence(model)
    known = f"{found}" if found else "the experiment `choice` has no results"
    return Choice(model, f"Recommended: {model}, {reason}; {known}.", found)


def evidence(model: str) -> Evidence | None:
    """Return the regret of the strategy that chooses a model; None without a line of it."""
    folder = experiments_dir()
    path = next((folder / name for name in REGRET if (folder / name).is_file()), None)
    if path is None:
        return None
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["strategy"] == STRATEGIES[model]:
                mean, worst, below = (float(line[n]) for n in ("mean", "worst", "below_reference"))
                return Evidence(mean, worst, line["worst_row"], below)
    return None


@dataclass(frozen=True)
class Entry:
    """A compared model.

    fits     : the fit of each seed; empty if the model could not be fitted.
    seconds  : mean wall time of a fit.
    reverse_accuracy : target → mean over the seeds, see `criteria.reverse_accuracy`; of a transfer
               problem only.
    doubts : reasons to doubt the first seed's decisions, or why there is no fit.
    """

    model: str
    params: Mapping[str, Any]
    fits: tuple[Fit, ...]
    seconds: float
    reverse_accuracy: Mapping[str, float]
    doubts: tuple[Doubt, ...]

    @property
    def worthless(self) -> bool:
        """True if the decisions should not be used."""
        return any(doubt.worthless for doubt in self.doubts)


@dataclass(frozen=True)
class Comparison:
    """The compared models by name, in order, doubts about the documents, the recommendation."""

    problem: Problem
    entries: Mapping[str, Entry]
    doubts: tuple[Doubt, ...]
    choice: Choice

    @property
    def worthless(self) -> bool:
        """True if the recommended model's decisions should not be used."""
        if self.choice.model is None:
            return False
        documents = any(doubt.worthless for doubt in self.doubts)
        return documents or self.entries[self.choice.model].worthless


def compare(
    problem: Problem,
    plans: Sequence[FitPlan],
    *,
    equal_shares: bool = False,
    jobs: int = 1,
    names: Sequence[str] = (),
    on_done: Callable[[str], object] = lambda model: None,
) -> Comparison:
    """Fit the models and recommend one.

    plans, equal_shares: see `plan`. jobs: processes. names: how doubts call the targets.
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
        return Comparison(problem, entries, doubts, Choice(None, NONE_RECOMMENDED, None))
    signs = {name: entry.worthless or not entry.fits for name, entry in entries.items()}
    return Comparison(problem, entries, doubts, choose(signs, equal_shares))


def _entries(
    problem: Problem, plans: Sequence[FitPlan], jobs: int, names: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield the entry of each plan, in order."""
    if jobs == 1:
        yield from (_fit(problem, names, each) for each in plans)
        return
    from transferbench.runs.engines.local import ProcessDied, Slot

    with ExitStack() as stack:
        idle = [Slot(_serve, _fit, problem, names) for _ in range(jobs)]
        for slot in idle:  # ended at once, also on Ctrl-C
            stack.callback(slot.close)

        def fit(each: FitPlan) -> Entry:
            slot = idle.pop()
            try:
                entry: Entry = slot.call(each, lambda *message: None)
                return entry
            except ProcessDied:
                text = f"the process of {each.model} ended without a result, usually for lack"
                return _failed(each, f"{text} of memory; use fewer --jobs or more memory.")
            finally:
                idle.append(slot)

        pool = ThreadPoolExecutor(jobs)
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        yield from pool.map(fit, plans)


def _serve(
    connection: Connection, fit: Callable[..., Entry], problem: Problem, names: tuple[str, ...]
) -> None:
    """Fit the plans that arrive; see `engines.local.Slot`."""
    with suppress(EOFError, OSError):  # the parent ended
        while True:
            each = connection.recv()
            connection.send(())
            connection.send(fit(problem, names, each))


def _fit(problem: Problem, names: tuple[str, ...], each: FitPlan) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead."""
    fits, seconds, reverse = [], [], []
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
                        reverse.append(
                            reverse_accuracies(each.model, problem, each.params, seed, fit)
                        )
        except (ValueError, ArithmeticError, MemoryError) as error:
            return _failed(each, fit_failed(each.model, error))
    means = {
        target: fmean(found[target] for found in reverse)
        for target in (reverse[0] if reverse else ())
        if all(target in found for found in reverse)
    }
    doubts = [Doubt(text) for text in dict.fromkeys(str(warning.message) for warning in printed)]
    doubts += check_fit(problem, each.params, fits[0], means, names)
    return Entry(each.model, each.params, tuple(fits), fmean(seconds), means, tuple(doubts))


def _failed(each: FitPlan, text: str) -> Entry:
    """Return the entry of a model without a fit; text: why."""
    return Entry(each.model, each.params, (), math.nan, {}, (Doubt(text, True),))


def fit_failed(model: str, error: Exception) -> str:
    """Return the message that a model could not be fitted, with the remedy."""
    reason = str(error).rstrip(".") or "out of memory"
    return f"{model}: {reason}; other parameters are given by --set."
