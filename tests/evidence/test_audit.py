"""The audit finds what the digits of printed numbers say, and raises few false alarms."""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small_experiment import GOOD, PATH

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import audit, grim
from transferbench.evidence.frame import Cell, read_cells
from transferbench.evidence.grim import Number
from transferbench.evidence.printed import PrintedCell, PrintedTable, read_printed

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
EXAMPLE = ROOT / "docs" / "examples" / "kim2014.csv"


@pytest.fixture
def read(tmp_path):
    """Return a function that audits a file with a text."""

    def read(text: str) -> audit.Audit:
        path = tmp_path / "theirs.csv"
        path.write_text(text, "utf-8")
        return audit.audit(read_printed(path))

    return read


@pytest.fixture
def refused(call, tmp_path):
    """Return a function that returns the one line about a file with a text."""

    def refused(text: str) -> str:
        path = tmp_path / "theirs.csv"
        path.write_text(f"{text}\n", "utf-8")
        code, _, err = call("audit", str(path))
        assert (code, err.count("\n")) == (2, 1), text
        return err

    return refused


@pytest.mark.parametrize(("documents", "share"), [(7, 0.0008), (400, 0.0401), (4000, 0.445)])
def test_a_value_is_allowed_if_a_number_of_documents_prints_it(documents, share):
    for k in range(0, documents + 1, 7):
        units = round(float(f"{k / documents * 100:.2f}") * 100)
        assert grim.allows(documents, Number(units))
    values = [units for units in range(10_001) if grim.allows(documents, Number(units))]
    assert len(values) / 10_001 == pytest.approx(share, abs=0.1 * share)
    in_zero = sum(units % 10 == 0 for units in values) / len(values)
    strict = grim.shares(documents, 4, strict=True)
    assert strict == pytest.approx((len(values) / 10_001, in_zero))


def test_the_probability_of_fits_is_that_of_random_digits():
    shares, random = [0.2, 0.5, 0.9], np.random.default_rng(0)
    fits = (random.random((100_000, 3)) < shares).sum(axis=1)
    for n in range(4):
        assert audit.p_of_fits(n, shares) == pytest.approx((fits >= n).mean(), abs=0.01)


def statuses(name: str) -> dict[tuple[str, str], list[audit.Finding]]:
    found: dict[tuple[str, str], list[audit.Finding]] = {}
    for each in audit.audits([name])[name].columns:
        found.setdefault((each.column, each.status), []).append(each)
    return found


def test_what_is_known_of_the_papers_is_found():
    (lr,) = statuses("dtl-table3")["LR", "single run"]
    assert (lr.source, set(lr.documents.values()), lr.denied) == ("dtl tasks", {4000}, ())
    copied = statuses("dtl-table3-copied")
    assert {key: len(each.rows) for key, (each,) in copied.items()} == {
        (name, "copied"): 6 for name in ("SVM", "TSVM", "CoCC")
    }
    for name, least in (("mrtl-table2", 10), ("mrtl-table3", 11)):
        single = [f for (_, status), each in statuses(name).items() for f in each
                  if status == "single run"]  # fmt: skip
        assert len(single) >= least
    (lg,) = (each for each in statuses("gtl-table3")["LG", "single run"] if len(each.rows) == 3)
    assert lg.like == ("dtl-table3: SVM",)


@pytest.mark.slow
def test_tables_of_ours_raise_few_false_alarms():
    tables = judged = alarms = 0
    for name in experiments.names():
        experiment = experiments.load(name)
        if experiment.spec.unit != "percent" or not (RESULTS / name / "table.md").is_file():
            continue
        printed: list[PrintedCell] = []
        fixed: dict[str, bool] = {}
        for cell in read_cells(experiment, RESULTS / name):
            if cell.column in experiment.spec.columns and (
                experiment.spec.columns[cell.column].options.get("labelled")
            ):
                continue  # labelled documents are not scored: the row has several numbers of them
            counts = cell.records[0].documents.values() if cell.records else ()
            if cell.metric == "accuracy" and cell.runs and len(counts) == 1:
                value = Number(round(cell.mean * 100))
                (documents,) = counts
                printed.append(PrintedCell(cell.row, cell.column, value, documents=documents))
                same = len(set(cell.by_seed.values())) == 1
                fixed[cell.column] = same and fixed.get(cell.column, True)
        tables += bool(printed)
        for each in audit.audit(PrintedTable(printed, []), {}).columns:
            judged += each.status != "possible"
            right = {"single run": fixed[each.column], "impossible": not fixed[each.column]}
            alarms += not right.get(each.status, each.status == "possible")
    assert tables >= 15
    assert judged > 150
    assert alarms <= 0.05 * judged


