"""The reader of R data, on files written here byte by byte in R's format."""

from __future__ import annotations

import lzma
import struct

import numpy as np
import pytest

from transferbench.data.formats import rda
from transferbench.data.formats.rda import Numbers, read

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
def write(tmp_path):
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


def test_a_data_frame_is_read_without_its_zeros(write):
    frame = named(
        {"Att1": reals(0, 1.5, 0, -2), "Att2": whole(3, 0, 0, 0), "Åtta": whole(0, 1, kind=10)}
    )
    variables = read(write(saved(frame, "sub1")))["sub1"]
    assert list(variables) == ["Att1", "Att2", "Åtta"]
    assert same(variables["Att1"], 4, [1, 3], [1.5, -2])
    assert same(variables["Att2"], 4, [0], [3])
    assert same(variables["Åtta"], 2, [1], [1])
    assert isinstance(variables["Att1"].values[0], np.float64)


def test_nested_lists_texts_null_and_references(write):
    """R names a symbol once and later refers to it by number: here x, then names."""
    inner = named({"a": texts("one", None), "b": NULL}, names=integer(255 | 2 << 8))
    outer = named({"n": reals(7)})  # names becomes the second symbol
    both = integer(19, 3) + outer + inner + texts()
    variables = read(write(saved(both)))["x"]
    assert same(variables[0]["n"], 1, [0], [7])
    assert variables[1:] == [{"a": ["one", None], "b": None}, []]


def test_attributes_other_than_names_are_skipped(write):
    attributes = integer(2 | 0x400) + symbol("dim") + whole(2, 1) + NULL
    variables = read(write(saved(reals(0, 4, flags=0x200) + attributes)))
    assert same(variables["x"], 2, [1], [4])


def test_several_variables(write):
    head = b"RDX2\nX\n" + integer(2, 0, 0)
    pairs = [
        integer(2 | 0x400) + symbol(name) + reals(value) for name, value in (("p", 1), ("q", 2))
    ]
    variables = read(write(head + b"".join(pairs) + NULL))
    assert list(variables) == ["p", "q"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"RDX3\nX\n" + bytes(40), "not R data of version 2"),
        (b"", "is cut off"),
        (saved(reals(1, 2))[:-13], "is cut off"),
        (saved(integer(6)), "R's type 6, which is not supported"),  # code
        (saved(integer(14, -1)), "too many bytes"),
        (saved(integer(14, 1 << 30)), "too many bytes"),
        (saved(integer(19, 1) * 40 + NULL), "too deep"),
        (saved(integer(255 | 9 << 8)), "list index out of range"),
        (b"RDX2\nX\n" + integer(2, 0, 0) + NULL, "no saved variables"),
        (saved(integer(9, 1) + b"\xff"), "utf-8"),
    ],
)
def test_a_file_in_another_format_is_refused_in_one_line(write, content, message):
    with pytest.raises(ValueError, match=message) as error:
        read(write(content), limit=1 << 20)
    assert str(error.value).startswith("made-up.rda: ")
    assert "\n" not in str(error.value)


def test_too_many_or_too_large_values_are_refused(write, monkeypatch):
    monkeypatch.setattr(rda, "MAX_VALUES", 100)
    monkeypatch.setattr(rda, "MAX_VALUE_SIZE", 80)
    path = write(saved(reals(*range(10))))
    assert read(path)["x"].size == 10
    with pytest.raises(ValueError, match="too many bytes"):
        read(write(saved(reals(*range(11)))))
    with pytest.raises(ValueError, match="more than 100 values"):
        read(write(saved(integer(19, 200) + NULL * 200)))


def test_an_uncompressed_file_is_refused(tmp_path):
    path = tmp_path / "plain.rda"
    path.write_bytes(saved(reals(1)))
    with pytest.raises(ValueError, match=r"plain.rda: "):
        read(path)
    path.write_bytes(lzma.compress(saved(reals(*range(500))))[:-20])
    with pytest.raises(ValueError, match=r"plain.rda: "):
        read(path)
