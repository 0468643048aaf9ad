"""Sizes with which our models solve the tiny problems of `transferbench.contract`."""

from __future__ import annotations

from typing import Any

from transferbench import models, parameters
from transferbench.contract import MAKE as MAKE

ALL = list(models.registry())
#: Sizes for small problems; the defaults of models are too large.
SMALL = {
    **{"k": 6, "kappa": 3, "k1": 3, "k2": 6, "k3": 2, "b": 4.0, "r": 6, "sigma": 4.0, "p": 4},
    **{"max_iter": 20, "pretrain": 20, "finetune": 10},
    "tol": 1e-4,  # of TSVM; with its default the order of documents moves the scores a little
}
#: One weight of the labels, where the model would try several; few folds of `inductive`, with the
#: quickest model, because each has its own checks.
SMALL_OF_MODEL = {
    **{name: {"alpha": [1.0], "p": [6], "q": [6]} for name in ("himls", "himlsd")},
    "inductive": {"folds": 2, "model": "lr"},
    "mtfl": {"epsilon": [1e-2, 1e-4], "max_iter": 4},
    "ncut": {"sigma": None},  # the graph of the nearest documents, as by default
    "ot-mapping": {"max_iter": 100_000},  # steps of the network simplex, which stops before
}
#: Few iterations, for problems that only have to be solved somehow.
FEW = {"max_iter": 8, "components": 5, "pretrain": 4, "start_iter": 4}
FEW_OF_MODEL = {
    **{"tsvm": {"start": 0.1}, "mtfl": {"epsilon": [1e-2, 1e-6]}},
    **{"himls": {"alpha": [0.1]}, "himlsd": {"alpha": [0.1]}},
}


def small_params(name: str, *, few: bool = False) -> dict[str, Any]:
    """Return sizes for small problems and, with `few`, few iterations."""
    values = SMALL | SMALL_OF_MODEL.get(name, {})
    values |= FEW | FEW_OF_MODEL.get(name, {}) if few else {}
    return {k: v for k, v in values.items() if k in parameters.schema(models.load(name))}
