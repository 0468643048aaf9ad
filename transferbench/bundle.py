"""Write and read a zip with the results of an experiment, for `share` and `verify`."""

import io
import re
import stat
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from transferbench import citing, experiments
from transferbench.errors import UserError
from transferbench.evidence.boards import FOLDER
from transferbench.evidence.pages import Evidence
from transferbench.experiments.experiment import Experiment
from transferbench.files import write_text
from transferbench.messages import reason
from transferbench.runs import store

PAGES = (".csv", ".md", ".svg")


def pack(experiment: Experiment, results: Path) -> bytes:
    """Return a zip with an experiment, its runs and pages, BibTeX, and the files of its models.

    In the zip, a path of a model's file becomes its name. Equal results give equal bytes.

    Parameters
    ----------
    experiment
        The experiment.
    results
        Folder of results.

    Raises
    ------
    UserError
        If there are no results, if they are of different data or code, if the file of a model has
        changed since the runs, or if two models have files of the same name.
    """
    folder, board = results / experiment.name, results / FOLDER / experiment.name
    records = store.read(folder / store.NAME).values()
    if outdated := Evidence.read(experiment, folder).outdated:
        remedy = f"`transferbench reproduce {experiment.name}` makes them again"
        raise UserError(f"{experiment.name}: {outdated[0]}; {remedy}.")
    paths = {p.name: p for p in folder.iterdir() if p.suffix in PAGES or p.name == store.NAME}
    paths |= {f"board{suffix}": Path(f"{board}{suffix}") for suffix in PAGES}
    files = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
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
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # dated 1980, so that equal files give equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()


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
        If the file is no such zip.
    """
    folder = results / path.stem
    if not experiments.NAME.fullmatch(path.stem):
        raise UserError(f"{path}: expected letters, digits and -_.+ in the name.")
    try:
        with ZipFile(path) as archive:
            texts = {name: archive.read(name).decode() for name in (experiments.COPY, store.NAME)}
            models = [n for n in archive.namelist() if re.fullmatch(r"models/[\w.-]+\.py", n)]
            for model in models:
                file = Path(archive.extract(model, results))
                name = rf"(?<![\w./-]){re.escape(file.name)}"
                texts = {n: re.sub(name, file.as_posix(), text) for n, text in texts.items()}
    except Exception as error:  # the library raises many types for a damaged or encrypted file
        why = reason(error)
        raise UserError(f"{path}: cannot be read ({why}); expected a zip of `share`.") from None
    for name, text in texts.items():
        write_text(folder / name, text)
    return path.stem
