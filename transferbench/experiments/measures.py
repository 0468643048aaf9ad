"""Measures that a table or figure can show."""

from __future__ import annotations

from typing import Literal

Metric = Literal[
    "accuracy", "f1", "balanced_accuracy", "nmi", "hamming", "explained", "seconds", "peak_mib"
]

#: Cost of a run, in a unit of its own; costs are compared as ratios.
COSTS = ("seconds", "peak_mib")
#: Measures by family of models; explained variance needs no labels.
METRICS = {
    "transfer": ("accuracy", "f1", "balanced_accuracy", *COSTS),
    "clustering": ("accuracy", "nmi", "explained", *COSTS),
    "multilabel": ("f1", "accuracy", "hamming", *COSTS),
}
#: Names for readers, if they differ from the measure's own.
NAMES = {
    "nmi": "NMI",
    "f1": "F1",
    "balanced_accuracy": "balanced accuracy",
    "hamming": "Hamming loss",
    "explained": "explained variance",
    "peak_mib": "peak memory in MiB",
}
LOWER_IS_BETTER = ("hamming", *COSTS)
#: Smallest difference that matters to a claim without a threshold of its own: half a point in per
#: cent or .005 of a fraction; of costs and objectives a ratio, 10 per cent.
MATTERS = 0.005
MATTERS_RATIO = 1.1
