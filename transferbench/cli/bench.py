"""transferbench bench."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from transferbench import experiments
from transferbench.cli._options import completing, experiment_names, model_names, parameter_options
from transferbench.cli._runs import Execution, Rerun, execution_options
from transferbench.cli._terminal import echo, echo_table
from transferbench.runs.machine import cores
from transferbench.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from transferbench.evidence.boards import Board
    from transferbench.experiments.experiment import Experiment

#: Tasks that are listed: those where the method is farthest behind.
LISTED = 5
#: Models of a suite that --times measures again; all of a suite that has no more than these. The
#: first six are on the front (★) of a board for texts, so they decide who else is. The others are
#: one of each further approach: subspaces, kernels, and three factorisations of rising cost.
RIVALS = (
    "lr", "svm", "tsvm", "cocc", "graph-only", "consensus", "sa", "arrls", "dtl", "mtrick", "gcmf",
)  # fmt: skip
#: The folder of --times in the folder of results; each machine has a folder of its own there.
TIMES = "times"
#: Keys of a suite that its experiment of --times has, too.
SUITE_KEYS = ("paper", "metric", "unit", "limits", "board", "variants", "rows")


@click.command()
@click.argument(
    "methods", nargs=-1, required=True, metavar="METHOD...", shell_complete=completing(model_names)
)
@click.option(
    "--suite", required=True, metavar="EXPERIMENT", shell_complete=completing(experiment_names),
    help="Tasks and methods to compare with: clustering, multilabel, transfer-small, "
    "transfer-text, or an experiment of yours with a board.",
)  # fmt: skip
@parameter_options
@click.option("--label", help="Name on the board.  [default: that of the model]")
@click.option(
    "--times", is_flag=True,
    help="Also measure the seconds of METHOD and of about ten rivals here, once on each task; of "
    "several METHODs, only theirs.",
)  # fmt: skip
@execution_options
@click.pass_obj
def command(
    settings: Settings, /, methods: tuple[str, ...], suite: str, assignments: tuple[str, ...],
    label: str | None, times: bool, execution: Execution,
) -> int:  # fmt: skip
    """Run methods on every task of a suite, rank them beside the others, and compare them.

    \b
    transferbench bench gcmf --set k=32 --suite transfer-small
    transferbench bench ./mymodel.py --suite transfer-small --times
    transferbench bench ./mymodel.py TSVM --suite transfer-small
    transferbench bench sklearn.linear_model:RidgeClassifier --suite transfer-text

    METHOD is the name of a model, a Python file with a function `fit`, an estimator of scikit-learn
    (trained on the sources), skada or adapt, as package.module:Name, or a method of the board by
    its label. Its code is run. The published runs of the suite are reused; --rerun all makes them,
    too. The command does not know what a file imports or reads, so its runs are always made again;
    --rerun missing keeps finished ones. The results are an experiment of your own,
    results/SUITE+LABEL/, and a board, results/boards/SUITE+LABEL.md. After the ranking, the command
    lists the tasks where the method is farthest behind the best one. Of several methods, it lists
    by how much the first is ahead of each other one.

    Seconds are those of the machine that made a run. --times measures them together on this
    machine, one run at a time. These runs are in results/times/MACHINE/ and do not change scores or
    ranks. All are made again; --rerun missing keeps finished ones of this machine.
    """
    from transferbench.cli.reproduce import reproduce_batch
    from transferbench.errors import UserError
    from transferbench.evidence import boards
    from transferbench.evidence.frame import read_cells
    from transferbench.evidence.pages import write_pages
    from transferbench.experiments.batch import Batch
    from transferbench.runs.runner import check_utf8

    for method in methods:
        check_utf8("METHOD", method)
    check_utf8("--label", label or "")
    if len(methods) > 1 and (label or assignments):
        raise UserError(f"--label and --set are for one METHOD; got {len(methods)}.")
    if times and execution.cluster:
        raise UserError("--times measures on this machine; leave out --cluster.")
    base = experiments.load(suite, settings.results)
    if not base.spec.board:
        suites = [name for name in experiments.names() if experiments.load(name).spec.board]
        raise UserError(f"{base.name} has no board; expected a suite: {', '.join(suites)}.")
    names, added = _columns(base, methods, assignments, label)
    folder, experiment, code = base.name, base, 0
    if added:
        experiment = _extension(base, added, settings)
        folder = experiment.name
        code = reproduce_batch(Batch([experiment], settings, write_pages), settings, execution)
    results = settings.with_runs(folder)
    if execution.dry_run and not added:
        echo(f"every METHOD is on the board of {base.name}; nothing to run")
    elif not execution.dry_run:
        board = boards.from_cells(experiment, read_cells(experiment, results / folder))
        _print_board(board, names)
        path = results / boards.FOLDER / f"{folder}.md"
        if path.is_file():  # an installed package has the runs of its suites alone
            echo(f"\nThe board with its legend: {path}")
        if added and not code:
            echo(f"Publish it: transferbench share {folder}")
            echo("Submit it to the board: docs/how-to/submit-to-the-board.md")
    if times:
        machine = re.sub(r"[^\w.-]+", "-", f"{platform.node()}-{cores()}-cores")
        here = settings.replace(results=settings.results / TIMES / machine)
        timed = _timed(experiment, names, here)
        rerun: Rerun = "missing" if execution.rerun == "missing" else "all"
        together = replace(execution, jobs=1, rerun=rerun)
        failed = reproduce_batch(Batch([timed], here, write_pages), here, together)
        if not execution.dry_run:
            cells = read_cells(timed, here.results / timed.name)
            echo(f"\nMeasured on this machine ({machine}):")
            echo_table(boards.times_table(boards.from_cells(timed, cells)).texts())
        code = max(code, failed)
    return code


def _columns(
    base: Experiment, methods: tuple[str, ...], assignments: tuple[str, ...], label: str | None
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return the labels of the methods, and the columns of those that a suite does not have."""
    from transferbench import models, parameters
    from transferbench.errors import UserError, brief
    from transferbench.models.external import label as label_of

    values = parameters.parse(assignments)
    names: list[str] = []
    added: dict[str, dict[str, Any]] = {}
    for method in methods:
        if method in base.spec.columns and not (label or assignments):
            names.append(method)
            continue
        fit = models.load(method)
        params = parameters.resolve(fit, values, method)
        same = [
            name
            for name, column in base.spec.columns.items()
            if column.model == method and parameters.resolve(fit, column.params, method) == params
        ]
        if same and not label:
            names.append(same[0])
            continue
        name = label or ", ".join([label_of(method), *assignments])
        if name in base.spec.columns:
            raise UserError(f"{brief(name)} is on the board of {base.name}; give another --label.")
        names.append(name)
        added[name] = {"model": method, "params": params}
        if models.is_external(method) and parameters.takes_seed(fit):
            added[name]["random"] = True
    if len({*names}) < len(names):
        raise UserError(f"two METHODs have one label among {', '.join(names)}; name each once.")
    return names, added


