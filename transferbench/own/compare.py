"""The comparison of models that are fitted on one problem, and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from transferbench.core.priors import labelled_shares
from transferbench.errors import Doubt
from transferbench.measures import ALL, THRESHOLD, correct, evaluate
from transferbench.messages import short_label
from transferbench.own.advice import Choice
from transferbench.own.fits import ComparedModel
from transferbench.own.sample import held_out, with_features
from transferbench.own.separation import Separation
from transferbench.problem import Fit, Problem, Truth
from transferbench.stats import PairedTest, paired_error

if TYPE_CHECKING:
    from transferbench.own.comparison_table import ComparisonTable


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


def results_table(compared: Comparison, truth: Truth | None = None) -> ComparisonTable:
    """Return a table of the models' decisions and, if targets have labels, of their measures."""
    # `truth`: Labels of the targets, None if there are none.
    # Returns: A row for each target and model. Multi-label problems also have rows for all targets
    # together. `attrs` has the fields of `Comparison.summary_fields`. Values are means over the
    # seeds. A document of a labelled sample is decided by a fit that has not seen its label.
    from transferbench.own.comparison_table import ComparisonTable  # loads pandas

    problem, domains = compared.problem, compared.problem.domains
    targets = {domain.name: [i] for i, domain in enumerate(domains) if not domain.seen.all()}
    scored = [int(rows.sum()) for rows in truth.scored] if truth else []
    if truth and truth.family == "multilabel" and sum(map(bool, scored)) > 1:
        targets[ALL] = [i for indices in targets.values() for i in indices]
    rows, (first, *_) = [], compared.models.values()
    for target, indices in targets.items():
        names = ["", *(domains[i].name for i in indices)]
        of_data = [doubt for doubt in compared.doubts if doubt.target in names]
        for name, model in compared.models.items():
            of_model = [doubt for doubt in model.doubts if doubt.target in names]
            row: dict[str, Any] = {
                "target": target,
                "model": name,
                "recommended": target != ALL and name == compared.choice.model,
                "seconds": model.seconds,
                "documents": sum(len(domains[i].seen) for i in indices),
            }
            if model.fits and target != ALL and problem.family != "clustering":
                row |= _decisions(problem, model.fits, indices[0])
            if any(scored):
                row["scored"] = sum(scored[i] for i in indices)
            if truth and row.get("scored") and model.fits:
                row |= _measures(model.fits, truth, target)
                if model.untrained:  # fits without the labels of the sample
                    measured = [evaluate(fit, truth)[target] for fit in model.untrained]
                    row["untrained"] = fmean(of_fit["accuracy"] for of_fit in measured)
                if truth.family == "transfer":
                    row |= _recall(model.fits, truth, indices[0])
                if truth.family != "multilabel" and model is not first:
                    row |= _ahead(model.fits, first.fits, truth, target)
            worthless = any(doubt.worthless for doubt in (*of_model, *of_data))
            rows.append(row | {"warnings": [*map(str, of_model)], "worthless": worthless})
    frame = ComparisonTable(rows)
    frame.attrs |= compared.summary_fields()
    return frame


def _decisions(problem: Problem, fits: Sequence[Fit], i: int) -> dict[str, float]:
    """Return share CLASS, or labels and none: mean number of labels, and documents without any."""
    # Only documents with a feature count.
    target = problem.domains[i]
    shares = np.mean([decided_shares(problem, fit)[target.name] for fit in fits], axis=0)
    if problem.family == "transfer":
        return {f"share {name}": s for name, s in zip(problem.classes, shares, strict=True)}
    known = with_features(target)
    none = [np.mean((fit.scores[i][known] < THRESHOLD).all(axis=1)) for fit in fits]
    return {"labels": float(shares.sum()), "none": float(np.mean(none))}


def _measures(fits: Sequence[Fit], truth: Truth, target: str) -> dict[str, float]:
    """Return each measure and, for several seeds, its standard deviation, such as accuracy_std."""
    # A deviation is NaN for a model without a seed.
    by_seed = [evaluate(held_out(fit), truth)[target] for fit in fits]
    values = {name: [of_seed[name] for of_seed in by_seed] for name in by_seed[0]}
    means = {name: fmean(numbers) for name, numbers in values.items()}
    if len(by_seed) > 1:
        means |= {f"{name}_std": stdev(numbers) for name, numbers in values.items()}
    return means


def _recall(fits: Sequence[Fit], truth: Truth, i: int) -> dict[str, float]:
    """Return recall CLASS, the mean over the seeds, NaN for absent classes."""
    from sklearn.metrics import recall_score

    rows, labels = truth.scored[i], range(len(truth.classes))
    recall = partial(recall_score, labels=labels, average=None, zero_division=np.nan)
    true = truth.Y[i][rows].argmax(axis=1)
    scores = [held_out(fit).scores[i][rows] for fit in fits]
    recalls = np.mean([recall(true, S.argmax(axis=1)) for S in scores], axis=0)
    return {f"recall {c}": recall for c, recall in zip(truth.classes, recalls, strict=True)}


def _ahead(
    fits: Sequence[Fit], of_first: Sequence[Fit], truth: Truth, target: str
) -> dict[str, float]:
    """Return ahead and ahead_p: the accuracy less that of the first model, and its two-sided p."""
    # Decisions are paired by document and seed. A model without seeds has one fit, which is paired
    # with every fit of the other model.
    ours, theirs = (
        np.array([correct(held_out(fit), truth)[target] for fit in of_model], float)
        for of_model in (fits, of_first)
    )
    by_seed, by_document = (ours - theirs).mean(axis=1), (ours - theirs).mean(axis=0)
    seeds = tuple(range(len(by_seed))) if len(by_seed) > 1 else (None,)
    test = PairedTest(target, tuple(by_seed), seeds=seeds, error=paired_error([by_document]))
    return {"ahead": test.mean, "ahead_p": test.p_two_sided}


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


def shares_beside_source(
    problem: Problem, fit: Fit, most: int
) -> dict[str, list[tuple[str, float, float]]]:
    """Return class, share in the sources and share of the decisions, by target."""
    # `most`: Number of classes: those whose shares differ most. There are none without a source.
    if not problem.sources:
        return {}
    source = np.concatenate([domain.Y for domain in problem.sources]).mean(axis=0)
    return {
        target: [
            (short_label(problem.classes[c]), float(source[c]), float(shares[c]))
            for c in sorted(np.argsort(-abs(shares - source), kind="stable")[:most])
        ]
        for target, shares in decided_shares(problem, fit).items()
    }
