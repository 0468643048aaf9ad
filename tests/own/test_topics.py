"""Topics: what the feature clusters of a fit are about."""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import ROOT, make_problem, reachable
from user_documents import sentences, write_csv

import transferbench
from transferbench import models, tasks
from transferbench.cli.topics import command
from transferbench.core.graph import cosine_graph
from transferbench.data.problems import Content, problem_from_counts
from transferbench.data.subsample import subsample
from transferbench.errors import Unavailable
from transferbench.own import topics
from transferbench.problem import Domain, FeatureClusters, Fit, Problem
from transferbench.topics import topics_of

RNG = np.random.default_rng(0)


def write_files(folder) -> None:
    """Write s.csv and t.csv, documents of two domains."""
    for name, shift in (("s.csv", 0), ("t.csv", 1)):
        write_csv(folder / name, sentences(shift, ["cat", "sea"] * 30, shift))


def named(problem: Problem) -> Problem:
    d = problem.domains[0].X.shape[1]
    return replace(problem, features=tuple(f"word{w}" for w in range(d)))


def small() -> tuple[Problem, Fit]:
    """A problem of 7 documents and 9 words, and a fit of two kinds of clusters."""
    X = RNG.poisson(0.9, (7, 9)) + np.eye(7, 9)
    Y = np.eye(2)[RNG.integers(2, size=7)]
    source = Domain("source", (X,), Y, np.ones(7, bool))
    target = Domain("target", (sp.csr_array(X[::-1] + 1.0),), 0 * Y, np.zeros(7, bool))
    problem = Problem("small", "transfer", ("a", "b"), (source, target))
    clusters = tuple(
        FeatureClusters(kind, RNG.random((9, k)), RNG.random((k, 2)))
        for kind, k in (("common", 2), ("own", 3))
    )
    V = RNG.random((7, 2))
    return problem, Fit((Y, V), factors=(clusters, clusters))


@pytest.mark.parametrize(
    "name", sorted(n for n, m in models.registry().items() if m.family == "transfer")
)
def test_exactly_the_listed_models_have_feature_clusters(name):
    problem = make_problem()[0]
    params = {"max_iter": 2} if name in models.WITH_TOPICS else {}
    try:
        fit = transferbench.fit(name, problem, seed=0, **params)
    except Unavailable as error:  # an optional library is missing
        pytest.skip(str(error))
    assert bool(any(fit.factors)) == (name in models.WITH_TOPICS)
    for domain, clusters in zip(problem.domains, fit.factors, strict=bool(fit.factors)):
        for each in clusters:
            assert each.U.shape == (domain.X.shape[1], len(each.H))
            assert each.H.shape[1] == len(problem.classes)
            assert min(each.U.min(), each.H.min()) >= 0


@pytest.mark.parametrize("name", ["dtl", "mtrick", "mrtl", "tritl"])
def test_the_factors_of_a_fit_explain_its_data(name):
    """The product of the factors is nearer to the data than one of permuted words is."""
    problem = make_problem()[0]
    fit = transferbench.fit(name, problem, seed=0)
    domain, V, clusters = problem.domains[1], fit.scores[1], fit.factors[1]
    X = domain.X.toarray() if sp.issparse(domain.X) else domain.X
    product = V @ sum(each.U @ each.H for each in clusters).T
    shuffled = product[:, RNG.permutation(product.shape[1])]
    correlation, chance = (np.corrcoef(X.ravel(), P.ravel())[0, 1] for P in (product, shuffled))
    assert correlation > chance + 0.1


def test_the_factors_of_gcmf_have_its_objective_in_the_order_of_the_features():
    """GCMF leaves out features that a domain lacks, and orders the others by its graph."""
    problem = make_problem(documents=40, features=50)[0]
    source, target = problem.domains
    lacking = target.X.toarray()
    lacking[:, [3, 17]] = 0
    problem = replace(problem, domains=(source, replace(target, views=(lacking,))))
    params = {"k": 4, "lam": 2.0, "gamma": 0.0, "p": 3, "dtype": "float64", "max_iter": 5}
    fit = transferbench.fit("gcmf", problem, seed=0, **params)
    objective = 0.0
    for domain, V, (clusters,) in zip(problem.domains, fit.scores, fit.factors, strict=True):
        X = domain.X.toarray() if sp.issparse(domain.X) else domain.X
        present = X.any(axis=0)
        assert not clusters.U[~present].any()
        X, U = X[:, present] / np.linalg.norm(X), clusters.U[present]
        graph = cosine_graph(X.T, 3)
        smooth = np.diag(graph.degree) - graph.W.toarray()
        objective += np.square(X - V @ clusters.H.T @ U.T).sum()
        objective += 2.0 * np.trace(U.T @ smooth @ U)
    assert fit.trace[-1] == pytest.approx(objective, rel=1e-6)


