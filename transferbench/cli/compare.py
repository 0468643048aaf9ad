"""transferbench compare."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._own import (
    FILE,
    WORTHLESS,
    OwnData,
    escape_formulas,
    own_data,
    print_findings,
    print_used,
    written,
)
from transferbench.cli._terminal import echo
from transferbench.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.comparison import Comparison
    from transferbench.data.userdata.documents import Documents
    from transferbench.problem import Problem, Truth

WIDTH = 100
MEASURES = ("accuracy", "balanced_accuracy", "f1")


@click.command()
@click.argument("task", required=False)
@own_data(optional=True)
@click.option("--repeats", type=click.IntRange(1), default=1, help="Seeds of random models.")
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
    settings: Settings, /, task: str | None, own: OwnData, repeats: int, jobs: int,
    equal_shares: bool, confusion: bool, as_json: bool, out: Path | None, escape_formulas: bool,
) -> int:  # fmt: skip
    """Compare models on your own documents, or on a task, and recommend one.

    \b
    transferbench compare --source labelled.csv --target mail.csv
    transferbench compare --source s.csv --target t.csv -m dtl -m svm --out found.csv
    transferbench compare amazon/books-vs-dvd --repeats 3 --jobs 2

    No label of the target is used: models are judged by the shares of their classes, by agreement
    with logistic regression (=lr) and with most models (=vote), and by the accuracy on the source
    of the same model trained on its decisions (back). Where the target has labels, measures are
    shown beside, and change nothing. Logistic regression and the recommended model are always
    compared; without --model also quick ones.

    For several labels in a column name --label-separator "|" or a multi-label model: a linear SVM
    and quick models are compared by the number of labels and by agreement, and none is recommended.
    """
    from transferbench import comparison

    if own.scheduler:
        raise click.UsageError("--scheduler is for one large fit (predict, evaluate).")
    if bool(task) == bool(own.sources and own.targets) or (task and (own.targets or out)):
        raise click.UsageError("expected --source and --target, or a TASK without --out.")
    if out:
        own.check_out(out)
    if not task and own.family == "multilabel":
        from transferbench.cli import _compare_labels

        _compare_labels.compare(own, repeats, as_json, out)
        return 0
    given = _given(own, equal_shares)
    problem, truth, targets, names = _load(task, own, settings)
    size = sum(len(domain.seen) for domain in problem.domains)
    plans = comparison.plan(own.models, size, given, repeats, equal_shares, own.seed)
    compared = _judge(problem, plans, equal_shares, jobs, names)
    frame = comparison.table(compared, truth)
    if as_json:
        echo(json.dumps(to_json(compared, frame, truth), ensure_ascii=False))
    else:
        echo("\n".join(report(compared, frame, truth, names, confusion)))
    worthless = compared.worthless and not own.force
    if out and not worthless:
        _write(out, compared, targets, escape_formulas)
        echo(written(out, targets), err=as_json)
    if worthless:
        unwritten = f"; {out} is not written" if out else ""
        echo(f"The recommended result is {WORTHLESS}{unwritten}; --force accepts it.", err=True)
    return int(worthless)


def _given(own: OwnData, equal_shares: bool) -> dict[str, dict[str, Any]]:
    """Return the given parameters by model; unknown ones are refused before files are read."""
    from transferbench import choice, comparison, models, parameters
    from transferbench.cli._own import by_model

    names = [choice.REFERENCE, *choice.candidates(equal_shares), *(own.models or comparison.QUICK)]
    for name in names:
        models.check_family(name, "transfer")
    functions = {name: models.load(name) for name in dict.fromkeys(names)}
    given = by_model(parameters.parse(own.assignments), functions)
    for name, function in functions.items():
        parameters.resolve(function, given[name], name)
    return given


def _load(
    task: str | None, own: OwnData, settings: Settings
) -> tuple[Problem, Truth, list[Documents], list[str]]:
    """Return the problem, its truth, the documents of the targets and what they are called."""
    if task is None:
        problem, truth, targets = own.read("any")
        return problem, truth, targets, [str(target.path) for target in targets]
    from transferbench.data import tasks

    found = tasks.Task.named(task)
    problem, truth = tasks.load(found, settings)
    print_used(problem, [domain.name for domain in problem.domains], {})
    return problem, truth, [], [domain.name for domain in problem.targets]


def _judge(
    problem: Problem, plans: Any, equal_shares: bool, jobs: int, names: list[str]
) -> Comparison:
    """Compare with a progress bar; print findings."""
    from tqdm import tqdm

    from transferbench import comparison

    with tqdm(total=len(plans), unit="model", leave=False, disable=None) as bar:

        def on_done(model: str) -> None:
            bar.set_description(model)
            bar.update()

        compared = comparison.judge(
            problem, plans, equal_shares=equal_shares, jobs=jobs, names=names, on_done=on_done
        )
    print_findings(compared.findings)
    for entry in compared.entries.values():
        start = "" if not entry.fits else f"{entry.model}: "
        print_findings(entry.findings, start)
    return compared


def report(
    compared: Comparison,
    frame: DataFrame,
    truth: Truth | None,
    names: list[str],
    with_confusion: bool,
) -> list[str]:
    """Return the lines to print: a table for each target, and the recommendation."""
    lines: list[str] = []
    for name, (target, part) in zip(names, frame.groupby("target", sort=False), strict=True):
        if len(names) > 1:
            lines += [f"{name}:", ""]
        lines += [*_table(part, compared.problem.classes), ""]
        if with_confusion and truth is not None and "scored" in part:
            lines += _confusions(compared, truth, str(target))
    if any(len(entry.fits) > 1 for entry in compared.entries.values()):
        lines += ["Means ± standard deviations over the seeds of random models.", ""]
    return [*lines, *textwrap.wrap(compared.choice.sentence, WIDTH)]


def _table(part: DataFrame, classes: tuple[str, ...]) -> list[str]:
    """Return the table of one target, at most WIDTH wide with names of usual length."""
    from transferbench.cli._report import TITLES, aligned, percent

    few = len(classes) <= 4
    measures = [m for m in MEASURES if m in part and not part[m].isna().all()]
    head = ["model", "s", "shares", "=lr", "=vote", "back"]
    head += [TITLES.get(m, m) for m in measures]
    head += ["recall"] if measures else []
    rows = [[*head, "warnings"]]
    for line in part.to_dict("records"):
        row = [f"{line['model']}{' *' if line['recommended'] else ''}", _seconds(line["seconds"])]
        row.append(_by_class([line[f"share {c}"] for c in classes], few))
        row += [percent(line[key]) for key in ("agreement_lr", "agreement_vote", "reverse")]
        row += [percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        row += [_by_class([line[f"recall {c}"] for c in classes], few)] if measures else []
        row.append("worthless" if line["worthless"] else f"{len(line['warnings']) or ''}")
        rows.append(row)
    return [line[:WIDTH] for line in aligned(rows)] + ["", _legend(classes, few)]


def _legend(classes: tuple[str, ...], few: bool) -> str:
    """Return what the numbers are."""
    order = "/".join(classes) if few else "least and largest"
    text = f"* recommended. All in per cent; shares and recall by class: {order}."
    return textwrap.shorten(text, WIDTH, placeholder=" …")


def _by_class(values: list[float], few: bool) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    if few:
        return "/".join("–" if value != value else f"{100 * value:.0f}" for value in values)
    return f"{100 * min(known):.0f}–{100 * max(known):.0f}"


def _seconds(value: float) -> str:
    return "" if value != value else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _confusions(compared: Comparison, truth: Truth, target: str) -> list[str]:
    """Return for each model the number of documents by true class (row) and decided class."""
    from transferbench.cli._report import aligned
    from transferbench.comparison import confusion

    i = truth.names.index(target)
    rows, lines = truth.scored[i], []
    for entry in compared.entries.values():
        if entry.fits:
            counts = confusion(truth.Y[i][rows], entry.fits[0].scores[i][rows])
            table = [[f"{entry.model}: true", *truth.classes]]
            table += [[c, *map(str, row)] for c, row in zip(truth.classes, counts, strict=True)]
            lines += [*aligned(table), ""]
    return lines


def to_json(compared: Comparison, frame: DataFrame, truth: Truth | None) -> dict[str, Any]:
    """Return what `--json` prints: classes, source, results by target and model, recommendation."""
    from transferbench.comparison import confusion

    results = []
    for line in frame.to_dict("records"):
        line = {k: None if isinstance(v, float) and v != v else v for k, v in line.items()}
        entry = compared.entries[line["model"]]
        line["params"] = dict(entry.params)
        for key in ("share", "recall"):
            values = {c: line.pop(f"{key} {c}", None) for c in compared.problem.classes}
            line["shares" if key == "share" else key] = values
        if truth is not None and entry.fits and "scored" in line:
            i = truth.names.index(line["target"])
            rows = truth.scored[i]
            table = confusion(truth.Y[i][rows], entry.fits[0].scores[i][rows])
            line["confusion"] = table.tolist()
        results.append(line)
    evidence = compared.choice.evidence
    return {
        "classes": compared.problem.classes,
        "source_shares": frame.attrs["source"],
        "results": results,
        "warnings": [finding.text for finding in compared.findings],
        "worthless": compared.worthless,
        "recommended": compared.choice.model,
        "recommendation": compared.choice.sentence,
        "evidence": None if evidence is None else vars(evidence),
    }


def _write(out: Path, compared: Comparison, targets: list[Documents], escape: bool) -> None:
    """Write the predictions of the recommended model, all scores and the share that agrees."""
    from transferbench.cli.predict import checked_formulas
    from transferbench.data.userdata.predictions import rows, write
    from transferbench.files import writing

    entries = {name: entry.fits[0] for name, entry in compared.entries.items() if entry.fits}
    first = compared.choice.model
    fits = {first: entries.pop(first)} | entries
    predicted = rows(compared.problem, fits, targets, with_scores=True)
    if out.suffix == ".csv":
        predicted = checked_formulas(out, compared.problem, targets, predicted, escape)
    with writing(out) as temporary:
        write(temporary, predicted, out.suffix)
