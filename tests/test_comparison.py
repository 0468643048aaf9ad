"""The table of compared models, and the recommendation with its evidence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, make_problem

from transferbench import artefacts, datasets, experiments
from transferbench.artefacts import Folder
from transferbench.choose import compare, evidence, fits, sample
from transferbench.choose.advice import Choice, choose, choose_by_sample
from transferbench.choose.compare import Comparison
from transferbench.choose.fits import ComparedModel
from transferbench.data.problems import subsample
from transferbench.errors import Doubt
from transferbench.evidence.regret import ELSEWHERE
from transferbench.models.transfer import consensus, consensus_sampled
from transferbench.problem import Fit, Problem, Truth

SOURCE, TRUTH = make_problem(documents=4)


def large(source: int = 500, target: int = 500, classes: int = 2, features: int = 20) -> Problem:
    """Return a problem of so many documents, each with one feature."""
    problem = make_problem(documents=8, classes=classes)[0]
    domains = [
        replace(
            domain,
            views=(np.eye(features)[(np.arange(n) + domain.seen.all()) % features],),
            Y=np.resize(domain.Y, (n, classes)),
            seen=np.resize(domain.seen, n),
        )
        for domain, n in zip(problem.domains, (source, target), strict=True)
    ]
    return replace(problem, domains=tuple(domains))


def table(true: list[int], **decisions: list[list[int]]) -> dict[str, dict]:
    """Return by model the line of the table.

    Parameters
    ----------
    true
        Classes of the four documents of the target; −1 for one without a label.
    **decisions
        By model, the classes that it decides on, by seed.
    """
    Y = np.array([np.zeros(2) if y < 0 else np.eye(2)[y] for y in true])
    truth = replace(
        TRUTH, Y=(TRUTH.Y[0], Y), scored=(np.zeros(4, bool), np.array(true) >= 0)
    )  # fmt: skip
    entries = {
        model: ComparedModel(
            model, {}, tuple(Fit((TRUTH.Y[0], np.eye(2)[seed])) for seed in seeds), 1.0, ()
        )
        for model, seeds in decisions.items()
    }
    found = compare.results_table(Comparison(SOURCE, entries, (), Choice("lr", ())), truth)
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
    # Of three documents svm alone is right on two; two more are added for each model.
    z = 2 / math.sqrt(2 + 4)
    assert found["svm"]["ahead_p"] == pytest.approx(math.erfc(z / math.sqrt(2)))
    assert found["svm"]["ahead_p"] < found["gcmf"]["ahead_p"] < 1
    assert math.isnan(found["lr"]["ahead"])


def test_documents_without_a_label_are_not_scored_and_an_absent_class_has_no_recall():
    line = table([0, -1, -1, 0], lr=[[0, 1, 1, 1]])["lr"]
    assert (line["documents"], line["scored"], line["accuracy"]) == (4, 2, 0.5)
    assert line["recall a"] == 0.5
    assert math.isnan(line["recall b"])


def test_seeds_follow_each_other_from_the_given_one():
    plans = fits.plan_fits("transfer", ["lr", "gcmf"], {}, repeats=2, seed=5)
    assert {plan.model: plan.seeds for plan in plans} == {"lr": (None,), "gcmf": (5, 6)}


def test_the_reference_and_the_recommended_model_are_always_compared():
    assert fits.model_names("transfer", ["dtl", "lr"]) == ["lr", "dtl", "consensus"]
    assert fits.model_names("transfer", ["consensus"]) == ["lr", "consensus"]
    assert fits.model_names("multilabel", ["tram"]) == ["linear-svm", "tram"]
    assert fits.model_names("transfer") == list(evidence.QUICK["transfer"])


def entry(
    agreement: float = 0.95, area: float = 0.9, *doubts: Doubt, **params: object
) -> ComparedModel:
    """Return an entry of the consensus as on SOURCE, with these diagnostics."""
    (planned,) = fits.plan_fits("transfer", ["consensus"], {"consensus": params})
    signs = {"area": area, "agreement": agreement, "alike": float(area < 0.5)}
    if math.isnan(agreement):
        del signs["agreement"]
    fit = Fit(TRUTH.Y, diagnostics=signs)
    return ComparedModel("consensus", planned.params, (fit,), 1.0, doubts)


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
    chosen = choose(large(), found)
    assert chosen.model == "consensus"
    assert chosen.sentences[:2] == ("Recommended: consensus.", f"Why: {why}.")


BAD = Doubt("no good", True)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.614), "the methods agree too little to trust one (0.61, below 0.7)"),
        (entry(0.95, 0.9, Doubt("a doubt"), BAD), "consensus: no good"),
        (replace(entry(0.95, 0.9, BAD), fits=()), "consensus: no good"),
    ],
    ids=["little agreement", "worthless", "no fit"],
)
def test_no_model_is_recommended_where_it_would_be_wrong(found, why):
    chosen = choose(large(), found)
    assert chosen.model is None
    assert chosen.sentences[1] == f"Why: {why}."
    assert "--label-sample 50" in chosen.sentences[2]


def test_the_recommendation_quotes_regrets_that_were_not_fitted():
    chosen = choose(large(), entry())
    assert chosen.sentences[2].startswith("Expect 3 to 6 points of accuracy less than by the best ")
    assert "4.4 (1.0 to 9.9, at worst 21.0) where the target has about" in chosen.evidence
    assert choose(large(), entry(math.nan, 0.3)).sentences[2].startswith("Expect 0.2 points")


def test_the_regrets_are_those_of_the_experiments():
    columns = ["tasks", "corpora", "mean", "low", "high", "worst"]
    for shares, regret in evidence.REGRETS.items():
        fitted = shares == "no shift"
        name = "choice" if fitted else "choice-settings"
        strategy = f"{evidence.RECOMMENDED}, {evidence.ADVISED}" if fitted else ELSEWHERE
        table = pd.read_csv(ROOT / "results" / name / "regret.csv")
        table = table[(table.strategy == strategy) & (table.documents == evidence.ANY)]
        (row,) = table[table.shares == shares][columns].to_dict("records")
        assert {name: getattr(regret, name) for name in columns} == pytest.approx(row)
    table = pd.read_csv(ROOT / "results" / "choice-labels" / "labels.csv")
    for m, (mean, worst) in evidence.BY_SAMPLE.items():
        of_tasks = table[table.labels == m]
        by_corpus = of_tasks.groupby("corpus").regret.mean()
        assert (mean, worst) == pytest.approx((by_corpus.mean(), of_tasks.regret.max()), abs=5e-4)


def test_no_evidence_is_quoted_for_other_parameters():
    none = "No evidence is known for its parameters."
    assert none not in choose(large(), entry()).sentences[2]
    assert none in choose(large(), entry(strength=5.0)).sentences[2]


@pytest.mark.parametrize(
    ("source", "target", "classes", "features", "why"),
    [
        (evidence.MIN_EVIDENCE, evidence.MAX_EVIDENCE, evidence.MAX_CLASSES, 20, ""),
        (evidence.MIN_EVIDENCE, evidence.MIN_EVIDENCE - 1, 2, 20, "a domain has 499 documents"),
        (evidence.MIN_EVIDENCE - 1, evidence.MIN_EVIDENCE, 2, 20, "a domain has 499 documents"),
        (evidence.MIN_EVIDENCE, evidence.MAX_EVIDENCE + 1, 2, 20, "a domain has 10,034 documents"),
        (evidence.MIN_EVIDENCE, evidence.MIN_EVIDENCE, 5, 20, "there are 5 classes"),
        (evidence.MIN_EVIDENCE, evidence.MIN_EVIDENCE, 2, 5, "20 % of the features of a domain"),
        (evidence.MIN_EVIDENCE, 19, 2, 20, "19 documents are too few"),
    ],
)
def test_data_outside_the_range_of_the_evidence_get_no_advice_but_labels(
    source, target, classes, features, why
):
    chosen = choose(large(source, target, classes, features), entry())
    assert chosen.model == (None if why else "consensus")
    assert chosen.sentences[1].startswith(f"Why: {why}")


def judged(*right: float) -> dict[str, Fit]:
    """Return fits that are right on so many of 50 documents of the class 0, by number."""
    decided = [np.arange(50) >= count for count in right]
    return {f"{i}": Fit((np.eye(2)[wrong.astype(int)],)) for i, wrong in enumerate(decided)}


def test_the_choice_by_a_sample_prefers_the_first_of_equals_and_corrects_its_optimism():
    Y, rows = np.tile([1.0, 0.0], (50, 1)), np.ones(50, bool)
    truth = Truth("transfer", ("a", "b"), ("t",), (Y,), (rows,))
    one = sample.judge(judged(40), truth)
    assert (one.right, one.documents, one.optimism) == ({"0": 40}, 50, 0)
    # Independent guesses: the best of many is right on half of the others.
    rng = np.random.default_rng(0)
    guesses = {f"{i}": Fit((rng.random((50, 2)),)) for i in range(20)}
    best = sample.judge(guesses, truth)
    found = next(iter(best.right.values())) / 50
    assert found >= 0.6
    assert 0.5 * (found - 0.5) < best.optimism < 1.5 * (found - 0.5)
    assert [*sample.judge(judged(30, 40, 40), truth).right] == ["1", "2", "0"]


def test_of_equally_good_models_the_first_is_taken_and_the_reason_says_so():
    entries = {
        name: replace(entry(), model=name, fits=(Fit(fit.scores + fit.scores),))
        for name, fit in judged(30, 40, 40).items()
    }
    truth = Truth(
        "transfer",
        ("a", "b"),
        ("s", "t"),
        (np.tile([1.0, 0.0], (50, 1)),) * 2,
        (np.zeros(50, bool), np.ones(50, bool)),
    )
    chosen = choose_by_sample(entries, truth)
    assert chosen.model == "1"
    assert "40 of 50 labelled documents (2 40, 0 30; of equally good ones it is" in str(chosen)
    del entries["2"]
    assert "equally" not in str(choose_by_sample(entries, truth))
    entries["consensus"] = replace(entries["1"], model="consensus")
    assert "of equally good ones it is preferred" in str(choose_by_sample(entries, truth))


def test_consensus_takes_the_shares_of_the_sample_and_no_document_is_evidence_for_itself():
    """The shares found are wrong; five sixths of the documents are of the first class."""
    n, c = 60, 2
    true = np.eye(c)[(np.arange(n) % 6 == 0).astype(int)]
    asked = []

    def decide(shares: np.ndarray) -> np.ndarray:
        asked.append(shares)
        return np.tile(shares, (n, 1))

    rows = np.arange(n) < 12
    scores = consensus_sampled.at_sample(np.tile([0.0, 1.0], (n, 1)), true, rows, decide)
    for labels, where in (((10, 2), ~rows), ((9, 2), rows & (true[:, 0] > 0)),
                          ((10, 1), rows & (true[:, 1] > 0))):  # fmt: skip
        expected = np.add(labels, [0, 5]) / (sum(labels) + 5)
        np.testing.assert_allclose(scores[where], np.tile(expected, (where.sum(), 1)))
    assert len(asked) == 3


def test_consensus_sampled_decides_by_the_labels_of_a_target_as_a_sample_does(tmp_path):
    problem, truth = make_problem(documents=60)
    drawn, drawn_truth = subsample(problem, truth, labelled=12)
    *_, target = drawn.domains
    assert drawn_truth.scored[-1].all()
    nothing = [np.zeros_like(rows) for rows in truth.scored[:-1]]
    labelled = replace(truth, scored=(*nothing, target.seen))
    found = consensus.fit(problem)
    expected = sample.decide(problem, found, labelled)
    for _ in range(2):  # the second time from artefacts
        with artefacts.use(Folder(tmp_path, 2**20)):
            fit = consensus_sampled.fit(drawn)
        np.testing.assert_array_equal(fit.scores[-1], expected.scores[-1])
    assert fit.diagnostics == expected.diagnostics
    without = consensus_sampled.fit(problem).scores
    np.testing.assert_array_equal(without[-1], found.scores[-1])
    assert not np.array_equal(without[-1], expected.scores[-1])


def test_the_range_of_the_evidence_is_that_of_the_experiment():
    """The smallest tasks are those that are cut; only the universities of WebKB have fewer."""
    sizes, classes = {}, set()
    for label, row in experiments.load("choice").spec.rows.items():
        task, asked = row.data(), row.variant["documents"]
        if row.group == "WebKB" or asked == "100":
            continue
        facts = datasets.facts(task.base)
        limit = task.subsample_options.get("documents", math.inf)
        sizes[label] = [min(limit, size) for size in facts["documents"].values()]
        classes.add(len(facts["classes"]))
    assert min(map(min, sizes.values())) == evidence.MIN_EVIDENCE
    assert max(map(max, sizes.values())) == evidence.MAX_EVIDENCE
    assert max(classes) == evidence.MAX_CLASSES
