"""The audit finds what the digits of printed numbers say, and raises few false alarms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transferbench import experiments
from transferbench.evidence import audit
from transferbench.evidence.audit import PrintedColumn
from transferbench.evidence.frame import read_cells

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(("documents", "share"), [(7, 0.0008), (400, 0.0401), (4000, 0.445)])
def test_a_value_is_allowed_if_a_number_of_documents_prints_it(documents, share):
    for k in range(0, documents + 1, 7):
        assert audit.allows(documents, float(f"{k / documents:.6f}") if documents == 400 else
                            float(f"{k / documents * 100:.2f}") / 100, 4)  # fmt: skip
    values = np.arange(10_001) / 10_000
    allowed = np.mean([audit.allows(documents, value, 4) for value in values])
    assert allowed == pytest.approx(share, abs=0.1 * share)
    assert audit.chance(documents, 4) == pytest.approx(allowed, abs=0.001)


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
                 "row,documents,A\na,100,50,extra", "row,documents,A\na,9,1.12345678"):  # fmt: skip
        path.write_text(f"{text}\n")
        code, _, err = call("audit", str(path))
        assert (code, err.count("\n")) == (2, 1)
