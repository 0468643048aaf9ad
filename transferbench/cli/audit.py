"""transferbench audit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.errors import UserError


@click.command(short_help="Check printed accuracies by their digits.")
@click.argument("names", nargs=-1, metavar="[EXPERIMENT | FILE.csv]...")
@click.option(
    "--cells", is_flag=True,
    help="Also print a line for each cell of a published table. Cells of a file are always "
    "printed.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only, with each cell.")
def command(names: tuple[str, ...], cells: bool, as_json: bool) -> None:
    """Check which printed accuracies are possible, single runs, or copied (the GRIM test).

    An accuracy of one run on n documents is k/n, so its digits allow few n (Brown and Heathers
    2017). EXPERIMENT is a published table. Without names, the command checks all published tables.

    \b
    FILE.csv (or .tsv) has the accuracies of another paper in per cent, as printed:
      row, documents   name and number of scored documents of each row
      runs             if known, the number of runs that each value is a mean of
      METHOD ...       the accuracies: 87.4, 87,4, 87.4% or 87.4 ± 2.1
      METHOD ±         the deviations, if they have a column of their own
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
    findings = audit.findings(asked) if asked or not files else {}
    of_cells = {
        name: audit.published_cells(name, of_table)
        for name, of_table in findings.items()
        if cells or as_json
    }
    for name in files:
        findings[name], of_cells[name] = audit.audit_stated(read_printed(Path(name)))
    if as_json:
        echo_json({
            name: {
                "columns": [asdict(finding) for finding in findings[name]],
                "cells": [asdict(cell) for cell in of_cells[name]],
            }
            for name in names or findings
        })  # fmt: skip
        return
    for name in names or findings:
        if not findings[name] and not of_cells.get(name) and name in names:
            echo(f"{name}: no printed accuracies")
        if findings[name]:
            echo(f"{name}:")
            echo_table(audit.findings_table(name, findings[name]).texts())
            echo()
        if of_cells.get(name):
            echo_table(audit.cells_table(name, of_cells[name]).texts())
            echo()
    every = [cell for of_table in of_cells.values() for cell in of_table]
    texts = ["audit", *["audit_cells"] * bool(every)]
    texts += ["grimmer"] * any(cell.deviation for cell in every)
    echo("\n\n".join(click.wrap_text(words(text), width=100) for text in texts))
