"""Each line of the ledger is of two commits, whose code has the fingerprints that it states."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

from transferbench import ledger

#: Prints the fingerprint of each model that it reads, by the rule of the version that runs it, and
#: the first one that the ledger of that version calls equal; the first versions had none.
CODES = """
import json, sys
from transferbench.runs.record import Run
runs = {model: Run(None, model, {}, None) for model in json.load(sys.stdin)}
print(json.dumps({m: [r.code, getattr(r, "equal_code", r.code)] for m, r in runs.items()}))
"""


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)


def is_full() -> bool:
    return git("rev-parse", "--is-shallow-repository").stdout.strip() == b"false"


LINES = [json.loads(line) for line in ledger.EQUAL_CODE.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(not is_full(), reason="the clone is shallow, or no clone: no earlier commits")
@pytest.mark.parametrize("line", LINES, ids=[line["commit"] for line in LINES])
def test_the_commits_of_a_proof_have_the_fingerprints_that_it_states(line, tmp_path):
    for commit, key in ((line["base"], "code"), (line["commit"], "equal")):
        assert git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0, f"no commit {commit}"
        (tree := tmp_path / commit).mkdir()
        packed = git("archive", commit, "transferbench", "pyproject.toml", "experiments").stdout
        subprocess.run(["tar", "-x"], cwd=tree, input=packed, check=True)
        found = subprocess.run(
            [sys.executable, "-P", "-c", CODES], input=json.dumps([*line["models"]]), check=True,
            env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, cwd=tree,
        ).stdout  # fmt: skip
        codes = json.loads(found)
        for model, proof in line["models"].items():
            # A line may state a code that another line proved equal to this one.
            stated = ledger.first_equal(model, proof[key])
            assert stated in [ledger.first_equal(model, code) for code in codes[model]], model
