"""transferbench predict."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._own import FILE, own_data


@click.command()
@own_data
@click.option("--clusters", type=click.IntRange(2), help="How many clusters, without a source.")
@click.option("--out", type=FILE, required=True, help="File to write, .csv or .jsonl.")
def command(
    sources: tuple[Path, ...], targets: tuple[Path, ...], model: str,
    assignments: tuple[str, ...], seed: int, text_column: str, label_column: str,
    id_column: str | None, options: tuple[str, ...], clusters: int | None, out: Path,
) -> None:  # fmt: skip
    """Label documents of your own.

    \b
    transferbench predict --source labelled.csv --target mail.csv --model gcmf --out found.csv
    transferbench predict --target a.csv --target b.csv --model lnkmtc --clusters 4 --out found.csv

    Each line of what is written is a document of a target: file, row (the first is 1), id if there
    is one, label (or number of its cluster, the same over all files where the model clusters them
    together), confidence. The confidence is the label's share of the document's scores (of their
    softmax, where they can be negative): it ranks documents, but is no probability. Labels of
    targets are not read.
    """
    from transferbench.cli._own import fitted, gather
    from transferbench.data.userdata.predictions import SUFFIXES, rows, write
    from transferbench.errors import UserError
    from transferbench.files import writing

    if out.suffix not in SUFFIXES:
        raise UserError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}.")
    if out.resolve() in {path.resolve() for path in (*sources, *targets)}:
        raise UserError(f"--out {out} is one of the files to read; choose another.")
    if bool(sources) == bool(clusters):
        raise UserError("expected --source, or --clusters to find some without a source.")
    columns = text_column, label_column, id_column
    problem, _, documents = gather(sources, targets, options, columns, "none", clusters or 0)
    with writing(out) as temporary:  # before the fit: what cannot be written need not be computed
        fit = fitted(problem, documents, model, assignments, seed)
        write(temporary, rows(problem, fit, documents), out.suffix)
    click.echo(f"{out}: {sum(map(len, documents))} documents")
