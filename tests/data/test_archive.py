"""archive: digests do not depend on the packing; unsafe and damaged archives are refused."""

from __future__ import annotations

import hashlib
import tarfile
import tracemalloc
import zipfile
from contextlib import nullcontext

import pytest
from packing import FILES, pack_tar, pack_zip, sparse_tar

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


@pytest.mark.parametrize("kind", ["S", "0.0", "0.1", "1.0"])
def test_sparse_files_are_refused_before_they_are_unpacked(tmp_path, kind):
    """64 GiB in a few bytes, as GNU tar writes them."""
    path = sparse_tar(tmp_path / "archive", kind, 2**36)
    with tarfile.open(path) as archive:
        assert [info.size for info in archive] == [2**36]
    with pytest.raises(UserError, match="has a sparse file"):
        list(members(path))


LYING = {
    "size in a field": {"size": f"{2**50}"},
    "size of less than nothing": {"size": "-512"},
    "size beyond what can be sought": {"size": f"{2**80}"},
    "a long field": {"comment": "x" * (1 << 20)},
}


@pytest.mark.parametrize("kind", LYING)
def test_a_tar_that_lies_about_sizes_is_refused(tmp_path, kind):
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("a")
        info.pax_headers = LYING[kind]
        archive.addfile(info)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(tmp_path / "archive"))


@pytest.mark.parametrize("size", [2**30, 2**80])
def test_a_header_that_claims_more_than_there_is_is_refused(tmp_path, size):
    info = tarfile.TarInfo("a")
    info.size = size
    (tmp_path / "archive").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(UserError, match="is not of"):
        list(members(tmp_path / "archive"))


def lying_zip(path, claimed: int, content: bytes, method: int = zipfile.ZIP_DEFLATED):
    """Write a zip whose member claims another unpacked size."""
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a", content)
        archive.infolist()[0].file_size = claimed
    return path


@pytest.mark.parametrize("claimed", [0, 5, 2**30])
def test_a_zip_that_lies_about_sizes_is_refused_without_unpacking(tmp_path, claimed):
    path = lying_zip(tmp_path / "archive", claimed, bytes(20_000_000))
    tracemalloc.start()
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(path))
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_zipfile_unpacks_at_once_are_refused(tmp_path, method):
    path = lying_zip(tmp_path / "archive", 5, bytes(1000), method)
    with pytest.raises(UserError, match="packed by deflate"):
        list(members(path))


@pytest.mark.parametrize("mode", ["w:gz", "zip"])
def test_more_members_than_the_limit_are_refused(tmp_path, monkeypatch, mode):
    files = {f"{n}": b"" for n in range(9)}
    path = tmp_path / "archive"
    (pack_zip(path, files) if mode == "zip" else pack_tar(path, files, mode))
    for limit in (10, 9):  # with the folder
        monkeypatch.setattr(archive, "MAX_MEMBERS", limit)
        monkeypatch.setattr("transferbench.files.MAX_MEMBERS", limit)
        with nullcontext() if limit == 10 else pytest.raises(UserError, match="more than 9 mem"):
            assert len(list(members(path))) == 9


@pytest.mark.parametrize("mode", ["w:bz2", "w:xz"])
def test_other_packings_are_refused(tmp_path, mode):
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(pack_tar(tmp_path / "archive", {"a": bytes(10**6)}, mode)))


@pytest.mark.parametrize("mode", ["w", "zip"])
def test_names_lead_nowhere_and_archives_inside_stay_packed(tmp_path, mode):
    inner = pack_zip(tmp_path / "inner", FILES).read_bytes()
    files = {"../../up": b"1", "/etc/passwd": b"2", "inner.zip": inner}
    path, before = tmp_path / "archive", sorted(tmp_path.iterdir())
    (pack_zip(path, files) if mode == "zip" else pack_tar(path, files, mode))
    assert dict(members(path)) == files
    assert sorted(tmp_path.iterdir()) == sorted([*before, path])
