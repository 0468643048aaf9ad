"""Tasks with some of their documents: sizes, class ratios, halves, weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from transferbench import tasks
from transferbench.data.problems import Content, problem_from_counts
from transferbench.data.subsample import draw_labelled, subsample
from transferbench.data.text import weight
from transferbench.errors import Unavailable, UserError


def made(sizes: dict[str, tuple[int, ...]]):
    """Return a problem with so many documents of each class; the first feature is their number."""
    parts, n = {}, 1
    for name, each in sizes.items():
        y = np.random.default_rng(1).permutation(np.repeat(np.arange(len(each)), each))
        parts[name] = sp.csr_array(np.column_stack([np.arange(n, n + len(y)), y + 1])), y
        n += len(y)
    classes = "abcd"[: len(next(iter(sizes.values())))]
    return problem_from_counts("made-up", "transfer", Content(classes, parts))


PAIR = {"source": (30, 50), "target": (30, 50)}


def sizes(truth) -> list[list[int]]:
    return [Y.sum(axis=0).astype(int).tolist() for Y in truth.Y]


def rows(problem) -> list[list[int]]:
    return [domain.X[:, [0]].toarray().astype(int).ravel().tolist() for domain in problem.domains]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"class_sizes": "1:10"}, [[30, 50], [5, 50]]),
        ({"class_sizes": "3:1", "unequal_in": "source"}, [[30, 10], [30, 50]]),
        ({"class_sizes": "3:1", "unequal_in": "both"}, [[30, 10], [30, 10]]),
        ({"class_sizes": "1:1", "documents": 40, "unequal_in": "both"}, [[20, 20], [20, 20]]),
    ],
)
def test_the_ratio_is_met_with_as_many_documents_as_possible(options, expected):
    assert sizes(subsample(*made(PAIR), **options)[1]) == expected


@pytest.mark.parametrize("options", [{"documents": 31}, {"class_sizes": "1:5"}, {"halves": True}])
def test_documents_stay_in_order_with_their_labels_and_are_the_same_every_time(options):
    whole, truth = made(PAIR)
    label = {
        n: tuple(y)
        for domain, Y in zip(rows(whole), truth.Y, strict=True)
        for n, y in zip(domain, Y, strict=True)
    }
    problem, found = subsample(whole, truth, **options)
    for domain, numbers, Y in zip(problem.domains, rows(problem), found.Y, strict=True):
        assert numbers == sorted(numbers)
        assert [tuple(y) for y in Y] == [label[n] for n in numbers]
        np.testing.assert_array_equal(domain.Y, np.where(domain.seen[:, None], Y, 0))
    assert [domain.seen.all() for domain in problem.domains] == [True, False]
    assert all((s == ~d.seen).all() for s, d in zip(found.scored, problem.domains, strict=True))
    assert rows(subsample(whole, truth, **options)[0]) == rows(problem)


def test_halves_are_of_the_labelled_domain_alone():
    whole, truth = made({"source": (30, 51), "target": (30, 50)})
    problem, found = subsample(whole, truth, halves=True)
    assert [domain.name for domain in problem.domains] == ["source", "target"]
    source, target = rows(problem)
    assert sorted(source + target) == rows(whole)[0]
    assert (len(source), len(target)) == (40, 41)
    assert sizes(subsample(whole, truth, halves=True, class_sizes="1:1")[1])[0] == sizes(found)[0]


@pytest.mark.parametrize("ratio", ["1:2:3", "a:b", "0:1", "1:inf"])
def test_another_form_of_ratio_is_refused(ratio):
    with pytest.raises(ValueError, match=r"expected 2 positive numbers joined by colons"):
        subsample(*made(PAIR), class_sizes=ratio)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_sizes": "1:1000"}, "class_sizes 1:1000 leaves a class of target empty"),
        ({"documents": 1}, "documents 1 leaves a class of source empty"),
        ({"unequal_in": "both"}, "without class_sizes"),
        ({"draw": 1}, "draw without labelled"),
        ({"labelled": 1, "unlabelled": True}, "labelled and unlabelled were both given"),
    ],
)
def test_options_that_make_no_task_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        subsample(*made(PAIR), **options)


def test_without_labels_a_task_is_one_of_clustering():
    problem, truth = subsample(*made(PAIR), documents=40, unlabelled=True)
    assert problem.family == truth.family == "clustering"
    assert not any(domain.Y.any() or domain.seen.any() for domain in problem.domains)
    assert [scored.sum() for scored in truth.scored] == [40, 40]
    labelled, _ = subsample(*made(PAIR), documents=40)
    assert rows(problem) == rows(labelled)


def test_some_documents_of_a_target_are_labelled_and_not_scored():
    problem, truth = subsample(*made(PAIR), labelled=20)
    again, _ = subsample(*made(PAIR), labelled=20, draw=1)
    source, target = problem.domains
    whole, scored = subsample(*made(PAIR))
    assert rows(problem) == rows(whole)
    assert source.seen.all()
    assert target.seen.sum() == 20
    assert np.array_equal(target.Y, truth.Y[1] * target.seen[:, None])
    assert (truth.scored[1] == scored.scored[1] & ~target.seen).all()
    assert target.label_weights is None
    weighted, _ = subsample(*made(PAIR), labelled=20, label_weight=3.0)
    assert set(weighted.domains[1].label_weights) == {3.0}
    assert weighted.domains[0].label_weights is None
    assert again.domains[1].seen.sum() == 20
    assert (again.domains[1].seen != target.seen).any()
    assert np.flatnonzero(target.seen).tolist() == sorted(draw_labelled(80, 20, 0, problem.name))


def test_at_most_half_of_a_target_is_labelled():
    subsample(*made(PAIR), labelled=40)
    with pytest.raises(Unavailable, match="target has 80 documents, too few to label 41"):
        subsample(*made(PAIR), labelled=41)


def test_options_of_a_task_are_in_its_name():
    named = tasks.Task.parse
    task = named("comp-vs-rec:halves=true,min_df=7,documents=500,order=1,class_sizes=1:1")
    assert str(task) == "gtl/comp-vs-rec:class_sizes=1:1,documents=500,halves=true,min_df=7,order=1"
    assert named(str(task)) == task
    assert dict(task.subsample_options) == {"class_sizes": "1:1", "documents": 500, "halves": True}
    assert str(named("comp-vs-rec", documents=0, unequal_in="target")) == "gtl/comp-vs-rec"
    # an option of the builder, which has the same name
    assert not named("generated/transfer:documents=50").subsample_options
    for wrong, message in (("documents=-1", "integer ≥ 0"), ("docments=5", "mean 'documents'")):
        with pytest.raises(UserError, match=message):
            named(f"comp-vs-rec:{wrong}")


TASK = "generated/transfer:features=50,words=5"


def test_a_task_is_subsampled_from_counts_and_weighted_anew(home):
    task = tasks.Task.parse(f"{TASK},class_sizes=1:4")
    problem, truth = tasks.load(task, home)
    assert sizes(truth)[1] == [625, 2500]
    assert problem.name == str(task)
    plain, _ = tasks.load(
        tasks.Task.parse(f"{TASK},class_sizes=1:4,weighting=tf,unit_length=false"), home
    )
    counts = sp.csr_array(sp.vstack([domain.X for domain in plain.domains]))
    X = sp.vstack([domain.X for domain in problem.domains])
    np.testing.assert_allclose(X.toarray(), weight(counts, "tf-idf", True).toarray(), atol=1e-7)


def test_a_task_of_another_family_is_refused_in_one_line(home):
    with pytest.raises(UserError, match=r"one of clustering; try other options\.$"):
        tasks.load(tasks.Task.parse("generated/small:class_sizes=1:4"), home)
