"""The user's own files are read completely, or refused in one line."""

from __future__ import annotations

import io
import os
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from user_documents import refused, write_csv, write_jsonl

from transferbench.own import dialect
from transferbench.own.documents import DomainFiles, ReadOptions
from transferbench.own.read import read, read_domain, warn_of_numbering
from transferbench.user_files import check_files

ROWS = [("the cat purrs", "cat"), ('a "ship",\nat sea', "sea"), ("", "cat"), ("Käse été", "sea")]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_every_table_format_gives_the_same_documents(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "jsonl":
        write_jsonl(path, ROWS)
    else:
        write_csv(path, ROWS, delimiter="\t" if kind == "tsv" else ",")
    documents = read(path, labels="all")
    assert [*zip(documents.content, documents.labels, strict=True)] == ROWS


def test_line_ends_within_a_value_are_kept(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbftext,label\r\n"a,\r\nb",x\r\n')
    assert read(tmp_path / "a.csv").content == ["a,\r\nb"]


def test_named_columns_are_read_and_labels_only_on_request(tmp_path):
    path = write_csv(tmp_path / "a.csv", [("x", "b"), ("y", "")], ("body", "topic"))
    columns = ReadOptions(text="body", label="topic")
    assert read(path, columns, "some").labels == ["b", ""]
    assert read(path, columns, "none").labels == ["", ""]


def test_labels_are_names(tmp_path):
    """Numbers of JSON are read as they are written; null, NaN and blanks mean none."""
    rows = [("a", 1), ("b", 1.0), ("c", 2.5), ("d", True), ("e", None), ("f", float("nan"))]
    labels = read(write_jsonl(tmp_path / "a.jsonl", rows), labels="some").labels
    assert labels == ["1", "1.0", "2.5", "true", "", ""]
    (tmp_path / "a.svm").write_text("+1 1:1\n2.5 1:1\nspam 1:1 # 1:2\n? 1:1\n# a\n-1 1:1#b\n- #c\n")
    documents = read(tmp_path / "a.svm", labels="some")
    assert documents.labels == ["+1", "2.5", "spam", "", "-1", "-"]
    assert documents.content.sum(axis=1).tolist() == [1, 1, 1, 1, 1, 0]


#: Pairs of labels that a float, a spreadsheet or a composed form would make one.
WORDS = ["1e2", "100", "00123", "123", "9007199254740993", "9007199254740992", "1", "1.0", "+1"]
WORDS += ["C#", "C", "cafe\u0301", "caf\u00e9", "\ufb01n", "fin", "a\u00a0b", "Ham", "ham", "x,y"]
#: Others, which no word of SVMlight can be.
BLANKS = [" ham", "ham ", "a: b", "\u2003x", '"a"', "#1"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "svm", "labels.txt", "numbers"])
def test_a_label_is_the_text_of_the_file(tmp_path, kind):
    labels = WORDS if kind == "svm" else WORDS[:7] if kind == "numbers" else [*WORDS, *BLANKS]
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        write_csv(path, [("x", label) for label in labels])
    elif kind == "svm":
        path.write_text("".join(f"{label} 1:1\n" for label in labels), encoding="utf-8")
    elif kind == "labels.txt":
        path.write_bytes("\r\n".join(labels).encode())
        path = tmp_path / "a.npz"
        sp.save_npz(path, sp.csr_array(np.ones((len(labels), 1))))
    elif kind == "numbers":
        labels.remove("00123")  # no number of JSON
        path = tmp_path / "a.jsonl"
        path.write_text("".join(f'{{"text": "x", "label": {label}}}\n' for label in labels))
    else:
        write_jsonl(path, [("x", label) for label in labels])
    assert read(path, labels="all").labels == labels


def npz(method: int = zipfile.ZIP_STORED, **arrays) -> bytes:
    """Return an npz as scipy.sparse writes it, with some arrays replaced."""
    whole = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "indices": np.array([0, 2], np.int32),
        "indptr": np.array([0, 1, 2], np.int32),
        "data": np.array([1.0, 2.0]),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, array in (whole | arrays).items():
            part = io.BytesIO()
            np.save(part, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", part.getvalue())
    return content.getvalue()


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


#: Contents of files that are refused, by their names.
BAD = {
    # tables
    "empty.csv": (b"", "the file is empty"),
    "column.csv": (b'txt,label\n"a\nc",b\n', ":1: no column 'text' among 'txt', 'label'; name"),
    "semicolon.csv": (b"text;topic\na;b\n", ":1: no column 'label' among 'text', 'topic'; name"),
    "case.csv": (b"Text,TEXT,label\na,b,c\n", ":1: no column 'text' among 'Text', 'TEXT', "),
    "twice.csv": (b"text,label,text\na,b,c\n", ":1: column 'text' occurs twice"),
    "nolabel.csv": (b"text,label\na,b\nc, \n", ":3: no label; every document of a source needs"),
    "control.csv": (b"text,label\na,b\x1b[31m\n", r":2: label: 'b\\x1b\[31m' has control chara"),
    "much.csv": (b"text,label\n" + b"a" * 2200, "the setting max_size"),
    "line.csv": (
        b"text,label\n" + b"x" * 1000,
        ":2: a line of 1,000 bytes, expected at most 400; s",
    ),
    "line.tsv": (
        b"text\tlabel\n" + b"x" * 1000 + b"\r\n",
        ":2: a line of 1,000 bytes, expected at",
    ),
    "value.csv": (
        b'text,label\n"' + b"word\n" * 100 + b'",a\n',
        r":2: field larger .*\(400\) in line",
    ),
    "broken.jsonl": (b'{"text": "a", "label": "b"}\n{"text"\n', ":2: Expecting ':'"),
    "deep.jsonl": (b'{"text": ' + b"[" * 190, ":1: "),
    "labels.jsonl": (b'{"text": "a", "label": ["b"]}', ":1: label: expected a text or a number"),
    "twice.jsonl": (
        b'{"text": "a", "label": "b", "label": "c"}',
        ":1: column 'label' occurs twice",
    ),
    "key.jsonl": (b'{"\\ud800": "a"}', ":1: 'utf-8' codec can't encode"),
    "absent.jsonl": (b'{"text": "a", "label": "b"}\n{"label": "b"}', ":2: no 'text'; expected it"),
    "number.jsonl": (b'{"text": 1, "label": "b"}', ":1: text: expected text, got '1'"),
    "lone.jsonl": (b'{"text": "a", "label": "\\ud800"}', "has control characters"),
    "line.jsonl": (b"\n" + b"x" * 1000, ":2: a line of 1,000 bytes, expected at most 400; split"),
    "table.xlsx": (b"PK", "unknown kind of file; expected .csv, .tsv, .jsonl, .svm"),
    # matrices
    "word.svm": (
        b"a 1:1\nb 1:x\n",
        ':2: expected "<label> <feature>:<number>.* features ascending',
    ),
    "number.svm": (b"a 1:1\na 1:2 3:4x\n", ":2: expected .* features ascending"),
    "colon.svm": (b"a 1:1\na 1:2 2\n", ":2: expected .* features ascending"),
    "order.svm": (b"a 1:1\na 2:1 1:1\n", ":2: expected .* features ascending"),
    "twice.svm": (b"a 1:1\na 1:1 1:1\n", ":2: expected .* features ascending"),
    "label.svm": (b"a 1:1\n:1 2:1\n", ":2: expected .* features ascending"),
    "control.svm": (b"ok 1:1\nc\x1b[2J 1:1\n", r":2: label: 'c\\x1b\[2J' has control characters"),
    "line.svm": (
        b"a 1:1\n" + b"x" * 1000,
        ":2: a line of 1,000 bytes, expected at most 400; split",
    ),
    "minus.svm": (b"a 1:1\nb 1:1 2:-1\n", ": document 2 has -1; expected finite numbers of 0 or"),
    "hashed.svm": (b"a 1:-1\n", "more; use HashingVectorizer with alternate_sign=False, texts"),
    "wide.svm": (b"a 1:1\nb 99999999:1\n", ":2: expected numbers of features below"),
    "none.svm": (b"a 1:1\n? 1:1\n", ":2: no label"),
    "not.npz": (b"text", "not a matrix written by scipy.sparse.save_npz"),
    "outside.npz": (npz(indices=np.array([0, 3], np.int32)), "must be < 3"),
    "huge.npz": (npz(shape=np.array([10**12, 3])), "not a matrix"),
    "complex.npz": (npz(data=np.array([1j, 2])), "expected real numbers"),
    "pickle.npz": (npz(data=np.array([Evil(), 1])), "not a matrix"),
    "lonely.npz": (npz(), "no labels; expected"),
    "long.npz": (npz(shape=np.ones(50, int)), "shape"),
    "size.npz": (npz(data=np.ones(3)), "same size"),
    "flat.npz": (npz(data=np.ones((2, 1))), "1-D"),
    "bzip2.npz": (npz(zipfile.ZIP_BZIP2), "packed by deflate"),
    "lzma.npz": (npz(zipfile.ZIP_LZMA), "packed by deflate"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_unreadable_file_is_refused_in_one_line(tmp_path, monkeypatch, name):
    """The limits on the size and on a line are lowered, so that the test is short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dialect, "MAX_LINE", 2300 if name == "much.csv" else 400)
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content)
    with refused(f"^{re.escape(str(tmp_path / name))}.*{message}"):
        check_files([tmp_path / name], 2000)
        read(tmp_path / name, labels="all")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_too_many_different_keys_are_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "a", "k{i}": 1}}\n' for i in range(1001)))
    with refused("1002 different keys; expected the same in every row"):
        read(path)


def test_names_in_another_case_and_encodings_by_file_are_read_and_blank_rows_left_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("Text;LABEL\nMüller;b\n ; \n;\nc;d\n".encode("cp1252"))
    with pytest.warns(UserWarning, match=r"a\.csv: 2 blank rows are skipped"):
        documents = read(path, ReadOptions(encoding="cp1252"), labels="all")
    assert (list(documents.content), documents.labels) == (["Müller", "c"], ["b", "d"])
    with refused("^encoding 'utf-99': expected one such"):
        read(path, ReadOptions(encoding="utf-99"))


def test_a_missing_file_a_folder_and_a_device_are_refused(tmp_path):
    (tmp_path / "null.csv").symlink_to(os.devnull)
    for name, message in (
        ("no.csv", "no such file"),
        (".", "not a file"),
        ("null.csv", "not a fi"),
    ):
        with refused(message):
            check_files([tmp_path / name], 2000)


def test_files_of_a_domain_follow_each_other(tmp_path):
    files = (
        write_csv(tmp_path / "a.csv", ROWS[:2]),
        write_jsonl(tmp_path / "b.jsonl", [("x", "sea", 7)], ("text", "label", "id")),
    )
    documents = read_domain(DomainFiles("d", tmp_path, files), labels="all")
    assert list(documents.content) == [*(text for text, _ in ROWS[:2]), "x"]
    assert documents.labels == ["cat", "sea", "sea"]
    assert list(documents.table.index) == [
        (f"{files[i]}", row) for i, row in ((0, 1), (0, 2), (1, 1))
    ]
    assert documents.table["id"].fillna("").tolist() == ["", "", "7"]
    assert (documents.path, documents.name, len(documents)) == (tmp_path, "d", 3)


def test_a_matrix_that_unpacks_to_too_many_bytes_is_refused(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.ones((200, 200))))
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    with refused("bytes unpacked, expected at most 80,000"):
        check_files([tmp_path / "a.npz"], 20_000)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
def test_npz_and_svmlight_matrices_are_read_unchanged(tmp_path, form):
    rng = np.random.default_rng(0)
    dense = rng.random((6, 9)) * (rng.random((6, 9)) < 0.4)
    sp.save_npz(tmp_path / "a.npz", getattr(sp, form)(dense))
    (tmp_path / "a.labels.txt").write_text("x y\n\nz\nx y\nz\nz\n")
    documents = read(tmp_path / "a.npz", labels="some")
    assert documents.labels == ["x y", "", "z", "x y", "z", "z"]
    np.testing.assert_array_equal(documents.content.toarray(), dense)
    lines = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row.tolist()) if v) for row in dense]
    (tmp_path / "a.svm").write_text("\n".join(f"c  {line} # why" for line in lines))
    other = read(tmp_path / "a.svm").content.toarray()
    np.testing.assert_array_equal(other, dense[:, : other.shape[1]])


def test_a_long_line_of_svmlight_takes_little_memory(tmp_path):
    entries = " ".join(f"{j}:1" for j in range(20_000))
    (tmp_path / "a.svm").write_text(f"a {entries} # why\n")
    tracemalloc.start()
    assert read(tmp_path / "a.svm").content.nnz == 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(entries)


@pytest.mark.parametrize("numbered", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_a_file_without_feature_0_is_warned_of_if_another_has_it(tmp_path, numbered, recwarn):
    files = []
    for name, first in zip("st", numbered, strict=True):
        (tmp_path / f"{name}.svm").write_text(f"a {first}:1 {first + 1}:2\nb {first + 1}:1\nb\n")
        files.append(read(tmp_path / f"{name}.svm"))
    warn_of_numbering(files)
    warned = [str(each.message) for each in recwarn]
    assert len(warned) == (numbered[0] != numbered[1])
    lacking = tmp_path / ("t.svm" if numbered[0] == 0 else "s.svm")
    for text in warned:
        assert text.startswith(f"{lacking}: no document has feature 0, but documents of ")
        assert "numbered from 0 in one file and from 1 in the other" in text


def test_entries_at_the_same_place_are_summed_without_overflow(tmp_path):
    """They would count as two documents with the feature, and 128 + 128 is 0 in a byte."""
    matrix = sp.coo_array((np.full(2, 128, "u1"), ([1, 1], [0, 0])), shape=(2, 1))
    sp.save_npz(tmp_path / "a.npz", matrix)
    X = read(tmp_path / "a.npz").content
    assert (X.toarray().tolist(), X.nnz) == ([[0], [256]], 1)


def test_another_number_of_labels_than_documents_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz())
    (tmp_path / "a.labels.txt").write_text("x\nz\ny\n")
    with refused(r"a\.labels\.txt: 3 labels for the 2 documents of a"):
        read(tmp_path / "a.npz", labels="some")


def test_lines_that_end_as_on_old_machines_are_not_one_long_line(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("text,label\r" + "some words,a\r" * 50, newline="")
    monkeypatch.setattr(dialect, "MAX_LINE", 100)
    assert len(read(path)) == 50
