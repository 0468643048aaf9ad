"""Tables that a notebook shows: right numbers, escaped names, limited size."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_multilabel, make_problem

import transferbench
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


def cells(made) -> list[str]:
    """Return the texts of what a notebook shows."""
    return [text.strip() for text in Cells(made._repr_html_()).texts if text.strip()]


def test_a_problem_and_its_truth():
    problem, truth = make_problem(targets=1)
    assert cells(problem) == [
        "made-up: transfer problem of 2 classes",
        *("domain", "documents", "labelled", "features"),
        *("0", "source", "40", "40", "60"),
        *("1", "target-1", "40", "0", "60"),
    ]
    assert cells(truth) == [
        "truth of a transfer problem of 2 classes",
        *("domain", "documents", "scored", "a", "b"),
        *("0", "source", "40", "0", "20", "20"),
        *("1", "target-1", "40", "40", "20", "20"),
    ]
    assert "30 + 10" in cells(make_multilabel()[0])


def test_a_fit():
    fit = Fit((np.array([[0.25, 1.0]]),), (2.0, 1.5), diagnostics={"graph_recall": 0.98})
    title, *texts = cells(fit)
    assert title == "fit with scores of classes; objective 1.5 after 2; graph_recall 0.98"
    assert texts[4:] == ["0", "1", "2", "0.25", "1.0"]


@pytest.mark.parametrize("where", ["problem", "truth", "fit"])
def test_names_are_escaped(where):
    one, two = EVIL, f"{EVIL}2"
    X, Y = sp.csr_array(np.ones((1, 3))), np.ones((1, 1))
    problem = Problem(one, "transfer", (two,), (Domain(one, (X,), Y, np.array([True])),))
    truth = Truth("transfer", (two,), (one,), (Y,), (np.array([True]),))
    made = {
        "problem": problem,
        "truth": truth,
        "fit": Fit((Y,), diagnostics={one: 1.0}),
    }[where]
    html = made._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert Cells(html).tags <= {"p", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_summary_has_means_of_finished_chosen_runs():
    values = pd.DataFrame(
        {
            "row": "r",
            "column": ["A", "A", "A", "A", "B"],
            "measure": ["accuracy", "accuracy", "f1", "accuracy", "accuracy"],
            "value": [1.0, 3.0, 5.0, 90.0, np.nan],
            "chosen": [True, True, True, False, True],
            "status": ["done", "done", "done", "done", "failed"],
        }
    )
    first, second = transferbench.summary(values).itertuples(index=False)
    assert first == ("r", "A", "accuracy", 2.0, pytest.approx(2**0.5), 2)
    assert second[:4] == ("r", "A", "f1", 5.0)


def test_committed_results_have_a_summary():
    summary = transferbench.summary(transferbench.results("gtl-table3"))
    assert set(summary.measure) == {"accuracy"}


def test_long_tables_are_cut():
    problem, _ = make_problem(documents=4, targets=200)
    assert len(cells(problem)) < 200
