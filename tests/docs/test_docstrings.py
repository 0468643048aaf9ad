"""The check of docstrings, tests/docstrings.py, finds planted faults."""

from __future__ import annotations

import pytest

docstrings = pytest.importorskip("docstrings", reason="needs numpydoc")

FUNCTION = '''"""A module."""


def scale(X, *, factor=1.0):
    """Return X times a factor.

    Parameters
    ----------
    X
        Documents (n, d).
    {name}
        Number to multiply by.
    """
'''
CLASS = '''"""A module."""


@dataclass
class Pair:
    """Two numbers.

    Parameters
    ----------
    first
        One number.
    {name}
        Another number.
    """

    first: int
    second: int
'''


@pytest.mark.parametrize(
    ("text", "right"), [(FUNCTION, "factor"), (CLASS, "second")], ids=["function", "dataclass"]
)
def test_a_parameter_that_the_signature_lacks_is_found(tmp_path, capsys, text, right):
    file = tmp_path / "planted.py"
    file.write_text(text.format(name=right), encoding="utf-8")
    assert docstrings.check([file]) == 0
    file.write_text(text.format(name="known"), encoding="utf-8")
    assert docstrings.check([file]) == 1
    faults = capsys.readouterr().err
    assert f"PR01 Parameters {{'{right}'}} not documented" in faults
    assert "PR02 Unknown parameters {'known'}" in faults


@pytest.mark.parametrize(
    ("sentence", "faults"),
    [
        ("Return y times x. y: a number.", ["'y'"]),
        ("Return y times x.\n\n    x, y: two numbers.\n    ", ["'x'", "'y'"]),
        ("Return the product of x and y: a number.", []),
        ("Return the product: a number.", []),
    ],
)
def test_a_parameter_in_a_sentence_is_found(tmp_path, capsys, sentence, faults):
    file = tmp_path / "planted.py"
    text = f'"""A module."""\n\n\ndef times(x, y):\n    """{sentence}"""\n'
    file.write_text(text, encoding="utf-8")
    assert docstrings.check([file]) == bool(faults)
    found = capsys.readouterr().err
    assert all(f"PR01 Parameter {name} is described in a sentence" in found for name in faults)


def test_a_docstring_of_sentences_needs_no_section(tmp_path):
    file = tmp_path / "sentences.py"
    file.write_text('"""A module."""\n\n\ndef twice(x):\n    """Return 2 x."""\n', encoding="utf-8")
    assert docstrings.check([file]) == 0
