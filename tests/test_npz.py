"""A file of arrays gives back its value, types and layouts, or is refused."""

from __future__ import annotations

import hashlib
import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from varied_values import Pair, parts, varied

from transferbench import npz


@pytest.fixture
def value():
    return varied(np.random.default_rng(0).random((4, 6)))


def test_a_value_comes_back_with_its_types_and_layouts(tmp_path, value):
    npz.write_arrays(tmp_path / "file", {"a": [1, None]}, value)
    assert npz.read_header(tmp_path / "file") == {"a": [1, None]}
    assert parts(npz.read_value(tmp_path / "file", {"Pair": Pair})) == parts(value)


def test_a_file_is_a_digest_and_an_npz_without_pickle(tmp_path, value):
    npz.write_arrays(tmp_path / "file", None, value)
    content = (tmp_path / "file").read_bytes()
    assert content[:32] == hashlib.sha256(b"%d \n" % npz.FORMAT + content[32:]).digest()
    (tmp_path / "file.npz").write_bytes(content[32:])
    with np.load(tmp_path / "file.npz", allow_pickle=False) as arrays:
        assert {"header", "value", "arr_0"} <= set(arrays)


@pytest.mark.parametrize("name", ["Pair", "print"])
def test_only_the_given_dataclasses_are_made(tmp_path, value, name):
    npz.write_arrays(tmp_path / "file", None, value)
    with pytest.raises((KeyError, ValueError)):
        npz.read_value(tmp_path / "file", {name: print})


@pytest.mark.parametrize("read", [npz.read_header, lambda path: npz.read_value(path, {})])
def test_a_damaged_file_is_refused(tmp_path, read):
    npz.write_arrays(tmp_path / "file", None, np.arange(9))
    content = (tmp_path / "file").read_bytes()
    for damaged in (b"", content[:50], content[:-40] + bytes([content[-40] ^ 1]) + content[-39:]):
        (tmp_path / "file").write_bytes(damaged)
        with pytest.raises(ValueError, match="is damaged, or of another version"):
            read(tmp_path / "file")


@pytest.mark.parametrize("other", [{1}, {"a": 1}, object(), np.array([None])])
def test_a_value_of_another_type_is_refused(tmp_path, other):
    with pytest.raises(NotImplementedError, match="cannot be written"):
        npz.write_arrays(tmp_path / "file", None, [other])


READERS = [npz.read_header, lambda path, name="": npz.read_value(path, {}, name)]


@pytest.mark.parametrize("read", READERS)
def test_a_file_is_read_by_the_name_that_it_was_written_for(tmp_path, read):
    npz.write_arrays(tmp_path / "file", None, np.arange(9), "gtl/a-01.task")
    read(tmp_path / "file", "gtl/a-01.task")
    for other in ("", "a-01.task", "gtl/a-02.task", "gtl/a-01.task "):
        with pytest.raises(ValueError, match="was written under another name"):
            read(tmp_path / "file", other)


def sealed(path, members, compression=zipfile.ZIP_STORED):
    """Write a file by hand, with the right digest: {name: (npy header, data)}."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, (shape, data) in members.items():
            array = io.BytesIO()
            about = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(array, about)
            archive.writestr(f"{name}.npy", array.getvalue() + data)
    packed = content.getvalue()
    path.write_bytes(hashlib.sha256(b"%d \n" % npz.FORMAT + packed).digest() + packed)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "members",
    [
        {"header": ((2**45,), b"{}"), "value": ((2,), b"{}")},
        {"header": ((2,), b"{}"), "value": ((2,), b"{}"), "arr_0": ((2**30, 2**30), b"")},
        {"header": ((1,), b"{}"), "value": ((2,), b"{}")},
        {"header": ((2,), b"{}"), "value": ((-2,), b"{}")},
        {"value": ((2,), b"?!"), "header": ((2,), b"?!")},
        {},
    ],
)
def test_a_file_that_lies_about_its_arrays_is_refused(tmp_path, read, members):
    """Its digest is right: whoever writes there could seal it. None of the memory is taken."""
    sealed(tmp_path / "file", members)
    with pytest.raises(ValueError, match="is damaged"):
        read(tmp_path / "file")


def test_compressed_arrays_and_short_row_pointers_are_refused(tmp_path):
    sealed(tmp_path / "file", {"header": ((2,), b"{}")}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="is compressed"):
        npz.read_header(tmp_path / "file")
    matrix = sp.csr_array((3, 3))
    matrix._shape = (2**45, 3)
    npz.write_arrays(tmp_path / "file", None, matrix)
    with pytest.raises(ValueError, match="4 row pointers"):
        npz.read_value(tmp_path / "file", {})
