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
from transferbench.evidence.printed import PrintedColumn, read_printed

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(("documents", "share"), [(7, 0.0008), (400, 0.0401), (4000, 0.445)])
def test_a_value_is_allowed_if_a_number_of_documents_prints_it(documents, share):
    for k in range(0, documents + 1, 7):
        assert audit.allows(documents, float(f"{k / documents * 100:.2f}") / 100, 4)
    values = [units for units in range(10_001) if audit.allows(documents, units / 10_000, 4)]
    assert len(values) / 10_001 == pytest.approx(share, abs=0.1 * share)
    in_zero = sum(units % 10 == 0 for units in values) / len(values)
    assert audit.printed_shares(documents, 4) == pytest.approx((len(values) / 10_001, in_zero))


def test_the_probability_of_fits_is_that_of_random_digits():
    shares, random = [0.2, 0.5, 0.9], np.random.default_rng(0)
    fits = (random.random((100_000, 3)) < shares).sum(axis=1)
    for n in range(4):
        assert audit.p_of_fits(n, shares) == pytest.approx((fits >= n).mean(), abs=0.01)


def findings(name: str) -> dict[tuple[str, str], list[audit.Finding]]:
    found: dict[tuple[str, str], list[audit.Finding]] = {}
    for each in audit.findings([name])[name]:
        found.setdefault((each.column, each.status), []).append(each)
    return found


def test_what_is_known_of_the_papers_is_found_blind():
    (lr,) = findings("dtl-table3")["LR", "single run"]
    assert (lr.source, set(lr.documents.values()), lr.denied) == ("dtl-19997", {4000}, ())
    copied = findings("dtl-table3-copied")
    assert {key: len(each.rows) for key, (each,) in copied.items()} == {
        (name, "copied"): 6 for name in ("SVM", "TSVM", "CoCC")
    }
    for name, source, least in (
        ("mrtl-table2", "mrtl-bydate", 10),
        ("mrtl-table3", "email-spam", 11),
    ):
        single = [f for (_, status), each in findings(name).items() for f in each
                  if status == "single run"]  # fmt: skip
        assert {each.source for each in single} == {source}
        assert len(single) >= least
    (lg,) = (each for each in findings("gtl-table3")["LG", "single run"] if len(each.rows) == 3)
    assert lg.like == ("dtl-table3: SVM",)


