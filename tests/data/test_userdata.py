"""Documents of one's own: read whole or refused in one line, and made a problem without a leak."""

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
from transferbench.data.datasets._documents import problem
from transferbench.data.userdata import documents as limits
from transferbench.data.userdata import matrices, predictions, tables
from transferbench.data.userdata.documents import Columns, Documents
from transferbench.data.userdata.read import read
from transferbench.errors import UserError
from transferbench.problem import Fit
from transferbench.runs import runner
from transferbench.runs.record import outcome

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
def test_every_kind_of_table_is_read_alike(tmp_path, kind):
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


def test_columns_are_those_that_are_named_and_labels_are_read_only_where_asked(tmp_path):
    head = ("body", "topic", "id", "nr")
    path = write_csv(tmp_path / "a.csv", [("x", "b", "i1", 7), ("y", "", "i2", 8)], head)
    columns = Columns("body", "topic")
    assert read(path, columns, "some").labels == ["b", ""]
    assert read(path, columns, "none").labels == ["", ""]
    assert read(path, columns).ids == ["i1", "i2"]
    assert read(path, Columns("body", "topic", "nr")).ids == ["7", "8"]
    with pytest.raises(UserError, match=r"a.csv:3: no label; every document of a source needs one"):
        read(path, columns, "all")


def test_labels_that_are_numbers_have_the_same_name_in_every_kind_of_file(tmp_path):
    """JSON and Parquet know 1 and 1.0, SVMlight +1 as well; null and NaN stand for none."""
    rows = [("a", 1), ("b", 1.0), ("c", 2.5), ("d", True), ("e", None), ("f", float("nan"))]
    found = read(write_jsonl(tmp_path / "a.jsonl", rows), labels="some").labels
    assert found == ["1", "1", "2.5", "true", "", ""]
    (tmp_path / "a.svm").write_text(
        "+1 1:1\n1.0 1:1\n2.5 1:1\nspam 1:1 # 1:2\n? 1:1\n1000001 1:1\n"
    )
    found = read(tmp_path / "a.svm", labels="some").labels
    assert found == ["1", "1", "2.5", "spam", "", "1000001"]


