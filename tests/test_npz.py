"""A file of arrays gives back its value, types and layouts, or is refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
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
