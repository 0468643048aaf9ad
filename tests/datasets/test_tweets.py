"""CrisisLexT6 and GermEval 2018: content of the files, and the builders on made-up ones."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import originals

from transferbench.data import tasks
from transferbench.datasets import crisislex, germeval

PLAIN = {"min_df": 1, "weighting": "tf", "unit_length": False}


def test_a_task_needs_the_files_of_its_disasters():
    assert len(crisislex.TASKS) == 30
    assert list(tasks.needed(tasks.Task.named("west-texas-vs-sandy"))) == [
        "crisislex-t6/2013_West_Texas_Explosion-ontopic_offtopic.csv",
        "crisislex-t6/2012_Sandy_Hurricane-ontopic_offtopic.csv",
    ]


#: Class and tokens of the documents 0, 9 and last of each domain, counted by another parser.
ITEMS = {
    "crisislex/sandy-vs-boston": [
        [("off-topic", 8), ("off-topic", 13), ("on-topic", 20)],
        [("off-topic", 22), ("on-topic", 11), ("on-topic", 18)],
    ],
    "germeval/training-vs-test": [
        [("other", 15), ("offense", 14), ("other", 22)],
        [("other", 20), ("offense", 34), ("other", 18)],
    ],
    "germeval/fine-test-vs-training": [
        [("other", 20), ("abuse", 34), ("other", 18)],
        [("other", 15), ("abuse", 14), ("other", 22)],
    ],
}


@pytest.mark.parametrize("name", ITEMS)
def test_documents_0_9_and_the_last_are_the_right_ones(name):
    module = crisislex if name.startswith("crisislex/") else germeval
    problem, truth = module.build(name, originals(name), **PLAIN)
    items = [
        [(problem.classes[Y[i].argmax()], int(domain.X[[i]].sum())) for i in (0, 9, -1)]
        for domain, Y in zip(problem.domains, truth.Y, strict=True)
    ]
    assert items == ITEMS[name]


def test_made_up_tweets_with_quotes_commas_and_line_breaks_are_read(tmp_path):
    text = """tweet id, tweet, label
'1',"Flood, ""flood\""
now",on-topic
'2',"a _ tea",off-topic
"""
    (tmp_path / "one").write_text(text, encoding="utf-8")
    name = "crisislex/sandy-vs-boston"
    (tmp_path / "other").write_text(text.replace("tea", "tea tea"), encoding="utf-8")
    files = {
        file: tmp_path / n for file, n in zip(crisislex.needed(name), ("one", "other"), strict=True)
    }
    problem, truth = crisislex.build(name, files, **PLAIN)
    for times, domain, Y in zip((1, 2), problem.domains, truth.Y, strict=True):
        np.testing.assert_array_equal(domain.X.toarray(), [[2, 1, 0], [0, 0, times]])
        np.testing.assert_array_equal(Y, [[0, 1], [1, 0]])
    assert not problem.domains[1].Y.any()


def test_a_mark_of_a_line_break_is_no_word(tmp_path):
    text = "Größe|LBR|zählt\tOFFENSE\tINSULT\nja\tOTHER\tOTHER\n"
    files = {name: tmp_path / f"{i}" for i, name in enumerate(germeval.FILES)}
    for path in files.values():
        path.write_text(text, encoding="utf-8")
        text = text.replace("\nja", "\nja ja")
    problem, truth = germeval.build("germeval/fine-test-vs-training", files, **PLAIN)
    np.testing.assert_array_equal(problem.domains[0].X.toarray(), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(truth.Y[1].argmax(axis=1), [2, 0])
