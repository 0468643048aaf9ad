"""CrisisLexT6 and GermEval 2018: content of the files, and the builders on made-up ones."""

from __future__ import annotations

import numpy as np

from transferbench.datasets import crisislex, germeval

PLAIN = {"min_df": 1, "weighting": "tf", "unit_length": False}


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
