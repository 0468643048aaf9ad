"""Amazon reviews: content of the files, options."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import originals

from transferbench import api
from transferbench.data import tasks
from transferbench.datasets import amazon

PAIR = "amazon/books-vs-kitchen"
PLAIN = {"min_df": 1, "weighting": "tf", "unit_length": False}


def test_there_are_twelve_ordered_pairs_of_four_files_each():
    assert len(amazon.TASKS) == 12
    assert list(tasks.needed(tasks.Task.named("books-vs-kitchen"))) == [
        "amazon-reviews/books/negative.review",
        "amazon-reviews/books/positive.review",
        "amazon-reviews/kitchen/negative.review",
        "amazon-reviews/kitchen/positive.review",
    ]


@pytest.fixture(scope="module")
def built():
    """The task with its default options."""
    return amazon.build(PAIR, originals(PAIR))


@pytest.mark.slow
def test_counts_are_those_of_the_lines():
    files = originals(PAIR)
    problem, truth = amazon.build(PAIR, files, **PLAIN)
    lines = [
        line for path in files.values() for line in path.read_text(encoding="utf-8").split("\n")
    ]
    terms = {pair.rpartition(":")[0] for line in lines for pair in line.split()[:-1]}
    vocabulary = np.array(sorted(terms))
    negative, positive = list(files.values())[2:]
    for row, path, line in ((0, negative, 0), (9, negative, 9), (-1, positive, -1)):
        *pairs, label = path.read_text(encoding="utf-8").strip().split("\n")[line].split()
        expected = {term: int(n) for term, _, n in (pair.rpartition(":") for pair in pairs)}
        X = problem.domains[1].X[[row]]
        assert dict(zip(vocabulary[X.indices].tolist(), X.data.tolist(), strict=True)) == expected
        assert f"#label#:{problem.classes[truth.Y[1][row].argmax()]}" == label


@pytest.mark.slow
def test_options_have_their_documented_effect(built):
    problem, _ = amazon.build(PAIR, originals(PAIR), min_df=20)
    assert problem.domains[0].X.shape[1] < built[0].domains[0].X.shape[1]


@pytest.mark.slow
def test_logistic_regression_is_at_the_level_of_the_literature(built):
    """Unigrams and bigrams without transfer: about 75 to 80 per cent for books to kitchen."""
    problem, truth = built
    accuracy = api.evaluate(api.fit("lr", problem), truth)["target"]["accuracy"]
    assert 0.74 < accuracy < 0.82


@pytest.fixture
def made_up(tmp_path):
    """Writes the four files of a pair; returns the builder's files."""

    def write(**changes):
        files = {}
        for name in amazon.needed(PAIR):
            label = name.rpartition("/")[2].removesuffix(".review")
            times = 4 if "kitchen" in name else 3
            text = f"dull:1 so_dull:2 #label#:{label}\na:b:{times} #label#:{label}\n"
            text = changes.get(label, text)
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\r\n")
            files[name] = path
        return files

    return write


def test_made_up_files_are_read(made_up):
    problem, truth = amazon.build(PAIR, made_up(), **PLAIN)
    assert problem.classes == ("negative", "positive")
    for times, domain, Y in zip((3, 4), problem.domains, truth.Y, strict=True):
        expected = [[0, 1, 2], [times, 0, 0]] * 2  # terms a:b, dull, so_dull
        np.testing.assert_array_equal(domain.X.toarray(), expected)
        np.testing.assert_array_equal(Y, [[1, 0], [1, 0], [0, 1], [0, 1]])
    assert not problem.domains[1].Y.any()
