"""A user's files: check them, find their folder, and digest them."""

import hashlib
import os
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

from transferbench import settings
from transferbench.errors import Unavailable, UserError
from transferbench.files import open_regular, open_zip, user_path


def check_files(
    files: Iterable[Path], max_bytes: int | None = None, content: str = "documents"
) -> None:
    """Check that the files exist, and are neither empty nor too large, packed or unpacked.

    Parameters
    ----------
    files
        The files.
    max_bytes
        Largest size of a packed file; by default the setting.
    content
        Name of the content that a file should have.

    Raises
    ------
    UserError
        If a file fails a check; the first one is reported.
    """
    max_bytes = max_bytes or settings.load().max_bytes
    remedy = "split it into several files"
    if content == "documents":
        remedy += ", or raise the setting max_size"
    for file in files:
        if not os.path.isfile(file):  # noqa: PTH113
            problem = "not a file" if os.path.exists(file) else "no such file"  # noqa: PTH110
            raise UserError(f"{file}: {problem}; give the path of a file of {content}.")
        size = file.stat().st_size
        if not size:
            raise UserError(f"{file}: the file is empty; expected {content}.")
        if size > max_bytes:
            raise UserError(f"{file}: {size:,} bytes, expected at most {max_bytes:,}; {remedy}.")
        if zipfile.is_zipfile(file):
            try:
                with open_zip(file, sys.maxsize) as archive:
                    unpacked = sum(member.file_size for member in archive.infolist())
            except (ValueError, zipfile.BadZipFile) as error:
                raise UserError(f"{file}: {error}; pack it anew.") from None
            if unpacked > 4 * max_bytes:
                expected = f"expected at most {4 * max_bytes:,}"
                raise UserError(f"{file}: {unpacked:,} bytes unpacked, {expected}.")


def file_digests(files: Iterable[Path], start: Path) -> list[str]:
    """Return the path and the SHA-256 of each file, with a blank between them.

    Parameters
    ----------
    files
        The files.
    start
        The folder that the paths are relative to, or a file in it.

    Raises
    ------
    UserError
        If a file cannot be read.
    """
    folder = start if start.is_dir() else start.parent
    digests = []
    for file in files:
        try:
            with open_regular(file) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise UserError(f"{file}: cannot be read ({error.strerror}); correct that.") from error
        digests.append(f"{Path(os.path.relpath(file, folder)).as_posix()} {digest}")
    return digests


def user_folder(path: str, task: str, problem: str, remedy: str) -> Path:
    """Return the user's folder.

    Parameters
    ----------
    path
        The folder as the user named it; "" if it was not named.
    task
        Name of the task.
    problem, remedy
        Parts of the messages.

    Raises
    ------
    Unavailable
        If there is no path.
    UserError
        If the folder does not exist.
    """
    default = f"own/{task.partition('/')[0]} of the data folder"
    if not path:
        raise Unavailable(problem, f"{remedy}, in {default} or one you name: {task}:path=FOLDER.")
    folder = user_path(path)
    if not folder.is_dir():
        raise UserError(f"{task}: {folder} is no folder; {remedy}, in {default} or one you name.")
    return folder
