"""transferbench audit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.errors import UserError


@click.command()
@click.argument("names", nargs=-1, metavar="[EXPERIMENT | FILE.csv]...")
@click.option(
    "--cells", is_flag=True,
    help="Also print a line for each cell of a published table. Cells of a file are always "
    "printed.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also print what the words of the tables mean.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only, with each cell.")
def command(names: tuple[str, ...], cells: bool, explain: bool, as_json: bool) -> None:
    """Check which printed accuracies are possible, single runs, or copied (the GRIM test).

    An accuracy of one run on n documents is k/n, so its digits allow few n (Brown and Heathers
    2017). Averages are recomputed from their cells. EXPERIMENT is a published table. Without names,
    the command checks all published tables.

    \b
    FILE.csv (or .tsv) has the numbers of another paper, as printed:
      row          name of each row; one named average is recomputed
      documents    number of scored documents
      runs         if known, the number of runs: 10 for a mean, median of 10
      measure      if not accuracy: error, or another such as F1, which is not judged
      labels       number of labels of documents that can have several; F1, accuracy and
                   Hamming loss are then judged together
      set          with labels: name of the documents, if there are several sets
      METHOD ...   87.4, 87,4, 87.4%, .874 or 87.4 ± 2.1
      METHOD ±     the deviations, if they have a column of their own
    documents, runs, measure, labels and set are columns, or rows that state them for each column.
    """
    from transferbench.evidence import audit
    from transferbench.evidence.page import words
    from transferbench.evidence.printed import SUFFIXES, read_printed

    files = [name for name in names if Path(name).suffix.lower() in SUFFIXES]
    asked = [name for name in names if name not in files]
    for name in asked:
        if Path(name).exists() and Path(name).suffix.lower() not in (".yaml", ".yml"):
            form = "expected an experiment, or a table named .csv or .tsv"
            raise UserError(f"{name}: {form}; rename the file, or copy it to one.")
    audits = audit.audits(asked) if asked or not files else {}
    read = {name: read_printed(Path(name)) for name in files}
    audits |= {name: audit.audit(table) for name, table in read.items()}
    audits = {name: audits[name] for name in names or audits}
    if as_json:
        echo_json({
            name: {part: [*map(asdict, found)] for part, found in each._asdict().items()}
            for name, each in audits.items()
        })  # fmt: skip
        return
    texts = dict[str, None]()
    for name, each in audits.items():
        tables = audit.tables(name, each, cells=cells or name in files)
        if tables or name in names:
            unit = f" values are read as {read[name].unit}" if name in read else ""
            echo(f"{name}:{unit}" if tables else f"{name}: no printed shares of documents")
        for table in tables.values():
            echo_table(table.texts())
            echo()
        texts |= dict.fromkeys(tables)
        if "audit_cells" in tables and any(cell.deviation for cell in each.cells):
            texts["grimmer"] = None
    if explain:
        echo("\n\n".join(click.wrap_text(words(text), width=100) for text in texts))
