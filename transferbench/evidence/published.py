"""The value that a paper prints for a run."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from transferbench import experiments, strict_yaml
from transferbench.experiments.experiment import Experiment
from transferbench.runs.record import Record


@dataclass(frozen=True)
class Published:
    """A published value."""

    #: `experiment`, `row`: Experiment and row that show the value: the published table, or a
    #: control of it.
    experiment: Experiment
    row: str
    #: The value, in per cent.
    value: float


def find(record: Record, domain: str, measure: str) -> Published | None:
    """Return the value that a paper prints for a run, None if it prints none."""
    domains = [domain, *([None] if len(record.metrics) == 1 else [])]
    ours = record.task, record.model, record.params
    for name in _candidates().get((_bare(record.task), record.model), ()):
        experiment = experiments.load(name)
        if experiment.spec.scale_max != 100:
            continue
        for row, column, _, run, _ in experiment.runs(repeats=1):
            value = experiment.published(row, column)
            is_ours = (str(run.task), run.model, run.params) == ours
            is_shown = experiment.metric(row) == measure
            if value and is_ours and is_shown and experiment.spec.rows[row].domain in domains:
                return Published(experiment, row, value[0])
    return None


@cache
def _candidates() -> dict[tuple[str, str], list[str]]:
    """Return the names of our experiments with published values, by task and model."""
    # The files are not validated, because this would import every model.
    names = defaultdict(list)
    for name in experiments.names():
        data = experiments.extended(strict_yaml.load(experiments.path(name))[0])
        if not (data.get("published") or data.get("control_of")):
            continue
        columns, rows = data["columns"].values(), data["rows"].values()
        tasks = {_bare(part["task"]) for part in (*rows, *columns) if "task" in part}
        for model in {column["model"] for column in columns}:
            for task in tasks:
                names[task, model].append(name)
    return names


def _bare(task: str) -> str:
    """Return the name of a task without its collection and its options."""
    return task.partition(":")[0].rpartition("/")[2]
