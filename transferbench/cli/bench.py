"""transferbench bench."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from transferbench import experiments
from transferbench.cli._options import completing, experiment_names, model_names, parameter_options
from transferbench.cli._runs import Execution, execution_options
from transferbench.cli._terminal import echo, echo_table
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.evidence.boards import Board

#: Tasks that are listed: those where the model loses most.
LISTED = 5


@click.command()
@click.argument("model", shell_complete=completing(model_names))
@click.option(
    "--suite", required=True, metavar="EXPERIMENT", shell_complete=completing(experiment_names),
    help="Tasks and methods to compare with: clustering, multilabel, transfer-small, "
    "transfer-text, or an experiment of yours with a board.",
)  # fmt: skip
@parameter_options
@click.option("--label", help="Name on the board.  [default: that of the model]")
@execution_options
@click.pass_obj
def command(
    settings: Settings, /, model: str, suite: str, assignments: tuple[str, ...], label: str | None,
    execution: Execution,
) -> int:  # fmt: skip
    """Run a model on every task of a suite and rank it beside the others.

    \b
    transferbench bench gcmf --set k=32 --suite transfer-small
    transferbench bench ./mymodel.py --suite transfer-small
    transferbench bench sklearn.linear_model:RidgeClassifier --suite transfer-text

    MODEL is a name, a Python file with a function `fit`, or an estimator of scikit-learn (trained
    on the sources), skada or adapt, as package.module:Name. Its code is run. The published
    runs of the suite are reused; --rerun all makes them, too. The command does not know what a file
    imports or reads, so its runs are always made again; --rerun missing keeps finished ones. The
    results are an experiment of your own, results/SUITE+LABEL/, and a board,
    results/boards/SUITE+LABEL.md. After the ranking, the command lists the tasks where the model is
    farthest behind the best method.
    """
    import yaml

    from transferbench import models, parameters
    from transferbench.cli.reproduce import reproduce_batch
    from transferbench.errors import UserError, brief
    from transferbench.evidence import boards
    from transferbench.evidence.frame import read_cells
    from transferbench.evidence.pages import write_pages
    from transferbench.experiments.batch import Batch
    from transferbench.models.external import label as label_of
    from transferbench.runs.runner import check_utf8

    check_utf8("model", model)
    check_utf8("--label", label or "")
    base = experiments.load(suite)
    if not base.spec.board or base.name not in experiments.names():
        suites = [name for name in experiments.names() if experiments.load(name).spec.board]
        raise UserError(f"{base.name} has no board; expected a suite: {', '.join(suites)}.")
    values = parameters.parse(assignments)
    fit = models.load(model)
    name = label or ", ".join([label_of(model), *assignments])
    if name in base.spec.columns:
        raise UserError(f"{brief(name)} is on the board of {base.name}; give another --label.")
    column: dict[str, Any] = {"model": model, "params": parameters.resolve(fit, values, model)}
    if models.is_external(model) and parameters.takes_seed(fit):
        column["random"] = True
    title = f"{base.spec.title}: {name}"
    data = {"extends": base.name, "title": title, "columns": {name: column}}
    folder = f"{base.name}+" + re.sub(r"[^\w.-]+", "-", name).strip("-.")
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False)
    path = settings.results / folder / experiments.COPY
    experiment = experiments.read(text, path, folder)
    if path.is_file() and name not in experiments.load(folder, settings.results).spec.columns:
        raise UserError(f"{path} is of another label than {brief(name)}; give another --label.")
    batch = Batch([experiment], settings, write_pages)
    code = reproduce_batch(batch, settings, execution)
    if execution.dry_run:
        return code
    cells = read_cells(experiment, settings.results / folder)
    board = boards.from_cells(experiment, cells)
    echo_table(boards.standings_table(board).texts())
    echo("\nRegret is the distance to the best value on a task; 0 is best.")
    echo(
        f"W / T / L (won / tied / lost) counts the tasks on which a method is ahead of "
        f"{base.spec.board}, within half a point of it, or behind."
    )
    echo("▶ marks your model. ★ means that no faster method has a smaller regret.")
    echo(
        f"Seconds are of the machine that made a run. If the runs of {base.name} are of another "
        "machine, do not compare their seconds with yours; --rerun all makes them again here."
    )
    if len(lost := _largest_losses(board, name)) > 1:
        echo(f"\n{name} loses most on:")
        echo_table(lost)
    echo(f"\nThe board with its legend: {settings.results / boards.FOLDER / folder}.md")
    if not code:
        echo(f"Publish it: transferbench share {folder}")
        echo("Submit it to the board: docs/how-to/submit-to-the-board.md")
    return code


def _largest_losses(board: Board, name: str) -> list[list[str]]:
    """Return a table of the tasks on which a method is farthest behind the best, with its heads."""
    done = board.values.dropna(subset="better")
    best = done.loc[done.groupby("task")["better"].idxmax()].set_index("task")
    lost = done[(done["column"] == name) & (done["regret"] > 0)]
    lost = lost.sort_values("regret", ascending=False, kind="stable")[:LISTED]
    lost = lost.join(best[["column", "value"]], on="task", rsuffix="_best")
    text = board.experiment.spec.value_unit.text
    return [
        ["task", "yours", "best", "of", "behind by"],
        *(
            [one.task, text(one.value), text(one.value_best), one.column_best, text(one.regret)]
            for one in lost.itertuples()
        ),
    ]
