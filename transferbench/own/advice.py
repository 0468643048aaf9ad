"""Recommend a model, or none, in three sentences: the model, the reason, and what to expect.

The rule is fixed: recommend the consensus of several methods. The recommendation is weak if there
is a reason: its members agree too little, other class shares are nearly as likely, or the data are
unlike those of the evidence. No model is recommended if the consensus cannot be fitted, or if its
result is worthless. With a labelled sample of the targets, another model that is right on
significantly more held-out documents is recommended instead. The sample is then the evidence.

results/choice/regret.md has the regret of the consensus with and without each of these reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench import models, parameters
from transferbench.evidence.thresholds import MIN_EVIDENCE, WEAK_AGREEMENT, WIDE
from transferbench.measures import correct
from transferbench.messages import short_label
from transferbench.own.doubts import UNNAMED
from transferbench.own.evidence import (
    BY_STRENGTH,
    GAINS_BY_LABELS,
    MANY_LABELS,
    MAX_CLASSES,
    MAX_DENSITY,
    MAX_EVIDENCE,
    RECOMMENDED,
    REGRETS,
)
from transferbench.own.fits import ComparedModel
from transferbench.own.sample import (
    AHEAD,
    RESAMPLES,
    SampleResult,
    held_out,
    judge,
    with_features,
)
from transferbench.own.separation import Separation
from transferbench.problem import Problem, Truth
from transferbench.stats import accuracy_interval

#: How far to trust a recommendation; "none" recommends no model.
Strength = Literal["strong", "weak", "none"]
LABEL = (
    "Label a sample: --label-sample 50 writes it, --labels reads it, and says what accuracy to "
    "expect."
)


@dataclass(frozen=True)
class Choice:
    """The recommendation."""

    #: Name of the recommended model, None if no model is recommended.
    model: str | None
    #: The model, the reason, and what to expect or to do.
    sentences: tuple[str, ...]
    #: Numbers on the quality of such recommendations.
    evidence: str = ""
    #: The accuracy to expect, and the ends of its 95 per cent interval; None without a labelled
    #: sample.
    accuracy: tuple[float, float, float] | None = None
    #: Strength of the recommendation; "none" recommends no model.
    strength: Strength = "none"


def no_recommendation(why: str, remedy: str = LABEL) -> Choice:
    """Return the choice that recommends no model, with the reason and the remedy."""
    return Choice(None, ("Recommended: no model.", f"Why: {why}.", remedy), _evidence())


#: No label-free criterion is validated for multi-label models.
NO_EVIDENCE = Choice(
    None,
    (
        "Recommended: no model.",
        "Why: there is no evidence for multi-label models.",
        "Give labels to a sample of the target. Every model is scored on them: take the best one.",
    ),
)


def choose(
    problem: Problem, compared: ComparedModel, separations: Mapping[str, Separation] = UNNAMED
) -> Choice:
    """Recommend a model without labels of the targets, strongly or weakly, or no model."""
    name = compared.model
    if not compared.fits or compared.worthless:
        why = "; ".join(doubt.text for doubt in compared.doubts if doubt.worthless)
        return no_recommendation(f"{name}: {why}")
    signs = compared.fits[0].diagnostics
    agreement, alike = signs.get("agreement", np.nan), signs.get("alike", 0)
    width = 100 * signs.get("share_width", 0)
    strange = [target for target, found in separations.items() if found.suspicious]
    defaults = parameters.resolve(models.load(name), {}, name)
    changed = [key for key, value in compared.params.items() if value != defaults[key]]
    outside = _outside(problem)
    if strange:
        outside.append(
            f"{', '.join(strange)} and the source differ as two languages, markup or signatures do"
        )
    weak = [*outside]
    if changed == ["prior"]:
        weak.append("its class shares are given, and nothing checks them")
    elif changed:
        weak.append(f"the evidence does not cover its {', '.join(changed)}")
    agree = f"({agreement:.2f}; {WEAK_AGREEMENT} is needed)"
    if agreement < WEAK_AGREEMENT:
        weak.append(f"its members agree little {agree}")
    if width > 100 * WIDE or signs.get("share_peaks", 0) > 1:
        weak.append(
            f"class shares that are {width:.0f} points apart fit the data nearly equally well"
        )
    if agreement >= WEAK_AGREEMENT:
        strong = f"its members agree on the class shares {agree}"
        if alike:
            strong += f", and {alike:.0f} of {len(problem.targets)} targets look like the source"
    elif alike:
        strong = "source and target look alike, so it decides as the SVM"
    else:
        strong = "its decisions have the class shares of its parameter prior"
    regrets = [r for key, r in REGRETS.items() if (key == "no shift") == bool(alike)]
    least, most = min(r.mean for r in regrets), max(r.mean for r in regrets)
    points = f"{least:.0f} to {most:.0f}" if len(regrets) > 1 else f"{most:.1f}"
    below = "points of accuracy below the best of six models, at worst"
    mean, worst = BY_STRENGTH["weak"]
    if outside or changed:
        what = "such data" if outside else "these parameters"
        expect = f"The evidence does not cover {what}. {LABEL}"
    elif weak:
        expect = f"Where the recommendation was weak, it was on average {mean:.0f} {below} "
        expect += f"{worst:.0f}. Labels help most: --label-sample 50."
    else:
        expect = f"On the corpora of the evidence it was {points} {below} "
        expect += f"{max(r.worst for r in regrets):.0f}. Yours is unknown; labels help most: "
        expect += "--label-sample 50."
    return _choice(name, weak or [strong], expect, is_weak=bool(weak))


def choose_by_sample(
    problem: Problem, compared: Mapping[str, ComparedModel], sample: Truth
) -> Choice:
    """Recommend a model by held-out documents of a sample, with the accuracy to expect."""
    # The consensus is recommended, unless another model is right on significantly more documents.
    # If the consensus is not compared, the model that is right most often is recommended. If
    # several are equally good, the first of them is.
    names = [name for name, model in compared.items() if model.fits and not model.worthless]
    names.sort(key=lambda name: name != RECOMMENDED)
    if not names:
        return no_recommendation("the results of all models are worthless")
    judged = judge({name: compared[name].fits[0] for name in names}, sample, RECOMMENDED)
    best, right = next(iter(judged.right.items()))
    low, high = _interval(judged, sample)
    why = f"it is right on {right} of {judged.documents} labelled documents that were held out"
    reasons = _reasons_of_sample(problem, compared[best], sample, low)
    less = (
        f"; {100 * judged.optimism:.1f} points subtracted, as the best of {len(names)} models "
        "was taken"
    )
    expect = f"Expect {_expected(judged, sample, less if judged.optimism >= 5e-4 else '')}"
    chosen = _choice(best, [why + _rivals(judged), *reasons], expect, is_weak=bool(reasons))
    evidence = f"{_HOW_EXPECTED} {chosen.evidence}"
    return replace(chosen, evidence=evidence, accuracy=(judged.accuracy, low, high))


def _rivals(judged: SampleResult) -> str:
    """Return how the other models compare with the chosen one on the sample, "" without any."""
    (best, right), *others = judged.right.items()
    if not others:
        return ""
    rival, most = others[0]
    rank = ""
    if best == RECOMMENDED:
        ahead = f"{rival} may be ahead by chance"
        rank = f"; {ahead if most > right else 'no other is significantly better'}"
    elif RECOMMENDED in judged.right:
        rank = f"; significantly more than {RECOMMENDED}"
    elif most == right:
        rank = "; of equally good ones it is the first"
    return f" ({', '.join(f'{name} {count}' for name, count in others)}{rank})"


def _choice(name: str, why: Sequence[str], expect: str, *, is_weak: bool) -> Choice:
    """Return the recommendation of a model."""
    beginning = "Weakly recommended" if is_weak else "Recommended"
    sentences = (f"{beginning}: {name}.", f"Why: {'; '.join(why)}.", expect)
    return Choice(name, sentences, _evidence(), strength="weak" if is_weak else "strong")


def expected_accuracy(model: ComparedModel, sample: Truth) -> str:
    """Return the accuracy to expect of a model on the unlabelled documents, in one sentence."""
    judged = judge({model.model: model.fits[0]}, sample)
    return f"{model.model}: expect {_expected(judged, sample)}"


def _expected(judged: SampleResult, sample: Truth, more: str = "") -> str:
    """Return the accuracy to expect, with its interval."""
    low, high = _interval(judged, sample)
    return (
        f"an accuracy of {100 * judged.accuracy:.0f} % on the unlabelled documents "
        f"(95 % interval: {100 * low:.0f} to {100 * high:.0f}{more})."
    )


def _interval(judged: SampleResult, sample: Truth) -> tuple[float, float]:
    """Return the interval of the chosen model's accuracy on the documents without a label."""
    m, n = judged.documents, sum(len(rows) for rows in sample.scored if rows.any())
    return accuracy_interval(m * judged.accuracy, m, n - m)


