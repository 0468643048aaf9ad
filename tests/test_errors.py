"""Unknown names show those that are near, not all."""

from __future__ import annotations

import pytest

from transferbench.errors import SeveralErrors, UserError, did_you_mean, unknown

MANY = [f"name-{i:02}" for i in range(30)]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("gmcf", ["gcmf", "lr"], " Did you mean 'gcmf'?"),
        ("GCMF", ["gcmf", "lr"], " Did you mean 'gcmf'?"),
        ("ab-x", ["ab-y", "ab-z", "cc"], " Did you mean 'ab-z'?"),
        ("zzz", ["gcmf", "lr"], ""),
    ],
)
def test_near_names(name, known, hint):
    assert did_you_mean(name, known) == hint


def test_many_names_are_not_listed_where_a_command_lists_them():
    assert str(unknown("model", "zzz", MANY, "See `list`.")) == (
        "unknown model 'zzz'. 30 are known. See `list`."
    )
    assert "Known: lr, svm." in str(unknown("model", "zzz", ["svm", "lr"], "See `list`."))


def test_several_errors_are_told_once_each():
    one, two = UserError("a"), UserError("b")
    assert SeveralErrors.of([one, UserError("a")]) is one
    assert str(SeveralErrors.of([one, two, one])) == "a\nb"
