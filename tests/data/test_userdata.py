"""The user's own documents: read completely or refused in one line; labels never leak."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from chaos.watched import within

import transferbench
from transferbench.data import tasks
from transferbench.data.facts import Facts
from transferbench.data.userdata import documents as limits
from transferbench.data.userdata import matrices, predictions, tables
from transferbench.data.userdata.documents import Columns, Documents
from transferbench.data.userdata.problem import documents_problem
from transferbench.data.userdata.read import read
from transferbench.errors import UserError
from transferbench.problem import Fit
from transferbench.runs import runner
from transferbench.runs.record import Record

ROWS = [("the cat purrs", "cat"), ('a "ship",\nat sea', "sea"), ("", "cat"), ("Käse été", "sea")]


def write_csv(path: Path, rows, head=("text", "label"), delimiter=",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([head, *rows])
    return path


def write_jsonl(path: Path, rows, head=("text", "label")) -> Path:
    lines = [json.dumps(dict(zip(head, row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "bom"])
def test_every_table_format_gives_the_same_documents(tmp_path, kind):
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        path = tmp_path / "a.parquet"
        columns = dict(zip(("text", "label"), map(list, zip(*ROWS, strict=True)), strict=True))
        pq.write_table(pa.table({"other": [1] * 4, **columns}), path)
    elif kind == "jsonl":
        path = write_jsonl(tmp_path / "a.jsonl", ROWS)
    elif kind == "bom":
        path = write_csv(tmp_path / "a.csv", ROWS)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    else:
        path = write_csv(tmp_path / f"a.{kind}", ROWS, delimiter="\t" if kind == "tsv" else ",")
    found = read(path, labels="all")
    expected = [text.replace("\n", "\r\n") if kind == "bom" else text for text, _ in ROWS]
    assert [text.replace("\r\r", "\r") for text in found.content] == expected
    assert found.labels == [label for _, label in ROWS]
    assert found.ids is None


def test_named_columns_are_read_and_labels_only_on_request(tmp_path):
    head = ("body", "topic", "id", "nr")
    path = write_csv(tmp_path / "a.csv", [("x", "b", "i1", 7), ("y", "", "i2", 8)], head)
    columns = Columns("body", "topic")
    assert read(path, columns, "some").labels == ["b", ""]
    assert read(path, columns, "none").labels == ["", ""]
    assert read(path, columns).ids == ["i1", "i2"]
    assert read(path, Columns("body", "topic", "nr")).ids == ["7", "8"]
    with pytest.raises(UserError, match=r"a.csv:3: no label; every document of a source needs one"):
        read(path, columns, "all")


def test_numeric_labels_have_the_same_name_in_every_format(tmp_path):
    """JSON and Parquet have 1 and 1.0, SVMlight also +1; null and NaN mean none."""
    rows = [("a", 1), ("b", 1.0), ("c", 2.5), ("d", True), ("e", None), ("f", float("nan"))]
    found = read(write_jsonl(tmp_path / "a.jsonl", rows), labels="some").labels
    assert found == ["1", "1", "2.5", "true", "", ""]
    (tmp_path / "a.svm").write_text(
        "+1 1:1\n1.0 1:1\n2.5 1:1\nspam 1:1 # 1:2\n? 1:1\n1000001 1:1\n"
    )
    found = read(tmp_path / "a.svm", labels="some").labels
    assert found == ["1", "1", "2.5", "spam", "", "1000001"]


def npz(path: Path, **arrays) -> bytes:
    """An npz as scipy.sparse writes it, with some arrays replaced."""
    whole = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "indices": np.array([0, 2], np.int32),
        "indptr": np.array([0, 1, 2], np.int32),
        "data": np.array([1.0, 2.0]),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in (whole | arrays).items():
            part = io.BytesIO()
            np.save(part, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", part.getvalue())
    return content.getvalue()


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


BAD = {
    # tables
    "empty.csv": (b"", "the file is empty"),
    "header.csv": (b"text,label\n", "there are no documents"),
    "column.csv": (b"txt,label\na,b\n", ":2: no column 'text' among ['txt', 'label']; name yours"),
    "twice.csv": (b"text,label,text\na,b,c\n", ":1: column 'text' occurs twice"),
    "ragged.csv": (b"text,label\na,b\nc,d,e\n", ":3: 3 columns, but the first line has 2"),
    "short.csv": (b"text,label\na,b\nc\n", ":3: 1 columns, but the first line has 2"),
    "latin.csv": (b"text,label\na,b\nM\xfcller,b\n", ":3: byte 2 is not UTF-8"),
    "utf16.csv": ("text,label\n".encode("utf-16"), ":1: "),
    "nul.csv": (b"text,label\na,b\n\0,b\n", ":3: a NUL byte"),
    "open.csv": (b'text,label\na,b\n"c,d\ne,f\n', ":4: unexpected end of data"),
    "quote.csv": (b'text,label\n"a"b,c\n', ":2: "),
    "nolabel.csv": (b"text,label\na,b\nc, \n", ":3: no label"),
    "control.csv": (b"text,label\na,b\x1b[31m\n", ":2: label: 'b\\x1b[31m' has control characters"),
    "long.csv": (b"text,label\n" + b"a" * 300, ":2: a line of more than 200 bytes"),
    "far.csv": (b'text,label\n"' + b"aaa\n" * 60, "field larger than field limit (200)"),
    "much.csv": (b"text,label\n" + b"a" * 2200, "expected at most"),
    "list.jsonl": (b"[1]\n", ":1: expected a JSON object, got [1]"),
    "broken.jsonl": (b'{"text": "a", "label": "b"}\n{"text"\n', ":2: Expecting ':'"),
    "deep.jsonl": (b'{"text": ' + b"[" * 190, ":1: "),
    "digits.jsonl": (b'{"text": ' + b"1" * 150 + b', "label": 1}', ":1: text: expected text"),
    "labels.jsonl": (b'{"text": "a", "label": ["b"]}', ":1: label: expected a text or a number"),
    "lone.jsonl": (b'{"text": "a", "label": "\\ud800"}', "has control characters"),
    "missing.jsonl": (b'{"text":"a","label":"b"}\n{"text":"a"}', ":2: no column 'label' among"),
    "table.parquet": (b"PAR1 not", ":1: cannot be read as Parquet"),
    "table.xlsx": (b"PK", "unknown kind of file; expected .csv, .tsv, .jsonl, .parquet, .svm"),
    # matrices
    "word.svm": (b"a 1:1\nb 1:x\n", ':2: expected "<label> <feature>:<number>'),
    "order.svm": (b"a 2:1 1:1\n", ":1: expected"),
    "pairs.svm": (b"a 1 2\n", ":1: expected"),
    "minus.svm": (b"a 1:1\nb 1:1 2:-1\n", ": document 2 has -1; expected numbers of 0 or more"),
    "nan.svm": (b"a 1:nan\n", ": document 1 has nan"),
    "wide.svm": (b"a 1:1\nb 99999999:1\n", ":2: expected numbers of features below"),
    "comment.svm": (b"# nothing\n", "there are no documents"),
    "none.svm": (b"a 1:1\n? 1:1\n", ":2: no label"),
    "not.npz": (b"text", "not a matrix written by scipy.sparse.save_npz"),
    "outside.npz": (npz(Path(), indices=np.array([0, 3], np.int32)), "must be < 3"),
    "negative.npz": (npz(Path(), indices=np.array([0, -1], np.int32)), "not a matrix"),
    "huge.npz": (npz(Path(), shape=np.array([10**12, 3])), "not a matrix"),
    "complex.npz": (npz(Path(), data=np.array([1j, 2])), "expected real numbers"),
    "pickle.npz": (npz(Path(), data=np.array([Evil(), 1])), "not a matrix"),
    "diagonal.npz": (npz(Path(), format=np.array(b"dia"), offsets=np.array([0])), "not a matrix"),
    "lonely.npz": (npz(Path()), "no labels; expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_unreadable_file_is_refused_in_one_line(tmp_path, monkeypatch, name):
    """The size limits are lowered, so that the test is short."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    for module in (limits, tables):
        monkeypatch.setattr(module, "MAX_LINE_SIZE", 200)
        monkeypatch.setattr(module, "MAX_SIZE", 2000)
    monkeypatch.chdir(tmp_path)
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        read(tmp_path / name, labels="all")
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)
    assert message in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_table_with_100_000_columns_is_read_quickly(tmp_path):
    head = ["text", "label", *map(str, range(100_000))]
    path = write_csv(tmp_path / "wide.csv", [["x"] * len(head)] * 2, head)
    with within(tmp_path, seconds=8):  # comparing each with each takes minutes
        assert len(read(path)) == 2


