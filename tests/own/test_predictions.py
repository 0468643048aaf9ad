"""Confidences of predictions."""

from __future__ import annotations

import codecs
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_multilabel
from user_documents import SOURCE, TARGET, make_documents

from transferbench.measures import normalize_scores
from transferbench.own import predictions
from transferbench.own.dialect import Dialect
from transferbench.own.documents import ReadOptions
from transferbench.own.problem import documents_problem
from transferbench.own.read import read
from transferbench.problem import Fit


def test_normalized_negative_scores_keep_their_order_and_sum_to_one():
    scores = -np.random.default_rng(0).random((50, 4)) * 2000
    normalized = normalize_scores(scores)
    np.testing.assert_array_equal(normalized.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(normalized.sum(axis=1), 1)
    np.testing.assert_allclose(normalize_scores(scores - 7), normalized)
    tiny = normalize_scores(np.array([[-1.0, -2.0]]))
    np.testing.assert_allclose(tiny[0, 0] / tiny[0, 1], math.e)
    np.testing.assert_allclose(
        normalize_scores(np.array([[-1.0, 2000], [9, 9]])), [[0, 1], [0.5] * 2]
    )


def test_agreement_is_the_share_of_models_with_the_first_ones_label():
    """Two others agree with each other on the first document, and with the first on the last."""
    problem, _ = documents_problem([SOURCE], [TARGET], {})
    decided = {"lr": [0, 1, 1], "dtl": [1, 1, 1], "gcmf": [1, 0, 1]}
    fits = {name: Fit((np.eye(2)[[0] * 8], np.eye(2)[each])) for name, each in decided.items()}
    table = predictions.predict(problem, fits, [TARGET])
    assert table["agree"].tolist() == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-5)


@pytest.mark.parametrize("suffix", predictions.SUFFIXES)
def test_what_is_no_text_is_written_with_escapes(tmp_path, suffix):
    path, found = tmp_path / "bad\udcff.jsonl", tmp_path / f"found{suffix}"
    path.write_text('{"text": "a\\ud800"}')
    predictions.write(found, read(path).table.reset_index())
    text = found.read_text(encoding="utf-8").replace("\\\\", "\\")
    assert all(part in text for part in ("bad\\udcff.jsonl", "a\\ud800"))


def test_numbers_of_json_are_written_as_they_were(tmp_path):
    numbers = '{"big": 12345678901234567.123, "list": [1e400, 0.10], "large": 1e99999999999999}'
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "a", "object": {numbers}, "number": {"9" * 5000}, "none": NaN}}\n')
    predictions.write(tmp_path / "found.jsonl", read(path).table)
    assert (tmp_path / "found.jsonl").read_text() == path.read_text().replace("NaN", "null")


TABLE = pd.DataFrame({"text": ["Müller é", 'a; "b"\tc'], "predicted": ["ham", "spam"]})


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect(),
        Dialect(mark=True, delimiter=";", line_end="\r\n"),
        Dialect("cp1252", delimiter=";"),
        Dialect("utf-16-le", True, "\t", True, "\r\n"),
        Dialect("utf-16-be", mark=True),
        Dialect(line_end="\r"),
    ],
)
def test_a_table_is_written_in_the_dialect_that_it_is_read_in(tmp_path, dialect):
    path = tmp_path / "found.csv"
    predictions.write(path, TABLE, dialect)
    options = ReadOptions(label="predicted", encoding=dialect.encoding)
    documents = read(path, options, "all")
    assert list(documents.content) == [*TABLE["text"]]
    assert replace(documents.dialect, encoding=dialect.encoding) == dialect
    assert path.read_bytes().startswith(codecs.BOM_UTF16_LE) == (dialect.encoding == "utf-16-le")
    predictions.write(tmp_path / "found.tsv", TABLE, dialect)
    written = read(tmp_path / "found.tsv", options).dialect
    assert replace(written, encoding=dialect.encoding) == replace(dialect, delimiter="\t")
    predictions.write(tmp_path / "found.jsonl", TABLE, dialect)
    assert list(read(tmp_path / "found.jsonl").content) == [*TABLE["text"]]


def test_files_without_quoting_are_written_without_if_no_value_needs_quotes(tmp_path):
    table = pd.DataFrame({"text": ['"hi" there', "you"], "predicted": ["a", "b"]})
    dialect = Dialect(delimiter="\t", quoted=False)
    predictions.write(tmp_path / "found.tsv", table, dialect)
    assert (tmp_path / "found.tsv").read_text() == 'text\tpredicted\n"hi" there\ta\nyou\tb\n'
    predictions.write(tmp_path / "found.tsv", TABLE, dialect)
    assert list(read(tmp_path / "found.tsv").content) == [*TABLE["text"]]


