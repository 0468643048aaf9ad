"""Fingerprints of code, which do not depend on comments, docstrings and layout."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
#: Modules without influence on results: they name, check, fetch and store things.
PLUMBING = {"errors", "data.fetch", "files", "parameters", "problem", "settings"}


@cache
def fingerprint(path: Path) -> str:
    """Return 16 hex digits for the syntax of a module and of all modules it imports from here.

    Imports are followed through this package, except into PLUMBING.
    """
    texts: dict[Path, str] = {}
    waiting = [path.resolve()]
    while waiting:
        file = waiting.pop()
        if file not in texts:
            texts[file], imported = _read(file)
            waiting += imported
    # Sorted by content, so the folder of the package does not matter.
    return hashlib.sha256("\n".join(sorted(texts.values())).encode()).hexdigest()[:16]


def imports(tree: ast.AST) -> list[str]:
    """Return the names under `transferbench` that a module imports, at any level of its code."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == "transferbench"]


def summary(path: Path) -> str:
    """Return the first line of a module's docstring without importing the module."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


@cache
def _read(path: Path) -> tuple[str, list[Path]]:
    """Return a module's syntax without docstrings, and the files it imports from here."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    return _text(tree), [file for name in imports(tree) if (file := _file(name))]


def _text(node: Any) -> str:
    """Return a syntax tree as text that is the same for every version of Python.

    `ast.dump` prints fields that some versions lack, and 3.12 puts empty constants into f-strings.
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
    """Return the file of a dotted name; None for plumbing, packages, functions and classes."""
    inside = name.partition(".")[2]
    file = PACKAGE.joinpath(*inside.split(".")).with_suffix(".py")
    return file if file.is_file() and inside not in PLUMBING else None
