"""The models: a folder for each family, a file for each model, its `fit` the whole interface."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from transferbench.errors import UserError, unknown
from transferbench.problem import Fit

FOLDER = Path(__file__).parent


@cache
def paths() -> dict[str, Path]:
    """Model name (the file's, with hyphens) → file; reading the folders imports nothing."""
    files = sorted(FOLDER.glob("*/[!_]*.py"))
    return {file.stem.replace("_", "-"): file for file in files}


def path(name: str) -> Path:
    """The file of a model. Raises UserError for an unknown name."""
    if name not in paths():
        raise unknown("model", name, paths())
    return paths()[name]


def family(name: str) -> str:
    """The family (folder) a model belongs to."""
    return path(name).parent.name


def load(name: str) -> Callable[..., Fit]:
    """The `fit` of a model. Raises UserError for an unknown name."""
    file = path(name)
    return importlib.import_module(f"{__name__}.{file.parent.name}.{file.stem}").fit  # type: ignore[no-any-return]


def suit(name: str, problem_family: str) -> None:
    """Raises UserError where a model is not made for problems of this family."""
    if family(name) != problem_family:
        fitting = [model for model in paths() if family(model) == problem_family]
        raise UserError(
            f"{name} is a {family(name)} model and this is a {problem_family} problem; "
            f"models for it: {', '.join(fitting) or 'none yet'}."
        )