def _reasons_of_sample(
    problem: Problem, model: ComparedModel, sample: Truth, low: float
) -> list[str]:
    """Return the reasons why a recommendation by a labelled sample is weak."""
    # With many labels the sample is the evidence, whatever the range of the other evidence.
    parts = zip(sample.Y, sample.scored, strict=True)
    counts = np.sum([Y[rows].sum(axis=0) for Y, rows in parts], axis=0)
    m, largest = int(counts.sum()), float(counts.max() / counts.sum())
    named = zip(problem.classes, counts, strict=True)
    missing = [short_label(name) for name, count in named if not count]
    trained, untrained = (
        np.concatenate([*correct(fit, sample).values()])
        for fit in (held_out(model.fits[0]), *model.untrained, model.fits[0])[:2]
    )
    ahead = untrained.sum() - trained.sum() if model.untrained else 0
    reasons = list[str]()
    if m < MANY_LABELS:
        reasons += [*_outside(problem), f"{m} labels are few; {MANY_LABELS} are needed"]
    if missing:
        listed = ", ".join(missing[:3]) + ", …" * (len(missing) > 3)
        reasons.append(f"the sample has no document of {listed}, so its accuracy there is unknown")
    if low < largest:
        largest_class = f"always choosing the largest class would be right on {100 * largest:.0f} %"
        reasons.append(f"{largest_class}, and {model.model} may not be better")
    if ahead > AHEAD * np.sqrt(np.sum(trained != untrained)):
        right = f"without the labels it is right on {untrained.sum()}"
        reasons.append(f"{right}: try --label-weight 1")
    return reasons


