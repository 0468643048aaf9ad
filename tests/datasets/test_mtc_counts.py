"""The clustering paper's counts as transfer tasks."""

from __future__ import annotations

import pytest
from conftest import originals

from transferbench.datasets import mtc_counts, mtc_newsgroups

PLAIN = {"weighting": "tf", "unit_length": False}


@pytest.mark.parametrize("name", mtc_counts.TASKS)
def test_the_documents_are_those_of_the_clustering_tasks(name):
    clustering = name.replace("mtc-counts/", "mtc/").removesuffix("-reversed")
    problem, truth = mtc_counts.build(name, originals(name), **PLAIN)
    other, other_truth = mtc_newsgroups.build(clustering, originals(name))
    order = slice(None, None, -1 if name.endswith("-reversed") else 1)
    for one, two in zip(problem.domains, other.domains[order], strict=True):
        assert (one.X != two.X).nnz == 0
    for one, two in zip(truth.Y, other_truth.Y[order], strict=True):
        assert (one == two).all()
    assert problem.classes == other.classes
