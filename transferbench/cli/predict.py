"""transferbench predict."""

from __future__ import annotations

from os.path import realpath
from pathlib import Path

import click

from transferbench.cli._own import FILE, OwnData, own_data
from transferbench.cli._terminal import echo


@click.command()
@own_data
@click.option("--clusters", type=click.IntRange(2), help="Number of clusters, without a source.")
@click.option("--out", type=FILE, required=True, help="File to write, .csv or .jsonl.")
@click.option(
    "--escape-formulas",
    is_flag=True,
    help="In a CSV file, put ' before a value that a spreadsheet would run.",
)
def command(own: OwnData, clusters: int | None, out: Path, escape_formulas: bool) -> None:
    """Label your own documents.

    \b
    transferbench predict --source labelled.csv --target mail.csv --model gcmf --out found.csv
    transferbench predict --source topics.csv --target new.csv --model himls --out found.csv
    transferbench predict --target a.csv --target b.csv --model lnkmtc --clusters 4 --out found.csv
    transferbench predict --source old/ --target "mail/*.csv" --model gcmf --out found.csv

    The files of a folder, of a pattern or of a list (a.csv,b.csv) are one domain, their documents
    in alphabetical order of the files' paths; with --each-file each file is a domain. Several
    --target are several domains. A domain is texts or matrices, not both.

    Each line of the output is a document of a target: file, row in it (the first is 1), id if there
    is one, label (or number of its cluster, the same over all files if the model clusters them
    together), confidence. The confidence is the label's share of the document's scores (of their
    softmax, if they can be negative): it ranks documents, but is no probability. Labels of targets
    are not read.

    A multi-label model gives several labels. In a source the column holds `a|b`, or `|` for no
    label; --label-separator names another text than |. Each source is a task, and a target belongs
    to the task of the most similar source. The output has the labels with a score of .5 or more,
    best first, and their scores, both with | between; --set ensure_one_label=true gives every
    document at least one.

    Labels, ids and names are written as they were read. A spreadsheet takes one that begins with =,
    +, -, @ or a tab, and is no number, for a formula. The command then warns; --escape-formulas
    writes ' before it, and the label is no longer equal to the source's.
    """
    from transferbench.data.userdata.predictions import (
        SUFFIXES,
        formula,
        rows,
        without_formulas,
        write,
    )
    from transferbench.errors import UserError, brief
    from transferbench.files import writing

    if out.suffix not in SUFFIXES:
        raise UserError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}.")
    # Path.resolve raises for a loop of links.
    inputs = {realpath(file) for role in own.domains() for part in role for file in part.files}
    if realpath(out) in inputs:
        raise UserError(f"--out {out} is one of the files to read; choose another.")
    if bool(own.sources) == bool(clusters):
        raise UserError(
            "expected either --source (labelled documents) or --clusters N, and not both."
        )
    problem, _, targets = own.read("none", clusters or 0)
    with writing(out) as temporary:  # before the fit: fail early if the file cannot be written
        fit = own.fit(problem, targets)
        predicted = rows(problem, fit, targets, own.separator)
        if out.suffix == ".csv" and (value := formula(problem, targets)):
            if escape_formulas:
                predicted = without_formulas(predicted)
            else:
                message = "a spreadsheet would run it; --escape-formulas writes it as text"
                echo(f"warning: {out} has {brief(value)}: {message}.", err=True)
        write(temporary, predicted, out.suffix)
    echo(f"{out}: {sum(map(len, targets))} documents")
