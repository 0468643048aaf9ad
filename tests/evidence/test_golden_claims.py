"""The claims of the committed runs keep their outcomes, numbers and words.

golden_claims.json has a line for each claim, with what its comparisons showed when it was written.
After runs or tests have changed, run this file as a program to write it anew, and read what
differs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import slow_unless

from transferbench import experiments
from transferbench.evidence import claims
from transferbench.evidence.frame import read_cells

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("golden_claims.json")
NAMES = sorted({claim["experiment"] for claim in json.loads(GOLDEN.read_text("utf-8"))})


def judged(name: str) -> list[dict[str, Any]]:
    """Return each claim of an experiment with its outcome, words and numbers."""
    file, results = experiments.load(name), ROOT / "results"
    found = []
    for result in claims.judge(file, read_cells(file, results / name), results):
        lines = claims.comparisons(file, result)
        compared = result.decisions.itertuples()
        found.append(
            {
                "experiment": name,
                "says": result.claim.says,
                "outcome": result.outcome,
                "reason": result.reason,
                "explanation": claims.explanation(file, result),
                "comparisons": [
                    numbers(*pair, result) for pair in zip(lines, compared, strict=True)
                ],
            }
        )
    return found


def numbers(line: tuple[str, ...], compared: Any, result: claims.ClaimResult) -> dict[str, Any]:
    """Return the line of a comparison on the page, and its numbers with all digits."""
    tests = result.tests.loc[compared.Index]
    published = tests.loc[~tests.index.duplicated(), "published"].dropna()
    return {
        "line": [*line],
        "p": float(compared.for_p),
        "p_against": float(compared.against_p),
        "mean": float(tests["mean"].mean()),
        "least": float(tests["mean"].min()),
        "least_row": tests["mean"].idxmin()[-1],
        "tests": len(tests),
        "units": tests.index.unique("unit").size,
        "published": [*map(float, published)],
    }


def close(value: Any) -> Any:
    """Return a value to compare with: numbers may differ in rounding, all else may not."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-9, abs=0)
    if isinstance(value, dict):
        return {key: close(item) for key, item in value.items()}
    return [*map(close, value)] if isinstance(value, list) else value


@pytest.mark.parametrize("name", slow_unless({"gtl-table3", "mulan"}.__contains__, NAMES))
def test_the_claims_of_the_committed_runs_are_the_golden_ones(name):
    golden = [c for c in json.loads(GOLDEN.read_text("utf-8")) if c["experiment"] == name]
    found = judged(name)
    assert [claim["says"] for claim in found] == [claim["says"] for claim in golden]
    for claim, expected in zip(found, golden, strict=True):
        assert claim == close(expected), claim["says"]


def with_claims() -> list[str]:
    return sorted(name for name in experiments.names() if experiments.load(name).spec.claims)


@pytest.mark.slow
def test_every_experiment_with_claims_has_golden_ones():
    assert with_claims() == NAMES


if __name__ == "__main__":
    lines = [
        json.dumps(claim, ensure_ascii=False) for name in with_claims() for claim in judged(name)
    ]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
