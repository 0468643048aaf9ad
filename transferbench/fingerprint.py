"""Fingerprints of code, which do not depend on comments, docstrings and layout.

A fingerprint covers a module and the modules of transferbench that it imports, directly or through
others. For a plug-in in a package it also covers, with names,

- every file of that package
- what the module imports, directly or through others, from a folder where nothing is installed:
  every file of such a package, or a module that is in none and the other files in its folder
- versions of installed packages that it imports, except those that every record has

Imports are read in the code, which is not run. What cannot be read there makes a plug-in untraced,
see `untraced`. Imports of a single-file plug-in are not followed. Finished runs of both count as
outdated, see `runs.policy`. Files that code opens in other folders are not seen.

A change that changes no result still changes fingerprints. `make restamp` proves that the new code
equals the earlier, see `restamp`; runs of the earlier code then stay current.
"""

import ast
import hashlib
import importlib
import json
import re
import sys
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

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
    """Return 16 hex digits for the code of a module and of what it imports, see above.

    Imports are followed through this package, except into NOT_FINGERPRINTED.

    Parameters
    ----------
    path
        File of the module.
    """
    plugin, path = _Plugin(path), path.resolve()
    texts: dict[Path, str] = {}
    waiting = [path, *plugin.files]
    while waiting:
        file = waiting.pop()
        if file not in texts:
            text, imported = _read(file)
            texts[file] = f"{plugin.files[file]}\n{text}" if file in plugin.files else text
            waiting += imported
    # Sorted, so the folder of the package does not matter.
    parts = sorted([*texts.values(), *plugin.notes])
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def untraced(path: Path) -> str:
    """Return why the fingerprint of a module does not cover all its code; "" if it does.

    It does not for a plug-in without a package, and where a plug-in imports by a computed name,
    runs code of a text or of a file, unpickles, reads docstrings or source code, changes
    `sys.path`, has a link to a folder, or a helper with too many other files in its folder.

    Parameters
    ----------
    path
        File of the module.
    """
    return _Plugin(path).untraced


class _Plugin:
    """Code of a plug-in in a package, of which none is run; empty for a module of this package.

    Attributes
    ----------
    files
        Name in the fingerprint by file.
    notes
        Other texts of the fingerprint: which module it is, and versions of installed packages.
    untraced
        See the function.
    """

    def __init__(self, path: Path) -> None:
        self.files: dict[Path, str] = {}
        self.notes: set[str] = set()
        self.untraced = ""
        path = self.top = path.resolve()
        while (self.top.parent / "__init__.py").is_file():
            self.top = self.top.parent
        if path.is_relative_to(PACKAGE):
            return
        if path == self.top:
            self.untraced = f"{path.name} is not in a package"
            return
        importlib.invalidate_caches()
        self._add_package(self.top, "")
        self.notes.add(f"module {path.relative_to(self.top).as_posix()}")
        above = path.relative_to(self.top).parents
        self._waiting = [path, *(self.top / folder / "__init__.py" for folder in above)]
        followed = set()
        while self._waiting:
            file = self._waiting.pop()
            if file not in followed and file.suffix == ".py":
                followed.add(file)
                self._follow(file)

    def _add_package(self, top: Path, name: str) -> None:
        for file in top.rglob("*"):
            inside = file.relative_to(top)
            if file.is_symlink() and file.is_dir():
                self.untraced = self.untraced or f"{file} is a link to a folder"
            elif file.is_file() and "__pycache__" not in inside.parts:
                self.files[file] = f"{name}/{inside.as_posix()}"

    def _add_beside(self, module: Path, name: str) -> None:
        """Add the files beside a module of no package that are no code: it may read them."""
        others = [
            file
            for file in module.parent.iterdir()
            if file.suffix not in (".py", ".pyc") and file.name[0] != "." and file.is_file()
        ]
        size = sum(file.stat().st_size for file in others)
        if len(others) > MAX_BESIDE or size > MAX_BYTES_BESIDE:
            why = f"{module.name} may read the other files in its folder, which are too many"
            self.untraced = self.untraced or why
        else:
            for file in others:
                self.files.setdefault(file, f"{name}/{file.name}")

    def _follow(self, file: Path) -> None:
        """Add what a module imports."""
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            return  # it cannot be imported
        imported, hidden = _imported(tree)
        self.untraced = self.untraced or (f"{file.name}:{hidden}" if hidden else "")
        for each in imported:
            if full_name := f"{each.module}.{each.name}".strip("."):
                self._add(full_name, file.parents[each.level - 1] if each.level else None)

    def _add(self, name: str, folder: Path | None) -> None:
        """Add a module and the packages that it is in.

        A module that is not found cannot be imported, or it is an attribute of the module above.

        Parameters
        ----------
        name
            Its full name, or the name below a folder.
        folder
            The folder, if the import is relative.
        """
        first, *below = name.split(".")
        if folder is None and (first in sys.stdlib_module_names or first == PACKAGE.name):
            return
        if folder is None and first == self.top.name:
            folder = self.top.parent
        spec = _spec(first, [str(folder)] if folder else None)
        if spec and not folder and (installed := _installed(first, spec)):
            if first not in RECORDED_LIBRARIES:
                self.notes.add(installed)
            return
        path = first
        while spec:
            if spec.origin and spec.has_location:
                file = Path(spec.origin).resolve()
                if file not in self.files and file.name == "__init__.py":
                    self._add_package(file.parent, path)
                elif file not in self.files and not (file.parent / "__init__.py").is_file():
                    self._add_beside(file, path)
                self.files.setdefault(file, path)
                self._waiting.append(file)
            if not below or spec.submodule_search_locations is None:
                return
            path = f"{path}.{below.pop(0)}"
            spec = _spec(path, [*spec.submodule_search_locations])