#: How the accuracy to expect is computed.
_HOW_EXPECTED = (
    "Accuracy to expect: the sample is divided into five folds, and each fold is hidden in turn. A "
    "fit that has not seen a document's label decides that document. The accuracy is the share of "
    "these decisions that are right. It is an estimate for the unlabelled documents. The interval "
    "counts the sample as two fifths smaller, because the fits are not independent, and is wider "
    "if few documents are unlabelled. The best of several models looks better than it is. So the "
    f"mean excess over {RESAMPLES:,} bootstrap samples is subtracted."
)


def _outside(problem: Problem) -> list[str]:
    """Return the differences between the data and those of the evidence."""
    sizes = [int(with_features(domain).sum()) for domain in problem.domains]
    size = min(sizes) if min(sizes) < MIN_EVIDENCE else max(sizes)
    matrices = [sp.csr_array(domain.X) for domain in problem.domains]
    density = max(float(X.count_nonzero() / np.prod(X.shape)) for X in matrices)
    classes = len(problem.classes)
    found = list[str]()
    if not MIN_EVIDENCE <= size <= MAX_EVIDENCE:
        evidence = f"the evidence has {MIN_EVIDENCE:,} to {MAX_EVIDENCE:,}"
        found.append(f"a domain has {size:,} documents, {evidence}")
    if classes > MAX_CLASSES:
        found.append(f"there are {classes} classes, the evidence has 2 to {MAX_CLASSES}")
    if density > MAX_DENSITY:
        evidence = f"the evidence is from texts, with {100 * MAX_DENSITY:.0f} % at most"
        found.append(f"{100 * density:.0f} % of the features of a domain are not 0, {evidence}")
    return found


def _evidence() -> str:
    """Return a paragraph on the regrets of such recommendations."""
    without = "; ".join(
        f"{r.mean:.1f} ({r.low:.1f} to {r.high:.1f}, at worst {r.worst:.1f}) {r.where}"
        for r in REGRETS.values()
    )
    by_strength = " and ".join(
        f"{mean:.1f} (at worst {worst:.1f}) where it is {strength}"
        for strength, (mean, worst) in BY_STRENGTH.items()
    )
    by_labels = ", ".join(
        f"{mean:+.1f} (at worst {worst:+.1f}) by {m} labels"
        for m, (mean, worst) in GAINS_BY_LABELS.items()
    )
    return (
        "Evidence without labels: points of accuracy below the best of six single models, which is "
        "known from all labels. Each number is a mean over corpora, with its 95 % interval and the "
        f"worst task. Settings of {RECOMMENDED} that were chosen on other corpora lose {without}. "
        f"Its default settings lose {by_strength}, over all class shares and sizes. Evidence with "
        "a labelled sample: points above logistic regression on words and n-grams, trained on "
        f"source and sample. {RECOMMENDED} gains {by_labels}. Its settings were found on the same "
        "corpora."
    )
