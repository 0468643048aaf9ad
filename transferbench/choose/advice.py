"""Recommend a model, or none, in three sentences: which, why, and what to expect.

Without labels the rule is fixed: recommend the consensus of several methods. Recommend no model if
its members agree too little, if doubts make its result worthless, or if the data are unlike those
of the evidence. With a labelled sample of the targets, recommend the model with most right answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transferbench import models, parameters
from transferbench.choose.evidence import (
    BY_SAMPLE,
    MAX_CLASSES,
    MAX_DENSITY,
    MAX_EVIDENCE,
    MIN_EVIDENCE,
    RECOMMENDED,
    REGRETS,
)
from transferbench.choose.fits import ComparedModel
from transferbench.choose.sample import judge, wilson
from transferbench.models.transfer.consensus import FEW
from transferbench.problem import Problem, Truth
from transferbench.userdata.doubts import WEAK_AGREEMENT

LABEL = (
    "Label a sample: --label-sample 50 writes it, --labels reads it, and says what accuracy to "
    "expect."
)


@dataclass(frozen=True)
class Choice:
    """The recommendation.

    Parameters
    ----------
    model
        Name of the recommended model, None if no model is recommended.
    sentences
        Which model, why, and what to expect or to do.
    evidence
        Numbers on how good such recommendations are.
    accuracy
        The accuracy to expect, and the ends of its 95 per cent interval; None without a labelled
        sample.
    """

    model: str | None
    sentences: tuple[str, ...]
    evidence: str = ""
    accuracy: tuple[float, float, float] | None = None


def no_recommendation(why: str) -> Choice:
    """Return the choice that recommends no model, with the reason."""
    return Choice(None, ("Recommended: no model.", f"Why: {why}.", LABEL), _evidence())


#: No label-free criterion is validated for multi-label models.
NO_EVIDENCE = Choice(
    None,
    (
        "Recommended: no model.",
        "Why: there is no evidence for multi-label models.",
        "Give labels to a sample of the target: every model is scored on them.",
    ),
)


def choose(problem: Problem, compared: ComparedModel) -> Choice:
    """Recommend the consensus by its fits and diagnostics, or no model."""
    if not compared.fits or compared.worthless:
        why = "; ".join(doubt.text for doubt in compared.doubts if doubt.worthless)
        return no_recommendation(f"{RECOMMENDED}: {why}")
    if why := _outside(problem):
        return no_recommendation(why)
    diagnostics = compared.fits[0].diagnostics
    agreement = diagnostics.get("agreement")
    if agreement is not None and agreement < WEAK_AGREEMENT:
        return no_recommendation(
            f"the methods agree too little to trust one ({agreement:.2f}, below {WEAK_AGREEMENT})"
        )
    if agreement is not None:
        why = f"its members agree on the class shares ({agreement:.2f}; {WEAK_AGREEMENT} is needed)"
        if diagnostics["alike"]:
            of_targets = f"{diagnostics['alike']:.0f} of {len(problem.targets)} targets"
            why += f", and {of_targets} look like the source"
    elif diagnostics["alike"]:
        why = "source and target look alike, so it decides as the SVM"
    else:
        why = "its decisions have the class shares of its parameter prior"
    regrets = [
        r for name, r in REGRETS.items() if (name == "no shift") == bool(diagnostics["alike"])
    ]
    least, most = min(r.mean for r in regrets), max(r.mean for r in regrets)
    points = f"{least:.0f} to {most:.0f}" if len(regrets) > 1 else f"{most:.1f}"
    expect = (
        f"Expect {points} points of accuracy less than by the best of six models, in bad cases "
        f"{max(r.worst for r in regrets):.0f}. Labels help most: --label-sample 50."
    )
    if compared.params != parameters.resolve(models.load(RECOMMENDED), {}, RECOMMENDED):
        expect = f"No evidence is known for its parameters. {LABEL}"
    return Choice(
        RECOMMENDED, (f"Recommended: {RECOMMENDED}.", f"Why: {why}.", expect), _evidence()
    )


def choose_by_sample(compared: Mapping[str, ComparedModel], sample: Truth) -> Choice:
    """Recommend the model that is right most often on the sample; say what accuracy to expect.

    Of equally good models, prefer the consensus, then the first one.
    """
    names = [name for name, model in compared.items() if model.fits and not model.worthless]
    names.sort(key=lambda name: name != RECOMMENDED)
    if not names:
        return no_recommendation("the results of all models are worthless")
    judged = judge({name: compared[name].fits[0] for name in names}, sample)
    (best, right), *others = judged.right.items()
    m = judged.documents
    low, high = wilson(judged.accuracy, m)
    counts = ", ".join(f"{name} {count}" for name, count in others)
    why = f"Why: it is right on {right} of {m} labelled documents"
    if others:
        rank = "preferred" if best == RECOMMENDED else "the first"
        tie = f"; of equally good ones it is {rank}" if others[0][1] == right else ""
        why += f" ({counts}{tie})"
    less = f"; {100 * judged.optimism:.1f} points are taken off, as it is the best of {len(names)}"
    expect = (
        f"Expect an accuracy of {100 * judged.accuracy:.0f} % "
        f"(95 % interval: {100 * low:.0f} to {100 * high:.0f}{less if others else ''})."
    )
    sentences = f"Recommended: {best}.", f"{why}.", expect
    return Choice(best, sentences, _evidence(), (judged.accuracy, low, high))


def _outside(problem: Problem) -> str:
    """Return how the data differ from those of the evidence, "" if they are alike."""
    sizes = [len(domain.seen) for domain in problem.domains]
    if min(sizes) < FEW:
        return f"{min(sizes)} documents are too few; {FEW} are needed"
    if min(sizes) < MIN_EVIDENCE or max(sizes) > MAX_EVIDENCE:
        size = min(sizes) if min(sizes) < MIN_EVIDENCE else max(sizes)
        known = f"the evidence has {MIN_EVIDENCE:,} to {MAX_EVIDENCE:,}"
        return f"a domain has {size:,} documents; {known}"
    if len(problem.classes) > MAX_CLASSES:
        return f"there are {len(problem.classes)} classes; the evidence has two to {MAX_CLASSES}"
    densities = [np.mean(d.X != 0) if isinstance(d.X, np.ndarray) else d.X.nnz / np.prod(d.X.shape)
                 for d in problem.domains]  # fmt: skip
    if max(densities) > MAX_DENSITY:
        density = f"{100 * max(densities):.0f} % of the features of a domain are above zero"
        return f"{density}; the evidence is from texts, with {100 * MAX_DENSITY:.0f} % at most"
    return ""


def _evidence() -> str:
    """Return a paragraph on the regrets of such recommendations."""
    without = "; ".join(
        f"{r.mean:.1f} ({r.low:.1f} to {r.high:.1f}, at worst {r.worst:.1f}) {r.where}"
        for r in REGRETS.values()
    )
    by_labels = ", ".join(
        f"{mean:.1f} (at worst {worst:.1f}) by {m} labels" for m, (mean, worst) in BY_SAMPLE.items()
    )
    return (
        "Evidence: points of accuracy less than by the best of six single models, as known from "
        "all labels; the mean over corpora (its 95 % interval, the worst task). Without labels, "
        f"with settings of {RECOMMENDED} that were chosen on other corpora: {without}. With a "
        f"labelled sample: {by_labels}."
    )
