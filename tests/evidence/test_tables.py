"""Tables are a pure function of runs.csv; verdicts are two-sided."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_experiment import GOOD, PATH

from transferbench import settings
from transferbench.errors import UserError
from transferbench.evidence import entries, tables
from transferbench.experiments import experiment
from transferbench.runs import record

FILE = experiment.read(GOOD, PATH)
ROOT = Path(__file__).parent.parent.parent


def lines(values: dict, tmp_path) -> list[dict[str, str]]:
    """runs.csv of {column: [accuracy or status, one for each run]}."""
    runs = {"LG": iter(values["LG"]), "NMF": iter(values["NMF"])}
    labelled = []
    for row, column, x, cell in FILE.runs():
        value = next(runs[column], None)
        if value is None:
            continue
        record = {"key": "k", "status": "done", "reason": "", "source": "s", "finished": "now"}
        if isinstance(value, str):
            record |= {"status": value, "reason": "why"}
        else:
            record["metrics"] = {"target": {"accuracy": value}}
        labelled.append((row, column, x, cell, record))
    path = tmp_path / "runs.csv"
    path.write_text(record.runs_csv(labelled))
    return record.read_runs(path)


def entry(values: dict, tmp_path, column: str) -> entries.Entry:
    made = entries.entries(FILE, lines(values, tmp_path))
    return next(e for e in made if (e.row, e.column) == ("one", column))


OK = [0.79, 0.80, 0.78]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (OK, "within"),
        ([0.90] * 3, "above"),
        ([0.10] * 3, "below"),
        ([0.79, 0.79], "inconclusive"),
        ([0.79, 0.79, float("nan")], "inconclusive"),
        ([0.79, 0.79, "failed"], "inconclusive"),
        (["unavailable"] * 3, "unavailable"),
        ([], "inconclusive"),
    ],
)
def test_verdicts(tmp_path, values, verdict):
    assert entry({"LG": [0.8], "NMF": values}, tmp_path, "NMF").verdict == verdict


def test_a_deterministic_model_needs_one_run(tmp_path):
    found = entry({"LG": [0.8171], "NMF": OK}, tmp_path, "LG")
    assert (found.verdict, found.runs, found.planned, found.std) == ("within", 1, 1, None)


def test_mean_deviation_and_difference(tmp_path):
    found = entry({"LG": [0.8], "NMF": OK}, tmp_path, "NMF")
    assert found.mean == pytest.approx(79.0)
    assert found.std == pytest.approx(1.0)
    assert found.difference == pytest.approx(79.0 - 79.11)


def test_what_runs_cost_stands_beside_their_accuracy_in_units_of_its_own(tmp_path):
    rows = """\
  one: {task: gtl/comp-vs-rec, group: shares}
  time: {task: gtl/comp-vs-rec, group: time, metric: seconds}
  space: {task: gtl/comp-vs-rec, group: space, metric: peak_mib}
columns:
"""
    text = GOOD.replace("  one: {task: gtl/comp-vs-rec}\ncolumns:\n", rows)
    text = text[: text.index("published:")] + "unit: percent\n"
    file = experiment.read(text, PATH)
    runs = [
        (row, column, x, cell, {
            "key": "k", "status": "done", "reason": "", "source": "s", "finished": "now",
            "metrics": {"target": {"accuracy": 0.5}}, "peak_bytes": 2**28,
            "seconds": {"fit": 1.5, "load": 9.0},
        })
        for row, column, x, cell in file.runs()
    ]  # fmt: skip
    path = tmp_path / "runs.csv"
    path.write_text(record.runs_csv(runs))
    found = entries.entries(file, record.read_runs(path))
    means = {e.row: e.mean for e in found if e.column == "LG"}
    assert means == {"one": 50, "time": 1.5, "space": 256}
    page = tables.render(file, record.read_runs(path))["table.md"]
    assert "Accuracy, per cent; seconds; peak memory in MiB; mean ± " in page


def test_the_edge_of_the_tolerance_is_within_and_beyond_it_is_not():
    assert entries._verdict(1.0, 1.0) == entries._verdict(-1.0, 1.0) == "within"
    assert (entries._verdict(1.01, 1.0), entries._verdict(-1.01, 1.0)) == ("above", "below")


def test_runs_of_other_parameters_do_not_count(tmp_path):
    runs = lines({"LG": [0.8], "NMF": OK}, tmp_path)
    for line in runs:
        line["params"] = line["params"].replace("5", "6")
    made = entries.entries(FILE, runs)
    assert next(e for e in made if e.column == "NMF").runs == 0


def test_an_average_over_an_open_cell_is_open(tmp_path):
    made = entries.entries(FILE, lines({"LG": [0.8171], "NMF": OK[:2]}, tmp_path))
    average = {e.column: e for e in made if e.row == "average"}
    assert average["LG"].verdict == "within"
    assert (average["NMF"].verdict, average["NMF"].reason) == (
        "inconclusive",
        "one is inconclusive",
    )


@pytest.mark.parametrize(
    ("old", "new"), [('"{""C', '"{""C""'), ("0.8,", "high,"), (",now,k,,", "")]
)
def test_a_damaged_line_is_told(tmp_path, old, new):
    lines({"LG": [0.8], "NMF": OK}, tmp_path)
    path = tmp_path / "runs.csv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=r"runs\.csv:2: not a line of runs"):
        record.read_runs(path)


@pytest.mark.parametrize("content", ["", "\n", "one,two\n1,2\n"])
def test_what_is_no_file_of_runs_is_told(tmp_path, content):
    (tmp_path / "runs.csv").write_text(content)
    with pytest.raises(UserError, match=r"runs\.csv: expected the columns row, column"):
        record.read_runs(tmp_path / "runs.csv")


def test_drift_is_found_and_mended(tmp_path):
    lines({"LG": [0.8], "NMF": OK}, tmp_path)
    assert len(tables.drift(FILE, tmp_path)) == 3
    tables.write(FILE, tmp_path)
    assert tables.drift(FILE, tmp_path) == []
    table = tmp_path / "table.md"
    assert "79.00 ± 1.00 / 79.11 =" in table.read_text()
    table.write_text(table.read_text().replace("79.00", "79.10"))
    assert tables.drift(FILE, tmp_path) == [table]
    table.write_bytes(b"\xff" + table.read_bytes())  # no text any more
    assert tables.drift(FILE, tmp_path) == [table]


def test_latex_escapes_what_it_must(tmp_path):
    spec = GOOD.replace("LG", "A_b % & λ")
    file = experiment.read(spec, PATH)
    assert "A\\_b \\% \\& $\\lambda$" in tables.render(file, [])["table.tex"]


def test_what_is_not_a_runs_csv_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        record.read_runs(tmp_path / "none.csv")
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="expected the columns"):
        record.read_runs(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    "folder", sorted(p.parent for p in (ROOT / "results").glob("*/runs.csv")), ids=lambda p: p.name
)
def test_committed_tables_are_what_their_runs_yield(folder):
    assert settings.experiments_dir().joinpath(f"{folder.name}.yaml").is_file()
    assert tables.drift(experiment.load(folder.name), folder) == []


CLUSTERS = """\
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 3
rows:
  A accuracy: {task: mtc/rec-vs-talk, domain: task-1}
  B accuracy: {task: mtc/rec-vs-talk, domain: task-2}
  A NMI: {task: mtc/rec-vs-talk, domain: task-1, metric: nmi, group: NMI}
