"""The results of an experiment in one zip."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from small_experiment import PLAIN

from transferbench import bundle, experiments, models
from transferbench.runs import store

ROOT = Path(__file__).parents[2]
#: Options of `verify` with which it reads the zip and runs nothing, and what it says then.
NOTHING, QUICKER = ("--seconds", "1e-9"), "try more --seconds"

MODEL = """\
from transferbench.problem import Fit


def fit(problem):
    return Fit(tuple(d.Y + 0.5 for d in problem.domains))
"""


@pytest.fixture
def made(call, tmp_path, monkeypatch):
    """An experiment of one's own, with a model in a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODEL)
    text = PLAIN.replace("generated/clusters", "generated/transfer").partition("columns:")[0]
    column = f"columns:\n  mine: {{model: {tmp_path / 'mine.py'}, params: {{}}}}\n"
    (tmp_path / "plain.yaml").write_text(text + column)
    assert call("reproduce", "plain.yaml")[0] == 0
    return tmp_path


def test_a_bundle_has_everything_and_no_path_of_this_machine(call, made):
    assert call("share", "plain")[0] == 0
    first = (made / "plain.zip").read_bytes()
    assert call("share", "plain", "--out", "elsewhere/plain.zip")[0] == 0
    assert (made / "elsewhere" / "plain.zip").read_bytes() == first
    assert call("share", "plain", "--out", "again.zip")[0] == 0
    with zipfile.ZipFile(made / "plain.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files.keys() >= {"experiment.yaml", "runs.jsonl", "table.md", "citation.bib"}
    assert files["models/mine.py"].decode() == MODEL
    assert not any(str(made).encode() in text for text in files.values())
    readme = files["README.md"].decode()
    assert "\n    transferbench verify plain.zip\n" in readme
    listed = {line.split("`")[1] for line in readme.splitlines() if line.startswith("- `")}
    assert listed == {name.partition("/")[0] for name in files} - {"README.md"}
    with zipfile.ZipFile(made / "again.zip") as archive:
        assert "verify again.zip" in archive.read("README.md").decode()


def test_all_runs_of_the_models_in_a_bundle_are_made_again_elsewhere(call, home, made):
    assert call("share", "plain")[0] == 0
    for path in (made / "mine.py", made / "plain.yaml"):
        path.unlink()
    shutil.rmtree(home.results)
    code, out, err = call("verify", "plain.zip")
    assert code == 0, err
    assert "1 of 1 of mine.py" in out
    packed = (made / "plain.zip").read_bytes()
    encrypted = packed.replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1")
    for name, content, message in (
        ("plain.zip", b"no zip", "expected a zip of `share`"),
        ("plain.zip", encrypted, "expected a zip of `share`"),
        ("...zip", packed, "in the name"),
        ("no.zip", b"", "the file is empty"),
    ):
        (made / name).write_bytes(content)
        code, _, err = call("verify", name)
        assert (code, err.count("\n"), message in err) == (2, 1, True), err


def test_only_a_zip_is_written(call, made):
    before = (made / "plain.yaml").read_bytes()
    code, _, err = call("share", "plain", "--out", "plain.yaml")
    assert (code, "ends in .zip" in err) == (2, True)
    assert (made / "plain.yaml").read_bytes() == before


def test_reports_and_explanations_run_no_model_and_need_none(call, made):
    """Its file may be from someone else, or no longer be there."""
    ran = made / "ran"
    for text in (f"open({str(ran)!r}, 'w')", ""):
        (made / "mine.py").write_text(text)
        assert call("report")[0] == 0
        assert call("explain", "plain", "made up", "mine")[0] == 0
    assert not ran.exists()
    (made / "mine.py").unlink()
    models.code.cache_clear()
    assert call("report")[0] == 0
    assert "code      now unknown" in call("explain", "plain", "made up", "mine")[1]


def test_a_report_goes_where_it_is_told_and_replaces_no_page_of_others(call, made):
    for _ in range(2):  # its own pages are replaced
        assert call("report", "--out", "pages/mine")[0] == 0
    assert (made / "pages" / "mine" / "plain.html").is_file()
    (made / "site").mkdir()
    (made / "site" / "index.html").write_text("my own site")
    code, _, err = call("report", "--out", "site")
    assert (code, err.count("\n"), "name another folder" in err) == (2, 1, True)
    assert [path.name for path in (made / "site").iterdir()] == ["index.html"]
    assert call("report", "--out", "plain.yaml")[0] == 2


def test_a_report_replaces_no_file_that_is_of_no_report(call, home, made, monkeypatch):
    monkeypatch.setenv("HOME", str(made))
    (made / "noted").mkdir()
    old = "<footer><p>Written by <code>transferbench report</code> from the runs of version 1"
    (home.results / "report").mkdir()
    (home.results / "report" / "index.html").write_text(old)
    assert call("report")[0] == 0
    assert "Plain" in (home.results / "report" / "index.html").read_text("utf-8")
    (made / "noted" / "plain.html").write_text("my notes")
    code, _, err = call("report", "--out", "~/noted")
    assert (code, err.count("\n"), "its plain.html is of no report" in err) == (2, 1, True)
    assert (made / "noted" / "plain.html").read_text() == "my notes"
    for name in ("pipe", "folder"):
        (made / name).mkdir()
    os.mkfifo(made / "pipe" / "index.html")
    (made / "folder" / "index.html").mkdir()
    for name in ("pipe", "folder"):
        code, _, err = call("report", "--out", name)
        assert (code, "name another folder" in err) == (2, True)
    shutil.copytree(home.results / "plain", home.results / "index")
    assert call("report", "--out", "two")[0] == 2
    assert (made / "two" / "plain.html").is_file()


def test_a_model_that_changed_since_is_not_shared(call, made):
    (made / "mine.py").write_text(MODEL.replace("0.5", "0.25"))
    code, _, err = call("share", "plain")
    assert (code, err.count("\n"), "run them again" in err) == (2, 1, True)


def test_code_of_a_zip_is_named_before_it_runs(call, home, made, monkeypatch):
    assert call("share", "plain")[0] == 0
    ran = made / "ran"
    with zipfile.ZipFile("plain.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["models/mine.py"] += f"open({str(ran)!r}, 'w')\n".encode()
    with zipfile.ZipFile("plain.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    shutil.rmtree(home.results)
    warning = "warning: this zip runs code with your rights: models/mine.py; trust its author"
    # On a terminal there is a question.
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: False)
    code, _, err = call("verify", "plain.zip")
    assert (code, ran.exists()) == (2, False)
    assert err.splitlines()[0] == warning
    assert "nothing was run" in err
    monkeypatch.undo()
    monkeypatch.chdir(made)
    code, _, err = call("verify", "plain.zip")
    assert (code, ran.exists()) == (0, True), err
    assert err.splitlines()[0] == warning


def test_a_zip_of_registered_models_runs_no_code_of_its_own(call, home, plain, monkeypatch):
    monkeypatch.chdir(plain.parent)
    assert call("share", str(plain), "--out", "plain.zip")[0] == 0
    _, _, err = call("verify", "plain.zip", *NOTHING)
    assert ("runs code" in err, QUICKER in err) == (False, True), err


def test_a_zip_that_unpacks_to_too_much_is_refused(call, made, monkeypatch):
    assert call("share", "plain")[0] == 0
    with zipfile.ZipFile("plain.zip") as archive:
        size = sum(info.file_size for info in archive.infolist())
    for limit, expected in ((size, 0), (size - 1, 2)):
        monkeypatch.setattr(bundle, "MAX_UNPACKED", limit)
        _, _, err = call("verify", "plain.zip", *NOTHING)
        assert ("unpacks to more than" in err, QUICKER in err) == (expected > 0, expected == 0), err
        code, _, err = call("share", "plain", "--out", "again.zip")
        assert (code, "in one zip" in err) == (expected, bool(expected)), err


def test_members_that_lie_about_their_size_are_refused(call, made):
    assert call("share", "plain")[0] == 0
    with zipfile.ZipFile("plain.zip", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("models/bomb.py", bytes(10_000_000))
        archive.getinfo("models/bomb.py").file_size = 10
    code, _, err = call("verify", "plain.zip")
    assert (code, err.count("\n"), "expected a zip of `share`" in err) == (2, 1, True), err


def test_pages_and_pictures_in_the_zip_are_made_of_the_runs():
    """Those of the folder may be missing or out of date."""
    experiment = experiments.load("himls-figure2c")
    committed = ROOT / "results" / experiment.name
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / experiment.name
        copy.mkdir()
        shutil.copy(committed / store.NAME, copy)
        (copy / "figure.md").write_text("out of date")
        packed = bundle.pack(experiment, Path(folder), store.read(copy / store.NAME))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        for name in ("figure.md", "figure.csv"):
            assert archive.read(name) == (committed / name).read_bytes()
        assert b"<svg" in archive.read("figure.svg")
        assert "![figure.svg](figure.svg)" in archive.read("README.md").decode()
