"""Matrices and labels of a task, written for other programs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import make_multilabel, make_problem
from sklearn.datasets import load_svmlight_file

from transferbench import tasks


def read(path, shape):
    """Return a matrix as README.md says."""
    if path.suffix == ".npz":
        return sp.load_npz(path)
    if path.suffix == ".svmlight":
        return load_svmlight_file(str(path), n_features=shape[1], zero_based=False)[0]
    A = pd.read_csv(path)
    return sp.csr_array((A.value, (A.row, A.column)), shape=shape)


def labels(path, domain, n, classes):
    """Return the rows that a file of labels lists for a domain, and its indicator (n, c)."""
    table = pd.read_csv(path, keep_default_na=False)
    table = table[table["domain"] == domain]
    rows, Y = np.zeros(n, bool), np.zeros((n, len(classes)))
    rows[table["row"]] = True
    for row, name in zip(table["row"], table["class"], strict=True):
        Y[row] += [name == each for each in classes]
    return rows, Y


@pytest.mark.parametrize("form", ["npz", "svmlight", "csv"])
@pytest.mark.parametrize("make", [make_problem, make_multilabel])
def test_what_is_read_back_is_the_problem(call, tmp_path, monkeypatch, make, form):
    problem, truth = make()
    truth.Y[0][truth.scored[0].argmax()] = 0  # a document without any class
    monkeypatch.setattr(tasks, "load", lambda task, settings: (problem, truth))
    out = tmp_path / "out"
    assert call("export", "generated/small", "--out", str(out), "--format", form)[0] == 0
    for domain, Y, scored in zip(problem.domains, truth.Y, truth.scored, strict=True):
        for j, view in enumerate(domain.views, start=1):
            part = f"-{j}" if len(domain.views) > 1 else ""
            X = read(out / f"{domain.name}{part}.{form}", view.shape)
            np.testing.assert_allclose(X.toarray(), sp.csr_array(view).toarray(), rtol=1e-15)
        seen, known = labels(out / "labels.csv", domain.name, len(Y), problem.classes)
        rows, hidden = labels(out / "truth.csv", domain.name, len(Y), problem.classes)
        for actual, expected in ((seen, domain.seen), (known, domain.Y), (rows, scored)):
            np.testing.assert_array_equal(actual, expected)
        np.testing.assert_array_equal(hidden, Y * scored[:, None])
    readme = (out / "README.md").read_text("utf-8")
    assert all(text in readme for text in ("Python ", "MATLAB ", "do not train on them"))
    code, _, err = call("export", "generated/small", "--out", str(out))
    assert (code, "give another --out" in err) == (2, True)
