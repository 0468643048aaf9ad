"""Recover term counts: from weights computed here from known counts, rounded as published."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from transferbench.datasets._rcv1_counts import recover_counts

DOCUMENTS = 23_307


def weights(C: sp.csr_array, containing: np.ndarray) -> sp.csr_array:
    """(1 + ln c) ln(D/n(t)), each row of length one, six decimals."""
    rows = np.repeat(np.arange(C.shape[0]), np.diff(C.indptr))
    w = (1 + np.log(C.data)) * np.log(DOCUMENTS / containing)[C.indices]
    length = np.sqrt(np.bincount(rows, w * w, minlength=C.shape[0]))
    return sp.csr_array((np.round(w / length[rows], 6), C.indices, C.indptr), shape=C.shape)


def test_counts_are_recovered_from_their_weights():
    """Terms by Zipf's law; n(t) of another sample, for a few terms 30 times smaller."""
    rng = np.random.default_rng(1)
    n, d = 4_000, 20_000
    common = np.minimum(0.4, 8 / np.arange(5, d + 5) ** 1.1)
    drawn = [rng.geometric(0.7, size) for size in rng.binomial(n, common)]
    rows = [rng.choice(n, len(c), replace=False) for c in drawn]
    columns = np.repeat(np.arange(d), [len(c) for c in drawn])
    C = sp.csr_array((np.concatenate(drawn).astype(float), (np.concatenate(rows), columns)), (n, d))
    containing = np.clip(rng.binomial(DOCUMENTS, common), 1, None)
    drifted = rng.choice(np.arange(500, 3000), 30, replace=False)
    containing[drifted] = 1 + containing[drifted] // 30

    recovered, inferred = recover_counts(weights(C, containing), DOCUMENTS)
    assert (recovered.indices == C.indices).all()
    right = recovered.data == C.data
    wrong_rows = np.unique(np.repeat(np.arange(n), np.diff(C.indptr))[~right])
    assert right.mean() > 0.999
    assert len(wrong_rows) < 0.02 * n
    occurs = np.bincount(C.indices, minlength=d) > 1
    assert (inferred == containing)[occurs].mean() > 0.99
    assert (inferred == containing)[drifted].mean() > 0.9
