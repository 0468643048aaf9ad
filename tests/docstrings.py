"""Check the sections of docstrings with numpydoc: `python tests/docstrings.py`, in `make check`.

The checks, and why others are left out, are in pyproject.toml, [tool.numpydoc_validation]. This
file adds what numpydoc does not know:

- Fields of a dataclass are its parameters.
- A docstring without a section `Parameters` states all in sentences; one with it has every one.
- The arguments that every model and every dataset gets are described once, in the documentation.
- A parameter is not described in a sentence of the form "name: text".
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from numpydoc.hooks import validate_docstrings

ROOT = Path(__file__).parent.parent
#: Arguments of `fit` of a model, and of `build` of a dataset and the function that it calls.
COMMON = {
    "fit": {"problem", "seed", "watch"},
    "build": {"task", "files", "**options"},
    "_read": {"task", "files"},
}
#: The start of a line or a sentence of the form "name: text" or "name, name: text".
PROSE = re.compile(r"(?:^|[.;] )\s*(\w+(?:(?:, | and )\w+)*): \S", re.MULTILINE)


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


def check(files: list[Path]) -> int:
    """Print the faults of the files; return 1 if there are any, else 0."""
    validate_docstrings.AstValidator = Validator
    return validate_docstrings.run_hook([str(file) for file in files], config=str(ROOT))


if __name__ == "__main__":
    given = [Path(file) for file in sys.argv[1:]]
    sys.exit(check(given or sorted((ROOT / "transferbench").rglob("*.py"))))
