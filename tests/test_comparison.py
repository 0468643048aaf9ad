"""The table of compared models, and the recommendation with its evidence."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, make_problem

from transferbench import datasets, experiments
from transferbench.choose import compare, evidence
from transferbench.choose.advice import Choice, choose
from transferbench.choose.compare import Comparison, Entry
from transferbench.errors import Doubt
from transferbench.problem import Fit

SOURCE, TRUTH = make_problem(documents=4)
LARGE = make_problem(documents=20)[0]


def table(true: list[int], **decisions: list[list[int]]) -> dict[str, dict]:
    """Return by model the line of the table; true: −1 for a document without a label.

    decisions: by model the classes of the four documents of the target, by seed.
    """
    Y = np.array([np.zeros(2) if y < 0 else np.eye(2)[y] for y in true])
    truth = replace(
        TRUTH, Y=(TRUTH.Y[0], Y), scored=(np.zeros(4, bool), np.array(true) >= 0)
    )  # fmt: skip
    entries = {
        model: Entry(
            model, {}, tuple(Fit((TRUTH.Y[0], np.eye(2)[seed])) for seed in seeds), 1.0, ()
        )
        for model, seeds in decisions.items()
    }
    found = compare.table(Comparison(SOURCE, entries, (), Choice("lr", "")), truth)
    return {line["model"]: line for line in found.to_dict("records")}


def test_a_line_has_the_mean_and_the_deviation_over_the_seeds():
    found = table([0, 0, 1, 1], lr=[[0, 0, 1, 1]], gcmf=[[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
    line = found["gcmf"]
    assert line["accuracy"] == 0.75
    assert line["accuracy_std"] == 0.25  # of 1, 0.75 and 0.5, with n − 1
    assert (line["recall a"], line["recall b"]) == (0.5, 1)
    assert line["share a"] == pytest.approx((2 + 1 + 0) / 12)
    assert math.isnan(found["lr"]["accuracy_std"])


def test_a_model_is_compared_with_the_first_one_on_the_same_documents():
    found = table([0, 0, 1, -1], lr=[[1, 1, 1, 1]], svm=[[0, 0, 1, 1]], gcmf=[[0, 1, 1, 1]] * 2)
    assert (found["svm"]["ahead"], found["gcmf"]["ahead"]) == pytest.approx((2 / 3, 1 / 3))
    # Of three documents, and one more for each model: 1, 1, 0, 1 and -1.
    z = (2 / 3) / math.sqrt(np.var([1, 1, 0, 1, -1], ddof=1) / 5)
    assert found["svm"]["ahead_p"] == pytest.approx(math.erfc(z / math.sqrt(2)))
    assert found["svm"]["ahead_p"] < found["gcmf"]["ahead_p"] < 1
    assert math.isnan(found["lr"]["ahead"])


def test_documents_without_a_label_are_not_scored_and_an_absent_class_has_no_recall():
    line = table([0, -1, -1, 0], lr=[[0, 1, 1, 1]])["lr"]
    assert (line["documents"], line["scored"], line["accuracy"]) == (4, 2, 0.5)
    assert line["recall a"] == 0.5
    assert math.isnan(line["recall b"])


def test_seeds_follow_each_other_from_the_given_one():
    plans = compare.plan("transfer", ["lr", "gcmf"], {}, repeats=2, seed=5)
    assert {plan.model: plan.seeds for plan in plans} == {"lr": (None,), "gcmf": (5, 6)}


def test_the_reference_and_the_recommended_model_are_always_compared():
    assert compare.model_names("transfer", ["dtl", "lr"]) == ["lr", "dtl", "consensus"]
    assert compare.model_names("transfer", ["consensus"]) == ["lr", "consensus"]
    assert compare.model_names("multilabel", ["tram"]) == ["linear-svm", "tram"]
    assert compare.model_names("transfer") == list(evidence.QUICK["transfer"])


def entry(agreement: float = 0.95, area: float = 0.9, *doubts: Doubt, **params: object) -> Entry:
    """Return an entry of the consensus as on SOURCE, with these diagnostics."""
    (planned,) = compare.plan("transfer", ["consensus"], {"consensus": params})
    signs = {"area": area, "agreement": agreement, "alike": float(area < 0.5)}
    if math.isnan(agreement):
        del signs["agreement"]
    fit = Fit(TRUTH.Y, diagnostics=signs)
    return Entry("consensus", planned.params, (fit,), 1.0, doubts)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.954), "its members agree on the class shares (0.95; 0.7 is needed)"),
        (entry(math.nan), "its decisions have the class shares of its parameter prior"),
        (
            entry(math.nan, 0.3),
            "source and target look alike, so it decides as the SVM",
        ),
        (entry(0.9, 0.5, alike=0.4), "its members agree on the class shares (0.90; 0.7 is needed)"),
    ],
    ids=["agree", "given shares", "alike", "another border"],
)
def test_the_recommendation_says_why(found, why):
    chosen = choose(LARGE, found)
    assert chosen.model == "consensus"
    assert chosen.sentence.startswith(f"Recommended: consensus; {why}. ")


BAD = Doubt("no good", True)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.614), "the methods agree too little to trust one (0.61, below 0.7). Label"),
        (entry(0.95, 0.9, Doubt("a doubt"), BAD), "consensus: no good. Label a sample of"),
        (replace(entry(0.95, 0.9, BAD), fits=()), "consensus: no good. Label a sample of"),
    ],
    ids=["little agreement", "worthless", "no fit"],
)
def test_no_model_is_recommended_where_it_would_be_wrong(found, why):
    chosen = choose(LARGE, found)
    assert chosen.model is None
    assert chosen.sentence.startswith(f"No model is recommended: {why}")


def test_no_model_is_recommended_for_few_documents():
    chosen = choose(SOURCE, entry())
    assert chosen.model is None
    assert chosen.sentence == "No model is recommended for 4 documents; 20 are needed."


def test_the_recommendation_quotes_the_experiment():
    assert (
        "In the experiment `choice` (210 tasks from 6 corpora, with whose labels it was designed) "
        "it is on average below the best of six single models by 1.6 points (-0.3 to 3.4, at worst "
        "11.2) where the target has about the source's class shares; 2.6 points "
    ) in choose(LARGE, entry()).sentence
    assert "(67 tasks from 6 corpora, " in choose(LARGE, entry(math.nan, 0.3)).sentence


def test_the_regrets_are_those_of_the_experiment():
    table = pd.read_csv(ROOT / "results" / "choice" / "regret.csv")
    advised = f"{evidence.RECOMMENDED}, {evidence.ADVISED}"
    rows = table[(table.strategy == advised) & (table.documents == evidence.ANY)]
    columns = ["tasks", "corpora", "mean", "low", "high", "worst"]
    for shares, regret in evidence.REGRETS.items():
        (row,) = rows[rows.shares == shares][columns].to_dict("records")
        assert {name: getattr(regret, name) for name in columns} == row


def test_no_evidence_is_quoted_for_other_parameters():
    none = "No evidence is known for its parameters."
    assert none not in choose(LARGE, entry()).sentence
    assert none in choose(LARGE, entry(strength=5.0)).sentence


@pytest.mark.parametrize(
    ("source", "target", "classes", "outside"),
    [
        (evidence.MIN_EVIDENCE, evidence.MAX_EVIDENCE, evidence.MAX_CLASSES, False),
        (evidence.MIN_EVIDENCE, evidence.MIN_EVIDENCE - 1, 2, True),
        (evidence.MIN_EVIDENCE - 1, evidence.MIN_EVIDENCE, 2, True),
        (evidence.MIN_EVIDENCE, evidence.MAX_EVIDENCE + 1, 2, True),
        (evidence.MIN_EVIDENCE, evidence.MIN_EVIDENCE, evidence.MAX_CLASSES + 1, True),
    ],
)
def test_data_outside_the_range_of_the_evidence_are_named(source, target, classes, outside):
    problem = make_problem(documents=8, classes=classes)[0]
    domains = [
        replace(
            domain,
            views=(np.full((n, 1), 1.0 + domain.seen.all()),),
            Y=np.resize(domain.Y, (n, classes)),
            seen=np.resize(domain.seen, n),
        )
        for domain, n in zip(problem.domains, (source, target), strict=True)
    ]
    sentence = choose(replace(problem, domains=tuple(domains)), entry()).sentence
    assert bool(re.search(r"Your data are outside .* label a sample to be sure\.$", sentence)) == (
        outside
    )


def test_the_range_of_the_evidence_is_that_of_the_experiment():
    """The smallest tasks are those that are cut; only the universities of WebKB have fewer."""
    sizes, classes = {}, set()
    for label, row in experiments.load("choice").spec.rows.items():
        task, asked = row.data(), row.variant["documents"]
        if row.group == "WebKB" or asked == "100":
            continue
        facts = datasets.facts(task.base)
        limit = task.cut.get("documents", math.inf)
        sizes[label] = [min(limit, size) for size in facts["documents"].values()]
        classes.add(len(facts["classes"]))
    assert min(map(min, sizes.values())) == evidence.MIN_EVIDENCE
    assert max(map(max, sizes.values())) == evidence.MAX_EVIDENCE
    assert max(classes) == evidence.MAX_CLASSES
