"""Boards, against sums done by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from small_experiment import HEAD

from transferbench import experiments
from transferbench.evidence import boards, pictures
from transferbench.evidence.frame import observations, summarise
from transferbench.evidence.page import markdown
from transferbench.runs.record import Record

TEXT = (
    HEAD
    + """
repeats: 1
board: LR
rows:
  one: {task: gtl/comp-vs-rec, group: A}
  two: {task: gtl/comp-vs-sci, group: A}
  three: {task: reuters/orgs-vs-people}
  time: {task: gtl/comp-vs-rec, metric: seconds}
columns:
  LR: {model: lr}
  SVM: {model: svm}
  LR 2: {model: lr, params: {C: 2}}
"""
)
#: Accuracy and seconds by row and column.
VALUES = {
    "one": {"LR": (0.80, 1.0), "SVM": (0.90, 2.0), "LR 2": (0.804, 4.0)},
    "two": {"LR": (0.70, 1.0), "SVM": (0.60, 2.0), "LR 2": (0.70, 4.0)},
    "three": {"LR": (0.50, 1.0), "SVM": (0.55, 16.0), "LR 2": None},
    "time": {"LR": (0.80, 1.0), "SVM": (0.90, 2.0), "LR 2": (0.804, 4.0)},
}


def read(text=TEXT, data=lambda planned: ""):
    file = experiments.read(text, Path("suite.yaml"))
    records = {}
    for planned in file.runs():
        known = VALUES[planned.row][planned.column]
        record = Record.of(planned.run, "done" if known else "failed")
        if known:
            metrics = {"target": {"accuracy": known[0]}}
            seconds = float(known[1])
            record = replace(record, metrics=metrics, seconds=seconds, data=data(planned))
        records[planned.run.identity] = record
    cells = summarise(file, observations(file, records))
    return boards.from_cells(file, cells)


def test_ranks_regrets_and_counts():
    board = read()
    by_method = {each.method: each for each in board.standings.itertuples()}
    assert board.corpora == {"A": 2, "reuters": 1}
    assert [*by_method] == ["SVM", "LR", "LR 2"]
    svm, lr, lr2 = by_method["SVM"], by_method["LR"], by_method["LR 2"]
    # Ranks: one SVM 1, LR 2 2, LR 3; two LR and LR 2 1.5, SVM 3; three SVM 1, LR 2, LR 2 last.
    assert (svm.rank, lr.rank, lr2.rank) == (1.5, (2.25 + 2) / 2, (1.75 + 3) / 2)
    assert svm.regret == pytest.approx((5 + 0) / 2)
    assert lr.regret == pytest.approx((5 + 5) / 2)
    assert lr2.regret == pytest.approx(4.8)
    assert (lr.worst, lr.worst_row) == (pytest.approx(10), "one")
    assert (svm.wins, svm.ties, svm.losses) == (2, 0, 1)
    assert (lr2.wins, lr2.ties, lr2.losses) == (0, 2, 0)  # .4 points are no win
    assert lr.mean == pytest.approx((75 + 50) / 2)
    assert svm.seconds == pytest.approx(4)
    assert (svm.front, lr.front, lr2.front) == (True, True, False)
    starred = [row[0] for row in boards.standings_table(board).texts() if "★" in row[0]]
    assert starred == ["SVM ★", "LR ★"]
    assert (lr.rows, lr2.rows) == (3, 2)
    assert math.isnan(lr.rank_low), "two corpora"


def test_a_method_on_other_data_than_the_suites_is_named_and_not_ranked(monkeypatch):
    suite = experiments.read(TEXT.partition("  LR 2:")[0], Path("suite.yaml"))
    monkeypatch.setattr(experiments, "load", lambda name: suite)
    monkeypatch.setattr(experiments, "extended", lambda data: data)
    text = f"extends: suite\n{TEXT}"
    assert "LR 2" in set(read(text, lambda planned: "same").standings["method"])
    board = read(text, lambda planned: "forged" if planned.column == "LR 2" else "the suite's")
    assert (set(board.standings["method"]), board.left_out) == ({"LR", "SVM"}, ["LR 2"])
    assert "Not ranked, as runs are of other data or code: LR 2." in markdown(boards.page(board))


def test_three_corpora_make_an_interval():
    board = read(TEXT.replace("sci, group: A", "sci, group: B"))
    heads = boards.standings_table(board).heads
    assert {"rank 95 %", "regret 95 %"} < set(heads)
    assert len(set(heads)) == len(heads)
    lr = board.standings.set_index("method").loc["LR"]
    # Ranks 3, 1.5 and 2: a sample of three has only the lowest with probability 1/27, over 2.5 %.
    assert (lr["rank_low"], lr["rank_high"]) == (1.5, 3)
    assert not (board.standings["regret_low"] < 0).any()


def test_readings_and_choices_by_labels_are_left_out():
    text = TEXT.replace("params: {C: 2}", "grid: {C: [2, 3]}, choose: [accuracy]")
    assert "LR 2" not in set(read(text).standings["method"])
    text = TEXT.replace("params: {C: 2}", "params: {C: 2}, reading_of: LR")
    assert "LR 2" not in set(read(text).standings["method"])
    text = TEXT.replace("{model: lr, params: {C: 2}}", "{model: lr, options: {labelled: 20}}")
    assert "LR 2" not in set(read(text).standings["method"])


def test_only_methods_that_finished_all_rows_and_have_times_are_on_the_front(monkeypatch):
    monkeypatch.setitem(VALUES["three"], "LR", None)
    monkeypatch.setitem(VALUES["two"], "LR", None)
    for row in ("one", "time"):  # the same run: regret 0, in the least time
        monkeypatch.setitem(VALUES[row], "LR", (0.95, 0.1))
    for row in VALUES:
        monkeypatch.setitem(VALUES[row], "LR 2", (0.4, "nan"))
    standings = read().standings.set_index("method")
    assert standings["regret"].idxmin() == "LR"
    assert list(standings.index[standings["front"]]) == ["SVM"]
    assert math.isnan(standings.loc["LR 2", "seconds"])


@pytest.mark.parametrize("unfinished", [["LR"], ["LR", "SVM", "LR 2"]])
def test_methods_without_runs_have_a_row_of_dashes(monkeypatch, tmp_path, unfinished):
    for row in VALUES:
        for method in unfinished:
            monkeypatch.setitem(VALUES[row], method, None)
    board = read()
    standings = board.standings.set_index("method")
    assert set(standings.index) == {"LR", "SVM", "LR 2"}
    assert set(standings.index[-len(unfinished) :]) == set(unfinished)
    assert (standings.loc[unfinished, "rows"] == 0).all()
    assert standings.loc[unfinished, ["mean", "regret", "worst", "seconds"]].isna().all(axis=None)
    assert standings[["wins", "ties", "losses"]].to_numpy().sum() == 0
    assert boards.standings_table(board).texts()[-1][2:] == ["–", "–", "–", "0 / 0 / 0", "–", "0"]
    assert "nan" not in markdown(boards.page(board))
    path = tmp_path / "board.svg"
    pictures.draw_board(board.experiment, board.standings, set(), path, has_intervals=False)
    assert path.is_file()
