"""Each check of the contract finds the fault that it is for, and a model without it passes."""

from __future__ import annotations

import pytest
from conftest import ROOT

import transferbench
from transferbench.contract import CHECKS
from transferbench.errors import UserError

MODEL = (ROOT / "docs" / "examples" / "mymodel.py").read_text(encoding="utf-8")
HEAD = "    sums = sum("
SCORED = "        scores.append("
DISTANCES = "np.asarray(2 * domain.X @ means - (means**2).sum(axis=0))"
#: Check → what to replace in the model, by what, and a part of what the report then says.
FAULTS = {
    "docstring": ("    min over c", "min over c", "not indented"),
    "parameters": ("Weight = 0.0", "Weight = -1.0", "default of shrinkage: expected number ≥"),
    "scores": ("tuple(scores)", "tuple(S[:, :1] for S in scores)", "expected (40, 3)"),
    "better-than-guessing": (DISTANCES, f"-{DISTANCES}", "guessing has 0.33"),
    "same-seed": (SCORED, f"        distances += np.random.random()\n{SCORED}", "`seed: int`"),
    "unchanged-input": (SCORED, f"        domain.X.data[:] = 1\n{SCORED}", "changed X of source"),
    "order": (SCORED, f"        distances[0, 0] += 9\n{SCORED}", "differ by up to"),
    "target-labels": ("np.where(domain.seen[:, None], domain.Y, distances)", "distances", "anoth"),
    "label-weights": ("weights = domain.label_weights", "weights = None", "counts no more"),
    "more-labels": (
        "return domain.Y if",
        "return -0.4 * domain.Y if not domain.seen.all() else domain.Y if",
        "expected no fall",
    ),
    "degenerate": (HEAD, f"    1 / (len(problem.classes) - 1)\n{HEAD}", "one class: ZeroDivisionE"),
    "extreme-scale": (
        HEAD, f"    2 ** problem.domains[0].X.max().item()\n{HEAD}", "OverflowError",
    ),
    "layouts": (
        SCORED, f"        distances *= 1 - 2 * isinstance(domain.X, np.ndarray)\n{SCORED}", "other",
    ),
    "negative-entries": (
        HEAD, f"    if problem.domains[0].signed:\n        raise ValueError\n{HEAD}", "one line",
    ),
}  # fmt: skip


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Function that writes the example with replacements (old, new), and returns its path."""
    monkeypatch.chdir(tmp_path)

    def written(*replacements: tuple[str, str]) -> str:
        text = MODEL
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "mine.py").write_text(text, encoding="utf-8")
        return "mine.py"

    return written


def statuses(results) -> dict[str, str]:
    return {result.check: result.status for result in results}


def test_the_example_of_the_documentation_passes_every_check(write):
    assert statuses(transferbench.check_model(write())) == dict.fromkeys(CHECKS, "ok")


def test_there_is_a_fault_for_each_check():
    assert list(FAULTS) == list(CHECKS)


@pytest.mark.parametrize("check", FAULTS)
def test_a_check_finds_its_fault(check, write):
    old, new, said = FAULTS[check]
    (result,) = transferbench.check_model(write((old, new)), only=[check], on_fail="return")
    assert result.status == "failed"
    assert said in result.got
    assert ("documents: source" in result.problem) == (check not in ("docstring", "parameters"))


def test_three_faults_are_found_together(write):
    faults = ["domain.X.data[:] = 1", "distances = np.random.random() * distances[:, :1]"]
    name = write(
        (SCORED, "".join(f"        {fault}\n" for fault in faults) + SCORED),
        ("np.where(domain.seen[:, None], domain.Y, distances)", "distances"),
    )
    results = transferbench.check_model(name, on_fail="return")
    failed = [result.check for result in results if result.status == "failed"]
    assert failed == ["scores", "same-seed", "unchanged-input"]
    assert {r.status for r in results if r.check in ("order", "layouts")} == {"skipped"}
    with pytest.raises(AssertionError, match=r"(?s)mine.py breaks 3 checks:.*expected \(40, 3\)"):
        transferbench.check_model(name)


def test_an_error_names_the_line_of_the_model(write):
    name = write((HEAD, f"    {{}}['x']\n{HEAD}"))
    (result,) = transferbench.check_model(name, only=["scores"], on_fail="return")
    line = MODEL[: MODEL.index(HEAD)].count("\n") + 1
    assert result.got == f"KeyError: 'x' (mine.py:{line})"


def test_a_default_that_is_too_large_is_reported_with_what_to_do(write):
    name = write(
        ("shrinkage: Weight", "k: int = 64, shrinkage: Weight"),
        (HEAD, f"    if k > 40:\n        raise ValueError('k is above 40')\n{HEAD}"),
    )
    scores, layouts = transferbench.check_model(name, only=["layouts"], on_fail="return")
    assert (scores.check, scores.status, layouts.status) == ("scores", "failed", "skipped")
    assert "give a smaller one: --set k=" in scores.got
    (passed,) = transferbench.check_model(name, only=["layouts"], k=6)
    assert passed.status == "ok"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("problem, shrinkage=0.0", "shrinkage is not keyword-only"),
        ("problem, *, shrinkage=0.0", "shrinkage has no type"),
        ("problem, *, shrinkage: Weight", "shrinkage has no default"),
        ("problem, *, shrinkage: list[Fit] = 0.0", "shrinkage has no type that"),
        ("problem, *, shrinkage: int = 0.5", "type and default of shrinkage: expected integer"),
        ("problem, *, lam: Weight = 0.0, shrinkage: Weight = 0.0", "lam is not in a section"),
        ("data, *, shrinkage: Weight = 0.0", "the first must be `problem`"),
        ("", "the first must be `problem`"),
    ],
)
def test_a_signature_that_experiments_cannot_use_is_reported(write, head, said):
    name = write(("problem: Problem, *, shrinkage: Weight = 0.0", head))
    (result,) = transferbench.check_model(name, only=["parameters"], on_fail="return")
    assert said in result.got


def test_sparse_scores_are_scores(write):
    name = write(
        ("import numpy as np\n", "import numpy as np\nimport scipy.sparse as sp\n"),
        ("tuple(scores)", "tuple(map(sp.csr_array, scores))"),
    )
    assert transferbench.check_model(name, only=["scores", "same-seed"])


@pytest.mark.parametrize(("seed", "expected"), [("seed", "ok"), ("", "failed")])
def test_a_seed_is_used_or_reported(write, seed, expected):
    noise = f"        distances *= np.random.default_rng({seed}).uniform(0.9, 1.1)\n"
    name = write(("= 0.0)", "= 0.0, seed: int)"), (SCORED, f"{noise}{SCORED}"))
    found = statuses(transferbench.check_model(name, only=["same-seed", "order"], on_fail="return"))
    assert found == {"same-seed": expected, "order": "skipped"}


def test_an_estimator_is_checked_without_its_texts():
    found = statuses(transferbench.check_model("sklearn.naive_bayes:BernoulliNB", on_fail="return"))
    assert found["docstring"] == found["parameters"] == "skipped"
    assert found["label-weights"] == found["order"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.py",), "no file 'nothing.py'"),
        (("gmcf",), "Did you mean 'gcmf'"),
        (("lr", {"only": ["sed"]}), "unknown check 'sed'"),
        (("lr", {"D": 1}), "unknown parameter of lr 'D'"),
    ],
)
def test_what_does_not_exist_is_one_line(arguments, message):
    name, *options = arguments
    with pytest.raises(UserError, match=message):
        transferbench.check_model(name, **dict(*options))
