"""Fit models on one problem and recommend one, without labels of a target.

Labels of a target reach no model and no recommendation: nothing here receives the truth. `table`
uses it, if there is one, to add measures beside them.

The rule of the recommendation is fixed: the consensus of several methods, unless its members agree
too little, or its result is worthless by its doubts; then none. The evidence is the regret of this
choice in the experiment `choice`: how far it is below the best single model of a task, in points of
accuracy.
"""

from __future__ import annotations

import csv
import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import models, parameters
from transferbench.choose.doubts import WEAK_AGREEMENT, check_data, check_fit
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt, UserError, unknown
from transferbench.measures import ALL, THRESHOLD, evaluate
from transferbench.models.transfer.consensus import FEW
from transferbench.parameters import Count
from transferbench.problem import Family, Fit, Problem, Truth
from transferbench.settings import experiments_dir
from transferbench.userdata.multilabel import fit_in_tasks

if TYPE_CHECKING:
    from pandas import DataFrame

#: Family → the model that every other is compared with.
REFERENCE = {"transfer": "lr", "multilabel": "linear-svm"}
#: The model that is recommended, also a column of the experiment `choice`.
RECOMMENDED = "consensus"
#: Family → models that take seconds on some thousand documents, the quickest first.
QUICK = {
    "transfer": ("lr", "graph-only", "cocc", "svm", "tsvm", RECOMMENDED),
    "multilabel": ("linear-svm", "tram", "ml-knn"),
}
#: Table of the experiment `choice`, beside the experiments: in a checkout with the results, else
#: packaged with the YAML files.
REGRET = ("../results/choice/regret.csv", "regret.csv")
#: In it: the end of a strategy's name that keeps to the rows where it is advised, and the value of
#: `documents` for all with MIN_EVIDENCE or more.
ADVISED, ANY = "if advised", "any"
#: Value of its variant `shares` → what it says of a target.
SHARES = {
    "no shift": "where source and target look alike",
    "as they are": "where the target has about the source's class shares",
    "4:1": "where its first class is four times as large as each other",
    "1:5": "where its first class is a fifth of each other",
}
#: Documents of a domain, and classes, of the tasks that the evidence is from.
MIN_EVIDENCE, MAX_EVIDENCE, MAX_CLASSES = 500, 10_033, 4
#: No label-free criterion is validated for multi-label models.
NONE_RECOMMENDED = "No model is recommended: there is no evidence for multi-label models."
REMEDY = "Label a sample of the target (--label-sample 50) and compare again."


@dataclass(frozen=True)
class FitPlan:
    """A model to compare: its name, all its parameters and its seeds."""

    model: str
    params: Mapping[str, Any]
    seeds: tuple[int | None, ...]


def choose_family(names: Sequence[str], has_source: bool, separator: str | None) -> Family:
    """Return the family of user data: a separator or the first model makes it multi-label.

    separator: None if the user gave none, "" to leave labels whole.
    """
    if not has_source:
        return "clustering"
    first = models.get(names[0]).family if names else "transfer"
    return "multilabel" if separator or first == "multilabel" else "transfer"


