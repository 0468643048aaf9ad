"""Fingerprints of code: what a result depends on, blind to comments, docstrings and layout."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
#: Modules that say how things are named, checked, fetched and stored, but not what comes out.
PLUMBING = {"errors", "data.fetch", "files", "parameters", "problem", "settings"}


@cache
def fingerprint(path: Path) -> str:
    """16 hex digits over the syntax of a module and of all it imports here, plumbing left out."""
    seen: dict[str, str] = {}
    waiting = [path.resolve()]
    while waiting:
        file = waiting.pop()
        if str(file) not in seen:
            tree = _bare(ast.parse(file.read_text(encoding="utf-8")))
            seen[str(file)] = _text(tree)
            waiting += [imported for name in imports(tree) if (imported := _file(name))]
    # Sorted by content, so that the place where the package is installed does not matter.
    return hashlib.sha256("\n".join(sorted(seen.values())).encode()).hexdigest()[:16]


def imports(tree: ast.AST) -> list[str]:
    """Dotted names under `transferbench` that a module imports, wherever in it."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == "transferbench"]


def summary(path: Path) -> str:
    """The first line of a module's docstring, read without importing it."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def _bare(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return tree


def _text(node: Any) -> str:
    """A syntax tree as text, the same from every version of Python.

    `ast.dump` names fields that some versions lack, and 3.12 puts empty constants into f-strings.
    """
    if isinstance(node, ast.JoinedStr):
        parts = [part for part in node.values if getattr(part, "value", None) != ""]
        node = ast.JoinedStr(values=parts)
    if isinstance(node, ast.AST):
        fields = [(n, value) for n, value in ast.iter_fields(node) if value not in (None, [])]
        return f"{type(node).__name__}({','.join(f'{n}={_text(value)}' for n, value in fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    return repr(node)


def _file(name: str) -> Path | None:
    """The module file of a dotted name; packages' own __init__ files hold no numerics."""
    inside = name.partition(".")[2]
    file = PACKAGE.joinpath(*inside.split(".")).with_suffix(".py")
    return file if file.is_file() and inside not in PLUMBING else None
