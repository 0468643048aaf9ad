"""DTL, MTrick, DKT, TriTL and MRTL against dense versions of their algorithms.

X is features × documents, as in the papers. A test states the terms of the objective and the order
of the updates; `Objective` derives each update F ∘ √(num/den) from the terms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_problem
from oracles import SUM_ONE, Objective, columns, rows

import transferbench
from transferbench.core.logistic import label_start
from transferbench.models.transfer._shared import label_factors
from transferbench.problem import Domain, Problem

ITERATIONS, SEED = 6, 4


readings = pytest.mark.parametrize(
    ("axis", "at", "start"),
    [
        ("columns", "update", "random"),
        ("columns", "domain", "random"),
        ("rows", "update", "random"),
        ("rows", "update", "plsa"),
        ("columns", "domain", "plsa"),
    ],
)


def data(problem):
    X = [sp.csr_array(d.X).toarray().T for d in problem.domains]
    return [x / x.sum() for x in X], {f"V{r}": V for r, V in enumerate(label_start(problem))}


def fit(name, problem, **changes):
    settings = {"max_iter": ITERATIONS, "dtype": "float64", "seed": SEED} | changes
    return transferbench.fit(name, problem, **settings)


def agree(got, expected: Objective):
    for r, scores in enumerate(got.scores):
        np.testing.assert_allclose(scores, expected.factors[f"V{r}"], rtol=1e-8)
    np.testing.assert_allclose(got.trace, expected.trace, rtol=1e-8)


def slow_plsa(X, topics, steps, seed):
    """P(w|z), P(z|d) of Hofmann's PLSA on X (words, documents), with P(z|d,w) written out."""
    words, documents = X.shape
    W = columns(np.random.default_rng(seed).random((words, topics)))
    T = np.full((documents, topics), 1 / topics)
    for _ in range(steps):
        joint = W[:, None] * T[None]  # (words, documents, topics)
        total = joint.sum(axis=2, keepdims=True)
        share = X[:, :, None] * joint / np.where(total > 0, total, 1)
        W, T = columns(share.sum(axis=1)), rows(share.sum(axis=0))
    return W, T


def topics_of_words(problem, topics, steps=20):
    """P(z|w) of PLSA on the documents of all domains, uniform for words of no document."""
    both = np.hstack([domain.X.toarray().T for domain in problem.domains])
    W, T = slow_plsa(both, topics, steps, SEED)
    return rows(W * (both.sum(axis=0) / both.sum() @ T))


def uniform(F, *names):
    """Associations whose rows are uniform over the classes."""
    return {name: np.full(F[name].shape, 1 / F[name].shape[1]) for name in names}


@readings
@pytest.mark.parametrize(("targets", "classes"), [(1, 3), (3, 2)])
def test_dtl_equals_algorithm_1(targets, classes, axis, at, start):
    """Columns of U, normalised at each update, are the paper's; the others are readings."""
    problem, _ = make_problem(targets=targets, classes=classes)
    k, kappa, one = 6, 2, SUM_ONE[axis]
    X, V = data(problem)
    rng, m, everyone = np.random.default_rng(SEED), len(X[0]), range(len(X))
    F = {"U": rng.random((m, kappa)), "H0": rng.random((kappa, classes))}
    F["H1"] = rng.random((k - kappa, classes))
    F |= {f"U{r}": rng.random((m, k - kappa)) for r in everyone} | V
    if start == "plsa":
        P = topics_of_words(problem, k)
        F |= {"U": P[:, :kappa]} | {f"U{r}": P[:, kappa:] for r in everyone}
        F |= uniform(F, "H0", "H1")
    model = Objective(F, [(1, X[r], [("U", "H0"), (f"U{r}", "H1")], f"V{r}") for r in everyone])
    now = one if at == "update" else None
    for _ in range(ITERATIONS):
        for t in everyone:
            model.update(f"U{t}", scale=now)  # eq. 4.10
            model.update("U", scale=now)  # eq. 4.11
            if t:
                model.update(f"V{t}", scale=rows if now else None)  # eq. 4.12
            model.update("H0", "H1")  # eq. 4.13
            if at == "domain":
                model.scale(one, f"U{t}", "U")
                model.scale(rows, f"V{t}")
        model.trace.append(model.value())
    settings = {"k": k, "kappa": kappa, "normalize_U": axis, "normalize_at": at}
    settings["start_features"] = start
    agree(fit("dtl", problem, **settings), model)


