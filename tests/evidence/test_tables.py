"""Tables are a pure function of runs.jsonl; verdicts are two-sided."""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import cells_of, write_runs
from small_experiment import GOOD, HEAD, PATH

from transferbench import experiments
from transferbench.evidence import pages, tables
from transferbench.evidence.frame import Cell
from transferbench.evidence.page import Section, Table, Value, latex
from transferbench.evidence.pages import write_pages
from transferbench.evidence.verdict import LOOKS, TESTED, judge
from transferbench.experiments.batch import OVERHEAD, Batch

FILE = experiments.read(GOOD, PATH)
ROOT = Path(__file__).parent.parent.parent


def runs(values: dict, tmp_path):
    """Runs of {column: [accuracy or status, one for each run]}."""
    each = {column: iter(found) for column, found in values.items()}
    return write_runs(tmp_path, FILE, lambda planned: next(each[planned.column], None))


def entries(file, found):
    """The entries of the table by row and column."""
    made = tables.with_averages(file, cells_of(file, found))
    return {(one.row, one.column): one for one in made}


def entry(values: dict, tmp_path, column: str):
    return entries(FILE, runs(values, tmp_path))["one", column]


OK = [0.790, 0.791, 0.789]


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.81, 0.83, 0.79], "cannot tell"),  # 2 SE are 2.3
        ([{"metrics": {}}] * 3, "unavailable"),  # finished, and no domain is scored
        ([0.79, 0.79], "unavailable"),
        ([0.79, 0.79, "failed"], "unavailable"),
        (["unavailable"] * 3, "unavailable"),
        ([], "unavailable"),
    ],
)
def test_verdicts(tmp_path, values, verdict):
    assert entry({"LG": [0.8], "NMF": values}, tmp_path, "NMF").verdict == verdict


def test_readings_are_judged_but_the_totals_do_not_count_them(tmp_path):
    rows = "comp-vs-rec}\n  again: {task: gtl/comp-vs-sci, group: others, reading_of: one}"
    column = "  LG2: {model: lr, reading_of: LG, params: {C: 2.0, intercept: true}}\n"
    text = GOOD.replace("comp-vs-rec}", rows).replace("  NMF:", f"{column}  NMF:")
    file = experiments.read(text, PATH)
    values = {"LG": 0.5, "LG2": 0.817, "NMF": 0.79}
    found = write_runs(tmp_path, file, lambda planned: values[planned.column])
    made = tables.with_averages(file, cells_of(file, found))
    judged = {(one.row, one.column): one.verdict for one in made}
    assert judged["one", "LG2"] == judged["again", "LG2"] == "same"
    counted = [(cell.column, cell.verdict) for cell in tables.judged(file, made)]
    assert counted == [("LG", "worse"), ("NMF", "same")]


def test_columns_have_tables_by_their_role_of_at_most_fifteen():
    more = "  LG2: {model: lr, reading_of: LG, params: {C: 2.0}}\n" + "".join(
        f"  C{i}: {{model: lr, control: true, params: {{C: {i}.5}}}}\n" for i in range(17)
    )
    file = experiments.read(GOOD.replace("  NMF:", f"{more}  NMF:"), PATH)
    evidence = pages.Evidence.from_cells(file, cells_of(file, {}))
    sections = [
        block for block in evidence.parts["table"].page.blocks if isinstance(block, Section)
    ]
    assert [(section.title, section.folded) for section in sections[:4]] == [
        ("Published columns", False), ("Readings", True),
        ("Controls: C0 to C8", True), ("Controls: C9 to C16", True),
    ]  # fmt: skip
    heads = [table.heads[1:] for table in evidence.parts["table"].page.tables]
    assert heads[:2] == [["LG", "NMF"], ["LG2"]]
    assert [len(each) for each in heads] == [2, 1, 9, 8]
    frame = evidence.parts["table"].numbers
    found = frame[frame["row"] == "one"].set_index("column")["role"]
    assert (found["NMF"], found["LG2"], found["C3"]) == ("published", "reading", "control")
    assert set(frame[frame["row"] == "average"]["role"]) == {"average"}
    assert evidence.main_text("latex").count("tabular}{l") == len(heads)
    assert f"|---{'|---:' * 9}|" in evidence.texts()["table.md"]


