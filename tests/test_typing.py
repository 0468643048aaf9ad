"""A type checker sees the public names and their types in a user's program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import transferbench
from transferbench import estimators

problem, truth = transferbench.load_task("comp-vs-rec")
table = transferbench.compare("comp-vs-rec")
reveal_type(problem)
reveal_type(table)
reveal_type(table.choice.model)
transferbench.lod_task("comp-vs-rec")
estimators.TransferClasifier()
table.choice.modle
"""
#: What the checker says of each line but the first five, in order.
SAID = [
    'Revealed type is "transferbench.problem.Problem"',
    'Revealed type is "transferbench.own.comparison_table.ComparisonTable"',
    'Revealed type is "str | None"',
    'has no attribute "lod_task"; maybe "load_task"?',
    'has no attribute "TransferClasifier"',
    '"Choice" has no attribute "modle"',
]


@pytest.mark.slow
def test_a_type_checker_knows_the_public_names_and_what_they_return(tmp_path):
    (tmp_path / "user.py").write_text(PROGRAM)
    root = Path(__file__).parent.parent
    call = [sys.executable, "-m", "mypy", "--strict", "user.py"]
    call += ["--cache-dir", str(root / ".mypy_cache" / "user"), "--config-file", ""]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("user.py:")]
    assert len(lines) == len(SAID), done.stdout
    for line, said in zip(lines, SAID, strict=True):
        assert said in line
