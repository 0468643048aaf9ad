"""Every model on every case of its contract: hostile and degenerate problems, scales, layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import contract

from transferbench import models
from transferbench.errors import Unavailable

Outcome = tuple[bool, str]


def scenario(family: str) -> Callable[..., Outcome]:
    """Return the scenario that fits the models of a family to every case."""

    def run(folder: Path, times: int = 0) -> Outcome:
        cases: Counter[str] = Counter()
        wrong, skipped = [], []
        for name in (name for name in contract.ALL if models.get(name).family == family):
            try:
                for kind, case in contract.product(name):
                    outcome = contract.check(name, kind, case)
                    cases[kind] += 1
                    if outcome.wrong:
                        wrong.append(f"{name}, {case}: {outcome.wrong}")
            except Unavailable:
                skipped.append(name)
        counts = ", ".join(f"{n} {kind}" for kind, n in cases.items())
        without = f"; without {', '.join(skipped)}" if skipped else ""
        found = "; ".join([f"{len(wrong)} wrong", *wrong[:3]])
        return not wrong, f"{cases.total()} fits ({counts}): {found}{without}"

    run.__doc__ = f"the {family} models on every case of their contract"
    return run
