"""Who may import whom: the house's one rule, read from the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import transferbench
from transferbench.source import imports

PACKAGE = Path(transferbench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

#: Room → the rooms it may use. A room is a top-level module or folder of the package.
MAY = {
    "errors": set(),
    "problem": set(),
    "source": set(),
    "interrupts": set(),
    "settings": {"errors", "parameters"},
    "files": {"errors"},
    "located": {"errors"},
    "archive": {"errors"},
    "parameters": {"errors"},
    "text": set(),
    "fetch": {"errors", "settings", "archive"},
    "core": {"problem", "core"},
    "metrics": {"problem"},
    "models": {"errors", "problem", "parameters", "core"},
    "own": {"errors", "problem"},
    "datasets": {
        "archive",
        "core",
        "errors",
        "fetch",
        "located",
        "own",
        "parameters",
        "problem",
        "text",
    },
    # Reached by its entry points alone, like a package of another's.
    "modern": {"core", "datasets", "errors", "models", "parameters", "problem"},
    "tasks": {
        "errors",
        "problem",
        "parameters",
        "datasets",
        "fetch",
        "files",
        "settings",
        "source",
    },
    "records": {"errors", "models", "files", "source"},
    "schema": {"errors", "located", "parameters"},
    "experiment": {
        "errors",
        "located",
        "models",
        "parameters",
        "problem",
        "records",
        "schema",
        "settings",
        "tasks",
    },
    "forecast": {"errors", "experiment", "fetch", "records", "runner", "settings", "tasks"},
    "verify": {"experiment", "records", "settings"},
    "evidence": {
        "errors",
        "experiment",
        "files",
        "models",
        "parameters",
        "records",
        "schema",
    },
    "worker": {"errors", "metrics", "models", "problem", "records", "tasks"},
    "engines": {"errors", "files", "models", "records", "settings", "source", "tasks", "worker"},
    "runner": {
        "engines",
        "errors",
        "interrupts",
        "models",
        "parameters",
        "records",
        "settings",
        "tasks",
        "worker",
    },
    "api": {"metrics", "models", "parameters", "problem", "settings", "tasks"},
    "estimators": {"api", "own", "problem"},
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
    assert used(path) <= MAY[own] | {own}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("models/*/[!_]*.py")), ids=lambda p: p.stem)
def test_a_model_imports_no_sibling(path):
    names = imports(ast.parse(path.read_text(encoding="utf-8")))
    assert not [name for name in names if name.startswith("transferbench.models")]


def test_every_room_is_on_the_plan():
    rooms = {
        p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert rooms - {"__init__", "__main__", "cli"} == set(MAY)
