"""Check and read the arrays that estimators get: labels, domains, a sample and weights.

Each integer in `sample_domain` is a domain. Domains from 0 on are sources, and negative ones are
targets, as in skada. A label of −1 is none. None, NaN, pandas' NA and NaT and masked values are
missing, and are read as −1.
"""

import warnings
from collections import Counter
from collections.abc import Iterator, Set
from numbers import Integral, Number
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from transferbench.messages import counted

#: skada's values: the label of an unlabelled document, the domain of a source.
MASKED, SOURCE = -1, 1
#: Labels that stand for none, among targets if no source has them.
PLACEHOLDERS = {"", "?", "-1", "none", "nan", "na", "<na>", "nat"}
#: The `label_sample` that names every labelled document of a target.
GIVEN = "given"


def by_domain(domain: np.ndarray, among: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each domain and its rows among some documents (n,), sources first."""
    for d in sorted({*domain[among].tolist()}, key=lambda d: (d < 0, abs(d))):
        yield d, np.flatnonzero(among & (domain == d))


def checked_domains(sample_domain: Any, *arrays: Any) -> np.ndarray:
    """Return sample_domain as an array (n,) as long as the others; None stands for one source."""
    if sample_domain is None:
        sample_domain = np.full(arrays[-1].shape[0], SOURCE)
    if np.ma.is_masked(sample_domain):
        raise ValueError("sample_domain has masked values; expected the domain of every document")
    domain = np.asarray(column_or_1d(np.asarray(sample_domain)))
    check_consistent_length(*arrays, domain)
    if domain.dtype == object and all(isinstance(d, Integral) for d in domain.tolist()):
        domain = np.array(domain.tolist())
    if domain.dtype.kind not in "iu":
        raise ValueError(
            f"expected integers in sample_domain, got {domain.dtype}; give 0 or more to documents "
            "of a source and a negative number to those of a target, as in "
            "np.where(is_source, 1, -2)"
        )
    if domain.size and not -(2**62) < int(domain.min()) <= int(domain.max()) < 2**62:
        raise ValueError("expected integers between -2**62 and 2**62 in sample_domain")
    return domain.astype(np.int64)


def label_array(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return y (n,) or (n, c) with −1 for missing values, and True where one is missing."""
    y = y.toarray() if sp.issparse(y) else y
    masked = np.ma.getmaskarray(y) if np.ma.is_masked(y) else False
    given, y = y, np.asarray(y)
    if y.dtype.kind == "U" and not hasattr(given, "dtype"):  # a list: numbers may be texts now
        kept = np.asarray(given, object)
        y = y if all(isinstance(label, str) for label in kept.ravel()) else kept
    missing = np.asarray(pd.isna(y)) | masked
    if missing.any():
        y = y.astype(object)
        y[missing] = MASKED
    if y.dtype == object and all(isinstance(label, Number | np.bool) for label in y.ravel()):
        y = np.array(y.tolist())  # pandas' nullable numbers
    return y, missing


def check_sources(y: np.ndarray, missing: np.ndarray, source: np.ndarray) -> None:
    """Raise ValueError if labels of sources are missing, and warn of blank ones."""
    rows = missing.reshape(len(y), -1).any(axis=1) & source
    if rows.any():
        raise ValueError(
            f"Input y contains NaN or None for {rows.sum()} documents of sources, first in row "
            f"{rows.argmax()}; give them a label, leave them out, or give them a negative domain, "
            "which is a target"
        )
    labels = [label for label in y[source].ravel().tolist() if isinstance(label, str)]
    blank = Counter(label for label in labels if label.strip() in ("", "?"))
    for label, count in blank.items():
        warnings.warn(
            f"the label {label!r} of {counted(count, 'document')} of sources is a class like "
            "any other; if it stands for no label, leave them out or give them a negative "
            "domain, which is a target.",
            stacklevel=3,
        )


def classes_of(labels: np.ndarray, unlabelled: int) -> np.ndarray:
    """Return the classes (c,) of the labels (n,) of sources, which are two or more."""
    texts = {isinstance(label, str): label for label in labels.tolist()}
    if len(texts) > 1:
        raise ValueError(
            f"y of sources mixes texts with other values, such as {texts[True]!r} and "
            f"{texts[False]!r}; expected only texts or only numbers"
        )
    if labels.dtype == object and isinstance(texts.get(False), Number | np.bool):
        labels = np.array(labels.tolist())  # beside texts of targets, numbers are objects
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) < 2:
        message = f"the sources have one class, {classes[0]}; expected two classes or more"
        if unlabelled:
            message += (
                f"; the label −1, which {unlabelled} documents have, means unlabelled, as in "
                "skada: if it is a class, rename it, as by y + 1"
            )
        raise ValueError(message)
    return classes


