"""Unknown names show those that are near, not all; several mistakes have a message each."""

from __future__ import annotations

import pickle

import pytest

from transferbench.errors import SeveralErrors, Unavailable, UserError, closest, unknown


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("GMCF", ["gcmf", "lr"], "gcmf"),
        ("ab-x", ["ab-y", "ab-z", "cc"], "ab-z"),
        ("zzz", ["gcmf", "lr"], ""),
    ],
)
def test_near_names(name, names, hint):
    assert closest(name, names) == hint


def test_many_names_are_not_listed_where_a_command_lists_them():
    many = [f"name-{i:02}" for i in range(30)]
    assert str(unknown("model", "zzz", many, "See `list`.")) == (
        "unknown model 'zzz'. 30 are known. See `list`."
    )
    assert "Known: lr, svm." in str(unknown("model", "zzz", ["svm", "lr"], "See `list`."))


def test_several_errors_are_told_once_each():
    one, two = UserError("a"), UserError("b")
    assert SeveralErrors.combine([one, UserError("a")]) is one
    both = SeveralErrors.combine([one, two, one])
    assert both.args == ("a", "b")
    assert SeveralErrors.combine([both, UserError("c")]).args == ("a", "b", "c")


def test_an_unavailable_file_has_a_short_message_and_reaches_another_process():
    error = pickle.loads(pickle.dumps(Unavailable("no a.tab", "put it at /here")))
    assert (str(error), error.brief) == ("no a.tab; put it at /here", "no a.tab")


def test_known_names_with_commas_or_spaces_are_quoted():
    """The list has commas between its names."""
    message = str(unknown("row", "x", ["comp vs sci, file", "average"]))
    assert message == "unknown row 'x'. Known: average, 'comp vs sci, file'."