def _extension(
    base: Experiment, added: dict[str, dict[str, Any]], settings: Settings
) -> Experiment:
    """Return the experiment that adds columns to a suite."""
    from transferbench.errors import UserError, brief

    if base.name not in experiments.names():
        known = ", ".join(base.spec.columns)
        raise UserError(
            f"{base.name} is an experiment of yours; write METHOD as a column of its file and "
            f"reproduce it, or name methods on it: {known}."
        )
    title = f"{base.spec.title}: {', '.join(added)}"
    data = {"extends": base.name, "title": title, "columns": added}
    experiment = _experiment(data, [base.name, *added], settings.results)
    if (path := experiment.path).is_file():
        others = experiments.load(experiment.name, settings.results).spec.columns
        for name in added.keys() - others.keys():
            raise UserError(f"{path} is of another label than {brief(name)}; give another --label.")
    return experiment


def _timed(experiment: Experiment, names: list[str], settings: Settings) -> Experiment:
    """Return the experiment of --times: methods, of a single one its rivals too, one run a task."""
    from transferbench import strict_yaml

    columns = experiment.spec.columns
    chosen = {*names, experiment.spec.board}
    if len(names) == 1:
        is_small = len(experiment.suite_columns or columns) <= len(RIVALS)
        chosen |= {name for name, of in columns.items() if is_small or of.model in RIVALS}
    data = experiments.extended(strict_yaml.read(experiment.text, experiment.path)[0])
    kept = {key: data[key] for key in SUITE_KEYS if key in data}
    data = kept | {
        "title": f"{data['title']}: seconds on one machine",
        "repeats": 1,
        "columns": {name: data["columns"][name] for name in columns if name in chosen},
    }
    parts = [experiment.name.partition("+")[0], *names]
    return _experiment(data, parts, settings.results)


