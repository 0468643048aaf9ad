"""Which documents can have a printed F1, accuracy and Hamming loss."""

import itertools
import json

import numpy as np
import pytest

from transferbench import experiments
from transferbench.evidence import audit, triples
from transferbench.evidence.grim import Number
from transferbench.evidence.printed import PrintedTriple
from transferbench.evidence.triples import Triple
from transferbench.measures import example_f1, hamming_loss, jaccard


def rounded(f1: float, accuracy: float, hamming: float, decimals: int = 3) -> Triple:
    numbers = (Number(round(v * 10**decimals), decimals, 0) for v in (f1, accuracy, hamming))
    return Triple(*numbers)


def documents(rng, m: int, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Return true and decided labels of documents that have a label, with as many decided."""
    Y = (rng.random((n, m)) < rng.uniform(0.1, 0.6)).astype(float)
    Y[np.arange(n), rng.integers(0, m, n)] = 1
    D = Y.ravel().copy()
    true, others = np.flatnonzero(D == 1), np.flatnonzero(D == 0)
    moved = rng.integers(0, min(len(true), len(others)) + 1)
    D[rng.permutation(true)[:moved]] = 0
    D[rng.permutation(others)[:moved]] = 1
    return Y, D.reshape(Y.shape)


@pytest.mark.parametrize("m", [2, 3, 4, 7])
def test_triples_of_documents_are_possible_and_within_the_limits(m):
    rng = np.random.default_rng(m)
    for _ in range(40):
        Y = (rng.random((12, m)) < rng.random()).astype(float)
        D = (rng.random((12, m)) < rng.random()).astype(float)
        means = example_f1(Y, D), jaccard(Y, D), hamming_loss(Y, D)
        assert triples.is_possible(rounded(*means), m)
        if means[0] < 1:
            x, y = triples.position(*means)
            wrong = (Y != D).any(axis=1)
            both, either = (Y * D).sum(axis=1), np.maximum(Y, D).sum(axis=1)
            errors = (1 - 2 * both / np.maximum(both + either, 1))[wrong]
            assert x == pytest.approx(
                np.average((both / np.maximum(either, 1))[wrong], weights=errors)
            )
            assert y * m == pytest.approx(np.average((both + either)[wrong], weights=errors))
            assert y - 1 - 1e-9 <= x <= triples.largest_x(np.array(m * y)) + 1e-9
            share = np.mean(~D.any(axis=1) & Y.any(axis=1))
            assert share <= (1 - means[0]) * (1 - x * m / (m - 1)) + 1e-9


@pytest.mark.parametrize("m", [2, 4, 6])
def test_no_documents_with_as_many_decided_labels_have_a_density_below_the_least(m):
    rng = np.random.default_rng(m)
    for _ in range(40):
        Y, D = documents(rng, m)
        triple = rounded(example_f1(Y, D), jaccard(Y, D), hamming_loss(Y, D), 6)
        least = triples.least_density(triple, m)
        assert least is not None
        assert least <= Y.mean() + 1e-5


def test_the_least_density_is_that_of_the_best_of_all_small_sets():
    """Three documents with two labels, each with at least one: all sets are tried."""
    rows = [np.array(row, float) for row in itertools.product((0, 1), repeat=2)]
    pairs = [(y, d) for y in rows if y.any() for d in rows]
    found: dict[tuple[float, ...], float] = {}
    for chosen in itertools.combinations_with_replacement(pairs, 3):
        Y, D = (np.array(part) for part in zip(*chosen, strict=True))
        if Y.sum() == D.sum():
            key = tuple(round(f(Y, D), 6) for f in (example_f1, jaccard, hamming_loss))
            found[key] = min(found.get(key, 1), Y.mean())
    for means, density in found.items():
        least = triples.least_density(rounded(*means, decimals=6), 2)
        assert least is not None
        assert least <= density + 1e-5
    assert any(
        triples.least_density(rounded(*means, decimals=6), 2) == pytest.approx(density, abs=1e-4)
        for means, density in found.items()
        if means[0] < 1
    )


def test_impossible_triples_are_named():
    assert not triples.is_possible(rounded(0.9, 0.7, 0.05), 4)  # accuracy below F1 / (2 - F1)
    assert not triples.is_possible(rounded(0.8, 0.9, 0.05), 4)  # accuracy above F1
    assert not triples.is_possible(rounded(0.9, 0.85, 0.2), 4)  # more than 1 - accuracy
    assert not triples.is_possible(rounded(0.874, 0.842, 0.092), 2)
    assert triples.is_possible(rounded(0.874, 0.842, 0.092), 3)


@pytest.mark.slow
def test_the_papers_triples_need_more_labels_than_the_101_of_the_files():
    """Section 7.1 says 101 labels; a story of the files has 2.9 of them, a density of .029."""
    least = []
    for i in range(2, 10):
        published = experiments.load(f"himls-table{i}").spec.published
        for column in published["F1"]:
            means = (published[row][column][0] for row in ("F1", "accuracy", "Hamming loss"))
            least.append(triples.least_density(rounded(*means), 101))
    assert min(least) > 0.042
    assert max(least) < 0.097


def test_a_file_states_the_number_of_labels(call, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "row,set,labels,measure,A,B\n"
        "yeast F1,yeast,14,F1,0.62,.90\n"
        "yeast accuracy,yeast,14,accuracy,0.51,.70\n"
        "yeast Hamming,yeast,14,Hamming loss,0.20,.05\n",
        "utf-8",
    )
    code, out, _ = call("audit", str(path), "--json")
    (found,) = json.loads(out).values()
    assert code == 0
    assert {each["method"]: each["verdict"] for each in found["triples"]} == {
        "A": "possible", "B": "impossible"
    }  # fmt: skip
    assert found["cells"] == found["columns"] == []
    assert "impossible" in call("audit", str(path))[1]


def test_measures_may_be_columns(call, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "row,F1,accuracy,loss\nmeasure,F1,accuracy,Hamming loss\nlabels,4,4,4\n"
        "A,.913,.866,.077\nB,.88,.85,.08\n",
        "utf-8",
    )
    (found,) = json.loads(call("audit", str(path), "--json")[1]).values()
    assert [each["method"] for each in found["triples"]] == ["A", "B"]
    assert found["triples"][0]["least_density"] == pytest.approx(0.309, abs=0.001)


HEAD = "row,labels,measure,A\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            HEAD + "a,4,micro F1,.9\nb,4,accuracy,.8\n",
            "expected F1, accuracy and Hamming loss",
        ),
        (
            HEAD + "a,4,F1,.9\nb,4,F1,.8\nc,4,accuracy,.8\nd,4,Hamming loss,.1\n",
            "column named set",
        ),
        (HEAD + "a,4,F1,.9\nb,5,accuracy,.8\nc,4,Hamming loss,.1\n", "one number"),
        (
            HEAD + "a,0,F1,.9\nb,4,accuracy,.8\nc,4,Hamming loss,.1\n",
            "whole number from 1 to 200",
        ),
        ("row,set,documents,A\nx,yeast,100,.906\n", "set without labels"),
        ("row,labels,documents,measure,A\nx,4,100,F1,.906\n", "documents beside labels"),
        ("row,labels,runs,measure,A\nx,4,10,F1,.906\n", "runs beside labels"),
        (HEAD + "x,4,F1,.906\naverage,4,F1,.9\n", "average beside labels"),
    ],
)
def test_what_is_no_triple_is_refused(call, tmp_path, text, said):
    path = tmp_path / "theirs.csv"
    path.write_text(text, "utf-8")
    code, _, err = call("audit", str(path))
    assert code == 2
    assert said in err


def test_the_page_counts_the_triples_of_the_papers():
    found = audit.audits(["himls-table9"])["himls-table9"].triples
    verdicts = {each.method: each.verdict for each in found}
    assert verdicts.pop("HiMLSD") == "possible if more labels are decided than true"
    assert set(verdicts.values()) == {"possible"}


@pytest.mark.slow
def test_with_101_labels_many_more_labels_would_have_to_be_decided_than_are_true():
    """The mean number of true labels of a story is 2.895; the least number decided follows."""
    from scipy.optimize import linprog

    m, true = 101, 2.895
    u, t = np.tril_indices(m + 1)
    t, u = t[u > 0], u[u > 0]
    measures = np.array([2 * t / (t + u), t / u, (u - t) / m])
    ratios = {}
    for i in range(2, 10):
        published = experiments.load(f"himls-table{i}").spec.published
        for column in published["F1"]:
            means = [published[row][column][0] for row in ("F1", "accuracy", "Hamming loss")]
            found = linprog(
                t + u,
                A_ub=np.vstack([measures, -measures, np.maximum(t, 1), -u]),
                b_ub=[*(v + 0.0005 for v in means), *(0.0005 - v for v in means), true, -true],
                A_eq=np.ones((1, len(t))),
                b_eq=[1],
            )
            ratios[i, column] = (found.fun - true) / true if found.success else np.inf
    assert [place for place, ratio in ratios.items() if ratio == np.inf] == [(9, "HiMLSD")]
    finite = [ratio for ratio in ratios.values() if ratio < np.inf]
    assert min(finite) == pytest.approx(1.94, abs=0.01)
    assert max(finite) == pytest.approx(4.8, abs=0.05)


def test_documents_without_a_decided_label_are_said_to_have_fewer():
    """One label each, half of the documents with none decided."""
    found = audit.judge_triple(PrintedTriple("", "A", rounded(0.5, 0.5, 0.05), 10))
    assert found.verdict == "possible if fewer labels are decided than true"


def test_an_incomplete_triple_is_not_judged_and_the_others_are(call, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "row,labels,measure,A,B\nf,4,F1,90.6,90.6\na,4,accuracy,88.5,88.5\nh,4,Hamming loss,6.4,\n",
        "utf-8",
    )
    code, out, _ = call("audit", str(path), "--json")
    (found,) = json.loads(out).values()
    assert code == 0
    assert [each["method"] for each in found["triples"]] == ["A"]
    assert {cell["verdict"] for cell in found["cells"]} == {"not checked"}
    assert "read as per cent" in call("audit", str(path))[1]
