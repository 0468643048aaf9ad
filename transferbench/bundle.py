"""The results of an experiment in one zip, to publish: `transferbench share`."""

import io
import stat
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from transferbench import citing, experiments
from transferbench.errors import UserError
from transferbench.evidence.boards import FOLDER
from transferbench.experiments.experiment import Experiment
from transferbench.runs import store

PAGES = (".csv", ".md", ".svg")


def pack(experiment: Experiment, results: Path) -> bytes:
    """Return a zip with the experiment, its runs and pages, BibTeX, and its models' own files.

    Paths of models' files become their names. Equal results give equal bytes. Raise UserError if
    there are no results, or if the file of a model has changed since.
    """
    folder, board = results / experiment.name, results / FOLDER / experiment.name
    records = store.read(folder / store.NAME).values()
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
    files["citation.bib"] = citing.of_experiments([experiment]).encode()
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # of 1980, so that equal files have equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()
