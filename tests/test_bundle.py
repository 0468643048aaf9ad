"""A bundle is read as data: whatever was done to it, the answer is a bundle or one line."""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from transferbench import bundle, experiments
from transferbench.errors import UserError
from transferbench.evidence import bundles

ROOT = Path(__file__).parent.parent
OURS = ROOT / "results"


@pytest.fixture(scope="module")
def packed() -> bytes:
    return bundle.pack(experiments.load("gtl-table3"), OURS, "A. Nother")


def contents(packed: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, files: dict[str, bytes], *, signed: bool = True) -> Path:
    """Write a zip; signed: with a manifest that fits the files."""
    files = dict(files)
    if signed:
        manifest = json.loads(files.pop("manifest.json"))
        manifest["files"] = bundles.digests(files)
        files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as error:
        bundles.read(path)
    message = str(error.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_what_is_packed_is_read_and_equal_results_give_equal_bytes(packed, tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(packed)
    made = bundles.read(path)
    assert packed == bundle.pack(experiments.load("gtl-table3"), OURS, "A. Nother")
    assert made.author == "A. Nother"
    assert made.files["runs.csv"] == (OURS / "gtl-table3" / "runs.csv").read_bytes()
    assert len(made.runs) > 300
    assert b"@inproceedings{long2012transfer" in made.files["citation.bib"]
    assert str(Path.home()).encode() not in b"".join(made.files.values())


def test_files_that_are_no_bundles(packed, tmp_path):
    path = tmp_path / "a.zip"
    assert "No such file" in refusal(path)
    path.write_bytes(b"not a zip")
    assert "not a zip" in refusal(path)
    path.write_bytes(packed[: len(packed) // 2])
    refusal(path)
    with zipfile.ZipFile(path, "w"):
        pass
    refusal(path)


def test_changed_missing_and_additional_files(packed, tmp_path):
    files, path = contents(packed), tmp_path / "a.zip"
    changed = files | {"table.md": b"other"}
    assert "changed or not listed: table.md" in refusal(write(path, changed, signed=False))
    less = {name: text for name, text in files.items() if name != "table.md"}
    assert "table.md" in refusal(write(path, less, signed=False))
    assert "extra.txt" in refusal(write(path, files | {"extra.txt": b""}, signed=False))
    assert "runs.csv" in refusal(write(path, {n: t for n, t in files.items() if n != "runs.csv"}))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_is_refused(packed, tmp_path):
    path = write(tmp_path / "a.zip", contents(packed))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("table.md", "x")
    assert "changed or not listed: table.md" in refusal(path)


def test_bombs_are_refused_by_their_declared_and_by_their_real_size(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(bundles, "MAX_BYTES", 1 << 20)
    bomb = contents(packed) | {"bomb.md": bytes(2 << 20)}
    path = write(tmp_path / "a.zip", bomb)
    assert "more than 1 MiB" in refusal(path)
    # Declare a small size in both headers: the content is cut there, and does not fit the digest.
    raw = path.read_bytes().replace((2 << 20).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    path.write_bytes(raw)
    refusal(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("bomb.md", bytes(1 << 10))
    assert "unusual compression" in refusal(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b",done,", b",finished,"),
        (b"0.8815286624203822", b"8.815286624203822"),
        (b"0.8815286624203822", b"inf"),
        (b"0.8815286624203822", b"-0.1"),
        (b"0.8815286624203822", b"much"),
        (b"row,column", b"column,row,what"),
        (b",nmf,", b",evil.py,"),
        (b"zhuang", b"\xff"),
    ],
)
def test_damaged_runs_are_refused(packed, tmp_path, old, new):
    files = contents(packed)
    assert old in files["runs.csv"]
    files["runs.csv"] = files["runs.csv"].replace(old, new)
    refusal(write(tmp_path / "a.zip", files))


@pytest.mark.parametrize("seconds", [b"0", b"-1", b"inf"])
def test_times_that_cannot_be_are_refused(packed, tmp_path, seconds):
    files = contents(packed)
    header, line, rest = files["runs.csv"].split(b"\n", 2)
    fields = next(csv.reader([line.decode()]))
    old = fields[header.decode().split(",").index("seconds")].encode()
    assert line.count(b"," + old + b",") == 1
    line = line.replace(b"," + old + b",", b"," + seconds + b",")
    files["runs.csv"] = b"\n".join([header, line, rest])
    assert "out of range" in refusal(write(tmp_path / "a.zip", files))


@pytest.mark.parametrize("label", ['"a\\e[31m"', '"a\\nb"', '"\\u202Eb"', "x" * 201])
def test_labels_are_short_and_of_one_line(packed, tmp_path, label):
    text = f"extends: gtl-table3\ncolumns:\n  ? {label}\n  : {{model: lr}}\n"
    refusal(write(tmp_path / "a.zip", contents(packed) | {"experiment.yaml": text.encode()}))


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("{model: nosuch}", "unknown model 'nosuch'"),
        ('{model: "a\\0.py"}', ""),
        ("{model: a:b, params: {since: 2001-02-03}}", "valid JSON"),
    ],
)
def test_columns_that_cannot_be_are_refused(packed, tmp_path, column, reason):
    text = f"extends: gtl-table3\ncolumns: {{mine: {column}}}\n"
    (tmp_path / "submitted").mkdir()
    path = tmp_path / "submitted" / "a.zip"
    write(path, contents(packed) | {"experiment.yaml": text.encode()})
    entries, errors = bundles.submitted(tmp_path)
    assert len(entries) + len(errors) == 1
    for error in errors:
        assert str(error).startswith(f"{path}: ")
        assert reason in str(error)
    assert bool(errors) == bool(reason)


@pytest.mark.parametrize(
    "manifest", [b"", b"[]", b"{", b"[" * 100_000, b'{"format": 2}', b'{"format": 1, "files": 3}']
)
def test_damaged_manifests_are_refused(packed, tmp_path, manifest):
    refusal(write(tmp_path / "a.zip", contents(packed) | {"manifest.json": manifest}, signed=False))


def test_random_damage_gives_one_line(packed, tmp_path):
    rng, path, messages = random.Random(0), tmp_path / "a.zip", []
    unchanged = contents(packed)
    del unchanged["manifest.json"]
    for _ in range(150):
        raw = bytearray(packed)
        for _ in range(rng.randint(1, 4)):
            place = rng.choice([rng.randrange(len(raw)), len(raw) - rng.randint(1, 900)])
            raw[place] = rng.randrange(256)
        path.write_bytes(raw)
        try:
            made = bundles.read(path)
        except UserError as error:
            messages.append(str(error))
        else:  # bytes that mean nothing, such as a date
            assert made.files == unchanged
    assert messages
    assert "\n" not in "".join(messages)


def submit(results: Path, name: str, packed: bytes, text: str) -> Path:
    folder = results / "submitted"
    folder.mkdir(exist_ok=True)
    return write(folder / name, contents(packed) | {"experiment.yaml": text.encode()})


@pytest.mark.parametrize("extends", ["", "../gtl-table3", "nosuch", "gtl-text-p"])
def test_a_bundle_without_a_suite_is_named_in_one_line(packed, tmp_path, extends):
    text = f"extends: {extends!r}\ncolumns: {{mine: {{model: lr}}}}\n"
    path = submit(tmp_path, "a.zip", packed, text)
    entries, (error,) = bundles.submitted(tmp_path)
    assert not entries
    assert str(error).startswith(f"{path}: its experiment extends no suite")


def test_a_submitted_bundle_is_read_once_whatever_its_case(packed, tmp_path, monkeypatch):
    path = submit(
        tmp_path, "MINE.ZIP", packed, "extends: gtl-table3\ncolumns: {mine: {model: lr}}\n"
    )
    asked = []
    monkeypatch.setattr(
        bundles, "read", lambda path, read=bundles.read: asked.append(path) or read(path)
    )
    for _ in range(3):
        ((suite, _),), errors = bundles.submitted(tmp_path)
        assert (suite.name, errors, asked) == ("gtl-table3", [], [path])
