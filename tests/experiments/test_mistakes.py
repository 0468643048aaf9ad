"""Every mistake in an experiment file is refused, at its line and in words that help."""

from __future__ import annotations

import pytest
from small_experiment import PATH

from transferbench import experiments
from transferbench.errors import UserError

#: A key on each line.
TABLE = """\
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
repeats: 3
rows:
  one:
    task: gtl/comp-vs-rec
  two:
    task: gtl/comp-vs-sci
columns:
  LG:
    model: lr
    params:
      C: 1.0
      intercept: true
  NMF:
    model: nmf
    params: {max_iter: 5}
"""
PRINTED = """\
published:
  one:
    LG: 81.71
    NMF: [79.11, 0.05]
tolerance:
  value: 1.0
  reason: because
"""
CLAIM = f"""\
{TABLE}claims:
- says: a
  place: p
  better:
    columns: [LG]
"""
VARIANTS = f"""\
{TABLE}variants:
  n: {{a: {{documents: 10}}, b: {{}}}}
"""
REPEATS = "repeats: 3"
NMF = "    params: {max_iter: 5}"
CHOSEN = "    grid: {max_iter: [5, 6]}\n    choose: [accuracy, f1]\n"
FIGURE = "figure:\n  label: C\n  params: [C]\n  values: [1.0]\n"
LEVELS = "  levels: {experiment: gtl-table3, column: LG}\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "line", "message"),
    [
        # types
        (TABLE, REPEATS, "repeats: yes", 4, "repeats: expected a valid integer, got True"),
        (TABLE, REPEATS, "repeats: 010", 4, "repeats: expected a valid integer, got '010'"),
        (TABLE, REPEATS, "repeats: 10000", 4, "repeats: expected less than 10000"),
        (TABLE, REPEATS, f"{REPEATS}\nunit: kg", 5, "unit: expected 'percent', 'fraction'"),
        (TABLE, REPEATS, f"{REPEATS}\nlimits:\n  seconds: -1", 6, "limits.seconds: expected"),
        (TABLE, "  two:", "  2:", 8, "rows.2: expected a valid string, got 2"),
        (TABLE, "title: t\npaper", "title: 2001-01-01\npaper", 1, "title: expected a valid string"),
        (TABLE, "model: nmf", "model: 3", 17, "columns.NMF.model: expected a valid string, got 3"),
        (TABLE, NMF, "    control: maybe", 18, "columns.NMF.control: expected a valid boolean"),
        (TABLE, NMF, "    kind: best", 18, "kind: expected 'own', 'variant', 'rival' or 'simple'"),
        (TABLE, NMF, "    params: [5]", 18, "columns.NMF.params: expected a valid dictionary"),
        (PRINTED, "81.71", "[a, b]", 21, "published.one.LG: expected a valid number"),
        (PRINTED, "value: 1.0", "value: -1", 24, "tolerance.value: expected greater than or equal"),
        (PRINTED, "  reason: because\n", "", 23, "missing key tolerance.reason"),
        (PRINTED, "tolerance:", "published_repeats: {number: 0, place: p}\ntolerance:", 23,
         "published_repeats.number: expected greater than or equal to 1"),
        (VARIANTS, "n: {a: {documents: 10}, b: {}}", "n: {}", 20, "variants.n: "),
        (CLAIM, "columns: [LG]", "columns: []", 23, "at least 1 item"),
        (CLAIM, "columns: [LG]", "columns: [LG]\n    rows: all", 24, "expected 'every', 'most'"),
        (CLAIM, "columns: [LG]", "columns: [LG]\n    x: [1]", 24, "better.x: expected a valid"),
        (CLAIM, "columns: [LG]", "columns: [LG]\n    fewer_errors: 1", 24, "expected less than 1"),
        (CLAIM, "better:\n    columns: [LG]", "higher:\n    column: LG\n    at: 1", 22,
         "missing key claims.0.higher.than"),
        # models, tasks and their options
        (TABLE, "gtl/comp-vs-rec", "gtl/comp-vs-rec:min_fd=3", 7, "Did you mean 'min_df'?"),
        (TABLE, "gtl/comp-vs-rec", "gtl/comp-vs-rec:min_df=x", 7, "expected integer ≥ 1, got 'x'"),
        (TABLE, "vs-rec\n", "vs-rec\n    metric: nmi\n", 8, "Known: accuracy, balanced_accuracy"),
        (TABLE, "model: nmf", "model: ml-knn", 10, "models of several families: multilabel, tran"),
        (TABLE, "model: nmf", "model: nmf\n    task: gtl/x", 18, "unknown task 'gtl/x'"),
        (TABLE, "model: nmf", "model: nmf\n    options: {weighting: 'tf,min_df=3'}", 18,
         "looks like several options"),
        (TABLE, "C: 1.0", "c: 1.0", 14, "unknown parameter of lr 'c'. Did you mean 'C'?"),
        (TABLE, "C: 1.0", "C: .inf", 14, "lr: parameter C: expected number > 0"),
        (TABLE, NMF, "    grid:\n      m: [5, 6]\n    choose: [f1]", 19, "parameter of nmf 'm'"),
        (TABLE, NMF, "    choose: [accuracy]", 16, "expected grid and choose together"),
        (VARIANTS, "documents: 10", "docs: 10", 7, "unknown option of task gtl/comp-vs-rec 'docs'"),
        # rows and columns
        (TABLE, "sci\n", "sci\n    reading_of: oen\n", 10, "Did you mean 'one'?"),
        (TABLE, "sci\n", "sci\n    reading_of: one\n  three: {task: gtl/a, reading_of: two}\n", 11,
         "unknown row that is no reading 'two'. Known: one."),
        (TABLE, NMF, "    reading_of: NMF", 18, "unknown column that is no reading 'NMF'"),
        (TABLE, "  two:", "  average of x:", 8, "expected another name; a row of averages"),
        (TABLE, NMF, f"{CHOSEN}  NMF (f1):\n    model: svm", 20, "that of a setting of NMF"),
        (TABLE, NMF, "    control: true\n    kind: own", 16, "expected no kind"),
        (TABLE, NMF, "    kind: rival\nproposed: [NMF]", 19, "NMF has another kind"),
        (TABLE, REPEATS, f"{REPEATS}\nregret:\n  combined: [LQ]", 6, "unknown column 'LQ'"),
        (TABLE, REPEATS, f"{REPEATS}\nproposed:\n- LG\n- LQ", 7, "unknown column 'LQ'"),
        (TABLE, REPEATS, f"{REPEATS}\ndeclared: [LQ]", 5, "unknown column 'LQ'"),
        (TABLE, REPEATS, f"{REPEATS}\nextends: [a]", 5, "unknown experiment"),
        (PRINTED, "tolerance:",
         "published_repeats: {number: 1, place: p, unstated: [LQ]}\ntolerance:", 23,
         "unknown column 'LQ'. Did you mean 'LG'?"),
        (PRINTED, "tolerance:", "published_averages: {some: {LG: 80}}\ntolerance:", 23,
         "unknown group of rows 'some'. Known: all"),
        (PRINTED, "tolerance:", "published_averages: {all: {LQ: 80}}\ntolerance:", 23,
         "unknown column 'LQ'. Did you mean 'LG'?"),
        (PRINTED, "because", "because\n  rows: [two]", 23, "expected one tolerance for one"),
        (PRINTED, "tolerance:\n  value: 1.0\n  reason: because\n", "", 1, "they go together"),
        (PRINTED, "published:", "unit: fraction\npublished:", 22, "from 0 to 1 (fraction), got 81"),
        # figures
        (TABLE, "columns:\n", "figure: {label: C}\ncolumns:\n", 10, "expected one of params with"),
        (TABLE, "columns:\n", "figure: {label: C, params: [C]}\ncolumns:\n", 10, "expected one of"),
        (TABLE, "columns:\n", "figure: {label: C, rows: true}\ncolumns:\n", 10, "row needs an x"),
        (TABLE, NMF, "    grid: {max_iter: [5, 6]}\n    choose: [f1]\n"
         "figure: {label: x, iterations: true}", 20, "a figure has no grids"),
        (TABLE, "columns:\n", f"{FIGURE.replace('[C]', '[c]')}columns:\n", 12,
         "unknown parameter of the columns 'c'. Did you mean 'C'?"),
        (TABLE, "columns:\n", f"{FIGURE}{LEVELS.replace('3,', '33,')}columns:\n", 14,
         "Did you mean 'gtl-table3'?"),
        (TABLE, "columns:\n", f"{FIGURE}{LEVELS.replace('LG', 'LQ')}columns:\n", 14,
         "unknown column 'LQ'"),
        # claims
        (CLAIM, "columns: [LG]", "columns: [LQ]", 23, "unknown column 'LQ'. Did you mean 'LG'?"),
        (CLAIM, "better:\n    columns: [LG]", "stable: {column: LQ, x: [1, 2], within: 1}", 22,
         "unknown column 'LQ'"),
        (CLAIM, "columns: [LG]", "columns: [LG]\n    x: 3", 22, "x, at and than are for figures"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_line_and_its_remedy(text, old, new, line, message):
    text = TABLE + PRINTED if text is PRINTED else text
    assert old in text
    with pytest.raises(UserError) as error:
        experiments.read(text.replace(old, new, 1), PATH)
    first, *_ = str(error.value).splitlines()
    assert first.startswith(f"mine.yaml:{line}: "), first
    assert message in first


def test_mistakes_of_all_parts_are_reported_at_once():
    changes = [
        ("one:\n    task: gtl/comp-vs-rec", "one:\n    task: gtl/comp-vs-rek"),
        ("place: p\n  better", "also: [gtl-table33]\n  measure: f1\n  better"),
        ("[LG]", "[LQ, LL]\n    x: 4"),
    ]
    text = CLAIM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    text += "- {says: a, place: p}\nboard: NFM\n"
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    lines = [int(line.split(":")[1]) for line in str(error.value).splitlines()]
    assert lines == [7, 20, 20, 21, 23, 24, 24, 26, 27]


def test_an_unknown_model_is_the_only_mistake_if_no_model_is_known():
    text = TABLE.replace("model: lr", "model: lrr").replace("model: nmf", "model: nmff")
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    assert [line.split(":")[1] for line in str(error.value).splitlines()] == ["12", "17"]


def test_an_empty_name_stands_for_none():
    assert experiments.read(f'{TABLE}board: ""\nby_labels: ""\ncontrol_of: ""\n', PATH)
