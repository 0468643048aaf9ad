"""Fit a model, or read the same fit that an earlier command kept.

A fit is kept as an artefact, see `artefacts`. It is found by the content of the problem, the model
and the fingerprint of its code, the parameters and the seed. So `predict` after `compare` on the
same files need not fit again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from transferbench import artefacts, models
from transferbench.own.multilabel import fit_in_tasks
from transferbench.problem import FeatureClusters as FeatureClusters  # found here by artefacts
from transferbench.problem import Fit, Problem


def fit(
    model: str,
    problem: Problem,
    params: Mapping[str, Any],
    seed: int | None,
    memory: artefacts.Memory,
    folder: artefacts.Folder | None,
) -> tuple[Fit, float, list[str]]:
    """Return a fit, its wall time in seconds, and the texts of its warnings."""
    # `problem`: The problem; the tasks of a multi-label problem are pooled, see `fit_in_tasks`.
    # `seed`: Seed of the fit; None if the model takes no seed.
    # `folder`: Folder that keeps fits; None to keep none. Only fits of this package's models are
    # kept, because other code may do more than its fingerprint covers.

    @artefacts.artefact
    def fitted(
        problem: Problem, model: str, params: list[tuple[str, Any]], seed: int | None, code: str
    ) -> tuple[list[tuple[str, Any]], float, list[str]]:
        with warnings.catch_warnings(record=True) as printed:
            warnings.simplefilter("default")
            with artefacts.use(memory) as costs:
                start = costs.clock()
                fit_one = partial(models.fit, model, params=dict(params), seed=seed, watch=None)
                result = fit_in_tasks(problem, fit_one)
                seconds = costs.clock() - start
        texts = [str(warning.message).rstrip(".") for warning in printed]
        plain = vars(result) | {"diagnostics": [*result.diagnostics.items()]}
        return [*plain.items()], seconds, texts

    is_ours = not models.is_external(model) and models.get(model).path.is_relative_to(models.FOLDER)
    with artefacts.use(folder if is_ours else None):
        code = models.code(model) if folder and is_ours else ""
        packed, seconds, texts = fitted(problem, model, sorted(params.items()), seed, code)
    values = dict(packed)
    return Fit(**values | {"diagnostics": dict(values["diagnostics"])}), seconds, texts
