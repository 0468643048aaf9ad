"""archive: digests do not depend on the packing; unsafe and damaged archives are refused."""

from __future__ import annotations

import gzip
import hashlib
import stat
import tarfile
import zipfile

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
    with pytest.raises(UserError, match=r"unknown digest scheme 'sha265'.*sha256"):
        digest(empty, "sha265")


def test_the_tree_digest_is_the_same_for_every_packing_of_the_same_files(tmp_path):
    backwards = dict(reversed(FILES.items()))
    packings = [
        pack_tar(tmp_path / "a.tar", FILES),
        pack_tar(tmp_path / "a.tar.gz", backwards, "w:gz"),
        pack_tar(tmp_path / "a.tar.bz2", FILES, "w:bz2", prefix="./"),
        pack_tar(tmp_path / "a.tar.xz", FILES, "w:xz"),
        pack_zip(tmp_path / "a.zip", backwards),
    ]
    lines = sorted(f"{n}\t{hashlib.sha256(c).hexdigest()}\n" for n, c in FILES.items())
    expected = "tree:" + hashlib.sha256("".join(lines).encode()).hexdigest()
    assert [digest(path, "tree") for path in packings] == [expected] * 5
    other = pack_zip(tmp_path / "other.zip", {**FILES, "a.txt": b"One"})
    assert digest(other, "tree") != expected


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_tree_may_hold_names_in_any_encoding(tmp_path, encoding):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", encoding=encoding, format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("é"))
    line = b"%s\t%s\n" % ("é".encode(encoding), hashlib.sha256().hexdigest().encode())
    assert digest(path, "tree") == "tree:" + hashlib.sha256(line).hexdigest()


# Members


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_members_are_given_in_archive_order(tmp_path, name):
    path = tmp_path / name
    mode = "w:" + path.suffix[1:] if name != "a.tar" else "w"
    (pack_zip(path, FILES) if name == "a.zip" else pack_tar(path, FILES, mode))
    assert list(members(path)) == list(FILES.items())


UNSAFE = ["../a", "a/../../b", "/etc/a", "C:/a", "c:a", "a\\b", "..", "a\nb"]


@pytest.mark.parametrize("pack", [pack_tar, pack_zip])
@pytest.mark.parametrize("name", UNSAFE)
def test_members_refuses_unsafe_paths(tmp_path, pack, name):
    path = pack(tmp_path / "archive", {name: b"evil"})
    with pytest.raises(UserError, match="unsafe path"):
        list(members(path))


def test_members_accepts_paths_that_only_look_unsafe(tmp_path):
    files = {"a..b/c": b"1", "...": b"2", "http:^^a.b^": b"3"}
    assert dict(members(pack_tar(tmp_path / "archive", files))) == files


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"Z"]
)
def test_members_refuses_links_and_devices_in_a_tar(tmp_path, kind):
    with tarfile.open(tmp_path / "archive", "w") as archive:
        info = tarfile.TarInfo("harmless")
        info.type = kind
        info.linkname = "elsewhere"
        archive.addfile(info)
    with pytest.raises(UserError, match="link or a device"):
        list(members(tmp_path / "archive"))


def test_members_refuses_links_in_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        info = zipfile.ZipInfo("harmless")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UserError, match="link or a device"):
        list(members(tmp_path / "archive"))


@pytest.mark.parametrize("mode", ["w", "w:gz", "zip"])
def test_members_refuses_more_bytes_than_the_limit(tmp_path, mode):
    files = {"a": b"\0" * 60_000, "b": b"\0" * 60_000}
    path = tmp_path / "archive"
    (pack_zip(path, files) if mode == "zip" else pack_tar(path, files, mode))
    assert len(list(members(path, limit=120_000))) == 2
    with pytest.raises(UserError, match="more than 119999 bytes"):
        list(members(path, limit=119_999))


@pytest.mark.parametrize(("size", "declared"), [(1_000_000, 10), (1_000, 2_000)])
def test_members_refuses_a_zip_that_declares_a_false_size(tmp_path, size, declared):
    path = pack_zip(tmp_path / "archive", {"bomb": b"\0" * size})
    content = path.read_bytes()
    true, lie = size.to_bytes(4, "little"), declared.to_bytes(4, "little")
    assert content.count(true) == 2
    path.write_bytes(content.replace(true, lie))
    with pytest.raises(UserError):
        list(members(path, limit=5_000))


def test_members_refuses_a_tar_with_a_huge_header(tmp_path):
    with tarfile.open(tmp_path / "archive", "w:gz", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a" * (64 << 20)))  # a name of 64 MiB, 64 KiB packed
    with pytest.raises(UserError, match="a header of 67108865 bytes"):
        list(members(tmp_path / "archive", limit=1 << 20))


@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip"])
def test_members_refuses_too_many_members(tmp_path, monkeypatch, name):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 5)
    path, pack = tmp_path / name, pack_zip if name == "a.zip" else pack_tar
    pack(path, {str(n): b"" for n in range(4)})  # and a folder
    assert len(list(members(path))) == 4
    pack(path, {str(n): b"" for n in range(5)})
    with pytest.raises(UserError, match="more than 5 members"):
        list(members(path))


def test_members_refuses_a_tar_followed_by_too_many_zeros(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 5)
    path = pack_tar(tmp_path / "archive", {"a": b"1"})
    path.write_bytes(gzip.compress(path.read_bytes()) + gzip.compress(bytes(1 << 24)))
    with pytest.raises(UserError, match="too many bytes"):
        list(members(path, limit=1 << 20))


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_members_refuses_an_archive_cut_off_anywhere(tmp_path, name):
    path = tmp_path / name
    mode = "w:" + path.suffix[1:] if name != "a.tar" else "w"
    (pack_zip(path, FILES) if name == "a.zip" else pack_tar(path, FILES, mode))
    content = path.read_bytes()
    # A plain tar is complete at the first block of zeros after its members.
    complete = 11 * 512 if name == "a.tar" else len(content)
    cuts = {*range(0, complete, 64), *range(0, complete, 512), complete - 1}
    for cut in sorted(cuts):
        path.write_bytes(content[:cut])
        with pytest.raises(UserError, match="not a readable tar or zip archive"):
            list(members(path))


def test_members_refuses_a_tar_with_a_damaged_header_inside(tmp_path):
    path = pack_tar(tmp_path / "archive", {"a": b"1", "b": b"2", "c": b"3"})
    content = bytearray(path.read_bytes())
    content[3 * 512 + 1] ^= 1  # in the name of b
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(path))


@pytest.mark.parametrize("content", [b"", b"text\n" * 500, b"PK but no zip", b"\x1f\x8b no gzip"])
def test_members_refuses_a_file_that_is_no_archive(tmp_path, content):
    path = tmp_path / "archive"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a readable tar or zip archive"):
        list(members(path))


def test_members_refuses_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        list(members(tmp_path / "gone"))


def test_members_refuses_a_zip_by_its_directory_before_unpacking(tmp_path, monkeypatch):
    path = pack_zip(tmp_path / "archive", {"a": b"a" * 60, "b": b"b" * 60})
    given = []
    with pytest.raises(UserError, match="unpacks to more than 100 bytes"):
        given.extend(members(path, limit=100))
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    with pytest.raises(UserError, match="has more than 1 members"):
        given.extend(members(path))
    assert given == []
