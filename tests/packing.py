"""Archives for the tests."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

FILES = {"b/two.txt": b"two", "a.txt": b"one", "b/empty": b"", "b/zweı.txt": b"2"}


def pack_tar(path: Path, files: dict[str, bytes], mode: str = "w", prefix: str = "") -> Path:
    with tarfile.open(path, mode) as archive:
        folder = tarfile.TarInfo(f"{prefix}b")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def pack_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def sparse_tar(path: Path, kind: str, size: int) -> Path:
    """Write a tar with a file of one block of data and a hole; "S" is GNU's old form, or a PAX."""
    info = tarfile.TarInfo("GNUSparseFile.0/a")
    info.size, data = 512, b"x" * 512
    if kind == "S":
        info.type = tarfile.GNUTYPE_SPARSE
        header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
        numbers = (size - 512).to_bytes(11), (512).to_bytes(11), size.to_bytes(11)
        for start, number in zip((386, 398, 483), numbers, strict=True):
            header[start : start + 12] = b"\x80" + number
        header[148:156] = b"%06o\0 " % sum(header[:148] + b" " * 8 + header[156:])
        path.write_bytes(bytes(header) + data + bytes(1024))
        return path
    sparse = {
        "0.0": {"size": size, "numblocks": 1, "offset": size - 512, "numbytes": 512},
        "0.1": {"size": size, "numblocks": 1, "map": f"{size - 512},512", "name": "a"},
        "1.0": {"major": 1, "minor": 0, "realsize": size, "name": "a"},
    }[kind]
    info.pax_headers = {f"GNU.sparse.{name}": f"{value}" for name, value in sparse.items()}
    if kind == "1.0":
        data = f"1\n{size - 512}\n512\n".encode().ljust(512, b"\0") + data
        info.size = len(data)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(data))
    return path