columns:
  KKM:
    model: kernel-kmeans
    params: {together: false, max_iter: 5}
    grid: {sigma: [1.0, 2.0, 3.0]}
    choose: [accuracy, explained]
published: {A accuracy: {KKM: 70}, A NMI: {KKM: 30}}
tolerance: {value: 1.0, reason: because}
"""
#: σ → accuracy of both tasks, NMI, explained variance: labels would take 2, their absence 3.
GRID = {1.0: (0.5, 0.6, 0.1, 0.01), 2.0: (0.7, 0.9, 0.3, 0.02), 3.0: (0.75, 0.8, 0.5, 0.03)}


def clusters(tmp_path, lost: float | None = None) -> list[dict[str, str]]:
    labelled = []
    for row, column, x, cell in experiment.read(CLUSTERS, PATH).runs():
        record = {"key": "k", "status": "done", "reason": "", "source": "s", "finished": "now"}
        if cell.params["sigma"] == lost:
            record |= {"status": "timeout", "reason": "too long"}
        else:
            a, b, nmi, explained = GRID[cell.params["sigma"]]
            same = {"nmi": nmi, "explained": explained}
            record["metrics"] = {"task-1": {"accuracy": a} | same, "task-2": {"accuracy": b} | same}
        labelled.append((row, column, x, cell, record))
    path = tmp_path / "runs.csv"
    path.write_text(record.runs_csv(labelled))
    return record.read_runs(path)


def test_a_run_that_serves_several_rows_is_told_once(tmp_path):
    assert len(clusters(tmp_path)) == 3 * 3 * 2


def test_a_setting_is_chosen_for_the_whole_task_and_said(tmp_path):
    file = experiment.read(CLUSTERS, PATH)
    runs = clusters(tmp_path)
    made = {(e.row, e.column): e for e in entries.entries(file, runs)}
    by_labels, free = made["A accuracy", "KKM"], made["A accuracy", "KKM (label-free)"]
    assert (by_labels.mean, by_labels.chosen, by_labels.verdict) == (70, "sigma=2", "within")
    assert (free.mean, free.chosen, free.verdict) == (75, "sigma=3", "")
    assert made["A NMI", "KKM"].mean == pytest.approx(30)
    page = tables.render(file, runs)["table.md"]
    assert "chosen for each task by accuracy: with the labels it is then scored on" in page
    assert "without labels" in page
    assert "(sigma=3)" in page


def test_a_setting_whose_runs_were_lost_is_not_chosen(tmp_path):
    file = experiment.read(CLUSTERS, PATH)
    made = {(e.row, e.column): e for e in entries.entries(file, clusters(tmp_path, lost=2.0))}
    assert made["A accuracy", "KKM"].chosen == "sigma=3"


def test_a_row_may_have_a_tolerance_of_its_own(tmp_path):
    text = CLUSTERS.replace("domain: task-1}", "domain: task-1, tolerance: 0.5}", 1)
    runs = clusters(tmp_path)
    file = experiment.read(text.replace("{KKM: 70}", "{KKM: 70.9}"), PATH)
    made = {(e.row, e.column): e for e in entries.entries(file, runs)}
    assert made["A accuracy", "KKM"].verdict == "below"
    assert made["A NMI", "KKM"].verdict == "within"
    assert "1 or less (0.5 for A accuracy) from" in tables.render(file, runs)["table.md"]
