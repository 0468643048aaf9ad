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
#: Names of the planted file that the reference documents.
PUBLIC = {"planted.scale", "planted.Pair", "planted.times"}


@pytest.fixture
def checked(tmp_path):
    """Return the exit code of the check of a module with a text."""

    def check(text, public=PUBLIC):
        file = tmp_path / "planted.py"
        file.write_text(text, encoding="utf-8")
        return docstrings.check([file], public)

    return check


@pytest.mark.parametrize(
    ("text", "right"), [(FUNCTION, "factor"), (CLASS, "second")], ids=["function", "dataclass"]
)
def test_a_parameter_that_the_signature_lacks_is_found(checked, capsys, text, right):
    assert checked(text.format(name=right)) == 0
    assert checked(text.format(name="known")) == 1
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
def test_a_parameter_in_a_sentence_is_found(checked, capsys, sentence, faults):
    text = f'"""A module."""\n\n\ndef times(x, y):\n    """{sentence}"""\n'
    assert checked(text) == bool(faults)
    found = capsys.readouterr().err
    assert all(f"PR01 Parameter {name} is described in a sentence" in found for name in faults)


@pytest.mark.parametrize("text", [FUNCTION.format(name="factor"), CLASS.format(name="second")])
def test_what_the_reference_does_not_document_has_no_section(checked, capsys, text):
    assert checked(text, public=set()) == 1
    assert "expected one sentence" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Return 2 x.", 0),
        ("Return W of eq. 5, see `scale`.", 0),
        ("Return 2 x. It is even.", 1),
        ("Return 2 x.\n\n    It is even.\n    ", 1),
    ],
)
def test_a_helper_has_a_docstring_of_one_sentence(checked, docstring, fault):
    helper = f'def twice(x):\n    """{docstring}"""\n'
    method = f'class Number:\n    """A number."""\n\n    {helper.replace("    ", " " * 8)}'
    assert checked(f'"""A module."""\n\n\n{helper}') == fault
    assert checked(f'"""A module."""\n\n\n{method}') == fault


def test_the_help_of_a_command_may_be_long(checked):
    help = '"""Print.\n\n    More.\n    """'
    text = f'"""A module."""\n\n\n@click.command()\ndef command():\n    {help}\n'
    assert checked(text) == 0
    assert checked(text.replace("@click.command()", "@cache")) == 1


def test_public_is_what_the_reference_documents():
    public = docstrings.public_names()
    assert public >= {
        "transferbench.api.fit",  # as a member of the package
        "transferbench.problem.Domain.take",  # as a method of a member
        "transferbench.own.estimators.MultiTaskClusterer.fit",
        "transferbench.own.estimators.TransductiveClassifier.predict",  # inherited
        "transferbench.data.text.count",  # for plug-ins
        "transferbench.models.transfer.gcmf.fit",  # on a page of its own
        "transferbench.data.problems.builder.build",  # of several datasets
    }
    assert "transferbench.core.graph.cosine_graph" not in public
    assert not [name for name in public if "._" in name]
