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


@dataclass(frozen=True)
class _Row:
    """A row of the table: a model on a target, or on all targets together."""

    compared: Comparison
    target: str
    #: Numbers of the domains of the target.
    domains: Sequence[int]
    model: ComparedModel


def results_table(compared: Comparison, truth: Truth | None = None) -> ComparisonTable:
    """Return a table of the models' decisions and, if targets have labels, of their measures."""
    # `truth`: Labels of the targets, None if there are none.
    # Returns: A row for each target and model. Multi-label problems also have rows for all targets
    # together. `attrs` has the fields of `Comparison.summary_fields`. The columns are those of
    # `_about`, `_decisions`, SCORED and `_doubts`. Values are means over the seeds. A document of a
    # labelled sample is decided by a fit that has not seen its label.
    from transferbench.own.comparison_table import ComparisonTable  # loads pandas

    domains = compared.problem.domains
    targets = {domain.name: [i] for i, domain in enumerate(domains) if not domain.seen.all()}
    scored = [int(rows.sum()) for rows in truth.scored] if truth else []
    if truth and truth.family == "multilabel" and sum(map(bool, scored)) > 1:
        targets[ALL] = [i for indices in targets.values() for i in indices]
    rows = []
    for target, indices in targets.items():
        for model in compared.models.values():
            row = _Row(compared, target, indices, model)
            values = _about(row) | _decisions(row)
            if any(scored):
                values["scored"] = sum(scored[i] for i in indices)
            if truth and values.get("scored") and model.fits:
                for column in SCORED:
                    values |= column(row, truth)
            rows.append(values | _doubts(row))
    frame = ComparisonTable(rows)
    frame.attrs |= compared.summary_fields()
    return frame


def _about(row: _Row) -> dict[str, Any]:
    """Return target, model, recommended, seconds of a fit, and the number of documents."""
    domains, name = row.compared.problem.domains, row.model.model
    return {
        "target": row.target,
        "model": name,
        "recommended": row.target != ALL and name == row.compared.choice.model,
        "seconds": row.model.seconds,
        "documents": sum(len(domains[i].seen) for i in row.domains),
    }


def _decisions(row: _Row) -> dict[str, float]:
    """Return share CLASS, or labels and none: mean number of labels, and documents without any."""
    # Only documents with a feature count.
    problem, fits = row.compared.problem, row.model.fits
    if not fits or row.target == ALL or problem.family == "clustering":
        return {}
    shares = np.mean([decided_shares(problem, fit)[row.target] for fit in fits], axis=0)
    if problem.family == "transfer":
        return {f"share {name}": s for name, s in zip(problem.classes, shares, strict=True)}
    (i,) = row.domains
    known = with_features(problem.domains[i])
    none = [np.mean((fit.scores[i][known] < THRESHOLD).all(axis=1)) for fit in fits]
    return {"labels": float(shares.sum()), "none": float(np.mean(none))}


def _measures(row: _Row, truth: Truth) -> dict[str, float]:
    """Return each measure and, for several seeds, its standard deviation, such as accuracy_std."""
    # A deviation is NaN for a model without a seed.
    by_seed = [evaluate(held_out(fit), truth)[row.target] for fit in row.model.fits]
    values = {name: [of_seed[name] for of_seed in by_seed] for name in by_seed[0]}
    means = {name: fmean(numbers) for name, numbers in values.items()}
    if len(by_seed) > 1:
        means |= {f"{name}_std": stdev(numbers) for name, numbers in values.items()}
    return means


def _untrained(row: _Row, truth: Truth) -> dict[str, float]:
    """Return untrained: accuracy of the fit without the labels of the sample."""
    fits = row.model.untrained
    accuracies = [evaluate(fit, truth)[row.target]["accuracy"] for fit in fits]
    return {"untrained": fmean(accuracies)} if fits else {}


def _recall(row: _Row, truth: Truth) -> dict[str, float]:
    """Return recall CLASS, the mean over the seeds, NaN for absent classes."""
    from sklearn.metrics import recall_score

    if truth.family != "transfer":
        return {}
    (i,) = row.domains
    rows, labels = truth.scored[i], range(len(truth.classes))
    recall = partial(recall_score, labels=labels, average=None, zero_division=np.nan)
    true = truth.Y[i][rows].argmax(axis=1)
    scores = [held_out(fit).scores[i][rows] for fit in row.model.fits]
    recalls = np.mean([recall(true, S.argmax(axis=1)) for S in scores], axis=0)
    return {f"recall {c}": recall for c, recall in zip(truth.classes, recalls, strict=True)}


def _ahead(row: _Row, truth: Truth) -> dict[str, float]:
    """Return ahead and ahead_p: the accuracy less that of the first model, and its two-sided p."""
    # Decisions are paired by document and seed. A model without seeds has one fit, which is paired
    # with every fit of the other model.
    first = next(iter(row.compared.models.values()))
    if truth.family == "multilabel" or row.model is first:
        return {}
    ours, theirs = (
        np.array([correct(held_out(fit), truth)[row.target] for fit in model.fits], float)
        for model in (row.model, first)
    )
    by_seed, by_document = (ours - theirs).mean(axis=1), (ours - theirs).mean(axis=0)
    seeds = tuple(range(len(by_seed))) if len(by_seed) > 1 else (None,)
    test = PairedTest(row.target, tuple(by_seed), seeds=seeds, error=paired_error([by_document]))
    return {"ahead": test.mean, "ahead_p": test.p_two_sided}


#: The columns of documents with labels, as functions that return values by name.
SCORED = (_measures, _untrained, _recall, _ahead)


def _doubts(row: _Row) -> dict[str, Any]:
    """Return warnings on the model, and worthless: True if its decisions should not be used."""
    names = [row.compared.problem.domains[i].name for i in row.domains]
    of_model, of_data = (
        [doubt for doubt in doubts if doubt.target in ("", *names)]
        for doubts in (row.model.doubts, row.compared.doubts)
    )
    worthless = any(doubt.worthless for doubt in (*of_model, *of_data))
    return {"warnings": [*map(str, of_model)], "worthless": worthless}


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
