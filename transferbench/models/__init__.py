"""The models: a folder for each family, a file for each model, its `fit` the whole interface.

Other packages add models by entry points in the group `transferbench.models.<family>`, each naming
a module with a `fit`.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from transferbench.errors import UserError, unknown

if TYPE_CHECKING:
    from transferbench.problem import Fit

FOLDER = Path(__file__).parent
FAMILIES = ("transfer", "clustering", "multilabel")


@dataclass(frozen=True)
class Model:
    """A registered model: the family whose problems it solves, its module, the module's file."""

    name: str
    family: str
    module: str
    path: Path


@cache
def registry() -> dict[str, Model]:
    """Every model by name (a file's, with hyphens); reading the folders imports no model."""
    found = {}
    for family in FAMILIES:
        for file in sorted((FOLDER / family).glob("[!_]*.py")):
            name = file.stem.replace("_", "-")
            found[name] = Model(name, family, f"{__name__}.{family}.{file.stem}", file)
        for point in entry_points(group=f"{__name__}.{family}"):
            try:
                spec = find_spec(point.value)
            except ImportError as error:
                warnings.warn(f"plug-in {point.value} left out: {error}", stacklevel=2)
                continue
            if spec and spec.origin:
                model = Model(point.name, family, point.value, Path(spec.origin))
                found.setdefault(point.name, model)
    return found


def get(name: str) -> Model:
    """A model by name. Raises UserError for an unknown one."""
    if name not in registry():
        raise unknown("model", name, registry(), "See `transferbench list models`.")
    return registry()[name]


def load(name: str) -> Callable[..., Fit]:
    """The `fit` of a model. Raises UserError for an unknown name."""
    return importlib.import_module(get(name).module).fit  # type: ignore[no-any-return]


def check_family(name: str, family: str) -> None:
    """Raises UserError where a model is not made for problems of this family."""
    if get(name).family != family:
        fitting = [model.name for model in registry().values() if model.family == family]
        raise UserError(
            f"{name} is a {get(name).family} model and this is a {family} problem; "
            f"models for it: {', '.join(fitting) or 'none yet'}."
        )
