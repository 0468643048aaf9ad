"""transferbench compare."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli import _user
from transferbench.cli._runs import REPEATS
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.messages import short_number
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.choose.compare import Comparison, Line
    from transferbench.problem import Problem

#: Of more classes the table has the least and the largest number.
FEW_CLASSES = 4
#: With fewer scored documents the accuracy has an interval.
MANY_SCORED = 200
#: What the columns of the table mean; {}: the classes.
LEGEND = {
    "transfer": "; *: recommended; shares: {} among the decisions; recall: the part of each that "
    "is found",
    "multilabel": "; labels: mean number of a document; none: documents without any label",
    "clustering": "",
}


@click.command()
@_user.user_data
@click.option("--repeats", type=REPEATS, default=1, help="Seeds of random models.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.pass_obj
def command(settings: Settings, /, user: _user.UserData, repeats: int, as_json: bool) -> int:
    """Compare and score models on your documents; recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m gcmf --set gcmf.k=32

    No label of the target is needed. A labelled sample (--label-sample, then --labels) chooses the
    model and says what accuracy to expect. Labels in the targets' own column score every model, and
    change nothing else. Logistic regression and the model that can be recommended are always
    compared; without --model also the other quick ones.

    For several labels in a column name --label-separator "|" or a multi-label model. Without a
    source the targets are clustered by the named models, in as many clusters as they have labels.
    """
    from transferbench.choose import compare

    _user.check_files(user)
    loaded, compared = _user.fit_models(user, settings, _user.to_fit(user), "any", repeats=repeats)
    lines = compare.lines(compared, loaded.truth)
    entries, choice = compared.entries, compared.choice
    chosen = [*([choice.model] if choice.model else []), *user.named]
    used = [model for model in chosen if entries[model].fits]
    worthless = compared.is_worthless(*used[:1])
    if as_json:
        echo_json(_to_json(lines, compared) | {"worthless": worthless})
    else:
        _print(lines, loaded.problem)
        _user.print_shares(loaded.problem, {model: entries[model].fits[0] for model in used})
        _user.print_choice(choice, user.why)
    _user.print_warnings(compared, entries)
    if worthless and not user.force:
        subject = f"The result of {used[0]}" if used else "Every result"
        echo(f"{subject} is worthless by the warnings above; --force exits with code 0.", err=True)
    return int(worthless and not user.force)


def _print(lines: Sequence[Line], problem: Problem) -> None:
    """Print a table for each target, and what the columns mean."""
    for target, group in groupby(lines, attrgetter("target")):
        of_target = [*group]
        if len(of_target) < len(lines):
            echo(f"{target}:\n")
        columns = _columns(of_target, problem)
        echo_table([[*columns], *zip(*columns.values(), strict=True)])
        echo()
        if scored := of_target[0].scored:
            few = problem.family == "transfer" and scored < MANY_SCORED
            interval = "; [ ] is the 95 % interval of the accuracy" if few else ""
            count = f"{scored} of {of_target[0].documents} documents"
            echo(f"Scored on {count}, those with a label{interval}.\n")
    few = len(problem.classes) <= FEW_CLASSES
    classes = "/".join(problem.classes) if few else "least and largest class"
    legend = f"s is in seconds, the rest in per cent{LEGEND[problem.family].format(classes)}"
    if any(line.ahead for line in lines):
        legend += f"; over {lines[0].entry.model}: points of accuracy above it (two-sided p)"
    echo(f"{textwrap.fill(f'{legend}; ±: standard deviation over the seeds.', _user.WIDTH)}\n")


def _columns(lines: Sequence[Line], problem: Problem) -> dict[str, list[str]]:
    """Return the cells of a table by heading, without empty columns."""
    from transferbench.measures import headings

    columns = {
        "model": [f"{line.entry.model}{' *' if line.recommended else ''}" for line in lines],
        "s": [short_number(line.entry.seconds) for line in lines],
        "shares": [_by_class([*line.shares.values()]) for line in lines],
        "labels": [short_number(line.labels.get("labels", math.nan)) for line in lines],
        "none": [_by_class([line.labels.get("none", math.nan)]) for line in lines],
    }
    for name, title in headings(problem.family).items():
        interval = problem.family == "transfer" and name == "accuracy"
        columns[title] = [_measure(line, name, interval) for line in lines]
    columns[f"over {lines[0].entry.model}"] = [_ahead(line) for line in lines]
    columns["recall"] = [_by_class([*line.recall.values()]) for line in lines]
    counts = [f"{len(line.entry.doubts) or ''}" for line in lines]
    worthless = ["worthless" if line.entry.worthless else "" for line in lines]
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    return columns | {"warnings": [a or b for a, b in zip(worthless, counts, strict=True)]}


def _by_class(values: Sequence[float]) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    numbers = [value for value in values if not math.isnan(value)]
    if numbers and len(values) > FEW_CLASSES:
        return f"{100 * min(numbers):.0f}–{100 * max(numbers):.0f}"
    parts = ("–" if math.isnan(value) else f"{100 * value:.0f}" for value in values)
    return "/".join(parts) if numbers else ""


def _measure(line: Line, name: str, interval: bool) -> str:
    """Return a measure in per cent with ± over seeds, "" if there is none.

    interval: with its 95 % Wilson interval instead, if it is on few documents.
    """
    values = line.measures.get(name, ())
    if not values:
        return ""
    from statistics import fmean, stdev

    value = fmean(values)
    if interval and line.scored < MANY_SCORED:
        from transferbench.choose.sample import wilson

        low, high = wilson(value, line.scored)
        return f"{100 * value:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
    deviation = f"±{100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * value:.1f}{deviation}"


def _ahead(line: Line) -> str:
    """Return the points of accuracy above the first model, and p; "" if there is none."""
    return f"{100 * line.ahead.mean:+.1f} ({line.ahead.p_two_sided:.2g})" if line.ahead else ""


def _to_json(lines: Sequence[Line], compared: Comparison) -> dict[str, Any]:
    """Return what `--json` prints; every result has the same names, with null for no value."""
    problem, results = compared.problem, []
    names = dict.fromkeys(name for line in lines for name in line.columns())
    absent = dict.fromkeys(problem.classes)
    for line in lines:
        result = {**names, **line.columns(), "params": dict(line.entry.params)}
        if problem.family == "transfer":
            result |= {"shares": absent | {**line.shares}, "recall": absent | {**line.recall}}
        results.append(result)
    answer = {"classes": problem.classes, **compared.facts(), "results": results}
    return answer | {"warnings": [*map(str, compared.doubts)]}
