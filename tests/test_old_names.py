"""Modules that moved are still found where they were, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

from transferbench.own import doubts, tasks


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("transferbench.userdata.doubts", doubts, "fit_doubts"),
        ("transferbench.userdata.tasks", tasks, "build"),
    ],
)
def test_an_old_module_has_the_new_names_and_warns(monkeypatch, old, new, name):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(FutureWarning, match=new.__name__):
        module = importlib.import_module(old)
    assert getattr(module, name) is getattr(new, name)
