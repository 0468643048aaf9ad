"""Zhuang and Luo's files of 20 Newsgroups follow from Rennie's counts, to the last value."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import originals

from transferbench import api
from transferbench.data.text import document_frequency
from transferbench.datasets import zhuang
from transferbench.datasets.newsgroups import GROUPS
from transferbench.datasets.newsgroups_bydate import FILES, recipe, rennie

PAIRS = [("comp-vs-sci", 16), ("rec-vs-sci", 16), ("sci-vs-talk", 6)]


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "least"), PAIRS)
def test_the_files_are_the_recipe_to_the_last_value(pair, least):
    counts, groups = rennie(*originals("gtl/comp-vs-rec-bydate").values())
    tops = pair.split("-vs-")
    rows = np.flatnonzero(np.isin([group.split(".")[0] for group in groups], tops))
    kept = document_frequency(counts[rows]) >= least
    weights, of = recipe(counts, groups, tops, kept)
    np.testing.assert_array_equal(of, rows)
    for group, theirs in zhuang.distributed(f"zhuang/{pair}", originals(f"zhuang/{pair}")).items():
        theirs.data[theirs.data == 1.1e-05] = 0  # the entry that sets the size
        theirs.eliminate_zeros()
        ours = weights[groups[rows] == GROUPS[group]]
        for X in (theirs, ours):
            X.sort_indices()
        assert theirs.shape == ours.shape
        np.testing.assert_array_equal(theirs.indptr, ours.indptr)
        np.testing.assert_array_equal(theirs.indices, ours.indices)
        printed = [float(f"{value:.6g}") for value in ours.data.astype(float)]
        np.testing.assert_array_equal(theirs.data, printed)


@pytest.mark.slow
def test_rennies_counts_have_their_published_size():
    counts, groups = rennie(*originals("gtl/comp-vs-rec-bydate").values())
    assert counts.shape == (18_774, 61_188)
    assert (counts.nnz, counts.sum()) == (2_435_219, 4_562_219)
    assert [groups[i] for i in (0, 9, -1)] == ["alt.atheism", "alt.atheism", "talk.religion.misc"]
    assert (document_frequency(counts) >= 6).sum() == 25_804  # "approximately 25,800", GTL
    sizes = dict(zip(*np.unique(groups, return_counts=True), strict=True))
    assert (sizes["alt.atheism"], sizes["rec.sport.hockey"]) == (798, 997)
    assert FILES.keys() == originals("mrtl/comp-vs-rec-bydate").keys()


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "printed"), [*zip(PAIRS, (0.679, 0.672, 0.784), strict=True)])
def test_logistic_regression_is_at_the_gtl_papers_level(pair, printed):
    """Unit length, as in the tasks `gtl/`, is 4 to 5 points above it."""
    name = f"zhuang/{pair[0]}"
    problem, truth = zhuang.build(name, originals(name))
    accuracy = api.evaluate(api.fit("lr", problem, seed=0), truth)["target"]["accuracy"]
    assert accuracy == pytest.approx(printed, abs=0.01)
