"""Committed results against runs made anew: the same cells, from scratch, on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from transferbench.evidence.frame import by_cell, read_runs
from transferbench.experiments import experiment
from transferbench.runs.record import MEASURES, Record, Run
from transferbench.settings import Settings

#: Another processor adds in another order, and a document that lies between two classes changes
#: sides: one in 500 may, for a method that repeats do not tell more of.
ROUNDING = 0.002


@dataclass(frozen=True)
class Committed:
    """A finished run of a runs.csv.

    experiment : the first that has it.
    seconds    : what it took.
    measures   : domain → measure → value.
    jitter     : likewise, how far runs with other seeds lie apart (their standard deviation), at
                 least ROUNDING.
    """

    experiment: str
    run: Run
    seconds: float
    measures: dict[str, dict[str, float]]
    jitter: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Difference:
    """A measure of one domain: as committed, as it came now, how far these may lie apart."""

    domain: str
    measure: str
    committed: float
    now: float
    jitter: float

    @property
    def apart(self) -> float:
        """How far both lie apart, in jitters."""
        return abs(self.now - self.committed) / self.jitter

    @property
    def held(self) -> bool:
        """Whether this is one jitter at most."""
        return self.apart <= 1


def committed(names: Iterable[str], settings: Settings) -> Iterator[Committed]:
    """Every finished run of experiments by name. Raises UserError where a runs.csv is missing."""
    for name in names:
        file = experiment.load(name)
        found = by_cell(read_runs(settings.results / file.name / "runs.csv"))
        for cell in dict.fromkeys(run.run for run in file.runs()):
            lines = found.get(cell.identity, {})
            first: dict[str, str] = next(iter(lines.values()), {})
            if first.get("status") != "done":
                continue
            measures = {domain: _measures(line) for domain, line in lines.items()}
            jitter = {
                domain: {measure: _jitter(found, cell, domain, measure) for measure in values}
                for domain, values in measures.items()
            }
            seconds = float(first["seconds"])
            yield Committed(file.name, cell, seconds, measures, jitter)


def quickest(runs: Iterable[Committed], seconds: float) -> list[Committed]:
    """Of every model the run that took least, if that was no more than `seconds`."""
    first: dict[str, Committed] = {}
    for run in sorted(runs, key=lambda run: run.seconds):
        if run.seconds <= seconds:
            first.setdefault(run.run.model, run)
    return [first[model] for model in sorted(first)]


def differences(run: Committed, record: Record) -> list[Difference]:
    """What a finished record says of the measures that are committed."""
    return [
        Difference(
            domain, measure, value, record.metrics[domain][measure], run.jitter[domain][measure]
        )
        for domain, values in run.measures.items()
        for measure, value in values.items()
    ]


def _measures(line: dict[str, str]) -> dict[str, float]:
    return {measure: float(line[measure]) for measure in MEASURES if line[measure]}


def _jitter(
    found: dict[tuple[str, str, str, str], dict[str, Any]], cell: Run, domain: str, measure: str
) -> float:
    alike = [lines for identity, lines in found.items() if identity[:3] == cell.identity[:3]]
    values = [
        float(lines[domain][measure]) for lines in alike if lines.get(domain, {}).get(measure)
    ]
    return max(ROUNDING, stdev(values) if len(values) > 1 else 0.0)
