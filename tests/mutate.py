"""Plant small changes in core and models, one at a time, and print which the quick tests miss.

`python tests/mutate.py COUNT SEED`. A change is of an operator, a comparison, a sign, a number or a
bool. The tests run in a copy of the checkout, and only the files that name the changed module or
a model that imports it. A change that lives is a missing test, or it changes nothing that matters.
First all tests of the rooms run without a change: if one fails, nothing is planted.
"""

from __future__ import annotations

import ast
import copy
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("core", "models")
PAIRS = [("Lt", "LtE"), ("Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"), ("Add", "Sub")]
PAIRS += [("Mult", "Div"), ("And", "Or")]
OTHER = {getattr(ast, a): getattr(ast, b)() for x, y in PAIRS for a, b in ((x, y), (y, x))}


def mutants(tree: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return each expression that can change, and what it becomes."""
    found = []
    checks = [k.value for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg == "strict"]
    for node in ast.walk(tree):
        if node in checks:  # of zip: no result depends on it
            continue
        new = copy.deepcopy(node)
        match new:
            case ast.BinOp() | ast.BoolOp() if type(new.op) in OTHER:
                new.op = OTHER[type(new.op)]
            case ast.Compare(ops=[op]) if type(op) in OTHER:
                new.ops = [OTHER[type(op)]]
            case ast.UnaryOp(op=ast.USub()):
                new = new.operand
            case ast.Constant(value=bool()):
                new.value = not new.value
            case ast.Constant(value=int() | float()):
                new.value = new.value + 1 if new.value in (0, 1) else new.value * 2
            case _:
                continue
        found.append((node, new))
    return found


def planted(source: str, node: ast.expr, new: ast.expr) -> str:
    """Return the source with one expression replaced."""
    lines = source.encode().splitlines(keepends=True)  # columns of a node count bytes
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    return (b"".join(lines)[:start] + ast.unparse(new).encode() + b"".join(lines)[end:]).decode()


def selections(module: Path) -> list[list[str]]:
    """Return what pytest is asked for in turn: files that name the module, then the contract."""
    names = {module.stem}
    for path in (ROOT / "transferbench/models").rglob("*.py"):
        if re.search(rf"import.*\b{module.stem}\b|\.{module.stem} import", path.read_text("utf-8")):
            names.add(path.stem)
    word = re.compile(rf"\b({'|'.join(names)})\b".replace("_", "[-_]"))
    files = {path for room in ROOMS for path in (ROOT / "tests" / room).glob("test_*.py")}
    contract = ROOT / "tests/models/test_model_contract.py"
    named = [path for path in files - {contract} if word.search(path.read_text("utf-8"))]
    named.sort(key=lambda path: (module.stem.strip("_") not in path.stem, path))
    models = " or ".join(sorted(name.replace("_", "-") for name in names))
    return [[*map(str, named)], [str(contract), "-k", models]] if named else [[str(contract)]]


def outcome(folder: str, asked: list[list[str]]) -> tuple[str, str]:
    """Return whether tests find a change ("found", "LIVES" or "timed out"), and which test."""
    for tests in asked:
        options = ["-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
        command = [sys.executable, "-B", *options, *(t.replace(str(ROOT), folder) for t in tests)]
        try:
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
        except subprocess.TimeoutExpired:
            return "timed out", ""
        if ended.returncode not in (0, 5):  # 5: no test is selected
            failed = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
            return "found", (failed or [f"exit {ended.returncode}", *ended.stdout.splitlines()])[-1]
    return "LIVES", ""


def main(count: int = 25, seed: int = 0) -> None:
    """Test the changes; exit 1 unless each is found, and 2 if a test fails without a change."""
    every, missed = [], 0
    for path in sorted(p for room in ROOMS for p in (ROOT / "transferbench" / room).rglob("*.py")):
        every += [(path, *change) for change in mutants(ast.parse(path.read_text("utf-8")))]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("transferbench", "tests", "experiments", "docs", "results"):
            shutil.copytree(ROOT / name, Path(folder, name))
        shutil.copy(ROOT / "pyproject.toml", folder)
        plain = outcome(folder, [[str(ROOT / "tests" / room)] for room in ROOMS])
        if plain[0] != "LIVES":
            sys.stderr.write(f"without a change the tests fail or time out: {plain[1]}\n")
            sys.exit(2)
        for path, node, new in random.Random(seed).sample(every, count):
            source, place = path.read_text("utf-8"), path.relative_to(ROOT)
            Path(folder, place).write_text(planted(source, node, new), "utf-8")
            found, test = outcome(folder, selections(path))
            Path(folder, place).write_text(source, "utf-8")
            missed += found != "found"
            change = f"{place}:{node.lineno}: {ast.unparse(node)}  ->  {ast.unparse(new)}"
            print(found, change, test[:100], flush=True)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
