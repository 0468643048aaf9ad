"""Variants of rows: expansion, restriction, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_experiment import HEAD

from transferbench import experiments
from transferbench.errors import UserError

TEXT = (
    HEAD
    + """
repeats: 1
rows:
  comp vs rec: {task: gtl/comp-vs-rec, group: posts}
  web: {task: "webkb/cornell-vs-texas:min_df=2", group: pages, variants: {documents: ["100", all]}}
columns:
  LR: {model: lr, params: {C: 1.0, intercept: true}}
variants:
  documents: {"100": {documents: 100}, "500": {documents: 500}, all: {}}
  shares: {as they are: {}, "1:5": {class_sizes: 1:5}, no shift: {halves: true}}
"""
)


def read(text: str = TEXT):
    return experiments.read(text, Path("mine.yaml"))


def test_every_row_is_taken_with_each_combination_and_its_options():
    rows = read().spec.rows
    assert len(rows) == 3 * 3 + 2 * 3
    assert list(rows)[:4] == [
        "comp vs rec, 100, as they are",
        "comp vs rec, 100, 1:5",
        "comp vs rec, 100, no shift",
        "comp vs rec, 500, as they are",
    ]
    row = rows["comp vs rec, 500, 1:5"]
    assert row.variant == {"documents": "500", "shares": "1:5"}
    assert row.group == "posts"
    tasks = {planned.row: str(planned.run.task) for planned in read().runs()}
    assert tasks["comp vs rec, all, as they are"] == "gtl/comp-vs-rec"
    assert tasks["comp vs rec, 500, 1:5"] == "gtl/comp-vs-rec:class_sizes=1:5,documents=500"
    assert tasks["web, all, no shift"] == "webkb/cornell-vs-texas:halves=true,min_df=2"


def test_a_task_of_the_users_own_files_takes_options(tmp_path):
    (tmp_path / "my.yaml").write_text("family: transfer\n", encoding="utf-8")
    text = TEXT.replace("gtl/comp-vs-rec", str(tmp_path / "my.yaml"))
    row = read(text).spec.rows["comp vs rec, 500, no shift"]
    assert str(row.data()) == f"own:documents=500,halves=true,path={tmp_path / 'my.yaml'}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pages,", "pages, variant: {documents: all},", "mine.yaml:7: unknown key 'variant'"),
        ('["100", all]', '["100", most]', "mine.yaml:7: unknown value of documents 'most'"),
        ("{documents: [", "{sizes: [", "mine.yaml:7: unknown variant 'sizes'"),
        ('["100", all]', "[]", "mine.yaml:7: rows.web.variants.documents: "),
        ("{halves: true}", "{halfs: true}", "unknown option of task gtl/comp-vs-rec 'halfs'"),
        (
            "all: {}}",
            "all: {}, " + ", ".join(f"v{i}: {{}}" for i in range(4000)) + "}",
            "more than 10,000 rows; expected fewer variants",
        ),
        ("min_df=2", "documents=9", "documents given twice; remove one"),
        ("{documents: 500}", "{documents: -5}", "option documents: expected integer"),
        ("{documents: 500}", "{documents: [5]}", "mine.yaml:11: variants.documents.500.documents"),
        ("gtl/comp-vs-rec", "gtl/comp-vs-rek", "mine.yaml:6: unknown task 'gtl/comp-vs-rek'"),
    ],
)
def test_a_mistake_is_found_at_its_line(old, new, message):
    assert old in TEXT
    with pytest.raises(UserError) as error:
        read(TEXT.replace(old, new, 1))
    assert message in str(error.value)
