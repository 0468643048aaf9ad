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
THREE_CORPORA = TEXT.replace("sci, group: A", "sci, group: B")
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


@pytest.fixture
def extending(monkeypatch):
    """The text of an experiment that adds LR 2 to a suite."""
    suite = experiments.read(TEXT.partition("  LR 2:")[0], Path("suite.yaml"))
    monkeypatch.setattr(experiments, "load", lambda name: suite)
    monkeypatch.setattr(experiments, "extended", lambda data: data)
    return f"extends: suite\n{TEXT}"


def test_seconds_of_added_methods_are_marked_and_decide_no_star(extending, monkeypatch):
    for row in VALUES:  # the best of all, in the least time
        monkeypatch.setitem(VALUES[row], "LR 2", (0.95, 0.1))
    board = read(extending)
    first = board.standings.set_index("method").loc["LR 2"]
    assert (first["regret"], first["seconds"]) == (0, pytest.approx(0.1))
    table = boards.standings_table(board)
    shown = {row[0]: row[table.heads.index("seconds")] for row in table.texts()}
    assert shown["▶ LR 2"] == "0.1 †"
    assert {"LR ★", "SVM ★"} < shown.keys(), "as on the board of the suite"
    assert "may be of another machine" in markdown(boards.page(board))
    own = {row[0] for row in boards.standings_table(read()).texts() if "★" in row[0]}
    assert own == {"LR 2 ★"}, "as one's own suite is of one machine"


def test_a_method_on_other_data_than_the_suites_is_named_and_not_ranked(extending):
    assert "LR 2" in set(read(extending, lambda planned: "same").standings["method"])
    board = read(extending, lambda planned: "forged" if planned.column == "LR 2" else "the suite's")
    assert (set(board.standings["method"]), board.left_out) == ({"LR", "SVM"}, ["LR 2"])
    assert "Not ranked, as runs are of other data or code: LR 2." in markdown(boards.page(board))


def test_three_corpora_make_an_interval():
    board = read(THREE_CORPORA)
    heads = boards.standings_table(board).heads
    assert {"rank 95 %", "regret 95 %"} < set(heads)
    assert len(set(heads)) == len(heads)
    lr = board.standings.set_index("method").loc["LR"]
    # Ranks 3, 1.5 and 2: a sample of three has only the lowest with probability 1/27, over 2.5 %.
    assert (lr["rank_low"], lr["rank_high"]) == (1.5, 3)
    assert not (board.standings["regret_low"] < 0).any()


def test_the_critical_difference_is_that_of_demsars_example():
    """JMLR 7, section 3.2.2: four methods on 14 data sets, q = 2.569."""
    board = read()
    four = replace(board, standings=board.standings.iloc[[0, 0, 1, 2]])
    assert four.critical(14) == pytest.approx(2.569 * (4 * 5 / (6 * 14)) ** 0.5, rel=1e-4)


def test_ranks_are_told_apart_by_corpora_as_blocks(monkeypatch, tmp_path):
    for name, method in (("LR", 0.9), ("SVM", 0.8), ("LR 2", 0.7)):
        for row in VALUES:
            monkeypatch.setitem(VALUES[row], name, (method, 1.0))
    board = read(THREE_CORPORA)
    # q = 2.344 for three methods: 1.91 for three blocks, so only the first and the last differ.
    assert board.critical(3) == pytest.approx(1.91, abs=0.005)
    first, second, third = board.told_apart.to_numpy().tolist()
    assert (first, second, third) == ([False, False, True], [False] * 3, [True, False, False])
    text = markdown(boards.page(board))
    assert "for 3 methods and 3 corpora as blocks. The test tells 1 of the 3 pairs apart." in text
    _, path = pictures.draw_board(board, tmp_path)
    drawn = path.read_text("utf-8")
    assert path.name == "suite-ranks.svg"
    assert "LR: mean rank 1.0" in drawn
    assert "LR 2: mean rank 3.0" in drawn
    assert drawn.count("stroke-width: 3") == 2, "bars of LR with SVM and of SVM with LR 2"
    assert "told apart" not in markdown(boards.page(read())), "two corpora are no blocks"


def test_the_board_of_a_corpus_has_its_tasks_alone():
    board = read().of_corpus("A")
    by_method = board.standings.set_index("method")
    assert by_method["rows"].tolist() == [2, 2, 2]
    assert by_method["rank"].to_dict() == {"LR": 2.25, "SVM": 2, "LR 2": 1.75}
    assert by_method["regret"].round(9).to_dict() == {"LR": 5, "SVM": 5, "LR 2": 4.8}
    assert by_method.loc["SVM", ["wins", "ties", "losses"]].tolist() == [1, 0, 1]


def test_differences_of_two_methods():
    table = boards.differences(read(THREE_CORPORA), ["SVM", "LR", "LR 2"])
    assert table.texts() == [
        ["task", "corpus", "SVM − LR", "SVM − LR 2"],
        ["one", "A", "+10.0", "+9.6"],
        ["two", "B", "−10.0", "−10.0"],
        ["three", "reuters", "+5.0", "–"],
        ["mean of the corpora", "", "+1.7", "−0.2"],
        ["95 %", "", "[−10.0, +10.0]", ""],
        ["W / T / L", "", "2 / 0 / 1", "1 / 0 / 1"],
    ]


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
    (path,) = pictures.draw_board(board, tmp_path)
    assert path.is_file(), "two corpora have no picture of ranks"


def test_a_corpus_without_a_value_is_no_block(monkeypatch):
    for method in VALUES["three"]:
        monkeypatch.setitem(VALUES["three"], method, None)
    board, without = read(THREE_CORPORA), read(THREE_CORPORA.replace("  three:", "  # three:"))
    assert board.corpora == without.corpora == {"A": 1, "B": 1}
    assert not board.has_ranks
    assert board.standings.equals(without.standings)