def test_topics_divide_every_entry_as_a_dense_computation_does():
    problem, fit = small()
    V, clusters, X = fit.scores[1], fit.factors[1], problem.domains[1].X.toarray()
    U, H = np.hstack([c.U for c in clusters]), np.vstack([c.H for c in clusters])
    mass = np.einsum("iw,ic,jc,wj->iwcj", X / (V @ H.T @ U.T), V, H, U)
    assert mass.sum() == pytest.approx(X.sum())
    found = topics_of(fit, problem, words=9, relevance=1).topics["target"]
    names = ["common 1", "common 2", "own 1", "own 2", "own 3"]
    assert sorted(topic.name for topic in found) == sorted(names)
    assert [t.share for t in found] == sorted((t.share for t in found), reverse=True)
    for topic in found:
        of_topic = mass[..., names.index(topic.name)]
        assert topic.share == pytest.approx(of_topic.sum() / X.sum())
        assert topic.classes == pytest.approx(of_topic.sum((0, 1)) / of_topic.sum())
        by_word = of_topic.sum((0, 2)) / of_topic.sum()
        assert topic.weights == pytest.approx(np.sort(by_word)[::-1])
        assert topic.words == tuple(str(w + 1) for w in np.argsort(-by_word))
        largest = mass.sum((1, 2)).argmax(1) == names.index(topic.name)
        assert topic.documents == pytest.approx(largest.mean())


def test_relevance_prefers_words_that_are_rarer_elsewhere():
    """The first word is the most frequent one of both topics, the second is of one topic."""
    X = np.ones((4, 3)) * [10, 1, 1]
    target = Domain("target", (X,), np.zeros((4, 2)), np.zeros(4, bool))
    problem = Problem("x", "transfer", ("a", "b"), (target,))
    clusters = FeatureClusters("", np.array([[5, 5], [3, 0], [0, 3]]), np.eye(2))
    fit = Fit((np.ones((4, 2)),), factors=((clusters,),))
    for relevance, expected in ((1, "1"), (0, "2")):
        found = topics_of(fit, problem, words=1, relevance=relevance).topics["target"]
        assert {topic.name: topic.words for topic in found}["1"] == (expected,)


def test_coherence_is_the_mean_npmi_of_pairs_of_words():
    occurs = RNG.random((40, 5)) < [0.5, 0.4, 0.3, 0.2, 0.2]
    occurs[:, 4] = ~occurs[:, 3]  # never together
    expected = []
    for i, j in combinations(range(5), 2):
        p, a, b = (occurs[:, i] & occurs[:, j]).mean(), occurs[:, i].mean(), occurs[:, j].mean()
        expected.append(math.log(p / (a * b)) / -math.log(p) if p else -1)
    found = topics.coherence_of(sp.csc_array(occurs))
    assert found == pytest.approx(np.mean(expected))
    always = np.ones((3, 2), bool)
    assert topics.coherence_of(sp.csc_array(always)) == 1
    assert math.isnan(topics.coherence_of(sp.csc_array(always[:, :1])))
    assert topics.coherence_text(math.nan) == "–"


def test_topics_do_not_depend_on_the_order_of_documents_and_features():
    problem, fit = small()
    problem = named(problem)
    rows, columns = RNG.permutation(7), RNG.permutation(9)
    domains = tuple(
        replace(d, views=(d.X[rows][:, columns],), Y=d.Y[rows], seen=d.seen[rows])
        for d in problem.domains
    )
    again = replace(problem, domains=domains, features=tuple(problem.features[w] for w in columns))
    factors = tuple(tuple(replace(c, U=c.U[columns]) for c in clusters) for clusters in fit.factors)
    permuted = Fit(tuple(V[rows] for V in fit.scores), factors=factors)
    found, other = topics_of(fit, problem), topics_of(permuted, again)
    for one, two in zip(found.topics["target"], other.topics["target"], strict=True):
        assert (one.name, one.words) == (two.name, two.words)
        assert one.share == pytest.approx(two.share)
        assert one.coherence == pytest.approx(two.coherence)
        assert one.typical == tuple(rows[list(two.typical)])


def test_equal_topics_have_little_diversity_and_one_large_topic_is_effectively_one():
    problem, fit = small()
    U = np.ones((9, 1)) * np.array([1, 1e-9, 1e-9])
    fit = replace(fit, factors=((), (FeatureClusters("", U, np.ones((3, 2))),)))
    found = topics_of(fit, problem, words=3)
    assert [*found.topics] == ["target"]
    assert found.diversity("target") == pytest.approx(1 / 3)
    assert found.effective("target") == pytest.approx(1, abs=1e-6)


