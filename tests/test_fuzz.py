"""Readers of users' files accept or refuse almost valid files; more in `make chaos`."""

from __future__ import annotations

import pickle
import time

import pytest
from chaos.fuzzing import READERS, fuzz
from chaos.watched import Escaped, Hangs, within


@pytest.mark.parametrize("number", [10, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", READERS)
def test_a_file_is_accepted_or_refused_in_one_line(tmp_path, name, number):
    tally = fuzz(name, tmp_path, number, derandomise=True)
    assert tally.accepted + tally.refused >= number
    assert tally.refused > 0


def test_forbidden_actions_of_a_reader_are_detected(tmp_path):
    (tmp_path / "in").mkdir()
    with within(tmp_path / "in"):
        (tmp_path / "in" / "file").write_text("may be")
    with pytest.raises(Escaped, match="outside"), within(tmp_path / "in"):
        (tmp_path / "outside").write_text("may not be")
    with pytest.raises(Escaped, match="pickle"), within(tmp_path / "in"):
        pickle.loads(pickle.dumps(time.sleep))
    with pytest.raises(Hangs), within(tmp_path / "in", seconds=0.05):
        time.sleep(5)