@readings
def test_mrtl_equals_algorithm_1_with_its_misprint_corrected(axis, at, start):
    """Columns of U, normalised after a target's updates, are the paper's. Eq. 21 omits λ."""
    problem, _ = make_problem(targets=2, classes=3)
    k1, k2, lam, one = 3, 7, 2.5, SUM_ONE[axis]
    X, F = data(problem)
    rng, m = np.random.default_rng(SEED), len(X[0])
    terms = []
    for p in (1, 2):
        F |= {f"U{p}": rng.random((m, k1)), f"Ut{p}": rng.random((m, k2 - k1))}
        F |= {f"Mu{p}": rng.random((k1, 3)), f"Tt{p}": rng.random((k2 - k1, 3))}
        F |= {f"Us{p}": rng.random((m, k2 - k1)), f"Ts{p}": rng.random((k2 - k1, 3))}
        of_target = [(f"U{p}", f"Mu{p}"), (f"Ut{p}", f"Tt{p}")]
        of_source = [(f"U{p}", f"Mu{p}"), (f"Us{p}", f"Ts{p}")]
        shared = [(f"U{p}", "mu"), (f"Ut{p}", "sigma")]
        terms += [(1, X[p], of_target, f"V{p}"), (1, X[0], of_source, "V0")]
        terms += [(lam, X[p], shared, f"V{p}")]
    F |= {"mu": rng.random((k1, 3)), "sigma": rng.random((k2 - k1, 3))}
    if start == "plsa":
        P = topics_of_words(problem, k2)
        F |= {f"U{p}": P[:, :k1] for p in (1, 2)}
        F |= {f"{name}{p}": P[:, k1:] for name in ("Ut", "Us") for p in (1, 2)}
        F |= uniform(
            F, "mu", "sigma", *[f"{name}{p}" for name in ("Mu", "Tt", "Ts") for p in (1, 2)]
        )
    model = Objective(F, terms)
    for _ in range(ITERATIONS):
        for p in (1, 2):
            features = [f"{name}{p}" for name in ("Ut", "Us", "U")]
            for name in features:  # eq. 21
                model.update(name, scale=one if at == "update" else None)
            for name in ("Mu", "Tt", "Ts"):  # eq. 23
                model.update(f"{name}{p}")
            model.update(f"V{p}", scale=rows)
            if at == "domain":
                model.scale(one, *features)
        model.update("mu")
        model.update("sigma")
        model.trace.append(model.value())
    settings = {"k1": k1, "k2": k2, "lam": lam, "normalize_U": axis, "normalize_at": at}
    settings["start_features"] = start
    agree(fit("mrtl", problem, **settings), model)


def with_gaps(seed):
    """A problem in which words are absent from a domain or from both, and a document is empty."""
    problem, _ = make_problem(seed, classes=3)
    domains = []
    for i, domain in enumerate(problem.domains):
        X = domain.X.toarray()
        X[:, [7, 20 + i]] = 0
        X[5 + i] = 0
        domains.append(replace(domain, views=(sp.csr_array(X),)))
    return replace(problem, domains=tuple(domains))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(("start", "at"), [("plsa", "update"), ("random", "domain")])
@pytest.mark.parametrize(("name", "setting"), [("mtrick", 1.7), ("dkt", 0.8)])
def test_mtrick_and_dkt_equal_the_updates_of_their_objectives(name, setting, start, at):
    """In the order F_s, F_t, G_t, S."""
    problem, k = with_gaps(0), 5
    X, F = data(problem)
    m = len(X[0])
    if start == "plsa":
        P = topics_of_words(problem, k, 50)
        F |= {"F0": P, "F1": P}
    else:
        rng = np.random.default_rng(SEED)
        F |= {"F0": rng.random((m, k)), "F1": rng.random((m, k))}
    F["S"] = np.full((k, 3), 1 / 3)
    weights = (1.0, setting if name == "mtrick" else 1.0)
    terms = [(weights[t], X[t], [(f"F{t}", "S")], f"V{t}") for t in (0, 1)]
    alpha = 0.0 if name == "mtrick" else setting * np.sum(X[0] ** 2) / m
    model = Objective(F, terms, [(alpha, "F0", "F1")])
    for _ in range(ITERATIONS):
        for t in (0, 1):
            model.update(f"F{t}", scale=rows if at == "update" else None)
            if t:
                model.update("V1", scale=rows)
            if at == "domain":
                model.scale(rows, f"F{t}")
        model.update("S")
        model.trace.append(model.value())
    options = {"k": k, "start_features": start, "beta" if name == "mtrick" else "alpha": setting}
    agree(fit(name, problem, normalize_at=at, **options), model)