def test_a_fit_without_factors_and_names_of_another_number_are_refused():
    problem, fit = small()
    with pytest.raises(ValueError, match="no feature clusters"):
        topics_of(replace(fit, factors=()), problem)
    with pytest.raises(ValueError, match=r"3 names of features; expected 9, or none"):
        replace(problem, features=("a", "b", "c"))


def test_an_input_is_never_written_over(call, tmp_path):
    write_files(tmp_path)
    before = (tmp_path / "t.csv").read_bytes()
    files = ("--source", str(tmp_path / "s.csv"), "--target", str(tmp_path / "t.csv"))
    code, _, err = call("topics", "cocc", *files, "--csv", str(tmp_path / "t.csv"))
    assert (code, "is one of the files to read" in err) == (2, True)
    assert (tmp_path / "t.csv").read_bytes() == before


def test_words_of_a_users_texts_name_the_columns_that_have_them(tmp_path):
    write_files(tmp_path)
    path = tmp_path / "task.yaml"
    path.write_text("source: s.csv\ntargets: [t.csv]\n")
    problem, _ = tasks.load(tasks.Task.parse(str(path)), transferbench.api.settings.load())
    texts = pd.read_csv(tmp_path / "s.csv")["text"].str.lower()
    for w in range(0, len(problem.features), 7):
        occurs = texts.str.contains(rf"\b{problem.features[w]}\b").to_numpy()
        np.testing.assert_array_equal(problem.domains[0].X[:, [w]].toarray().ravel() > 0, occurs)


def test_a_subsampled_task_keeps_the_names_of_its_features():
    parts = {
        name: (RNG.poisson(0.12, (40, 30)), np.arange(40) % 2) for name in ("source", "target")
    }
    parts = {name: (sp.csr_array(X), y) for name, (X, y) in parts.items()}
    whole = problem_from_counts(
        "x", "transfer", Content(["a", "b"], parts, [f"w{w}" for w in range(30)]), min_df=5
    )
    part, _ = subsample(*whole, min_df=3, documents=20)
    assert len(part.features) == part.domains[0].X.shape[1]
    assert len(part.features) < len(whole[0].features)
    for domain, name in zip(part.domains, parts, strict=True):
        columns = [int(feature[1:]) for feature in part.features]
        present = {tuple(row) for row in parts[name][0][:, columns].toarray()}
        assert all(tuple(row) in present for row in domain.X.toarray())


