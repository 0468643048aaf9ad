"""transferbench audit."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._terminal import echo, echo_table


@click.command(short_help="Check which printed accuracies are single runs or copies.")
@click.argument("names", nargs=-1, metavar="[EXPERIMENT | FILE.csv]...")
def command(names: tuple[str, ...]) -> None:
    """Check which printed accuracies are single runs, on how many documents, and which are copied.

    EXPERIMENT is a published table; without names, all of them. FILE.csv has the accuracies of
    another paper in per cent, as printed: the columns row and documents, then one for each method.
    An accuracy of one run on n documents is k/n, so its digits allow few n.
    """
    from transferbench.evidence import audit
    from transferbench.evidence.page import words

    files = [name for name in names if name.endswith(".csv")]
    asked = [name for name in names if name not in files]
    findings = audit.findings(asked) if asked or not files else {}
    for name in files:
        columns, documents = audit.read_columns(Path(name))
        findings[name] = audit.audit(columns, {"documents": documents})
    for name in names or findings:
        if findings[name]:
            echo(f"{name}:")
            echo_table(audit.findings_table(name, findings[name]).texts())
            echo()
    echo(click.wrap_text(words("audit"), width=100))
