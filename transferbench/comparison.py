"""Compare transfer models on one problem without its target's labels, and recommend one.

Labels of a target reach no model, criterion or recommendation: `judge` never sees the truth.
`table` uses it, if there is one, to add measures beside them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import choice, criteria, metrics, models, parameters
from transferbench.data.userdata.checks import Finding, check_data, check_fit
from transferbench.errors import UserError
from transferbench.metrics import normalize_scores
from transferbench.problem import Fit, Problem, Truth

if TYPE_CHECKING:
    from pandas import DataFrame

#: Models that take seconds on some thousand documents.
QUICK = ("lr", "cocc", "graph-only", "lr-kmeans", "dtl", "gcmf")
#: Also compared by default up to so many documents: its time grows faster than theirs.
SLOWER, FEW_DOCUMENTS = ("tsvm",), 1000
REFERENCE = choice.REFERENCE


@dataclass(frozen=True)
class Plan:
    """A model to compare: its name, all its parameters and its seeds."""

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


@dataclass(frozen=True)
class Entry:
    """A compared model.

    fits     : the fit of each seed; empty if the model could not be fitted.
    seconds  : mean wall time of a fit.
    criteria : target → criterion → mean over the seeds, see `criteria.MEANINGS`.
    findings : reasons to doubt the first seed's decisions, or why there is no fit.
    """

    model: str
    params: Mapping[str, Any]
    fits: tuple[Fit, ...]
    seconds: float
    criteria: Mapping[str, Mapping[str, float]]
    findings: tuple[Finding, ...]

    @property
    def worthless(self) -> bool:
        """True if the decisions should not be used."""
        return any(finding.worthless for finding in self.findings)


@dataclass(frozen=True)
class Comparison:
    """The compared models by name, in order; findings about the documents; the recommendation."""

    problem: Problem
    entries: Mapping[str, Entry]
    findings: tuple[Finding, ...]
    choice: choice.Choice

    @property
    def worthless(self) -> bool:
        """True if the recommended model's decisions should not be used."""
        documents = any(finding.worthless for finding in self.findings)
        return documents or self.entries[self.choice.model].worthless

    def votes(self) -> tuple[np.ndarray, ...]:
        """Return (n, c) for each domain: the share of the compared models that decide each class.

        The first seed of each model votes; joint models do not, as their members do.
        """
        fits = [e.fits[0] for e in self.entries.values() if e.fits and e.model not in choice.JOINT]
        return tuple(
            np.mean([np.eye(len(self.problem.classes))[S.argmax(axis=1)] for S in scores], axis=0)
            for scores in zip(*(fit.scores for fit in fits), strict=True)
        )

    def voted(self) -> tuple[np.ndarray, ...]:
        """Return (n,) for each domain the class that most models decide; of equals LR's."""
        reference = self.entries[REFERENCE].fits[0].scores
        return tuple(
            np.argmax(votes + 1e-6 * normalize_scores(scores), axis=1)
            for votes, scores in zip(self.votes(), reference, strict=True)
        )


def plan(
    names: Sequence[str],
    problem_size: int,
    params: Mapping[str, Mapping[str, object]],
    repeats: int = 1,
    equal_shares: bool = False,
    seed: int = 0,
) -> list[Plan]:
    """Return what to compare: the reference and the recommended model first, then others.

    names: models; without any, the default ones for a problem of so many documents. params: given
    parameters by model. seed: the first of `repeats` seeds. Raise UserError for an unknown model or
    parameter, or another family.
    """
    chosen = [*names] or [*QUICK, *(SLOWER if problem_size <= FEW_DOCUMENTS else ())]
    all_names = [REFERENCE, *choice.candidates(equal_shares), *chosen]
    return plans_of(all_names, "transfer", params, repeats, seed)


def plans_of(
    names: Sequence[str],
    family: str,
    params: Mapping[str, Mapping[str, object]],
    repeats: int,
    seed: int,
) -> list[Plan]:
    """Return a plan for each different model; see `plan` for the arguments and errors."""
    plans = []
    for name in dict.fromkeys(names):
        models.check_family(name, family)
        function = models.load(name)
        seeds = range(seed, seed + repeats) if parameters.takes_seed(function) else (None,)
        resolved = parameters.resolve(function, params.get(name, {}), name)
        plans.append(Plan(name, resolved, tuple(seeds)))
    return plans


