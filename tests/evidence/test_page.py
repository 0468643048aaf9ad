"""Addresses of cells on a page."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from transferbench.evidence.page import anchor

XS = st.just(math.nan) | st.floats(allow_nan=False)


@given(st.lists(st.tuples(st.text(), st.text(), XS), unique_by=repr))
def test_no_two_cells_have_one_address(places):
    found = [anchor(*place) for place in places]
    assert len(set(found)) == len(places)
    assert not any(re.search(r"\s", name) for name in found)


def test_words_stay_readable():
    assert anchor("comp vs rec", "GCMF") == "comp-vs-rec/GCMF"
    assert anchor("a", "b", 100.0) == "a/b/100"
