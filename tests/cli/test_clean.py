"""`clean` removes what it names and nothing else, and nothing at all without --yes."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import pytest

from transferbench.files import writing

MINE = (
    "data/raw/mine.txt", "data/raw/rcv1/mine.gz.part", "data/own/amazon/reviews.csv",
    "data/artefacts/notes.txt", "data/embeddings/mine.embeddings",
    "data/artefacts/my.artefact", "results/mine/table.md", "data/built/notes.md",
)  # fmt: skip
FILES = {
    "built": ["data/built/gtl/comp-vs-rec-0123456789ab.task"],
    "artefacts": [f"data/artefacts/graph-{'0a' * 16}.artefact"],
    "embeddings": [f"data/embeddings/minilm-128-{'0a' * 8}.embeddings"],
    "temporary": [
        "data/built/gtl/.abcdefgh.part", "results/mine/.12_45678.part",
    ],
    "originals": [],
}  # fmt: skip


@pytest.fixture
def full(home):
    """The folder of a home with files of every kind, and those of each kind."""
    from transferbench import datasets

    top = home.data.parent
    original = next(name for m in datasets.modules().values() for name in m.FILES)
    files = FILES | {"originals": [f"data/raw/{original}"]}
    for name in [*MINE, *chain(*files.values())]:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(100_000))
        os.utime(path, (0, 0))
    return top, files


def files_in(top: Path) -> set[str]:
    return {p.relative_to(top).as_posix() for p in top.rglob("*") if p.is_file()}


def test_everything_is_shown_with_sizes_and_nothing_is_removed(call, full):
    top, files = full
    before = files_in(top)
    code, out, err = call("clean")
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1:-1]}
    assert rows.keys() == files.keys()
    assert {kind: int(row[0]) for kind, row in rows.items()} == {k: len(files[k]) for k in files}
    assert (rows["built"], rows["temporary"]) == (["1", "0.1"], ["2", "0.2"])
    assert out.splitlines()[-1] == "nothing is removed without --yes"
    assert files_in(top) == before


@pytest.mark.parametrize("kind", FILES)
def test_what_is_named_is_removed_and_nothing_else(call, full, kind):
    top, files = full
    before = files_in(top)
    assert call("clean", kind)[0] == 0
    assert files_in(top) == before
    assert call("clean", kind, "--yes")[0] == 0
    assert before - files_in(top) == set(files[kind])
    assert files_in(top) < before
    assert call("clean", kind)[1].split()[2:5] == [kind, "0", "0.0"]


def test_a_file_that_is_being_written_stays(call, home):
    with writing(home.data / "built" / "a.task") as temporary:
        temporary.write_text("whole")
        assert call("clean", "temporary", "--yes")[0] == 0
    assert (home.data / "built" / "a.task").read_text() == "whole"


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_the_files_of_a_linked_folder_stay(call, home, tmp_path):
    """Only what lies in the data folder is removed; a link to a file goes alone."""
    there = tmp_path / "elsewhere" / "a.task"
    there.parent.mkdir()
    there.write_text("another's")
    (home.data / "built").mkdir(parents=True)
    (home.data / "built" / "linked").symlink_to(there.parent)
    (home.data / "built" / "b.task").symlink_to(there)
    assert call("clean", "built", "--yes")[0] == 0
    assert there.read_text() == "another's"
    assert [path.name for path in (home.data / "built").iterdir()] == ["linked"]
