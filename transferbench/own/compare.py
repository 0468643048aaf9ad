"""Compare the models that are fitted on one problem.

A problem may contain seen labels of a target: those of a random sample. They train the models and
choose one. Other labels of targets reach no model and no recommendation, because `compare` does not
receive the truth. If there is a truth, `results_table` uses it to add measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench import artefacts
from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt, UserError
from transferbench.measures import ALL, THRESHOLD, correct, evaluate
from transferbench.own.advice import (
    NO_EVIDENCE,
    Choice,
    choose,
    choose_by_sample,
    no_recommendation,
)
from transferbench.own.doubts import UNNAMED, data_doubts
from transferbench.own.fits import ComparedModel, FitPlan, fit_plan, recommended
from transferbench.own.sample import held_out, sample_of, with_features, without_sample
from transferbench.own.separation import Separation
from transferbench.problem import Fit, Problem, Truth
from transferbench.stats import PairedTest, paired_error

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Comparison:
    """Models compared on a problem."""

    problem: Problem
    models: Mapping[str, ComparedModel]
    #: Reasons to doubt the documents.
    doubts: tuple[Doubt, ...]
    choice: Choice
    #: Words or features that separate a target from the source, by target. Targets that do not
    #: differ are left out.
    separations: Mapping[str, Separation] = field(default_factory=dict)

    def is_worthless(self, *names: str) -> bool:
        """Return True if the documents, or the decisions of a named model, should not be used."""
        doubts = [*self.doubts, *(doubt for name in names for doubt in self.models[name].doubts)]
        return any(doubt.worthless for doubt in doubts)

    def summary_fields(self) -> dict[str, Any]:
        """Return the recommendation; for problems of one label, also the source's class shares."""
        problem = self.problem
        choice = self.choice
        facts = {
            "recommended": choice.model, "recommendation": "\n".join(choice.sentences),
            "strength": choice.strength, "evidence": choice.evidence,
            "expected_accuracy": choice.accuracy,
        }  # fmt: skip
        if problem.family != "transfer":
            return facts
        shares = labelled_shares(replace(problem, domains=problem.sources)).tolist()
        return {"source_shares": dict(zip(problem.classes, shares, strict=True)), **facts}


def compare(
    problem: Problem,
    plans: Iterable[FitPlan],
    separations: Mapping[str, Separation] = UNNAMED,
    *,
    crossed: bool = True,
    untrained: bool = True,
    clusters: bool = False,
    embedded: bool = False,
    folder: artefacts.Folder | None = None,
    whole: Problem | None = None,
) -> Comparison:
    """Fit the models, and recommend one."""
    # `problem`: Its targets may have labelled documents, drawn at random. They train the models,
    # choose one, and show what accuracy to expect of it.
    # `separations`: Words or features that separate targets from the source; doubts name them.
    # `crossed`: False if no model is to be chosen, so that labelled documents need not be held out.
    # `untrained`: True to fit each model also without the labelled documents, if there are some.
    # `folder`: Folder that keeps fits for the next command; None to keep none.
    fitted: dict[str, ComparedModel] = {}
    memory: artefacts.Memory = {}
    sample = sample_of(problem)
    without = without_sample(problem) if sample and untrained else None
    fit = partial(
        fit_plan, memory=memory, separations=separations, clusters=clusters, embedded=embedded,
        folder=folder,
    )  # fmt: skip
    for planned in plans:
        model = fit(problem, planned, crossed=crossed)
        if not model.fits and not fitted:
            raise UserError(f"{model.model}: {model.doubts[0]}.")
        if without and model.fits:
            model = replace(model, untrained=fit(without, planned).fits)
        fitted[model.model] = model
    doubts = tuple(data_doubts(problem, separations))
    worthless = [str(doubt) for doubt in doubts if doubt.worthless]
    choice = NO_EVIDENCE if problem.family == "multilabel" else Choice(None, ())
    best = recommended(problem.family)
    if worthless and best in fitted:
        choice = no_recommendation(
            "; ".join(worthless), "Give other documents; labels do not help here."
        )
    elif sample and crossed:
        choice = choose_by_sample(whole or problem, fitted, sample)
    elif best and best in fitted and not sample:
        choice = choose(whole or problem, fitted[best], separations)
    return Comparison(problem, fitted, doubts, choice, separations)