def test_a_label_is_no_argument_of_latex():
    text = latex(Table("label", ["row", "a"], [["[r2", "1"], ["*", "2"]]))
    assert "{}[r2 & 1" in text
    assert "{}* & 2" in text


def test_no_sign_of_a_table_stops_pdflatex():
    """Only letters with accents are left, which pdflatex reads in UTF-8."""
    folder = ROOT / "results"
    pages_of = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/table.md"))]
    lines = [line for text in pages_of for line in text.splitlines() if line.startswith("|")]
    looks = "".join(look.text for look in LOOKS.values())
    signs = {*"".join(lines), *looks, *"&%$#_{}~^\\<>"}
    text = latex(Table("label", ["sign"], [[sign] for sign in sorted(signs - {"\n"})]))
    left = sorted(sign for sign in set(text) if not sign.isascii())
    assert all(unicodedata.name(sign).startswith("LATIN ") for sign in left), left
    assert "$\\blacktriangle$" in text
    assert "\\textbackslash{}" in text


def test_a_table_of_ours_has_no_published_values():
    cell = Value("82.87", "± 5.14", "79.11", "cannot tell")
    table = Table("label", ["row", "a_b"], [["one", cell]], [["average", cell]])
    assert "one & 82.87 $\\pm$ 5.14 / 79.11 $\\blacklozenge$ \\\\" in latex(table)
    ours = latex(table.ours)
    assert "row & a\\_b \\\\\n\\midrule\none & 82.87 $\\pm$ 5.14 \\\\\n" in ours
    assert "79.11" not in ours


def test_costs_are_shown_in_their_own_units(tmp_path):
    rows = """\
  one: {task: gtl/comp-vs-rec, group: shares}
  time: {task: gtl/comp-vs-rec, group: time, metric: seconds}
  space: {task: gtl/comp-vs-rec, group: space, metric: peak_mib}
columns:
"""
    text = GOOD.replace("  one: {task: gtl/comp-vs-rec}\ncolumns:\n", rows)
    text = text[: text.index("published:")] + "unit: percent\n"
    file = experiments.read(text, PATH)
    cost = {"metrics": {"target": {"accuracy": 0.5}}, "peak_mib": 256.0, "seconds": 1.5}
    found = write_runs(tmp_path, file, lambda planned: cost)
    means = {row: one.mean for (row, column), one in entries(file, found).items() if column == "LG"}
    assert means == {"one": 50, "time": 1.5, "space": 256}
    page = pages.Evidence.from_cells(file, cells_of(file, found)).texts()["table.md"]
    assert "Accuracy, per cent; seconds; peak memory in MiB; mean ± " in page


def test_an_average_is_of_one_measure(tmp_path):
    names = {"a": "accuracy", "b": "accuracy", "c": "f1", "d": "f1", "e": "seconds", "f": "seconds"}
    rows = [f"  {n}: {{task: gtl/comp-vs-rec, metric: {m}, group: g}}\n" for n, m in names.items()]
    text = GOOD.replace("  one: {task: gtl/comp-vs-rec}\n", "".join(rows)).partition("published")[0]
    file = experiments.read(text, PATH)
    end = {"metrics": {"target": {"accuracy": 0.5, "f1": 0.7}}, "seconds": 9.0}
    made = entries(file, write_runs(tmp_path, file, lambda planned: end))
    expected = {"average g": 50, "average g, F1": 70, "average g, seconds": 9}
    for label, mean in expected.items():
        assert made[label, "LG"].mean == pytest.approx(mean)
    assert not {row for row, _ in made} - names.keys() - expected.keys()


def judged(difference: float, error: float = 0.0, printed: float = 0.0) -> Cell:
    """A finished cell with a tolerance of 1, this difference, and standard errors of both means."""
    cell = Cell(
        row="one", column="NMF", metric="accuracy", mean=difference, published=0.0, tolerance=1.0
    )
    return replace(cell, error=error, published_error=printed, runs=4)


