"""Which part of the package may import which, checked in the source."""

from __future__ import annotations

import ast
from pathlib import Path

import transferbench
from transferbench.fingerprint import imports

PACKAGE = Path(transferbench.__file__).parent

#: Small files that every part may use, with the small files that they may use.
SMALL = {
    "errors": set(),
    "terms": {"errors"},
    "messages": {"errors"},
    "problem": set(),
    "fingerprint": set(),
    "ledger": {"errors"},
    "plugins": {"messages"},
    "files": {"errors"},
    "strict_yaml": {"errors", "files"},
    "parameters": {"errors"},
    "settings": {"files", "parameters", "terms"},
    "user_files": {"errors", "files", "settings"},
    "measures": {"problem"},
    "stats": set(),
    "npz": {"files"},
    "artefacts": {"errors", "files", "fingerprint", "npz"},
}
#: Part → the other parts it uses, each above it. A part is a folder or a module of the package.
PARTS = {
    "core": set(),
    "models": {"core"},
    "data": {"core"},
    "datasets": {"data"},
    "tasks": {"data", "datasets"},
    # Found by entry points only, as a plug-in of another package.
    "baselines": {"core", "data", "datasets", "models"},
    "runs": {"core", "models", "data", "datasets", "tasks"},
    "experiments": {"models", "datasets", "tasks", "runs"},
    "repeats": {"models", "tasks", "runs"},
    "restamp": {"models", "runs", "repeats"},
    "evidence": {"models", "datasets", "runs", "experiments", "repeats"},
    # What the command line and Python users call.
    "api": {"models", "tasks", "runs", "experiments", "evidence"},
    "contract": {"core", "models"},
    "repeat_fits": {"models", "tasks", "runs"},
    "citing": {"models", "data", "datasets", "tasks", "experiments", "evidence"},
    "bundle": {"runs", "experiments", "evidence", "citing"},
}
#: The wing: what serves only a user's own documents. Nothing above imports it, and the rest works
#: without it, see tests/test_wing.py.
WING = {
    "own": {"core", "data", "models", "evidence", "api"},
    # Public and former names of its modules.
    "estimators": {"own"},
    "topics": {"own"},
    "userdata": {"own"},
}
#: Commands of the wing; other commands may import every part but the wing.
WING_COMMANDS = {"_comparison", "_topics", "_user", "compare", "predict", "topics"}


HEAVY = ("sklearn", "skada", "ot", "safetensors", "tokenizers", "scipy.optimize", "scipy.stats")
#: Files that import heavy libraries inside functions only.
LAZY = {
    *PACKAGE.glob("models/multilabel/*.py"),
    *PACKAGE.glob("baselines/*.py"),
    PACKAGE / "data" / "sentences.py",
}
#: Models that join others of their family.
JOINT = ("consensus.py", "inductive.py")


def heavy(tree: ast.Module) -> list[str]:
    names = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if f"{name}.".startswith(tuple(f"{h}." for h in HEAVY))]


def test_each_part_imports_only_from_above():
    for table in (SMALL, PARTS | WING):
        for i, (part, allowed) in enumerate(table.items()):
            assert allowed <= set(list(table)[:i]), part


def test_each_file_imports_only_what_its_part_may():
    parts = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    known = PARTS | WING
    assert parts - {"__init__", "__main__", "cli"} == set(SMALL) | set(known)
    unused = {part: set(allowed) for part, allowed in (SMALL | known).items()}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = imports(tree)
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        used = {[*name.split("."), ""][1] for name in names} & parts
        if part == "cli" and path.stem not in WING_COMMANDS:
            assert not used & set(WING), path
        if part not in ("cli", "__main__", "__init__"):  # which may import every other part
            allowed = SMALL[part] if part in SMALL else known[part] | set(SMALL)
            assert used <= allowed | {part, "__init__"}, path
            unused[part] -= used
        if part == "models" and path.parent != PACKAGE / "models" and path.name not in JOINT:
            siblings = [name for name in names if name.startswith("transferbench.models")]
            shared = f"transferbench.models.{path.parent.name}._"
            assert all(name.startswith(shared) for name in siblings), path
        if path in LAZY:
            assert not heavy(tree), path
    assert not any(unused.values()), unused
