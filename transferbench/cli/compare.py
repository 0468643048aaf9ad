"""transferbench compare."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._runs import REPEATS
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.cli._user import (
    WIDTH,
    UserData,
    print_shares,
    print_warnings,
    target_names,
    user_data,
)

if TYPE_CHECKING:
    from transferbench.choose.compare import Entry
    from transferbench.problem import Family, Problem
    from transferbench.userdata.load import Loaded

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
#: A model on a target: columns of `choose.compare.table`.
Line = dict[str, Any]


@click.command()
@user_data
@click.option("--repeats", type=REPEATS, default=1, help="Seeds of random models.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
def command(user: UserData, repeats: int, as_json: bool) -> int:
    """Compare and score models on your documents; recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m gcmf --set gcmf.k=32

    No label of the target is needed. Where there are some, every model is scored on them; they
    change nothing else. To have some, see --label-sample. Logistic regression and the models that
    can be recommended are always compared; without --model also the other quick ones.

    For several labels in a column name --label-separator "|" or a multi-label model. Without a
    source the targets are clustered by the named models, in as many clusters as they have labels.
    """
    from transferbench.choose.compare import table

    user.check_files()
    clusters = user.family == "clustering"
    if clusters:
        user.check_named()
    plans = user.plans(user.compared(), repeats)
    loaded = user.read("some" if clusters else "any")
    compared = user.compare(loaded, plans)
    frame = table(compared, loaded.truth)
    lines = frame.to_dict("records")
    entries, doubts = compared.entries, compared.doubts
    facts = frame.attrs
    used = [m for m in (facts["recommended"], *user.named) if m in entries and entries[m].fits]
    judged = [*doubts, *(doubt for model in used[:1] for doubt in entries[model].doubts)]
    worthless = any(doubt.worthless for doubt in judged)
    if as_json:
        results = [_to_json(line, entries, loaded.problem) for line in lines]
        answer = {"classes": loaded.problem.classes, **facts, "results": results}
        echo_json(answer | {"warnings": [*map(str, doubts)], "worthless": worthless})
    else:
        _print(lines, loaded)
        print_shares(loaded, {model: entries[model].fits[0] for model in used})
        if sentence := facts.get("recommendation"):
            _print_labelled(loaded)
            echo(textwrap.fill(sentence, WIDTH))
    print_warnings(loaded, entries, doubts)
    if worthless and not user.force:
        subject = f"The result of {used[0]}" if used else "Every result"
        echo(f"{subject} is worthless by the warnings above; --force exits with code 0.", err=True)
    return int(worthless and not user.force)


def _print_labelled(loaded: Loaded) -> None:
    """Print the shares of the classes among the labels of a target, if these are few."""
    truth = loaded.truth
    for name, Y, scored in zip(truth.names, truth.Y, truth.scored, strict=True):
        n = int(scored.sum())
        if truth.family == "transfer" and 0 < n < min(MANY_SCORED, len(scored)):
            shares = zip(truth.classes, Y[scored].mean(axis=0), strict=True)
            shown = ", ".join(f"{label} {100 * share:.0f} %" for label, share in shares)
            echo(f"shares of your {n} labels in {name}: {shown}")


def _print(lines: Sequence[Line], loaded: Loaded) -> None:
    """Print a table for each target, and what the columns mean."""
    problem = loaded.problem
    domains = [domain.name for domain in problem.targets]
    paths = dict(zip(domains, target_names(loaded), strict=True))
    for name, group in groupby(lines, itemgetter("target")):
        of_target = [*group]
        if len(of_target) < len(lines):
            echo(f"{paths.get(name, 'all targets')}:\n")
        found = _columns(of_target, problem)
        echo_table([[*found], *zip(*found.values(), strict=True)])
        echo()
        scored = of_target[0].get("scored", math.nan)
        if scored == scored:
            text = f"{scored:.0f} of {of_target[0]['documents']} documents, those with a label"
            few = problem.family == "transfer" and scored < MANY_SCORED
            interval = "; [ ] is the 95 % interval of the accuracy" if few else ""
            echo(f"Scored on {text}{interval}.\n")
    few = len(problem.classes) <= FEW_CLASSES
    classes = "/".join(problem.classes) if few else "least and largest class"
    legend = f"s is in seconds, the rest in per cent{LEGEND[problem.family].format(classes)}"
    echo(f"{textwrap.fill(f'{legend}; ±: standard deviation over the seeds.', WIDTH)}\n")


def _columns(lines: Sequence[Line], problem: Problem) -> dict[str, list[str]]:
    """Return the cells of a table by heading."""
    from transferbench.measures import headings

    def by_class(what: str) -> list[str]:
        names = [f"{what} {name}" for name in problem.classes]
        return [_by_class([line.get(name, math.nan) for name in names]) for line in lines]

    columns = {
        "model": [f"{line['model']}{' *' if line['recommended'] else ''}" for line in lines],
        "s": [_number(line["seconds"]) for line in lines],
        "shares": by_class("share"),
        "labels": [_number(line.get("labels", math.nan)) for line in lines],
        "none": [_by_class([line.get("none", math.nan)]) for line in lines],
    }
    for name, title in headings(problem.family).items():
        columns[title] = [_measure(line, name, problem.family) for line in lines]
    columns["recall"] = by_class("recall")
    known = {title: cells for title, cells in columns.items() if any(cells)}
    counts = [f"{len(line['warnings']) or ''}" for line in lines]
    worthless = ["worthless" if line["worthless"] else "" for line in lines]
    return known | {"warnings": [a or b for a, b in zip(worthless, counts, strict=True)]}


def _by_class(values: Sequence[float]) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    known = [value for value in values if value == value]
    if known and len(values) > FEW_CLASSES:
        return f"{100 * min(known):.0f}–{100 * max(known):.0f}"
    parts = ("–" if value != value else f"{100 * value:.0f}" for value in values)
    return "/".join(parts) if known else ""


def _number(value: float) -> str:
    """Return a number with two decimals, or none from 10 on; "" for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _measure(line: Line, name: str, family: Family) -> str:
    """Return a measure in per cent, "" if there is none, with its 95 % Wilson interval or ± seeds.

    The interval is for the accuracy on few documents.
    """
    n, value = line.get("scored", math.nan), line.get(name, math.nan)
    if math.isnan(value):
        return ""
    if family == "transfer" and name == "accuracy" and n < MANY_SCORED:
        from scipy.stats import binomtest

        found = binomtest(round(value * n), round(n)).proportion_ci(method="wilson")
        return f"{100 * value:.1f} [{100 * found.low:.0f}, {100 * found.high:.0f}]"
    std = line.get(f"{name}_std", math.nan)
    return f"{100 * value:.1f}{'' if math.isnan(std) else f'±{100 * std:.1f}'}"


def _to_json(line: Line, entries: Mapping[str, Entry], problem: Problem) -> dict[str, Any]:
    """Return a line as `--json` prints it: without NaN, which JSON lacks, numbers by class."""
    values: dict[str, Any] = {f"{k}": None if v != v else v for k, v in line.items()}
    values["params"] = dict(entries[line["model"]].params)
    if problem.family == "transfer":
        for key, name in (("share", "shares"), ("recall", "recall")):
            values[name] = {label: values.pop(f"{key} {label}", None) for label in problem.classes}
    return values