@pytest.mark.slow
def test_tables_of_ours_raise_few_false_alarms():
    tables = judged = alarms = 0
    for name in experiments.names():
        experiment = experiments.load(name)
        if experiment.spec.unit != "percent" or not (RESULTS / name / "table.md").is_file():
            continue
        values: dict[str, dict[str, float]] = {}
        fixed: dict[str, bool] = {}
        sizes: dict[str, int] = {}
        for cell in read_cells(experiment, RESULTS / name):
            if cell.column in experiment.spec.columns and (
                experiment.spec.columns[cell.column].options.get("labelled")
            ):
                continue  # labelled documents are not scored: the row has several numbers of them
            if cell.metric == "accuracy" and cell.runs:
                values.setdefault(cell.column, {})[cell.row] = round(cell.mean / 100, 4)
                same = len(set(cell.by_seed.values())) == 1
                fixed[cell.column] = same and fixed.get(cell.column, True)
                sizes[cell.row] = sum(cell.records[0].documents.values())
        tables += bool(values)
        columns = [PrintedColumn(name, of) for name, of in values.items()]
        for each in audit.audit(columns, {"ours": sizes}):
            judged += each.status != "unclear"
            right = {"single run": fixed[each.column], "other": not fixed[each.column]}
            alarms += not right.get(each.status, each.status == "unclear")
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
    for text in ("row,A\nx,1", "row,documents,A,A\na,9,1,2", "row,documents,A\na,9,1\na,8,2",
                 "row,documents,A\na,9,5_0", "row,documents,A\na,9,100.1", "row,documents,A\na,9,",
                 "row,documents,A\na,100,nan", "row,documents,A\na,-3,20.1",
                 "row,documents,A\na,100,50,extra", "row,documents,A\na,9,1.12345678",
                 "row,A,documents\na,1,", "row,documents,A\na,1000000,1", "row,A\na,50",
                 "row,documents,A\na,1.000,50", "row;documents;A\na;1,000;50,5",
                 "row,documents,A\na,9,50,5", "row,documents,runs,A\na,9,0,50",
                 "row,documents,A,A std\na,9,50 ± 1,2", "row,documents,A,A ±\na,9,,2"):  # fmt: skip
        path.write_text(f"{text}\n")
        code, _, err = call("audit", str(path))
        assert (code, err.count("\n")) == (2, 1), text


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
            assert list(grim.correct(n, units, decimals)) == allowed.get(units, [])
            if units not in allowed:
                below = max(v for v in allowed if v < units)
                above = min(v for v in allowed if v > units)
                assert grim.nearest(n, units, decimals) == [below, above]


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


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("r", [2, 3, 4, 5])
def test_the_deviations_that_fit_a_mean_are_those_of_brute_force(n, r):
    for decimals in (2, 3):
        pairs = _printed_pairs(n, r, decimals)
        means = sorted({mean for mean, _ in pairs})
        for mean in means if decimals == 2 else means[:: len(means) // 4 + 1]:
            fitting = {std for std in range(8 * 10**decimals // 10)
                       if grim.fit_deviation(n, r, (mean, decimals), (std, decimals)).verdict
                       == "possible"}  # fmt: skip
            assert fitting == {std for of, std in pairs if of == mean}


def test_no_deviation_of_true_runs_is_called_impossible():
    random = np.random.default_rng(0)
    for _ in range(300):
        n, r = int(random.integers(10, 3000)), int(random.integers(2, 40))
        accuracies = random.binomial(n, random.random(), r) / n * 100
        for free, digits in itertools.product((0, 1), (1, 2)):
            mean, std = (f"{v:.{digits}f}" for v in (accuracies.mean(), accuracies.std(ddof=free)))
            units = [(int(text.replace(".", "")), digits + 2) for text in (mean, std)]
            assert grim.fit_deviation(n, r, *units).verdict == "possible"
            assert units[1][0] / 10 ** units[1][1] <= grim.largest_deviation(units[0]) + 0.001


def test_a_deviation_beyond_the_design_is_found():
    def verdict(n: int, r: int, mean: int, std: int) -> str:
        return grim.fit_deviation(n, r, (mean, 3), (std, 3)).verdict

    assert verdict(500, 3, 912, 900) == "too large"
    assert verdict(20, 10, 855, 1) == "too small"  # 171 of 200: not all runs are equal
    assert verdict(20, 10, 855, 21) == "impossible"
    assert verdict(20, 10, 857, 21) == "mean"
    assert verdict(500, 1, 912, 1) == "one run"
    assert grim.fit_deviation(999_999, 999, (5012, 4), (9000, 4)).verdict == "too large"


EXAMPLES = Path(__file__).parents[2] / "docs"


def stated(tmp_path, text: str) -> list[audit.CellFinding]:
    """Return the findings about the cells of a file with this text."""
    path = tmp_path / "theirs.csv"
    path.write_text(text, "utf-8")
    return audit.audit_stated(read_printed(path))[1]


def test_a_deviation_printed_as_zero_is_not_one_of_equal_runs(tmp_path):
    """Nine runs of 561 of 700 and one of 562 have the mean 80.16 and the deviation 0.045."""
    for head, row in (("row,documents,A", "a,700"), ("row,documents,runs,A", "a,700,10")):
        (cell,) = stated(tmp_path, f"{head}\n{row},80.2 ± 0.0\n")
        assert cell.verdict == ("any value is possible" if "runs" in head else "not checked")
    (cell,) = stated(tmp_path, "row,documents,A\na,20,85.00 ± 0.00\n")
    assert (cell.runs, cell.verdict) == (1, "possible")


def test_an_exact_share_is_possible_without_a_half(tmp_path):
    cells = stated(tmp_path, "row,documents,A\na,2000,81.4\nb,200,85\nc,4000,98.68\nd,99,85\n")
    assert [cell.verdict for cell in cells] == [
        "any value is possible", "any value is possible", "possible by a half", "possible",
    ]  # fmt: skip
    assert cells[3].share < 1


@pytest.mark.parametrize(
    ("head", "name"),
    [("documents std", "documents"), ("row sd", "row"), ("A std,A std sd", "A std")],
)
def test_deviations_are_of_methods(tmp_path, head, name):
    with pytest.raises(UserError, match=f"expected the deviations of a method, {name} is none"):
        stated(tmp_path, f"row,documents,A,{head}\na,20,85{',1' * (head.count(',') + 1)}\n")


def test_numbers_as_tables_have_them(tmp_path):
    cells = stated(
        tmp_path, "row,documents,runs,A\na,2210.0,-,$85.0$\nb,2\xa0210,10,$85.0 \\pm 2$\n"
    )
    assert [(cell.documents, cell.runs) for cell in cells] == [(2210, 1), (2210, 10)]


def test_fractions_are_doubted_by_column(tmp_path):
    with pytest.warns(UserWarning, match="A has 2 values of 1 or less"):
        stated(tmp_path, "row,documents,A,B\na,20,0.85,85.0\nb,20,0.90,90.0\n")


def test_an_experiment_is_judged_by_its_options_and_its_digits():
    text = GOOD.replace("comp-vs-rec}", "comp-vs-rec:documents=30}")
    assert audit.documents_by_form(experiments.read(text, PATH)) == {}
    text = GOOD.replace("81.71", "80.1").replace("[79.11, 0.05]", "79")
    (first, _) = audit.printed(experiments.read(text, PATH))
    assert first.units("one") == (801, 3)


def test_many_documents_are_not_printed_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(grim, "printable", None)
    cells = stated(tmp_path, "row,documents,A\na,99999,85.123\nb,99998,85.123\nc,99997,85.123\n")
    assert {cell.verdict for cell in cells} == {"possible"}


def test_the_probability_of_many_fits_is_quick():
    assert 0 < audit.p_of_fits(3000, [0.1] * 20_000) < 1e-30


def test_documents_too_many_for_the_digits_are_said_to_allow_any_value(call):
    table = read_printed(EXAMPLES / "examples" / "kim2014.csv")
    found, cells = audit.audit_stated(table)
    assert {each.status for each in found} == {"possible"}
    assert [each.p for each in found] == pytest.approx([501 / 1001] * 4 + [(501 / 1001) ** 4])
    verdicts = {(cell.row, cell.verdict) for cell in cells}
    assert verdicts == {("SST-1", "any value is possible"), ("SST-2", "any value is possible"),
                        ("TREC", "possible")}  # fmt: skip
    (trec,) = (c for c in cells if (c.row, c.column) == ("TREC", "CNN-rand"))
    assert trec.correct == (456, 456)
    code, out, _ = call("audit", str(EXAMPLES / "examples" / "kim2014.csv"), "--json")
    (of_file,) = json.loads(out).values()
    assert (code, len(of_file["cells"]), len(of_file["columns"])) == (0, 12, 5)


def test_the_page_shows_what_the_command_prints(call, monkeypatch):
    monkeypatch.chdir(EXAMPLES / "examples")
    page = (EXAMPLES / "how-to" / "audit.md").read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    csv, *outputs = shown
    assert csv == (EXAMPLES / "examples" / "kim2014.csv").read_text(encoding="utf-8")
    printed = call("audit", "kim2014.csv")[1]
    assert len(outputs) == 2
    assert all(output in printed for output in outputs)


def test_printed_forms_of_numbers_are_read(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "Row;Documents;Runs;A;B;B std;C\n"
        "x;2.210;10;87,4 ± 2,1;45 %;0,0;12,34\n"
        "y;2 210;;85,5 (2,1);90,0;6,5;–\n"
        "z;500;1;85,5%;;;100\n",
        encoding="utf-8",
    )
    table = read_printed(path)
    assert table.documents == {"x": 2210, "y": 2210, "z": 500}
    assert table.runs == {"x": 10, "z": 1}
    a, b, c = table.columns
    assert [a.units(row) for row in "xyz"] == [(874, 3), (855, 3), (855, 3)]
    assert a.spreads == {"x": (21, 3), "y": (21, 3)}
    assert b.spreads == {"x": (0, 3), "y": (65, 3)}
    assert (b.deviations, b.units("x"), c.units("z")) == (frozenset("y"), (45, 2), (100, 2))
    path.write_text("row,documents,A\nx,'2',50\n")
    with pytest.raises(UserError, match=":2: "):
        read_printed(path)
    path.write_text('row,documents,A\nx,"2,210",87.4 +/- 2.1\ny,1’821,87.4\n', encoding="utf-8")
    assert read_printed(path).documents == {"x": 2210, "y": 1821}
    path.write_text("row,documents,A\nx,500,0.874\n")
    with pytest.warns(UserWarning, match="are they fractions"):
        read_printed(path)


def test_an_impossible_cell_has_its_nearest_values_and_decides_its_column(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text("row,documents,A,B\nx,20,85.0,85.2\ny,30,93.3,93.3\nz,30,,50.1\n")
    found, cells = audit.audit_stated(read_printed(path))
    assert [each.status for each in found] == ["single run", "other", "other"]
    (wrong,) = (cell for cell in cells if (cell.row, cell.column) == ("x", "B"))
    assert (wrong.verdict, wrong.nearest) == ("impossible", ("85.0", "90.0"))
    path.write_text("row,documents,A\nx,800,0.13\ny,800,12.50\n")  # 1/800 is .125 per cent
    _, (half, _) = audit.audit_stated(read_printed(path))
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
    found = audit.findings(["dtl-table3"])["dtl-table3"]
    cells = audit.published_cells("dtl-table3", found)
    for finding in found:
        for row in finding.rows if finding.documents else ():
            (cell,) = (c for c in cells if (c.row, c.column) == (row, finding.column))
            assert cell.documents == finding.documents[row]
            assert (row in finding.denied) == (cell.verdict in ("impossible", "possible by a half"))