#: Modules whose versions every record has.
RECORDED_LIBRARIES = {"numpy", "scipy", "sklearn", "sparse_dot_topn", "skada", "ot"}
#: Most other files in the folder of a helper, and their bytes, that count with it.
MAX_BESIDE, MAX_BYTES_BESIDE = 100, 10 * 2**20
#: Built-in functions by which code runs or imports what it does not show.
_RUNNING = {"exec", "eval", "compile", "__import__"}
#: Modules whose functions may be found by a computed name.
_REFLECTED = {"builtins", "importlib"}
#: Modules that load objects, whose code is elsewhere, and their functions.
_PICKLES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "joblib", "shelve"}
_LOADING = {"load", "loads", "Unpickler", "_load", "_loads", "_Unpickler", "open", "Shelf"}
#: Names by which code reads docstrings and comments, which fingerprints leave out.
_READING = {"__doc__", "getdoc", "getcomments", "getsource", "getsourcelines", "get_docstring"}
#: Names of functions that import a module by its name.
_IMPORTING = {"import_module", "__import__"}
#: Names by which code imports or runs what a name in the code does not show.
_HIDING = {
    *("run_path", "run_module", "spec_from_file_location", "spec_from_loader", "exec_module"),
    *("SourceFileLoader", "SourcelessFileLoader", "ExtensionFileLoader", "load_module"),
    *("load_source", "find_module", "find_loader", "zipimporter", "entry_points"),
    *(
        "resolve_name",
        "__builtins__",
        "iter_entry_points",
        "addsitedir",
        "extend_path",
        "meta_path",
        "path_hooks",
        "__path__",
    ),
}


class Import(NamedTuple):
    """The names in one import statement.

    Parameters
    ----------
    level
        Number of leading dots; 0 for an absolute import.
    module
        The module; "" for the package of the importing one.
    name
        What is imported from the module; "" for the module itself, and for all that it has.
    """

    level: int
    module: str
    name: str = ""


