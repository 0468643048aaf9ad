"""Fingerprints of code, which do not depend on comments, docstrings and layout.

A fingerprint covers a module and the modules of transferbench that it imports, directly or through
others. For a plug-in in a package it also covers every file of that package. Imports of a
single-file plug-in are not tracked, so its finished runs count as outdated; see `runs.policy`.

A change that changes no result still changes fingerprints. `make restamp` proves that the new code
equals the earlier, see `restamp`; runs of the earlier code then stay current.
"""

import ast
import hashlib
import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transferbench.errors import UserError

PACKAGE = Path(__file__).parent
#: Proofs that code of models gives equal results, one a line.
EQUAL_CODE = PACKAGE / "equal_code.jsonl"
#: Modules without influence on results: they name, check, fetch and store things.
NOT_FINGERPRINTED = {
    *("artefacts", "data.fetch", "errors", "files", "messages", "npz"),
    *("parameters", "problem", "settings"),
}


@cache
def fingerprint(path: Path) -> str:
    """Return 16 hex digits for the syntax of a module and of the modules it imports.

    Imports are followed through this package, except into NOT_FINGERPRINTED.

    Parameters
    ----------
    path
        File of the module.
    """
    texts: dict[Path, str] = {}
    top = path = path.resolve()
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    inside = [] if path.is_relative_to(PACKAGE) else top.rglob("*")
    files = [file for file in inside if file.is_file() and "__pycache__" not in file.parts]
    waiting = [path, *files]
    while waiting:
        file = waiting.pop()
        if file not in texts:
            texts[file], imported = _read(file)
            waiting += imported
    # Sorted by content, so the folder of the package does not matter.
    return hashlib.sha256("\n".join(sorted(texts.values())).encode()).hexdigest()[:16]


def first_equal(model: str, code: str) -> str:
    """Return the fingerprint that stands for all code of a model that was proved equal to this.

    The proofs are lines of EQUAL_CODE, see `restamp`. Without one, return the fingerprint itself.

    Raises
    ------
    UserError
        If the file of proofs is damaged.
    """
    return _equal_code().get((model, code), code)


@cache
def _equal_code() -> dict[tuple[str, str], str]:
    """Return the first of equal fingerprints by model and fingerprint.

    A proof says that two are equal, so the order of the lines does not matter but for which of them
    is the first: branches may be merged.
    """
    parents: dict[tuple[str, str], str] = {}

    def root(model: str, code: str) -> str:
        while (model, code) in parents:
            code = parents[model, code]
        return code

    lines = EQUAL_CODE.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            for model, proved in json.loads(line)["models"].items() if line.strip() else ():
                first, equal = root(model, proved["code"]), root(model, proved["equal"])
                if first != equal:
                    parents[model, equal] = first
        except (ValueError, KeyError, TypeError, AttributeError):
            remedy = "restore it by git checkout, or remove the line"
            raise UserError(f"{EQUAL_CODE}:{number}: not a proof; {remedy}.") from None
    return {(model, code): root(model, code) for model, code in parents}


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


def missing_libraries(path: Path) -> list[str]:
    """Return the missing libraries that a module loads by `need("library.module")`.

    The module is not imported.
    """
    names = re.findall(r"""\bneed\(["'](\w+)""", path.read_text(encoding="utf-8"))
    return sorted(name for name in set(names) if find_spec(name) is None)


@cache
def _read(path: Path) -> tuple[str, list[Path]]:
    """Return a module's syntax without docstrings, and the files of the imports to follow.

    If the file is not valid Python, return the digest of its content, and no files.
    """
    content = path.read_bytes()
    try:
        tree = ast.parse(content.decode() if path.suffix == ".py" else "?")
    except (SyntaxError, ValueError):
        return hashlib.sha256(content).hexdigest(), []
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
    """Return the file of a module of this package to follow; None for any other name."""
    inside = name.partition(".")[2]
    file = PACKAGE.joinpath(*inside.split(".")).with_suffix(".py")
    return file if file.is_file() and inside not in NOT_FINGERPRINTED else None
