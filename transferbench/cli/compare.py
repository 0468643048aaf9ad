"""transferbench compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from transferbench.cli._options import REPEATS
from transferbench.cli._terminal import echo
from transferbench.cli._user import (
    FILE,
    READING,
    WORTHLESS,
    UserData,
    escape_formulas,
    print_doubts,
    print_used,
    user_data,
)
from transferbench.messages import counted
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.choose.compare import Comparison, FitPlan
    from transferbench.problem import Family, Problem, Truth
    from transferbench.userdata.load import Loaded

#: Options of the user's files, which are not for a task.
OPTIONS_OF_FILES = {"sources", "targets", "options", "like", *READING}


@click.command()
@click.argument("task", required=False)
@user_data(optional=True)
@click.option("--repeats", type=REPEATS, default=1, help="Seeds of random models.")
@click.option("--jobs", type=click.IntRange(1), default=1, help="Models to fit at a time.")
@click.option(
    "--equal-shares",
    is_flag=True,
    help="State that the target's classes have equal shares: a vote of three models is preferred.",
)
@click.option("--confusion", is_flag=True, help="Print decisions by class, where labels are known.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.option(
    "--out", type=FILE, help="File for the predictions of the recommended model, .csv or .jsonl."
)
@escape_formulas
@click.pass_obj
def command(
    settings: Settings, /, task: str | None, user: UserData, repeats: int, jobs: int,
    equal_shares: bool, confusion: bool, as_json: bool, out: Path | None, escape_formulas: bool,
) -> int:  # fmt: skip
    """Compare models on your own documents, or on a task, and recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m svm --out found.csv
    transferbench compare amazon/books-vs-dvd --repeats 3 --jobs 2

    No label of the target is used: models are judged by the shares of their classes, by agreement
    with logistic regression (=lr) and with most models (=vote), and by the accuracy on the source
    of the same model trained on its decisions (reverse). If the target has labels, measures are
    printed too; they do not affect the recommendation. Logistic regression and the recommended
    model are always compared; without --model also quick ones.

    For several labels in a column name --label-separator "|" or a multi-label model: a linear SVM
    and quick models are compared by the number of labels and by agreement, and none is recommended.
    """
    from transferbench.choose.compare import plan, table
    from transferbench.cli import _compare_table

    given = bool(task), bool(user.sources), bool(user.targets)
    if given not in ((True, False, False), (False, True, True)) or (task and out):
        raise click.UsageError("expected --source and --target, or a TASK without --out.")
    if out:
        user.check_out(out)
    loaded: Loaded | None = None
    if task:
        problem, truth = _load_task(task, user, settings)
        params = _params(user, problem.family, equal_shares, confusion)
        names = [domain.name for domain in problem.targets]
        print_used(problem, [domain.name for domain in problem.domains], {})
    else:
        params = _params(user, user.family, equal_shares, confusion)
        loaded = user.read("any")
        problem, truth = loaded.problem, loaded.truth
        names = [str(target.path) for target in loaded.targets]
    plans = plan(
        problem, user.models, params, repeats=repeats, seed=user.seed, equal_shares=equal_shares
    )
    compared = _compare(problem, plans, equal_shares, jobs, names)
    frame = table(compared, truth)
    echo(_compare_table.text(compared, frame, truth, names, confusion, as_json))
    worthless = compared.worthless and not user.force
    if out and loaded and not worthless:
        _write(out, user, compared, loaded, escape_formulas)
        echo(f"{out}: {counted(sum(map(len, loaded.targets)), 'document')}", err=as_json)
    if worthless:
        unwritten = f"; {out} is not written" if out else ""
        echo(f"The recommended result is {WORTHLESS}{unwritten}; --force accepts it.", err=True)
    return int(worthless)


def _load_task(task: str, user: UserData, settings: Settings) -> tuple[Problem, Truth]:
    """Return the problem of a task and its truth; options of files are refused."""
    from transferbench import models
    from transferbench.choose.compare import check_problem
    from transferbench.data import tasks

    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(f"{option.name}") is ParameterSource.COMMANDLINE
        if given and option.name in OPTIONS_OF_FILES:
            message = f"{option.opts[0]} is for --source and --target, not for a TASK"
            raise click.UsageError(f"{message}; leave it out.")
    for name in user.models:
        models.get(name)
    problem, truth = tasks.load(tasks.Task.named(task), settings)
    check_problem(problem)
    return problem, truth


def _params(
    user: UserData, family: Family, equal_shares: bool, confusion: bool
) -> dict[str, dict[str, Any]]:
    """Return all parameters by model. Raise UserError for what does not suit the family."""
    from transferbench.choose.compare import model_names

    if family == "multilabel" and (equal_shares or confusion):
        option = "--equal-shares" if equal_shares else "--confusion"
        raise click.UsageError(f"{option} is for one label a document, not for several.")
    return user.params(model_names(family, user.models, equal_shares), family)


def _compare(
    problem: Problem, plans: Sequence[FitPlan], equal_shares: bool, jobs: int, names: list[str]
) -> Comparison:
    """Compare with a progress bar; print each doubt once, with the models that it concerns."""
    from tqdm import tqdm

    from transferbench.choose.compare import compare

    with tqdm(total=len(plans), unit="model", leave=False, disable=None) as bar:

        def on_done(model: str) -> None:
            bar.set_description(model)
            bar.update()

        compared = compare(
            problem, plans, equal_shares=equal_shares, jobs=jobs, names=names, on_done=on_done
        )
    print_doubts(compared.doubts)
    concerned: dict[str, list[str]] = {}
    for entry in compared.entries.values():
        for doubt in entry.doubts:
            concerned.setdefault(doubt.text, []).extend([entry.model] if entry.fits else [])
    for text, models in concerned.items():
        start = f"{', '.join(models)}: " if models else ""
        echo(f"warning: {start}{text}", err=True)
    return compared


def _write(out: Path, user: UserData, compared: Comparison, loaded: Loaded, escape: bool) -> None:
    """Write the predictions of all models: labels of the recommended or else first named one."""
    from transferbench.files import writing

    fits = {name: entry.fits[0] for name, entry in compared.entries.items() if entry.fits}
    named = [name for name in (*user.models, *fits) if name in fits]
    first = compared.choice.model or named[0]
    fits = {first: fits.pop(first)} | fits
    with writing(out) as temporary:
        user.write(temporary, out, loaded, fits, with_scores=True, escape=escape)
