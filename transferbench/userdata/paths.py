"""Files of a domain, as the user names them.

A name is a file, a folder, a pattern with * ? [ ], or several of these with commas between them.
All files of a name are one domain, or each is a domain of its own. They are in alphabetical order
of their paths, however they are named. The labels of an npz, NAME.labels.txt, are no document file.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from transferbench.errors import UserError, brief
from transferbench.files import user_path
from transferbench.userdata.documents import DomainFiles
from transferbench.userdata.read import companion_files


def find_domains(names: Sequence[str], each_file: bool = False) -> list[DomainFiles]:
    """Return the domains that the names stand for.

    each_file: make each file a domain. Raises UserError for a name without files, a folder with
    anything but files, or a file given twice. A file that does not exist is no error here.
    """
    domains = [domain for name in names for domain in find_files(name, each_file=each_file)]
    check_twice(domains)
    return domains


def find_files(name: str, folder: Path = Path(), each_file: bool = False) -> list[DomainFiles]:
    """Return the domains of one name, a single one unless each_file. Paths start at the folder."""
    if not name.strip():
        raise UserError("an empty file name; expected the path of a file of documents.")
    parts = [name]
    if "," in name:
        if os.path.isfile(folder / name):  # noqa: PTH113 (Path.is_file raises for very long names)
            remedy = "rename the file, or write ? for the comma"
            raise UserError(f"{name}: a comma separates file names; {remedy}.")
        parts = [part.strip() for part in name.split(",")]
        if not all(parts):
            raise UserError(f"{brief(name)}: nothing between two commas; expected file names.")
    # As text: the order of Path objects depends on the version of Python.
    files = sorted((file for part in parts for file in _expand(part, folder)), key=Path.as_posix)
    if each_file or files == [folder / user_path(name)]:
        return [DomainFiles(file.stem, file, (file,)) for file in files]
    whole = folder / name
    named = whole if os.path.isdir(whole) else files[0]  # noqa: PTH112
    return [DomainFiles(named.stem, whole, tuple(files))]


def check_twice(domains: Iterable[DomainFiles]) -> None:
    """Raise UserError if a file occurs twice."""
    known = set()
    for domain in domains:
        for file in domain.files:
            absolute = os.path.abspath(file)  # noqa: PTH100 (resolve raises for very long names)
            if absolute in known:
                raise UserError(f"{file}: given twice; name each file once.")
            known.add(absolute)


def _expand(name: str, folder: Path) -> list[Path]:
    """Return the files of a file name, folder or pattern."""
    path = user_path(name)
    if os.path.isdir(folder / path):  # noqa: PTH112
        found = list((folder / path).iterdir())
        where, remedy = "in a folder of documents", f"remove it, or give a pattern: '{name}/*.csv'"
    elif any(sign in name for sign in "*?[") and not os.path.isfile(folder / path):  # noqa: PTH113
        found = [folder / match for match in glob.glob(str(path), root_dir=folder)]  # noqa: PTH207
        where, remedy = f"among the files of {name}", "give a pattern that matches files only"
    else:
        return [folder / path]
    for file in sorted(found):
        if file.is_dir() or file.name.startswith("."):
            kind = "folder" if file.is_dir() else "hidden file"
            raise UserError(f"{file}: a {kind} {where}; {remedy}.")
    companions = {companion for file in found for companion in companion_files(file)}
    files = [file for file in found if file not in companions]
    if not files:
        raise UserError(f"{folder / name}: no file there; expected files of documents.")
    return files
