"""Bundles of results that others have shared: read as data, and submitted to a board.

Reading imports, runs and unpacks nothing: what a bundle contains is data, also its model files.
"""

import hashlib
import math
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import pandas as pd
from pydantic import BaseModel, StringConstraints

from transferbench import experiments, strict_yaml
from transferbench.errors import UserError
from transferbench.evidence.frame import Cell, observations, read_lines, summarise, to_runs
from transferbench.experiments.experiment import Column, Experiment, StrictModel
from transferbench.files import open_regular
from transferbench.measures import SCORES
from transferbench.messages import shorten

MANIFEST = "manifest.json"
#: Folder of bundles in the results.
FOLDER = "submitted"
#: Bytes of all files of a bundle.
MAX_BYTES = 64 << 20
MAX_LINE = 200
#: A text without control characters, line separators, and marks that reorder text.
ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$"
Line = Annotated[str, StringConstraints(max_length=MAX_LINE, pattern=ONE_LINE)]


class Manifest(StrictModel):
    """Who publishes a bundle, and the SHA-256 of each of its other files."""

    format: Literal[1] = 1
    author: Line = ""
    files: dict[str, str]


class Added(BaseModel):
    """The suite that a bundle's experiment extends, and the columns that it adds."""

    extends: str = ""
    columns: dict[Line, Column]


@dataclass(frozen=True)
class Bundle:
    """A bundle that `read` has checked.

    runs  : as `frame.read_runs` returns them.
    files : contents by name.
    """

    path: Path
    author: str
    added: Added
    runs: pd.DataFrame
    files: dict[str, bytes]


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of contents by name."""
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def read(path: Path) -> Bundle:
    """Return a bundle. Raise UserError unless it is complete, unchanged and of a usual size."""
    try:
        files = _unpack(path)
        manifest = Manifest.model_validate_json(files.pop(MANIFEST))
        if wrong := {name for name, _ in digests(files).items() ^ manifest.files.items()}:
            raise ValueError(f"missing, changed or not listed: {', '.join(sorted(wrong))}")
        runs = to_runs(read_lines(path / "runs.csv", files["runs.csv"].decode()), path / "runs.csv")
        text = files[experiments.COPY].decode()
        added = Added.model_validate(strict_yaml.read(text, path)[0])
        scores, costs = runs[[*SCORES]], runs[["seconds", "peak_mib"]]
        usual = scores.isna() | ((scores - 0.5).abs() <= 0.5 + 1e-9)  # some are rounded
        finite = costs.isna() | ((costs > 0) & (costs < math.inf))
        if not (usual.all(axis=None) and finite.all(axis=None)):
            raise ValueError("runs.csv has a measure that is out of range")
        for model in runs["model"].unique():
            if model.endswith(".py") and f"models/{Path(model).name}" not in files:
                raise ValueError(f"there is no models/{model}")
    except (
        *(BadZipFile, EOFError, KeyError, OSError, RuntimeError, ValueError),
        *(struct.error, zlib.error, UserError),
    ) as error:
        reason = shorten(getattr(error, "strerror", None) or f"{error}")
        raise UserError(f"{path}: not a bundle of `share` ({reason}); get a fresh copy.") from None
    return Bundle(path, manifest.author, added, runs, files)


def _unpack(path: Path) -> dict[str, bytes]:
    """Return contents by name; a file is read no further than to the size that the zip states."""
    with open_regular(path) as stream, ZipFile(stream) as archive:
        infos = archive.infolist()
        if {info.compress_type for info in infos} - {ZIP_STORED, ZIP_DEFLATED}:
            raise ValueError("an unusual compression")
        if sum(info.file_size for info in infos) > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES >> 20} MiB")
        return {info.filename: archive.open(info).read(info.file_size) for info in infos}


def submitted(results: Path) -> tuple[list[tuple[Experiment, list[Cell]]], list[UserError]]:
    """Return the methods of the bundles in results/submitted, and the errors of the other ones.

    Methods are those that a bundle adds to the suite which it extends: that suite with their
    columns alone, and their cells on its rows, if the runs of every seed finished. Whose they are
    is a part of their labels.
    """
    entries, errors = [], []
    for path in paths(results):
        try:
            entries.append(_added(path, path.stat().st_mtime_ns))
        except UserError as error:
            shown = f"{error}".removeprefix(f"{path}: ")
            errors.append(UserError(f"{path}: {shown}"))
    return entries, errors


def paths(results: Path) -> list[Path]:
    """Return the paths of the bundles in results/submitted."""
    return [path for path in sorted((results / FOLDER).glob("*")) if is_bundle(path.name)]


def is_bundle(name: str) -> bool:
    """True for the name of a bundle, FILE.zip."""
    return name.lower().endswith(".zip")


@lru_cache  # a file is read once, whatever the number of boards
def _added(path: Path, changed: int) -> tuple[Experiment, list[Cell]]:
    """Return what the bundle, last changed at that time, adds to its suite; see `submitted`."""
    bundle = read(path)
    name = bundle.added.extends
    suite = experiments.load(name) if name in experiments.names() else None
    if not (suite and suite.spec.board):
        raise UserError(f"{path}: its experiment extends no suite with a board; `verify` reads it.")
    columns = {
        f"{label} (submitted by {bundle.author or 'nobody'}: {path.name})": Column(
            model=column.model, params=column.params, random=column.random
        )
        for label, column in bundle.added.columns.items()
        if label not in suite.spec.columns
    }
    entry = replace(suite, spec=suite.spec.model_copy(update={"columns": columns}))
    cells = summarise(entry, observations(entry, bundle.runs))
    return entry, [cell for cell in cells if cell.runs == cell.planned]