def test_a_missing_file_a_folder_and_a_device_are_refused(tmp_path):
    for path, message in ((tmp_path / "no.csv", "no such file"), (tmp_path, "not a file")):
        with pytest.raises(UserError, match=message):
            read(path)
    if Path("/dev/zero").exists():
        (tmp_path / "zero.csv").symlink_to("/dev/zero")
        with pytest.raises(UserError, match="not a file"):
            read(tmp_path / "zero.csv")


def test_the_total_size_of_the_texts_is_limited(tmp_path, monkeypatch):
    """Parquet stores a text of many rows once."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500), pa.array(["word " * 30]))
    pq.write_table(pa.table({"text": texts}), path)
    monkeypatch.setattr(tables, "MAX_SIZE", 60_000)
    with pytest.raises(UserError, match=r":401: more than 60,000 characters of text"):
        read(path)
    monkeypatch.setattr(tables, "MAX_LINE_SIZE", 100)
    with pytest.raises(UserError, match="a text of 150 bytes"):
        read(path)
    monkeypatch.setattr(tables, "MAX_SIZE", 100)
    with pytest.raises(UserError, match="bytes unpacked, expected at most 100"):
        read(path)


def test_a_matrix_that_unpacks_to_too_many_bytes_is_refused(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.ones((200, 200))))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    monkeypatch.setattr(matrices, "MAX_SIZE", 20_000)
    with pytest.raises(UserError, match="bytes unpacked, expected at most 80,000"):
        read(tmp_path / "a.npz")


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"pip install 'transferbench\[parquet\]'"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_npz_and_svmlight_matrices_are_read_unchanged(tmp_path, form):
    rng = np.random.default_rng(0)
    dense = rng.random((6, 9)) * (rng.random((6, 9)) < 0.4)
    sp.save_npz(tmp_path / "a.npz", getattr(sp, form)(dense))
    (tmp_path / "a.labels.txt").write_text("x y\n\nz\nx y\nz\nz\n")
    found = read(tmp_path / "a.npz", labels="some")
    assert found.labels == ["x y", "", "z", "x y", "z", "z"]
    np.testing.assert_array_equal(found.content.toarray(), dense)
    lines = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row.tolist()) if v) for row in dense]
    (tmp_path / "a.svm").write_text("\n".join(f"c  {line} # why" for line in lines))
    other = read(tmp_path / "a.svm").content.toarray()
    np.testing.assert_array_equal(other, dense[:, : other.shape[1]])


CAT = ["the cat sat on a mat", "cat and kitten purr", "kitten on the mat", "a mouse fears the cat"]
SEA = ["ship and boat at sea", "the boat sails the sea", "a sailor on the ship", "sea and sail"]


def make_documents(path: str, texts: list[str], labels: list[str]) -> Documents:
    return Documents(Path(path), texts, labels)


SOURCE = make_documents("s.csv", [*CAT, *SEA], ["cat"] * 4 + ["sea"] * 4)
TARGET = make_documents("t.csv", ["kitten and cat", "sailor at sea", "the cat"], ["cat", "sea", ""])


def test_text_weights_follow_the_options():
    """Compare with tf-idf computed here, document by document."""
    built, _ = documents_problem([SOURCE], [TARGET], {"min_df": "3", "stop_words": "english"})
    texts = [re.findall(r"\w\w+", text.lower()) for text in SOURCE.content + TARGET.content]
    df = Counter(word for text in texts for word in set(text))
    kept = sorted(w for w in df if df[w] >= 3 and w not in ("the", "on", "and", "at"))
    assert kept == ["cat", "kitten", "sea"]
    expected = []
    for text in texts:
        row = [text.count(w) * (math.log(12 / (1 + df[w])) + 1) for w in kept]
        length = math.sqrt(sum(x * x for x in row))
        expected.append([x / length if length else 0 for x in row])
    found = np.vstack([domain.X.toarray() for domain in built.domains])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert built.classes == ("cat", "sea")
    assert [domain.name for domain in built.domains] == ["s", "t"]


def test_target_labels_never_reach_a_model():
    built, truth = documents_problem([SOURCE], [TARGET], {})
    blank, nothing = documents_problem(
        [SOURCE], [make_documents("t.csv", TARGET.content, [""] * 3)], {}
    )
    for one, other in zip(built.domains, blank.domains, strict=True):
        np.testing.assert_array_equal(one.Y, other.Y)
        np.testing.assert_array_equal(one.seen, other.seen)
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    assert not built.targets[0].Y.any()
    np.testing.assert_array_equal(truth.Y[1], [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(truth.scored[1], [True, True, False])
    assert not truth.scored[0].any()
    assert not nothing.scored[1].any()


def test_several_files_keep_their_order_and_get_unique_names():
    one, two = (
        make_documents("a/x.csv", CAT, ["cat"] * 4),
        make_documents("b/x.csv", SEA, ["sea"] * 4),
    )
    built, truth = documents_problem(
        [one, two], [make_documents("c/x.csv", CAT, ["cat"] * 4), TARGET], {}
    )
    assert truth.names == ("x", "x-2", "x-3", "t")
    assert [domain.seen.all() for domain in built.domains] == [True, True, False, False]
    assert [domain.Y.sum(axis=0).tolist() for domain in built.sources] == [[4, 0], [0, 4]]


def test_without_a_source_the_problem_is_clustering():
    built, truth = documents_problem([], [SOURCE, TARGET], {})
    assert built.family == truth.family == "clustering"
    assert not any(domain.Y.any() or domain.seen.any() for domain in built.domains)
    assert [int(scored.sum()) for scored in truth.scored] == [8, 2]
    built, truth = documents_problem([], [SOURCE, TARGET], {}, clusters=3)
    assert built.classes == ("1", "2", "3")
    assert not any(scored.any() for scored in truth.scored)


def test_words_of_any_script_and_combining_accents():
    texts = ["Ελλάδα и Москва", "cafe\u0301 москва", "café ελλάδα", "x 東京 42"]
    labels = ["a", "b", "a", "b"]
    options = {"min_df": 1, "weighting": "tf", "unit_length": False}
    built, _ = documents_problem(
        [make_documents("s.csv", texts, labels)],
        [make_documents("t.csv", texts, [""] * 4)],
        options,
    )
    # 42, café, ελλάδα, москва, 東京: the é of both documents is one word.
    expected = [[0, 0, 1, 1, 0], [0, 1, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(built.domains[0].X.toarray(), expected)


def matrix(path: str, X, labels: str = "ab") -> Documents:
    return Documents(Path(path), sp.csr_array(np.asarray(X, float)), list(labels))


def test_matrices_are_unchanged_by_default():
    source, target = matrix("s.svm", [[0, 2, 0], [0, 0.5, 3]]), matrix("t.svm", [[0, 4], [0, 1]])
    built, _ = documents_problem([source], [target], {})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[2, 0], [0.5, 3]])
    np.testing.assert_array_equal(built.domains[1].X.toarray(), [[4, 0], [1, 0]])
    built, _ = documents_problem([source], [target], {"unit_length": "true", "min_df": 2})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[1], [1]])


@pytest.mark.parametrize(
    ("sources", "targets", "options", "message"),
    [
        (
            [make_documents("s.csv", CAT, ["cat"] * 4)],
            [TARGET],
            {},
            "s.csv: the one label 'cat'; expected",
        ),
        (
            [make_documents("s.csv", CAT, [str(i) for i in range(4)])],
            [TARGET],
            {},
            "t.csv: label 'cat' is",
        ),
        (
            [SOURCE],
            [make_documents("t.csv", ["zebra", ""], ["", ""])],
            {},
            "t.csv: no feature is left",
        ),
        (
            [make_documents("s.csv", ["", "!"], ["a", "b"])],
            [make_documents("t", ["?"], [""])],
            {},
            "token_pattern",
        ),
        ([SOURCE], [TARGET], {"min_df": 99}, "s.csv: no feature is left of its documents"),
        ([SOURCE], [TARGET], {"min_fd": 2}, "Did you mean 'min_df'?"),
        ([SOURCE], [TARGET], {"token_pattern": "("}, "token_pattern '('"),
        ([SOURCE], [TARGET], {"token_pattern": "(a)(b)"}, "capturing group"),
        ([matrix("s.svm", np.eye(2))], [make_documents("t", ["?"], [""])], {}, "t: not like s.svm"),
        ([SOURCE], [matrix("t.svm", np.eye(2), ["", ""])], {}, "t.svm: a matrix among texts"),
        ([matrix("s.svm", np.eye(2))], [matrix("t.npz", np.eye(2))], {}, "t.npz: not like s.svm"),
        ([matrix("s.npz", np.eye(2))], [matrix("t.npz", np.eye(3)[:2])], {}, "t.npz: 3 features"),
        ([matrix("s.svm", np.eye(2))], [matrix("t.svm", np.eye(2))], {"stop_words": "none"}, "of"),
        (
            [matrix("s.svm", np.eye(2) / 9)],
            [matrix("t.svm", np.eye(2))],
            {"weighting": "log-tf"},
            "log-tf is for counts of 1 or more",
        ),
        ([matrix("s.svm", np.eye(2) * 1e300)], [matrix("t.svm", np.eye(2))], {}, "too large"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_documents_that_make_no_problem_are_refused_in_one_line(sources, targets, options, message):
    with pytest.raises(UserError) as error:
        documents_problem(sources, targets, options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_too_many_labels_suggest_the_wrong_column():
    texts = [*CAT, *SEA] * 200
    with pytest.raises(UserError, match=r"1600 different labels.*is it the right column\?"):
        documents_problem(
            [make_documents("s.csv", texts, [f"{i}" for i in range(1600)])], [TARGET], {}
        )


# Confidences and warnings


def test_normalized_scores_are_fractions_of_their_row():
    scores = np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(
        predictions.normalize_scores(scores), [[0.75, 0.25], [0.5, 0.5], [0, 1]]
    )


def test_normalized_negative_scores_keep_their_order_and_sum_to_one():
    scores = -np.random.default_rng(0).random((50, 4)) * 2000
    found = predictions.normalize_scores(scores)
    np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(predictions.normalize_scores(scores - 7), found)
    tiny = predictions.normalize_scores(np.array([[-1.0, -2.0]]))
    np.testing.assert_allclose(tiny[0, 0] / tiny[0, 1], math.e)


def test_nan_scores_are_refused():
    with pytest.raises(ValueError, match="1 scores are not numbers"):
        predictions.normalize_scores(np.array([[0.5, np.nan], [1.0, 0.0]]))


def warnings_for(source: Documents, target: Documents, decided: list[int]) -> str:
    built, _ = documents_problem([source], [target], {"min_df": 1})
    scores = np.eye(2)[decided]
    return "\n".join(
        predictions.prediction_warnings(built, [target], Fit((built.domains[0].Y, scores)))
    )


def test_sound_predictions_have_no_warnings():
    target = make_documents("t.csv", ["the cat", "a cat at sea", "the sea"], [""] * 3)
    assert warnings_for(SOURCE, target, [0, 1, 1]) == ""


def test_warnings_state_numbers():
    target = make_documents("t.csv", ["the cat", "", "zebra zoo", "the sea"], [""] * 4)
    warnings = warnings_for(SOURCE, target, [0, 0, 0, 0])
    assert "t.csv: 1 of 4 documents have no feature left" in warnings
    assert "t.csv: 1 of 4 documents share no feature with the source" in warnings
    assert "t.csv: unbalanced predictions: cat 4, sea 0" in warnings
    assert "graph is empty" not in warnings
    lopsided = make_documents("s.csv", [*CAT, SEA[0]], ["cat"] * 4 + ["sea"])
    target = make_documents("t.csv", ["cat", "sea"], [""] * 2)
    warnings = warnings_for(lopsided, target, [0, 1])
    assert "the source's classes are unbalanced: cat 4, sea 1" in warnings
    assert "t.csv: no two documents share a feature: their graph is empty" in warnings


# Tasks described by a YAML file


@pytest.fixture
def mine(tmp_path):
    """A YAML file with its data beside it."""
    write_csv(tmp_path / "s.csv", zip(SOURCE.content, SOURCE.labels, strict=True))
    write_csv(tmp_path / "t.csv", zip(TARGET.content, TARGET.labels, strict=True))
    path = tmp_path / "mine.yaml"
    path.write_text("source: s.csv\ntargets: [t.csv]\noptions:\n  min_df: 1\n")
    return path


def test_a_yaml_path_is_a_task_name(mine, home, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(home.data))
    built, truth = transferbench.load_task(str(mine))
    assert built.name == f"own:path={mine.as_posix()}"
    assert tasks.Task.named(built.name) == tasks.Task.named(str(mine))
    expected, known = documents_problem([SOURCE], [TARGET], {"min_df": 1})
    for one, other in zip(built.domains, expected.domains, strict=True):
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(truth.Y[1], known.Y[1])
    monkeypatch.chdir(mine.parent)
    assert transferbench.load_task("./mine.yaml")[0].name == "own:path=mine.yaml"


def test_clustering_tasks_and_other_column_names(mine, home):
    write_csv(mine.parent / "u.csv", [(t, "b", "a") for t in CAT], ("id", "Thema", "Text"))
    write_csv(mine.parent / "v.csv", [("x", "c", "a") for t in CAT], ("id", "Thema", "Text"))
    text = "family: clustering\ntasks: [u.csv, v.csv]\ntext: id\nlabel: Thema\noptions: {min_df: 1}"
    mine.write_text(text + "\n")
    with pytest.raises(UserError, match=r"v.csv: no feature is left"):  # "x" is no word
        tasks.load(tasks.Task.named(str(mine)), home)
    write_csv(mine.parent / "v.csv", [(t, "c", "a") for t in SEA], ("id", "Thema", "Text"))
    built, truth = tasks.load(tasks.Task.named(str(mine)), home)
    assert (built.family, built.classes, truth.names) == ("clustering", ("b", "c"), ("u", "v"))


@pytest.mark.parametrize("name", ["t.csv", "s.csv", "mine.yaml"])
def test_a_changed_file_changes_the_task_and_its_record_key(mine, home, name):
    class Keys:
        """An engine that performs nothing."""

        def records(self, runs, say, keep):
            for run in runs:
                yield Record.of(run.key, run.run, "failed")

    def key() -> str:
        cells = runner.plan(str(mine), "lr", {}, [0])
        return runner.run(cells, home, engine=Keys(), progress=False)[0].key

    before, path = key(), mine.parent / name
    assert key() == before
    changed = path.read_text() + ("zebra zebra,cat\n" if name.endswith("csv") else "label: label\n")
    path.write_text(changed)
    assert key() != before


def test_a_change_of_values_alone_changes_the_facts(tmp_path, home):
    lines = "a 1:1000000\nb 2:1000000\na 1:1 2:{}\nb 2:1\n"
    mine = tmp_path / "mine.yaml"
    mine.write_text("source: s.svm\ntargets: t.svm\n")
    (tmp_path / "t.svm").write_text(lines.format(1))
    facts = []
    for value in ("1.0", "1.25"):
        (tmp_path / "s.svm").write_text(lines.format(value))
        task = tasks.Task.named(str(mine))
        built, truth = tasks.load(task, home)
        assert built.domains[0].X[2, 1] == float(value)
        facts.append((Facts.of(built, truth), tasks.facts(task, home)))
    assert facts[0][0] == facts[1][0]
    assert facts[0][1] != facts[1][1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("source: s.csv\ntarget: t.csv\n", 2, "Did you mean 'targets'?"),
        ("title: mine\n", 1, "unknown key 'title'. Known: family, label, options, source"),
        ("5: mine\n", 1, "unknown key '5'."),
        ("source: s.csv\ntargets:\n  - t.csv\n  - no.csv\n", 4, "no file"),
        ("source: no.csv\ntargets: t.csv\n", 1, "no file"),
        (f"source: {'x' * 5000}\ntargets: t.csv\n", 1, "xxx…'."),
        ("source: [s.csv]\n", 1, "a task of transfer needs targets"),
        ("family: clustering\nsource: s.csv\ntasks: t.csv\n", 2, "of clustering has no source"),
        ("family: transfers\n", 1, "expected one of transfer, clustering"),
        ("source: s.csv\ntargets: t.csv\ntext: [a]\n", 3, "expected text"),
        ("source: 5\n", 1, "expected list of text"),
        ("source: s.csv\ntargets: t.csv\noptions: 5\n", 3, "NAME: VALUE"),
        ("source: s.csv\ntargets: t.csv\noptions:\n  min_df: few\n", 4, "integer ≥ 1, got 'few'"),
        ("source: s.csv\ntargets: t.csv\noptions:\n  min_fd: 1\n", 4, "Did you mean 'min_df'?"),
        ("source: s.csv\nsource: t.csv\n", 2, "a second time"),
        ("source: &a [*a]\n", None, "alias"),
        ("- s.csv\n", 1, "expected family, source"),
        ("", 1, "expected family, source"),
        ("a: b: c\n", 1, "expected valid YAML"),
    ],
)
def test_a_mistake_in_the_yaml_is_reported_with_its_line(mine, home, text, line, message):
    mine.write_text(text)
    with pytest.raises(UserError) as error:
        tasks.load(tasks.Task.named(str(mine)), home)
    place = f"{mine}:{line}: " if line else f"{mine}: "
    assert str(error.value).startswith(place)
    assert message in str(error.value)


def test_other_mistakes_in_own_tasks(mine, home):
    def error(name: str) -> str:
        with pytest.raises(UserError) as raised:
            tasks.load(tasks.Task.named(name), home)
        return str(raised.value)

    assert f"options into {mine}, below the key options" in error(f"{mine}:min_df=3")
    assert "cannot be read" in error(str(mine.parent / "no.yaml"))
    write_csv(mine.parent / "t.csv", [("the cat", "")])
    assert "t.csv: no document has a label, so that nothing can be scored" in error(str(mine))
    mine.write_bytes(b"\xff\xfe")
    assert "cannot be read" in error(str(mine))


def test_the_example_in_the_documentation_works(mine, home):
    """Build the example in the module's docstring, with files of the same names."""
    from transferbench.data.datasets import own_task

    example = re.search(r"\n\n((?:    .*\n)+)", own_task.__doc__)[1]
    data = yaml.safe_load(example)
    rows = list(zip(SOURCE.content, SOURCE.labels, strict=True))
    for name in [data["source"], *data["targets"]]:
        write_csv(mine.parent / name, rows, (data["text"], data["label"]))
    mine.write_text("\n".join(line[4:] for line in example.splitlines()))
    built, _ = tasks.load(tasks.Task.named(str(mine)), home)
    assert [domain.name for domain in built.domains] == ["labelled", "mail", "web"]