def test_a_table_of_another_paper_is_read_from_a_file(call, tmp_path):
    lines = [f"r{i},500,{k / 5:.2f},{50 + i * 1.37:.2f}" for i, k in enumerate((400, 311, 207, 99))]
    path = tmp_path / "theirs.csv"
    path.write_text("\n".join(["row,documents,A,B", *lines]) + "\n", "utf-8-sig")
    code, out, err = call("audit", str(path))
    assert code == 0, err
    assert "single run" in out


@pytest.mark.parametrize(
    "text",
    [
        "row,A\nx,1", "row,A\na,50", "documents,A\n9,50", "row,documents,A,A\na,9,1,2",
        "row,documents,A\na,9,1\na,8,2", "row,documents,A\n,9,50",
        "row,documents,A\na,9,5_0", "row,documents,A\na,9,100.1", "row,documents,A\na,9,",
        "row,documents,A\na,100,nan", "row,documents,A\na,-3,20.1",
        "row,documents,A\na,100,50,extra", "row,documents,A\na,9,1.12345678",
        "row,A,documents\na,1,", "row,documents,A\na,1000000,1",
        "row,documents,A\na,1.000,50.5", "row;documents;A\na;1,000;50,5",
        "row,documents,A\na,9,50,5", "row,documents,runs,A\na,9,0,50",
        "row,documents,runs,A\na,9,median of 0,50", "row,documents,runs,A\na,9,some,50",
        "row,documents,A,A std\na,9,50 ± 1,2", "row,documents,A,A ±\na,9,,2",
        "row,documents,A,all columns\na,9,50,50", "row,A\nmeasure,F1\nmeasure,F1\na,50",
        "row,A\nmeasure,error\na,50", "row,documents,A\na,9,0.5 ± 1.5",
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_one_line(refused, text):
    assert refused(text).startswith("Error: ")


def test_a_file_that_is_no_table_is_one_line_with_the_suffixes(call, tmp_path):
    path = tmp_path / "theirs.txt"
    path.write_text("row,documents,A\na,9,50\n")
    for name in (str(path), "/dev/stdin"):
        code, _, err = call("audit", name)
        assert (code, err.count("\n")) == (2, 1)
        assert "a table named .csv or .tsv" in err


def test_correct_documents_are_those_of_brute_force():
    for n, decimals in itertools.product((1, 2, 7, 8, 16, 39, 80, 125, 400), (2, 3)):
        allowed: dict[int, list[int]] = {}
        for k in range(n + 1):
            exact = Fraction(k, n) * 10**decimals
            half = Fraction(1, 2)
            for units in {math.ceil(exact - half), math.floor(exact + half)}:
                allowed.setdefault(units, []).append(k)
        in_zero = sum(units % 10 == 0 for units in allowed) / len(allowed)
        assert grim.shares(n, decimals) == pytest.approx(
            (len(allowed) / (10**decimals + 1), in_zero)
        )
        for units in range(10**decimals + 1):
            number = Number(units, decimals)
            assert list(grim.correct(n, number)) == allowed.get(units, [])
            if units not in allowed:
                below = max(v for v in allowed if v < units)
                above = min(v for v in allowed if v > units)
                near = [str(Number(each, decimals)) for each in (below, above)]
                assert list(grim.nearest(n, number)) == near


def _printed_pairs(n: int, r: int, decimals: int) -> set[tuple[int, int]]:
    """Return the means and deviations of all results of r runs on n documents, as printed."""
    pairs, scale = set(), 10**decimals
    for counts in itertools.combinations_with_replacement(range(n + 1), r):
        total, squares = sum(counts), sum(k * k for k in counts)
        mean = Fraction(total, n * r) * scale
        means = {math.ceil(mean - Fraction(1, 2)), math.floor(mean + Fraction(1, 2))}
        for freedom in (r - 1, r):
            variance = Fraction(r * squares - total**2, r * freedom * n * n) * scale**2
            near = math.isqrt(math.floor(variance))
            for std in (near, near + 1):
                least = max(Fraction(0), std - Fraction(1, 2))
                if least**2 <= variance <= (std + Fraction(1, 2)) ** 2:
                    pairs |= {(mean, std) for mean in means}
    return pairs


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("r", [2, 5])
def test_the_deviations_that_fit_a_mean_are_those_of_brute_force(n, r):
    for decimals in (2, 3):
        pairs = _printed_pairs(n, r, decimals)
        means = sorted({mean for mean, _ in pairs})
        for mean in means if decimals == 2 else means[:: len(means) // 4 + 1]:
            fitting = {std for std in range(8 * 10**decimals // 10)
                       if grim.fit_deviation(n, r, Number(mean, decimals), Number(std, decimals))
                       == "possible"}  # fmt: skip
            assert fitting == {std for of, std in pairs if of == mean}


def test_no_deviation_of_true_runs_is_called_impossible():
    random = np.random.default_rng(0)
    for _ in range(300):
        n, r = int(random.integers(10, 3000)), int(random.integers(2, 40))
        accuracies = random.binomial(n, random.random(), r) / n * 100
        for free, digits in itertools.product((0, 1), (1, 2)):
            mean, std = (f"{v:.{digits}f}" for v in (accuracies.mean(), accuracies.std(ddof=free)))
            value, spread = (Number(int(t.replace(".", "")), digits + 2) for t in (mean, std))
            assert grim.fit_deviation(n, r, value, spread) == "possible"
            assert spread.value <= grim.largest_deviation(value) + 0.001


def test_a_deviation_beyond_the_design_is_found():
    def verdict(n: int, r: int, mean: int, std: int) -> str:
        return grim.fit_deviation(n, r, Number(mean, 3), Number(std, 3))

    assert verdict(500, 3, 912, 900).startswith("too large")
    assert verdict(20, 10, 855, 1).startswith("too small")  # 171 of 200: not all runs are equal
    assert verdict(20, 10, 855, 21) == "impossible: no 10 runs give it"
    assert verdict(20, 10, 857, 21) == "of an impossible mean"
    assert verdict(500, 1, 912, 1) == "impossible: one run has no deviation"
    most = grim.fit_deviation(999_999, 999, Number(5012), Number(9000))
    assert most.startswith("too large")


@pytest.mark.parametrize(("n", "r"), [(20, 10), (20, 3), (7, 4), (30, 2)])
def test_the_stated_bounds_of_a_deviation_are_those_that_are_accepted(n, r):
    half = n * r // 2 + 1
    mean = Number(round(half / (n * r) * 1000), 3)
    verdicts = [grim.fit_deviation(n, r, mean, Number(std, 3)) for std in range(1000)]
    accepted = [std / 10 for std, verdict in enumerate(verdicts) if verdict == "possible"]
    for start, bound in (("too small", accepted[0]), ("too large", accepted[-1])):
        texts = {verdict for verdict in verdicts if verdict.startswith(start)}
        stated = {float(re.search(r"[0-9.]+", text)[0]) for text in texts}
        assert all(abs(each - bound) <= 0.05 + 1e-9 for each in stated), start
        assert start == "too small" or stated


def test_a_deviation_printed_as_zero_is_not_one_of_equal_runs(read):
    """Nine runs of 561 of 700 and one of 562 have the mean 80.16 and the deviation 0.045."""
    for head, row in (("row,documents,A", "a,700"), ("row,documents,runs,A", "a,700,10")):
        (cell,) = read(f"{head}\n{row},80.2 ± 0.0\n").cells
        assert cell.verdict == ("any value is possible" if "runs" in head else "not checked")
    (cell,) = read("row,documents,A\na,20,85.00 ± 0.00\n").cells
    assert (cell.runs, cell.verdict) == (1, "possible")


def test_an_exact_share_is_possible_without_a_half(read):
    cells = read("row,documents,A\na,2000,81.4\nb,200,85\nc,4000,98.68\nd,99,85\n").cells
    assert [cell.verdict for cell in cells] == [
        "any value is possible", "any value is possible", "possible by a half", "possible",
    ]  # fmt: skip
    assert cells[3].share < 1


@pytest.mark.parametrize(
    ("head", "name"),
    [("documents std", "documents"), ("row sd", "row"), ("A std,A std sd", "A std")],
)
def test_deviations_are_of_methods(refused, head, name):
    text = f"row,documents,A,{head}\na,20,85{',1' * (head.count(',') + 1)}"
    assert f"expected the deviations of a method, {name} is none" in refused(text)


def test_numbers_as_tables_have_them(read):
    text = "row,documents,runs,A\na,2210.0,-,$85.0$\nb,2\xa0210,10,$85.0 \\pm 2$\n"
    cells = read(text).cells
    assert [(cell.documents, cell.runs) for cell in cells] == [(2210, 1), (2210, 10)]


def test_fractions_are_judged_as_the_same_per_cent(read):
    per_cent = read("row,documents,runs,A,B\na,20,,85.0,87.4\nb,30,5,93.3 ± 1.2,50\n")
    fraction = read("row,documents,runs,A,B\na,20,,.850,0.874\nb,30,5,.933 ± .012,.50\n")
    assert [cell.verdict for cell in per_cent.cells] == [c.verdict for c in fraction.cells]
    assert [cell.share for cell in per_cent.cells] == [c.share for c in fraction.cells]
    assert [f.p for f in per_cent.columns] == [f.p for f in fraction.columns]
    (wrong,) = (cell for cell in fraction.cells if cell.printed == "0.874")
    assert wrong.nearest == ("0.850", "0.900")


@pytest.mark.parametrize("small", [".874", "0.874", "1", "1.0", "0.85 ± 0.02"])
def test_a_file_with_per_cent_and_fractions_is_refused(refused, read, small):
    assert "other values are per cent" in refused(f"row,documents,A,B\na,20,85.0,{small}")
    if "±" not in small:
        table = read(f"row,documents,A,B\na,1000,85.0,{small}%\nb,1000,0,0.0\n")
        assert [cell.measure for cell in table.cells] == ["accuracy"] * 4


def test_other_measures_are_not_judged_and_the_output_says_so(call, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "row,documents,Measure,A,B,C\n"
        "measure,,,F1,Accuracy,Error\n"
        "x,20,,0.7,85.0,15.0\n"
        "y,,MCC,120.5,63.2,61\n",
        "utf-8",
    )
    found = audit.audit(read_printed(path))
    by_place = {(cell.row, cell.column): cell for cell in found.cells}
    judged = {place for place, cell in by_place.items() if cell.verdict != "not checked"}
    assert judged == {("x", "B"), ("x", "C")}
    assert by_place["x", "B"].correct == (17, 17)
    assert by_place["x", "C"].correct == (3, 3)  # wrong documents
    assert {each.column: each.status for each in found.columns}["A"] == "not checked"
    out = call("audit", str(path))[1]
    assert "F1 is no share of documents" in out
    assert "MCC is no share of documents" in out


def test_the_median_of_an_even_number_of_runs_is_a_half(read):
    """ELECTRA prints medians of ten runs: RTE 88.0 of 277 documents, MRPC 90.8 of 408."""
    rng, n = np.random.default_rng(0), 137
    for runs in (2, 3, 9, 10):
        median = np.median(rng.integers(60, 120, runs)) / n * 100
        (cell,) = read(f"row,documents,runs,A\na,{n},median of {runs},{median:.4f}\n").cells
        assert (cell.verdict, cell.runs, cell.median) == ("possible", runs, True)
    value = f"{60.5 / n * 100:.2f}"
    for runs, verdict in (("", "impossible"), ("Median of 9", "impossible"), ("10", "possible")):
        (cell,) = read(f"row,documents,runs,A\na,{n},{runs},{value}\n").cells
        assert cell.verdict == verdict
    (cell,) = read(f"row,documents,runs,A\na,{n},median of 10,{value} ± 1.0\n").cells
    assert cell.deviation == "not checked: the value is a median"


def test_a_table_with_methods_as_rows_states_its_documents_in_a_row(read):
    by_row = read("row,documents,runs,A,B\nx,20,,85.0,90.1\ny,30,5,93.3,50.0\n")
    by_column = read("row,x,y\ndocuments,20,30\nRuns,,5\nA,85.0,93.3\nB,90.1,50.0\n")
    transposed = {(cell.column, cell.row): cell for cell in by_column.cells}
    for cell in by_row.cells:
        other = transposed[cell.row, cell.column]
        assert (cell.documents, cell.runs, cell.verdict) == (
            other.documents, other.runs, other.verdict,
        )  # fmt: skip


def test_averages_of_rows_and_columns_are_recomputed_by_group(read):
    averages = read(
        "row,A,B,Avg,C\n"
        "documents,20,20,,20\n"
        "x,80.0,90.0,85.0,10.0\n"
        "y,85.0,95.0,90.2,20.0\n"
        "Average,82.5,92.4,87.6,15.0\n"
        "z,40.0,50.0,45.1,\n"
        "average,40.0,50.3,45.1,20.0\n"
        "mean,68.3,78.3,73.4,15.0\n"
    ).averages
    found = {(each.row, each.column): each for each in averages}
    verdicts = {place: each.verdict for place, each in found.items() if each.verdict != "follows"}
    assert verdicts == {
        ("y", "Avg"): "differs",
        ("Average", "B"): "follows by rounding",
        ("z", "Avg"): "follows by rounding",
        ("average", "B"): "differs",
    }
    assert ("average", "C") not in found  # it has no cells
    assert [found["mean", column].cells for column in ("A", "B", "Avg", "C")] == [3, 3, 3, 2]


def test_no_average_of_true_values_differs_and_a_wrong_one_does(read):
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = 5 + rng.random(rng.integers(2, 9)) * 90
        lines = [f"r{i},100,{value:.1f}" for i, value in enumerate(values)]
        (true,) = read(
            "\n".join(["row,documents,A", *lines, f"mean,,{values.mean():.1f}"])
        ).averages
        assert true.verdict != "differs"
        off = values.mean() + (0.3 if values.mean() < 50 else -0.3)
        (wrong,) = read("\n".join(["row,documents,A", *lines, f"mean,,{off:.1f}"])).averages
        assert wrong.verdict == "differs"


def test_averages_of_the_papers_are_recomputed():
    every = audit.audits()
    verdicts = [(name, each.column, each.printed, each.recomputed, each.verdict)
                for name, found in every.items() for each in found.averages]  # fmt: skip
    assert len(verdicts) == 51
    differ = [each for each in verdicts if each[-1] == "differs"]
    assert differ == [("mrtl-table3", "DTL₁", "86.07", "85.880", "differs")]


def test_averages_of_any_measure_are_recomputed_and_only_accuracies_are_judged():
    text = GOOD.replace("metric: accuracy", "metric: f1")
    text += "published_averages: {all: {LG: 81.7, NMF: 79.3}}\n"
    found = audit.audit(audit.printed(experiments.read(text, PATH)), {})
    assert found.cells == []
    assert [each.verdict for each in found.averages] == ["follows", "differs"]


def test_an_experiment_is_judged_by_its_options_and_its_digits():
    text = GOOD.replace("comp-vs-rec}", "comp-vs-rec:documents=30}")
    assert {cell.documents for cell in audit.printed(experiments.read(text, PATH)).cells} == {None}
    text = GOOD.replace("81.71", "80.1").replace("[79.11, 0.05]", "79")
    (first, _) = audit.printed(experiments.read(text, PATH)).cells
    assert (first.value.units, first.value.decimals) == (801, 3)


def test_many_documents_are_not_printed_one_by_one(read, monkeypatch):
    monkeypatch.setattr(Number, "prints", lambda *_: {"85.123"})
    cells = read("row,documents,A\na,99999,85.123\nb,99998,85.123\nc,99997,85.123\n").cells
    assert {cell.verdict for cell in cells} == {"possible"}


def test_the_probability_of_many_fits_is_quick():
    assert 0 < audit.p_of_fits(3000, [0.1] * 20_000) < 1e-30


def test_documents_too_many_for_the_digits_are_said_to_allow_any_value(call):
    found = audit.audit(read_printed(EXAMPLE))
    assert {each.status for each in found.columns} == {"possible"}
    assert [each.p for each in found.columns] == pytest.approx(
        [501 / 1001] * 4 + [(501 / 1001) ** 4]
    )
    verdicts = {(cell.row, cell.verdict) for cell in found.cells}
    assert verdicts == {("SST-1", "any value is possible"), ("SST-2", "any value is possible"),
                        ("TREC", "possible")}  # fmt: skip
    (trec,) = (c for c in found.cells if (c.row, c.column) == ("TREC", "CNN-rand"))
    assert trec.correct == (456, 456)
    code, out, _ = call("audit", str(EXAMPLE), "--json")
    (of_file,) = json.loads(out).values()
    assert (code, len(of_file["cells"]), len(of_file["columns"])) == (0, 12, 5)
    assert of_file["averages"] == []


def test_the_page_shows_what_the_command_prints(call, read, monkeypatch):
    monkeypatch.chdir(EXAMPLE.parent)
    page = (ROOT / "docs" / "how-to" / "audit.md").read_text(encoding="utf-8")
    csv, second, several, *outputs = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert csv == EXAMPLE.read_text(encoding="utf-8")
    assert [cell.verdict for cell in read(second).cells] == ["possible", "not checked"]
    assert [each.verdict for each in read(several).triples] == ["possible", "possible"]
    printed = call("audit", EXAMPLE.name)[1]
    assert len(outputs) == 2
    assert all(output in printed for output in outputs)


def test_the_words_are_explained_if_asked(call):
    short, long = (call("audit", str(EXAMPLE), *option)[1] for option in ([], ["--explain"]))
    assert long.startswith(short)
    assert "whole number of the stated documents" in long.replace("\n", " ")
    assert "GRIM" not in short


def test_printed_forms_of_numbers_are_read(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "Row;Documents;Runs;A;B;B std;C\n"
        "x;2.210;10;87,4 ± 2,1;45 %;0,0;12,34\n"
        "y;2 210;;85,5 (2,1);90,0;6,5;–\n"
        "z;500;1;85,5%;;;100\n",
        encoding="utf-8",
    )
    cells = {(cell.column, cell.row): cell for cell in read_printed(path).cells}
    of_a = [cells["A", row] for row in "xyz"]
    assert [cell.documents for cell in of_a] == [2210, 2210, 500]
    assert [cell.runs for cell in of_a] == [10, None, 1]
    assert [cell.value for cell in of_a] == [Number(874, 3), Number(855, 3), Number(855, 3)]
    assert [cell.deviation for cell in of_a] == [Number(21, 3), Number(21, 3), None]
    assert [cells["B", row].deviation for row in "xy"] == [Number(0, 3), Number(65, 3)]
    assert (cells["B", "x"].value, cells["C", "z"].value) == (Number(45, 2), Number(100, 2))
    path.write_text("row,documents,A\nx,'2',50\n")
    with pytest.raises(UserError, match=":2: "):
        read_printed(path)
    path.write_text('row,documents,A\nx,"2,210",87.4 +/- 2.1\ny,1’821,87.4\n', encoding="utf-8")
    assert [cell.documents for cell in read_printed(path).cells] == [2210, 1821]


def test_an_impossible_cell_has_its_nearest_values_and_is_counted(read, call, tmp_path):
    found = read("row,documents,A,B\nx,20,85.0,85.2\ny,30,93.3,93.3\nz,30,,50.1\n")
    statuses = [(each.status, len(each.denied)) for each in found.columns]
    assert statuses == [("single run", 0), ("impossible", 2), ("impossible", 2)]
    (wrong,) = (cell for cell in found.cells if (cell.row, cell.column) == ("x", "B"))
    assert (wrong.verdict, wrong.nearest) == ("impossible", ("85.0", "90.0"))
    out = call("audit", str(tmp_path / "theirs.csv"))[1]
    assert "2 of 3 impossible" in out
    assert "2 of 5 impossible" in out
    (half, _) = read("row,documents,A\nx,800,0.13%\ny,800,12.50\n").cells  # 1/800 is .125 %
    assert (half.verdict, half.correct) == ("possible by a half", (1, 1))


def test_deviations_that_differ_from_ours_are_found():
    (name,) = [n for n in experiments.names() if n == "mtc-table4"]
    made = {"planned": 30, "runs": 30, "published": 82.87, "metric": "accuracy"}
    row = "Task 1 accuracy"
    cells = [
        Cell(row=row, column="LNKMTC", std=10.6, published_std=2.07, **made),
        Cell(row=row, column="LSKMTC", std=1.6, published_std=1.61, **made),
        Cell(row=row, column="Kmeans", std=50.0, published_std=3.82, **made),  # repeats unstated
        Cell(row=row, column="LNKMTC b = 10", std=50.0, published_std=2.07, **made),  # a reading
        Cell(row=row, column="KKM", std=0.0, published_std=0.15, **made),
    ]
    section = audit.compared_deviations({name: cells})
    assert section is not None
    _, count, table = section.blocks
    assert count.startswith("2 cells are tested; 1 cell differs: in 1")
    assert [r[2:7] for r in table.rows] == [["LNKMTC", "2.07", "10", "10.60", "30"]]
    assert audit.compared_deviations({}) is None


def test_cells_of_a_published_table_are_those_that_its_columns_deny():
    found = audit.audits(["dtl-table3"])["dtl-table3"]
    for finding in found.columns:
        for row in finding.rows if finding.documents else ():
            (cell,) = (c for c in found.cells if (c.row, c.column) == (row, finding.column))
            assert cell.documents == finding.documents[row]
            assert (row in finding.denied) == (cell.verdict in ("impossible", "possible by a half"))