def npz(path: Path, **arrays) -> bytes:
    """An npz as scipy.sparse writes it, with parts that it would not write."""
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
    "column.csv": (b"txt,label\na,b\n", ":2: no column 'text' among ['txt', 'label']; say which"),
    "twice.csv": (b"text,label,text\na,b,c\n", ":1: column 'text' stands here twice"),
    "ragged.csv": (b"text,label\na,b\nc,d,e\n", ":3: 3 columns, where the first line has 2"),
    "short.csv": (b"text,label\na,b\nc\n", ":3: 1 columns, where the first line has 2"),
    "latin.csv": (b"text,label\na,b\nM\xfcller,b\n", ":3: byte 2 is not UTF-8"),
    "utf16.csv": ("text,label\n".encode("utf-16"), ":1: "),
    "nul.csv": (b"text,label\na,b\n\0,b\n", ":3: a NUL byte"),
    "open.csv": (b'text,label\na,b\n"c,d\ne,f\n', ":4: unexpected end of data"),
    "quote.csv": (b'text,label\n"a"b,c\n', ":2: "),
    "nolabel.csv": (b"text,label\na,b\nc, \n", ":3: no label"),
    "control.csv": (b"text,label\na,b\x1b[31m\n", ":2: label: 'b\\x1b[31m' has characters"),
    "long.csv": (b"text,label\n" + b"a" * 300, ":2: a line of more than 200 bytes"),
    "far.csv": (b'text,label\n"' + b"aaa\n" * 60, "field larger than field limit (200)"),
    "much.csv": (b"text,label\n" + b"a" * 2200, "of which at most"),
    "list.jsonl": (b"[1]\n", ":1: expected a JSON object, got [1]"),
    "broken.jsonl": (b'{"text": "a", "label": "b"}\n{"text"\n', ":2: Expecting ':'"),
    "deep.jsonl": (b'{"text": ' + b"[" * 190, ":1: "),
    "digits.jsonl": (b'{"text": ' + b"1" * 150 + b', "label": 1}', ":1: text: expected text"),
    "labels.jsonl": (b'{"text": "a", "label": ["b"]}', ":1: label: expected a text or a number"),
    "lone.jsonl": (b'{"text": "a", "label": "\\ud800"}', "has characters not to be printed"),
    "missing.jsonl": (b'{"text":"a","label":"b"}\n{"text":"a"}', ":2: no column 'label' among"),
    "table.parquet": (b"PAR1 not", ":1: not to be read as Parquet"),
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
    "not.npz": (b"text", "not a matrix as scipy.sparse.save_npz writes it"),
    "outside.npz": (npz(Path(), indices=np.array([0, 3], np.int32)), "must be < 3"),
    "negative.npz": (npz(Path(), indices=np.array([0, -1], np.int32)), "not a matrix"),
    "huge.npz": (npz(Path(), shape=np.array([10**12, 3])), "not a matrix"),
    "complex.npz": (npz(Path(), data=np.array([1j, 2])), "expected real numbers"),
    "pickle.npz": (npz(Path(), data=np.array([Evil(), 1])), "not a matrix"),
    "diagonal.npz": (npz(Path(), format=np.array(b"dia"), offsets=np.array([0])), "not a matrix"),
    "lonely.npz": (npz(Path()), "no labels; expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path, monkeypatch, name):
    """The limits on sizes are lowered, so that the test is short."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    for module in (limits, tables):
        monkeypatch.setattr(module, "LONGEST", 200)
        monkeypatch.setattr(module, "MOST", 2000)
    monkeypatch.chdir(tmp_path)
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as error:
        read(tmp_path / name, labels="all")
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)
    assert message in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_table_of_very_many_columns_is_read_at_once(tmp_path):
    head = ["text", "label", *map(str, range(100_000))]
    path = write_csv(tmp_path / "wide.csv", [["x"] * len(head)] * 2, head)
    with within(tmp_path, seconds=8):  # comparing each with each takes minutes
        assert len(read(path)) == 2


def test_a_missing_file_a_folder_and_a_device_are_no_files(tmp_path):
    for path, message in ((tmp_path / "no.csv", "no such file"), (tmp_path, "not a file")):
        with pytest.raises(UserError, match=message):
            read(path)
    if Path("/dev/zero").exists():
        (tmp_path / "zero.csv").symlink_to("/dev/zero")
        with pytest.raises(UserError, match="not a file"):
            read(tmp_path / "zero.csv")


def test_all_texts_together_are_limited_however_small_the_file(tmp_path, monkeypatch):
    """In Parquet a text that stands in many rows is stored once."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500), pa.array(["word " * 30]))
    pq.write_table(pa.table({"text": texts}), path)
    monkeypatch.setattr(tables, "MOST", 60_000)
    with pytest.raises(UserError, match=r":401: more than 60,000 characters of text"):
        read(path)
    monkeypatch.setattr(tables, "LONGEST", 100)
    with pytest.raises(UserError, match="a text of 150 bytes"):
        read(path)
    monkeypatch.setattr(tables, "MOST", 100)
    with pytest.raises(UserError, match="bytes unpacked, at most 100 are read"):
        read(path)


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked(tmp_path, monkeypatch):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.ones((200, 200))))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    monkeypatch.setattr(matrices, "MOST", 20_000)
    with pytest.raises(UserError, match="bytes unpacked, at most 80,000 are read"):
        read(tmp_path / "a.npz")


def test_without_pyarrow_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"pip install 'transferbench\[parquet\]'"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_matrices_of_both_kinds_are_read_as_they_are(tmp_path, form):
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


def given(path: str, texts: list[str], labels: list[str]) -> Documents:
    return Documents(Path(path), texts, labels)


SOURCE = given("s.csv", [*CAT, *SEA], ["cat"] * 4 + ["sea"] * 4)
TARGET = given("t.csv", ["kitten and cat", "sailor at sea", "the cat"], ["cat", "sea", ""])


def test_texts_become_the_weights_that_the_options_say():
    """Against tf-idf written out, document by document."""
    built, _ = problem([SOURCE], [TARGET], {"min_df": "3", "stop_words": "english"})
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


