"""Tables are a pure function of runs.csv; verdicts are two-sided."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_experiment import GOOD, PATH

from transferbench import entries, experiment, records, settings, tables
from transferbench.errors import UserError

FILE = experiment.read(GOOD, PATH)
ROOT = Path(__file__).parent.parent


def lines(values: dict, tmp_path) -> list[dict[str, str]]:
    """runs.csv of {column: [accuracy or status, one for each run]}."""
    runs = {"LG": iter(values["LG"]), "NMF": iter(values["NMF"])}
    labelled = []
    for row, column, x, cell in FILE.cells():
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
    path.write_text(records.runs_csv(labelled))
    return records.read_runs(path)


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
        records.read_runs(path)


def test_drift_is_found_and_mended(tmp_path):
    lines({"LG": [0.8], "NMF": OK}, tmp_path)
    assert len(tables.drift(FILE, tmp_path)) == 3
    tables.write(FILE, tmp_path)
    assert tables.drift(FILE, tmp_path) == []
    table = tmp_path / "table.md"
    assert "79.00 ± 1.00 / 79.11 =" in table.read_text()
    table.write_text(table.read_text().replace("79.00", "79.10"))
    assert tables.drift(FILE, tmp_path) == [table]


def test_latex_escapes_what_it_must(tmp_path):
    spec = GOOD.replace("LG", "A_b % & λ")
    file = experiment.read(spec, PATH)
    assert "A\\_b \\% \\& $\\lambda$" in tables.render(file, [])["table.tex"]


def test_what_is_not_a_runs_csv_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        records.read_runs(tmp_path / "none.csv")
    (tmp_path / "runs.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="expected the columns"):
        records.read_runs(tmp_path / "runs.csv")


@pytest.mark.parametrize(
    "folder", sorted(p.parent for p in (ROOT / "results").glob("*/runs.csv")), ids=lambda p: p.name
)
def test_committed_tables_are_what_their_runs_yield(folder):
    assert settings.experiments_dir().joinpath(f"{folder.name}.yaml").is_file()
    assert tables.drift(experiment.load(folder.name), folder) == []
