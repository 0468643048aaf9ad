"""Explain a number of a table or figure: its verdict, its runs, what has changed since.

`listed` orders the numbers of a table, a row or a column by their difference from print.
"""

import hashlib
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import groupby, product
from statistics import fmean
from typing import Literal

from transferbench import datasets, experiments, models, parameters
from transferbench.errors import MAX_LISTED, UserError, brief, closest
from transferbench.evidence.audit import Finding
from transferbench.evidence.frame import Cell, table_columns
from transferbench.evidence.page import anchor
from transferbench.evidence.verdict import DIFFERENT, LOOKS, Look
from transferbench.experiments.experiment import Experiment
from transferbench.experiments.schema import Schema
from transferbench.messages import counted
from transferbench.runs import worker
from transferbench.runs.record import Run

#: Name of a cell of which no run was tried, among those of the verdicts.
NOT_RUN = "not run"
OUTCOMES = LOOKS | {NOT_RUN: Look("–", "–", "not run here")}


def chosen(
    experiment: Experiment, rows: Sequence[str], columns: Sequence[str]
) -> tuple[set[tuple[str, str]], set[Run]]:
    """Return the rows and columns of the cells that names choose, and all runs of these cells."""
    # `rows`, `columns`: Names as `find` takes them; none stand for all.
    by_task, by_model = _other_names(experiment)
    known = {label: name for label, name, _ in table_columns(experiment)}
    labels = experiment.spec.rows.keys()
    of_rows = {_label("row", name, by_task, labels) for name in rows} or labels
    of_columns = {_label("column", name, by_model, known.keys()) for name in columns} or known
    cells = {*product(of_rows, of_columns)}
    planned = {(row, known[label]) for row, label in cells}
    return cells, {one.run for one in experiment.runs() if (one.row, one.column) in planned}


def find(
    experiment: Experiment, cells: Sequence[Cell], row: str, column: str, x: float | None
) -> Cell:
    """Return a cell of a table or a point of a figure by name."""
    # `row`: Label of the row, or its task. Case, spaces and hyphens do not count.
    # `x`: Position on the x axis of a figure; None in a table. Of a curve over iterations, None is
    # the last point.
    by_task, by_model = _other_names(experiment)
    row = _label("row", row, by_task, {cell.row for cell in cells})
    column = _label("column", column, by_model, {cell.column for cell in cells})
    of_column = [cell for cell in cells if (cell.row, cell.column) == (row, column)]
    if x is None and experiment.spec.figure and experiment.spec.figure.iterations:
        of_column = of_column[-1:]
    at_x = of_column if x is None else [cell for cell in of_column if cell.x == x]
    if len(at_x) == 1:
        return at_x[0]
    positions = [cell.x for cell in of_column if not math.isnan(cell.x)]
    if not positions:
        raise UserError("there is no x; leave out --x.")
    nearest = sorted(positions, key=lambda position: abs(position - (x or 0)))[:MAX_LISTED]
    more = ", …" if len(positions) > MAX_LISTED else ""
    raise UserError(f"expected --x, one of {', '.join(f'{p:g}' for p in nearest)}{more}.")


