"""The file of predictions that `predict` and `compare` write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._terminal import echo
from transferbench.messages import counted

if TYPE_CHECKING:
    from transferbench.problem import Fit, Problem
    from transferbench.userdata.documents import Documents

FILE = click.Path(path_type=Path)
escape_formulas = click.option(
    "--escape-formulas",
    is_flag=True,
    help="In a CSV file, put ' before a value that a spreadsheet would run.",
)


def write_predictions(
    temporary: Path,
    out: Path,
    problem: Problem,
    fits: Mapping[str, Fit],
    targets: Sequence[Documents],
    *,
    separator: str,
    with_scores: bool,
    escape: bool,
) -> None:
    """Write the rows of `predictions.rows` to a file that becomes `out`.

    In a CSV file escape what a spreadsheet would run, or warn of it.
    """
    from transferbench.errors import brief
    from transferbench.userdata import predictions

    rows = predictions.rows(problem, fits, targets, separator=separator, with_scores=with_scores)
    value = predictions.formula(problem, targets) if out.suffix == ".csv" else None
    if value and escape:
        rows = predictions.without_formulas(rows)
    elif value:
        message = "a spreadsheet would run it; --escape-formulas writes it as text"
        echo(f"warning: {out} has {brief(value)}: {message}.", err=True)
    predictions.write(temporary, rows, out.suffix)


def written(out: Path, targets: Sequence[Documents]) -> str:
    """Return that predictions are written: the file and their number."""
    return f"{out}: {counted(sum(map(len, targets)), 'document')}"
