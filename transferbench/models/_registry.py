"""Find models by name, with family, file and fingerprint, without importing them."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from transferbench import plugins
from transferbench.errors import UserError, brief, unknown
from transferbench.fingerprint import fingerprint, summary

if TYPE_CHECKING:
    from transferbench.problem import Family

#: Name of the package of models, and start of the groups of entry points.
PACKAGE = "transferbench.models"
FOLDER = Path(__file__).parent
#: Our models whose fits have clusters of features, `Fit.factors`.
WITH_TOPICS = ("cd-plsa", "cocc", "dkt", "dtl", "gcmf", "hidc", "mrtl", "mtrick", "nmf", "tritl")
FAMILIES: tuple[Family, ...] = ("transfer", "clustering", "multilabel")
#: In the text of a model's file: it can compute on a GPU, see `core.device`.
ON_GPU = re.compile(r"^DEVICES = .*[\"']cuda[\"']", re.MULTILINE)
#: Transfer models that factorise or count the entries of the first view, which may not be negative.
NONNEGATIVE = WITH_TOPICS
FAMILY = re.compile(r"^FAMILY = [\"'](transfer|clustering|multilabel)[\"']", re.MULTILINE)


@dataclass(frozen=True)
class Model:
    """A model."""

    #: Name in commands and experiments.
    name: str
    #: Family of the problems that it solves.
    family: Family
    #: Its module; "" if it is not registered.
    module: str
    #: The file of its code.
    path: Path


@cache
def of_package() -> dict[str, Model]:
    """Return our models by name, which is that of the file, with hyphens."""
    return {
        (name := file.stem.replace("_", "-")): Model(
            name, family, f"{PACKAGE}.{family}.{file.stem}", file
        )
        for family in FAMILIES
        for file in sorted((FOLDER / family).glob("[!_]*.py"))
    }


@cache
def registry() -> dict[str, Model]:
    """Return every model by name, without importing any model."""
    # If the file of a plug-in cannot be found or parsed, the plug-in is left out, with a warning.
    models: dict[str, Model] = {}
    for family in FAMILIES:
        models |= {name: model for name, model in of_package().items() if model.family == family}
        for point in plugins.points().select(group=f"{PACKAGE}.{family}"):
            with plugins.left_out_if_broken(point.name):
                path = plugins.origin(point)
                summary(path)  # raises SyntaxError
                models.setdefault(point.name, Model(point.name, family, point.module, path))
    return models


def get(name: str) -> Model:
    """Return a model by name, without importing it."""
    if name.endswith(".py"):
        family = None
        with suppress(OSError, ValueError):  # `load` reports a missing file
            family = FAMILY.search(Path(name).read_text("utf-8")) if Path(name).is_file() else None
        return Model(name, family[1] if family else "transfer", "", Path(name))  # type: ignore[arg-type]
    if ":" in name:
        return Model(name, "transfer", "", FOLDER / "external.py")
    if name in of_package():
        return of_package()[name]
    if name not in registry():
        if Path(f"{name}.py").is_file():
            raise UserError(f"unknown model {brief(name)}; for the file write {name}.py.")
        raise unknown("model", name, registry(), "See `transferbench list models`.")
    return registry()[name]


def is_external(name: str) -> bool:
    """Return True for a model that is not registered: a Python file, or package.module:Name."""
    return name.endswith(".py") or ":" in name


@cache
def code(name: str) -> str:
    """Return the fingerprint of a model's code, without running it."""
    # The fingerprint of an estimator depends on its name and the version of its package.
    path = get(name).path
    if not path.is_file():
        raise UserError(f"there is no file {brief(name)}; expected a Python file with `fit`.")
    if ":" not in name:
        return fingerprint(path)
    from transferbench.models import external

    text = f"{name} {external.versions(name)} {fingerprint(path)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_device(name: str, device: str) -> None:
    """Check that a model can compute on a device; every model can compute on the host."""

    def able(model: Model) -> bool:
        return bool(ON_GPU.search(model.path.read_text(encoding="utf-8")))

    if device != "cpu" and not able(get(name)):
        names = [model.name for model in registry().values() if able(model)]
        raise UserError(
            f"{name} cannot compute on device {device}; expected one of {', '.join(names)}. "
            "Perform runs of other models first, without --device: finished runs are kept."
        )


def check_family(name: str, family: str) -> None:
    """Check that a model solves problems of a family."""
    if get(name).family != family:
        names = [model.name for model in registry().values() if model.family == family]
        raise UserError(
            f"{name} is a {get(name).family} model and this is a {family} problem; "
            f"models for it: {', '.join(names) or 'none yet'}."
        )
