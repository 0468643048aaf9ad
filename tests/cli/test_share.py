"""From results to a zip, and back: what is repeated, what is not, and what differs."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import pytest
from small_experiment import PLAIN

from transferbench.evidence import bundles


@pytest.fixture
def made(call, home, tmp_path, monkeypatch):
    """The zip of an experiment of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.yaml").write_text(PLAIN)
    assert call("reproduce", "plain.yaml")[0] == 0
    code, out, err = call("share", "plain", "--author", "A. Nother")
    assert (code, err) == (0, "")
    assert out.startswith("plain.zip  ")
    return tmp_path / "plain.zip"


def rewrite(path, change) -> None:
    """Change the contents of a zip; the manifest is made to fit."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files)
    manifest["files"] = bundles.digests(files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (files | {"manifest.json": json.dumps(manifest).encode()}).items():
            archive.writestr(name, text)


def replace_runs(old: bytes, new: bytes):
    def change(files):
        assert old in files["runs.csv"]
        files["runs.csv"] = files["runs.csv"].replace(old, new)

    return change


def test_a_bundle_is_verified_without_its_results(call, home, made):
    shutil.rmtree(home.results)
    code, out, err = call("verify", str(made), "--seconds", "60")
    assert code == 0, err
    assert "2 runs made again, 12 figures compared: none differs\n" in out
    assert not home.results.exists()


def test_it_says_what_it_is_made_of(made):
    with zipfile.ZipFile(made) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        readme = archive.read("README.md").decode()
        assert archive.read("experiment.yaml").decode() == PLAIN
    assert manifest["author"] == "A. Nother"
    assert manifest["files"].keys() >= {"runs.csv", "table.md", "table.tex", "citation.bib"}
    assert "Author: A. Nother." in readme


def test_bundles_in_the_folder_of_submitted_results_are_verified(call, home, made):
    (home.results / "submitted").mkdir()
    shutil.copy(made, home.results / "submitted" / "other.zip")
    code, out, _ = call("verify", "--seconds", "60")
    assert code == 0
    assert out.count("other.zip") == 2
    assert "none differs" in out


def test_a_wrong_value_is_found(call, made):
    def change(files):
        header, *lines = files["runs.csv"].decode().splitlines()
        column = header.split(",").index("accuracy")
        import csv
        import io

        rows = list(csv.reader(io.StringIO("\n".join(lines))))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header.split(","))
        for row in rows:
            row[column] = "0.123"
            writer.writerow(row)
        files["runs.csv"] = out.getvalue().encode()

    rewrite(made, change)
    code, out, _ = call("verify", str(made), "--seconds", "60")
    assert code == 1
    assert "2 runs differ" in out


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no-such-model", "unknown model"),
        ("subprocess:Popen", "--trust runs it"),
        ("sklearn._private:Thing", "--trust runs it"),
    ],
)
def test_what_cannot_be_repeated_is_listed(call, made, name, reason):
    rewrite(made, replace_runs(b",kernel-kmeans,", f",{name},".encode()))
    code, out, err = call("verify", str(made), "--seconds", "60")
    assert code == 0, err
    assert f"–  {name} on generated" in out
    assert reason in out
    assert out.endswith("1 runs made again, 6 figures compared: none differs; 1 not repeated\n")


def test_the_authors_own_files_are_not_read_here(call, made, tmp_path):
    rewrite(made, replace_runs(b"generated/clusters:documents=200", b"own:path=secret.yaml"))
    code, out, err = call("verify", str(made), "--seconds", "60")
    assert code == 2
    assert out.count("files of the author's own") == 2
    assert err.count("\n") == 1


def test_code_in_a_bundle_is_not_run_without_trust(call, made, tmp_path):
    trace = tmp_path / "ran"
    code = f"open({str(trace)!r}, 'w')\n".encode()

    def change(files):
        replace_runs(b",kernel-kmeans,", b",mine.py,")(files)
        files["models/mine.py"] = code

    rewrite(made, change)
    _, out, _ = call("verify", str(made), "--seconds", "60")
    assert f"SHA-256 {hashlib.sha256(code).hexdigest()}; --trust runs it" in out
    assert not trace.exists()


def test_a_damaged_bundle_is_one_line(call, made):
    made.write_bytes(b"PK")
    code, out, err = call("verify", str(made))
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("author", ["a\nb", "x" * 201])
def test_an_author_is_one_short_line(call, made, author):
    code, _, err = call("share", "plain", "--author", author)
    assert (code, err.count("\n")) == (2, 1)
    assert "expected one line" in err


def test_nothing_to_share_is_one_line(call, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("share", "gtl-table3")
    assert (code, err.count("\n")) == (2, 1)
    assert "reproduce" in err
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_task_of_a_bundle_does_not_take_all_memory(home, made):
    rewrite(made, replace_runs(b"documents=200", b"documents=200000000"))
    code = (
        "import sys\n"
        "from transferbench import cli, verify\n"
        "verify.total_memory = lambda: 2**31\n"
        f"sys.exit(cli.invoke(['--data', {str(home.data)!r}, 'verify', {str(made)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith("Error: out of memory")