K1, K2, K3 = 3, 4, 2


def tritl(X, F) -> Objective:
    def parts(r):
        return [("F1", "S1"), (f"F2{r}", "S2"), (f"F3{r}", f"S3{r}")]

    return Objective(F, [(1, x, parts(r), f"V{r}") for r, x in enumerate(X)])


def test_tritl_equals_its_authors_updates_from_old_values():
    problem, _ = make_problem(1, targets=2, classes=3)
    counts = [domain.X.toarray().T for domain in problem.domains]
    F = {f"V{r}": (Y + 1 / 3) / 2 if r else Y for r, Y in enumerate(label_start(problem))}
    W, _ = slow_plsa(np.hstack(counts), K1 + K2, 20, SEED)
    F |= {"F1": W[:, :K1], "S1": np.full((K1, 3), 1 / 3), "S2": np.full((K2, 3), 1 / 3)}
    for r in range(3):
        F |= {f"F2{r}": W[:, K1:], f"F3{r}": np.full((len(W), K3), 1 / len(W))}
        F |= {f"S3{r}": np.full((K3, 3), 1 / 3)}
    model = tritl([columns(x) for x in counts], F)
    free = [name for name in F if name != "V0"]
    for _ in range(ITERATIONS):
        model.update(*free)
        model.scale(rows, "V1", "V2")
        model.scale(columns, *[name for name in free if name.startswith("F")])
        model.trace.append(model.value())
    agree(fit("tritl", problem, k1=K1, k2=K2, k3=K3), model)


@readings
def test_alternating_tritl_equals_the_updates_of_its_objective(axis, at, start):
    problem, _ = make_problem(targets=2)
    X, F = data(problem)
    rng, m, one = np.random.default_rng(SEED), len(X[0]), SUM_ONE[axis]
    F |= {"F1": rng.random((m, K1)), "S1": rng.random((K1, 2)), "S2": rng.random((K2, 2))}
    for r in range(3):
        F |= {f"F2{r}": rng.random((m, K2)), f"F3{r}": rng.random((m, K3))}
        F |= {f"S3{r}": rng.random((K3, 2))}
    if start == "plsa":
        P = topics_of_words(problem, K1 + K2 + K3)
        F |= {"F1": P[:, :K1]} | {f"F2{r}": P[:, K1 : K1 + K2] for r in range(3)}
        F |= {f"F3{r}": P[:, K1 + K2 :] for r in range(3)}
        F |= uniform(F, "S1", "S2", "S30", "S31", "S32")
    model = tritl(X, F)
    for _ in range(ITERATIONS):
        for t in range(3):
            features = ("F1", f"F2{t}", f"F3{t}")
            for name in features:
                model.update(name, scale=one if at == "update" else None)
            if t:
                model.update(f"V{t}", scale=rows)
            if at == "domain":
                model.scale(one, *features)
            for name in ("S1", "S2", f"S3{t}"):
                model.update(name)
        model.trace.append(model.value())
    settings = {"form": "alternating", "normalize_F": axis, "normalize_at": at}
    settings["start_features"] = start
    agree(fit("tritl", problem, k1=K1, k2=K2, k3=K3, **settings), model)


@pytest.mark.parametrize("name", ["dtl", "tritl"])
def test_without_pooling_each_target_is_fitted_alone(name):
    problem, _ = make_problem(targets=2)
    got = fit(name, problem, pool_tasks=False, C=0.3)
    for i in (1, 2):
        alone = replace(problem, domains=(problem.domains[0], problem.domains[i]))
        np.testing.assert_array_equal(got.scores[i], fit(name, alone, C=0.3).scores[1])
    assert len(got.trace) == 2 * ITERATIONS
    assert not np.allclose(got.scores[2], fit(name, problem).scores[2])