@pytest.mark.parametrize(
    ("difference", "se", "verdict"),
    [
        (1 + 4e-16, 0, "same"),  # of decimal fractions that differ by the tolerance
        (1 + 1e-8, 0, "better"),
        (1.01, 0, "better"),
        (0.5, 0.2, "same"),
        (0.5, 9.0, "cannot tell"),
        (1.5, 0.75, "cannot tell"),
        (3.0, 0.74, "better"),
        (math.nan, 0, ""),
    ],
)
def test_a_verdict_counts_tolerance_noise_and_direction(difference, se, verdict):
    mirrored = {"better": "worse"}.get(verdict, verdict)
    for sign, expected in ((1, verdict), (-1, mirrored)):
        ours = judged(sign * difference, se)
        assert ours.verdict == expected
        loss = replace(judged(-sign * difference, se), metric="hamming")
        assert loss.verdict == expected


def test_our_deviation_never_stands_for_a_printed_one(tmp_path):
    values = [0.79, 0.83, 0.81]
    for printed, repeats, error, dof in (
        ("79.11", "", 0, math.inf), ("79.11", 4, 0, math.inf), ("[79.11, 0.6]", 4, 0.3, 3),
        ("[79.11, 0.6]", "", 0.6, math.inf), ("[79.11, 0.6]", 1, 0.6, math.inf),
    ):  # fmt: skip
        text = GOOD.replace("[79.11, 0.05]", printed)
        text += f"published_repeats: {{number: {repeats}, place: p}}\n" if repeats else ""
        file = experiments.read(text, PATH)
        found = write_runs(tmp_path, file, lambda planned: values[planned.run.seed or 0])
        cell = entries(file, found)["one", "NMF"]
        assert cell.published_error == pytest.approx(error)
        assert cell.published_dof == dof
        stated = file.spec.without_deviation == ["LG"]
        assert stated == ("[" in printed)


def test_the_table_says_what_the_test_shows(tmp_path):
    made = runs({"LG": [0.8171], "NMF": [0.60, 0.80, 0.99]}, tmp_path)
    table = tables.to_csv(FILE, list(entries(FILE, made).values()))
    shown = {(line.row, line.column): line.verdict for line in table.itertuples()}
    assert (shown["one", "LG"], shown["one", "NMF"]) == ("same", "cannot tell")


def test_what_is_not_tested_says_so():
    assert judged(0.5, math.nan).verdict == "within"  # one run of a random method
    assert judged(9.0, math.nan).verdict == "outside"
    assert judged(9.0, math.nan).can_be_same is None
    assert replace(judged(0.5), reason="1 of 4 runs").verdict == "unavailable"


def test_one_repeat_is_within_or_outside_and_its_table_says_so(tmp_path):
    file = FILE.with_repeats(1)
    found = entries(file, write_runs(tmp_path, file, lambda planned: 0.79))
    cell = found["one", "NMF"]
    assert (cell.verdict, cell.runs, cell.planned) == ("within", 1, 1)
    assert str(tables.value(file, cell)).endswith("/ 79.11 ○ within")
    text = latex(Table("", ["row", "NMF"], [["one", tables.value(file, cell)]]))
    assert "$\\circ$ within" in text


def test_an_error_of_print_larger_than_the_tolerance_is_never_the_same():
    assert judged(0.0, printed=1.0).can_be_same is False
    assert judged(0.0, printed=0.5).can_be_same
    assert judged(0.0, error=9.0).can_be_same  # more seeds may decide


def test_a_cell_with_fewer_runs_than_planned_shows_their_number(tmp_path):
    found = entry({"LG": [0.8], "NMF": [0.79, 0.79]}, tmp_path, "NMF")
    assert str(tables.value(FILE, found)).endswith("– 2 of 3 runs")


