"""Every number names the command that makes it again, and that command is the right one."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from conftest import slow_unless

from transferbench import experiments, models, parameters
from transferbench.cli import invoke
from transferbench.cli.reproduce import command as reproduce
from transferbench.cli.run import command
from transferbench.evidence import explain as explaining
from transferbench.evidence import summary
from transferbench.evidence.frame import read_cells, table_columns
from transferbench.evidence.pages import Evidence
from transferbench.runs import runner, store

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def explain(call):
    return lambda *arguments: call("--results", str(ROOT / "results"), "explain", *arguments)


#: A table, a grid, two figures, and one with options.
SOME = ("gtl-table3", "mtc-table3", "gtl-figure2a", "dtl-figure4", "gtl-unit-length")


@pytest.mark.parametrize("name", slow_unless(SOME.__contains__, experiments.names()))
def test_the_command_of_every_cell_runs_its_cells(name, monkeypatch):
    """Parsed as the shell and the command line parse it, it comes to the same runs."""
    known = experiments.names()  # the folder is not listed again for each of thousands of commands
    monkeypatch.setattr(experiments, "names", lambda: known)
    planned: dict = {}
    for row, column, x, cell, _ in experiments.load(name).runs():
        key = (row, column, x, str(cell.task), cell.identity[2])
        planned.setdefault(key, []).append(cell)
    for cells in planned.values():
        program, verb, *arguments = shlex.split(explaining.command(cells))
        assert (program, verb) == ("transferbench", "run")
        given = command.make_context("run", arguments).params
        seeds = given["seeds"] or range(given["repeats"] or 1)
        (model,) = given["names"]
        again = runner.plan_runs(
            given["task"], model, parameters.parse(given["assignments"]), seeds
        )
        if models.is_external(
            model
        ):  # `run` adds the defaults of the library's version, and a seed
            assert {(cell.task, cell.model) for cell in again} == {(cells[0].task, model)}
            assert cells[0].params.items() <= again[0].params.items()
        else:
            assert [cell.identity for cell in again] == [cell.identity for cell in cells]


@pytest.mark.parametrize(
    "name",
    slow_unless("choice".__ne__, ["gtl-table3", "gtl-figure2a", "himls-table2", "choice"]),
)
def test_the_command_that_makes_a_number_again_makes_all_its_runs(name):
    """Also those of a grid, of all splits, and of all points of a curve."""
    file = experiments.load(name)
    column_of = {label: column for label, column, _ in table_columns(file)}
    planned: dict = {}
    for each in file.runs():
        planned.setdefault((each.row, each.column), set()).add(each.run)
    found = read_cells(file, ROOT / "results" / name)
    # Rows and columns are found apart from each other: each is in one of these cells.
    named = {cell.row: cell for cell in found} | {cell.column: cell for cell in found}
    for cell in {id(cell): cell for cell in named.values()}.values():
        program, verb, *arguments = shlex.split(explaining.again(file, cell))
        assert (program, verb) == ("transferbench", "reproduce")
        given = reproduce.make_context("reproduce", arguments).params
        assert (given["names"], given["rerun"]) == ((name,), "all")
        cells, runs = explaining.chosen(file, given["rows"], given["columns"])
        assert cells == {(cell.row, cell.column)}
        assert runs == planned[cell.row, column_of[cell.column]]


def test_the_command_of_several_splits_has_a_part_for_each():
    planned = [p.run for p in experiments.load("himls-table2").runs(2) if p.column == "MLS"]
    words = shlex.split(explaining.command(planned[:2]))
    at = words.index("&&")
    assert words[:3] == ["transferbench", "run", "rcv1/subset1"]
    assert words[at + 1 : at + 4] == ["transferbench", "run", "rcv1/subset1:split=1"]
    assert words[-2:] == ["--seeds", "1"]


def test_a_number_is_explained(explain):
    code, out, _ = explain("gtl-unit-length", "comp vs rec", "GCMF")
    assert code == 0
    for text in (
        "gtl-unit-length: GCMF, comp vs rec\n",
        "again     transferbench reproduce gtl-unit-length --row 'comp vs rec' --column GCMF "
        "--rerun all\n",
        "runs      transferbench run gtl/comp-vs-rec --model gcmf --repeats 5\n",
        "paper     92.36 % ± 0; Transfer Learning with Graph Co-Regularization, AAAI 2012, Table 3",
        "▲ different, ours is better; difference +6.8",
        "by seed   0: 99.1",
        "5 of 5 runs",
        "data      task not built here",
    ):
        assert text in out


def test_a_row_is_named_by_its_task_and_a_column_by_its_model_and_the_reasons_are_given(explain):
    code, out, err = explain("gtl-table3", "Orgs-vs-People", "gcmf")
    assert code == 0, err
    title, answered, why, _ = out.split("\n\n", 3)
    assert title == "gtl-table3: GCMF, orgs vs people"
    assert answered.startswith("▼ different, ours is worse; difference -2.")
    assert max(map(len, out.splitlines())) <= 100
    why = re.sub(r"\n {10,}", " ", why)  # long texts go on below
    assert len(why.splitlines()) == 9
    for text in (
        "data         reuters/orgs-vs-people: Reuters-21578, orgs against people",
        "digits       the paper prints a deviation, so the value is a mean of several runs",
        "this row     ",
        "this column  ● the same: comp vs sci, comp vs talk, sci vs talk; ",
        "readings     4 values, from ",
        " (GCMF all on orgs vs people)",
        "tolerance    1: ",
        "notes        ",
        "more         docs/papers/gtl.md",
    ):
        assert text in why, text
    for row in ("comp-vs-rec", "gtl/comp-vs-rec", "gtl/comp-vs-rec-bydate", "Comp vs Rec"):
        assert explain("gtl-table3", row, "GCMF")[1].startswith("gtl-table3: GCMF, comp vs rec\n")
    code, out, _ = explain("dtl-table3", "comp vs rec", "LR")
    assert "digits       the printed column fits a single run (4,000 documents, dtl tasks)" in out


def test_the_numbers_that_differ_most_are_listed(explain):
    code, out, _ = explain("gtl-table3")
    sentence, table = out.split("\n\n")
    head, *lines = table.splitlines()
    assert code == 0
    assert sentence.startswith("63 printed numbers: ")
    assert head.split() == ["row", "column", "ours", "printed", "difference", "verdict"]
    differences = [float(re.search(r" ([+-]\d+\.\d\d) ", line)[1]) for line in lines]
    assert len(lines) == 63
    assert [abs(d) for d in differences] == sorted(map(abs, differences), reverse=True)
    row, column, *_ = shlex.split(lines[0])
    assert explain("gtl-table3", row, column)[1].startswith(f"gtl-table3: {column}, {row}\n")
    one_row, one_column = (explain("gtl-table3", name)[1] for name in ("comp-vs-rec", "gcmf"))
    for at, label, text in ((0, "comp vs rec", one_row), (1, "GCMF", one_column)):
        lines = text.split("\n\n")[1].splitlines()[1:]
        assert {shlex.split(line)[at] for line in lines} == {label}


@pytest.mark.parametrize(
    ("cell", "start", "reason"),
    [
        (("gtl-table3", "comp vs sci", "GCMF"), "● the same; difference +0.36, tolerance ", ""),
        (("gtl-table3", "rec vs sci", "GCMF"), "▲ different, ours is better; difference +11.",
         "No reason is proved."),
        (("mtc-table3", "Task 3 NMI", "All KKM"), "▲ different, ", "Another reading is the same: "),
        (("himls-table10", "F1", "HiMLS"), "There is no number of ours (", ""),
        (("dtl-table3-copied", "comp vs rec", "SVM"), "▲ different, ", "may be copied from "),
        (("himls-table3", "accuracy", "MLS ≥ 1 label"), "◆ cannot tell; difference -0.00",
         "more seeds may decide"),
        (("gtl-table3", "comp vs sci, file", "graph only"), "The paper prints no number here.", ""),
    ],
)  # fmt: skip
def test_the_first_sentence_is_the_answer(explain, cell, start, reason):
    code, out, err = explain(*cell)
    assert code == 0, err
    answered = out.split("\n\n")[1]
    assert answered.startswith(start)
    assert reason in " ".join(answered.split())


def test_a_reproduction_ends_with_its_totals_and_largest_differences():
    results = ROOT / "results"
    evidence = {
        name: Evidence.read(experiments.load(name), results / name) for name in ("gtl-table3",)
    }
    totals, title, largest, last = summary.closing(evidence, by_paper=False)
    counts = Counter(cell.verdict for cell in evidence["gtl-table3"].compared_cells)
    assert totals[1][0] == "gtl-table3"
    different = counts["better"] + counts["worse"]
    numbers = counts.total(), counts["same"], different, counts["cannot tell"]
    assert totals[1][1:5] == [*map(str, numbers)]
    assert title == "Largest differences:"
    assert len(largest) == 1 + summary.LARGEST
    assert largest[1][:2] == ["'rec vs talk'", "DKT"]
    explained, made = last.splitlines()
    assert explained.startswith("`transferbench explain gtl-table3 'rec vs talk' DKT` ")
    again = "transferbench reproduce gtl-table3 --row 'rec vs talk' --column DKT --rerun all"
    assert made.startswith(f"`{again}` ")
    (by_paper, *_) = summary.closing(evidence, by_paper=True)
    assert [row[0] for row in by_paper[1:]] == ["GTL"]
    assert not [*summary.closing({}, by_paper=True)]


def test_the_point_of_a_curve_is_the_last():
    file = experiments.load("gtl-figure2c")
    cells = read_cells(file, ROOT / "results" / "gtl-figure2c")
    one = explaining.find(file, cells, "comp vs rec", "GCMF", None)
    assert one.x == max(cell.x for cell in cells if cell.column == "GCMF") > 1


def test_changes_since_the_runs_are_listed(home, tmp_path, capfd):
    folder = tmp_path / "gtl-unit-length"
    folder.mkdir()
    text = (ROOT / "results" / "gtl-unit-length" / store.NAME).read_text(encoding="utf-8")
    code = next(
        line["code"] for line in map(json.loads, text.splitlines()) if line["model"] == "lr"
    )
    changed = text.replace(code, "0" * 16).replace("numpy 2", "numpy 1")
    (folder / store.NAME).write_text(changed, encoding="utf-8")
    arguments = ["--results", str(tmp_path), "explain", "gtl-unit-length", "comp vs rec", "LG"]
    assert invoke(arguments) == 0
    out = capfd.readouterr().out
    since = out.split("Since then:")[1]
    assert f"code      {'0' * 16}\n" in out
    assert "code      now " in since
    assert "versions  " in since
    assert "numpy 1." in since


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gtl-tabel3", "comp vs rec", "LG"], "Did you mean 'gtl-table3'?"),
        (["gtl-table3", "comp vs rek", "LG"], "unknown row 'comp vs rek'. Did you mean"),
        (["gtl-table3", "comp vs rec", "GCFM"], "unknown column 'GCFM'. Did you mean 'GCMF'?"),
        (["gtl-table3", "comp vs rec", "LG", "--x", "3"], "leave out --x"),
        (["gtl-figure2a", "comp vs rec", "GCMF"], "expected --x, one of 0.1, 1, 10, 100, 1000"),
        (
            ["gtl-figure2c", "comp vs rec", "GCMF", "--x", "17.5"],
            "expected --x, one of 17, 18, 16, 19, 15, 20, 14, 21, 13, 22, 12, 23, ….",
        ),
        (["mtc-table9", "a", "b"], "unknown experiment"),
        (["gtl-figure2a", "--x", "1"], "name its row and column, or leave out --x"),
        (["gtl-table3", "comp vs rek"], "unknown row or column 'comp vs rek'. Did you mean"),
        (
            ["gtl-figure2c", "GCMF"],
            "no printed number is compared there; name a row ('comp vs rec', ",
        ),
    ],
)
def test_a_mistake_is_one_line(explain, arguments, message):
    code, out, err = explain(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
