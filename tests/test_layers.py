"""Who may import whom: the walls between the rooms, read from the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import transferbench
from transferbench.fingerprint import imports

PACKAGE = Path(transferbench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

#: Small files that every room may use.
SMALL = {
    "errors": set(),
    "problem": set(),
    "fingerprint": set(),
    "files": {"errors"},
    "strict_yaml": {"errors"},
    "parameters": {"errors"},
    "settings": {"errors", "parameters"},
    "metrics": {"problem"},
}
#: Room → the other rooms it may use. A room is a folder or a module of the package.
ROOMS = {
    "core": set(),
    "models": {"core"},
    "data": {"core"},
    # Reached by entry points alone, like a package of another author.
    "baselines": {"core", "data", "models"},
    "runs": {"models", "data"},
    "experiments": {"models", "data", "runs"},
    "evidence": {"models", "experiments", "runs"},
    # What the command line and Python users call.
    "api": {"models", "data", "experiments", "evidence"},
    "estimators": {"api", "data"},
    "forecast": {"data", "experiments", "runs", "evidence"},
    "reproduce": {"evidence", "experiments", "runs", "forecast"},
    "verify": {"experiments", "runs", "evidence"},
}


def room(dotted: str) -> str:
    return [*dotted.split("."), ""][1]


def used(path: Path) -> set[str]:
    rooms = {room(name) for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    there = {part.stem for part in PACKAGE.iterdir()}
    return (rooms & there) - {"__init__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_below(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in ("cli", "__main__", "__init__"):
        return  # these see everything; nobody sees them, as the other rooms' lists show
    allowed = SMALL[own] if own in SMALL else ROOMS[own] | set(SMALL)
    assert used(path) <= allowed | {own}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("models/*/[!_]*.py")), ids=lambda p: p.stem)
def test_a_model_imports_no_sibling(path):
    names = imports(ast.parse(path.read_text(encoding="utf-8")))
    models = {name for name in names if name.startswith("transferbench.models")}
    own = f"transferbench.models.{path.parent.name}._shared"
    assert all(name.startswith(own) for name in models)


def test_every_room_is_on_the_plan():
    rooms = {
        p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert rooms - {"__init__", "__main__", "cli"} == set(SMALL) | set(ROOMS)
