"""Which model to recommend without labels of the target, and the evidence for it.

The rule is fixed: CoCC, or logistic regression where CoCC's result is worthless by its warnings. If
the user states that the target's classes have equal shares, the vote of three models comes first.
The evidence is the regret of these strategies in the experiment `choice`: how far the chosen model
is below the best of all models, in points of accuracy, over its tasks.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transferbench.settings import experiments_dir

REFERENCE = "lr"
RECOMMENDED = "cocc"
#: Recommended first if the classes have equal shares; joins other models.
JOINT = ("vote",)
#: Model → the strategy in the table that recommends it.
STRATEGIES = {"cocc": "CoCC with a check", "vote": "vote of three", "lr": "LR"}
#: Table of the experiment `choice`, beside the experiments: in a checkout with the results, else
#: packaged with the YAML files.
REGRET = ("../results/choice/regret.csv", "regret.csv")


@dataclass(frozen=True)
class Evidence:
    """Regret of a strategy over the tasks of the experiment `choice`, in points of accuracy.

    mean, worst : the regret; place : the task where it is worst. below : by how many points the
    strategy is below logistic regression at most, negative if it never is.
    """

    mean: float
    worst: float
    place: str
    below: float

    def __str__(self) -> str:
        below = f"at most {self.below:.1f} below" if self.below > 0 else "never below"
        return (
            f"in the experiment `choice` it is {self.mean:.1f} points below the best model on "
            f"average, {self.worst:.1f} at worst ({self.place}), and {below} logistic regression"
        )


@dataclass(frozen=True)
class Choice:
    """The recommended model, why, and the evidence; None if there is no table of regrets."""

    model: str
    reason: str
    evidence: Evidence | None

    @property
    def sentence(self) -> str:
        """The recommendation in one sentence."""
        known = f"{self.evidence}" if self.evidence else "the experiment `choice` has no results"
        return f"Recommended: {self.model}, {self.reason}; {known}."


def candidates(equal_shares: bool) -> tuple[str, ...]:
    """Return the models that can be recommended, the preferred one first."""
    return (*(JOINT if equal_shares else ()), RECOMMENDED, REFERENCE)


def choose(worthless: Mapping[str, bool], equal_shares: bool) -> Choice:
    """Return the first candidate whose result is not worthless, else the reference.

    worthless: whether each compared model's result is, by checks without labels of a target.
    """
    wanted = candidates(equal_shares)
    model = next((name for name in wanted if not worthless[name]), REFERENCE)
    skipped = wanted[: wanted.index(model)]
    if worthless[model]:
        sound = [name for name in worthless if not worthless[name]]
        others = f"; not worthless: {', '.join(sound)}" if sound else ""
        reason = f"though its result, as that of {RECOMMENDED}, is worthless{others}"
    elif skipped:
        reason = f"as the result of {' and '.join(skipped)} is worthless"
    elif model in JOINT:
        reason = "as you state that the classes have equal shares"
    else:
        reason = "the model with the least regret where nothing is known of the target"
    return Choice(model, reason, evidence(model))


def regret_file() -> Path | None:
    """Return the path of the table of regrets; None if there is none."""
    folder = experiments_dir()
    return next((folder / name for name in REGRET if (folder / name).is_file()), None)


def evidence(model: str) -> Evidence | None:
    """Return the regret of the strategy that chooses a model; None without a line of it."""
    path = regret_file()
    if path is None:
        return None
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["strategy"] == STRATEGIES[model]:
                mean, worst, below = (float(line[n]) for n in ("mean", "worst", "below_reference"))
                return Evidence(mean, worst, line["worst_row"], below)
    return None