def test_a_character_that_the_encoding_lacks_makes_the_file_utf_8(tmp_path):
    path = tmp_path / "found.csv"
    table = TABLE.assign(predicted=["дом", "ham"])
    message = r"found.csv: CP1252 has no '\\u0434', so the file is in UTF-8 with a byte order mark"
    with pytest.warns(UserWarning, match=message):
        predictions.write(path, table, Dialect("cp1252", delimiter=";"))
    documents = read(path, ReadOptions(label="predicted"), "all")
    assert documents.labels == ["дом", "ham"]
    assert documents.dialect == Dialect(mark=True, delimiter=";")


def test_true_and_false_are_written_alike(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": true}\n{"text": "b", "label": false}\n')
    documents = read(path, labels="all")
    predictions.write(tmp_path / "found.csv", documents.table.assign(predicted=documents.labels))
    text = (tmp_path / "found.csv").read_text()
    assert text == "text,label,predicted\na,true,true\nb,false,false\n"


LABELS = ["1e2", "100", "00123", "9007199254740993", "C#", " x", "cafe\u0301", 'a "b"; c']


@pytest.mark.parametrize("suffix", predictions.SUFFIXES)
def test_a_written_label_is_read_again_as_it_was(tmp_path, suffix):
    source = make_documents("s.csv", SOURCE.content, LABELS)
    problem, _ = documents_problem(
        [source], [make_documents("t.csv", SOURCE.content[::-1], [""] * 8)], {}
    )
    scores = np.eye(8)[[problem.classes.index(label) for label in LABELS]]
    matrix = replace(source, kind=".svm")
    path = tmp_path / f"found{suffix}"
    predictions.write(path, predictions.predict(problem, {"m": Fit((scores, scores))}, [matrix]))
    assert read(path, ReadOptions(text="file", label="predicted"), labels="all").labels == LABELS


def labelled(texts, model="dtl", options=(), table=(), source=SOURCE, **how):
    """Return the predictions for texts; the model is sure that all are of the first class."""
    target = make_documents("t.csv", texts, [""] * len(texts))
    target = replace(target, table=target.table.assign(**dict(table)))
    # Only consensus sees n-grams of characters, too.
    problem, _ = documents_problem([source], [target], {"characters": 0, **dict(options)})
    n = len(source)
    fit = Fit((np.eye(2)[[0] * n], np.eye(2)[[0] * len(texts)]))
    return predictions.predict(problem, {model: fit}, [target], **how)


@pytest.mark.parametrize("model", ["dtl", "consensus", "lr"])
def test_a_document_without_known_feature_has_confidence_0_and_a_note(model):
    """Of the last two, one has a word of the source, and connects the other."""
    texts = ["the cat", "", " ", "?!", "once", "zig zag", "zig zag", "the zoo", "zoo"]
    found = labelled(texts, model)
    assert found["predicted"].tolist() == ["cat"] * 9
    assert found["note"].tolist() == [
        "", *[predictions.GUESS] * 6, "", predictions.INDIRECT
    ]  # fmt: skip
    last = 0 if model == "lr" else 1
    assert found["confidence"].tolist() == [1, 0, 0, 0, 0, 0, 0, 1, last]
    assert found.sort_values("confidence", kind="stable").index[0] == 1


def test_options_that_drop_words_make_guesses():
    found = labelled(["the of", "the cat"], options={"stop_words": "english"}, with_scores=True)
    assert found["note"].tolist() == [predictions.GUESS, ""]
    assert found[["score_cat", "score_sea"]].to_numpy().tolist() == [[0, 0], [1, 0]]
    rare = labelled(["cat", "cat kitten", "mouse mat"], options={"min_df": 4})
    assert set(rare["note"]) <= {predictions.GUESS, ""}


@pytest.mark.parametrize("suffix", predictions.SUFFIXES)
def test_a_note_of_the_user_is_kept_and_ours_replaced(tmp_path, suffix):
    own = labelled(["the cat", ""], table={"note": ["mine", ""]})
    assert list(own)[-4:] == ["note", "predicted", "confidence", "predicted_note"]
    assert own["note"].tolist() == ["mine", ""]
    ours = labelled(["the cat", ""], table={"note": [predictions.GUESS, ""]})
    assert ours["note"].tolist() == ["", predictions.GUESS]
    path = tmp_path / f"found{suffix}"
    predictions.write(path, ours)
    assert [*read(path, ReadOptions(text="predicted")).table["note"]] == ["", predictions.GUESS]


def test_one_empty_view_of_several_is_no_guess():
    problem, _ = make_multilabel(tasks=1, views=2)
    first, second = (sp.csr_array(view).toarray() for view in problem.domains[0].views)
    first[[3, 4]] = second[4] = 0
    domain = replace(problem.domains[0], views=(first, second))
    (notes,) = predictions.notes(replace(problem, domains=(domain,)))
    assert notes[4] == predictions.GUESS
    assert notes[3] == ""