def test_the_noise_of_an_average_is_that_of_its_seeds(tmp_path):
    """Rows that share a run are not independent: here their noise adds up, or cancels."""
    text = GOOD.replace("columns:\n", "  two: {task: gtl/comp-vs-sci}\ncolumns:\n", 1)
    text = text.replace("NMF: [79.11, 0.05]}", "NMF: [79, 0.3]}\n  two: {LG: 80, NMF: [79, 0.4]}")
    several = "[{value: 1, reason: a, rows: [one]}, {value: 3, reason: b, rows: [two]}]"
    file = experiments.read(text.replace("{value: 1.0, reason: because}", several), PATH)
    for sign, error in ((1, 1 / math.sqrt(3)), (-1, 0)):

        def outcome(planned, sign=sign):
            step = (planned.run.seed or 0) / 100
            return 0.79 + (sign * step if planned.row == "two" else step)

        average = entries(file, write_runs(tmp_path, file, outcome))["average", "NMF"]
        assert average.error == pytest.approx(error, abs=1e-9)
        assert average.published_error == pytest.approx(0.25)  # independent: half of √(.3² + .4²)
        assert average.published_dof == math.inf  # no number of repeats is stated
        assert average.tolerance == 2
        assert average.verdict == ("cannot tell" if error else "same")


def test_an_average_over_a_cell_without_verdict_has_none(tmp_path):
    found = entries(FILE, runs({"LG": [0.8171], "NMF": OK[:2]}, tmp_path))
    assert found["average", "LG"].verdict == "same"
    nmf = found["average", "NMF"]
    assert (nmf.verdict, nmf.reason) == ("unavailable", "one is unavailable")


def test_an_outdated_page_is_found_and_rewritten(tmp_path):
    def outdated() -> list[Path]:
        return pages.changed_files(tmp_path, pages.Evidence.read(FILE, tmp_path).texts())

    runs({"LG": [0.8], "NMF": OK}, tmp_path)
    assert len(outdated()) == 2
    pages.Evidence.read(FILE, tmp_path).write(tmp_path)
    assert outdated() == []
    table = tmp_path / "table.md"
    assert "79.00 ± 0.10 / 79.11 ●" in table.read_text()
    table.write_text(table.read_text().replace("79.00", "79.10"))
    assert outdated() == [table]
    table.write_bytes(b"\xff" + table.read_bytes())  # no text any more
    assert outdated() == [table]


def test_markdown_tables_stay_whole(tmp_path):
    claim = 'claims:\n- {says: "a | b", place: p, better: {columns: ["L|G"], over: [NMF]}}\n'
    file = experiments.read(
        GOOD.replace("LG:", '"L|G":').replace("one:", '"o|n\\ne":') + claim, PATH
    )
    runs = write_runs(tmp_path, file, lambda planned: 0.8)
    files = pages.Evidence.from_cells(file, cells_of(file, runs)).texts()
    for name, columns in (("table.md", (3,)), ("claims.md", (8,))):
        lines = [line for line in files[name].splitlines() if line.startswith("|")]
        assert {line.replace(r"\|", "").count("|") - 1 for line in lines} == set(columns)
    assert r"| o\|n e | 80.00 / 81.71" in files["table.md"]


@pytest.mark.parametrize(
    "label",
    ["=1+1", "-x", "@x", "[free](http://evil)", "![t](http://evil)", "[a][b]", "[b]: http://evil",
     "<img src=x>", r"a\](http://evil)", r"[x \| y](http://evil)"],
)  # fmt: skip
def test_a_label_is_no_formula_link_picture_or_html(tmp_path, label):
    text = GOOD.replace("one:", f"{json.dumps(label)}:").replace("LG:", f"{json.dumps(label)}:")
    file = experiments.read(text + f"notes: [{json.dumps(label)}]\n", PATH)
    evidence = pages.Evidence.from_cells(file, cells_of(file, {}))
    files = evidence.texts()
    first = next(csv.DictReader(files["table.csv"].splitlines()))
    assert first["row"].removeprefix("'") == label
    assert not first["row"].startswith(("=", "-", "@"))
    text = files["table.md"].partition("[All numbers]")[0]
    assert not re.search(r"(?m)(?<!\\)(\\\\)*\][(\[]|^[- ]*\[|<", text)