def _other_names(experiment: Experiment) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels of rows by their task, and of columns by their model."""
    spec = experiment.spec
    bases = [(name, r.data().base) for name, r in reversed(spec.rows.items())]
    by_task = {task: name for name, base in bases for task in (base, base.split("/")[-1])}
    return by_task, {c.model: name for name, c in reversed(spec.columns.items())}


def _label_of_any(
    experiment: Experiment, cells: Sequence[Cell], name: str
) -> tuple[Literal["row", "column"], str]:
    """Return whether a name is of a row or of a column, and its label."""
    by_task, by_model = _other_names(experiment)
    rows, columns = {cell.row for cell in cells}, {cell.column for cell in cells}
    with suppress(UserError):
        return "row", _label("row", name, by_task, rows)
    with suppress(UserError):
        return "column", _label("column", name, by_model, columns)
    raise _unknown("row or column", name, rows | columns, {**by_task, **by_model})


def _label(what: str, name: str, others: Mapping[str, str], labels: Set[str]) -> str:
    """Return the label that a name stands for: a label, or another name of one."""

    def plain(text: str) -> str:
        return re.sub(r"\W", "", datasets.FORM.sub("", text)).casefold()

    known = {plain(other): label for other, label in others.items()}
    known |= {plain(label): label for label in labels}
    label = name if name in labels else known.get(plain(name))
    if label is None:
        raise _unknown(what, name, labels, others)
    return label


def _unknown(what: str, name: str, labels: Set[str], others: Iterable[str]) -> UserError:
    """Return the error for an unknown label, with those that the file has."""
    close = closest(name, labels) or closest(name, others)
    hint = f" Did you mean {close!r}?" if close else ""
    known = ", ".join(map(shlex.quote, sorted(labels)[:MAX_LISTED]))
    more = ", …" if len(labels) > MAX_LISTED else ""
    return UserError(f"unknown {what} {brief(name)}.{hint} Expected one of {known}{more}.")


def why(
    experiment: Experiment, cells: Sequence[Cell], cell: Cell, findings: Iterable[Finding]
) -> dict[str, str]:
    """Return what may explain why a number differs from print."""
    spec, task = experiment.spec, cell.records[0].run.task
    row, column = printed = printed_cell(experiment, cell)
    digits = [f for f in findings if f.column == column and row in f.rows]
    tolerances = [t for t in experiment.compared.tolerance if row in (t.rows or [row])]
    notes = [f"{note.rstrip('.')}." for note in spec.notes if _is_about(spec, note, row, column)]
    paper = experiments.PUBLISHED.fullmatch(spec.control_of or experiment.name)
    in_row = [other for other in cells if other.row == cell.row]
    in_column = [other for other in cells if other.column == cell.column]
    sentences = {
        "data": f"{task}: {datasets.tasks()[task.base]}",
        "digits": _digits(digits[0], row) if digits else "",
        "this row": _agreement((other.column, other) for other in in_row),
        "this column": _agreement(
            (other.row, other) for other in in_column if not spec.rows[other.row].reading_of
        ),
        "readings": _range_of_readings(
            experiment, [other for other in cells if printed_cell(experiment, other) == printed]
        ),
        "tolerance": " ".join(f"{t.value:g}: {t.reason}" for t in tolerances),
        "notes": " ".join(notes),
        "more": f"docs/papers/{paper[1]}.md, docs/findings.md" if paper else "",
    }
    return {subject: sentence for subject, sentence in sentences.items() if sentence}


def _is_about(spec: Schema, note: str, row: str, column: str) -> bool:
    """Return True if a note names the row or the column, and not only others of its kind."""
    named = [
        {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", note)}
        for names in (spec.rows, spec.columns)
    ]
    return any(named) and all(
        own in names for own, names in zip((row, column), named, strict=True) if names
    )


def printed_cell(experiment: Experiment, cell: Cell) -> tuple[str, str]:
    """Return the row and the column of the printed table that a cell is, or is a reading of."""
    row = experiment.spec.rows[cell.row].reading_of or cell.row
    return row, experiment.read_column(cell.column)


def _range_of_readings(experiment: Experiment, readings: Iterable[Cell]) -> str:
    """Return the number of values, the lowest and the highest; "" for fewer than two values."""
    ordered = sorted((c for c in readings if not math.isnan(c.mean)), key=lambda c: c.mean)
    if len(ordered) < 2:
        return ""
    low, high = (
        f"{experiment.spec.value_unit.text(c.mean)} ({c.column} on {c.row})"
        for c in (ordered[0], ordered[-1])
    )
    return f"{len(ordered)} values, from {low} to {high}"


def _digits(finding: Finding, row: str) -> str:
    """Return what the digits of a printed column show about a row."""
    meaning = {
        "single run": "the printed column fits a single run",
        "mean": "the paper prints a deviation, so the value is a mean of several runs",
        "impossible": "the printed column is a mean, or of other documents",
        "copied": "the printed value has a digit less than others, so it may be copied",
        "possible": "the digits of the printed column allow no conclusion",
        "unclear": "the digits of the printed column allow no conclusion",
    }[finding.status]
    tried = f"{finding.documents[row]:,} documents, " if finding.documents else ""
    same = f"; the same values as {', '.join(finding.like)}" if finding.like else ""
    return f"{meaning} ({tried}{finding.source}){same}"


def _agreement(named: Iterable[tuple[str, Cell]]) -> str:
    """Return which cells have each verdict."""
    by_verdict: dict[str, list[str]] = {verdict: [] for verdict in OUTCOMES}
    for name, cell in named:
        by_verdict.get(_outcome(cell), []).append(name)
    parts = (
        f"{OUTCOMES[name].sign} {OUTCOMES[name].words}: {', '.join(names)}"
        for name, names in by_verdict.items()
        if names
    )
    return "; ".join(parts)


def describe_cell(experiment: Experiment, cell: Cell) -> dict[str, str]:
    """Return facts about a number and its runs: texts by name, the first one a title."""
    spec, paper = experiment.spec, experiment.compared.paper
    text = spec.value_unit.text
    unit = {"seconds": " s", "peak_mib": " MiB"}.get(cell.metric, spec.value_unit.sign)
    x = f", {spec.figure.label} = {cell.x:g}" if spec.figure and not math.isnan(cell.x) else ""
    ours = "none" if math.isnan(cell.mean) else text(cell.mean) + unit
    ours += "" if math.isnan(cell.std) else f" ± {text(cell.std)}"
    printed = "no number" if math.isnan(cell.published) else f"{cell.published:g}{unit}"
    printed += "" if math.isnan(cell.published_std) else f" ± {cell.published_std:g}"
    seconds = [record.seconds for record in cell.records if record.seconds is not None]
    peaks = [record.peak_mib for record in cell.records if record.peak_mib is not None]
    took = f"{fmean(seconds):.3g} s a fit" if seconds else ""
    took += f", at most {max(peaks):.0f} MiB" if peaks else ""
    threads = dict.fromkeys(record.threads for record in cell.records if record.threads)
    took += "".join(f", {counted(n, 'thread')}" for n in threads)
    codes = reported(cell, "code")
    made_by = {record.equal_code for record in cell.records if record.code}
    equal = " (proved to give equal results)" if len(codes) > 1 and len(made_by) == 1 else ""
    column = spec.columns.get(cell.column)
    days = sorted(record.finished[:10] for record in cell.records if record.finished)
    texts = {
        "title": f"{experiment.name}: {cell.column}, {cell.row}{x}",
        "ours": f"{ours}, {cell.metric}, {cell.runs} of {cell.planned} runs",
        "paper": f"{printed}; {paper.title}, {paper.venue}, {paper.place}",
        "verdict": "" if spec.figure else _verdict(experiment, cell),
        "number": identity(experiment, cell) if cell.runs else "",
        "again": again(experiment, cell),
        "runs": command(record.run for record in cell.records),
        "setting": ", ".join(f"{n}={value}" for n, value in cell.records[0].run.params.items()),
        "chosen": cell.setting,
        f"by {spec.repeats_over[:-1]}": ", ".join(
            f"{number}: {text(v)}" for number, v in cell.by_seed.items() if number is not None
        ),
        "took": took if seconds else "",
        "note": column.note if column else "",
        "run on": " to ".join(dict.fromkeys(days[:1] + days[-1:])),
        "data": ", ".join(reported(cell, "data")),
        "code": ", ".join(codes) + equal,
        "versions": "; ".join(reported(cell, "versions")),
    }
    return {name: text for name, text in texts.items() if text}


def identity(experiment: Experiment, cell: Cell) -> str:
    """Return the identity of a number: its page, its anchor there, and the digest of its runs."""
    # Runs made again by equal code on the same data, with the same measures, have the same digest.
    runs = [[*r.identity, r.data, r.equal_code, r.metrics] for r in cell.records]
    shown = [cell.metric, experiment.spec.unit, runs]
    digest = hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:12]
    return f"{experiment.name}#{anchor(cell.row, cell.column, cell.x)}@{digest}"


def of_identity(experiment: Experiment, cells: Sequence[Cell], number: str) -> Cell:
    """Return the cell of a number by its identity."""
    place = number.rpartition("@")[0]
    here = {f"{experiment.name}#{anchor(c.row, c.column, c.x)}": c for c in cells if c.runs}
    if place not in here:
        raise _unknown("number", place, here.keys(), ())
    if number != (now := identity(experiment, here[place])):
        raise UserError(f"{brief(number)} has other runs now: {now}. Check what has changed.")
    return here[place]


def _verdict(experiment: Experiment, cell: Cell) -> str:
    """Return the verdict with the difference and what it was tested by; "" without one."""
    if not cell.verdict:
        return ""
    parts = [LOOKS[cell.verdict].words]
    if cell.verdict == "unavailable":
        return f"{LOOKS[cell.verdict].sign} {cell.reason}"
    digits = digits_of(experiment)
    if abs(abs(cell.difference) - cell.tolerance) < 10.0**-digits:
        digits += 2  # so that the difference is not written as the tolerance
    parts.append(f"difference {cell.difference:+.{digits}f}, tolerance {cell.tolerance:.3g}")
    if cell.margin:
        if math.isnan(cell.margin):
            parts.append("one run shows no error, so nothing is tested")
        else:
            low, high = (cell.difference + sign * cell.margin for sign in (-1, 1))
            parts.append(f"its 90 % interval {low:+.{digits}f} to {high:+.{digits}f}")
    if math.isnan(cell.published_std):
        parts.append("print states no deviation, so its number is compared as it stands")
    if cell.verdict == "cannot tell":
        parts.append(
            "more seeds may decide"
            if cell.can_be_same
            else "no runs can show that they are the same, as the printed error is too large"
        )
    return f"{LOOKS[cell.verdict].sign} {'; '.join(parts)}"


def reported(cell: Cell, name: Literal["data", "code", "versions"]) -> list[str]:
    """Return the different texts that the runs report, in their order."""
    return list(dict.fromkeys(filter(None, (getattr(record, name) for record in cell.records))))


def since(cell: Cell, data: str, left_out: str) -> dict[str, str]:
    """Return what has changed since the runs."""
    # `data`: Digest of the task built here, "" if it is not built.
    # `left_out`: Why its data are not read here, "" if they are.
    # Returns: Changes of data, code and versions; "" if unchanged.
    present_versions = worker.versions()
    then = [text.rpartition(" ") for text in cell.records[0].versions.split(", ")]
    changed = [
        f"{n} {v} (here {present_versions.get(n, 'none')})"
        for n, _, v in then
        if n and v != present_versions.get(n)
    ]
    try:
        code = cell.records[0].run.equal_code
    except UserError:  # the file of the model is elsewhere
        code = "unknown"
    made_by = {record.equal_code for record in cell.records if record.code}
    not_built = left_out or "task not built here; `transferbench run` builds it"
    return {
        "data": "" if reported(cell, "data") == [data] else f"now {data}" if data else not_built,
        "code": "" if made_by == {code} else f"now {code}",
        "versions": ", ".join(changed),
    }


def again(experiment: Experiment, cell: Cell) -> str:
    """Return the command line that makes all runs of a number again and prints its verdict."""
    where = ("--row", cell.row, "--column", cell.column)
    return shlex.join(
        ["transferbench", "reproduce", *experiment.arguments, *where, "--rerun", "all"]
    )


def hint(experiment: Experiment, cell: Cell) -> str:
    """Return which commands explain a number, and make it again."""
    at = [] if math.isnan(cell.x) else ["--x", f"{cell.x:g}"]
    dashes = ["--"] * (cell.row.startswith("-") or cell.column.startswith("-"))
    words = shlex.join(["explain", *at, *experiment.arguments, *dashes, cell.row, cell.column])
    made = f"`{again(experiment, cell)}` makes it again."
    return f"`transferbench {words}` shows what is known of it.\n{made}"


def command(runs: Iterable[Run]) -> str:
    """Return the command line that performs these runs of one model and setting only."""
    # It has a part for each task: the splits of one experiment are several.
    return " && ".join(
        shlex.join(_command(task, [*of_task]))
        for task, of_task in groupby(runs, key=lambda run: str(run.task))
    )


def _command(task: str, runs: Sequence[Run]) -> Iterator[str]:
    """Yield the words of the command that performs these runs of one task."""
    yield from ("transferbench", "run", task, "--model", runs[0].model)
    # A model of a file or another package would run its code when it is loaded.
    external = models.is_external(runs[0].model)
    known = {} if external else parameters.schema(models.load(runs[0].model))
    for name, value in runs[0].params.items():
        if name not in known or value != known[name].default:
            yield from ("--set", f"{name}={_text(value)}")
    seeds = [run.seed for run in runs if run.seed is not None]
    if seeds != list(range(len(seeds))):
        yield from ("--seeds", ",".join(map(str, seeds)))
    elif len(seeds) > 1:
        yield from ("--repeats", str(len(seeds)))


def _text(value: object) -> str:
    """Return a parameter as --set reads it."""
    if isinstance(value, tuple | list):
        return ",".join(map(_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def listed(experiment: Experiment, cells: Sequence[Cell], name: str) -> list[Cell]:
    """Return the cells of a row, of a column or of all, those that differ most from print first."""
    # `name`: Label of a row or column, or its task or model; "" for all cells. All cells are those
    # of the paper's table, without second readings.
    if name:
        what, label = _label_of_any(experiment, cells, name)
        chosen = [cell for cell in cells if getattr(cell, what) == label]
    else:
        chosen = [
            cell for cell in cells if printed_cell(experiment, cell) == (cell.row, cell.column)
        ]
    chosen = [cell for cell in chosen if not math.isnan(cell.published)]
    if not chosen:
        named = experiment.spec.rows, experiment.spec.columns
        rows, columns = (", ".join(map(shlex.quote, names)) for names in named)
        raise UserError(
            f"{experiment.name}: no printed number is compared there; name a row ({rows}) and a "
            f"column ({columns})."
        )

    return sorted(chosen, key=lambda cell: (math.isnan(cell.difference), -abs(cell.difference)))


def listed_sentence(cells: Sequence[Cell], *, named: bool) -> str:
    """Return how many of the listed numbers have each verdict."""
    # `named`: True for the cells of one row or column, which include second readings.
    counts = Counter(map(_outcome, cells))
    parts = [f"{counts[name]} {OUTCOMES[name].words}" for name in OUTCOMES if counts[name]]
    readings = (
        "Second readings are listed, too."
        if named
        else "Second readings and controls are left out; name a row or a column to see them."
    )
    return f"{counted(len(cells), 'printed number')}: {'; '.join(parts)}. {readings}"


def digits_of(experiment: Experiment) -> int:
    """Return the number of decimals of a difference: two for per cent, four for fractions."""
    return 2 if experiment.spec.unit == "percent" else 4


def _outcome(cell: Cell) -> str:
    """Return the name of the verdict, or that no run of the cell was tried; "" without either."""
    is_missing = all(record.status == "missing" for record in cell.records)
    return NOT_RUN if cell.verdict == "unavailable" and is_missing else cell.verdict


def difference_row(experiment: Experiment, cell: Cell, *, named: bool = False) -> list[str]:
    """Return a line of a cell: where it is, ours, printed, their difference and the verdict."""
    text = experiment.spec.value_unit.text
    std = "" if math.isnan(cell.std) else f" ± {text(cell.std)}"
    name = _outcome(cell)
    words = f"{OUTCOMES[name].sign} {name}" if name else ""
    return [
        *([experiment.name] if named else []),
        shlex.quote(cell.row),
        shlex.quote(cell.column),
        f"{text(cell.mean)}{std}",
        text(cell.published),
        "" if math.isnan(cell.difference) else f"{cell.difference:+.{digits_of(experiment)}f}",
        words,
    ]


#: Heads of `difference_row`.
HEADS = ("row", "column", "ours", "printed", "difference", "verdict")


def first_sentences(
    experiment: Experiment, cells: Sequence[Cell], cell: Cell, findings: Iterable[Finding]
) -> str:
    """Return in a few sentences how a number compares with the published one, and why."""
    spec = experiment.spec
    if cell.reason:
        if _outcome(cell) == NOT_RUN:
            return "It was not run here."
        what = "verdict" if cell.runs else "number of ours"
        return f"There is no {what} ({cell.reason.rstrip('.')})."
    if math.isnan(cell.published):
        return "The paper prints no number here."
    row, column = place = printed_cell(experiment, cell)
    sentences = [f"{_verdict(experiment, cell)}."]
    if spec.data_differ:
        sentences.append(f"It is on other data than the paper's: {spec.data_differ.rstrip('.')}.")
    if entry := experiment.circular(row, cell.column):
        why_circular = entry[0].why.rstrip(".")
        sentences.append(f"The printed value was used to set a choice here ({why_circular}).")
    if cell.verdict in ("same", "within"):
        return " ".join(sentences)
    for other in cells:
        if printed_cell(experiment, other) == place and other.verdict == "same":
            value = spec.value_unit.text(other.mean)
            sentences.append(
                f"Another reading is the same: {other.column} on {other.row} has {value}."
            )
            return " ".join(sentences)
    if any(f.status == "copied" and f.column == column and row in f.rows for f in findings):
        sentences.append("The printed value may be copied from another paper: it has a digit less.")
    elif cell.verdict in DIFFERENT and not spec.data_differ:
        sentences.append("No reason is proved.")
    return " ".join(sentences)
