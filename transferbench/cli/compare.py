"""transferbench compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._comparison import (
    fit_models,
    part_to_compare,
    print_choice,
    print_shares,
    print_warnings,
)
from transferbench.cli._options import REPEATS
from transferbench.cli._terminal import echo, echo_json, echo_sentences, echo_table
from transferbench.cli._user import UserData, user_data

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.problem import Problem


@click.command()
@user_data
@click.option("--repeats", type=REPEATS, default=1, help="Number of seeds for random models.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="Also write a page in one HTML file. It shows the recommendation, right and wrong "
    "decisions, a map of the documents, and the words that separate the domains. It contains "
    "texts of your documents.",
)
def command(user: UserData, repeats: int, as_json: bool, html: Path | None) -> int:
    """Compare and score models on your documents; recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m gcmf --set gcmf.k=32
    transferbench compare --source labelled.csv --target mail.csv --html compared.html

    The target needs no labels. --label-sample writes a sample of it to label; models are then only
    compared if you name them, or ask for --json or --html. If you give the labels by --labels, the
    models also train on the sample. The sample then decides which model is recommended, and shows
    what accuracy to expect. If the target files have a column of labels, every model is scored with
    them; they change nothing else.

    The command always compares logistic regression and the model that can be recommended. Without
    --model it also compares the other quick models. It then draws 10,000 documents at random from
    every domain that has more than 10,033.

    If a column holds several labels, give --label-separator "|" or name a multi-label model.
    Without a source, the named models cluster the targets. They make as many clusters as there are
    different labels in the targets.
    """
    from transferbench.files import user_path

    html = html and user_path(html)
    user.check_outputs(html=html)
    session = user.open_session(user.models_to_fit(), "any", repeats=repeats)
    if user.label_sample and not (user.models or as_json or html):
        user.write_sample(session)
        return 0
    session = part_to_compare(session) if user.auto else session
    compared = fit_models(session)
    table, problem = session.table(compared), session.problem
    models, choice = compared.models, compared.choice
    chosen = [*([choice.model] if choice.model else []), *user.named]
    used = [model for model in chosen if models[model].fits]
    worthless = compared.is_worthless(*used[:1])
    if as_json:
        results = [
            {**row, "params": dict(models[row["model"]].params)} for row in table.to_dict("records")
        ]
        answer = {"classes": problem.classes, **compared.summary_fields(), "results": results}
        doubts = [*map(str, compared.doubts)]
        echo_json({**answer, "warnings": doubts, "worthless": worthless})
    else:
        _print(table, problem)
        print_shares(problem, {model: models[model].fits[0] for model in used})
        print_choice(choice, user.why)
    print_warnings(compared, models)
    if html:
        from transferbench.own import page

        page.write(html, session, compared, table, used)
        echo(f"{html}: the page of this comparison", err=True)
    if worthless and not user.force:
        subject = f"The result of {used[0]}" if used else "Every result"
        echo(f"{subject} is worthless by the warnings above; --force exits with code 0.", err=True)
    user.write_sample(session)
    return int(worthless and not user.force)


def _print(table: DataFrame, problem: Problem) -> None:
    """Print a table for each target, and explain the columns."""
    from transferbench.own.text import columns, legend, scored_sentence

    for target, group in table.groupby("target", sort=False):
        if len(group) < len(table):
            echo(f"{target}:\n")
        rows = group.to_dict("records")
        cells = columns(rows, problem)
        echo_table([[*cells], *zip(*cells.values(), strict=True)])
        echo()
        if text := scored_sentence(rows, problem):
            echo_sentences(text)
            echo()
    echo_sentences(legend(table, problem))
    echo()
