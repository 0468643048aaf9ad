"""The table of compared models, and the recommendation with its evidence."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import ROOT, make_problem

from transferbench import artefacts, datasets, experiments, stats
from transferbench.data.subsample import subsample
from transferbench.errors import Doubt, UserError
from transferbench.evidence import thresholds
from transferbench.evidence.regret import ELSEWHERE
from transferbench.own import compare, evidence, fits, sample
from transferbench.own.advice import Choice, choose, choose_by_sample
from transferbench.own.compare import Comparison
from transferbench.own.fits import ComparedModel
from transferbench.own.session import Session
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


def wide(width: float, peaks: int) -> ComparedModel:
    """Return an entry of the consensus with uncertain class shares."""
    found = entry()
    signs = {**found.fits[0].diagnostics, "share_width": width, "share_peaks": peaks}
    return replace(found, fits=(replace(found.fits[0], diagnostics=signs),))


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.954), "its members agree on the class shares (0.95; 0.7 is needed)"),
        (entry(math.nan), "its decisions have the class shares of its parameter prior"),
        (
            entry(math.nan, 0.3),
            "source and target look alike, so it decides as the SVM",
        ),
    ],
    ids=["agree", "given shares", "alike"],
)
def test_the_recommendation_says_why(found, why):
    chosen = choose(large(), found)
    assert chosen.model == "consensus"
    assert chosen.sentences[:2] == ("Recommended: consensus.", f"Why: {why}.")


BAD = Doubt("no good", True)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.95, 0.9, Doubt("a doubt"), BAD), "consensus: no good"),
        (replace(entry(0.95, 0.9, BAD), fits=()), "consensus: no good"),
    ],
    ids=["worthless", "no fit"],
)
def test_no_model_is_recommended_without_a_usable_result(found, why):
    chosen = choose(large(), found)
    assert (chosen.model, chosen.strength) == (None, "none")
    assert chosen.sentences[:2] == ("Recommended: no model.", f"Why: {why}.")
    assert "--label-sample 50" in chosen.sentences[2]


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (entry(0.614), "its members agree little (0.61; 0.7 is needed)"),
        (wide(0.25, 1), "class shares that are 25 points apart fit the data nearly equally well"),
        (wide(0.15, 2), "class shares that are 15 points apart fit the data nearly equally well"),
    ],
    ids=["little agreement", "width", "peaks"],
)
def test_a_doubtful_recommendation_is_weak_and_says_so_first(found, why):
    chosen = choose(large(), found)
    assert (chosen.model, chosen.strength) == ("consensus", "weak")
    assert chosen.sentences[0] == "Weakly recommended: consensus."
    assert chosen.sentences[1].startswith(f"Why: {why}")
    assert "Where the recommendation was weak, it was on average" in chosen.sentences[2]
    assert "Labels help most: --label-sample 50" in chosen.sentences[2]
    assert choose(large(), wide(0.15, 1)).strength == "strong"


def test_quick_models_of_negative_features_are_those_that_take_them():
    names = fits.model_names("transfer", signed=True)
    assert names == ["lr", "graph-only", "svm", "tsvm", "consensus"]


def test_the_recommendation_quotes_regrets_that_were_not_fitted():
    chosen = choose(large(), entry())
    assert chosen.sentences[2].startswith(
        "On the corpora of the evidence it was 3 to 6 points of accuracy below the best of six"
    )
    assert "4.4 (1.0 to 9.9, at worst 21.0) where the target has about" in chosen.evidence
    assert (
        choose(large(), entry(math.nan, 0.3))
        .sentences[2]
        .startswith("On the corpora of the evidence it was 0.2 points")
    )


def test_the_regrets_are_those_of_the_experiments():
    columns = ["tasks", "corpora", "mean", "low", "high", "worst"]
    for shares, regret in evidence.REGRETS.items():
        fitted = shares == "no shift"
        name = "choice" if fitted else "choice-settings"
        strategy = f"{evidence.RECOMMENDED}, {thresholds.ADVISED}" if fitted else ELSEWHERE
        table = pd.read_csv(ROOT / "results" / name / "regret.csv")
        table = table[(table.strategy == strategy) & (table.documents == thresholds.ANY)]
        (row,) = table[table.shares == shares][columns].to_dict("records")
        assert {name: getattr(regret, name) for name in columns} == pytest.approx(row)
    table = pd.read_csv(ROOT / "results" / "choice-labels" / "labels.csv")
    for m, (mean, worst) in evidence.GAINS_BY_LABELS.items():
        wide = table[table.labels == m].pivot(
            index=["corpus", "task"], columns="method", values="accuracy"
        )
        gains = wide["consensus"] - wide["LR on all views"]
        by_corpus = gains.groupby("corpus").mean()
        assert (mean, worst) == pytest.approx((by_corpus.mean(), gains.min()), abs=1e-3)


def test_given_class_shares_are_judged_on_the_sample_as_they_decide():
    problem, truth = make_problem(documents=80)
    drawn = replace(truth, scored=tuple(rows & (np.arange(80) % 2 == 0) for rows in truth.scored))
    labelled = sample.with_sample(problem, drawn)
    decided = {}
    for prior in ("agreed", (0.97, 0.03)):
        (plan,) = fits.plan_fits("transfer", ["consensus"], {"consensus": {"prior": prior}})
        model = fits.fit_plan(labelled, plan, {})
        scores = model.fits[0].held_out[-1][labelled.domains[-1].seen]
        decided[prior] = np.mean(scores.argmax(axis=1) == 0)
        warned = [str(doubt) for doubt in model.doubts if "check the prior" in doubt.text]
        assert len(warned) == (prior != "agreed")
    assert decided["agreed"] == pytest.approx(0.5, abs=0.2)
    assert decided[0.97, 0.03] > 0.8


def test_documents_without_features_do_not_count_in_the_shares():
    problem, _ = make_problem(documents=40)
    source, target = problem.domains
    X = target.X.toarray()
    X[:20] = 0
    problem = replace(problem, domains=(source, replace(target, views=(sp.csr_array(X),))))
    decided = np.eye(2)[np.r_[np.zeros(20, int), np.ones(20, int)]]
    assert compare.decided_shares(problem, Fit((source.Y, decided)))["target-1"].tolist() == [0, 1]


def test_no_evidence_is_quoted_for_other_parameters():
    none = "The evidence does not cover these parameters."
    given = choose(large(), entry(prior=(0.25, 0.75)))
    assert (given.strength, given.sentences[1]) == (
        "weak", "Why: its class shares are given, and nothing checks them."
    )  # fmt: skip
    assert "the evidence does not cover its alike" in choose(large(), entry(alike=0.4)).sentences[1]
    assert none not in choose(large(), entry()).sentences[2]
    assert none in choose(large(), entry(strength=5.0)).sentences[2]


@pytest.mark.parametrize(
    ("source", "target", "classes", "features", "why"),
    [
        (thresholds.MIN_EVIDENCE, evidence.MAX_EVIDENCE, evidence.MAX_CLASSES, 20, ""),
        (thresholds.MIN_EVIDENCE, thresholds.MIN_EVIDENCE - 1, 2, 20, "a domain has 499 documents"),
        (thresholds.MIN_EVIDENCE - 1, thresholds.MIN_EVIDENCE, 2, 20, "a domain has 499 documents"),
        (
            thresholds.MIN_EVIDENCE,
            evidence.MAX_EVIDENCE + 1,
            2,
            20,
            "a domain has 10,034 documents",
        ),
        (thresholds.MIN_EVIDENCE, thresholds.MIN_EVIDENCE, 5, 20, "there are 5 classes"),
        (
            thresholds.MIN_EVIDENCE,
            thresholds.MIN_EVIDENCE,
            2,
            5,
            "20 % of the features of a domain",
        ),
        (thresholds.MIN_EVIDENCE, 19, 2, 20, "a domain has 19 documents"),
    ],
)
def test_a_recommendation_outside_the_range_of_the_evidence_is_weak(
    source, target, classes, features, why
):
    chosen = choose(large(source, target, classes, features), entry())
    assert (chosen.model, chosen.strength) == ("consensus", "weak" if why else "strong")
    assert chosen.sentences[1].startswith(f"Why: {why}")
    assert chosen.sentences[2].startswith("The evidence does not cover such data.") == bool(why)


#: A target of 50 documents of the class 0, all of which are the sample.
SAMPLE = Truth(
    "transfer", ("a", "b"), ("t",), (np.tile([1.0, 0.0], (50, 1)),), (np.ones(50, bool),)
)  # fmt: skip


def judged(**right: int) -> dict[str, Fit]:
    """Return by model a fit that is right on the first so many documents of SAMPLE."""
    decided = {name: np.arange(50) >= count for name, count in right.items()}
    return {name: Fit((np.eye(2)[wrong.astype(int)],)) for name, wrong in decided.items()}


def test_without_a_preferred_model_the_most_right_one_is_taken_and_its_optimism_off():
    one = sample.judge(judged(svm=40), SAMPLE)
    assert (one.right, one.documents, one.optimism) == ({"svm": 40}, 50, 0)
    # Independent guesses: the best of many is right on half of the others.
    rng = np.random.default_rng(0)
    guesses = {f"{i}": Fit((rng.random((50, 2)),)) for i in range(20)}
    best = sample.judge(guesses, SAMPLE)
    found = next(iter(best.right.values())) / 50
    assert found >= 0.6
    assert 0.5 * (found - 0.5) < best.optimism < 1.5 * (found - 0.5)
    assert [*sample.judge(judged(lr=30, svm=40, dtl=40), SAMPLE).right] == ["svm", "dtl", "lr"]


def test_another_model_is_taken_only_if_it_is_significantly_better():
    """Of 4 documents on which they differ all are needed; of 5, the difference is 5 > 2 √5."""
    for ahead, chosen in ((4, "consensus"), (5, "lr")):
        found = sample.judge(judged(consensus=30, lr=30 + ahead), SAMPLE, "consensus")
        assert next(iter(found.right)) == chosen
        assert found.optimism > 0
    alone = sample.judge(judged(consensus=30), SAMPLE, "consensus")
    assert alone.optimism == 0
    # A model that is never ahead cannot be chosen, so nothing is taken off.
    assert sample.judge(judged(consensus=30, lr=20), SAMPLE, "consensus").optimism == 0


def by_sample(truth: Truth = SAMPLE, **right: int) -> Choice:
    entries = {n: replace(entry(), model=n, fits=(fit,)) for n, fit in judged(**right).items()}
    return choose_by_sample(large(), entries, truth)


def test_the_choice_by_a_sample_says_why_and_what_accuracy_to_expect():
    chosen = by_sample(lr=40, consensus=41, svm=38)
    # All documents are of one class, so that a guess is never wrong.
    assert (chosen.model, chosen.strength) == ("consensus", "weak")
    assert chosen.sentences[:2] == (
        "Weakly recommended: consensus.",
        "Why: it is right on 41 of 50 labelled documents that were held out (lr 40, svm 38; no "
        "other is significantly better); the sample has no document of b, so its accuracy there is "
        "unknown; always choosing the largest class would be right on 100 %, and "
        "consensus may not be better.",
    )
    assert "Accuracy to expect: the sample is divided into five folds" in chosen.evidence
    ahead = by_sample(lr=50, consensus=40)
    assert ahead.model == "lr"
    assert "(consensus 40; significantly more than consensus)" in ahead.sentences[1]
    assert "points subtracted, as the best of 2 models was taken" in ahead.sentences[2]
    equal = by_sample(lr=40, svm=40)
    assert "(svm 40; of equally good ones it is the first)" in equal.sentences[1]


def test_a_recommendation_by_few_labels_is_weak():
    even = replace(SAMPLE, Y=(np.eye(2)[np.arange(50) % 2],))
    right = Fit(even.Y)
    for m, strength in ((19, "weak"), (20, "strong")):
        truth = replace(even, scored=(np.arange(50) < m,))
        chosen = choose_by_sample(large(), {"consensus": replace(entry(), fits=(right,))}, truth)
        assert chosen.strength == strength
        assert (f"{m} labels are few; 20 are needed" in chosen.sentences[1]) == (m == 19)
        assert chosen.accuracy == pytest.approx((1, *stats.accuracy_interval(m, m, 50 - m)))


def test_a_better_fit_without_the_labels_makes_a_recommendation_weak():
    even = replace(SAMPLE, Y=(np.eye(2)[np.arange(50) % 2],))
    right, wrong = Fit(even.Y), Fit((1 - even.Y[0],))
    found = replace(entry(), fits=(wrong,), untrained=(right,))
    why = choose_by_sample(large(), {"consensus": found}, even).sentences[1]
    assert "without the labels it is right on 50: try --label-weight 1" in why


def test_data_unlike_the_evidence_are_a_reason_only_beside_few_labels():
    """With many labels the sample itself is the evidence."""
    even = replace(SAMPLE, Y=(np.eye(2)[np.arange(50) % 2],))
    right = {"consensus": replace(entry(), fits=(Fit(even.Y),))}
    for m, why in ((19, True), (20, False)):
        truth = replace(even, scored=(np.arange(50) < m,))
        chosen = choose_by_sample(large(target=60), right, truth)
        assert (chosen.strength == "weak") == why
        assert ("a domain has 60 documents" in chosen.sentences[1]) == why


def test_the_interval_covers_the_accuracy_of_few_and_of_many_documents():
    """Draw the accuracy from Beta(18, 2), then the right ones of the sample and of the rest."""
    rng = np.random.default_rng(0)
    for m, rest in ((20, 30), (50, 450), (100, 5000)):
        p = rng.beta(18, 2, 400)
        right, others = rng.binomial(m, p), rng.binomial(rest, p) / rest
        ends = np.array([stats.accuracy_interval(r, m, rest) for r in right])
        covered = (ends[:, 0] - 1e-9 <= others) & (others <= ends[:, 1] + 1e-9)
        assert covered.mean() > 0.93
    assert stats.accuracy_interval(50, 50, 10)[1] == 1
    low, high = stats.accuracy_interval(40, 50, 1999)
    assert (low, high) == pytest.approx(stats.accuracy_interval(40, 50, 10**6), abs=0.01)


def memorise(problem: Problem) -> Fit:
    """Decide on the second class wherever no label is seen."""
    return Fit(tuple(np.where(d.seen[:, None], d.Y, [0.0, 1.0]) for d in problem.domains))


def test_a_held_out_document_is_decided_without_its_label():
    problem, truth = make_problem()
    drawn, _ = subsample(problem, truth, labelled=12)
    fit = sample.cross_fit(drawn, memorise)
    *_, target = drawn.domains
    np.testing.assert_array_equal(fit.scores[-1][target.seen], target.Y[target.seen])
    np.testing.assert_array_equal(fit.held_out[-1], np.tile([0, 1], (40, 1)))
    np.testing.assert_array_equal(fit.held_out[0], fit.scores[0])
    assert sample.cross_fit(problem, memorise).held_out == ()
    own = replace(fit, scores=fit.held_out)
    assert sample.cross_fit(drawn, lambda _: own) is own


@pytest.mark.parametrize("exponent", [0.4, 1.0, 3.0])
def test_a_sample_calibrates_the_confidence_and_changes_no_decision(exponent):
    """The scores are the true probabilities to a power, as those of a model that is too sure."""
    rng = np.random.default_rng(0)
    n, m = 4000, 400
    p = rng.dirichlet([1.0, 1.0, 1.0], n)
    y = np.eye(3)[[rng.choice(3, p=row) for row in p]]
    scores = p ** (1 / exponent)
    seen = np.arange(n) < m
    drawn = Truth("transfer", ("a", "b", "c"), ("t",), (y,), (seen,))
    fit = Fit((scores,), held_out=(scores,))
    found = sample.calibrated(fit, drawn)
    (S,) = found.scores
    np.testing.assert_array_equal(S.argmax(axis=1), scores.argmax(axis=1))
    np.testing.assert_allclose(S.sum(axis=1), 1)
    right = (S.argmax(axis=1) == y.argmax(axis=1))[~seen]
    for tenth in np.array_split(np.argsort(S[~seen].max(axis=1)), 10):
        assert S[~seen][tenth].max(axis=1).mean() == pytest.approx(right[tenth].mean(), abs=0.08)
    for plain in (sample.calibrated(fit, None), sample.calibrated(Fit((scores,)), drawn)):
        np.testing.assert_allclose(plain.scores[0], scores / scores.sum(axis=1, keepdims=True))


def test_few_labels_cannot_ruin_the_confidence():
    """Two right ones do not make everything certain, nor two wrong ones everything a guess."""
    P = np.tile([0.8, 0.2], (2, 1))
    for y, low, high in ((0, 0.8, 0.95), (1, 0.55, 0.8)):
        drawn = Truth("transfer", ("a", "b"), ("t",), (np.eye(2)[[y, y]],), (np.ones(2, bool),))
        (S,) = sample.calibrated(Fit((P,), held_out=(P,)), drawn).scores
        assert low < S[0, 0] < high


def test_labels_of_a_sample_train_with_their_weight_and_can_be_taken_out_again():
    problem, truth = make_problem()
    rows = np.arange(40) < 12
    drawn = replace(truth, scored=(truth.scored[0], rows))
    labelled = sample.with_sample(problem, drawn, 3.0)
    *_, target = labelled.domains
    np.testing.assert_array_equal(target.seen, rows)
    np.testing.assert_array_equal(target.label_weights, np.full(40, 3.0))
    found = sample.sample_of(labelled)
    np.testing.assert_array_equal(found.scored[-1], rows)
    assert not found.scored[0].any()
    without = sample.without_sample(labelled)
    assert without.domains[-1].label_weights is None
    assert not without.domains[-1].Y.any()
    assert sample.sample_of(without) is None
    with pytest.raises(UserError, match="every document has a label in the sample"):
        sample.with_sample(problem, truth)


def test_a_sampled_comparison_has_each_model_with_and_without_training_on_the_sample():
    problem, truth = make_problem(documents=60)
    drawn, others = subsample(problem, truth, labelled=20, label_weight=10.0)
    found = Session(drawn, fits.plan_fits("transfer", ["lr", "consensus"], {})).compare()
    assert found.choice.model in found.models
    for model in found.models.values():
        assert len(model.fits[0].held_out) == len(drawn.domains)
        assert model.untrained[0].held_out == ()
    lines = compare.results_table(found, sample.sample_of(drawn)).to_dict("records")
    lr = compare.results_table(found, others).to_dict("records")[0]
    assert (lines[0]["scored"], lr["scored"]) == (20, 40)
    assert lines[0]["accuracy"] > 0.5
    assert {"untrained", "accuracy"} <= set(lines[1])
    alone = Session(drawn, fits.plan_fits("transfer", ["lr"], {}))
    assert alone.compare(crossed=False, untrained=False).models["lr"].untrained == ()


def test_large_domains_are_cut_at_random_without_losing_labels():
    problem, truth = make_problem(documents=60)
    drawn, others = subsample(problem, truth, labelled=9)
    part, part_truth = sample.take(drawn, others, sample.random_rows(drawn, 20, 6))
    assert [len(d.seen) >= 20 for d in part.domains] == [True, True]
    assert max(len(d.seen) for d in part.domains) < 40
    assert part.domains[1].seen.sum() == 9
    assert part_truth.scored[1].sum() == (~part.domains[1].seen).sum()
    assert (part.domains[0].Y.sum(axis=0) >= 6).all()


@pytest.fixture
def fitted(monkeypatch) -> list[str]:
    """Names of the models that are fitted, each fit of which is kept."""
    names, fit = [], fits.models.fit

    def noting(name, *arguments, **options):
        names.append(name)
        return fit(name, *arguments, **options)

    monkeypatch.setattr(fits.models, "fit", noting)
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0)
    return names


def test_a_fit_is_made_once_for_equal_problem_parameters_and_seed(tmp_path, fitted):
    problem, _ = make_problem()
    folder = artefacts.Folder(tmp_path, 2**20)

    def fit(problem: Problem = problem, seed: int = 0, **params: object) -> ComparedModel:
        plans = fits.plan_fits(
            "transfer", ["dtl"], {"dtl": {"k": 8, "kappa": 4, **params}}, seed=seed
        )
        return fits.fit_plan(problem, plans[0], {}, folder=folder)

    first, again = fit(), fit()
    assert fitted == ["dtl"]
    np.testing.assert_array_equal(again.fits[0].scores[-1], first.fits[0].scores[-1])
    assert again.fits[0].diagnostics == first.fits[0].diagnostics
    assert again.seconds == first.seconds
    assert again.doubts == first.doubts
    fit(k=9)
    fit(seed=1)
    changed = replace(problem.domains[0], views=(2 * problem.domains[0].X,))
    fit(replace(problem, domains=(changed, problem.domains[1])))
    assert len(fitted) == 4


def test_a_damaged_or_missing_folder_of_fits_changes_nothing(tmp_path, fitted):
    problem, _ = make_problem()
    (plan,) = fits.plan_fits("transfer", ["lr"], {})
    folder = artefacts.Folder(tmp_path, 2**20)
    first = fits.fit_plan(problem, plan, {}, folder=folder)
    for path in tmp_path.iterdir():
        path.write_bytes(b"damaged")
    gone = artefacts.Folder(tmp_path / "none", 2**20)
    for place in (folder, gone, artefacts.Folder(tmp_path, 1), None):
        again = fits.fit_plan(problem, plan, {}, folder=place)
        np.testing.assert_array_equal(again.fits[0].scores[-1], first.fits[0].scores[-1])
    assert fitted[:3] == ["lr"] * 3


def test_warnings_of_a_kept_fit_are_kept(tmp_path, fitted, monkeypatch):
    def warn(*arguments, **options):
        warnings.warn("it did not converge.", stacklevel=1)
        return Fit(make_problem()[1].Y)

    monkeypatch.setattr(fits.models, "fit", warn)
    problem, _ = make_problem()
    (plan,) = fits.plan_fits("transfer", ["svm"], {})
    for _ in range(2):
        found = fits.fit_plan(problem, plan, {}, folder=artefacts.Folder(tmp_path, 2**20))
        assert "it did not converge" in [doubt.text for doubt in found.doubts]


def test_models_see_the_views_that_suit_them():
    problem, _ = make_problem()
    dense = [np.random.default_rng(i).normal(size=(40, 3)) for i in range(2)]
    domains = tuple(
        replace(domain, views=(domain.X, domain.X[:, :5], E))
        for domain, E in zip(problem.domains, dense, strict=True)
    )
    three = replace(problem, domains=domains)
    widths = {
        name: [view.shape[1] for view in fits.model_problem(three, name, True).domains[0].views]
        for name in ("consensus", "lr", "tsvm", "dtl", "mine.py")
    }
    assert widths == {
        "consensus": [60, 5, 3], "lr": [63], "tsvm": [63], "dtl": [60], "mine.py": [60, 5, 3]
    }  # fmt: skip
    assert len(fits.model_problem(three, "lr", False).domains[0].views) == 1


def test_domains_that_are_equal_in_the_view_of_a_model_are_a_doubt():
    problem, _ = make_problem()
    source, target = problem.domains
    views = [(source.X, domain.X) for domain in (source, target)]
    domains = tuple(replace(d, views=v) for d, v in zip(problem.domains, views, strict=True))
    (plan,) = fits.plan_fits("transfer", ["lr"], {})
    (doubt,) = fits.fit_plan(replace(problem, domains=domains), plan, {}).doubts
    assert doubt.text.startswith("domain ")
    assert doubt.text.endswith("divide them into source and target")


def test_a_model_that_cannot_take_negative_features_has_a_row_that_says_so():
    problem, _ = make_problem(dense=True)
    domains = tuple(replace(d, views=(d.X - 0.5,), signed=True) for d in problem.domains)
    signed = replace(problem, domains=domains)
    names = [*fits.model_names("transfer", signed=True), "cocc"]
    found = Session(signed, fits.plan_fits("transfer", names, {})).compare()
    assert found.choice.sentences[0] == "Weakly recommended: consensus."
    (doubt,) = found.models["cocc"].doubts
    assert doubt.text.startswith(
        "it needs features of 0 or more, and some are negative; models: lr"
    )
    plus = tuple(replace(d, views=(d.X + 0.5,)) for d in domains)
    (plan,) = fits.plan_fits("transfer", ["cocc"], {})
    assert fits.fit_plan(replace(problem, domains=plus), plan, {}).fits


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
    assert min(map(min, sizes.values())) == thresholds.MIN_EVIDENCE
    assert max(map(max, sizes.values())) == evidence.MAX_EVIDENCE
    assert max(classes) == evidence.MAX_CLASSES