def absent(y: np.ndarray, classes: Set[Any]) -> np.ndarray:
    """Return True for each value (n, 1 or c) that is no label: −1, or a placeholder."""
    # A text that looks like a class is a label, perhaps a misspelt one.
    marks = PLACEHOLDERS - {str(label).strip().casefold() for label in classes}
    none = np.asarray(y == MASKED)
    if y.dtype.kind in "OU":
        texts = [isinstance(v, str) and v.strip().casefold() in marks for v in y.ravel().tolist()]
        none = none | np.reshape(texts, y.shape)
    return none.reshape(len(y), -1)


def warn_of_masked(classes: np.ndarray, unlabelled: int) -> None:
    """Warn if the label −1 in sources may be a class, because other labels are numbers."""
    if unlabelled and all(isinstance(c, Number) for c in classes.tolist()):
        warnings.warn(
            f"{unlabelled} documents of sources have the label −1 and are taken as "
            "unlabelled, as in skada; if −1 is a class, rename it, as by y + 1; otherwise "
            "give these documents a negative domain to silence this warning.",
            stacklevel=3,
        )


def warn_of_hidden(domain: np.ndarray, labelled: np.ndarray) -> None:
    """Warn if a part of a target's documents is labelled (n,), which may be meant as a sample."""
    found = [
        f"{labelled[rows].sum()} of {len(rows)} documents of target {d}"
        for d, rows in by_domain(domain, domain < 0)
        if labelled[rows].any() and not labelled[rows].all()
    ]
    if found:
        warnings.warn(
            f"y labels {', '.join(found[:3])}{', …' * (len(found) > 3)}, and the fit does not use "
            f"these labels; label_sample={GIVEN!r} trains on them all, and a mask on some of them "
            "(np.zeros(len(y), bool) on none, without this warning).",
            stacklevel=4,
        )


def checked_sample(label_sample: Any, n: int) -> np.ndarray:
    """Return label_sample (n,) as bool; raise ValueError if it is no such mask."""
    if isinstance(label_sample, str):
        raise ValueError(
            f"label_sample={label_sample!r}: expected a mask, True for documents whose labels "
            f"train the model, or in `fit` {GIVEN!r}; a split needs other labels to score"
        )
    if np.shape(label_sample) != (n,) and np.ndim(label_sample) == 1:
        raise ValueError(
            f"label_sample has {len(label_sample)} values; expected True or False for each of {n} "
            "documents (of indices: np.isin(np.arange(n), indices))"
        )
    if np.ma.is_masked(label_sample) or pd.isna(np.asarray(label_sample)).any():
        raise ValueError("label_sample has missing values; expected True or False everywhere")
    return np.asarray(column_or_1d(label_sample)).astype(bool)


def checked_weights(sample_weight: Any, y: np.ndarray) -> np.ndarray:
    """Return sample_weight (n,); a number is the weight of every document, None stands for 1."""
    weights = np.asarray(_check_sample_weight(sample_weight, y, dtype=np.float64))
    if (weights < 0).any():
        raise ValueError("sample_weight: expected finite numbers of 0 or more")
    if not weights.any():
        raise ValueError("sample_weight: every weight is zero; expected some above it")
    return weights
