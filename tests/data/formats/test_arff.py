"""ARFF, dense and sparse: values, labels, and wrong files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.data.formats import arff
from transferbench.data.formats.arff import read

HEAD = """% made up
@relation 'made up: -C 2'

@attribute a numeric
@attribute 'b c' REAL
@attribute red {0,1}
@attribute n integer
@attribute blue {0, 1}

@data
"""
DENSE = HEAD + "1.5,-2,1,3.5,0\n% a comment\n\n 0, 1e-3 ,0,-0,1\n"
SPARSE = HEAD + "{0 1.5,1 -2,2 1,3 3.5}\n{}\n% a comment\n{ 4 1, 1 1e-3, 0 0 }\n"


@pytest.fixture
def write(tmp_path):
    def to(content: str | bytes):
        path = tmp_path / "made-up.arff"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to


def test_a_dense_file(write):
    table = read(write(DENSE))
    assert (table.features, table.labels) == (["a", "b c", "n"], ["red", "blue"])
    assert (table.X.dtype, table.Y.dtype) == (np.float32, np.int8)
    np.testing.assert_array_equal(table.X, np.float32([[1.5, -2, 3.5], [0, 1e-3, 0]]))
    np.testing.assert_array_equal(table.Y, [[1, 0], [0, 1]])


def test_a_sparse_file_has_no_stored_zeros(write):
    table = read(write(SPARSE))
    assert isinstance(table.X, sp.csr_array)
    assert (table.X.dtype, table.Y.dtype) == (np.float32, np.int8)
    assert table.X.nnz == 4
    assert table.X.has_sorted_indices
    expected = [[1.5, -2, 3.5], [0, 0, 0], [0, 1e-3, 0]]
    np.testing.assert_array_equal(table.X.toarray(), np.float32(expected))
    np.testing.assert_array_equal(table.Y, [[1, 0], [0, 0], [0, 1]])


def test_labels_by_name_are_in_the_order_of_the_file(write):
    table = read(write(DENSE), ["blue", "red"])
    assert table.labels == ["red", "blue"]
    table = read(write(SPARSE), ["blue"])
    assert (table.features, table.labels) == (["a", "b c", "red", "n"], ["blue"])
    np.testing.assert_array_equal(table.X.toarray()[:, 2], [1, 0, 0])


def test_windows_lines_tabs_and_a_byte_order_mark(write):
    tabs = DENSE.replace("@attribute ", "@ATTRIBUTE\t").replace(" integer", "\tINTEGER")
    windows = b"\xef\xbb\xbf" + tabs.replace("\n", "\r\n").encode()
    table = read(write(windows.replace(b"% made up\r\n", b"")))
    np.testing.assert_array_equal(table.X, read(write(DENSE)).X)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not ARFF"),
        ("a,b\n1,2\n", "line 2: not ARFF"),
        (b"PK\x03\x04\xff\xfe", "line 1: expected text in UTF-8"),
        (HEAD.replace("'made up", "'gr\xfcn").encode("latin-1"), "line 2: expected text in UTF-8"),
        (HEAD, "line 10: expected rows after @data"),
        (HEAD + "% nothing\n", "line 11: expected rows after @data"),
        (DENSE.replace("@relation", "relation"), "line 4: not ARFF"),
        (DENSE.replace("@attribute a numeric", "@attribute"), "line 4: not ARFF"),
        (DENSE.replace("a numeric", "a date"), "line 4: unknown type of attribute"),
        (DENSE.replace("{0,1}", "{}"), "line 6: not ARFF"),
        (DENSE.replace("'b c'", "a"), "line 5: the name of an attribute occurs twice"),
        (DENSE.replace("a numeric", "a string"), "attribute 'a': expected a numeric type"),
        (DENSE.replace("a numeric", "a {x,y}"), "attribute 'a': expected a numeric type"),
        (DENSE.replace("{0,1}", "{x}").replace("{0, 1}", "{x}"), "expected a numeric type"),
        (HEAD + "1,2,1,3\n", "line 11: wrong number of values"),
        (HEAD + "1,2,1,3,0,0\n", "line 11: wrong number of values"),
        (DENSE + "1,2,2,3,0\n", "line 15: a value that its nominal attribute does not have"),
        (HEAD + "x,2,1,3,0\n", "line 11: expected numbers"),
        (HEAD + "1,?,1,3,0\n", "line 11: a value is missing"),
        (HEAD + "1,,1,3,0\n", "line 11: a value is missing"),
        (HEAD + "1,2,?,3,0\n", "line 11: a value is missing"),
        (HEAD + "nan,2,1,3,0\n", "line 11: expected finite numbers"),
        (HEAD + "1,-inf,1,3,0\n", "line 11: expected finite numbers"),
        (HEAD + "1,1e39,1,3,0\n", "line 11: expected finite numbers"),
        (HEAD + "1,1_0,1,3,0\n", "line 11: expected finite numbers"),
        (HEAD + "1,'2,1,3,0\n", "line 11: expected a row of numbers"),
        (DENSE + "{0 1}\n", "line 15: a sparse row among dense ones"),
        (SPARSE + "1,2,1,3,0\n", r"line 15: expected a row \{index value"),
        (SPARSE[:-7], r"line 14: expected a row \{index value"),
        (HEAD + "{0 1,-1 2}\n", r"line 11: expected a row \{index value"),
        (HEAD + "{0 1,}\n", r"line 11: expected a row \{index value"),
        (HEAD + "{0 1,5 2}\n", "line 11: an index is out of range"),
        (HEAD + f"{{{'9' * 30} 2}}\n", "line 11: an index is out of range"),
        (HEAD + "{0 1,3 1,0 2}\n", "line 11: an index occurs twice"),
        (HEAD + "{0 one}\n", "line 11: expected numbers"),
        (HEAD + "{0 nan}\n", "line 11: expected finite numbers"),
        (HEAD + "{0 ?}\n", "line 11: a value is missing"),
        (HEAD + "{2 %}\n", "line 11: a value that its nominal attribute does not have"),
        (SPARSE.replace("{0,1}", "{1,0}"), "attribute 'red': expected 0 as the first value"),
        (DENSE.replace("{0,1}", "real").replace("{0, 1}", "real"), "got 0 labels of 5"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(write, content, message):
    with pytest.raises(ValueError, match=message) as error:
        read(write(content))
    assert str(error.value).startswith("made-up.arff: ")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["green"], "has no attribute 'green', which is a label"),
        (["a"], "expected labels 0 and 1"),
        (["a", "b c", "red", "n", "blue"], "expected features and labels, got 5"),
        ([], "expected features and labels, got 0"),
    ],
)
def test_wrong_label_names_are_refused(write, labels, message):
    with pytest.raises(ValueError, match=f"^made-up.arff: {message}"):
        read(write(DENSE), labels)


def test_too_long_lines_and_too_many_values_are_refused(write, monkeypatch):
    monkeypatch.setattr(arff, "MAX_LINE", 40)
    assert read(write(SPARSE)).X.shape == (3, 3)
    with pytest.raises(ValueError, match="line 15: longer than 40 bytes"):
        read(write(SPARSE + "{0 1" + " " * 40 + "}\n"))
    monkeypatch.setattr(arff, "MAX_VALUES", 11)
    with pytest.raises(ValueError, match="line 14: the file has more than 11 values"):
        read(write(DENSE))
    assert read(write(SPARSE)).X.shape == (3, 3)
