"""transferbench explain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transferbench.cli._names import completing, experiment_names
from transferbench.settings import Settings

if TYPE_CHECKING:
    from transferbench.evidence.provenance import Origin
    from transferbench.experiments.experiment import Experiment


@click.command()
@click.argument("experiment", shell_complete=completing(experiment_names))
@click.argument("row")
@click.argument("column")
@click.option("--x", type=float, default=None, help="Place on a figure's x axis.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the objective into this file (png, svg or pdf), not in the terminal.",
)
@click.pass_obj
def command(
    settings: Settings, /, experiment: str, row: str, column: str, x: float | None,
    save: Path | None,
) -> None:  # fmt: skip
    """Tell where a number of a table or figure comes from.

    The command that runs it again, its runs, what they took, what has changed since.
    """
    from transferbench.evidence import provenance
    from transferbench.evidence.frame import read_runs
    from transferbench.experiments import experiment as experiments

    file = experiments.load(experiment)
    found = list(provenance.origins(file, read_runs(settings.results / file.name / "runs.csv")))
    row = _match("row", row, [one.row for one in found])
    column = _match("column", column, [one.column for one in found if one.row == row])
    here = [one for one in found if (one.row, one.column) == (row, column)]
    one = _at(x, here)
    lines = [*_number(file, one), "", *_since(one, settings), "", *_model(one), ""]
    trace, why = _trace(one, settings)
    if trace and save:
        _picture(file, one, trace, save)
        lines.append(f"objective: {save}")
    elif trace:
        from transferbench.cli._plot import plot

        lines += [f"Objective over iterations, {why}:", *plot(trace)]
    else:
        lines.append(f"Objective: {why}")
    click.echo("\n".join(lines))


def _match(what: str, name: str, known: Iterable[str]) -> str:
    """The name itself, or the one that differs in case, blanks and punctuation alone."""
    from transferbench.errors import unknown

    def bare(text: str) -> str:
        return re.sub(r"[\W_]+", "", text).casefold() or text

    known = list(dict.fromkeys(known))
    same = [one for one in known if bare(one) == bare(name)]
    if name in known or len(same) == 1:
        return name if name in known else same[0]
    raise unknown(what, name, known)


def _at(x: float | None, found: list[Origin]) -> Origin:
    from transferbench.errors import UserError

    chosen = found if x is None else [one for one in found if one.x == x]
    if len(chosen) == 1:
        return chosen[0]
    places = ", ".join(f"{one.x:g}" for one in found if one.x is not None)
    raise UserError(
        f"expected --x, one of {places}." if places else "there is no x; leave out --x."
    )


def _number(file: Experiment, one: Origin) -> list[str]:
    from statistics import stdev

    spec, entry = file.spec, one.entry
    unit = {"seconds": " s", "peak_mib": " MiB"}.get(file.metric(one.row), "")
    unit = " %" if file.scale(one.row) == 100 else unit
    place = "" if one.x is None else f", x = {one.x:g}"

    def text(number: float) -> str:
        return f"{number:.2f}" if spec.unit == "percent" else f"{number:.4g}"

    ours = "none" if one.mean is None else text(one.mean) + unit
    ours += f" ± {text(stdev(one.values.values()))}" if len(one.values) > 1 else ""
    value = file.published(one.row, one.column)
    printed = "no number" if value is None else f"{value[0]:g}{unit}"
    printed += "" if value is None or value[1] is None else f" ± {value[1]:g}"
    verdict = f"{entry.verdict} {entry.reason}".strip() if entry else ""
    tolerance = file.tolerance(one.row)
    if entry and entry.difference is not None and tolerance is not None:
        verdict += f", {entry.difference:+.2f}; within is up to {tolerance:g}"
    facts = {
        "ours": f"{ours}, {file.metric(one.row)}, {len(one.values)} of {len(one.cells)} runs",
        "paper": f"{printed}; {spec.paper.title}, {spec.paper.venue}, {spec.paper.place}",
        "verdict": verdict,
        "again": one.command,
        "setting": ", ".join(f"{k}={v}" for k, v in one.cells[0].params.items()),
        "chosen": entry.chosen if entry else "",
        "by seed": ", ".join(f"{seed}: {text(v)}" for seed, v in one.values.items() if seed),
        "took": _took(one),
        "note": spec.columns[one.column].note if one.column in spec.columns else "",
    }
    return [f"{file.name}, {one.row}, {one.column}{place}", *_facts(facts)]


def _facts(facts: dict[str, str]) -> list[str]:
    return [f"  {name:<9} {text}" for name, text in facts.items() if text]


def _took(one: Origin) -> str:
    peaks = [float(line["peak_mib"]) for line in one.lines if line["peak_mib"]]
    peak = f", at most {max(peaks):.0f} MiB" if peaks else ""
    threads = "".join(f", {n} thread{'s' * (n != '1')}" for n in one.told("threads"))
    return "" if one.seconds is None else f"{one.seconds:.3g} s a fit{peak}{threads}"


def _since(one: Origin, settings: Settings) -> list[str]:
    """What the runs were made with, and whether it is so still."""
    import platform

    from transferbench.data import tasks
    from transferbench.runs import worker

    task = tasks.Task.named(one.cells[0].task)
    data = ""
    if task.cache(settings).is_file():
        data = tasks.facts(task, settings).digest
    now = {"python": platform.python_version()} | worker.versions()
    then: dict[str, str] = json.loads((one.told("versions") or ["{}"])[0])
    moved = [f"{name} {v} (here {now.get(name)})" for name, v in then.items() if v != now.get(name)]
    lost = "task not built here; `transferbench run` builds it"

    def compare(name: str, present: str, otherwise: str = "") -> str:
        found = one.told(name)
        same = "unchanged" if found == [present] else f"now {present}"
        return f"{', '.join(found) or 'not known'}; {same if present else otherwise}"

    ended = sorted(one.told("finished"))
    facts = {
        "run on": " to ".join(dict.fromkeys((ended[0], ended[-1]))) if ended else "",
        "data": compare("data", data, lost),
        "code": compare("code", one.cells[0].code),
        "versions": f"changed: {', '.join(moved)}"
        if moved
        else "unchanged"
        if then
        else "not known",
    }
    return ["Since then:", *_facts(facts)]


def _model(one: Origin) -> list[str]:
    """What the model's docstring says after its objective: symbols, departures, limits."""
    import importlib
    import inspect

    from transferbench import models

    name = one.cells[0].model
    module = importlib.import_module(models.get(name).module)
    title, *paragraphs = (inspect.getdoc(module) or "").split("\n\n")
    after = [i for i, text in enumerate(paragraphs) if "min " in text][:1]
    text = "\n\n".join(paragraphs[after[0] + 1 :] if after else paragraphs)
    return [title, *(f"  {line}".rstrip() for line in text.splitlines())]


def _trace(one: Origin, settings: Settings) -> tuple[list[float], str]:
    """The objective of the first run that has one here, and whose it is, or why there is none."""
    from transferbench.runs.store import Store

    store = Store(settings.results)
    for cell, line in zip(one.cells, one.lines, strict=False):
        trace = json.loads(line["trace"] or "[]")
        record = None if trace else store.find(line["key"])
        trace = trace or list(record.trace if record else ())
        if trace:
            return trace, "" if cell.seed is None else f"seed {cell.seed}"
    if not one.values:
        return [], "no run finished"
    if not one.told("iterations"):
        return [], "the model reports none"
    return [], "its record is not here; run the command above, then ask again"


def _picture(file: Experiment, one: Origin, trace: list[float], path: Path) -> None:
    import matplotlib

    from transferbench.files import writing

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
    ax.plot(range(1, len(trace) + 1), trace, color="#1b1b1b")
    ax.set(xlabel="iteration", ylabel="objective")
    ax.set_title(f"{file.name}, {one.row}, {one.column}", fontsize=9)
    with writing(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
    plt.close(figure)
