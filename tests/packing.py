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
