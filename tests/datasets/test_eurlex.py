"""EUR-Lex, on made-up files of the expected format; the originals are not read here."""

from __future__ import annotations

import numpy as np

from transferbench.datasets import eurlex

LABELS = ("tag_3.60.59.0", "tag_3.60.10.0", "tag_11.30.40.0", "tag_3.70.0.0", "tag_11.5.0.0")
#: Weights and labels of six documents.
ROWS = (
    "{0 3,1 4,4 1}",  # 3.60
    "{0 1.5,5 1}",  # 3.60
    "{1 2,5 1,6 1}",  # 3.60, 11.30
    "{2 2,6 1}",  # 11.30
    "{2 1,3 1,7 1}",  # 3.70
    "{3 0.25,7 1,8 1}",  # 3.70, 11.5
)


def test_codes_of_the_first_level_are_unions_in_numerical_order(tmp_path):
    lines = [f"@attribute word{i} numeric" for i in range(4)]
    lines += [f"@attribute {label} {{0,1}}" for label in LABELS]
    (file,) = eurlex.FILES
    path = tmp_path / "eurlex-made-up.arff"
    path.write_text("\n".join(["@relation 'EUR-Lex: -C 5'", *lines, "", "@data", *ROWS, ""]))
    problem, truth = eurlex.build("eurlex/directory-codes", {file: path}, tasks=2)
    assert problem.classes == ("3", "11")
    assert truth.names == ("task-1", "task-2")
    # 3.60 and 11.30 are the largest of their first level, 3.70 and 11.5 the next.
    np.testing.assert_array_equal(truth.Y[0], [[1, 0], [1, 0], [1, 1], [0, 1]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 0], [1, 1]])
    weights, topics = problem.domains[0].views
    expected = [[0.6, 0.8, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    np.testing.assert_allclose(weights.toarray(), expected, rtol=1e-6)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-3)
    assert topics.min() > 0
