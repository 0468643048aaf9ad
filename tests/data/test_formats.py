"""ARFF, dense and sparse, and R data, on files written here."""

from __future__ import annotations

import lzma
import struct

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench.data.formats import Numbers, read_arff, read_rda

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
def write_arff(tmp_path):
    def to(content: str | bytes):
        path = tmp_path / "made-up.arff"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to


def test_a_dense_file(write_arff):
    X, Y, labels = read_arff(write_arff(DENSE))
    assert labels == ["red", "blue"]
    assert (X.dtype, Y.dtype) == (np.float32, np.int8)
    np.testing.assert_array_equal(X, np.float32([[1.5, -2, 3.5], [0, 1e-3, 0]]))
    np.testing.assert_array_equal(Y, [[1, 0], [0, 1]])


def test_a_sparse_file_has_no_stored_zeros(write_arff):
    X, Y, _ = read_arff(write_arff(SPARSE))
    assert isinstance(X, sp.csr_array)
    assert (X.dtype, Y.dtype) == (np.float32, np.int8)
    assert X.nnz == 4
    assert X.has_sorted_indices
    expected = [[1.5, -2, 3.5], [0, 0, 0], [0, 1e-3, 0]]
    np.testing.assert_array_equal(X.toarray(), np.float32(expected))
    np.testing.assert_array_equal(Y, [[1, 0], [0, 0], [0, 1]])


def test_labels_by_name_are_in_the_order_of_the_file(write_arff):
    _, _, labels = read_arff(write_arff(DENSE), ["blue", "red"])
    assert labels == ["red", "blue"]
    X, _, labels = read_arff(write_arff(SPARSE), ["blue"])
    assert labels == ["blue"]
    np.testing.assert_array_equal(X.toarray()[:, 2], [1, 0, 0])


# R data

NULL = struct.pack(">i", 254)


def integer(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def text(value: str | None) -> bytes:
    if value is None:
        return integer(9, -1)
    return integer(9 | 64 << 12, len(value.encode())) + value.encode()


def symbol(name: str) -> bytes:
    return integer(1) + text(name)


def texts(*values: str | None) -> bytes:
    return integer(16, len(values)) + b"".join(map(text, values))


def reals(*values: float, flags: int = 0) -> bytes:
    return integer(14 | flags, len(values)) + struct.pack(f">{len(values)}d", *values)


def whole(*values: int, kind: int = 13) -> bytes:
    return integer(kind, len(values), *values)


def named(items: dict[str, bytes], names: bytes | None = None) -> bytes:
    """A list with the attribute `names`; pass its symbol if it is not the first."""
    start = integer(19 | 0x200, len(items)) + b"".join(items.values())
    return start + integer(2 | 0x400) + (names or symbol("names")) + texts(*items) + NULL


def saved(content: bytes, name: str = "x") -> bytes:
    head = b"RDX2\nX\n" + integer(2, 0x30400, 0x20300)
    return head + integer(2 | 0x400) + symbol(name) + content + NULL


@pytest.fixture
def write_rda(tmp_path):
    def to(content: bytes):
        path = tmp_path / "made-up.rda"
        path.write_bytes(lzma.compress(content))
        return path

    return to


def same(numbers: Numbers, size: int, positions: list[int], values: list[float]) -> bool:
    return (numbers.size, numbers.positions.tolist(), numbers.values.tolist()) == (
        size,
        positions,
        values,
    )


def test_a_data_frame_is_read_without_its_zeros(write_rda):
    frame = named(
        {"Att1": reals(0, 1.5, 0, -2), "Att2": whole(3, 0, 0, 0), "Åtta": whole(0, 1, kind=10)}
    )
    variables = read_rda(write_rda(saved(frame, "sub1")))["sub1"]
    assert list(variables) == ["Att1", "Att2", "Åtta"]
    assert same(variables["Att1"], 4, [1, 3], [1.5, -2])
    assert same(variables["Att2"], 4, [0], [3])
    assert same(variables["Åtta"], 2, [1], [1])
    assert isinstance(variables["Att1"].values[0], np.float64)


def test_nested_lists_texts_null_and_references(write_rda):
    """R names a symbol once and later refers to it by number: here x, then names."""
    inner = named({"a": texts("one", None), "b": NULL}, names=integer(255 | 2 << 8))
    outer = named({"n": reals(7)})  # names becomes the second symbol
    both = integer(19, 3) + outer + inner + texts()
    variables = read_rda(write_rda(saved(both)))["x"]
    assert same(variables[0]["n"], 1, [0], [7])
    assert variables[1:] == [{"a": ["one", None], "b": None}, []]


def test_code_is_refused(write_rda):
    with pytest.raises(ValueError, match="R's type 6 is not supported"):
        read_rda(write_rda(saved(integer(6))))
