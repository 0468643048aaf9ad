"""archive: digests do not depend on the packing; unsafe and damaged archives are refused."""

from __future__ import annotations

import hashlib
import tarfile

import pytest
from packing import FILES, pack_tar, pack_zip

from transferbench.data import archive
from transferbench.data.archive import digest, members
from transferbench.errors import UserError

# Digests


def test_digests_have_known_values(tmp_path):
    empty, hello = tmp_path / "empty", tmp_path / "hello"
    empty.write_bytes(b"")
    hello.write_bytes(b"hello\n")
    assert digest(empty, "git-blob") == "git-blob:e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert digest(hello, "git-blob") == "git-blob:ce013625030ba8dba906f756967f9e9ca394464a"
    assert digest(empty, "sha256") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


def test_the_tree_digest_is_the_same_for_every_packing_of_the_same_files(tmp_path):
    backwards = dict(reversed(FILES.items()))
    packings = [
        pack_tar(tmp_path / "a.tar", FILES),
        pack_tar(tmp_path / "a.tar.gz", backwards, "w:gz"),
        pack_tar(tmp_path / "b.tar.gz", FILES, "w:gz", prefix="./"),
        pack_zip(tmp_path / "a.zip", backwards),
    ]
    lines = sorted(f"{n}\t{hashlib.sha256(c).hexdigest()}\n" for n, c in FILES.items())
    expected = "tree:" + hashlib.sha256("".join(lines).encode()).hexdigest()
    assert [digest(path, "tree") for path in packings] == [expected] * 4
    other = pack_zip(tmp_path / "other.zip", {**FILES, "a.txt": b"One"})
    assert digest(other, "tree") != expected


# Members


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.zip"])
def test_members_are_given_in_archive_order(tmp_path, name):
    path = tmp_path / name
    mode = "w:" + path.suffix[1:] if name != "a.tar" else "w"
    (pack_zip(path, FILES) if name == "a.zip" else pack_tar(path, FILES, mode))
    assert list(members(path)) == list(FILES.items())


def test_links_and_devices_are_left_out(tmp_path):
    with tarfile.open(tmp_path / "archive", "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("harmless")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert list(members(tmp_path / "archive")) == []


@pytest.mark.parametrize("mode", ["w:gz", "zip"])
def test_more_bytes_than_the_limit_are_refused(tmp_path, monkeypatch, mode):
    files = {"a": b"\0" * 60_000, "b": b"\0" * 60_000}
    path = tmp_path / "archive"
    (pack_zip(path, files) if mode == "zip" else pack_tar(path, files, mode))
    size = 120_000 if mode == "zip" else tarfile.RECORDSIZE * 13  # with headers and padding
    monkeypatch.setattr(archive, "MAX_UNPACKED", size)
    assert len(list(members(path))) == 2
    monkeypatch.setattr(archive, "MAX_UNPACKED", size - 1)
    with pytest.raises(UserError, match=f"more than {size - 1} bytes"):
        list(members(path))


@pytest.mark.parametrize("content", [b"", b"PK but no zip", b"\x1f\x8b no gzip"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    path = tmp_path / "archive"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(path))
