"""transferbench compare."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._runs import REPEATS
from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.cli._user import (
    FEW_CLASSES,
    FILE,
    WORTHLESS,
    UserData,
    by_class,
    escape_formulas,
    print_doubts,
    print_entries,
    user_data,
)
from transferbench.messages import counted

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.choose.compare import Comparison

WIDTH = 100
#: Columns of label-free signs, shares between 0 and 1, and their headings.
SIGNS = {
    "none": "none",
    "agreement_lr": "=lr",
    "agreement_svm": "=svm",
    "agreement_vote": "=vote",
    "reverse_accuracy": "reverse",
}


@click.command()
@user_data("sources", "targets")
@click.option("--repeats", type=REPEATS, default=1, help="Seeds of random models.")
@click.option("--jobs", type=click.IntRange(1), default=1, help="Models to fit at a time.")
@click.option(
    "--equal-shares",
    is_flag=True,
    help="State that the target's classes have equal shares: a vote of three models is preferred.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
@click.option(
    "--out", type=FILE, help="File for the predictions of the recommended model, .csv or .jsonl."
)
@escape_formulas
def command(
    user: UserData, repeats: int, jobs: int, equal_shares: bool, as_json: bool, out: Path | None,
    escape_formulas: bool,
) -> int:  # fmt: skip
    """Compare models on your own documents and recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m svm --out found.csv

    No label of the target is used: models are judged by the shares of their classes, by agreement
    with logistic regression (=lr) and with most models (=vote), and by the accuracy on the source
    of the same model trained on its decisions (reverse). If the target has labels, measures are
    printed too; they do not affect the recommendation. Logistic regression and the recommended
    model are always compared; without --model also quick ones.

    For several labels in a column name --label-separator "|" or a multi-label model: a linear SVM
    and quick models are compared by the number of labels and by agreement, and none is recommended.
    """
    from tqdm import tqdm

    from transferbench.choose.compare import compare, model_names, plan, table

    if out:
        user.check_out(out)
    family = user.family
    if family == "multilabel" and equal_shares:
        raise click.UsageError("--equal-shares is for one label a document, not for several.")
    params = user.params(model_names(family, user.models, equal_shares), family)
    loaded = user.read("any")
    problem = loaded.problem
    names = [str(target.path) for target in loaded.targets]
    plans = plan(
        problem, user.models, params, repeats=repeats, seed=user.seed, equal_shares=equal_shares
    )
    with tqdm(total=len(plans), unit="model", leave=False, disable=None) as bar:
        compared = compare(
            problem, plans, equal_shares=equal_shares, jobs=jobs, names=names,
            on_done=lambda model: bar.update(),
        )  # fmt: skip
    print_doubts(compared.doubts)
    print_entries(compared.entries)
    frame = table(compared, loaded.truth)
    if as_json:
        echo_json(_to_json(compared, frame))
    else:
        _print(compared, frame, names)
    worthless = compared.worthless and not user.force
    if out and not worthless:
        fits = {name: entry.fits[0] for name, entry in compared.entries.items() if entry.fits}
        # The labels are those of the recommended model, or else of the first named one.
        first = compared.choice.model or next(n for n in (*user.models, *fits) if n in fits)
        fits = {first: fits.pop(first)} | fits
        user.write(out, loaded, fits, with_scores=True, escape=escape_formulas)
        echo(f"{out}: {counted(sum(map(len, loaded.targets)), 'document')}", err=as_json)
    if worthless:
        unwritten = f"; {out} is not written" if out else ""
        echo(f"The recommended result is {WORTHLESS}{unwritten}; --force accepts it.", err=True)
    return int(worthless)


def _print(compared: Comparison, frame: DataFrame, names: list[str]) -> None:
    """Print a table for each target, and the recommendation; names: those of the targets."""
    for name, (_, part) in zip(names, frame.groupby("target", sort=False), strict=True):
        if len(names) > 1:
            echo(f"{name}:\n")
        echo_table(_rows(part, compared))
        echo(f"\n{_legend(compared, frame)}\n")
    if any(len(entry.fits) > 1 for entry in compared.entries.values()):
        echo("Means ± standard deviations over the seeds of random models.\n")
    echo(textwrap.fill(compared.choice.sentence, WIDTH))


def _rows(part: DataFrame, compared: Comparison) -> list[list[str]]:
    """Return the table of one target."""
    from transferbench.measures import headings

    problem = compared.problem
    several = problem.family == "multilabel"
    titles = headings(problem.family)
    measures = [m for m in titles if m in part and not part[m].isna().all()]
    signs = [sign for sign in SIGNS if sign in part]
    recall = ["recall"] if measures and not several else []
    head = ["model", "s", "labels" if several else "shares", *(SIGNS[sign] for sign in signs)]
    rows = [[*head, *(titles[m] for m in measures), *recall, "warnings"]]

    def fractions(line: Mapping[str, Any], what: str) -> list[float]:
        return [line[f"{what} {label}"] for label in problem.classes]

    for line in part.to_dict("records"):
        row = [f"{line['model']}{' *' if line['recommended'] else ''}", _number(line["seconds"])]
        row.append(_number(line["labels"]) if several else by_class(fractions(line, "share")))
        row += [_percent(line[sign]) for sign in signs]
        row += [_percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        row += [by_class(fractions(line, what)) for what in recall]
        rows.append([*row, "worthless" if line["worthless"] else f"{len(line['warnings']) or ''}"])
    return rows


def _legend(compared: Comparison, frame: DataFrame) -> str:
    """Return a line that explains the numbers of the table."""
    if compared.problem.family == "multilabel":
        mean = f"{frame.attrs['source_labels']:.2f}"
        return (
            f"labels: mean number of a document, {mean} in the source; the others are in per cent."
        )
    classes = compared.problem.classes
    order = "/".join(classes) if len(classes) <= FEW_CLASSES else "least and largest"
    text = f"* recommended. All in per cent; shares and recall by class: {order}."
    return textwrap.shorten(text, WIDTH, placeholder=" …")


def _number(value: float) -> str:
    """Return a number with two decimals, or none from 10 on; "" for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _percent(value: float, std: float = math.nan) -> str:
    """Return a fraction in per cent with its standard deviation, "" for NaN."""
    if value != value:
        return ""
    return f"{100 * value:.1f}" + ("" if std != std else f"±{100 * std:.1f}")


def _to_json(compared: Comparison, frame: DataFrame) -> dict[str, Any]:
    """Return what `--json` prints: classes, source, results by target and model, recommendation."""
    classes = compared.problem.classes
    results = []
    for numbers in frame.to_dict("records"):
        # JSON has no NaN.
        line: dict[str, Any] = {f"{k}": None if v != v else v for k, v in numbers.items()}
        line["params"] = dict(compared.entries[line["model"]].params)
        if compared.problem.family == "transfer":
            for key, name in (("share", "shares"), ("recall", "recall")):
                line[name] = {label: line.pop(f"{key} {label}", None) for label in classes}
        results.append(line)
    return {
        "classes": classes,
        **frame.attrs,  # also recommended and recommendation
        "results": results,
        "warnings": [doubt.text for doubt in compared.doubts],
        "worthless": compared.worthless,
        "evidence": compared.choice.evidence and vars(compared.choice.evidence),
    }
