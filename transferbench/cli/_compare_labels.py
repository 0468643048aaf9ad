"""The report of `transferbench compare` for documents with several labels."""

from __future__ import annotations

import json
import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from transferbench.choose.compare import Comparison


def text(compared: Comparison, frame: DataFrame, names: list[str], as_json: bool) -> str:
    """Return what is printed: JSON, or a table and why no model is recommended.

    names: what the targets are called.
    """
    called = dict(zip((d.name for d in compared.problem.targets), names, strict=True))
    frame = frame.assign(target=frame["target"].map(called))
    if as_json:
        return json.dumps(to_json(compared, frame), ensure_ascii=False)
    return "\n".join(report(compared, frame))


def report(compared: Comparison, frame: DataFrame) -> list[str]:
    """Return the lines to print: a table, what its numbers are, and why none is recommended."""
    from transferbench.cli._report import percent
    from transferbench.measures import headings
    from transferbench.messages import aligned

    titles = headings("multilabel")
    measures = [name for name in titles if name in frame]
    several = frame["target"].nunique() > 1
    head = ["model", "s", "labels", "none", "=svm", "=vote", *(titles[m] for m in measures)]
    table = [["target", *head] if several else head]
    for line in frame.to_dict("records"):
        numbers = (line["seconds"], line["labels"])
        cells = [line["model"], *("" if n != n else f"{n:.2f}" for n in numbers)]
        cells += [percent(line[name]) for name in ("none", "agreement_svm", "agreement_vote")]
        cells += [percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        table.append([line["target"], *cells] if several else cells)
    legend = (
        f"labels: mean number of a document, {frame.attrs['labels']:.2f} in the source; the others "
        "are in per cent."
    )
    return [*aligned(table), "", legend, "", *textwrap.wrap(compared.recommendation, 100)]


def to_json(compared: Comparison, frame: DataFrame) -> dict[str, Any]:
    """Return what `--json` prints."""
    from transferbench.cli._report import json_lines

    return {
        "classes": compared.problem.classes,
        "source_labels": frame.attrs["labels"],
        "results": json_lines(frame),
        "recommended": compared.recommended,
        "recommendation": compared.recommendation,
    }
