"""transferbench export."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._options import completing, task, task_names
from transferbench.cli._terminal import echo
from transferbench.errors import UserError
from transferbench.messages import printable
from transferbench.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from transferbench.problem import Matrix

FORMATS = ("npz", "svmlight", "csv")


@click.command()
@click.argument("name", metavar="TASK", type=task, shell_complete=completing(task_names))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder to make.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="npz", show_default=True,
    help="Form of the matrices.",
)  # fmt: skip
@click.pass_obj
def command(settings: Settings, name: str, out: Path, form: str) -> None:
    """Write the matrices and labels of a task into a folder, for other programs.

    \b
    transferbench export comp-vs-rec --out comp-vs-rec --format csv

    labels.csv has the labels that a model may see, and truth.csv has the others. If features have
    names, they are in features.txt. README.md explains the files, and shows how to read them in
    Python, R and MATLAB.
    """
    import pandas as pd
    from jinja2 import Template

    from transferbench import datasets, tasks

    value = tasks.Task.parse(name)
    problem, truth = tasks.load(value, settings)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise UserError(f"{out} has files; expected a new or empty folder, give another --out.")
    matrices: dict[str, tuple[int, int]] = {}
    for domain in problem.domains:
        for j, view in enumerate(domain.views):
            part = f"-{j + 1}" if len(domain.views) > 1 else ""
            file = f"{domain.name}{part}.{form}"
            matrices[file] = view.shape
            _write(view, out / file, form)
    if problem.features:
        (out / "features.txt").write_text(
            "\n".join(" ".join(printable(name).split()) for name in problem.features) + "\n",
            encoding="utf-8",
        )
    known = [_labels(problem.classes, d.name, d.Y, d.seen) for d in problem.domains]
    hidden = map(_labels, repeat(problem.classes), truth.names, truth.Y, truth.scored)
    for file, labels in (("labels.csv", known), ("truth.csv", hidden)):
        pd.concat(labels).to_csv(out / file, index=False)
    summary = datasets.tasks()[value.base]
    template = Template((Path(__file__).parent / "templates" / "export.md.j2").read_text("utf-8"))
    text = template.render(
        task=value, summary=summary, problem=problem, matrices=matrices, form=form
    )
    (out / "README.md").write_text(text + "\n", encoding="utf-8")
    echo(out / "README.md")


def _write(view: Matrix, path: Path, form: str) -> None:
    """Write a matrix (n, d) as a sparse matrix."""
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp
    from sklearn.datasets import dump_svmlight_file

    X = sp.csr_array(view)
    if form == "npz":
        sp.save_npz(path, X)
    elif form == "svmlight":
        dump_svmlight_file(X, np.zeros(X.shape[0]), str(path), zero_based=False)
    else:
        triples = X.tocoo()
        table = {"row": triples.row, "column": triples.col, "value": triples.data}
        pd.DataFrame(table).to_csv(path, index=False)


def _labels(classes: tuple[str, ...], domain: str, Y: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
    """Return domain, row and class for each label of the rows (n,) of Y (n, c); "" for no label."""
    import numpy as np
    import pandas as pd

    padded = np.column_stack([Y[rows], ~Y[rows].any(axis=1)])  # the last column: no class
    positions, columns = padded.nonzero()
    names = np.array([*classes, ""], object)
    return pd.DataFrame(
        {"domain": domain, "row": rows.nonzero()[0][positions], "class": names[columns]}
    )