def test_no_label_of_a_target_reaches_a_model():
    built, truth = problem([SOURCE], [TARGET], {})
    blank, nothing = problem([SOURCE], [given("t.csv", TARGET.content, [""] * 3)], {})
    for one, other in zip(built.domains, blank.domains, strict=True):
        np.testing.assert_array_equal(one.Y, other.Y)
        np.testing.assert_array_equal(one.seen, other.seen)
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    assert not built.targets[0].Y.any()
    np.testing.assert_array_equal(truth.Y[1], [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(truth.scored[1], [True, True, False])
    assert not truth.scored[0].any()
    assert not nothing.scored[1].any()


def test_several_sources_and_targets_keep_their_order_and_get_names_of_their_own():
    one, two = given("a/x.csv", CAT, ["cat"] * 4), given("b/x.csv", SEA, ["sea"] * 4)
    built, truth = problem([one, two], [given("c/x.csv", CAT, ["cat"] * 4), TARGET], {})
    assert truth.names == ("x", "x-2", "x-3", "t")
    assert [domain.seen.all() for domain in built.domains] == [True, True, False, False]
    assert [domain.Y.sum(axis=0).tolist() for domain in built.sources] == [[4, 0], [0, 4]]


def test_without_a_source_it_is_a_clustering_problem():
    built, truth = problem([], [SOURCE, TARGET], {})
    assert built.family == truth.family == "clustering"
    assert not any(domain.Y.any() or domain.seen.any() for domain in built.domains)
    assert [int(scored.sum()) for scored in truth.scored] == [8, 2]
    built, truth = problem([], [SOURCE, TARGET], {}, clusters=3)
    assert built.classes == ("1", "2", "3")
    assert not any(scored.any() for scored in truth.scored)


def test_words_are_of_any_script_and_accents_may_be_characters_of_their_own():
    texts = ["Ελλάδα и Москва", "cafe\u0301 москва", "café ελλάδα", "x 東京 42"]
    labels = ["a", "b", "a", "b"]
    options = {"min_df": 1, "weighting": "tf", "unit_length": False}
    built, _ = problem([given("s.csv", texts, labels)], [given("t.csv", texts, [""] * 4)], options)
    # 42, café, ελλάδα, москва, 東京: the é of both documents is one word.
    expected = [[0, 0, 1, 1, 0], [0, 1, 0, 1, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(built.domains[0].X.toarray(), expected)


def matrix(path: str, X, labels: str = "ab") -> Documents:
    return Documents(Path(path), sp.csr_array(np.asarray(X, float)), list(labels))


def test_matrices_are_taken_as_they_are_unless_options_say_otherwise():
    source, target = matrix("s.svm", [[0, 2, 0], [0, 0.5, 3]]), matrix("t.svm", [[0, 4], [0, 1]])
    built, _ = problem([source], [target], {})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[2, 0], [0.5, 3]])
    np.testing.assert_array_equal(built.domains[1].X.toarray(), [[4, 0], [1, 0]])
    built, _ = problem([source], [target], {"unit_length": "true", "min_df": 2})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[1], [1]])


