"""transferbench check."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import ROOT

from transferbench.contract import CHECKS

EXAMPLE = ROOT / "docs" / "examples" / "mymodel.py"


def test_each_check_is_a_line_and_a_fault_says_how_to_run_it_again(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, "my model.py")
    code, out, err = call("check", "my model.py", "--only", "scores", "--only", "layouts")
    assert (code, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()[:2]] == [
        ["ok", "scores"],
        ["ok", "layouts"],
    ]
    assert out.endswith("2 checks: 2 ok, 0 failed, 0 skipped.\n")
    text = Path("my model.py").read_text(encoding="utf-8")
    Path("my model.py").write_text(text.replace("tuple(scores)", "scores[:1]"), encoding="utf-8")
    code, out, _ = call("check", "my model.py", "--set", "shrinkage=2", "--only", "scores")
    assert code == 1
    for title in ("expected", "tried", "got", "problem"):
        assert f"\n         {title}" in out
    assert "transferbench check 'my model.py' --set shrinkage=2 --only scores\n" in out


def test_the_checks_are_listed_without_a_model(call):
    code, out, err = call("check", "--list")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[: len(CHECKS)]] == list(CHECKS)
    assert "A board demands each check that applies" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no model is named"),
        (("nothing.py",), "there is no file 'nothing.py'"),
        (("empty.py",), "there is no function `fit`"),
        (("lr", "--only", "seed"), "unknown check 'seed'"),
        (("lr", "--set", "C=x"), "expected number"),
    ],
)
def test_bad_input_is_one_line(call, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("empty.py").touch()
    code, out, err = call("check", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("fault", "got"),
    [
        ("__import__('os')._exit(0)", "its process reports no more (code 0)"),
        ("__import__('time').sleep(60)", "no result after 5 s; see --time-limit"),
    ],
)
def test_a_fit_that_ends_or_keeps_its_process_is_a_failed_check(
    call, tmp_path, monkeypatch, fault, got
):
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text(encoding="utf-8").replace(
        "    return Fit(", f"    {fault}\n    return Fit(", 1
    )
    assert fault in text
    Path("mine.py").write_text(text, encoding="utf-8")
    checks = ("--only", "docstring", "--only", "scores", "--only", "layouts")
    code, out, _ = call("check", "mine.py", *checks, "--time-limit", "5")
    assert (code, got in out) == (1, True)
    assert out.endswith("3 checks: 1 ok, 1 failed, 1 skipped.\n")


def test_a_file_without_its_suffix_is_named(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("it.py").touch()
    assert "for the file write it.py." in call("check", "it")[2]