def results_table(compared: Comparison, truth: Truth | None = None) -> DataFrame:
    """Return a table of the models' decisions and, if targets have labels, of their measures."""
    # `truth`: Labels of the targets, None if there are none.
    # Returns: A row for each target and model. Multi-label problems also have rows for all targets
    # together. `attrs` has the fields of `Comparison.summary_fields`. Values are means over the
    # seeds, in these columns:
    # - target, model, recommended, seconds of a fit, and the number of documents.
    # - share CLASS: share of the class among the decisions on documents with a feature, if
    #   documents have one label.
    # - labels, none: mean number of labels, and share of documents without any, if documents have
    #   several labels.
    # - scored: number of documents with a label. This column and the next ones are present only if
    #   the truth has labels.
    # - the measures and, for several seeds, their standard deviations, such as accuracy_std. They
    #   are NaN for a model without a seed. A document of a labelled sample is decided by a fit that
    #   has not seen its label.
    # - untrained: accuracy of the fit without the labels of the sample, if there is a sample.
    # - recall CLASS: recall of the class, if documents have one label.
    # - ahead, ahead_p: the accuracy less that of the first model on the same documents, and its
    #   two-sided p over the documents and the seeds.
    # - warnings: doubts about the model's decisions on the target.
    # - worthless: True if these decisions should not be used.
    import pandas as pd

    domains, family = compared.problem.domains, compared.problem.family
    targets = {domain.name: [i] for i, domain in enumerate(domains) if not domain.seen.all()}
    scored = [int(rows.sum()) for rows in truth.scored] if truth else [0] * len(domains)
    if truth and truth.family == "multilabel" and sum(map(bool, scored)) > 1:
        targets[ALL] = [i for indices in targets.values() for i in indices]
    measured = {
        name: [evaluate(held_out(fit), truth) for fit in model.fits] if truth else []
        for name, model in compared.models.items()
    }
    first = next(iter(compared.models.values()))
    rows = []
    for target, indices in targets.items():
        n_scored = sum(scored[i] for i in indices)
        known = with_features(domains[indices[0]])
        for name, model in compared.models.items():
            scores = [fit.scores[indices[0]] for fit in model.fits]
            row: dict[str, Any] = {
                "target": target,
                "model": name,
                "recommended": target != ALL and name == compared.choice.model,
                "seconds": model.seconds,
                "documents": sum(len(domains[i].seen) for i in indices),
            }
            if scores and target != ALL:
                row |= _decisions(compared.problem, [S[known] for S in scores])
            if any(scored):
                row["scored"] = n_scored
            if truth and n_scored and scores:
                row |= _measures([of_fit[target] for of_fit in measured[name]])
                if model.untrained:
                    accuracies = [evaluate(f, truth)[target]["accuracy"] for f in model.untrained]
                    row["untrained"] = fmean(accuracies)
                if family == "transfer":
                    judged = [held_out(fit).scores[indices[0]] for fit in model.fits]
                    row |= _recall(truth, indices[0], judged)
                if family != "multilabel" and model is not first:
                    row |= _ahead(truth, target, model, first)
            about = ("", target) if target != ALL else ("", *targets)
            of_model = [doubt for doubt in model.doubts if doubt.target in about]
            of_data = [doubt for doubt in compared.doubts if doubt.target in about]
            worthless = any(doubt.worthless for doubt in (*of_model, *of_data))
            rows.append(row | {"warnings": [*map(str, of_model)], "worthless": worthless})
    frame = pd.DataFrame(rows)
    frame.attrs |= compared.summary_fields()
    return frame


def _decisions(problem: Problem, scores: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the class shares, or the numbers of labels, by the scores (n, c) of each seed."""
    if problem.family == "transfer":
        c = len(problem.classes)
        counts = [np.bincount(S.argmax(axis=1), minlength=c) for S in scores]
        shares = np.mean(counts, axis=0) / len(scores[0])
        return {f"share {name}": s for name, s in zip(problem.classes, shares, strict=True)}
    if problem.family == "multilabel":
        decided = [S >= THRESHOLD for S in scores]
        return {
            "labels": fmean(float(D.sum(axis=1).mean()) for D in decided),
            "none": fmean(float(np.mean(~D.any(axis=1))) for D in decided),
        }
    return {}


def decided_shares(problem: Problem, fit: Fit) -> dict[str, np.ndarray]:
    """Return the shares (c,) of the classes among the decisions, by target."""
    # Documents without any feature do not count, because their decisions are guesses.
    shares = {}
    targets = problem.targets
    for target, scores in zip(targets, fit.scores[-len(targets) :], strict=True):
        if problem.family == "multilabel":
            decided = scores >= THRESHOLD
        else:
            decided = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        shares[target.name] = decided[with_features(target)].mean(axis=0)
    return shares


def _measures(by_seed: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each measure and, for several seeds, its standard deviation."""
    values = {name: [of_seed[name] for of_seed in by_seed] for name in by_seed[0]}
    means = {name: fmean(numbers) for name, numbers in values.items()}
    if len(by_seed) > 1:
        means |= {f"{name}_std": stdev(numbers) for name, numbers in values.items()}
    return means


def _ahead(
    truth: Truth, target: str, model: ComparedModel, first: ComparedModel
) -> dict[str, float]:
    """Return the accuracy of a model less that of the first one, and its p."""
    # Decisions are paired by document and seed. A model without seeds has one fit, which is paired
    # with every fit of the other model.
    ours, theirs = (
        np.array([correct(held_out(fit), truth)[target] for fit in compared.fits], float)
        for compared in (model, first)
    )
    by_seed, by_document = (ours - theirs).mean(axis=1), (ours - theirs).mean(axis=0)
    seeds = tuple(range(len(by_seed))) if len(by_seed) > 1 else (None,)
    test = PairedTest(target, tuple(by_seed), seeds=seeds, error=paired_error([by_document]))
    return {"ahead": test.mean, "ahead_p": test.p_two_sided}


def _recall(truth: Truth, i: int, scores: Sequence[np.ndarray]) -> dict[str, float]:
    """Return the mean recall of each class on domain i over the seeds, NaN for absent classes."""
    from sklearn.metrics import recall_score

    rows, labels = truth.scored[i], range(len(truth.classes))
    recall = partial(recall_score, labels=labels, average=None, zero_division=np.nan)
    true = truth.Y[i][rows].argmax(axis=1)
    recalls = np.mean([recall(true, S[rows].argmax(axis=1)) for S in scores], axis=0)
    return {f"recall {c}": recall for c, recall in zip(truth.classes, recalls, strict=True)}