def model_names(family: str, names: Sequence[str] = ()) -> list[str]:
    """Return the models to compare: the reference, the others, and the recommended one.

    names: the others; by default the quick ones.
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

    params: given parameters by model. repeats: seeds of a random model, from `seed` on. Raise
    UserError for an unknown or unsuitable model or parameter.
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


@dataclass(frozen=True)
class Choice:
    """The recommended model, None if none can be, and why with the evidence."""

    model: str | None
    sentence: str


def choose(problem: Problem, entry: Entry) -> Choice:
    """Return the choice from the entry of the recommended model, or none."""
    if not entry.fits or entry.worthless:
        why = "; ".join(doubt.text for doubt in entry.doubts if doubt.worthless)
        return Choice(None, f"No model is recommended: {RECOMMENDED}: {why}. {REMEDY}")
    few = min(len(domain.seen) for domain in problem.domains)
    if few < FEW:
        return Choice(None, f"No model is recommended for {few} documents; {FEW} are needed.")
    signs, shares = entry.fits[0].diagnostics, {"no shift"}
    agreement = signs.get("agreement", 1.0)
    if agreement < WEAK_AGREEMENT:
        why = f"the methods agree too little to trust one ({agreement:.2f}, below {WEAK_AGREEMENT})"
        return Choice(None, f"No model is recommended: {why}. {REMEDY}")
    if "agreement" in signs:
        why = f"its members agree on the class shares ({agreement:.2f}; {WEAK_AGREEMENT} is needed)"
        shares = {*SHARES} - shares
        if signs["alike"]:
            of_targets = f"{signs['alike']:.0f} of {len(problem.targets)} targets"
            why += f", and {of_targets} look like the source"
    elif signs["alike"]:
        why = "source and target look alike, so it decides as the SVM"
    else:
        why = "its decisions have the class shares of its parameter prior"
    if entry.params != parameters.resolve(models.load(RECOMMENDED), {}, RECOMMENDED):
        shares = set()
    known = f"{_evidence(shares)}{_outside(problem)}"
    return Choice(RECOMMENDED, f"Recommended: {RECOMMENDED}; {why}.{known}")


def _outside(problem: Problem) -> str:
    """Return a sentence if the problem is larger or smaller than what the evidence is from."""
    least = min(len(domain.seen) for domain in problem.domains)
    most, classes = max(len(domain.seen) for domain in problem.domains), len(problem.classes)
    if least >= MIN_EVIDENCE and most <= MAX_EVIDENCE and classes <= MAX_CLASSES:
        return ""
    return (
        f" Your data are outside the range of the experiment `choice` ({MIN_EVIDENCE:,} to "
        f"{MAX_EVIDENCE:,} documents a domain, two to {MAX_CLASSES} classes): label a sample to be "
        "sure."
    )


def _evidence(shares: Set[str]) -> str:
    """Return a sentence on the regret of the recommended model in the experiment `choice`.

    It is on tasks of 500 documents a domain and more where the model is advised, in points of
    accuracy: the mean of the corpora's means, its 95 per cent t interval, and the worst of a task.
    shares: those of the classes, of SHARES.
    """
    folder, found = experiments_dir(), list[dict[str, str]]()
    path = next((folder / name for name in REGRET if (folder / name).is_file()), None)
    if path:
        with path.open(encoding="utf-8", newline="") as file:
            advised = f"{RECOMMENDED}, {ADVISED}", ANY
            for line in csv.DictReader(file):
                if (line["strategy"], line["documents"]) == advised and line["shares"] in shares:
                    found.append(line)
    if not found:
        return " No evidence is known for its parameters."
    tasks = sum(int(line["tasks"]) for line in found)
    corpora = max(int(line["corpora"]) for line in found)
    below = [
        f"{float(line['mean']):.1f} points ({float(line['low']):.1f} to {float(line['high']):.1f}, "
        f"at worst {float(line['worst']):.1f}) {SHARES[line['shares']]}"
        for line in found
    ]
    return (
        f" In the experiment `choice` ({tasks} tasks from {corpora} corpora, with whose labels "
        "it was designed) it is on average below the best of six single models by "
        f"{'; '.join(below)}. In brackets: the 95 % interval over corpora."
    )


@dataclass(frozen=True)
class Entry:
    """A compared model.

    fits     : the fit of each seed; empty if the model could not be fitted.
    seconds  : mean wall time of a fit.
    doubts : reasons to doubt the first seed's decisions, or why there is no fit.
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


def compare(problem: Problem, plans: Iterable[FitPlan], *, names: Sequence[str] = ()) -> Comparison:
    """Fit the models, and recommend one if it is among them.

    plans: see `plan`. names: how doubts call the targets. Raise UserError if the first model cannot
    be fitted.
    """
    entries: dict[str, Entry] = {}
    for planned in plans:
        entry = fit_plan(problem, names, planned)
        if not entry.fits and not entries:
            raise UserError(f"{entry.model}: {entry.doubts[0]}.")
        entries[entry.model] = entry
    doubts = tuple(check_data(problem, names))
    choice = Choice(None, f"{NONE_RECOMMENDED} {REMEDY}" if problem.family == "multilabel" else "")
    if RECOMMENDED in entries:
        choice = choose(problem, entries[RECOMMENDED])
    return Comparison(problem, entries, doubts, choice)


def fit_plan(problem: Problem, names: Sequence[str], planned: FitPlan) -> Entry:
    """Fit a model with each of its seeds; a model that cannot be fitted has a doubt instead.

    names: what doubts call the targets.
    """
    fits, seconds = [], []
    fit_one = partial(models.fit, planned.model, params=planned.params, watch=None)
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("default")
        try:
            for seed in planned.seeds:
                start = time.perf_counter()
                fit = fit_in_tasks(problem, partial(fit_one, seed=seed))
                seconds.append(time.perf_counter() - start)
                if problem.family == "transfer" and fit.columns == "clusters":
                    text = "it finds clusters, which have no names; choose another model"
                    return _failed(planned, text)
                fits.append(fit)
        except (ValueError, ArithmeticError, MemoryError) as error:
            why = str(error).rstrip(".") or "out of memory"
            return _failed(planned, f"{why}; other parameters are given by --set")
    texts = dict.fromkeys(str(warning.message).rstrip(".") for warning in printed)
    doubts = [*map(Doubt, texts)]
    doubts += check_fit(planned.model, problem, planned.params, fits[0], names)
    return Entry(planned.model, planned.params, tuple(fits), fmean(seconds), tuple(doubts))


