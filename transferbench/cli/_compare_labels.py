"""`transferbench compare` for documents with several labels."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench.cli._own import OwnData, written
from transferbench.cli._terminal import echo

if TYPE_CHECKING:
    from pandas import DataFrame

NOTE = (
    "No model is recommended: no sign that needs no labels has been tested for several labels. "
    "Label some documents of the target, and score the models on them."
)


def compare(own: OwnData, repeats: int, as_json: bool, out: Path | None) -> None:
    """Compare multi-label models on the user's documents; print a table or JSON."""
    from tqdm import tqdm

    from transferbench import comparison_multilabel as comparison
    from transferbench import models, parameters
    from transferbench.cli._own import by_model
    from transferbench.data.userdata.predictions import rows, write
    from transferbench.files import writing

    names = list(dict.fromkeys([comparison.REFERENCE, *(own.models or comparison.QUICK)]))
    for name in names:
        models.check_family(name, "multilabel")
    functions = {name: models.load(name) for name in names}
    given = by_model(parameters.parse(own.assignments), functions)
    plans = comparison.plan(own.models, given, repeats, own.seed)
    problem, truth, targets = own.read("any")
    with tqdm(total=len(plans), unit="model", leave=False, disable=None) as bar:
        found = comparison.fit_all(problem, plans, lambda model: bar.update())
    frame = comparison.table(problem, found, truth)
    paths = dict(zip([d.name for d in problem.targets], targets, strict=True))
    frame["target"] = [str(paths[name].path) for name in frame["target"]]
    if as_json:
        echo(json.dumps(to_json(frame, problem.classes), ensure_ascii=False))
    else:
        echo("\n".join(report(frame)))
    if out:
        fits = {name: fits[0] for name, (fits, _) in found.items()}
        first = own.models[0] if own.models else comparison.REFERENCE
        fits = {first: fits.pop(first)} | fits
        with writing(out) as temporary:
            predicted = rows(problem, fits, targets, separator=own.separator, with_scores=True)
            write(temporary, predicted, out.suffix)
        echo(written(out, targets), err=as_json)


def report(frame: DataFrame) -> list[str]:
    """Return the lines to print: a table, what its numbers are, and why none is recommended."""
    from transferbench.cli._report import aligned, percent
    from transferbench.comparison_multilabel import MEASURES
    from transferbench.data.userdata.multilabel import MEASURES as TITLES

    measures = [name for name in MEASURES if name in frame]
    several = frame["target"].nunique() > 1
    head = ["model", "s", "labels", "none", "=svm", "=vote", *(TITLES[m] for m in measures)]
    table = [["target", *head] if several else head]
    for line in frame.to_dict("records"):
        cells = [line["model"], f"{line['seconds']:.2f}", f"{line['labels']:.2f}"]
        cells += [percent(line[name]) for name in ("none", "agreement_svm", "agreement_vote")]
        cells += [percent(line[m], line.get(f"{m}_std", math.nan)) for m in measures]
        table.append([line["target"], *cells] if several else cells)
    legend = (
        f"labels: mean number of a document, {frame.attrs['labels']:.2f} in the source; the others "
        "are in per cent."
    )
    return [*aligned(table), "", legend, "", *textwrap.wrap(NOTE, 100)]


def to_json(frame: DataFrame, classes: tuple[str, ...]) -> dict[str, Any]:
    """Return what `--json` prints."""
    lines = [
        {k: None if isinstance(v, float) and v != v else v for k, v in line.items()}
        for line in frame.to_dict("records")
    ]
    return {
        "classes": classes,
        "source_labels": frame.attrs["labels"],
        "results": lines,
        "recommended": None,
        "recommendation": NOTE,
    }