def _imported(tree: ast.AST) -> tuple[list[Import], str]:
    """Return what a module imports, at any level of its code, and what hides further imports.

    Returns
    -------
    imported
        The imports.
    hidden
        Line and description of the first place that hides an import; "" if there is none.
    """
    imported: list[Import] = []
    hidden: list[tuple[int, str]] = []
    called: set[ast.AST] = set()  # names whose use shows what they import or run
    named = {"sys": {"sys"}, "reflected": set[str](), "pickles": set[str]()}
    owners = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name, used = alias.name, alias.asname or alias.name.split(".")[0]
                module = name if alias.asname else used
                kind = "reflected" if module in _REFLECTED else "pickles"
                if module in _REFLECTED | _PICKLES or name.split(".")[0] in _PICKLES:
                    named[kind].add(used)
                named["sys"] |= {used} if name == "sys" else set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                imported += [Import(0, alias.name) for alias in node.names]
            case ast.ImportFrom():
                module, found = node.module or "", [alias.name for alias in node.names]
                imported += [Import(node.level, module, name.strip("*")) for name in found]
                loose = {a.name for a in node.names if a.asname} & (_IMPORTING | _HIDING)
                if (
                    loose
                    or (module == "sys" and {"path", "meta_path"} & {*found})
                    or (module == "builtins" and _RUNNING & {*found})
                ):
                    hidden.append((node.lineno, "imports by another name"))
                if node.level == 0 and module.split(".")[0] in _PICKLES and _LOADING & {*found}:
                    hidden.append((node.lineno, f"loads objects by {module}"))
                if _READING & {*found}:
                    hidden.append((node.lineno, "reads docstrings or source code"))
            case ast.Call(func=ast.Name("exec" | "eval" as name), args=[code, *_]):
                called.add(node.func)
                try:
                    text = code.value if isinstance(code, ast.Constant) else None
                    inner = _imported(ast.parse(text.strip())) if isinstance(text, str) else None
                except (SyntaxError, ValueError):  # it fails
                    inner = [], ""
                if inner is None or inner[1]:
                    hidden.append((node.lineno, f"runs code by {name}"))
                else:
                    imported += inner[0]
            case ast.Call(func=ast.Name("compile")):
                called.add(node.func)  # what it returns is run by `exec`
            case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name in _IMPORTING:
                if constant := _constant_import(node):
                    imported.append(constant)
                    called.add(node.func)
            case ast.Constant(value=str(name)) if name in _IMPORTING | {"__builtins__"}:
                hidden.append((node.lineno, f"imports by {name}"))
            case ast.Name(name) | ast.Attribute(attr=name) if name in _IMPORTING | _HIDING:
                if node not in called:
                    what = "a computed name" if name in _IMPORTING else name
                    hidden.append((node.lineno, f"imports by {what}"))
            case ast.Name(name, ctx=ast.Load()) if name in _RUNNING and node not in called:
                hidden.append((node.lineno, f"runs code by {name}"))
            case ast.Name(name) | ast.Attribute(attr=name) if name in _READING:
                if isinstance(node.ctx, ast.Load):
                    hidden.append((node.lineno, f"reads docstrings or source code by {name}"))
            case ast.Name(name) if name in named["reflected"] and node not in owners:
                hidden.append((node.lineno, f"may find functions of {name} by computed names"))
            case ast.Attribute(value=ast.Name(name), attr="path") if name in named["sys"]:
                hidden.append((node.lineno, "uses sys.path"))
            case ast.Attribute(value=ast.Name(name), attr=attr) if name in named["pickles"]:
                if attr in _LOADING:
                    hidden.append((node.lineno, f"loads objects by {name}"))
            case ast.Attribute(attr="read_pickle") | ast.keyword(arg="allow_pickle"):
                if not (isinstance(node, ast.keyword) and ast.unparse(node.value) == "False"):
                    hidden.append((node.lineno, "loads objects of a pickle"))
            case ast.Attribute(value=ast.Name(name), attr=attr) if name in named["reflected"]:
                if attr in _RUNNING | {"__dict__", "__getattribute__"}:
                    hidden.append((node.lineno, f"runs code by {attr}"))
            case ast.Name(name) if name in named["pickles"] and node not in owners:
                hidden.append((node.lineno, f"may load objects by {name}"))
    first = min(hidden, default=None)
    return imported, f"{first[0]} {first[1]}" if first else ""


def _constant_import(call: ast.Call) -> Import | None:
    """Return what a call of `import_module` or `__import__` imports; None if not constant."""
    given = dict(zip(("name", "package"), call.args, strict=False))
    given |= {keyword.arg or "": keyword.value for keyword in call.keywords}
    match given.get("name"):
        case ast.Constant(value=str(name)):
            pass
        case _:
            return None
    level = len(name) - len(name.lstrip("."))
    is_own = isinstance(given.get("package"), ast.Name)  # __package__ or __name__
    if len(call.args) > 4 or "level" in given or "" in given or (level and not is_own):
        return None
    return Import(level, name.lstrip("."))


def _spec(name: str, folders: list[str] | None) -> ModuleSpec | None:
    """Return where a module is, in folders or on the path; None if it is not found."""
    try:
        return PathFinder.find_spec(name, folders) if folders else find_spec(name)
    except Exception:  # finders of other packages may raise anything
        return None


def _installed(name: str, spec: ModuleSpec) -> str:
    """Return the distributions of a module with their versions if it is installed, else "".

    It is not if it is in a folder of its developer, as by `pip install -e` or PYTHONPATH.
    """
    places = spec.submodule_search_locations or [spec.origin or ""]
    found = [distribution(each) for each in sorted({*_distributions().get(name, ())})]
    for place in map(Path, places):
        inside = any(
            place.is_relative_to(str(each.locate_file(""))) and each.read_text("RECORD")
            for each in found
        )
        if not inside and not {"site-packages", "dist-packages"}.intersection(place.parts):
            return ""
    return ", ".join(f"{each.metadata['Name']} {each.version}" for each in found)


_distributions = cache(packages_distributions)


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
    names: list[str] = []
    for each in _imported(tree)[0]:
        if each.module.split(".")[0] == "transferbench":
            names += [each.module, *([f"{each.module}.{each.name}"] if each.name else [])]
    return names


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
