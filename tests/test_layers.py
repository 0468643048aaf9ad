"""Which part of the package may import which, checked in the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import transferbench
from transferbench.fingerprint import imports

PACKAGE = Path(transferbench.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

#: Small files that every part may use, with the small files that they may use.
SMALL = {
    "errors": set(),
    "messages": set(),
    "problem": set(),
    "fingerprint": set(),
    "plugins": {"messages"},
    "files": {"errors"},
    "strict_yaml": {"errors", "files"},
    "parameters": {"errors"},
    "settings": {"errors", "files", "parameters", "strict_yaml"},
    "measures": {"problem"},
    "artefacts": {"errors", "files", "fingerprint"},
}
#: Part → the other parts it may use. A part is a folder or a module of the package.
PARTS = {
    "core": set(),
    "models": {"core"},
    "data": {"core", "datasets"},
    "datasets": {"core", "data", "userdata"},
    "userdata": {"core", "data"},
    # Found by entry points only, as a plug-in of another package.
    "baselines": {"core", "data", "datasets", "models"},
    "runs": {"core", "models", "data", "userdata", "datasets", "choose"},
    "experiments": {"models", "data", "datasets", "choose", "runs"},
    "evidence": {"models", "datasets", "choose", "experiments", "runs"},
    "choose": {"core", "models", "data", "datasets", "userdata", "runs"},
    # What the command line and Python users call.
    "api": {"models", "data", "datasets", "userdata", "choose", "experiments", "evidence"},
    "estimators": {"api", "data", "datasets", "userdata"},
    "reproduce": {"data", "datasets", "evidence", "experiments", "runs"},
    "citing": {"models", "data", "datasets", "experiments", "evidence"},
    "bundle": {"models", "experiments", "evidence", "citing"},
    "verify": {"models", "data", "experiments", "runs", "evidence"},
    "fragility": {"data", "experiments", "runs", "evidence"},
}


def part_of(dotted: str) -> str:
    return [*dotted.split("."), ""][1]


def used(path: Path) -> set[str]:
    parts = {part_of(name) for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    there = {part.stem for part in PACKAGE.iterdir()}
    return (parts & there) - {"__init__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_from_below(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in ("cli", "__main__", "__init__"):
        return  # may import every part; no part may import them
    allowed = SMALL[own] if own in SMALL else PARTS[own] | set(SMALL)
    assert used(path) <= allowed | {own}


#: Models that join others of their family.
JOINT = ("consensus.py", "inductive.py")
MODELS = [path for path in PACKAGE.glob("models/*/[!_]*.py") if path.name not in JOINT]


@pytest.mark.parametrize("path", sorted(MODELS), ids=lambda p: p.stem)
def test_a_model_imports_no_sibling(path):
    names = imports(ast.parse(path.read_text(encoding="utf-8")))
    models = {name for name in names if name.startswith("transferbench.models")}
    own = f"transferbench.models.{path.parent.name}._"
    assert all(name.startswith(own) for name in models)


HEAVY = ("sklearn", "skada", "ot", "safetensors", "tokenizers", "scipy.optimize", "scipy.stats")
LAZY = [*PACKAGE.glob("models/multilabel/*.py"), *PACKAGE.glob("baselines/*.py")]


@pytest.mark.parametrize("path", sorted(LAZY), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_models_import_heavy_libraries_inside_functions(path):
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert not [name for name in names if f"{name}.".startswith(tuple(f"{h}." for h in HEAVY))]


def test_every_part_is_listed():
    parts = {
        p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert parts - {"__init__", "__main__", "cli"} == set(SMALL) | set(PARTS)
