"""Compare the models that are fitted on one problem, without labels of a target.

Labels of a target reach no model and no recommendation: `compare` does not receive the truth.
`table` uses it, if there is one, to add measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import artefacts
from transferbench.choose import sample as sampling
from transferbench.choose.advice import NO_EVIDENCE, Choice, choose, choose_by_sample
from transferbench.choose.evidence import RECOMMENDED
from transferbench.choose.fits import ComparedModel, FitPlan, fit_plan
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt, UserError
from transferbench.measures import ALL, THRESHOLD, correct, evaluate
from transferbench.problem import Fit, Problem, Truth
from transferbench.stats import PairedTest, paired_error
from transferbench.userdata.doubts import check_data, check_fit

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Comparison:
    """The compared models by name, doubts about the documents, and the recommendation."""

    problem: Problem
    models: Mapping[str, ComparedModel]
    doubts: tuple[Doubt, ...]
    choice: Choice

    def is_worthless(self, *names: str) -> bool:
        """True if the documents or the decisions of a model should not be used."""
        doubts = [*self.doubts, *(doubt for name in names for doubt in self.models[name].doubts)]
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
    fitted: dict[str, ComparedModel] = {}
    seeds: dict[str, tuple[int, ...]] = {}
    memory: artefacts.Memory = {}
    for planned in plans:
        seeds[planned.model] = tuple(seed or 0 for seed in planned.seeds)
        model = fit_plan(problem, planned, memory)
        if not model.fits and not fitted:
            raise UserError(f"{model.model}: {model.doubts[0]}.")
        fitted[model.model] = model
    choice = NO_EVIDENCE if problem.family == "multilabel" else Choice(None, ())
    best = fitted.get(RECOMMENDED)
    if sample and problem.family == "transfer":
        if best and best.fits and best.params["prior"] == "agreed":
            fits = tuple(
                sampling.decide(problem, fit, sample, seed)
                for fit, seed in zip(best.fits, seeds[RECOMMENDED], strict=True)
            )
            doubts = check_fit(RECOMMENDED, problem, best.params, fits[0])
            fitted[RECOMMENDED] = replace(best, fits=fits, doubts=tuple(doubts))
        choice = choose_by_sample(fitted, sample)
    elif best:
        choice = choose(problem, best)
    return Comparison(problem, fitted, tuple(check_data(problem)), choice)


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
        name: [evaluate(fit, truth) for fit in model.fits] if truth else []
        for name, model in compared.models.items()
    }
    first = next(iter(compared.models.values()))
    made, classes, family = [], compared.problem.classes, compared.problem.family
    for place, members in places.items():
        n = sum(scored[i] for i in members)
        for name, model in compared.models.items():
            scores = [fit.scores[members[0]] for fit in model.fits]
            row: dict[str, Any] = {
                "target": place, "model": name,
                "recommended": place != ALL and name == compared.choice.model,
                "seconds": model.seconds, "documents": sum(len(domains[i].seen) for i in members),
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
                if family != "multilabel" and model is not first:
                    ahead = _ahead(truth, place, model, first)
                    row |= {"ahead": ahead.mean, "ahead_p": ahead.p_two_sided}
            made.append(row | {"warnings": [*map(str, model.doubts)], "worthless": model.worthless})
    frame = pd.DataFrame(made)
    frame.attrs |= compared.facts()
    return frame


def decided_shares(problem: Problem, fit: Fit) -> dict[str, np.ndarray]:
    """Return the shares (c,) of the classes among the decisions, by target."""
    shares = {}
    targets = problem.targets
    for target, scores in zip(targets, fit.scores[-len(targets) :], strict=True):
        if problem.family == "multilabel":
            decided = scores >= THRESHOLD
        else:
            decided = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        shares[target.name] = decided.mean(axis=0)
    return shares


def _measures(by_seed: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure, and of several seeds also its deviation."""
    found = {name: fmean(each[name] for each in by_seed) for name in by_seed[0]}
    if len(by_seed) > 1:
        found |= {f"{name}_std": stdev(each[name] for each in by_seed) for name in by_seed[0]}
    return found


def _ahead(truth: Truth, place: str, model: ComparedModel, first: ComparedModel) -> PairedTest:
    """Compare a model with the first one by seed and document, several seeds also with one fit."""
    ours, theirs = (
        np.array([correct(fit, truth)[place] for fit in compared.fits], float)
        for compared in (model, first)
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
