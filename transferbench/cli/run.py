"""transferbench run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import click

from transferbench import models
from transferbench.cli._options import (
    REPEATS,
    completing,
    model_names,
    parameter_options,
    task,
    task_names,
)
from transferbench.cli._runs import SEEDS, Execution, execution_options
from transferbench.cli._terminal import echo, echo_table
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.experiments.experiment import Experiment
    from transferbench.runs.record import Record


@click.command()
@click.argument("task", type=task, shell_complete=completing(task_names))
@click.option(
    "--model", "-m", "names", multiple=True, required=True, help="Model to run; repeatable.",
    shell_complete=completing(model_names),
)  # fmt: skip
@parameter_options
@click.option("--seeds", type=SEEDS, help="Seeds, for example 0,3,7.")
@click.option("--repeats", type=REPEATS, help="Seeds 0 to N−1.")
@click.option(
    "--reference/--no-reference", default=True, show_default=True,
    help="Also run logistic regression on a transfer task without `labelled`.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the records only, one a line.")
@execution_options
@click.pass_obj
def command(
    settings: Settings, /, task: str, names: tuple[str, ...], assignments: tuple[str, ...],
    seeds: tuple[int, ...] | None, repeats: int | None, reference: bool, as_json: bool,
    execution: Execution,
) -> int:  # fmt: skip
    """Run models on one task.

    The command prints the accuracy of each model beside that of the paper. It keeps the runs in
    results/runs.jsonl. A finished run is not repeated while its data and code stay the same, see
    --rerun.

    For your own documents the command also prints warnings, which need no labels. If they show that
    the result of a named model is worthless, the exit code is 1.
    """
    from transferbench import parameters
    from transferbench.errors import UserError
    from transferbench.runs import runner
    from transferbench.runs.store import NAME
    from transferbench.tasks import ensure_built

    if seeds and repeats:
        raise UserError("--seeds and --repeats were both given; give one of them.")
    seeds = tuple(dict.fromkeys(seeds or range(repeats or 1)))
    given = parameters.parse(assignments)
    runs = [
        run for name in dict.fromkeys(names) for run in runner.plan_runs(task, name, given, seeds)
    ]
    has_reference = models.get(names[0]).family == "transfer" and not runs[0].task.labelled
    if reference and has_reference and not as_json and "lr" not in names:
        runs += runner.plan_runs(task, "lr", {}, seeds)
    records = execution.run(runs, settings)
    if not records:  # a dry run
        return 0
    # Raises the error of a task that is unavailable.
    facts = ensure_built(runs[0].task, settings).facts
    if as_json:
        for record in records:
            echo(record.line)
    else:
        sizes = ", ".join(f"{name} {count}" for name, count in facts.documents.items())
        echo(f"{records[0].task}: documents: {sizes}; features: {facts.features[0]}\n")
        rows, compared = _rows(records)
        echo_table(rows)
        echo()
        for name, experiment in compared.items():
            if experiment.spec.control_of:
                echo(f"{name}: {experiment.spec.notes[0]}")
        echo(f"runs: {settings.results / NAME}")
    worthless = {r.model for r in records if any(doubt.worthless for doubt in r.doubts)}
    if named := [name for name in names if name in worthless]:
        echo(f"{', '.join(named)}: worthless by the warnings above.", err=True)
        return 1
    return 0 if all(record.done for record in records) else 1


def _rows(records: Sequence[Record]) -> tuple[list[list[str]], dict[str, Experiment]]:
    """Return a row for each model and domain, and the experiments that it quotes, by name."""
    from transferbench.evidence import published
    from transferbench.measures import headings

    titles = headings(models.get(records[0].model).family)
    metrics = next((record.metrics for record in records if record.done), {"": ["result"]})
    measures = list(next(iter(metrics.values())))
    first, *others = [f"{titles.get(measure, measure)} %" for measure in measures]
    rows = [["model", "domain", first, "published", *others, "runs", "seconds", ""]]
    compared: dict[str, Experiment] = {}
    for model, group in groupby(records, attrgetter("model")):
        of_model = list(group)
        done = [record for record in of_model if record.done]
        if not done:
            reason = f"{of_model[0].status}: {of_model[0].failure}"
            rows.append([model, "", "none", "", *["" for _ in others], "0", "", reason])
            continue
        seconds = f"{fmean(record.seconds or 0 for record in done):.2f}"
        for domain in done[0].metrics:
            ours = [_mean([100 * r.metrics[domain][m] for r in done]) for m in measures]
            value = where = ""
            if printed := published.find(done[0], domain, measures[0]):
                value, where = f"{printed.value:.2f}", f"{printed.experiment.name}, {printed.row}"
                compared[printed.experiment.name] = printed.experiment
            rows.append([model, domain, ours[0], value, *ours[1:], f"{len(done)}", seconds, where])
    return rows, compared


def _mean(values: list[float]) -> str:
    """Return the mean and, for several values, the standard deviation."""
    mean = f"{fmean(values):.2f}"
    return f"{mean} ± {stdev(values):.2f}" if len(values) > 1 else mean
