"""list, describe and doctor: columns, JSON and exit codes."""

from __future__ import annotations

import json
import re
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest

from transferbench.fingerprint import missing_libraries

ROOT = Path(__file__).parent.parent.parent


def test_list_has_columns_and_sizes(call):
    out = call("list")[1]
    lines = out.splitlines()
    heads = [lines[0], *(line for above, line in pairwise(lines) if not above)]
    assert [head.split()[0] for head in heads] == ["models", "tasks", "datasets", "experiments"]
    columns = lines[0].replace("missing", "").split()  # shown where a library is not installed
    assert columns == ["models", "family", "summary"]
    (family,) = (line for line in lines if line.startswith("gtl/"))
    assert re.search("^gtl/comp-vs-rec and 10 more  +7,136 to 15,066  ", family)
    listed = json.loads(call("list", "tasks", "--json")[1])["tasks"]
    assert {each["name"]: each["documents"] for each in listed}["gtl/comp-vs-rec"] == 7862


def test_list_takes_a_part_of_a_name_or_summary(call):
    tasks = call("list", "tasks", "NEWSGROUPS")[1].splitlines()
    (task,) = (line.split() for line in tasks if line.startswith("gtl/comp-vs-rec "))
    assert task[1] == "7,862"
    assert not any("amazon" in line for line in tasks)
    assert {line.split()[0] for line in call("list", "tsvm")[1].splitlines()[1:] if line} == {
        "tsvm"
    }
    code, out, err = call("list", "tasks", "nothing-like-it")
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_list_shows_the_terms_of_each_dataset(call):
    listed = {d["name"]: d for d in json.loads(call("list", "datasets", "--json")[1])["datasets"]}
    assert (listed["webkb"]["tasks"], listed["generated"]["terms"]) == (13, [])
    (line,) = (ln for ln in call("list", "datasets")[1].splitlines() if ln.startswith("webkb  "))
    assert re.split("  +", line)[1:3] == ["13", "third-party-copyright, unknown"]
    assert "amazon" in call("list", "datasets", "research-only")[1]


def test_a_model_without_its_library_is_marked(call, plugin, monkeypatch, tmp_path):
    file = tmp_path / "model.py"
    file.write_text("from . import x\nneed('no_such_library.part'), need('numpy')\n")
    assert missing_libraries(file) == ["no_such_library"]
    monkeypatch.setattr(
        "transferbench.fingerprint.find_spec", lambda name: None if name == "skada" else name
    )
    lines = {line.split()[0]: line for line in call("list", "models")[1].splitlines() if line}
    assert "  skada  " in lines["jdot"]
    assert "skada" not in lines["lr"]
    listed = {m["name"]: m for m in json.loads(call("list", "models", "--json")[1])["models"]}
    assert (listed["jdot"]["missing"], listed["lr"]["missing"]) == (["skada"], [])
    assert listed["kmeans"]["family"] == "clustering"


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("gcmf", ("gcmf (transfer model)", "lam: number ≥ 0 = 100.0", "one run for each seed")),
        ("lr", ("C: number > 0 = 1.0", "Deterministic")),
        ("comp-vs-rec", ("gtl/comp-vs-rec\n", '"target": 3938', "sha256:3287f99", "Licence: ")),
        ("email-spam", ("of unknown size, git-blob:d6bbc2a", "2,402,441 bytes", '"source": 4000')),
        ("generated/small", ("Built from:\n  nothing to fetch: ", "documents: integer ≥")),
        ("gtl-table3", ("gtl-table3: ", "tolerance:", "params: {k: 64, p: 10, ", "control: true")),
        (
            "newsgroups",
            ("newsgroups (dataset)\n", "Tasks:", "Licence: 20 News", "\n  research-only: "),
        ),
        ("nus-wide", ("Licence: NUS-WIDE is", "Terms:\n  agreement: given to people who accept")),
        ("mtc-figure1", ("mtc-figure1", "rows:", "columns:")),
    ],
)
def test_describe_prints_what_a_name_stands_for(call, name, texts):
    code, out, err = call("describe", name)
    assert (code, err) == (0, "")
    for text in texts:
        assert text in out


MODEL = '''
"""Mine: minimise ‖X − UV‖²."""
def fit(problem, *, k: int = 3, seed: int = 0):
    """
    Parameters
    ----------
    k
        Number of topics.
    """
'''


def test_describe_takes_whatever_run_takes_as_a_model(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MODEL, encoding="utf-8")
    code, out, err = call("describe", "./mine.py")
    assert (code, err) == (0, "")
    for text in ("./mine.py (transfer model)", "Mine: minimise ‖X − UV‖²", "one run for each seed"):
        assert text in out
    assert "k: integer = 3. Number of topics." in out
    assert "C: number or none = 1.0" in call("describe", "sklearn.svm:LinearSVC")[1]
    Path("latin.py").write_bytes(f"# coding: latin-1\n{MODEL}".encode("latin-1", "replace"))
    assert "minimise" in call("describe", "latin.py")[1]
    for name, cause in (
        ("broken.py", "SyntaxError: invalid syntax (broken.py, line 2)"),
        ("fails.py", "KeyError: 'at import' (fails.py:2)"),
        ("absent.py", "there is no file"),
        ("sklearn.svm:Nope", "no attribute 'Nope'"),
    ):
        Path("broken.py").write_text("\n?")
        Path("fails.py").write_text("\n{}['at import']")
        code, out, err = call("describe", name)
        assert (code, out, err.count("\n"), cause in err) == (2, "", 1, True), err


def test_doctor_is_short(call, home):
    code, out, _ = call("doctor")
    assert (code, len(out.splitlines())) == (0, 8)
    for text in ("python ", "scikit-learn", "missing ", "GiB free", "mirrors    none", "memory "):
        assert text in out
    assert re.search(r"^cores      \d+ of \d+ may be used$", out, re.MULTILINE)


def test_doctor_names_what_is_lost_without_proc(call, monkeypatch):
    monkeypatch.setattr("transferbench.runs.process.can_list_processes", lambda: False)
    assert "runs       without /proc, a process that a model detaches" in call("doctor")[1]


def test_doctor_names_a_missing_library_and_a_folder_that_cannot_be_written(
    call, home, monkeypatch
):
    version = metadata.version

    def without(name: str) -> str:
        if name == "tqdm":
            raise metadata.PackageNotFoundError
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    home.results.write_text("a file")
    code, out, _ = call("doctor")
    assert code == 1
    assert re.search(r"^missing  .*\btqdm\b", out, re.MULTILINE)
    assert ": the folder cannot be written; choose another with --results." in out


def test_a_crash_of_a_users_model_names_its_line_and_debug_prints_the_traceback(
    call, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crashing.py").write_text("def fit(problem):\n    return {}['oops']\n")
    words = ["run", "generated/transfer:documents=60", "-m", "./crashing.py", "--no-reference"]
    code, out, err = call(*words)
    assert (code, "KeyError: 'oops' (crashing.py:2)" in out, "Traceback" in err) == (1, True, False)
    code, out, err = call("--debug", *words)
    assert (code, "Traceback" in out) == (1, False)
    assert "Traceback (most recent call last):\n" in err
    assert 'crashing.py", line 2, in fit' in err
