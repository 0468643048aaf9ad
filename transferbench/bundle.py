"""Write and read a zip with the results of an experiment, for `share` and `verify`."""

import io
import math
import re
import shlex
import stat
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from jinja2 import Template

from transferbench import __version__, citing, experiments
from transferbench.errors import UserError
from transferbench.evidence.boards import FOLDER
from transferbench.evidence.frame import Records
from transferbench.evidence.pages import Evidence
from transferbench.experiments.experiment import Experiment
from transferbench.files import open_zip, read_member, write_text
from transferbench.messages import reason
from transferbench.runs import store

#: The text of README.md in a zip.
TEMPLATE = Path(__file__).with_name("share.md.j2")
#: Largest size of all files in a zip, unpacked; a line of runs.jsonl takes about 1 KB.
MAX_UNPACKED = 128 << 20
#: Seconds that a run may have taken by default for `verify` to repeat it.
SECONDS = 2.0


def pack(experiment: Experiment, results: Path, found: Records, name: str = "") -> bytes:
    """Return a zip with an experiment, its runs, pages and pictures, BibTeX, and models' files."""
    # A README.md says what is inside and how to verify it. Pages and pictures are made of the runs.
    # In the zip, a path of a model's file becomes its name. Equal results give equal bytes.
    # `name`: Name of the zip that the README gives; by default that of the experiment.
    evidence = Evidence.from_records(experiment, found, results)
    if outdated := evidence.outdated:
        remedy = f"`transferbench reproduce {experiment.name}` makes them again"
        raise UserError(f"{experiment.name}: {outdated[0]}; {remedy}.")
    files = {
        experiments.COPY: experiment.text.encode(),
        store.NAME: (results / experiment.name / store.NAME).read_bytes(),
        "citation.bib": citing.bibtex_of([experiment]).encode(),
    }
    with tempfile.TemporaryDirectory() as folder:
        for path in evidence.write(Path(folder) / experiment.name):
            name_in_zip = path.name
            if path.parent.name == FOLDER:  # its page, its numbers and two pictures
                name_in_zip = "board" + path.name.removeprefix(experiment.name)
            files[name_in_zip] = path.read_bytes()
    records = found.values()
    used = {(r.model, r.code, r.run.code) for r in records if r.model.endswith(".py")}
    for model, then, now in sorted(used):
        file = Path(model)
        if then != now:
            raise UserError(f"{model}: the runs were made with other code; run them again.")
        if f"models/{file.name}" in files:
            raise UserError(f"{model}: another model's file has this name; rename one.")
        files = {n: text.replace(model.encode(), file.name.encode()) for n, text in files.items()}
        files[f"models/{file.name}"] = file.read_bytes()
    took = min((r.seconds for r in records if r.done and r.seconds is not None), default=0.0)
    allowed = f" --seconds {math.ceil(2 * took)}" if took > SECONDS else ""
    command = f"transferbench verify {shlex.quote(name or f'{experiment.name}.zip')}{allowed}"
    parts = sorted({file.partition("/")[0] for file in files})
    readme = Template(TEMPLATE.read_text("utf-8"), keep_trailing_newline=True)
    text = readme.render(experiment=experiment, version=__version__, command=command, parts=parts)
    files["README.md"] = text.encode()
    size = sum(map(len, files.values()))
    if size > MAX_UNPACKED:
        message = f"{experiment.name}: {size:,} bytes, expected at most {MAX_UNPACKED:,} in one zip"
        raise UserError(f"{message}; split the experiment into several.")
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # dated 1980, so that equal files give equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()


def unpack(path: Path, results: Path) -> str:
    """Write the contents of a zip to a folder of results; return the name of the experiment."""
    # `results`: Files of models are written to it, too, and their paths replace their names in the
    # experiment and its runs.
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
