"""Several labels in a column: label sets, tasks, and the text of predictions."""

from __future__ import annotations

import re
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from user_documents import CAT, SEA, domains, make_documents, refused, write_csv

from transferbench.measures import evaluate
from transferbench.own import multilabel, predictions
from transferbench.own.documents import ReadOptions
from transferbench.own.doubts import fit_doubts
from transferbench.own.fits import choose_family
from transferbench.own.problem import documents_problem, load
from transferbench.problem import Fit

BOTH = ["the cat on the ship", "a kitten at sea"]
SOURCE = make_documents(
    "s.csv", [*CAT, *SEA, *BOTH], ["cat"] * 4 + ["sea"] * 3 + ["|"] + ["sea | cat", "cat|sea|cat"]
)
TARGET = make_documents("t.csv", ["cat at sea", "the ship", "kitten"], ["cat|sea", "", "|"])


def build(*sources, targets=(TARGET,), separator="|"):
    return documents_problem(sources, targets, {"min_df": 1}, separator=separator)


def test_label_sets_of_sources_are_seen_and_those_of_targets_are_the_truth():
    problem, truth = build(SOURCE)
    assert (problem.family, problem.classes) == ("multilabel", ("cat", "sea"))
    np.testing.assert_array_equal(
        problem.domains[0].Y, [[1, 0]] * 4 + [[0, 1]] * 3 + [[0, 0], [1, 1], [1, 1]]
    )
    assert problem.domains[0].seen.all()
    assert not problem.domains[1].seen.any()
    assert not problem.domains[1].Y.any()
    np.testing.assert_array_equal(truth.Y[1], [[1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(truth.scored[1], [True, False, True])


def test_no_domain_has_the_name_of_the_measures_over_all_of_them():
    targets = [make_documents(f"{folder}/all.csv", CAT, ["cat"] * 4) for folder in "ab"]
    problem, truth = build(SOURCE, targets=targets)
    assert [domain.name for domain in problem.domains] == ["s", "all-2", "all-3"]
    measures = evaluate(Fit((truth.Y[0], 1 - truth.Y[1], truth.Y[2])), truth)
    assert [values["hamming"] for values in measures.values()] == [1, 0, 0.5]


def test_a_target_joins_the_task_of_the_most_similar_source():
    cats = make_documents("cats.csv", CAT, ["cat|pet"] * 4)
    ships = make_documents("ships.csv", SEA, ["sea"] * 4)
    boats = make_documents("boats.csv", ["a boat at sea", "sail a ship"], ["sea", "sea"])
    kittens = make_documents("kittens.csv", ["a kitten and a cat"], ["pet"])
    many = make_documents("ships.csv", SEA * 9, ["sea"] * 36)  # nearer by its size alone
    both, _ = build(cats, many, targets=[make_documents("k.csv", ["the cat and a kitten"], [""])])
    assert multilabel.members_of_tasks(both) == [[0, 2], [1]]
    problem, truth = build(cats, ships, targets=[boats, kittens])
    assert multilabel.members_of_tasks(problem) == [[0, 3], [1, 2]]
    pooled, scored = multilabel.pool(problem, truth)
    assert [domain.name for domain in pooled.domains] == ["cats", "ships"] == list(scored.names)
    assert [domain.seen.tolist() for domain in pooled.domains] == [
        [True] * 4 + [False],
        [True] * 4 + [False] * 2,
    ]
    np.testing.assert_array_equal(
        pooled.domains[1].X.toarray(),
        np.vstack([problem.domains[1].X.toarray(), problem.domains[2].X.toarray()]),
    )
    np.testing.assert_array_equal(scored.scored[1], [False] * 4 + [True] * 2)
    np.testing.assert_array_equal(scored.Y[0][-1], truth.Y[3][0])

    def fit(tasks):
        return Fit(tuple(domain.X.toarray()[:, :3] for domain in tasks.domains), (1.0,))

    found = multilabel.fit_in_tasks(problem, fit)
    assert found.trace == (1.0,)
    for domain, scores in zip(problem.domains, found.scores, strict=True):
        np.testing.assert_array_equal(scores, domain.X.toarray()[:, :3])


def test_predicted_labels_are_those_above_the_threshold_best_first():
    problem, _ = build(SOURCE)
    scores = np.array([[0.6, 2.0], [0.1, -0.2], [0.5, 0.49]])
    fit = Fit((np.zeros((10, 2)), scores))
    table = predictions.predict(problem, {"m": fit}, [TARGET], separator=";")
    assert table["predicted"].tolist() == ["sea;cat", "", "cat"]
    assert table["confidence"].tolist() == ["1;0.6", "", "0.5"]
    (doubt,) = fit_doubts("himls", problem, {}, fit)
    assert str(doubt).startswith(
        "t: 1 of 3 documents get no label; the parameter ensure_one_label=true "
    )


@pytest.mark.parametrize(
    ("names", "has_source", "separator", "family"),
    [
        ([], True, None, "transfer"),
        (["lr"], True, "", "transfer"),
        (["lr"], True, ";", "multilabel"),
        (["tram"], True, None, "multilabel"),
        (["tram"], False, ";", "clustering"),
    ],
)
def test_the_separator_or_the_model_makes_data_multilabel(names, has_source, separator, family):
    assert choose_family(names, has_source, separator) == family


@pytest.mark.parametrize(
    "labels", [["a|b", "a"], ["b|a", "c|a"], ["a|b", " b "], ["a, b", "b"], ["a;b", "c;a"]]
)
def test_several_labels_are_refused_for_a_model_of_one_label(labels):
    with refused(r"s\.csv: '.*' looks like several labels; name separator="):
        multilabel.check_single(labels, "s.csv")
    for names in (["a", "b"], ["a|b", "c|d", "e"], ["|", "a"], ["a, b", "c, d"]):
        multilabel.check_single(names, "s.csv")


@pytest.mark.parametrize(
    ("family", "labels", "remedy"),
    [
        ("transfer", ["a, b", "b"], "',' and a multi-label model, or "
         "separator='' if it is one label."),
        ("multilabel", ["a, b|c", "b|c"], "separator='|' if it is one"),
        ("multilabel", ["a, b|c", "d|c"], ""),
    ],
)  # fmt: skip
def test_another_separator_than_the_usual_one_is_to_be_named(tmp_path, family, labels, remedy):
    """The remedy works: with the separator that it names, the files are read."""
    source = write_csv(tmp_path / "s.csv", zip([*CAT, *SEA], labels * 4, strict=True))
    target = write_csv(tmp_path / "t.csv", [(text, "") for text in CAT])
    read = partial(load, *domains(source, target), family=family, labels="any", options={})
    with refused(re.escape(remedy)) if remedy else nullcontext():
        read()
    whole = "" if family == "transfer" else "|"
    classes = read(read_options=ReadOptions(separator=whole)).problem.classes
    names = {name for label in labels for name in (label.split("|") if whole else [label])}
    assert classes == tuple(sorted(names))
