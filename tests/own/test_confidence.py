"""Confidence ranks documents: the most confident are right more often than the least."""

from __future__ import annotations

import numpy as np
import pytest

import transferbench
from transferbench import models, tasks
from transferbench.measures import normalize_scores
from transferbench.own.evidence import NO_CONFIDENCE

#: Tasks of the experiment `choice`, of corpora of different kinds.
TASKS = (
    "gtl/comp-vs-rec:documents=500",
    "reuters/orgs-vs-people:documents=500",
    "email-spam/inbox-0-to-1:documents=500",
    "crisislex/west-texas-vs-boston:documents=500",
)
LABELLING = [
    name
    for name, model in models.registry().items()
    if model.family == "transfer" and model.module.startswith("transferbench.models.")
]


def tenths(model: str, task: str, settings) -> tuple[float, float]:
    """Return the accuracies of the most and of the least confident tenth of the target."""
    problem, truth = tasks.load(tasks.Task.parse(task), settings)
    scores = transferbench.fit(model, problem).scores[-1]
    right = scores.argmax(axis=1) == truth.Y[-1].argmax(axis=1)
    order = np.argsort(normalize_scores(scores).max(axis=1), kind="stable")
    tenth = len(order) // 10
    return float(right[order[-tenth:]].mean()), float(right[order[:tenth]].mean())


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in LABELLING if name != "nmf"])
def test_the_most_confident_are_right_more_often(model, real):
    """On every task but one, unless the model gets no confidence; NMF's clusters have no names."""
    found = [tenths(model, task, real) for task in TASKS]
    wrong = sum(most < least for most, least in found)
    assert (wrong <= 1) == (model not in NO_CONFIDENCE)
