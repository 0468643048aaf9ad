"""Summaries that a notebook shows: right numbers, escaped names, limited size."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_multilabel, make_problem

import transferbench
from transferbench import notebook
from transferbench.notebook import Summary
from transferbench.problem import Domain, Fit, Problem, Truth

EVIL = '<script>alert("1")</script>&'


class Cells(HTMLParser):
    """Collect the texts of cells, and all tags."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_problem_and_its_truth():
    problem, truth = make_problem(targets=1)
    cells = Cells(problem._repr_html_()).texts
    assert cells[0] == "made-up: transfer problem; classes a, b"
    assert cells[1:] == [
        *("domain", "documents", "labelled", "features"),
        *("source", "40", "40", "60"),
        *("target-1", "40", "0", "60"),
    ]
    cells = Cells(truth._repr_html_()).texts
    assert cells[0] == "truth of a transfer problem; classes a, b"
    assert cells[6:] == [*("source", "40", "0", "20", "20"), *("target-1", "40", "40", "20", "20")]
    assert "30 + 10" in Cells(make_multilabel()[0]._repr_html_()).texts


def test_a_fit():
    fit = Fit((np.array([[0.25, 1.0]]),), (2.0, 1.5), diagnostics={"graph_recall": 0.98})
    cells = Cells(fit._repr_html_()).texts
    assert cells[0] == "fit with scores of classes; objective 1.5 after 2; graph_recall 0.98"
    assert cells[6:] == ["1", "1", "2", "0.25", "1"]


@pytest.mark.parametrize("where", ["problem", "truth", "fit", "results"])
def test_names_are_escaped(where):
    one, two = EVIL, f"{EVIL}2"
    X, Y = sp.csr_array(np.ones((1, 3))), np.ones((1, 1))
    problem = Problem(one, "transfer", (two,), (Domain(one, (X,), Y, np.array([True])),))
    truth = Truth("transfer", (two,), (one,), (Y,), (np.array([True]),))
    made = {
        "problem": problem,
        "truth": truth,
        "fit": Fit((Y,), diagnostics={one: 1.0}),
        "results": transferbench.summary(results(row=one)),
    }[where]
    html = made._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert Cells(html).tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def results(row: str = "r") -> pd.DataFrame:
    """Return observations as `transferbench.results` returns them, in the columns that are used."""
    return pd.DataFrame(
        {
            "experiment": "e",
            "row": row,
            "column": ["A", "A", "A", "A", "B"],
            "measure": ["accuracy", "accuracy", "f1", "accuracy", "accuracy"],
            "value": [1.0, 3.0, 5.0, 90.0, np.nan],
            "chosen": [True, True, True, False, True],
            "status": ["done", "done", "done", "done", "failed"],
            "key": ["1", "2", "2", "3", "4"],
        }
    )


def test_results_have_means_of_finished_chosen_runs():
    summary = transferbench.summary(results())
    assert summary.title == "e: runs 3 done, 1 failed"
    assert summary.rows[0][:4] == ("r", "A", "accuracy", 2.0)
    assert summary.rows[0][4] == pytest.approx(2**0.5)
    assert summary.rows[0][5] == 2
    assert summary.rows[1][:4] == ("r", "A", "f1", 5.0)
    assert len(summary.rows) == 2


def test_committed_results_have_a_summary():
    summary = transferbench.summary(transferbench.results("gtl-table3"))
    assert summary.title.startswith("gtl-table3: runs ")
    assert {row[2] for row in summary.rows} == {"accuracy"}
    assert len(summary._repr_html_()) < 10_000


def test_long_tables_and_names_are_cut():
    summary = Summary("t", ("a",), tuple(("x" * 500,) for _ in range(1000)))
    assert len(summary._repr_html_()) < 5000
    assert summary._repr_html_().endswith("and 980 more rows")
    lines = str(summary).splitlines()
    assert len(lines) == 2 + notebook.MAX_ROWS + 1
    assert max(map(len, lines)) == notebook.MAX_NAME
