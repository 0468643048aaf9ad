"""Recommend a model, or none, in sentences.

The rule is fixed: the consensus of several methods, unless its members agree too little, or its
result is worthless by its doubts; then none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from transferbench import models, parameters
from transferbench.choose.evidence import (
    MAX_CLASSES,
    MAX_EVIDENCE,
    MIN_EVIDENCE,
    RECOMMENDED,
    REGRETS,
    WEAK_AGREEMENT,
)
from transferbench.models.transfer.consensus import FEW
from transferbench.problem import Problem

if TYPE_CHECKING:
    from transferbench.choose.compare import Entry

REMEDY = "Label a sample of the target (--label-sample 50) and compare again."


@dataclass(frozen=True)
class Choice:
    """The recommended model, None if none can be, and why with the evidence."""

    model: str | None
    sentence: str


#: No label-free criterion is validated for multi-label models.
NO_EVIDENCE = Choice(
    None, f"No model is recommended: there is no evidence for multi-label models. {REMEDY}"
)


def choose(problem: Problem, entry: Entry) -> Choice:
    """Return the choice from the entry of the recommended model, or none."""
    if not entry.fits or entry.worthless:
        why = "; ".join(doubt.text for doubt in entry.doubts if doubt.worthless)
        return Choice(None, f"No model is recommended: {RECOMMENDED}: {why}. {REMEDY}")
    least = min(len(domain.seen) for domain in problem.domains)
    if least < FEW:
        return Choice(None, f"No model is recommended for {least} documents; {FEW} are needed.")
    signs = entry.fits[0].diagnostics
    agreement = signs.get("agreement")
    if agreement is not None and agreement < WEAK_AGREEMENT:
        why = f"the methods agree too little to trust one ({agreement:.2f}, below {WEAK_AGREEMENT})"
        return Choice(None, f"No model is recommended: {why}. {REMEDY}")
    if agreement is not None:
        why = f"its members agree on the class shares ({agreement:.2f}; {WEAK_AGREEMENT} is needed)"
        if signs["alike"]:
            of_targets = f"{signs['alike']:.0f} of {len(problem.targets)} targets"
            why += f", and {of_targets} look like the source"
    elif signs["alike"]:
        why = "source and target look alike, so it decides as the SVM"
    else:
        why = "its decisions have the class shares of its parameter prior"
    evidence = " No evidence is known for its parameters."
    if entry.params == parameters.resolve(models.load(RECOMMENDED), {}, RECOMMENDED):
        regrets = [
            r for shares, r in REGRETS.items() if (shares == "no shift") == (agreement is None)
        ]
        below = "; ".join(
            f"{r.mean:.1f} points ({r.low:.1f} to {r.high:.1f}, at worst {r.worst:.1f}) {r.where}"
            for r in regrets
        )
        evidence = (
            f" In the experiment `choice` ({sum(r.tasks for r in regrets)} tasks from "
            f"{max(r.corpora for r in regrets)} corpora, with whose labels it was designed) it is "
            f"on average below the best of six single models by {below}. In brackets: the 95 % "
            "interval over corpora."
        )
    most = max(len(domain.seen) for domain in problem.domains)
    if least < MIN_EVIDENCE or most > MAX_EVIDENCE or len(problem.classes) > MAX_CLASSES:
        evidence += (
            f" Your data are outside the range of the experiment `choice` ({MIN_EVIDENCE:,} to "
            f"{MAX_EVIDENCE:,} documents a domain, two to {MAX_CLASSES} classes): label a sample "
            "to be sure."
        )
    return Choice(RECOMMENDED, f"Recommended: {RECOMMENDED}; {why}.{evidence}")
