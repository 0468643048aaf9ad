"""Write and read a zip with the results of an experiment, for `share` and `verify`."""

import io
import math
import re
import shlex
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from transferbench import __version__, citing, experiments
from transferbench.errors import UserError
from transferbench.evidence.boards import FOLDER
from transferbench.evidence.frame import Records
from transferbench.evidence.pages import Evidence
from transferbench.experiments.experiment import Experiment
from transferbench.files import open_zip, read_member, write_text
from transferbench.messages import reason
from transferbench.runs import store

PAGES = (".csv", ".md", ".svg")
README = "README.md"
#: What the files of a zip are, by name or folder, for its README.
CONTENTS = {
    experiments.COPY: "the experiment: its tasks, methods, settings and printed values",
    store.NAME: "the runs, one a line: results, seeds, times, versions, digests of the data",
    "table.md": "the table: our values beside the printed ones", "table.csv": "its numbers",
    "figure.md": "the figure", "figure.csv": "its points", "claims.md": "the tested claims",
    "board.md": "the ranking of the methods", "board.csv": "its numbers",
    "models": "the Python files of the experiment's own models", "citation.bib": "BibTeX",
}  # fmt: skip
#: Largest size of all files in a zip, unpacked; a line of runs.jsonl takes about 1 KB.
MAX_UNPACKED = 128 << 20
#: Seconds that a run may have taken by default for `verify` to repeat it.
SECONDS = 2.0


def pack(experiment: Experiment, results: Path, found: Records, name: str = "") -> bytes:
    """Return a zip with an experiment, its runs, pages and pictures, BibTeX, and models' files.

    A README.md says what is inside and how to verify it. Pictures that the folder lacks are drawn.

    In the zip, a path of a model's file becomes its name. Equal results give equal bytes.

    Parameters
    ----------
    experiment
        The experiment.
    results
        Folder of results.
    found
        Records of the experiment there.
    name
        Name of the zip that the README gives; by default that of the experiment.

    Raises
    ------
    UserError
        If the results are of different data or code, if the file of a model has changed since the
        runs, if two models have files of the same name, or if all files have more than MAX_UNPACKED
        bytes.
    """
    folder, board = results / experiment.name, results / FOLDER / experiment.name
    records = found.values()
    evidence = Evidence.from_records(experiment, found, results)
    if outdated := evidence.outdated:
        remedy = f"`transferbench reproduce {experiment.name}` makes them again"
        raise UserError(f"{experiment.name}: {outdated[0]}; {remedy}.")
    paths = {p.name: p for p in folder.iterdir() if p.suffix in PAGES or p.name == store.NAME}
    paths |= {f"board{suffix}": Path(f"{board}{suffix}") for suffix in PAGES}
    files = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    if not any(name.endswith(".svg") for name in files):
        with tempfile.TemporaryDirectory() as drawn:
            written = evidence.write(Path(drawn) / experiment.name)
            for path in written:
                in_zip = path.name if path.parent.name == experiment.name else f"board{path.suffix}"
                if path.suffix == ".svg":
                    files[in_zip] = path.read_bytes()
    files[experiments.COPY] = experiment.text.encode()
    used = {(r.model, r.code, r.run.code) for r in records if r.model.endswith(".py")}
    for model, then, now in sorted(used):
        file = Path(model)
        if then != now:
            raise UserError(f"{model}: the runs were made with other code; run them again.")
        if f"models/{file.name}" in files:
            raise UserError(f"{model}: another model's file has this name; rename one.")
        files = {n: text.replace(model.encode(), file.name.encode()) for n, text in files.items()}
        files[f"models/{file.name}"] = file.read_bytes()
    files["citation.bib"] = citing.bibtex_of([experiment]).encode()
    took = min((r.seconds for r in records if r.done and r.seconds is not None), default=0.0)
    allowed = f" --seconds {math.ceil(2 * took)}" if took > SECONDS else ""
    command = f"transferbench verify {shlex.quote(name or f'{experiment.name}.zip')}{allowed}"
    files[README] = _readme(experiment, command, files).encode()
    size = sum(map(len, files.values()))
    if size > MAX_UNPACKED:
        message = f"{folder}: {size:,} bytes, expected at most {MAX_UNPACKED:,} in one zip"
        raise UserError(f"{message}; split the experiment into several.")
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # dated 1980, so that equal files give equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()


def _readme(experiment: Experiment, command: str, files: Iterable[str]) -> str:
    """Return the README of a zip: what is inside, and the command that verifies it."""
    parts = dict.fromkeys(file.partition("/")[0] for file in sorted(files))
    lines = [
        f"- `{part}`" + (f": {CONTENTS[part]}" if part in CONTENTS else "")
        for part in parts
        if not part.endswith(".svg")
    ]
    pictures = [f"![{part}]({part})" for part in parts if part.endswith(".svg")]
    what = (
        "These are the results of an experiment of transferbench, packed with version "
        f"{__version__}. Install that version first, as its README says. Then this command makes "
        "some of the runs again, and compares them with those in the zip:"
    )
    how = (
        "It runs the files in `models`, if there are any: do it only if you trust their author. Of "
        "each other model it makes the quickest run; `--seconds 60` allows longer ones."
    )
    blocks = [f"# {experiment.name}: {experiment.spec.title}", what, f"    {command}", how]
    blocks += ["## Files", "\n".join(lines)]
    blocks += ["## Pictures", *pictures] if pictures else []
    return "\n\n".join(blocks) + "\n"


def unpack(path: Path, results: Path) -> str:
    """Write the contents of a zip to a folder of results; return the name of the experiment.

    Parameters
    ----------
    path
        A zip that `pack` made.
    results
        The folder. Files of models are written to it, too, and their paths replace their names in
        the experiment and its runs.

    Raises
    ------
    UserError
        If the file is no such zip, or unpacks to more than MAX_UNPACKED bytes.
    """
    folder = results / path.stem
    if not experiments.NAME.fullmatch(path.stem):
        raise UserError(f"{path}: expected letters, digits and -_.+ in the name.")
    try:
        with open_zip(path, MAX_UNPACKED) as archive:
            needed = re.compile(rf"{experiments.COPY}|{store.NAME}|models/[\w.-]+\.py")
            members = {
                info.filename: read_member(archive, info)
                for info in archive.infolist()
                if needed.fullmatch(info.filename)
            }
            texts = {name: members.pop(name).decode() for name in (experiments.COPY, store.NAME)}
            paths = {Path(model).name: (results / model).as_posix() for model in members}
            for model, code in members.items():
                (results / model).parent.mkdir(exist_ok=True)
                (results / model).write_bytes(code)
            of_file = re.compile(r"(?<![\w./-])[\w.-]+\.py")
            for part, text in texts.items() if paths else ():
                texts[part] = of_file.sub(lambda found: paths.get(found[0], found[0]), text)
    except Exception as error:  # the library raises many types for a damaged or encrypted file
        why = reason(error)
        raise UserError(f"{path}: cannot be read ({why}); expected a zip of `share`.") from None
    for name, text in texts.items():
        write_text(folder / name, text)
    return path.stem
