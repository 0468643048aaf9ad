from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from transferbench.data.text import PAIRS, count, select, weight

TEXTS = ["The cat saw the cat", "a dog saw xy1 dogs", "cat dog dog dog"]


@pytest.mark.parametrize("pattern", [r"\w\w+", r"(?u)\b(\w)\w+", r"\w*", PAIRS])
def test_counts_are_those_of_scikit_learn_bit_by_bit(pattern):
    texts = [*TEXTS, "", "\u00c9a \u00c9A \u00e9a", "\u732b\u3068\u72ac dog", "zebra ant zebra"]
    vectorizer = CountVectorizer(token_pattern=pattern, dtype=np.int32)
    expected = vectorizer.fit_transform(texts)
    counts, vocabulary = count(texts, pattern)
    assert list(vocabulary) == list(vectorizer.get_feature_names_out())
    for name in ("data", "indices", "indptr"):
        array = getattr(counts, name)
        np.testing.assert_array_equal(array, getattr(expected, name))
        assert array.dtype == np.int32


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("[a-z", "token_pattern"), ("(a)(b)", "several groups"), ("[0-9]{9}", "matches nothing")],
)
def test_an_invalid_pattern_is_reported(pattern, message):
    with pytest.raises(ValueError, match=message):
        count(TEXTS, pattern)


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"stop_words": "english", "min_df": 1}, ["cat", "dog", "dogs", "saw", "xy"]),
        ({"stop_words": "none", "min_df": 2}, ["cat", "dog", "saw"]),
        # cat, dog, saw are in two documents each: alphabetical order decides.
        ({"stop_words": "none", "min_df": 0, "max_features": 2}, ["cat", "dog"]),
    ],
)
def test_features_are_selected_by_document_frequency(options, selected):
    counts, vocabulary = count(TEXTS, "[a-z]{2,}")
    assert list(vocabulary[select(counts, vocabulary, **options)]) == selected


def test_weights_follow_their_formulas():
    counts, _ = count(TEXTS, "[a-z]{2,}")
    C = counts.toarray().astype(float)
    df = (C > 0).sum(axis=0)
    idf = np.log((1 + 3) / (1 + df)) + 1
    logs = np.where(C > 0, 1 + np.log(np.maximum(C, 1)), 0)
    for name, expected in (("tf", C), ("tf-idf", C * idf), ("log-tf", logs)):
        plain = weight(counts, name, False)
        np.testing.assert_allclose(plain.toarray(), expected, rtol=1e-6)
        unit = weight(counts, name, True).toarray()
        np.testing.assert_allclose(
            unit, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6
        )
        assert plain.dtype == np.float32


@pytest.mark.parametrize("weighting", ["tf", "log-tf", "tf-idf"])
def test_weights_of_blocks_equal_those_of_all_rows_at_once(monkeypatch, weighting):
    """Compare with scikit-learn, bit by bit; entries may be in any order."""
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 9, (40, 30)) * (rng.random((40, 30)) < 0.4)
    reference = TfidfTransformer(
        use_idf=weighting == "tf-idf", sublinear_tf=weighting == "log-tf"
    ).fit_transform(sp.csr_array(dense.astype(float)))
    counts = sp.csr_array(dense[:, ::-1])
    counts.indices = 29 - counts.indices
    counts = sp.csr_array((counts.data, counts.indices, counts.indptr), shape=counts.shape)
    monkeypatch.setattr("transferbench.data.text.BLOCK_ROWS", 7)
    expected = reference.astype(np.float32).toarray()
    np.testing.assert_array_equal(weight(counts, weighting, True).toarray(), expected)
