"""Bundles: the results of an experiment in one zip, to publish or to verify.

`pack` writes one, `read` checks one of anybody. Reading imports, runs and unpacks nothing: what a
bundle contains is data, also its model files.
"""

import hashlib
import io
import json
import math
import stat
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pandas as pd
from pydantic import StringConstraints

from transferbench import citing, experiments, models, strict_yaml
from transferbench.data import tasks
from transferbench.data.archive import ARCHIVE_ERRORS
from transferbench.errors import UserError, brief
from transferbench.evidence import pages
from transferbench.evidence.boards import FOLDER
from transferbench.evidence.frame import read_lines, to_runs
from transferbench.experiments.experiment import Experiment, StrictModel
from transferbench.files import open_regular
from transferbench.measures import SCORES
from transferbench.messages import shorten
from transferbench.runs.record import Run, Store
from transferbench.settings import Settings

MANIFEST = "manifest.json"
PAGES = (".csv", ".md", ".tex", ".svg", ".pdf")
#: Limits of what `read` takes: files, bytes of the zip and of all files, lines of runs.csv.
MAX_FILES, MAX_BYTES, MAX_LINES = 200, 64 << 20, 200_000
Line = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Stored(StrictModel):
    """SHA-256 and bytes of a file."""

    sha256: str
    size: int


class Manifest(StrictModel):
    """Facts about a bundle, and the digests of its files.

    extends: the suite that the experiment extends; columns: labels of those that the author added.
    """

    format: Literal[1] = 1
    name: Line
    extends: Line = ""
    author: Line = ""
    columns: tuple[Line, ...] = ()
    files: dict[str, Stored]


@dataclass(frozen=True)
class Bundle:
    """A bundle that `read` has checked.

    lines : of runs.csv, as `frame.read_lines` returns them.
    runs  : the same as `frame.read_runs` returns them; own: those of the author's columns alone.
    files : contents by name.
    """

    path: Path
    manifest: Manifest
    lines: list[dict[str, str]]
    runs: pd.DataFrame
    files: dict[str, bytes]

    @property
    def own(self) -> pd.DataFrame:
        """The runs of the columns that the author added."""
        return to_runs([each for each in self.lines if each["column"] in self.manifest.columns])


def pack(experiment: Experiment, settings: Settings, author: str = "") -> bytes:
    """Return the zip of an experiment's results; equal results give equal bytes.

    Paths of models' files become their names. Raise UserError if there are no results, or if the
    file of a model has changed since.
    """
    folder, boards = settings.results / experiment.name, settings.results / FOLDER
    lines = read_lines(folder / "runs.csv")
    files = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in PAGES and p.is_file()}
    files |= {f"board{p.suffix}": p.read_bytes() for p in boards.glob(f"{experiment.name}.*")}
    files[experiments.COPY] = experiment.text.encode()
    for model in {line["model"] for line in lines if line["model"].endswith(".py")}:
        file = models.get(model).path
        used = {line["code"] for line in lines if Path(line["model"]).name == file.name}
        if used != {Run("", model, {}, None).code}:
            raise UserError(f"{model}: the runs were made with other code; run them again.")
        files = {n: text.replace(model.encode(), file.name.encode()) for n, text in files.items()}
        files[f"models/{file.name}"] = file.read_bytes()
    digests = {line["task"]: line["data"] for line in lines}
    store, keys = Store(settings.results), {line["key"] for line in lines}
    environment = {
        "versions": [json.loads(text) for text in sorted({each["versions"] for each in lines})],
        "machines": sorted({record.machine for record in map(store.find, keys) if record}),
    }
    originals = {task: tasks.needed(tasks.Task.named(task)).values() for task in sorted(digests)}
    data = {
        task: {"digest": digests[task], "originals": [asdict(file) for file in needed]}
        for task, needed in originals.items()
    }
    files |= {"environment.json": _json(environment), "data.json": _json(data)}
    files["citation.bib"] = citing.of_experiments([experiment]).encode()
    about = {"file": experiment, "author": author, "names": sorted(files), "lines": lines}
    files["README.md"] = pages.fill("bundle.md.j2", **about).encode()
    stated = strict_yaml.read(experiment.text, experiment.path)[0]
    manifest = Manifest(
        name=experiment.name,
        extends=stated.get("extends", ""),
        author=author,
        columns=() if experiment.name in experiments.names() else tuple(stated["columns"]),
        files={name: _stored(text) for name, text in sorted(files.items())},
    )
    files[MANIFEST] = _json(manifest.model_dump())
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # of 1980, so that equal files have equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _stored(content: bytes) -> Stored:
    return Stored(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def read(path: Path) -> Bundle:
    """Return a bundle. Raise UserError unless it is complete, unchanged and of a usual size."""
    try:
        with open_regular(path) as stream:
            files = _unpack(stream.read(MAX_BYTES + 1))
        manifest = Manifest.model_validate_json(files.pop(MANIFEST, b""))
        actual = {name: _stored(content) for name, content in files.items()}
        if wrong := {name for name, _ in actual.items() ^ manifest.files.items()}:
            raise ValueError(f"missing, changed or not listed: {', '.join(sorted(wrong))}")
        text = files["runs.csv"].decode()
        if text.count("\n") > MAX_LINES:
            raise ValueError(f"runs.csv has more than {MAX_LINES:,} lines")
        lines = read_lines(path / "runs.csv", text)
        runs = to_runs(lines, path / "runs.csv")
        costs = runs[["seconds", "peak_mib"]]
        if (runs[[*SCORES]].abs() > 1).any(axis=None) or (costs.abs() == math.inf).any(axis=None):
            raise ValueError("runs.csv has a measure that is out of range")
        used = {f"models/{line['model']}" for line in lines if line["model"].endswith(".py")}
        if lost := sorted(used - files.keys()):
            raise ValueError(f"there is no {lost[0]}")
    except (*ARCHIVE_ERRORS, OSError, KeyError, struct.error, UserError) as error:
        reason = shorten(getattr(error, "strerror", None) or f"{error}")
        raise UserError(f"{path}: not a bundle of `share` ({reason}); get a fresh copy.") from None
    return Bundle(path, manifest, lines, runs, files)


def _unpack(packed: bytes) -> dict[str, bytes]:
    """Return contents by name. Raise ValueError for a zip that is too large or has odd files."""
    archive = ZipFile(io.BytesIO(packed))
    infos = archive.infolist()
    odd = [
        info.orig_filename
        for info in infos
        if not all(map(experiments.NAME.fullmatch, info.orig_filename.split("/")))
        or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG)
        or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED)
    ]
    refused = {
        f"more than {MAX_FILES} files": len(infos) > MAX_FILES,
        f"more than {MAX_BYTES >> 20} MiB": sum(i.file_size for i in infos) > MAX_BYTES,
        "a name twice": len({info.orig_filename.casefold() for info in infos}) < len(infos),
        f"an unusual file {brief(odd[0]) if odd else ''}": bool(odd),
    }
    if reasons := [reason for reason, found in refused.items() if found]:
        raise ValueError(reasons[0])
    return {info.filename: archive.open(info).read(info.file_size) for info in infos}
