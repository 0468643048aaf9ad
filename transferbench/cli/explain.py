"""transferbench explain."""

from __future__ import annotations

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.cli._terminal import echo, echo_json, echo_marked
from transferbench.messages import counted
from transferbench.settings import Settings


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.argument("row", required=False)
@click.argument("column", required=False)
@click.option("--x", type=float, default=None, help="Place on a figure's x axis.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    settings: Settings, /, experiment: str, row: str | None, column: str | None,
    x: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Explain a number of a table or figure.

    Print the command that runs it again, its runs, what they took, and what has changed since.
    EXPERIMENT is a name, a place in a paper ("gtl table 3"), or your own FILE.yaml.

    \b
    With --json, an object with
      experiment, row, column, x; mean, std, published (in the table's unit)
      number     texts: ours, paper, verdict, again (the command), setting, …
      since      texts: data, code and versions, then and now
      model      title, text
      objective  a list, one value an iteration
    """
    from transferbench import experiments
    from transferbench.data import tasks
    from transferbench.errors import UserError
    from transferbench.evidence import explain
    from transferbench.evidence.frame import read_runs
    from transferbench.runs.store import Store

    file = experiments.load(experiment, settings.results)
    if row is None or column is None:
        known = f"rows: {', '.join(file.spec.rows)}; columns: {', '.join(file.spec.columns)}"
        raise UserError(f"{file.name}: name a row and a column; {known}.")
    runs = read_runs(settings.results / file.name / "runs.csv")
    source = explain.find(file, runs, row, column, x)
    task = tasks.Task.named(source.runs_behind[0].task)
    digest = tasks.facts(task, settings).digest if task.built_path(settings).is_file() else ""
    facts = explain.facts(file, source, digest)
    trace, note = explain.objective(source, Store(settings.results))
    if as_json:
        echo_json(facts | {"objective": trace})
        return
    verdict = facts["number"]["verdict"].partition(" ")[0].rstrip(",")
    if trace:
        note = f"{trace[0]:.6g} to {trace[-1]:.6g} in {counted(len(trace), 'iteration')}, {note}"
    title, *lines = explain.page(facts, f"Objective: {note.rstrip(', ')}").splitlines()
    echo(title, style="header")
    for line in lines:
        is_verdict = verdict and line.startswith("  verdict ")
        echo_marked(line, verdict) if is_verdict else echo(line)
