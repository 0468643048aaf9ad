"""Write a bundle: the results of an experiment in one zip, to publish or to verify."""

import io
import re
import stat
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from transferbench import citing, experiments, models
from transferbench.errors import UserError, brief
from transferbench.evidence import pages
from transferbench.evidence.boards import FOLDER
from transferbench.evidence.bundles import MANIFEST, MAX_LINE, ONE_LINE, Manifest, digests
from transferbench.evidence.frame import read_runs
from transferbench.experiments.experiment import Experiment

PAGES = (".csv", ".md", ".tex", ".svg", ".pdf")


def pack(experiment: Experiment, results: Path, author: str = "") -> bytes:
    """Return the zip of an experiment's results; equal results give equal bytes.

    Paths of models' files become their names. Raise UserError if there are no results, or if the
    file of a model has changed since.
    """
    if not re.fullmatch(ONE_LINE, author) or len(author) > MAX_LINE:
        raise UserError(
            f"author {brief(author)}: expected one line of up to {MAX_LINE} characters."
        )
    folder, board = results / experiment.name, results / FOLDER / experiment.name
    runs = read_runs(folder / "runs.csv")
    files = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix in PAGES and p.is_file()}
    boards = {suffix: Path(f"{board}{suffix}") for suffix in PAGES}
    files |= {f"board{s}": path.read_bytes() for s, path in boards.items() if path.is_file()}
    files[experiments.COPY] = experiment.text.encode()
    for model, used in runs.groupby("model")["code"].unique().items():
        if not model.endswith(".py"):
            continue
        file = Path(model)
        if [*used] != [models.code(model)]:
            raise UserError(f"{model}: the runs were made with other code; run them again.")
        if f"models/{file.name}" in files:
            raise UserError(f"{model}: another model's file has this name; rename one.")
        files = {n: text.replace(model.encode(), file.name.encode()) for n, text in files.items()}
        files[f"models/{file.name}"] = file.read_bytes()
    files["citation.bib"] = citing.of_experiments([experiment]).encode()
    about = {"file": experiment, "author": author, "names": sorted(files), "runs": runs}
    files["README.md"] = pages.fill("bundle.md.j2", **about).encode()
    manifest = Manifest(author=author, files=digests(files))
    files[MANIFEST] = manifest.model_dump_json(indent=1).encode()
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, text in sorted(files.items()):
            info = ZipInfo(name)  # of 1980, so that equal files have equal bytes
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text, ZIP_DEFLATED)
    return packed.getvalue()
