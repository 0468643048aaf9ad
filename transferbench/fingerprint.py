"""Fingerprints of code, which do not depend on comments, docstrings and layout.

A fingerprint covers a module and the modules of transferbench that it imports, directly or through
others, but not NOT_FINGERPRINTED. For a plug-in it covers each file of its package, too, with its
name. What a plug-in imports or reads elsewhere cannot be seen. So its author declares that there is
nothing, or the installed packages whose versions count:

    DEPENDS_ON = ()          or         DEPENDS_ON = ("xgboost",)

A plug-in without this line in its module, and one that is no package, is untraced: its finished
runs count as outdated, see `runs.policy`. Code is read, never run.

A change that changes no result still changes fingerprints. `verify --base` proves that the new code
equals the earlier, see `ledger`; runs of the earlier code then stay current.
"""

import ast
import hashlib
import re
import threading
from collections import deque
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
#: Modules by which a plug-in may run any other: no fingerprint of it covers them.
LOADING = {
    "transferbench",
    *(f"transferbench.{n}" for n in ("api", "estimators", "models", "models._fit", "tasks")),
}
#: Ends of a sentence in place of a version.
UNKNOWN = ("not installed", "installed from a folder")
#: Modules without influence on results: they name, find, check, fetch and store things. A test
#: replaces each of them by a stub.
NOT_FINGERPRINTED = {
    *("artefacts", "data.fetch", "errors", "files", "messages", "plugins", "settings"),
    *("models.__init__", "models._registry"),
}
#: Parts of code that may have a docstring.
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
#: Fields of a statement that have statements, or parts with statements, in them.
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
#: Held while code is parsed: `ast.parse` is not thread-safe in Python 3.11.
_PARSING = threading.Lock()


@cache
def fingerprint(path: Path) -> str:
    """Return 16 hex digits for the code of a module and of what it imports, see above."""
    path = path.resolve()
    plugin = _package(path)
    texts = {file: _read(file)[0] for file in covered(path)}
    # Sorted, so the folder of the package does not matter.
    parts = sorted(f"{plugin[f]}\n{text}" if f in plugin else text for f, text in texts.items())
    if plugin:
        parts += [f"module {plugin[path]}", *map(_version, declared(path) or ())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def covered(path: Path) -> set[Path]:
    """Return the files that the fingerprint of a module covers."""
    found, waiting = set[Path](), [path.resolve(), *_package(path.resolve())]
    while waiting:
        if (file := waiting.pop()) not in found:
            found.add(file)
            waiting += _read(file)[1]
    return found


@cache
def untraced(path: Path) -> str:
    """Return why the fingerprint of a module does not cover all its code; "" if it does."""
    path = path.resolve()
    if path.is_relative_to(PACKAGE):
        return ""
    package = _package(path)
    if not package:
        return f"{path.name} is not in a package"
    if link := next((file for file in package if file.is_symlink() and file.is_dir()), None):
        return f"{link} is a link to a folder"
    if loading := next(filter(None, map(_loads_by_name, package)), ""):
        return loading
    stated = _stated(path)
    if stated is None:
        return f"{path.name} has no line DEPENDS_ON = (), which says that it uses no other code"
    names = declared(path)
    if names is None:
        return f"{path.name}:{stated.lineno}: expected DEPENDS_ON = () or a tuple of names"
    for found in map(_version, names):
        if found.endswith(UNKNOWN):
            return f"{path.name}:{stated.lineno}: {found}"
    return ""


def _loads_by_name(path: Path) -> str:
    """Return a sentence if a file imports a module of ours that runs others by their names."""
    with suppress(SyntaxError, ValueError, OSError):
        tree = parse(path.read_bytes()) if path.suffix == ".py" else ast.Module([], [])
        if name := next((name for name in imports(tree) if name in LOADING), ""):
            return f"{path.name} imports {name}, which may run any of our code"
    return ""


def declared(path: Path) -> tuple[str, ...] | None:
    """Return the installed packages that the module of a plug-in depends on; None if not stated."""
    stated = _stated(path)
    try:
        names = ast.literal_eval(stated.value) if stated and stated.value else None
    except ValueError:
        return None
    is_valid = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    return names if is_valid else None


def _stated(path: Path) -> ast.Assign | ast.AnnAssign | None:
    """Return the statement DEPENDS_ON = … of a module; None if there is none."""
    for node in reversed(parse(path.read_bytes()).body):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and target.id == "DEPENDS_ON":
                return node
    return None


def _version(name: str) -> str:
    """Return the name and the version of an installed package."""
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        return f"{name!r} is not installed"
    if '"editable": true' in (found.read_text("direct_url.json") or ""):
        return f"the version of {name} says little, as it is installed from a folder"
    return f"{name} {found.version}"


def _package(path: Path) -> dict[Path, str]:
    """Return the files of a plug-in's package with their names in it; none for our own modules."""
    top = path
    while (top.parent / "__init__.py").is_file():
        top = top.parent
    if top == path or path.is_relative_to(PACKAGE):
        return {}
    return {
        file: file.relative_to(top).as_posix()
        for file in top.rglob("*")
        if "__pycache__" not in file.parts and (file.is_file() or file.is_symlink())
    }


@cache
def _read(path: Path) -> tuple[str, list[Path]]:
    """Return a module's syntax without docstrings, and the files of the imports to follow."""
    # If the file is not valid Python, return the digest of its content, and no files.
    content = path.read_bytes() if path.is_file() else b""
    try:
        tree = parse(content.decode() if path.suffix == ".py" else "?")
    except (SyntaxError, ValueError):
        return hashlib.sha256(content).hexdigest(), []
    return _text(tree), [file for name in imports(tree) if (file := _file(name))]


def parse(code: str | bytes) -> ast.Module:
    """Return the syntax tree of Python code; one thread at a time."""
    with _PARSING:
        return ast.parse(code)


def _text(node: Any) -> str:
    """Return a syntax tree as text that is the same for every version of Python."""
    # `ast.dump` prints fields that some versions lack, and 3.12 puts empty constants into
    # f-strings.
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    texts = []
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "values" and isinstance(node, ast.JoinedStr):
            value = [part for part in node.values if getattr(part, "value", None) != ""]
        elif name == "body" and isinstance(node, DOCUMENTED) and ast.get_docstring(node, False):
            value = node.body[1:]
        if value is not None and value != []:
            texts.append(f"{name}={_text(value)}")
    return f"{type(node).__name__}({','.join(texts)})"


def imports(tree: ast.AST) -> list[str]:
    """Return the names under `transferbench` that a module imports, at any level of its code."""
    names, waiting = list[str](), deque([tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for block in BLOCKS:  # no expression has a statement in it
            waiting += getattr(node, block, ())
    return [name for name in names if name.split(".")[0] == PACKAGE.name]


def _file(name: str) -> Path | None:
    """Return the file of a module of this package to follow; None for any other name."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    inside = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
    return file if file.is_file() and path != PACKAGE and inside not in NOT_FINGERPRINTED else None


def summary(path: Path) -> str:
    """Return the first line of a module's docstring without importing the module."""
    text = ast.get_docstring(parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def missing_libraries(path: Path) -> list[str]:
    """Return the missing libraries that a module loads by `need("library.module")`."""
    names = re.findall(r"""\bneed\(["'](\w+)""", path.read_text(encoding="utf-8"))
    return sorted(name for name in set(names) if find_spec(name) is None)
