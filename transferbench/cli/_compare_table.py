"""The report of `transferbench compare`."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.choose.compare import Comparison
    from transferbench.problem import Truth

WIDTH = 100
#: Columns of label-free signs, shares between 0 and 1, and their headings.
SIGNS = {
    "none": "none",
    "agreement_lr": "=lr",
    "agreement_svm": "=svm",
    "agreement_vote": "=vote",
    "reverse_accuracy": "reverse",
}


def text(
    compared: Comparison,
    frame: DataFrame,
    truth: Truth | None,
    names: list[str],
    with_confusion: bool,
    as_json: bool,
) -> str:
    """Return what is printed: JSON, or a table for each target and the recommendation.

    names: what the targets are called.
    """
    if as_json:
        return json.dumps(to_json(compared, frame, truth), ensure_ascii=False)
    from transferbench.messages import aligned

    lines: list[str] = []
    for name, (target, part) in zip(names, frame.groupby("target", sort=False), strict=True):
        if len(names) > 1:
            lines += [f"{name}:", ""]
        rows = _rows(part, compared)
        lines += [*(line[:WIDTH] for line in aligned(rows)), "", _legend(compared, frame), ""]
        for model, counts in _confusions(compared, truth, str(target)).items():
            if with_confusion:
                table = [[f"{model}: true", *compared.problem.classes]]
                for label, row in zip(compared.problem.classes, counts, strict=True):
                    table.append([label, *map(str, row)])
                lines += [*aligned(table), ""]
    if any(len(entry.fits) > 1 for entry in compared.entries.values()):
        lines += ["Means ± standard deviations over the seeds of random models.", ""]
    return "\n".join([*lines, *textwrap.wrap(compared.choice.sentence, WIDTH)])


def _rows(part: DataFrame, compared: Comparison) -> list[list[str]]:
    """Return the table of one target."""
    from transferbench.cli._report import percent
    from transferbench.measures import headings

    problem = compared.problem
    several = problem.family == "multilabel"
    titles = headings(problem.family)
    measures = [m for m in titles if m in part and not part[m].isna().all()]
    signs = [sign for sign in SIGNS if sign in part]
    recall = ["recall"] if measures and not several else []
    head = ["model", "s", "labels" if several else "shares", *(SIGNS[sign] for sign in signs)]
    rows = [[*head, *(titles[m] for m in measures), *recall, "warnings"]]
    for line in part.to_dict("records"):
        row = [f"{line['model']}{' *' if line['recommended'] else ''}", _number(line["seconds"])]
        row.append(
            _number(line["labels"]) if several else _by_class(line, "share", problem.classes)
        )
        row += [percent(line[sign]) for sign in signs]
        row += [percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        row += [_by_class(line, what, problem.classes) for what in recall]
        rows.append([*row, "worthless" if line["worthless"] else f"{len(line['warnings']) or ''}"])
    return rows


def _legend(compared: Comparison, frame: DataFrame) -> str:
    """Return what the numbers are."""
    classes = compared.problem.classes
    if compared.problem.family == "multilabel":
        labels = (
            f"labels: mean number of a document, {frame.attrs['source_labels']:.2f} in the source"
        )
        return f"{labels}; the others are in per cent."
    order = "/".join(classes) if _few(classes) else "least and largest"
    text = f"* recommended. All in per cent; shares and recall by class: {order}."
    return textwrap.shorten(text, WIDTH, placeholder=" …")


def _few(classes: tuple[str, ...]) -> bool:
    return len(classes) <= 4


def _by_class(line: dict[str, Any], what: str, classes: tuple[str, ...]) -> str:
    """Return fractions by class in per cent; of many classes the least and the largest."""
    values = [line[f"{what} {label}"] for label in classes]
    known = [value for value in values if value == value]
    if not known:
        return ""
    if _few(classes):
        return "/".join("–" if value != value else f"{100 * value:.0f}" for value in values)
    return f"{100 * min(known):.0f}–{100 * max(known):.0f}"


def _number(value: float) -> str:
    return "" if value != value else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _confusions(
    compared: Comparison, truth: Truth | None, target: str
) -> dict[str, list[list[int]]]:
    """Return for each model the number of documents by true class (row) and decided class.

    None of documents with several labels, or without a label to score.
    """
    from sklearn.metrics import confusion_matrix

    if truth is None or truth.family != "transfer":
        return {}
    i = truth.names.index(target)
    rows = truth.scored[i]
    true, labels = truth.Y[i][rows].argmax(axis=1), range(len(truth.classes))
    return {
        name: confusion_matrix(
            true, entry.fits[0].scores[i][rows].argmax(axis=1), labels=labels
        ).tolist()
        for name, entry in compared.entries.items()
        if entry.fits and rows.any()
    }


def to_json(compared: Comparison, frame: DataFrame, truth: Truth | None) -> dict[str, Any]:
    """Return what `--json` prints: classes, source, results by target and model, recommendation."""
    from transferbench.cli._report import json_lines

    results = []
    for line in json_lines(frame):
        line["params"] = dict(compared.entries[line["model"]].params)
        if compared.problem.family == "transfer":
            for key, name in (("share", "shares"), ("recall", "recall")):
                classes = compared.problem.classes
                line[name] = {label: line.pop(f"{key} {label}", None) for label in classes}
        confusions = _confusions(compared, truth, line["target"])
        if line["model"] in confusions:
            line["confusion"] = confusions[line["model"]]
        results.append(line)
    return {
        "classes": compared.problem.classes,
        **frame.attrs,  # also recommended and recommendation
        "results": results,
        "warnings": [doubt.text for doubt in compared.doubts],
        "worthless": compared.worthless,
        "evidence": compared.choice.evidence and vars(compared.choice.evidence),
    }
