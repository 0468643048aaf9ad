"""Fit models on one problem and recommend one, without labels of a target.

Labels of a target reach no model, criterion or recommendation: nothing here receives the truth.
`table` uses it, if there is one, to add measures beside them.

The rule of the recommendation is fixed: CoCC, or logistic regression where CoCC's result is
worthless by its doubts. If the user states that the target's classes have equal shares, the vote of
three models comes first. The evidence is the regret of these strategies in the experiment `choice`:
how far the chosen model is below the best of all models, in points of accuracy, over its tasks.
"""

from __future__ import annotations

import csv
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import models, parameters
from transferbench.choose.criteria import check_data, check_fit, reverse_accuracies
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt, UserError, brief
from transferbench.measures import THRESHOLD, jaccard, normalize_scores, score
from transferbench.parameters import Count
from transferbench.problem import Fit, Problem, Truth, Watch
from transferbench.settings import experiments_dir
from transferbench.userdata.multilabel import fit_in_tasks

if TYPE_CHECKING:
    from pandas import DataFrame

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
AGREEMENT = {"transfer": "agreement_lr", "multilabel": "agreement_svm"}
#: Family → models that take seconds on some thousand documents.
QUICK = {
    "transfer": ("lr", "cocc", "graph-only", "lr-kmeans", "dtl", "gcmf"),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Also compared by default up to FEW_DOCUMENTS; their time grows faster with the documents.
SLOWER, FEW_DOCUMENTS = {"transfer": ("tsvm",), "multilabel": ()}, 1000
RECOMMENDED = "cocc"
#: Models that combine others; recommended first if the classes have equal shares.
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
    labelled = {"transfer": bool(problem.sources), "multilabel": True}.get(problem.family, False)
    if not labelled or not problem.targets:
        raise UserError(f"{problem.name}: expected a source with labels and a target to compare.")
    if problem.family == "multilabel" and equal_shares:
        raise UserError(f"{problem.name}: equal_shares is for one label a document; leave it out.")
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
            f"in the experiment `choice`, made after a trial on the same tasks, it is "
            f"{self.mean:.1f} points below the best model on average, {self.worst:.1f} at worst "
            f"({self.place}), and {below} logistic regression"
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
        reason = "the single model with the least regret where nothing is known of the target"
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
    """The compared models by name, doubts about the documents, and the recommendation."""

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
    worthless = {name: entry.worthless or not entry.fits for name, entry in entries.items()}
    return Comparison(problem, entries, doubts, choose(worthless, equal_shares))


def _entries(
    problem: Problem, plans: Sequence[FitPlan], jobs: int, names: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield the entry of each plan, in order."""
    if jobs == 1:
        yield from (fit_plan(problem, names, planned) for planned in plans)
        return
    from transferbench.runs.engines.local import ProcessDied, Slot

    slots = [Slot(_serve, fit_plan, problem, names) for _ in range(jobs)]
    idle = [*slots]

    def fit(planned: FitPlan) -> Entry:
        slot = idle.pop()
        try:
            entry: Entry = slot.call(planned, lambda *message: None)
            return entry
        except ProcessDied:
            text = f"the process of {planned.model} ended without a result, usually for lack"
            return _failed(planned, f"{text} of memory; use fewer --jobs or more memory.")
        finally:
            idle.append(slot)

    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(fit, plans)
    finally:  # do not wait for running fits, also on Ctrl-C
        pool.shutdown(wait=False, cancel_futures=True)
        for slot in slots:
            slot.close()


def _serve(
    connection: Connection, fit: Callable[..., Entry], problem: Problem, names: tuple[str, ...]
) -> None:
    """Fit the plans that arrive; see `engines.local.Slot`."""
    with suppress(EOFError, OSError):  # the parent ended
        while True:
            planned = connection.recv()
            connection.send(())
            connection.send(fit(problem, names, planned))


def fit_plan(
    problem: Problem, names: Sequence[str], planned: FitPlan, watch: Watch | None = None
) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead.

    names: what doubts call the targets. watch: see `api.fit`.
    """
    fits, seconds, reverse = [], [], []
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in planned.seeds:
                start = time.perf_counter()
                fit = fit_in_tasks(
                    problem,
                    partial(
                        models.fit, planned.model, params=planned.params, seed=seed, watch=watch
                    ),
                )
                seconds.append(time.perf_counter() - start)
                if problem.family == "transfer" and fit.columns == "clusters":
                    text = "finds clusters, which have no names; choose another model."
                    return _failed(planned, f"{planned.model} {text}")
                fits.append(fit)
                reverse.append(
                    reverse_accuracies(planned.model, problem, planned.params, seed, fit)
                )
        except (ValueError, ArithmeticError, MemoryError) as error:
            why = str(error).rstrip(".") or "out of memory"
            message = f"{planned.model}: {why}; other parameters are given by --set."
            return _failed(planned, message)
    means = {
        target: fmean(by_target[target] for by_target in reverse)
        for target in reverse[0]
        if all(target in by_target for by_target in reverse)
    }
    doubts = [Doubt(text) for text in dict.fromkeys(str(warning.message) for warning in printed)]
    doubts += check_fit(problem, planned.params, fits[0], means, names)
    return Entry(planned.model, planned.params, tuple(fits), fmean(seconds), means, tuple(doubts))


def _failed(planned: FitPlan, text: str) -> Entry:
    """Return the entry of a model without a fit; text: why."""
    return Entry(planned.model, planned.params, (), math.nan, {}, (Doubt(text, True),))


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, recommended, seconds, documents; agreement_vote, the share of documents decided
    as by most models. One label a document: `share CLASS` of the decisions; agreement_lr, with
    logistic regression; reverse_accuracy. Several: labels, the mean number of a document's labels;
    none, the share of documents without any; agreement_svm, with the linear SVM (agreement is then
    the mean Jaccard similarity). Where the truth has labels of the target: scored, their number,
    the measures and, of one label a document, `recall CLASS`. All are means over the seeds; of
    several seeds `accuracy_std` and so on are standard deviations, NaN for a model without a seed.
    warnings, a list of texts; worthless.

    `attrs` has recommended, recommendation (the sentence with its evidence) and source_shares, of
    the classes, or source_labels, the mean number of a document's labels.
    """
    import pandas as pd

    problem = compared.problem
    lines = []
    for i, domain in enumerate(problem.domains):
        if domain.seen.all():
            continue
        signs = _label_free_signs(compared, i)
        for name, entry in compared.entries.items():
            line: dict[str, Any] = {"target": domain.name, "model": name}
            line |= {"recommended": name == compared.choice.model, "seconds": entry.seconds}
            line |= {"documents": len(domain.seen)} | signs.get(name, {})
            if problem.family == "transfer":
                line["reverse_accuracy"] = entry.reverse_accuracy.get(domain.name, np.nan)
            line |= _measures(truth, i, entry.fits)
            line |= {"warnings": [doubt.text for doubt in entry.doubts]}
            lines.append(line | {"worthless": entry.worthless})
    frame = pd.DataFrame(lines)
    if problem.family == "transfer":
        shares = labelled_shares(problem).tolist()
        frame.attrs["source_shares"] = dict(zip(problem.classes, shares, strict=True))
    else:
        seen = [domain.Y[domain.seen].sum(axis=1) for domain in problem.domains]
        frame.attrs["source_labels"] = float(np.concatenate(seen).mean())
    frame.attrs["recommended"] = compared.choice.model
    frame.attrs["recommendation"] = compared.choice.sentence
    return frame


def recall(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (c,) the share of each class that is decided right, NaN for absent classes.

    Y, scores (n, c) of the documents to score.
    """
    from sklearn.metrics import recall_score

    true, decided, labels = Y.argmax(axis=1), scores.argmax(axis=1), range(Y.shape[1])
    recalls = recall_score(true, decided, labels=labels, average=None, zero_division=np.nan)
    return np.asarray(recalls)


def _label_free_signs(compared: Comparison, i: int) -> dict[str, dict[str, float]]:
    """Return the label-free columns of `table` on domain i, by fitted model.

    agreement_vote: each model votes with its first seed; models that combine others do not vote. A
    tie goes to the class that logistic regression prefers.
    """
    problem, several = compared.problem, compared.problem.family == "multilabel"
    indicators = np.eye(len(problem.classes))  # a row for each class
    decided = {
        name: [
            fit.scores[i] >= THRESHOLD if several else indicators[fit.scores[i].argmax(axis=1)]
            for fit in entry.fits
        ]
        for name, entry in compared.entries.items()
        if entry.fits
    }
    reference = REFERENCE[problem.family]
    vote = np.mean([seeds[0] for name, seeds in decided.items() if name not in JOINT], axis=0)
    if several:
        vote = vote > 0.5
    else:
        preferred = normalize_scores(compared.entries[reference].fits[0].scores[i])
        vote = indicators[np.argmax(vote + 1e-6 * preferred, axis=1)]
    signs: dict[str, dict[str, float]] = {}
    for name, seeds in decided.items():
        if several:
            signs[name] = {
                "labels": fmean(float(D.sum(axis=1).mean()) for D in seeds),
                "none": fmean(float(np.mean(~D.any(axis=1))) for D in seeds),
            }
        else:
            shares = np.mean([D.mean(axis=0) for D in seeds], axis=0).tolist()
            classes = zip(problem.classes, shares, strict=True)
            signs[name] = {f"share {label}": share for label, share in classes}
        others = {AGREEMENT[problem.family]: decided[reference][0], "agreement_vote": vote}
        for column, other in others.items():
            signs[name][column] = fmean(jaccard(other, D) for D in seeds)
    return signs


def _measures(truth: Truth | None, i: int, fits: Sequence[Fit]) -> dict[str, float]:
    """Return the measures of a model on domain i, if it has labels to score."""
    if truth is None or not truth.scored[i].any():
        return {}
    rows = truth.scored[i]
    Y, scores = truth.Y[i][rows], [fit.scores[i][rows] for fit in fits]
    line: dict[str, float] = {"scored": int(rows.sum())}
    measured = [score(truth.family, Y, S) for S in scores]
    for name in measured[0] if measured else ():
        values = [each[name] for each in measured]
        line[name] = fmean(values)
        if len(values) > 1:
            line[f"{name}_std"] = stdev(values)
    if measured and truth.family == "transfer":
        recalls = np.mean([recall(Y, S) for S in scores], axis=0).tolist()
        line |= {f"recall {c}": value for c, value in zip(truth.classes, recalls, strict=True)}
    return line
