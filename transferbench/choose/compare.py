"""Fit models on one problem and compare them, without labels of a target.

Labels of a target reach no model and no recommendation: `compare` does not receive the truth.
`table` uses it, if there is one, to add measures.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import artefacts, models, parameters
from transferbench.choose import sample as sampling
from transferbench.choose.advice import NO_EVIDENCE, Choice, choose, choose_by_sample
from transferbench.choose.doubts import check_data, check_fit
from transferbench.choose.evidence import QUICK, RECOMMENDED, REFERENCE
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt, UserError, unknown
from transferbench.measures import ALL, THRESHOLD, correct, evaluate
from transferbench.messages import reason
from transferbench.parameters import Count
from transferbench.problem import Family, Fit, Problem, Truth
from transferbench.stats import PairedTest, paired_error
from transferbench.userdata.multilabel import fit_in_tasks

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class FitPlan:
    """A model to compare: its name, all its parameters and its seeds."""

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


def choose_family(names: Sequence[str], has_source: bool, separator: str | None) -> Family:
    """Return the family of user data: a separator or the first model makes it multi-label.

    Parameters
    ----------
    separator
        None if the user gave none, "" to leave labels whole.
    """
    if not has_source:
        return "clustering"
    first = models.get(names[0]).family if names else "transfer"
    return "multilabel" if separator or first == "multilabel" else "transfer"


def model_names(family: str, names: Sequence[str] = ()) -> list[str]:
    """Return the models to compare: the reference, the others, and the recommended one.

    Parameters
    ----------
    names
        The others; by default the quick ones.
    """
    last = [RECOMMENDED] if family == "transfer" else []
    return list(dict.fromkeys([REFERENCE[family], *(names or QUICK[family]), *last]))


def plan(
    family: Family,
    names: Sequence[str],
    params: Mapping[str, Mapping[str, object]],
    *,
    repeats: int = 1,
    seed: int = 0,
) -> list[FitPlan]:
    """Return what to fit on a problem of a family.

    Parameters
    ----------
    params
        Parameters by model.
    repeats
        Seeds of a random model, from `seed` on.

    Raises
    ------
    UserError
        For an unknown or unsuitable model or parameter.
    """
    repeats = parameters.convert(repeats, Count, "repeats")
    for name in params:
        if name not in names:
            raise unknown("compared model", name, names)
    plans = []
    for name in names:
        models.check_family(name, family)
        function = models.load(name)
        resolved = parameters.resolve(function, params.get(name, {}), name)
        random = parameters.takes_seed(function)
        seeds = tuple(range(seed, seed + repeats)) if random else (None,)
        plans.append(FitPlan(name, resolved, seeds))
    return plans


def assign(
    values: Mapping[str, str], names: Sequence[str], preferred: Sequence[str] = ()
) -> dict[str, dict[str, str]]:
    """Return parameters by model.

    MODEL.NAME overrides NAME. One that no model has is for the first preferred model, or else the
    first one, where `plan` refuses it.

    Parameters
    ----------
    values
        By name: NAME is for all models that have it, MODEL.NAME for one.
    """
    params: dict[str, dict[str, str]] = {}
    schemas = {name: parameters.schema(models.load(name)) for name in names}
    for key in sorted(values, key=lambda key: "." in key):
        model, dot, name = key.rpartition(".")
        takers = [n for n in names if name in schemas[n]] or [*preferred, *names][:1]
        for taker in [model] if dot else takers:
            params.setdefault(taker, {})[name] = values[key]
    return params


@dataclass(frozen=True)
class Entry:
    """A compared model.

    Parameters
    ----------
    fits
        The fit of each seed; empty if the model could not be fitted.
    seconds
        Mean wall time of a fit.
    doubts
        Reasons to doubt the first seed's decisions, or why there is no fit.
    """

    model: str
    params: Mapping[str, Any]
    fits: tuple[Fit, ...]
    seconds: float
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

    def is_worthless(self, *models: str) -> bool:
        """True if the documents or the decisions of a model should not be used."""
        doubts = [*self.doubts, *(doubt for name in models for doubt in self.entries[name].doubts)]
        return any(doubt.worthless for doubt in doubts)

    def facts(self) -> dict[str, Any]:
        """Return the recommendation, and source_shares of the classes if there is one label."""
        problem = self.problem
        choice = self.choice
        facts = {
            "recommended": choice.model, "recommendation": "\n".join(choice.sentences),
            "evidence": choice.evidence, "expected_accuracy": choice.accuracy,
        }  # fmt: skip
        if problem.family != "transfer":
            return facts
        shares = labelled_shares(problem).tolist()
        return {"source_shares": dict(zip(problem.classes, shares, strict=True)), **facts}


def compare(problem: Problem, plans: Iterable[FitPlan], sample: Truth | None = None) -> Comparison:
    """Fit the models, see `plan`, and recommend one.

    Parameters
    ----------
    sample
        The truth of documents of the targets that were drawn at random and labelled: their class
        shares are those at which the consensus decides, unless its prior is set, and they choose
        the model. No other model uses them.

    Raises
    ------
    UserError
        If the first model cannot be fitted.
    """
    entries: dict[str, Entry] = {}
    seeds: dict[str, tuple[int, ...]] = {}
    memory: artefacts.Memory = {}
    for planned in plans:
        seeds[planned.model] = tuple(seed or 0 for seed in planned.seeds)
        entry = fit_plan(problem, planned, memory)
        if not entry.fits and not entries:
            raise UserError(f"{entry.model}: {entry.doubts[0]}.")
        entries[entry.model] = entry
    choice = NO_EVIDENCE if problem.family == "multilabel" else Choice(None, ())
    best = entries.get(RECOMMENDED)
    if sample and problem.family == "transfer":
        if best and best.fits and best.params["prior"] == "agreed":
            fits = tuple(
                sampling.decide(problem, fit, sample, seed)
                for fit, seed in zip(best.fits, seeds[RECOMMENDED], strict=True)
            )
            doubts = check_fit(RECOMMENDED, problem, best.params, fits[0])
            entries[RECOMMENDED] = replace(best, fits=fits, doubts=tuple(doubts))
        choice = choose_by_sample(entries, sample)
    elif best:
        choice = choose(problem, best)
    return Comparison(problem, entries, tuple(check_data(problem)), choice)


def fit_plan(problem: Problem, planned: FitPlan, memory: artefacts.Memory) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead.

    memory: graphs, starts and others that models share.
    """

    def failed(text: str) -> Entry:
        return Entry(planned.model, planned.params, (), math.nan, (Doubt(text, True),))

    fits, seconds = [], []
    fit_one = partial(models.fit, planned.model, params=planned.params, watch=None)
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in planned.seeds:
                with artefacts.use(memory) as costs:
                    start = costs.clock()
                    fit = fit_in_tasks(problem, partial(fit_one, seed=seed))
                seconds.append(costs.clock() - start)
                if problem.family == "transfer" and fit.columns == "clusters":
                    return failed("it finds clusters, which have no names; choose another model")
                fits.append(fit)
        except UserError:
            raise
        except (ValueError, ArithmeticError, MemoryError) as error:
            why = str(error).rstrip(".") or "out of memory"
            return failed(f"{why}; other parameters are given by --set")
        except (Exception, SystemExit) as error:
            if not models.is_external(planned.model):
                raise
            return failed(f"its code ended with {reason(error)}")
    texts = dict.fromkeys(str(warning.message).rstrip(".") for warning in printed)
    doubts = [*map(Doubt, texts)]
    doubts += check_fit(planned.model, problem, planned.params, fits[0])
    return Entry(planned.model, planned.params, tuple(fits), fmean(seconds), tuple(doubts))


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a row for each target and model; of several labels also for all targets together.

    It has the columns target, model, recommended, seconds, documents, warnings and worthless. One
    label a document: `share CLASS`, of the decisions, and, where the truth has labels, `recall
    CLASS`; means over the seeds. Several: labels, their mean number, and none, the share of
    documents without any. Where the truth has labels: scored, the number of documents with one, and
    the measures; of several seeds also `accuracy_std` and so on, NaN for a model without a seed.
    `ahead` is the accuracy less that of the first model on the same documents, `ahead_p` its
    two-sided p over the documents and the seeds. `attrs` has the facts of the comparison.
    """
    import pandas as pd

    domains = compared.problem.domains
    places = {domain.name: [i] for i, domain in enumerate(domains) if not domain.seen.all()}
    scored = [int(rows.sum()) for rows in truth.scored] if truth else [0] * len(domains)
    if truth and truth.family == "multilabel" and sum(map(bool, scored)) > 1:
        places[ALL] = [i for place in places.values() for i in place]
    measured = {
        name: [evaluate(fit, truth) for fit in entry.fits] if truth else []
        for name, entry in compared.entries.items()
    }
    first = next(iter(compared.entries.values()))
    made, classes, family = [], compared.problem.classes, compared.problem.family
    for place, members in places.items():
        n = sum(scored[i] for i in members)
        for name, entry in compared.entries.items():
            scores = [fit.scores[members[0]] for fit in entry.fits]
            row: dict[str, Any] = {
                "target": place, "model": name,
                "recommended": place != ALL and name == compared.choice.model,
                "seconds": entry.seconds, "documents": sum(len(domains[i].seen) for i in members),
            }  # fmt: skip
            if family == "transfer" and scores:
                counts = [np.bincount(S.argmax(axis=1), minlength=len(classes)) for S in scores]
                shares = np.mean(counts, axis=0) / len(scores[0])
                row |= {f"share {c}": share for c, share in zip(classes, shares, strict=True)}
            if family == "multilabel" and place != ALL and scores:
                decided = [S >= THRESHOLD for S in scores]
                row["labels"] = fmean(float(D.sum(axis=1).mean()) for D in decided)
                row["none"] = fmean(float(np.mean(~D.any(axis=1))) for D in decided)
            if any(scored):
                row["scored"] = n
            if truth and n and scores:
                row |= _measures([of_seed[place] for of_seed in measured[name]])
                if family == "transfer":
                    row |= _recall(truth, members[0], scores)
                if family != "multilabel" and entry is not first:
                    ahead = _ahead(truth, place, entry, first)
                    row |= {"ahead": ahead.mean, "ahead_p": ahead.p_two_sided}
            made.append(row | {"warnings": [*map(str, entry.doubts)], "worthless": entry.worthless})
    frame = pd.DataFrame(made)
    frame.attrs |= compared.facts()
    return frame


def _measures(by_seed: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure, and of several seeds also its deviation."""
    found = {name: fmean(each[name] for each in by_seed) for name in by_seed[0]}
    if len(by_seed) > 1:
        found |= {f"{name}_std": stdev(each[name] for each in by_seed) for name in by_seed[0]}
    return found


def _ahead(truth: Truth, place: str, entry: Entry, first: Entry) -> PairedTest:
    """Compare a model with the first one by seed and document, several seeds also with one fit."""
    ours, theirs = (
        np.array([correct(fit, truth)[place] for fit in each.fits], float)
        for each in (entry, first)
    )
    by_seed, by_document = (ours - theirs).mean(axis=1), (ours - theirs).mean(axis=0)
    seeds = tuple(range(len(by_seed))) if len(by_seed) > 1 else (None,)
    return PairedTest(place, tuple(by_seed), seeds=seeds, error=paired_error([by_document]))


def _recall(truth: Truth, i: int, scores: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the mean recall of each class on domain i over the seeds, NaN for absent classes."""
    from sklearn.metrics import recall_score

    rows, labels = truth.scored[i], range(len(truth.classes))
    recall = partial(recall_score, labels=labels, average=None, zero_division=np.nan)
    true = truth.Y[i][rows].argmax(axis=1)
    recalls = np.mean([recall(true, S[rows].argmax(axis=1)) for S in scores], axis=0)
    return {f"recall {c}": recall for c, recall in zip(truth.classes, recalls, strict=True)}
