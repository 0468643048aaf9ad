"""Read counts and class labels from a MATLAB file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp


def read_counts(path: Path, counts: str, labels: str) -> tuple[sp.csr_array, np.ndarray]:
    """Return counts (n, d) and class indices (n,) from two variables of a MATLAB file.

    The labels in the file are 1 and 2; the indices are 0 and 1. Raises ValueError for a file
    without these variables or with other content.
    """
    from scipy.io import loadmat

    contents = loadmat(path, variable_names=[counts, labels])
    missing = [variable for variable in (counts, labels) if variable not in contents]
    if missing:
        raise ValueError(f"{path.name}: has no variable {' and no '.join(missing)}")
    X, y = sp.csr_array(contents[counts]), np.ravel(contents[labels])
    if len(y) != X.shape[0] or not np.isin(y, (1, 2)).all():
        raise ValueError(f"{path.name}: expected a label 1 or 2 for each of {X.shape[0]} rows")
    return X, y.astype(np.intp) - 1