def test_the_command_prints_a_task_and_files_and_writes_csv_and_json(call, tmp_path):
    task = "generated/transfer:documents=80,features=60,words=9"
    table = tmp_path / "topics.csv"
    code, out, _ = call("topics", "dtl", task, "--set", "max_iter=3", "--csv", str(table))
    assert code == 0
    assert "target: " in out
    assert "effective number" in out
    frame = pd.read_csv(table)
    assert frame.groupby("domain")["share"].sum().tolist() == pytest.approx([1, 1], abs=1e-3)
    code, out, _ = call("topics", "dtl", task, "--set", "max_iter=3", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [row["words"] for row in answer["topics"]] == frame["words"].astype(str).tolist()
    write_files(tmp_path)
    files = ("--source", str(tmp_path / "s.csv"), "--target", str(tmp_path / "t.csv"))
    code, out, _ = call("topics", "cocc", *files, "--documents", "1")
    assert code == 0
    assert re.search(r"^    t\.csv, row \d+: ", out, re.MULTILINE)
    by_document = tmp_path / "documents.csv"
    assert call("topics", "cocc", *files, "--by-document", str(by_document))[0] == 0
    found = pd.read_csv(by_document)
    assert found["domain"].unique().tolist() == ["t"]
    of_target = found[found["domain"] == "t"]
    assert of_target["row"].tolist() == [*range(1, 61)]
    assert {*of_target["file"]} == {str(tmp_path / "t.csv")}
    assert len(found) == 60
    assert found["share"].between(0, 1).all()
    code, out, _ = call("topics", "nmf", *files, "--csv", str(table))
    assert (code, out.splitlines()[2].split()[5]) == (0, "cluster")
    assert {"cluster 1", "cluster 2"} <= set(pd.read_csv(table))


def test_typical_documents_have_the_rows_of_their_files(call, tmp_path):
    write_files(tmp_path)
    rows = [(f"{text} number{i}", "") for i, (text, _) in enumerate(sentences(1, 40, 1))]
    for name, part in (("t.csv", rows[:20]), ("u.csv", rows[20:])):
        write_csv(tmp_path / name, part)
    target = f"{tmp_path / 't.csv'},{tmp_path / 'u.csv'}"
    files = ("--source", str(tmp_path / "s.csv"), "--target", target)
    code, out, _ = call("topics", "nmf", *files, "--documents", "9")
    places = re.findall(r"(.)\.csv, row (\d+): .*number(\d+)", out)
    assert (code, len(places), {file for file, *_ in places}) == (0, 18, {"t", "u"})
    assert all(int(row) == int(n) + 1 - 20 * (file == "u") for file, row, n in places)


def test_the_csv_has_no_formula(call, tmp_path):
    write_files(tmp_path)
    target = (tmp_path / "t.csv").rename(tmp_path / "=cmd.csv")
    files = ("--source", str(tmp_path / "s.csv"), "--target", str(target))
    assert call("topics", "nmf", *files, "--csv", str(tmp_path / "out.csv"))[0] == 0
    assert {*pd.read_csv(tmp_path / "out.csv")["domain"]} == {"'=cmd"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dtl", "cocc"])
def test_the_committed_topics_of_comp_vs_rec_follow_from_the_code(name):
    with reachable("20 Newsgroups"):
        problem, _ = transferbench.load_task("comp-vs-rec")
    found = topics_of(transferbench.fit(name, problem, seed=0), problem).to_frame()
    committed = pd.read_csv(ROOT / "results" / "topics" / f"{name}.csv", dtype={"topic": str})
    assert committed["share"].tolist() == pytest.approx(found["share"].tolist(), rel=1e-3)
    same = (committed["words"] == found["words"]).mean()
    assert same > 0.9  # the order of two words may depend on rounding


@pytest.mark.parametrize("name", models.WITH_TOPICS)
def test_every_factorisation_has_committed_topics(name):
    committed = pd.read_csv(ROOT / "results" / "topics" / f"{name}.csv")
    assert committed.groupby("domain")["share"].sum().tolist() == pytest.approx(
        [1] * committed["domain"].nunique(), abs=1e-3
    )


def test_the_command_has_the_defaults_of_the_function():
    defaults = {option.name: option.default for option in command.params}
    for name, parameter in inspect.signature(topics_of).parameters.items():
        assert defaults.get(name, parameter.default) == parameter.default


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lr", "comp-vs-rec"], "lr has no feature clusters; expected cd-plsa, cocc"),
        (["gcfm", "comp-vs-rec"], "Did you mean 'gcmf'?"),
        (["dtl"], "expected either a task or files"),
        (["dtl", "gtl-table3"], "expected a task, got an experiment"),
        (["dtl", "comp-vs-rec", "--csv", "no/such/folder.csv"], "the folder does not exist"),
        (["dtl", "comp-vs-rec", "--csv", "topics.txt"], "expected a name that ends in .csv"),
        (["dtl", "comp-vs-rec", "--html", "topics"], "expected a name that ends in .html"),
        (["dtl", "--source", "x.csv"], "--target is missing"),
        (["nmf", "comp-vs-rec", "--features", "both"], "--features: only for files"),
        (["nmf", "--source", "x", "--target", "y", "--label-separator", "|"], "take one label"),
        (["dtl", "comp-vs-rec", "--source", "x.csv"], "expected either a task or files"),
        (
            ["dtl", "generated/transfer:documents=80,features=60,words=9", "--set", "k=3"],
            "kappa must be at most k, got kappa = 10 and k = 3; try other parameters",
        ),
    ],
)
def test_a_mistake_is_one_line(call, arguments, message):
    code, _, err = call("topics", *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_what_is_left_of_a_zero_is_no_word_of_a_topic():
    problem, fit = small()
    U = np.full((9, 2), 1e-100)
    U[0, 0] = U[1:, 1] = 1.0
    clusters = (FeatureClusters("common", U, np.ones((2, 2))),)
    found = topics_of(replace(fit, factors=(clusters, clusters)), problem).topics["target"]
    single = next(topic for topic in found if topic.name == "common 1")
    assert (single.words, math.isnan(single.coherence)) == (("1",), True)
    assert topics.coherence_text(-0.001) == "0.00"


def test_scores_of_zero_are_decisions_and_a_domain_without_words_has_no_topics():
    problem, fit = small()
    zero = replace(fit, scores=(fit.scores[0], np.zeros((7, 2))))
    assert topics_of(zero, problem).topics["target"]
    source, target = problem.domains
    empty = replace(problem, domains=(source, replace(target, views=(np.zeros((7, 9)),))))
    assert [*topics_of(fit, empty).topics] == ["source"]
    only = replace(fit, factors=((), fit.factors[1]))
    with pytest.raises(ValueError, match="no document has any word"):
        topics_of(only, empty)