@pytest.mark.parametrize("name", ["dtl", "mrtl", "tritl"])
def test_words_of_no_document_or_of_one_topic_do_not_break_the_start(name):
    """Long documents make PLSA nearly decide; parts below float32 would become ∞."""
    problem = with_gaps(0)
    domains = [replace(d, views=tuple(1000 * X for X in d.views)) for d in problem.domains]
    problem = replace(problem, domains=tuple(domains))
    settings = {"form": "alternating"} if name == "tritl" else {}
    settings |= {"normalize_F" if name == "tritl" else "normalize_U": "rows"}
    settings |= {"normalize_at": "update", "start_features": "plsa", "dtype": "float32"}
    for scores in fit(name, problem, **settings).scores:
        total = scores.sum(axis=1)  # 0 in the documents without words
        np.testing.assert_allclose(total[total > 0], 1, rtol=1e-5)
        assert np.sum(total > 0) >= len(total) - 1


#: Models, and named variants of them.
VARIANTS = [
    ("gcmf", {}),
    ("dtl", {}),
    ("dtl", {"start_features": "plsa"}),
    ("mtrick", {}),
    ("mtrick", {"start_features": "random"}),
    ("dkt", {}),
    ("dkt", {"start_features": "random"}),
    ("tritl", {}),
    ("tritl", {"form": "alternating"}),
    ("tritl", {"form": "alternating", "start_features": "plsa"}),
    ("mrtl", {}),
    ("mrtl", {"start_features": "plsa"}),
]


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_the_objective_falls_up_to_the_effect_of_normalisation(name, options):
    """Normalisation is not part of the majorisation; it may cost 1e-4 of the objective a sweep.

    Of targets that are fitted one by one, whose traces stand end to end, the earliest iteration of
    the least objective is reported.
    """
    problem, _ = make_problem(targets=2)
    result = fit(name, problem, max_iter=60, **options)
    traces = np.reshape(result.trace, (-1, 60))
    assert len(traces) == (2 if name in ("mtrick", "dkt") else 1)
    assert (np.diff(traces) <= 1e-4 * traces[:, :-1]).all()
    assert (traces[:, -1] < traces[:, 0]).all()
    least = traces.argmin(axis=1).min() + 1
    assert result.diagnostics == {"least_objective_iteration": least} | (
        {"graph_recall": 1.0} if name == "gcmf" else {}
    )


def test_probabilities_that_are_rounded_to_zero_do_not_stay_zero():
    """Long documents saturate the logistic regression; a zero in V would never change."""
    problem, _ = make_problem()
    domains = [replace(d, views=tuple(1e5 * view for view in d.views)) for d in problem.domains]
    problem = replace(problem, domains=tuple(domains))
    assert (label_start(problem)[1] == 0).any()
    source, target = label_factors(problem, 1.0, "rows")
    np.testing.assert_array_equal(source.value, problem.domains[0].Y)
    assert target.value.min() > 0
    decided = label_factors(problem, 1.0, "rows", "decisions")[1].value
    assert set(np.unique(decided)) == {0, 1}
    # A class that no document is labelled with gets no document.
    empty = [replace(d, Y=np.pad(d.Y, ((0, 0), (0, 1)))) for d in problem.domains]
    problem = replace(problem, classes=(*problem.classes, "other"), domains=tuple(empty))
    assert not label_factors(problem, 1.0, "columns")[1].value[:, -1].any()


@pytest.mark.parametrize("name", ["dtl", "tritl", "mtrick", "dkt"])
def test_every_source_is_used(name):
    problem, truth = make_problem(targets=2)
    first, second, target = problem.domains
    labelled = Domain("more", second.views, truth.Y[1], np.ones(len(second.seen), bool))
    both = Problem("p", "transfer", problem.classes, (first, labelled, target))
    # C is tiny, so the start hardly depends on the sources.
    alone = Problem("p", "transfer", problem.classes, (first, target))
    one, two = (fit(name, given, C=1e-12) for given in (alone, both))
    assert len(two.scores) == 3
    assert np.abs(one.scores[-1] - two.scores[-1]).max() > 1e-4
