"""Find documents among those that an estimator was fitted on."""

import numpy as np
import scipy.sparse as sp

#: A document is a fitted one if no value differs by more than this part of itself. The same
#: document in float32 and float64 differs by 1e-7.
ROUNDING = 1e-6
#: Largest value, as a share of a document's largest, that counts as 0.
NOISE = 1e-12


class FittedDocuments:
    """Find documents among the fitted ones, even if their values are rounded differently."""

    # No feature is negative. So if no value differs by more than `ROUNDING` of itself, a sum with
    # positive weights does not, either. A document is compared only with the fitted ones that have
    # nearly its sum. The weights are random, so these are few.
    # `X`: (m, d) the fitted documents, canonical.
    # `rows`: (m,) their rows in a larger matrix. Of equal documents the last one is found.

    def __init__(self, X: sp.csr_array, rows: np.ndarray) -> None:
        largest = X.max(axis=0).toarray().ravel().astype(np.float64)
        scale = np.where(largest > np.finfo(np.float32).tiny, largest, 1)
        self._weights = np.random.default_rng(0).uniform(1, 2, X.shape[1]) / scale
        self._sums, last = np.unique(self._sums_of(X)[::-1], return_index=True)
        last = len(rows) - 1 - last
        self._X, self._rows = X[last], rows[last]

    def _sums_of(self, X: sp.csr_array) -> np.ndarray:
        """Return the weighted sum (n,) of the features of each document."""
        with np.errstate(over="ignore"):
            return np.asarray(X.astype(np.float64) @ self._weights)

    def rows_of(self, X: sp.csr_array) -> np.ndarray:
        """Return (n,) the row of each document among the fitted ones, −1 if it is new."""
        sums, found = self._sums_of(X), np.full(X.shape[0], -1)
        place = np.searchsorted(self._sums, sums * (1 - 2 * ROUNDING))
        end = np.searchsorted(self._sums, sums * (1 + 2 * ROUNDING), "right")
        while (left := np.flatnonzero((found < 0) & (place < end))).size:
            fitted = self._X[place[left]].astype(np.float64)
            excess = abs(X[left].astype(np.float64) - fitted) - ROUNDING * fitted
            least = NOISE * fitted.max(axis=1).toarray().ravel()
            same = excess.max(axis=1).toarray().ravel() <= least
            found[left[same]] = self._rows[place[left[same]]]
            place[left] += 1
        return found