def _failed(planned: FitPlan, text: str) -> Entry:
    """Return the entry of a model without a fit; text: why."""
    return Entry(planned.model, planned.params, (), math.nan, (Doubt(text, True),))


def table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a line for each target and model.

    target, model, recommended, seconds, documents. One label a document: `share CLASS` of the
    decisions. Several: labels, the mean number of a document's labels; none, the share of documents
    without any. Where the truth has labels of the target: scored, their number, the measures and,
    of one label a document, `recall CLASS`. All are means over the seeds; of several seeds
    `accuracy_std` and so on are standard deviations, NaN for a model without a seed. warnings, a
    list of texts; worthless.

    `attrs` has recommended, recommendation (the sentence with its evidence) and source_shares, of
    the classes, or source_labels, the mean number of a document's labels.
    """
    import pandas as pd

    problem = compared.problem
    places: dict[str, int | None] = {
        domain.name: i for i, domain in enumerate(problem.domains) if not domain.seen.all()
    }
    if truth and truth.family == "multilabel" and sum(rows.any() for rows in truth.scored) > 1:
        places[ALL] = None
    measured = {
        name: [evaluate(fit, truth) if truth else {} for fit in entry.fits]
        for name, entry in compared.entries.items()
    }
    lines = []
    for place, i in places.items():
        here = [j for j in places.values() if j is not None] if i is None else [i]
        signs = {} if i is None else _shares(compared, i)
        for name, entry in compared.entries.items():
            line: dict[str, Any] = {"target": place, "model": name}
            line |= {"recommended": i is not None and name == compared.choice.model}
            line |= {"seconds": entry.seconds}
            line |= {"documents": sum(len(problem.domains[j].seen) for j in here)}
            line |= signs.get(name, {})
            if truth and any(truth.scored[j].any() for j in here):
                line["scored"] = sum(int(truth.scored[j].sum()) for j in here)
                line |= _means([of_seed[place] for of_seed in measured[name]])
                if truth.family == "transfer" and entry.fits:
                    line |= _recall(truth, here[0], entry.fits)
            line |= {"warnings": [*map(str, entry.doubts)]}
            lines.append(line | {"worthless": entry.worthless})
    frame = pd.DataFrame(lines)
    if problem.family == "transfer":
        shares = labelled_shares(problem).tolist()
        frame.attrs["source_shares"] = dict(zip(problem.classes, shares, strict=True))
    elif problem.family == "multilabel":
        seen = [domain.Y[domain.seen].sum(axis=1) for domain in problem.domains]
        frame.attrs["source_labels"] = float(np.concatenate(seen).mean())
    frame.attrs["recommended"] = compared.choice.model
    frame.attrs["recommendation"] = compared.choice.sentence
    return frame


def _shares(compared: Comparison, i: int) -> dict[str, dict[str, float]]:
    """Return the label-free columns of `table` on domain i, by fitted model."""
    problem = compared.problem
    found: dict[str, dict[str, float]] = {}
    for name, entry in compared.entries.items() if problem.family != "clustering" else ():
        scores = [fit.scores[i] for fit in entry.fits]
        if not scores:
            continue
        if problem.family == "multilabel":
            found[name] = {
                "labels": fmean(float((S >= THRESHOLD).sum(axis=1).mean()) for S in scores),
                "none": fmean(float(np.mean((S < THRESHOLD).all(axis=1))) for S in scores),
            }
        else:
            c = len(problem.classes)
            counts = np.mean([np.bincount(S.argmax(axis=1), minlength=c) for S in scores], axis=0)
            shares = zip(problem.classes, (counts / len(scores[0])).tolist(), strict=True)
            found[name] = {f"share {label}": share for label, share in shares}
    return found


def _means(of_seeds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure over the seeds and, of several, its standard deviation."""
    found: dict[str, float] = {}
    for name in of_seeds[0] if of_seeds else ():
        values = [measures[name] for measures in of_seeds]
        found[name] = fmean(values)
        if len(values) > 1:
            found[f"{name}_std"] = stdev(values)
    return found


def _recall(truth: Truth, i: int, fits: Sequence[Fit]) -> dict[str, float]:
    """Return the mean recall of each class on domain i over the seeds, NaN for absent classes."""
    from sklearn.metrics import recall_score

    rows, labels = truth.scored[i], range(len(truth.classes))
    recall = partial(recall_score, labels=labels, average=None, zero_division=np.nan)
    true = truth.Y[i][rows].argmax(axis=1)
    recalls = np.mean([recall(true, fit.scores[i][rows].argmax(axis=1)) for fit in fits], axis=0)
    return {f"recall {c}": v for c, v in zip(truth.classes, recalls.tolist(), strict=True)}