def _experiment(data: dict[str, Any], parts: list[str], results: Path) -> Experiment:
    """Return the experiment with these data, whose folder of results is named after the parts."""
    import yaml

    folder = "+".join(re.sub(r"[^\w.-]+", "-", part).strip("-.") for part in parts)
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False)
    return experiments.read(text, results / folder / experiments.COPY, folder)


def _print_board(board: Board, names: list[str]) -> None:
    """Print the standings, and what they say of the named methods."""
    from transferbench.evidence import boards
    from transferbench.evidence.page import words

    spec = board.experiment.spec
    echo_table(boards.standings_table(board).texts())
    echo("\nRegret is the distance to the best value on a task; 0 is best.")
    echo(
        f"W / T / L (won / tied / lost) counts the tasks on which a method is ahead of "
        f"{spec.board}, within half a point of it, or behind."
    )
    echo(words("marks", board))
    ranked = [name for name in names if name in {*board.standings["method"]}]
    for name in sorted({*names} - {*ranked}):
        echo(f"{name} is not on the board: it has no runs, or runs of other data.")
    for name in ranked if board.has_ranks else ():
        apart = board.told_apart[name]
        others = ", ".join(apart.index[apart]) or "no other method"
        echo(f"The mean rank of {name} is told apart from that of {others} (Nemenyi's test, 5 %).")
    drawn = [name for name in ranked if name in board.added and spec.columns[name].random]
    if drawn and spec.repeats == 1:
        echo(f"{', '.join(drawn)}: one run a task, with seed 0; another seed may change the rank.")
    if ranked and len(lost := _largest_losses(board, ranked[0])) > 1:
        echo(f"\nWhere {ranked[0]} is farthest behind:")
        echo_table(lost)
    if len(ranked) > 1:
        echo(f"\nBy how much {ranked[0]} is ahead, in {spec.value_unit.differences}:")
        echo_table(boards.differences(board, ranked).texts())
        echo("Two methods are not told apart if 0 is in the interval (95 %).")


def _largest_losses(board: Board, name: str) -> list[list[str]]:
    """Return a table of the tasks on which a method is farthest behind the best, with its heads."""
    done = board.values.dropna(subset="better")
    best = done.loc[done.groupby("task")["better"].idxmax()].set_index("task")
    lost = done[(done["column"] == name) & (done["regret"] > 0)]
    lost = lost.sort_values("regret", ascending=False, kind="stable")[:LISTED]
    lost = lost.join(best[["column", "value"]].add_suffix("_best"), on="task")
    text = board.experiment.spec.value_unit.text
    return [
        ["task", name, "best", "of", "behind by"],
        *(
            [one.task, text(one.value), text(one.value_best), one.column_best, text(one.regret)]
            for one in lost.itertuples()
        ),
    ]
