"""transferbench compare."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._comparison import (
    WIDTH,
    fit_models,
    part_to_compare,
    print_choice,
    print_shares,
    print_warnings,
)
from transferbench.cli._runs import REPEATS
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.cli._user import UserData, user_data
from transferbench.messages import short_number

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.problem import Problem

#: Largest number of classes with a number each; of more, the table has the least and the largest.
FEW_CLASSES = 4
#: Number of scored documents from which the accuracy is printed without an interval.
MANY_SCORED = 200
#: How models that train on a labelled sample are scored on it.
TRAINED = (
    "accuracy and the columns after it: trained on the other four fifths of the sample; untrained: "
    "accuracy without its labels"
)
#: Meaning of the table's columns by family; {} stands for the classes.
LEGEND = {
    "transfer": "; *: recommended; shares: {} among the decisions; recall: the part of each that "
    "is found",
    "multilabel": "; labels: mean number of a document; none: documents without any label",
    "clustering": "",
}


@click.command()
@user_data
@click.option("--repeats", type=REPEATS, default=1, help="Seeds of random models.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
def command(user: UserData, repeats: int, as_json: bool) -> int:
    """Compare and score models on your documents; recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m gcmf --set gcmf.k=32

    No label of the target is needed. A labelled sample (--label-sample, then --labels) trains the
    models, chooses one and says what accuracy to expect. Labels in the targets' own column score
    every model, and change nothing else. Logistic regression and the model that can be recommended
    are always compared; without --model also the other quick ones. In domains of more than 10,033
    documents these are compared on 10,000, drawn at random.

    For several labels in a column name --label-separator "|" or a multi-label model. Without a
    source the targets are clustered by the named models, in as many clusters as they have labels.
    """
    user.check_outputs()
    session = user.open_session(user.models_to_fit(), "any", repeats=repeats)
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
    if worthless and not user.force:
        subject = f"The result of {used[0]}" if used else "Every result"
        echo(f"{subject} is worthless by the warnings above; --force exits with code 0.", err=True)
    return int(worthless and not user.force)


def _print(table: DataFrame, problem: Problem) -> None:
    """Print a table for each target, and what the columns mean."""
    for target, group in table.groupby("target", sort=False):
        if len(group) < len(table):
            echo(f"{target}:\n")
        rows = group.to_dict("records")
        columns = _columns(rows, problem)
        echo_table([[*columns], *zip(*columns.values(), strict=True)])
        echo()
        if scored := rows[0].get("scored"):
            few = problem.family == "transfer" and scored < MANY_SCORED
            interval = "; [ ] is the 95 % interval of the accuracy" if few else ""
            count = f"{scored} of {rows[0]['documents']} documents"
            trained = any("untrained" in row for row in rows)
            how = f"; {TRAINED}" if trained else ""
            text = f"Scored on {count}, those with a label{interval}{how}."
            echo(f"{textwrap.fill(text, WIDTH)}\n")
    few = len(problem.classes) <= FEW_CLASSES
    classes = "/".join(problem.classes) if few else "least and largest class"
    legend = f"s is in seconds, the rest in per cent{LEGEND[problem.family].format(classes)}"
    if "ahead" in table:
        legend += f"; over {table.model[0]}: points of accuracy above it (two-sided p)"
    echo(f"{textwrap.fill(f'{legend}; ±: standard deviation over the seeds.', WIDTH)}\n")


def _columns(rows: Sequence[dict[str, Any]], problem: Problem) -> dict[str, list[str]]:
    """Return the cells of the table's columns by heading, without empty columns."""
    from transferbench.measures import headings

    def by_class(name: str) -> list[str]:
        names = [f"{name} {label}" for label in problem.classes]
        return [_by_class([row.get(key, math.nan) for key in names]) for row in rows]

    columns = {
        "model": [f"{row['model']}{' *' if row['recommended'] else ''}" for row in rows],
        "s": [short_number(row["seconds"]) for row in rows],
        "shares": by_class("share"),
        "labels": [short_number(row.get("labels", math.nan)) for row in rows],
        "none": [_by_class([row.get("none", math.nan)]) for row in rows],
    }
    for name, title in headings(problem.family).items():
        interval = problem.family == "transfer" and name == "accuracy"
        columns[title] = [_measure(row, name, interval) for row in rows]
        if name == "accuracy":
            columns["untrained"] = [_measure(row, "untrained", interval=False) for row in rows]
    columns[f"over {rows[0]['model']}"] = [
        "" if math.isnan(row.get("ahead", math.nan))
        else f"{100 * row['ahead']:+.1f} ({row['ahead_p']:.2g})"
        for row in rows
    ]  # fmt: skip
    columns["recall"] = by_class("recall")
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    warnings = [
        "worthless" if row["worthless"] else f"{len(row['warnings']) or ''}" for row in rows
    ]
    return columns | {"warnings": warnings}


def _by_class(values: Sequence[float]) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    numbers = [value for value in values if not math.isnan(value)]
    if numbers and len(values) > FEW_CLASSES:
        return f"{100 * min(numbers):.0f}–{100 * max(numbers):.0f}"
    parts = ("–" if math.isnan(value) else f"{100 * value:.0f}" for value in values)
    return "/".join(parts) if numbers else ""


def _measure(row: dict[str, Any], name: str, interval: bool) -> str:
    """Return a measure in per cent with its deviation over seeds, "" if there is none.

    Parameters
    ----------
    row
        A row of `choose.compare.results_table`.
    name
        Name of the measure.
    interval
        True to give the 95 % interval instead if few documents are scored.
    """
    from transferbench.choose.sample import interval as of_rest
    from transferbench.choose.sample import wilson

    value, deviation = (row.get(key, math.nan) for key in (name, f"{name}_std"))
    if math.isnan(value):
        return ""
    if interval and row["scored"] < MANY_SCORED:
        m = row["scored"]
        low, high = wilson(value, m)
        if "untrained" in row:  # a sample, from which the accuracy on the rest is expected
            low, high = of_rest(m * value, m, row["documents"] - m)
        return f"{100 * value:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * value:.1f}" + ("" if math.isnan(deviation) else f"±{100 * deviation:.1f}")