@pytest.mark.parametrize(
    ("sources", "targets", "options", "message"),
    [
        ([given("s.csv", CAT, ["cat"] * 4)], [TARGET], {}, "s.csv: the one label 'cat'; expected"),
        ([given("s.csv", CAT, [str(i) for i in range(4)])], [TARGET], {}, "t.csv: label 'cat' is"),
        ([SOURCE], [given("t.csv", ["zebra", ""], ["", ""])], {}, "t.csv: no feature is left"),
        ([given("s.csv", ["", "!"], ["a", "b"])], [given("t", ["?"], [""])], {}, "token_pattern"),
        ([SOURCE], [TARGET], {"min_df": 99}, "s.csv: no feature is left of its documents"),
        ([SOURCE], [TARGET], {"min_fd": 2}, "Did you mean 'min_df'?"),
        ([SOURCE], [TARGET], {"token_pattern": "("}, "token_pattern '('"),
        ([SOURCE], [TARGET], {"token_pattern": "(a)(b)"}, "capturing group"),
        ([matrix("s.svm", np.eye(2))], [given("t", ["?"], [""])], {}, "t: not like s.svm"),
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
def test_what_makes_no_problem_is_refused_in_one_line(sources, targets, options, message):
    with pytest.raises(UserError) as error:
        problem(sources, targets, options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_too_many_labels_are_probably_the_wrong_column():
    texts = [*CAT, *SEA] * 200
    with pytest.raises(UserError, match=r"1600 different labels.*is it the right column\?"):
        problem([given("s.csv", texts, [f"{i}" for i in range(1600)])], [TARGET], {})


# What is said of predictions


def test_shares_are_each_scores_part_of_its_row():
    scores = np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(predictions.shares(scores), [[0.75, 0.25], [0.5, 0.5], [0, 1]])


def test_shares_of_distances_keep_the_order_and_add_up_to_one():
    scores = -np.random.default_rng(0).random((50, 4)) * 2000
    found = predictions.shares(scores)
    np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(predictions.shares(scores - 7), found)
    tiny = predictions.shares(np.array([[-1.0, -2.0]]))
    np.testing.assert_allclose(tiny[0, 0] / tiny[0, 1], math.e)


def test_scores_that_are_not_numbers_are_no_prediction():
    with pytest.raises(ValueError, match="1 scores are not numbers"):
        predictions.shares(np.array([[0.5, np.nan], [1.0, 0.0]]))


def doubts(source: Documents, target: Documents, decided: list[int]) -> str:
    built, _ = problem([source], [target], {"min_df": 1})
    scores = np.eye(2)[decided]
    return "\n".join(predictions.doubts(built, [target], Fit((built.domains[0].Y, scores))))


def test_nothing_is_said_against_sound_predictions():
    target = given("t.csv", ["the cat", "a cat at sea", "the sea"], [""] * 3)
    assert doubts(SOURCE, target, [0, 1, 1]) == ""


def test_what_makes_predictions_doubtful_is_said_with_numbers():
    target = given("t.csv", ["the cat", "", "zebra zoo", "the sea"], [""] * 4)
    found = doubts(SOURCE, target, [0, 0, 0, 0])
    assert "t.csv: 1 of 4 documents have no feature left" in found
    assert "t.csv: 1 of 4 documents share no feature with the source" in found
    assert "t.csv: unbalanced predictions: cat 4, sea 0" in found
    assert "graph is empty" not in found
    lopsided = given("s.csv", [*CAT, SEA[0]], ["cat"] * 4 + ["sea"])
    target = given("t.csv", ["cat", "sea"], [""] * 2)
    found = doubts(lopsided, target, [0, 1])
    assert "the source's classes are unbalanced: cat 4, sea 1" in found
    assert "t.csv: no two documents share a feature: their graph is empty" in found


# A task that a YAML file tells


@pytest.fixture
def mine(tmp_path):
    """A YAML file with its data beside it."""
    write_csv(tmp_path / "s.csv", zip(SOURCE.content, SOURCE.labels, strict=True))
    write_csv(tmp_path / "t.csv", zip(TARGET.content, TARGET.labels, strict=True))
    path = tmp_path / "mine.yaml"
    path.write_text("source: s.csv\ntargets: [t.csv]\noptions:\n  min_df: 1\n")
    return path


def test_a_yaml_file_names_a_task_as_a_name_does(mine, home, monkeypatch):
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(home.data))
    built, truth = transferbench.load_task(str(mine))
    assert built.name == f"own:path={mine.as_posix()}"
    assert tasks.Task.named(built.name) == tasks.Task.named(str(mine))
    expected, known = problem([SOURCE], [TARGET], {"min_df": 1})
    for one, other in zip(built.domains, expected.domains, strict=True):
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(truth.Y[1], known.Y[1])
    monkeypatch.chdir(mine.parent)
    assert transferbench.load_task("./mine.yaml")[0].name == "own:path=mine.yaml"


def test_clustering_tasks_and_columns_of_other_names(mine, home):
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
def test_a_changed_file_makes_the_task_anew_and_another_record(mine, home, name):
    class Keys:
        def records(self, runs, say, keep):
            for run in runs:
                yield outcome(run.key, run.run, "failed")

    def key() -> str:
        cells = runner.plan(str(mine), "lr", {}, [0])
        return runner.run(cells, home, engine=Keys(), progress=False)[0]["key"]

    before, path = key(), mine.parent / name
    assert key() == before
    changed = path.read_text() + ("zebra zebra,cat\n" if name.endswith("csv") else "label: label\n")
    path.write_text(changed)
    assert key() != before


def test_a_change_too_small_for_the_facts_counts_too(tmp_path, home):
    lines = "a 1:1000000\nb 2:1000000\na 1:1 2:{}\nb 2:1\n"
    mine = tmp_path / "mine.yaml"
    mine.write_text("source: s.svm\ntargets: t.svm\n")
    (tmp_path / "t.svm").write_text(lines.format(1))
    found = []
    for value in ("1.0", "1.25"):
        (tmp_path / "s.svm").write_text(lines.format(value))
        task = tasks.Task.named(str(mine))
        built, truth = tasks.load(task, home)
        assert built.domains[0].X[2, 1] == float(value)
        files = tasks.contents(task, home)
        found.append((tasks.facts(built, truth), tasks.facts(built, truth, files)))
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]


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
def test_a_mistake_in_the_yaml_comes_with_its_line(mine, home, text, line, message):
    mine.write_text(text)
    with pytest.raises(UserError) as error:
        tasks.load(tasks.Task.named(str(mine)), home)
    place = f"{mine}:{line}: " if line else f"{mine}: "
    assert str(error.value).startswith(place)
    assert message in str(error.value)


def test_other_mistakes_with_a_task_of_ones_own(mine, home):
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


def test_what_describe_says_of_the_yaml_is_what_it_takes(mine, home):
    """The example in the module's docstring, on files of its names."""
    from transferbench.data.datasets import own_task

    example = re.search(r"\n\n((?:    .*\n)+)", own_task.__doc__)[1]
    data = yaml.safe_load(example)
    rows = list(zip(SOURCE.content, SOURCE.labels, strict=True))
    for name in [data["source"], *data["targets"]]:
        write_csv(mine.parent / name, rows, (data["text"], data["label"]))
    mine.write_text("\n".join(line[4:] for line in example.splitlines()))
    built, _ = tasks.load(tasks.Task.named(str(mine)), home)
    assert [domain.name for domain in built.domains] == ["labelled", "mail", "web"]
