"""Check docstrings: `python tests/docstrings.py`, in `make check`.

Public is what the reference documents: the functions, classes and members that the pages in
docs/reference name, the commands, and, on pages that docs/_ext makes, `fit` of each model and
`build` of each dataset. Modules are documented, too.

- A public docstring has complete sections. numpydoc checks them; the checks, and why others are
  left out, are in pyproject.toml, [tool.numpydoc_validation].
- Every other docstring is one sentence. A comment below it may say why.

This file adds what numpydoc does not know:

- Fields of a dataclass are its parameters.
- A docstring without a section `Parameters` states all in sentences; one with it has every one.
- The arguments that every model and every dataset gets are described once, in the documentation.
- A parameter is not described in a sentence of the form "name: text".
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.hooks import validate_docstrings

ROOT = Path(__file__).parent.parent
#: A directive of Sphinx that documents a Python object, with its options.
DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|automodule|autoclass|autofunction):: (\S+)((?:\n +:.*)*)", re.MULTILINE
)
#: The end of a sentence within a text.
END = re.compile(r"(?<!\beq)(?<!\beqs)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?][)\"'`”]* (?![a-z])")
#: Arguments of `fit` of a model, and of `build` of a dataset and the function that it calls.
COMMON = {
    "fit": {"problem", "seed", "watch"},
    "build": {"task", "files", "**options"},
    "_read": {"task", "files"},
}
#: The start of a line or a sentence of the form "name: text" or "name, name: text".
PROSE = re.compile(r"(?:^|[.;] )\s*(\w+(?:(?:, | and )\w+)*): \S", re.MULTILINE)


def public_names() -> set[str]:
    """Return the full names of the functions, classes and members that the reference documents."""
    sys.path.insert(0, str(ROOT))  # this checkout, whatever is installed
    from transferbench import datasets, models

    functions = [models.load(name) for name in models.registry()]
    functions += [module.build for module in datasets.modules().values()]
    found = {name for each in functions for name in _documented(each, None)}
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        module = ""
        for kind, name, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if kind == "currentmodule":
                module = name
                continue
            if kind == "automodule":
                module, thing = name, importlib.import_module(name)
            else:
                home, _, attribute = name.rpartition(".")
                thing = getattr(importlib.import_module(home or module), attribute)
            members = re.search(r":members:(.*)", options)
            found.update(_documented(thing, members and members[1].replace(",", " ").split()))
    return found


def _documented(thing: Any, members: list[str] | None) -> Iterator[str]:
    """Yield the full name of an object, and those of its members; an empty list means all."""
    if inspect.ismodule(thing):
        if members is None:
            return
        own = [name for name, each in vars(thing).items() if _home(each) == thing.__name__]
        for name in members or getattr(thing, "__all__", own):
            if not name.startswith("_"):
                yield from _documented(getattr(thing, name), [])
        return
    for attribute in ("fget", "func", "__func__"):  # of a property, a cached one, a class method
        thing = getattr(thing, attribute, thing)
    if not _home(thing).startswith("transferbench"):
        return
    yield f"{thing.__module__}.{thing.__qualname__}".replace(".<locals>", "")
    if inspect.isclass(thing) and members is not None:
        for name in members or [name for name in vars(thing) if not name.startswith("_")]:
            yield from _documented(inspect.getattr_static(thing, name), None)


def _home(thing: Any) -> str:
    """Return the module that defines a function or class; "" for other objects."""
    return thing.__module__ if hasattr(thing, "__qualname__") else ""


def one_sentence(text: str) -> bool:
    """Return True if a docstring is one sentence."""
    text = text.strip()
    return "\n" not in text and not END.search(text)


class Validator(validate_docstrings.AstValidator):
    """numpydoc's reader of a docstring, which also reads the fields of a dataclass."""

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that the docstring may describe."""
        names = tuple(super().signature_parameters)
        if isinstance(self.node, ast.ClassDef) and not names:
            names = _fields(self.node, self.ancestry[0])
        return names

    @property
    def parameter_mismatches(self) -> list[tuple[str, str]]:
        """Faults of the section `Parameters`: all but those that are missing on purpose."""
        prose = self._described_in_prose()
        if not self.doc_parameters:
            return prose
        missing = set(self.signature_parameters) - set(self.doc_all_parameters)
        common = COMMON.get(getattr(self.node, "name", ""), set())
        faults: list[tuple[str, str]] = super().parameter_mismatches
        return prose + [fault for fault in faults if fault[0] != "PR01" or not missing <= common]

    def _described_in_prose(self) -> list[tuple[str, str]]:
        """Return a fault for each parameter that a sentence "name: text" describes."""
        parameters = {name.lstrip("*") for name in self.signature_parameters}
        starts = PROSE.findall(self.raw_doc)
        found = parameters.intersection(re.findall(r"\w+", " ".join(starts)))
        return [
            ("PR01", f"Parameter {name!r} is described in a sentence") for name in sorted(found)
        ]


def _fields(node: ast.ClassDef, module: ast.AST) -> tuple[str, ...]:
    """Return the annotated fields of a class, after those of its bases in the same module."""
    classes = {each.name: each for each in ast.walk(module) if isinstance(each, ast.ClassDef)}
    bases = [classes[b.id] for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
    inherited = [name for base in bases for name in _fields(base, module)]
    names = [part.target.id for part in node.body if isinstance(part, ast.AnnAssign)]
    public = [name for name in names if not name.startswith("_")]  # no argument sets the others
    return tuple(dict.fromkeys([*inherited, *public]))


class Visitor(validate_docstrings.DocstringVisitor):
    """numpydoc's visitor of a file, which checks public docstrings only; others are a sentence."""

    #: Full names of what is public.
    public: frozenset[str] = frozenset()

    def _get_numpydoc_issues(self, node: ast.AST) -> None:
        """Add the faults of a docstring."""
        if is_public(self.stack, Path(self.filepath), self.public):
            super()._get_numpydoc_issues(node)
        elif not one_sentence(ast.get_docstring(node) or ""):
            text = "Not public: expected one sentence; write the rest as a comment below it"
            self.findings.append(
                [f"{self.filepath}:{node.lineno}", self.node_name, "one sentence", text]
            )


def is_public(stack: list[ast.AST], file: Path, public: set[str] | frozenset[str]) -> bool:
    """Return True for a module, a command and what the reference documents.

    Parameters
    ----------
    stack
        The module, the classes and functions around the node, and the node itself.
    file
        File of the module.
    public
        Full names, see `public_names`.
    """
    node = stack[-1]
    if isinstance(node, ast.Module):
        return True
    path = file.resolve()
    inside = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path(path.name)
    parts = [part for part in inside.with_suffix("").parts if part != "__init__"]
    name = ".".join([*parts, *(each.name for each in stack[1:])])
    return name in public or _is_command(node)


def _is_command(node: ast.AST) -> bool:
    """Return True for a function whose docstring is the help of a command."""
    decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", ())]
    return any(re.match(r"click\.(command|group)\b", each) for each in decorators)


def check(files: list[Path], public: set[str] | None = None) -> int:
    """Print the faults of the files; return 1 if there are any, else 0."""
    validate_docstrings.AstValidator = Validator
    validate_docstrings.DocstringVisitor = Visitor
    Visitor.public = frozenset(public_names() if public is None else public)
    return validate_docstrings.run_hook([str(file) for file in files], config=str(ROOT))


if __name__ == "__main__":
    given = [Path(file) for file in sys.argv[1:]]
    sys.exit(check(given or sorted((ROOT / "transferbench").rglob("*.py"))))
