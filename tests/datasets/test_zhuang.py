"""Zhuang and Luo's matrices of 20 Newsgroups, and the posts in the same form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import originals, slow_unless

from transferbench import api
from transferbench.data import tasks
from transferbench.data.text import document_frequency
from transferbench.datasets import newsgroups, zhuang
from transferbench.problem import Problem

PAIRS = ["comp-vs-sci", "rec-vs-sci", "sci-vs-talk"]


def built(name: str, **options):
    return zhuang.build(name, originals(name), **options)


def weights(problem: Problem) -> sp.csr_array:
    """Return the weights of all documents, without the entries that set the size of a matrix."""
    X = sp.csr_array(sp.vstack([domain.X for domain in problem.domains]))
    X.data[X.data < 1e-4] = 0
    X.eliminate_zeros()
    return X


def test_names_and_files():
    rebuilt = [name for name in zhuang.TASKS if name.endswith("-rebuilt")]
    assert len(rebuilt) == 6
    assert list(zhuang.TASKS) == [*(f"zhuang/{pair}" for pair in PAIRS), *rebuilt]
    assert tasks.Task.named("comp-vs-sci").base == "gtl/comp-vs-sci"
    assert list(tasks.needed(tasks.Task.named("zhuang/comp-vs-rec-rebuilt"))) == [*newsgroups.FILES]
    folder = "zhuang-newsgroups/rec-vs-sci"
    expected = [f"{folder}/TrainSelect_{i}.data" for i in range(8, 16)]
    assert list(tasks.needed(tasks.Task.named("zhuang/rec-vs-sci"))) == expected


@pytest.mark.slow
def test_the_papers_splits_differ_in_sci():
    name = "zhuang/rec-vs-sci"
    sizes = [[Y.sum(axis=0).tolist() for Y in built(name, split=s)[1].Y] for s in ("gtl", "dtl")]
    # Posts of autos, motorcycles | baseball, hockey; crypt, electronics | med, space, or
    # crypt, med | electronics, space.
    assert sizes[0] == [[987 + 993, 989 + 984], [991 + 997, 987 + 985]]
    assert sizes[1] == [[987 + 993, 989 + 987], [991 + 997, 984 + 985]]


@pytest.mark.slow
def test_rows_at_unit_length_have_the_same_directions():
    name = "zhuang/rec-vs-sci"
    raw, unit = (built(name, unit_length=u)[0].domains[1].X for u in (False, True))
    length = np.sqrt(raw.multiply(raw).sum(axis=1))
    assert length.mean() > 50
    np.testing.assert_allclose(unit.data, raw.data / np.repeat(length, np.diff(raw.indptr)), 1e-5)


@pytest.mark.parametrize(("name", "min_df"), [("zhuang/rec-vs-sci", 16), ("zhuang/sci-vs-talk", 6)])
def test_the_files_follow_the_recipe(name, min_df):
    """Weights are integers times log2(n / document frequency), and that frequency has a bound."""
    X = weights(built(name)[0])
    df = document_frequency(X)
    assert df.min() == min_df
    counts = X.data / np.log2(X.shape[0] / df[X.indices])
    np.testing.assert_allclose(counts, np.rint(counts), rtol=1e-4)
    assert counts.min() > 0.9
    assert (df > 0.6 * X.shape[0]).sum() >= 10  # stop words


def test_document_frequencies_of_comp_include_its_fifth_group():
    """The weight of a count of 1 gives the frequency of a word."""
    X = sp.csc_array(weights(built("zhuang/comp-vs-sci")[0]))
    n = X.shape[0] + 982  # posts of comp.windows.x in Rennie's matrices
    df = n / 2 ** np.minimum.reduceat(X.data, X.indptr[:-1]).astype(float)
    more = df - np.diff(X.indptr)
    known = more > -0.1  # a word that never occurs once seems to be less frequent than it is
    assert known.mean() > 0.995
    np.testing.assert_allclose(df[known], np.rint(df[known]), atol=0.1)
    assert np.rint(df[known]).min() == 16
    assert (np.diff(X.indptr)[known] < 16).sum() > 400  # here, without comp.windows.x
    assert 800 < more.max() < 982


@pytest.mark.parametrize("pair", slow_unless([*PAIRS][:1].__contains__, PAIRS))
def test_rebuilt_is_near_the_files(pair):
    """Posts that consist of a subject are additional, and each post has its subject."""

    def facts(name: str) -> dict[str, float]:
        problem, truth = built(name)
        X = weights(problem)
        fit = api.fit("lr", problem, seed=0)
        return {
            "documents": X.shape[0],
            "words": X.shape[1],
            "entries a document": X.nnz / X.shape[0],
            "length": np.sqrt(X.multiply(X).sum(axis=1)).mean(),
            "accuracy": api.evaluate(fit, truth)["target"]["accuracy"],
        }

    files, rebuilt = facts(f"zhuang/{pair}"), facts(f"zhuang/{pair}-rebuilt")
    ratio = {name: rebuilt[name] / files[name] for name in files}
    assert 1 < ratio["documents"] < 1.004
    assert 1 < ratio["words"] < 1.02
    assert 1.01 < ratio["entries a document"] < 1.03
    assert 1.02 < ratio["length"] < 1.04
    assert abs(files["accuracy"] - rebuilt["accuracy"]) < 0.025


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "printed"), [*zip(PAIRS, (0.679, 0.672, 0.784), strict=True)])
def test_logistic_regression_is_at_the_gtl_papers_level(pair, printed):
    """Unit length, as in the tasks `gtl/`, is 4 to 5 points above it."""
    problem, truth = built(f"zhuang/{pair}")
    accuracy = api.evaluate(api.fit("lr", problem, seed=0), truth)["target"]["accuracy"]
    assert accuracy == pytest.approx(printed, abs=0.01)