CLUSTERS = (
    HEAD
    + """
repeats: 3
rows:
  A accuracy: {task: mtc/rec-vs-talk, domain: task-1}
  B accuracy: {task: mtc/rec-vs-talk, domain: task-2}
  A NMI: {task: mtc/rec-vs-talk, domain: task-1, metric: nmi, group: NMI}
columns:
  KKM:
    model: kernel-kmeans
    params: {pool_tasks: false, max_iter: 5}
    grid: {sigma: [1.0, 2.0, 3.0]}
    choose: [accuracy, explained]
published: {A accuracy: {KKM: 70}, A NMI: {KKM: 30}}
tolerance: {value: 1.0, reason: because}
"""
)
#: σ → accuracy of both tasks, NMI, explained variance: labels would take 2, their absence 3.
GRID = {1.0: (0.5, 0.95, 0.1, 0.01), 2.0: (0.7, 0.9, 0.3, 0.02), 3.0: (0.75, 0.8, 0.5, 0.03)}


def clusters(tmp_path, lost: tuple = (), end: str | None = "timeout"):
    """Runs with σ and seed as in `lost` end as given, None for a missing run."""

    def outcome(planned):
        sigma = planned.run.params["sigma"]
        if (sigma, planned.run.seed) == lost:
            return end
        a, b, nmi, explained = GRID[sigma]
        same = {"nmi": nmi, "explained": explained}
        return {"metrics": {"task-1": {"accuracy": a} | same, "task-2": {"accuracy": b} | same}}

    return write_runs(tmp_path, experiments.read(CLUSTERS, PATH), outcome)


def test_a_forecast_counts_the_process_of_a_run_but_not_what_was_reused(tmp_path, home):
    file = experiments.read(GOOD, PATH)
    (tmp_path / "results" / "mine").mkdir(parents=True)
    cost = {"metrics": {"target": {"accuracy": 0.5}}, "seconds": 70.0}
    cost |= {"reused_seconds": 60.0}
    write_runs(home.results / "mine", file, lambda planned: cost)
    batch = Batch([file], home, write_pages)
    batch.forecast("all")
    each = 10 + OVERHEAD
    runs = batch.pending[0].runs
    assert batch.forecast_of(batch.pending[0]).seconds == pytest.approx(each * len(runs))
    assert batch.expected == pytest.approx(dict.fromkeys(runs, each))


def test_a_setting_is_chosen_for_the_whole_task_and_listed(tmp_path):
    file = experiments.read(CLUSTERS, PATH)
    found = clusters(tmp_path)
    made = entries(file, found)
    by_labels, free = made["A accuracy", "KKM"], made["A accuracy", "KKM (label-free)"]
    assert (by_labels.mean, by_labels.setting, by_labels.verdict) == (70, "sigma=2", "same")
    assert (free.mean, free.setting, free.verdict) == (75, "sigma=3", "")
    assert made["A NMI", "KKM"].mean == pytest.approx(30)
    page = pages.Evidence.from_cells(file, cells_of(file, found)).texts()["table.md"]
    assert "chosen for each task by accuracy: with the labels it is then scored on" in page
    assert "without labels" in page
    assert "(sigma=3 on A accuracy, B accuracy, A NMI)" in page


@pytest.mark.parametrize("end", ["timeout", None])
def test_a_setting_with_unfinished_runs_is_not_chosen(tmp_path, end):
    file = experiments.read(CLUSTERS, PATH)
    made = entries(file, clusters(tmp_path, (2.0, 1), end))
    assert made["A accuracy", "KKM"].setting == "sigma=3"


def test_every_committed_verdict_follows_from_its_line():
    seen = set()
    for name in experiments.names():
        path = ROOT / "results" / name / "table.csv"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        for line in csv.DictReader(lines):
            if line["verdict"] and line["verdict"] != "unavailable":
                numbers = ("difference", "margin", "tolerance")
                difference, margin, tolerance = (float(line[name] or "nan") for name in numbers)
                is_ahead = (difference > 0) != ("amming" in line["row"])
                again = judge(difference, margin, tolerance, is_ahead=is_ahead)
                assert again == line["verdict"], (name, line)
                seen.add(again)
    assert seen == {*TESTED}