def judge(
    problem: Problem,
    plans: Sequence[Plan],
    *,
    equal_shares: bool = False,
    jobs: int = 1,
    names: Sequence[str] = (),
    on_done: Callable[[str], object] = lambda model: None,
) -> Comparison:
    """Fit the models and recommend one.

    equal_shares: the user states that the target's classes have equal shares. jobs: processes.
    names: how findings call the targets. on_done: called with each model that is done. Raise
    UserError if the problem is no transfer problem with a target, or a reference cannot be fitted.
    """
    if problem.family != "transfer" or not problem.sources or not problem.targets:
        raise UserError(f"{problem.name}: expected a source with labels and a target to compare.")
    entries = {}
    for entry in _entries(problem, plans, jobs, tuple(names)):
        entries[entry.model] = entry
        on_done(entry.model)
    if not entries[REFERENCE].fits:
        raise UserError(entries[REFERENCE].findings[0].text)
    signs = {name: entry.worthless or not entry.fits for name, entry in entries.items()}
    chosen = choice.choose(signs, equal_shares)
    return Comparison(problem, entries, tuple(check_data(problem, names)), chosen)


def _entries(
    problem: Problem, plans: Sequence[Plan], jobs: int, names: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield the entry of each plan, in order."""
    if jobs == 1:
        for each in plans:
            yield _fit(problem, each, names)
        return
    # New processes: forks of one with threads could lock up.
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), initializer=_keep, initargs=(problem,)
    ) as pool:
        yield from pool.map(_fit_kept, plans, [names] * len(plans))


def _keep(problem: Problem) -> None:
    """Store the problem of this process, so that it is sent once."""
    global _kept
    _kept = problem


_kept: Problem | None = None


def _fit_kept(plan: Plan, names: tuple[str, ...]) -> Entry:
    assert _kept is not None
    return _fit(_kept, plan, names)


def _fit(problem: Problem, plan: Plan, names: tuple[str, ...]) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a finding instead."""
    fits, seconds, judged = [], [], []
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in plan.seeds:
                start = time.perf_counter()
                fit = models.fit(plan.model, problem, plan.params, seed=seed, watch=None)
                seconds.append(time.perf_counter() - start)
                if fit.columns == "clusters":
                    raise ValueError("finds clusters, which have no names")
                fits.append(fit)
                with warnings.catch_warnings():  # those of the way back concern the source
                    warnings.simplefilter("ignore")
                    judged.append(criteria.criteria(plan.model, problem, plan.params, seed, fit))
        except (ValueError, ArithmeticError) as error:
            finding = Finding(fit_failed(plan.model, error), True)
            return Entry(plan.model, plan.params, (), float("nan"), {}, (finding,))
    means = _means(judged)
    reverse = {t: values["reverse"] for t, values in means.items() if "reverse" in values}
    texts = dict.fromkeys(str(each.message) for each in printed)
    findings = [Finding(text) for text in texts]
    findings += check_fit(plan.model, problem, plan.params, fits[0], reverse, names)
    return Entry(plan.model, plan.params, tuple(fits), fmean(seconds), means, tuple(findings))


def fit_failed(model: str, error: Exception) -> str:
    """Return the message that a model could not be fitted, with the remedy."""
    return f"{model}: {str(error).rstrip('.')}; other parameters are given by --set."


def _means(judged: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the mean over seeds of each target's criteria, of those that every seed has."""
    return {
        target: {
            name: fmean(each[target][name] for each in judged)
            for name in values
            if all(name in each[target] for each in judged)
        }
        for target, values in judged[0].items()
    }


def score(Y: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Return accuracy, balanced_accuracy, f1 (macro) and recall (c,), NaN for absent classes.

    Y, scores (n, c) of the documents to score.
    """
    truth, decided = Y.argmax(axis=1), scores.argmax(axis=1)
    sizes = np.bincount(truth, minlength=Y.shape[1])
    hits = np.bincount(truth[truth == decided], minlength=Y.shape[1])
    recall = np.where(sizes > 0, hits / np.maximum(sizes, 1), np.nan)
    return {
        "accuracy": metrics.accuracy(truth, decided),
        "balanced_accuracy": float(np.nanmean(recall)),
        "f1": metrics.macro_f1(truth, decided),
        "recall": recall,
    }


def confusion(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return (c, c) the number of documents of each class (row) by decided class (column)."""
    table = np.zeros((Y.shape[1], Y.shape[1]), int)
    np.add.at(table, (Y.argmax(axis=1), scores.argmax(axis=1)), 1)
    return table


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, recommended, seconds; documents; `share CLASS` of the decisions; agreement_lr and
    agreement_vote, the share of documents decided as by logistic regression and by most models;
    reverse, the reverse accuracy; warnings, a list of texts; worthless. Where the truth has labels
    of the target: scored, their number, accuracy, balanced_accuracy, f1 (macro) and
    `recall CLASS`. All are fractions, means over the seeds; of several seeds `accuracy_std` and
    so on are standard deviations, NaN for a model without a seed. `attrs` has the source's shares,
    the recommended model and the sentence with its evidence.
    """
    import pandas as pd

    from transferbench.data.userdata.checks import source_shares

    repeated = any(len(entry.fits) > 1 for entry in compared.entries.values())
    voted = compared.voted()
    lines = [
        _line(compared, entry, i, voted[i], truth, repeated)
        for i, domain in enumerate(compared.problem.domains)
        if not domain.seen.all()
        for entry in compared.entries.values()
    ]
    frame = pd.DataFrame(lines)
    shares = source_shares(compared.problem)
    assert shares is not None
    frame.attrs["source"] = dict(zip(compared.problem.classes, shares.tolist(), strict=True))
    frame.attrs["recommended"] = compared.choice.model
    frame.attrs["recommendation"] = compared.choice.sentence
    return frame


def _line(
    compared: Comparison,
    entry: Entry,
    i: int,
    voted: np.ndarray,
    truth: Truth | None,
    repeated: bool,
) -> dict[str, Any]:
    """Return the line of a model and of domain i."""
    problem = compared.problem
    name, classes = problem.domains[i].name, problem.classes
    line: dict[str, Any] = {"target": name, "model": entry.model}
    line |= {"recommended": entry.model == compared.choice.model, "seconds": entry.seconds}
    line["documents"] = len(voted)
    decided = [fit.scores[i].argmax(axis=1) for fit in entry.fits]
    found_shares = [criteria.shares(each, len(classes)) for each in decided]
    shares = np.mean(found_shares, axis=0) if found_shares else np.full(len(classes), np.nan)
    line |= {f"share {label}": float(s) for label, s in zip(classes, shares, strict=True)}
    found = entry.criteria.get(name, {})
    line["agreement_lr"] = found.get("agreement", np.nan)
    line["agreement_vote"] = float(np.mean([np.mean(d == voted) for d in decided] or [np.nan]))
    line["reverse"] = found.get("reverse", np.nan)
    if truth is not None and truth.scored[i].any():
        rows = truth.scored[i]
        line["scored"] = int(rows.sum())
        measured = [score(truth.Y[i][rows], fit.scores[i][rows]) for fit in entry.fits]
        for measure in ("accuracy", "balanced_accuracy", "f1"):
            values = [each[measure] for each in measured]
            line[measure] = fmean(values) if values else np.nan
            if repeated:
                line[f"{measure}_std"] = stdev(values) if len(values) > 1 else np.nan
        recalls = [each["recall"] for each in measured]
        recall = np.mean(recalls, axis=0) if recalls else np.full(len(classes), np.nan)
        line |= {f"recall {label}": float(r) for label, r in zip(classes, recall, strict=True)}
    line["warnings"] = [finding.text for finding in entry.findings]
    line["worthless"] = entry.worthless
    return line
