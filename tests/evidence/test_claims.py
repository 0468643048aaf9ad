"""Claims are judged by tests fixed in advance; an error in a claim names its place."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import slow_unless
from made_runs import cells_of, write_runs
from scipy.stats import binom, binomtest, multinomial, norm, t, ttest_1samp
from small_experiment import GOOD

from transferbench import experiments, stats
from transferbench.errors import UserError
from transferbench.evidence import claims, pages
from transferbench.runs.record import pack
from transferbench.stats import NO_SEED, PairedTest, paired_error, sign_flip_p

PATH = Path("mine.yaml")
TASKS = ("comp-vs-rec", "comp-vs-sci", "comp-vs-talk", "rec-vs-sci", "rec-vs-talk", "sci-vs-talk")
TABLE = (
    GOOD[: GOOD.index("rows:")]
    + "rows:\n"
    + "".join(f"  {task}: {{task: gtl/{task}}}\n" for task in TASKS)
    + """\
columns:
  A: {model: nmf, params: {max_iter: 5}}
  B: {model: nmf, params: {max_iter: 6}}
  C: {model: lr, params: {C: 1.0, intercept: true}}
  K: {model: lr, params: {C: 2.0, intercept: true}, control: true}
published: {comp-vs-rec: {A: 80, B: 70, C: 60}, comp-vs-sci: {A: 50, B: 70, C: 60}}
tolerance: {value: 1.0, reason: because}
"""
)
SWEEP = GOOD[: GOOD.index("columns:")] + (
    """\
columns:
  A: {model: nmf, params: {max_iter: 5}}
  C: {model: lr, params: {C: 1.0, intercept: true}}
figure: {label: iterations, params: [max_iter], values: [5, 6, 7, 8]}
"""
)
COST = TABLE.replace("metric: accuracy", "metric: seconds")
NOISE = np.array([-0.5, 0.0, 0.5])


def runs(
    text: str, values: dict, tmp_path: Path, seconds: dict | None = None, documents: int = 0, **more
):
    """Runs of {(row, column) or column, with x in a sweep: per cent at each seed, or one}.

    Seconds of A vary a little. Other fields of the records of a column follow as arguments, by
    column, or a function of the seed that returns them.
    """
    counts = {"target": documents} if documents else {}

    def outcome(planned):
        row, column, x, run, _ = planned
        found = next(values[key] for key in [(row, column), (column, x), column] if key in values)
        if isinstance(found, str):
            return found
        value = float(np.broadcast_to(found, 3)[run.seed or 0])
        metrics = {"target": {"accuracy": value / 100, "f1": value / 100}}
        took = (seconds or {}).get(column, 1.0) + 1e-3 * (run.seed or 0) * (column == "A")
        other = more.get(column, {})
        fields = {"metrics": metrics, "seconds": took, "documents": counts}
        return fields | (other(run.seed) if callable(other) else other)

    return write_runs(tmp_path, experiments.read(text, PATH), outcome)


def judge(file, found) -> list[claims.ClaimResult]:
    return claims.judge(file, cells_of(file, found))


def judged(text: str, claim: str, values: dict, tmp_path: Path, **more) -> claims.ClaimResult:
    text += f"claims:\n  - {{says: s, place: p, {claim}}}\n"
    (found,) = judge(experiments.read(text, PATH), runs(text, values, tmp_path, **more))
    return found


def decision(found: claims.ClaimResult):
    """The first comparison: p for the claim and against it, with its parts."""
    return next(found.decisions.itertuples())


A_FIRST = {"A": 90 + NOISE, "B": 80 + 1.01 * NOISE, "C": 70, "K": 99}
ONE_LOST = A_FIRST | {("rec-vs-sci", "B"): 95 + 1.01 * NOISE}
THREE_LOST = A_FIRST | {(row, "B"): 95 + 1.01 * NOISE for row in TASKS[:3]}
NOISY = A_FIRST | {("rec-vs-sci", "B"): 90 + 2 * NOISE[::-1]}


@pytest.mark.parametrize(
    ("claim", "values", "outcome"),
    [
        ("better: {columns: [A]}", A_FIRST, "holds"),
        ("better: {columns: [A], over: [K]}", A_FIRST, "fails"),
        ("better: {columns: [A]}", ONE_LOST, "fails"),
        ("better: {columns: [A]}", NOISY, "undetermined"),
        ("better: {columns: [A], rows: most}", ONE_LOST, "holds"),
        ("better: {columns: [A], rows: most}", THREE_LOST, "undetermined"),
        ("better: {columns: [B], over: [A], rows: most}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", ONE_LOST, "holds"),
        ("better: {columns: [B], over: [A], rows: some}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", NOISY, "undetermined"),
        ("better: {columns: [A], rows: average, by: 9.9}", A_FIRST, "holds"),
        ("better: {columns: [A], rows: average, by: 10.1}", A_FIRST, "fails"),
        ("better: {columns: [A], value: 85}", A_FIRST, "holds"),
        ("better: {columns: [B], value: 85}", A_FIRST, "fails"),
        ("better: {columns: [A], value: 85}", A_FIRST | {"A": 85 + NOISE}, "undetermined"),
        ("better: {columns: [A], over: [B], fewer_errors: 0.4}", A_FIRST, "holds"),
        ("better: {columns: [A], over: [B], fewer_errors: 0.6}", A_FIRST, "fails"),
        ("better: {columns: [A], rows: average, fewer_errors: 0.45}", A_FIRST, "holds"),
        ("better: {columns: [B], over: [A], by: -11}", A_FIRST, "holds"),
        ("better: {columns: [A]}", A_FIRST | {"B": "failed"}, "undetermined"),
        ("better: {columns: [A], over: [B]}", A_FIRST | {"C": "unavailable"}, "holds"),
    ],
)
def test_outcomes_of_a_table(tmp_path, claim, values, outcome):
    found = judged(TABLE, claim, values, tmp_path)
    assert found.outcome == outcome, found.tests
    assert bool(found.reason) == any(isinstance(v, str) for v in values.values()) * (
        outcome == "undetermined"
    )


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("stable: {column: A, x: [5, 7], within: 2}", "holds"),
        ("stable: {column: A, x: [5, 8], within: 2}", "fails"),
        ("higher: {column: A, at: [5, 7], than: 8}", "holds"),
        ("higher: {column: A, at: 8, than: [5, 7]}", "fails"),
        ("higher: {column: A, at: 6, than: 5, by: 1.5}", "fails"),
        ("better: {columns: [A], over: [C], x: [5, 7]}", "holds"),
        ("better: {columns: [A], over: [C]}", "fails"),
    ],
)
def test_outcomes_of_a_figure(tmp_path, claim, outcome):
    values = {
        ("A", 5.0): 90 + NOISE, ("A", 6.0): 91 + 1.01 * NOISE, ("A", 7.0): 90.5 + 1.02 * NOISE,
        ("A", 8.0): 60 + 1.03 * NOISE, "C": 70,
    }  # fmt: skip
    assert judged(SWEEP, claim, values, tmp_path).outcome == outcome


def test_the_pair_with_the_largest_p_decides_on_stability(tmp_path):
    """The lowest and the highest mean are far from 2 apart, but one in between is noisy."""
    values = {("A", 5.0): 90, ("A", 6.0): 91 + NOISE / 100, ("A", 7.0): 90.9 + 2 * NOISE, "C": 7}
    values[("A", 8.0)] = 90
    claim = "stable: {{column: A, x: [5, {}], within: 2}}"
    assert judged(SWEEP, claim.format(6), values, tmp_path).outcome == "holds"
    found = judged(SWEEP, claim.format(7), values, tmp_path)
    p = ttest_1samp(90 + 2 - (90.9 + 2 * NOISE), 0, alternative="greater").pvalue
    assert decision(found).for_p == pytest.approx(p)
    assert (found.outcome, p > 0.05) == ("undetermined", True)


def test_the_documents_are_the_same_at_every_x(tmp_path):
    """A mean over several x has no smaller error for their number."""
    values = {("A", x): y + NOISE / 100 for x, y in ((5.0, 80), (6.0, 80), (7.0, 82), (8.0, 82))}
    claim = "higher: {column: A, at: [7, 8], than: [5, 6]}"
    found = judged(SWEEP, claim, values | {"C": 7}, tmp_path, documents=1000)
    error = np.sqrt((0.8 * 0.2 + 0.82 * 0.18) / 1000 + (2 + 2) / 1000**2)
    p = decision(found).for_documents
    assert p == pytest.approx(norm.sf(0.02 / error), rel=1e-3)


def test_instability_between_any_two_points_needs_its_share_of_the_level(tmp_path):
    """Four points have twelve ordered pairs, of which the farthest is tested."""
    values = {("A", x): np.full(3, 90.0) for x in (5.0, 6.0, 7.0)} | {"C": 7}
    values["A", 8.0] = 87 + NOISE
    found = judged(SWEEP, "stable: {column: A, x: [5, 8], within: 2}", values, tmp_path)
    p = ttest_1samp(87 + NOISE - 90 + 2, 0, alternative="less").pvalue
    assert decision(found).against_p == pytest.approx(12 * p)


def test_values_without_a_logarithm_are_not_compared(tmp_path):
    text = SWEEP[: SWEEP.index("figure:")] + (
        "figure: {label: iterations, iterations: true, objective: true}\n"
    )
    claim = "stable: {column: A, x: [1, 2], within: 1}"
    for last, outcome in ((2.0, "holds"), (0.0, "undetermined")):

        def curve(seed, last=last):
            return {"curve": {"target": (0.5, 0.5)}, "trace": (2.1 + 0.01 * seed, last)}

        found = judged(text, claim, {"A": 90 + NOISE, "C": 70}, tmp_path, A=curve)
        assert found.outcome == outcome
    assert found.reason.endswith("a value that is not above 0 has no logarithm")


def test_seconds_are_compared_as_ratios_and_less_is_better(tmp_path):
    seconds = {"A": 1.0, "B": 2.5, "C": 9.0, "K": 9.0}
    for times, outcome in ((2, "holds"), (3, "fails")):
        claim = f"better: {{columns: [A], over: [B], times: {times}}}"
        found = judged(COST, claim, A_FIRST, tmp_path, seconds=seconds)
        assert found.outcome == outcome
        assert claims.comparisons(experiments.read(COST, PATH), found)[0][3] == "× 2.50"
    for theirs, outcome in ((1.09, "undetermined"), (1.11, "holds")):
        seconds = {"A": 1.0, "B": theirs}
        found = judged(
            COST, "better: {columns: [A], over: [B]}", A_FIRST, tmp_path, seconds=seconds
        )
        assert found.outcome == outcome
        assert "Differences below 1.1 times are too small to count" in explained(COST, found)
    for most, outcome in ((1.5, "holds"), (0.5, "fails")):
        claim = f"better: {{columns: [A], value: {most}}}"
        assert judged(COST, claim, A_FIRST, tmp_path, seconds=seconds).outcome == outcome


def test_a_claim_about_some_rows_only(tmp_path):
    claim = "better: {columns: [A], over: [B]}, among: [comp-vs-rec, sci-vs-talk]"
    found = judged(TABLE, claim, ONE_LOST, tmp_path)
    assert found.outcome == "holds"  # it fails on rec-vs-sci, which is not among them
    assert claims.meaning(found.claim).endswith("every row; among comp-vs-rec, sci-vs-talk")


@pytest.mark.slow
def test_rows_of_other_experiments_count(tmp_path):
    real = experiments.load("mtc-table3")
    pooled = next(claim for claim in real.spec.claims if claim.also)
    found = judge(real, {})[real.spec.claims.index(pooled)]
    rows = found.tests.index.unique("row")
    assert {"Task 1 accuracy", "mtc-table4, Task 2 accuracy"} <= {*rows}
    assert "Task 1 NMI" not in rows


def test_the_published_rows_are_counted(tmp_path):
    values = A_FIRST | {"B": 80 - NOISE}
    found = judged(TABLE, "better: {columns: [A], over: [B]}", values, tmp_path)
    assert [*found.tests.published.dropna()] == [10.0, -20.0]
    (line,) = claims.comparisons(experiments.read(TABLE, PATH), found)
    assert line[:5] == ("A over B", "6 of 6", "0", "+10.00", "+10.00 comp-vs-rec")
    assert line[5:] == ("0.0017 (seeds 0.0017)", "1 (seeds 1)", "1 of 2")


def frames(rows: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames of rows with their differences and, where it matters, other fields."""
    known = [
        {"comparison": "A over B", "row": i, "unit": i, "error": np.nan, "identical": False,
         "n_pairs": 1, "documents": np.nan, "exact_for": np.nan, "exact_against": np.nan} | row
        for i, row in enumerate(rows)
    ]  # fmt: skip
    frame = pd.DataFrame(known).set_index(["comparison", "unit", "row"])
    return pd.DataFrame([dict(enumerate(d)) for d in frame.pop("d")], frame.index), frame


def decided(rows: list[dict], extent: str, over_units: bool = False) -> tuple[float, float]:
    """Return the p for a claim about these rows, and that against it."""
    (found,) = stats.decide(*frames(rows), extent, 0.0, over_units).itertuples()
    return found.for_p, found.against_p


@pytest.mark.parametrize("extent", ["every", "some", "most", "average"])
def test_p_over_seeds_is_the_paired_t_test(extent):
    differences = (0.4, 0.1, 0.7, -0.2)
    sides = [ttest_1samp(differences, 0, alternative=side).pvalue for side in ("greater", "less")]
    assert decided([{"d": differences}], extent) == pytest.approx(sides)
    assert PairedTest("r", differences).p_two_sided == pytest.approx(2 * min(sides))
    assert decided([{"d": (0.1,)}], extent) == (1, 1)
    # Equal seeds show no error, also if their differences are equal but for rounding.
    assert decided([{"d": (0.1, 0.1, 0.1)}], extent) == (1, 1)
    assert decided([{"d": (0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6)}], extent) == (1, 1)
    assert PairedTest("r", (0.1,)).p_two_sided == 1
    assert PairedTest("r", (0.1, 0.1)).p_two_sided == 1


def test_only_seeds_that_all_rows_have_are_averaged():
    rows = [{"d": (1.0, 2.0, 4.0), "error": 1.0}, {"d": (2.0, np.nan, 7.0), "error": 3.0}]
    (test,) = stats.paired_tests(*stats.average(*frames(rows), ["comparison"]), 0.0).itertuples()
    assert (test.mean, test.n, test.error) == (3.5, 2, 2.0)
    rows[1]["d"] = (np.nan, 3.0, np.nan)
    rows[0]["d"] = (1.0, np.nan, 4.0)
    (test,) = stats.paired_tests(*stats.average(*frames(rows), ["comparison"]), 0.0).itertuples()
    assert (test.mean, test.n, test.for_p) == (2.75, 1, 1.0)  # of means without a common seed
    rows[1]["error"] = np.nan
    _, known = stats.average(*frames(rows), ["comparison"])
    assert known.error.isna().all()


def over_units(*means: float, extent: str = "average", contrary: bool = False) -> float:
    return decided([{"d": (mean,)} for mean in means], extent, over_units=True)[contrary]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_tests_over_units_agree_with_enumeration(n):
    values = np.random.default_rng(n).normal(0.5, 1, n).round(1)  # rounded, so that there are ties
    flipped = [np.multiply(values, signs) for signs in product((1, -1), repeat=n)]
    share = sum(each.mean() >= values.mean() - 1e-12 for each in flipped) / 2**n
    assert over_units(*values) == pytest.approx(share)
    assert over_units(*-values, contrary=True) == pytest.approx(share)
    ahead = sum(((each > 0).sum() >= (values > 0).sum()) for each in flipped) / 2**n
    if all(values):
        assert over_units(*values, extent="most") == pytest.approx(ahead)
    assert over_units(*range(1, n + 1)) == over_units(*range(1, n + 1), extent="most") == 2**-n
    assert over_units(*[0.0] * n) == over_units(*[0.0] * n, extent="most") == 1


def test_signs_of_many_units_are_drawn_at_random(monkeypatch):
    values = np.random.default_rng(0).normal(0.5, 1, 12)
    exact = sign_flip_p(values)
    monkeypatch.setattr(stats, "MAX_FLIPS", 2**11)
    assert sign_flip_p(values) == pytest.approx(exact, rel=0.2)
    # The observed signs count, so p is never 0.
    assert sign_flip_p(np.ones(100)) == pytest.approx(2**-11, rel=1e-3)


@pytest.mark.parametrize(("share", "seeds_error"), [(0.95, 0.1), (1.0, 1.0)])
def test_claims_about_fixed_rows_hold_their_level(share, seeds_error):
    """All rows have a share of the documents' noise in common; its error is 1."""
    rng, rows, n = np.random.default_rng(1), [], 200
    for i in range(n):
        common = rng.normal()
        for j in range(6):
            noise = np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal()
            d = noise + rng.normal(0, np.sqrt(5) * seeds_error, 5)
            rows.append({"comparison": i, "row": j, "unit": j, "d": d, "error": 1.0})
    # For "most", half of the rows are far ahead: one more would be most.
    half = [row | {"d": row["d"] + 30 * (row["row"] < 3)} for row in rows]
    p = {
        extent: stats.decide(*frames(half if extent == "most" else rows), extent).for_p
        for extent in ("every", "some", "most", "average")
    }
    for extent, of_claims in p.items():
        assert np.mean(of_claims <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n), extent


def test_the_page_is_written(tmp_path):
    text = TABLE + "claims:\n  - {says: A leads, place: Section 5, better: {columns: [A]}}\n"
    runs(text, A_FIRST, tmp_path)
    file = experiments.read(text, PATH)
    page = pages.Evidence.read(file, tmp_path).texts()["claims.md"]
    assert "\n\n## ✓ holds: A leads\n\n*Section 5*\n" in page
    assert "A ahead of every other method on every row." in page
    assert "A over B | 6 of 6" in page
    assert "K" not in page


CLOSE = A_FIRST | {"A": 80.3 + NOISE / 100, "B": 80 - NOISE / 100}


@pytest.mark.parametrize("rows", ["every", "some", "most", "average"])
def test_a_difference_too_small_to_matter_decides_nothing(tmp_path, rows):
    claim = f"better: {{columns: [A], over: [B], rows: {rows}}}"
    found = judged(TABLE, claim, CLOSE, tmp_path)
    assert found.outcome == "undetermined"
    assert "No difference that matters: A over B." in explained(TABLE, found)
    claim = f"better: {{columns: [B], over: [A], rows: {rows}}}"
    assert judged(TABLE, claim, CLOSE, tmp_path).outcome == "undetermined"


def explained(text: str, found: claims.ClaimResult) -> str:
    return claims.explanation(experiments.read(text, PATH), found)


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("better: {columns: [C], over: [K]}", "holds"),
        ("better: {columns: [C], over: [K], rows: some}", "holds"),
        ("better: {columns: [K], over: [C]}", "fails"),
    ],
)
def test_methods_without_seeds_are_tested_by_the_documents(tmp_path, claim, outcome):
    """Their runs are all the same, so chance is in the choice of documents alone."""
    values = {"A": 90 + NOISE, "B": 80, "C": 70, "K": 60}
    found = judged(TABLE, claim, values, tmp_path, documents=500)
    assert found.outcome == outcome
    p = decision(found)
    error = np.sqrt((0.7 * 0.3 + 0.6 * 0.4) / 500 + (2 + 2) / 500**2)
    factor = 6 if "some" in claim and outcome == "holds" else 1
    expected = factor * norm.sf(0.1 / error)
    assert outcome == "fails" or p.for_p == p.for_documents == pytest.approx(expected)
    assert np.isnan(p.for_seeds)
    shown = claims.comparisons(experiments.read(TABLE, PATH), found)[0][5]
    assert shown == f"{p.for_p:.2g} (documents {p.for_p:.2g})"
    # With fewer documents the same difference is not significant.
    assert judged(TABLE, claim, values, tmp_path, documents=20).outcome == "undetermined"
    # Without an error nothing is decided, whatever the number of rows.
    found = judged(TABLE, claim, values, tmp_path)
    assert found.outcome == "undetermined"
    assert "No error is known for a single run: " in explained(TABLE, found)


@pytest.mark.parametrize(("seeds", "differ"), [(1, 0.02), (3, 0.3)])
def test_paired_documents_hold_the_level(seeds, differ):
    """On each document a method decides as all others do, or for itself with chance `differ`."""
    rng = np.random.default_rng(0)
    numbers = [*range(seeds)] if seeds > 1 else [NO_SEED]
    differences, errors = [], []
    for _ in range(1000):
        common = rng.random(200) < 0.7
        a, b = (
            np.where(rng.random((seeds, 200)) < differ, rng.random((seeds, 200)) < 0.7, common)
            for _ in range(2)
        )
        difference = a * 1.0 - b
        errors.append(paired_error([difference.mean(0)]))
        differences.append(difference.mean(1))
    known = pd.DataFrame({"error": errors, "identical": False, "documents": 200})
    known = known.assign(exact_for=np.nan, exact_against=np.nan)
    tests = stats.paired_tests(pd.DataFrame(differences, columns=numbers), known, 0.0)
    false = tests.for_p <= 0.05
    assert np.mean(false) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1000)


def test_the_error_of_many_paired_documents_is_that_of_the_bootstrap():
    rng = np.random.default_rng(0)
    domains = [rng.choice([-1, 0, 1 / 3, 1], n) for n in (300, 500)]
    means = [np.mean([rng.choice(d, len(d)).mean() for d in domains]) for _ in range(2000)]
    # About its own mean: away from it the error is widened for skewness.
    assert paired_error(domains, np.mean(means)) == pytest.approx(np.std(means), rel=0.05)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [({}, "holds"), ({"right": {}}, "undetermined"), ({"data": "other"}, "undetermined")],
)
def test_methods_scored_on_the_same_documents_are_paired(tmp_path, change, outcome):
    """Of 400 documents C alone has 14 right, K alone 2; as if on different ones, that is chance."""
    K = np.arange(400) < 320
    C = (np.arange(400) >= 2) & (np.arange(400) < 334)
    more = {name: {"right": {"target": pack(bits)}} for name, bits in (("C", C), ("K", K))}
    more["K"] |= change
    values = {"A": 90 + NOISE, "B": 80, "C": 83, "K": 80}
    for claim in ("by: 0.1", "fewer_errors: 0.01"):
        claim = f"better: {{columns: [C], over: [K], {claim}}}"
        found = judged(TABLE, claim, values, tmp_path, documents=400, **more)
        assert found.outcome == outcome
    found = judged(
        TABLE, "better: {columns: [C], over: [K]}", values, tmp_path, documents=400, **more
    )
    if not change:
        assert decision(found).for_documents == pytest.approx(binomtest(14, 16).pvalue / 2)


F1 = TABLE.replace("metric: accuracy", "metric: f1")
MIB = TABLE.replace("metric: accuracy", "metric: peak_mib")
#: Deterministic columns that are right and wrong on every document, and seeds that are all equal.
EXTREMES = {"A": 100, "B": 50, "C": 100, "K": 0}


def decisions_of(n: int, **right: int) -> dict[str, dict]:
    """Return the decisions of columns that are right on the first documents of n."""
    return {name: {"right": {"target": pack(np.arange(n) < k)}} for name, k in right.items()}


@pytest.mark.parametrize(
    ("n", "rows"),
    slow_unless(
        lambda case: case[0] == 2 or case == (4, "some"),
        [(1, "every"), (2, "average"), (2, "most"), (4, "every"), (4, "some")],
    ),
)
@pytest.mark.parametrize(
    ("claim", "text", "paired"),
    [
        ("columns: [C], value: 60", TABLE, False),
        ("columns: [C], value: 20", TABLE, False),
        ("columns: [K], value: 99", TABLE, False),
        ("columns: [A], value: 60", TABLE, False),
        ("columns: [C], over: [K]", TABLE, False),
        ("columns: [C], over: [K], by: -50", TABLE, False),
        ("columns: [C], over: [K]", TABLE, True),
        ("columns: [K], over: [C], fewer_errors: 0.5", TABLE, True),
        ("columns: [A], over: [B]", F1, False),
    ],
)
def test_fewer_than_five_documents_prove_nothing(tmp_path, n, rows, claim, text, paired):
    more = decisions_of(n, C=n, K=0) if paired else {}
    values = EXTREMES | ({"B": 50 + NOISE} if text == F1 else {})
    claim = f"better: {{{claim}, rows: {rows}}}"
    found = judged(text, claim, values, tmp_path, documents=n, **more)
    assert found.outcome == "undetermined"
    assert min(decision(found).for_p, decision(found).against_p) >= 2.0**-n
    documents = "1 document" if n == 1 else f"{n} documents"
    assert f"On {documents} p ≥ {2.0**-n:.3g}, which decides nothing: " in explained(text, found)


@pytest.mark.parametrize(
    ("claim", "text", "values"),
    [
        ("better: {columns: [A], over: [B]}", F1, {}),
        ("better: {columns: [A], value: 60}", F1, {}),
        ("better: {columns: [C], over: [B]}", F1, {}),
        ("better: {columns: [A], over: [B], rows: average}", F1, {}),
        ("better: {columns: [A], over: [B]}", F1, {"A": [90, 80, 70], "B": [80, 70, 60]}),
        ("better: {columns: [B], over: [C], times: 2}", COST, {}),
        ("better: {columns: [B], value: 9}", COST, {}),
        ("better: {columns: [B], over: [C]}", MIB, {}),
        ("stable: {column: A, x: [5, 8], within: 2}", SWEEP, {}),
        ("stable: {column: A, x: [5, 6], within: 2}", SWEEP, {}),
        ("higher: {column: A, at: [5, 6], than: [7, 8]}", SWEEP, {}),
    ],
)
def test_equal_seeds_prove_nothing(tmp_path, claim, text, values):
    """They may be one run. The error of the documents is not known for these measures."""
    text = text.replace("metric: accuracy", "metric: f1")
    steps = {("A", x): y for x, y in ((5.0, 90), (6.0, 90), (7.0, 50), (8.0, 50))}
    more = {name: {"peak_mib": mib} for name, mib in (("B", 100.0), ("C", 500.0))}
    seconds = {"B": 1.0, "C": 9.0}
    values = EXTREMES | steps | values
    found = judged(text, claim, values, tmp_path, documents=1000, seconds=seconds, **more)
    p = decision(found)
    assert (found.outcome, p.for_p, p.against_p) == ("undetermined", 1, 1)
    assert "All seeds give the same difference, so no error is known: " in explained(text, found)


@pytest.mark.parametrize(
    ("rows", "outcome"), [("every", "undetermined"), ("average", "holds"), ("some", "holds")]
)
def test_a_row_of_equal_seeds_has_the_largest_error_of_the_others(tmp_path, rows, outcome):
    values = EXTREMES | {(row, "B"): 50 + NOISE for row in TASKS[1:]}
    claim = f"better: {{columns: [A], over: [B], rows: {rows}}}"
    found = judged(F1, claim, values, tmp_path, documents=1000)
    assert found.outcome == outcome
    assert ("no error is known, on 1 of 6 rows" in explained(F1, found)) == (outcome != "holds")
    if rows == "average":  # its error adds to that of the mean by seed, and it is not ahead
        others = 5 * NOISE.std(ddof=1) / np.sqrt(3) / 6
        p = t.sf(50 * 5 / 6 / (np.hypot(others, 0.1) + others / 5), 2)  # .1: one document of 1000
        assert decision(found).for_p == pytest.approx(p)


def test_a_mean_of_equal_rows_has_no_known_error():
    rows = [{"d": (1.0, 1.0, 1.0)}, {"d": (2.0, 2.0, 2.0)}]
    assert decided(rows, "average") == (1, 1)
    assert decided([row | {"error": 0.1} for row in rows], "average") == (2.0**-3, 1)


@pytest.mark.parametrize(
    ("seeds", "outcome"), [(2, "undetermined"), (4, "undetermined"), (5, "holds")]
)
def test_equal_seeds_are_tested_by_their_number_and_the_documents(seeds, outcome):
    """A method that ends in one of two solutions gives s equal seeds in 2 of 2ˢ cases."""
    row = {"d": (0.1,) * seeds, "error": 1e-3, "documents": 1000}
    assert decided([row], "every") == (2.0**-seeds, 1)
    assert decided([row], "average") == (2.0**-seeds, 1)
    assert (2.0**-seeds <= stats.ALPHA) == (outcome == "holds")
    assert PairedTest("r", row["d"], tuple(range(seeds)), 1e-3).p_two_sided == 2 * 2.0**-seeds
    assert PairedTest("r", (0.1,), (None,), 1e-3).p_two_sided < 1e-30  # no seed, so no such floor


def test_few_equal_seeds_decide_nothing_and_the_claim_says_so(tmp_path):
    values = EXTREMES | {("A", x): y for x, y in ((5.0, 90), (6.0, 90), (7.0, 80), (8.0, 80))}
    for last in (8, 6):
        claim = f"stable: {{column: A, x: [5, {last}], within: 2}}"
        found = judged(SWEEP, claim, values, tmp_path, documents=10_000)
        assert found.outcome == "undetermined"
        assert "3 equal seeds give p ≥ 0.125, which decides nothing: A" in explained(SWEEP, found)
    found = judged(TABLE, "better: {columns: [A], value: 60}", values, tmp_path, documents=20)
    assert (decision(found).for_documents, decision(found).for_p) == pytest.approx((0.6**20, 1 / 8))
    assert "3 equal seeds give p ≥ 0.125" in explained(TABLE, found)


@pytest.mark.parametrize("documents", [0, 100])
def test_points_of_equal_seeds_do_not_support_stability(tmp_path, documents):
    """Two of them are .01 closer than the limit, which nothing shows; a third one is noisy."""
    values = {("A", 5.0): 70, ("A", 6.0): 71.99, ("A", 7.0): 71.9 + NOISE / 100, "C": 7}
    values["A", 8.0] = 71
    claim = "stable: {{column: A, x: [5, {}], within: 2}}"
    for last in (6, 7, 8):
        found = judged(SWEEP, claim.format(last), values, tmp_path, documents=documents)
        assert (found.outcome, decision(found).for_p >= 0.125) == ("undetermined", True)


@pytest.mark.parametrize("right", [0, 11, 20])
@pytest.mark.parametrize("stated", [0, 60, 100])
def test_a_stated_value_is_tested_exactly(tmp_path, right, stated):
    claim = f"better: {{columns: [C], value: {stated}}}, among: [comp-vs-rec]"
    values = EXTREMES | {"C": 100 * right / 20}
    found = judged(TABLE, claim, values, tmp_path, documents=20)
    for side, p in (("greater", decision(found).for_p), ("less", decision(found).against_p)):
        exact = binomtest(right, 20, stated / 100, alternative=side).pvalue
        assert p == pytest.approx(max(exact, 2.0**-20))


def trinomial(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many of n documents the first and the second method can have right alone."""
    b, c = np.meshgrid(np.arange(n + 1), np.arange(n + 1))
    return b[b + c <= n], c[b + c <= n]


MARGINS = [sign * margin for margin in (0.005, 0.02, 0.05, 0.2, 0.5) for sign in (1, -1)]


@pytest.mark.parametrize("margin", slow_unless((0.05, -0.02).__contains__, MARGINS))
def test_a_margin_holds_its_level_for_any_number_of_documents(margin):
    """Also with Bonferroni's correction."""
    for n in (1, 4, 10, 45, 264, 988, 2741):
        for differ in (abs(margin), 1.2 * abs(margin), min(1.0, 0.1 + abs(margin))):
            first, second = (differ + margin) / 2, (differ - margin) / 2
            if n * differ > 160:  # the grid of outcomes becomes too large
                continue
            b, c = (
                np.arange(1 + min(n, int(n * q + 8 * np.sqrt(n * q) + 9))) for q in (first, second)
            )
            b, c = (each.ravel() for each in np.meshgrid(b, c))
            rest = np.maximum(n - b, 0)
            chance = binom.pmf(b, n, first) * binom.pmf(c, rest, second / max(1 - first, second))
            likely = (chance > 1e-9) & (b + c <= n)
            d = [
                np.repeat([1.0, -1.0, 0.0], [i, j, n - i - j])
                for i, j in zip(b[likely], c[likely], strict=True)
            ]
            z = np.array([(each.mean() - margin) / paired_error([each], margin) for each in d])
            for alpha in (0.05, 0.05 / 9, 0.05 / 72):
                for side in (1, -1):
                    false = chance[likely][side * z >= norm.isf(alpha)].sum()
                    assert false <= 1.1 * alpha, (n, differ, alpha, side)


@pytest.mark.parametrize("fewer", [0.1, 0.5, 0.9])
def test_a_share_of_errors_that_counts_as_avoided_holds_its_level(fewer):
    """The first method errs on a share 1 − fewer of as many documents, the second one elsewhere."""
    rng = np.random.default_rng(0)
    for n, errors in ((20, 0.5), (300, 0.3)):
        ours, theirs, _ = rng.multinomial(
            n, [(1 - fewer) * errors, errors, 1 - (2 - fewer) * errors], 20_000
        ).T
        pairs, number = np.unique(np.stack([ours, theirs]), axis=1, return_counts=True)
        z = np.array([
            (d := np.repeat([-1.0, 1 - fewer, 0.0], [i, j, n - i - j])).mean() / paired_error([d])
            for i, j in pairs.T
        ])  # fmt: skip
        for alpha in (0.05, 0.05 / 9):
            assert number[z >= norm.isf(alpha)].sum() / 20_000 <= 1.1 * alpha + 1e-3


@pytest.mark.parametrize(
    ("domains", "n", "gain", "power"),
    slow_unless(
        lambda case: case[2] == 0,
        [
            (40, 1, 0.0, 0.0),
            (40, 5, 0.1, 0.7),
            (40, 10, 0.06, 0.65),
            (15, 20, 0.07, 0.65),
            (100, 4, 0.3, 0.95),
        ],
    ),
)
def test_many_small_domains_hold_the_level_and_have_power(domains, n, gain, power):
    """The documents of all domains count together, also those that are added."""
    rng = np.random.default_rng(0)

    def held(gain: float) -> float:
        p = []
        for _ in range(400):
            d = list(rng.choice([-1.0, 0, 1], (domains, n), p=[0.1, 0.8 - gain, 0.1 + gain]))
            of_mean = np.mean(d), np.nan, 1, False, paired_error(d)
            p.append(stats.one_sided_p(*of_mean, documents=domains * n)[0] <= 0.05)
        return float(np.mean(p))

    assert held(0.0) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert held(gain) >= power


def of_every_outcome(n: int, margin: float, exact: bool) -> pd.DataFrame:
    """Return the tests of every outcome of n documents, of two single runs."""
    outcomes = []
    for b, c in zip(*trinomial(n), strict=True):
        d = np.repeat([1.0, -1.0, 0.0], [b, c, n - b - c])
        p = stats.mcnemar_p(d) if exact else (np.nan, np.nan)
        error = paired_error([d], margin)
        outcomes.append((d.mean() - margin, error, *p))
    table = pd.DataFrame(outcomes, columns=["d", "error", "exact_for", "exact_against"])
    table = table.assign(identical=False, documents=n)
    return stats.paired_tests(table[["d"]].rename(columns={"d": NO_SEED}), table, 0.0)


@pytest.mark.parametrize(
    ("margin", "exact", "level"),
    [(0.0, True, 0.05), (0.0, False, 0.05)]
    + [(margin, False, 0.051) for margin in (-0.5, -0.2, -0.05, 0.05, 0.2, 0.5)],
)
def test_few_paired_documents_hold_the_level(margin, exact, level):
    """Of every outcome its chance is known, so the share of false claims is no estimate."""
    for n in (1, 3, 5, 8, 12, 20, 30):
        false = of_every_outcome(n, margin, exact).for_p <= 0.05
        b, c = trinomial(n)
        for alone in np.linspace(0, (1 - abs(margin)) / 2, 9):
            second = alone + max(0.0, -margin)
            chances = [second + margin, second, 1 - 2 * second - margin]
            chance = multinomial.pmf(np.stack([b, c, n - b - c], 1), n, np.clip(chances, 0, 1))
            assert chance[false].sum() <= level, (n, chances)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (5, 5), (12, 12), (50, 50), (5, 50)])
def test_few_documents_that_differ_hold_the_level(n, m):
    """As if two methods were scored on different documents: the variances of frame.Cell."""
    a, b = np.arange(n + 1)[:, None] / n, np.arange(m + 1) / m
    error = np.sqrt((n * a * (1 - a) + 2) / n**2 + (m * b * (1 - b) + 2) / m**2)
    p = stats.one_sided_p(a - b, np.nan, 1, False, error, documents=min(n, m))[0]
    for share in np.linspace(0, 1, 21):
        chance = binom.pmf(n * a, n, share) * binom.pmf(m * b, m, share)
        assert chance[p <= 0.05].sum() <= 0.05


def test_paired_tests_are_symmetric_and_agree_with_the_exact_one():
    for n in (1, 4, 9):
        b, c = trinomial(n)
        for margin, exact in ((0.0, True), (0.0, False)):
            found = of_every_outcome(n, margin, exact).set_index([b, c])
            swapped = found.loc[[*zip(c, b, strict=True)]]
            assert found.for_p.to_numpy() == pytest.approx(swapped.against_p.to_numpy())
    rng = np.random.default_rng(0)
    for n in (10, 1000, 100_000):
        d = rng.choice([1.0, -1.0, 0.0], n, p=[0.06, 0.04, 0.9])
        assert paired_error([d], 0.1) == pytest.approx(paired_error([-d], -0.1))
        b, c = int((d > 0).sum()), int((d < 0).sum())
        exact = [binomtest(b, b + c, alternative=side).pvalue for side in ("greater", "less")]
        assert stats.mcnemar_p(d) == pytest.approx(exact)
        near = norm.sf(d.mean() / paired_error([d]))
        assert near == pytest.approx((b > c) * exact[0] + (b <= c) * (1 - exact[1]), abs=0.1)


TWO_POINTS = A_FIRST | {"A": 82 + NOISE / 10, "B": 80 - NOISE / 10}


def test_the_variances_of_seeds_and_documents_add(tmp_path):
    claim = "better: {columns: [A], over: [B]}, among: [comp-vs-rec]"
    for documents, outcome in ((0, "holds"), (100_000, "holds"), (1000, "undetermined")):
        found = judged(TABLE, claim, TWO_POINTS, tmp_path, documents=documents)
        assert found.outcome == outcome
    p = decision(found)
    mean = np.mean
    a, b = (np.array(TWO_POINTS[name]) / 100 for name in "AB")
    error = np.sqrt(mean(a * (1 - a) / 1000) + mean(b * (1 - b) / 1000) + (2 + 2) / 1000**2)
    assert p.for_documents == pytest.approx(norm.sf(0.02 / error))
    assert p.for_seeds == pytest.approx(ttest_1samp(a - b, 0, alternative="greater").pvalue)
    seeds = np.var(a - b, ddof=1) / 3
    ratio = 0.02 / np.sqrt(seeds + error**2)
    assert p.for_p == pytest.approx(t.sf(ratio, 2 * (1 + error**2 / seeds) ** 2))
    assert p.for_p > p.for_documents > 0.05 > p.for_seeds
    line = claims.comparisons(experiments.read(TABLE, PATH), found)[0]
    assert line[5] == f"{p.for_p:.2g} (seeds {p.for_seeds:.2g}, documents {p.for_documents:.2g})"


def test_the_documents_are_tested_for_accuracy_and_between_methods_alone(tmp_path):
    f1 = TABLE.replace("metric: accuracy", "metric: f1")
    claim = "better: {columns: [A], over: [B]}"
    # One document of 100 is one point: two points are too few, however equal the seeds.
    for documents, outcome in ((100, "undetermined"), (1000, "holds")):
        found = judged(f1, claim, TWO_POINTS, tmp_path, documents=documents)
        assert found.outcome == outcome
        assert np.isnan(decision(found).for_documents)
    values = {("A", x): 90 + x * NOISE / 50 for x in (5.0, 6.0, 7.0, 8.0)} | {"C": 7}
    claim = "stable: {column: A, x: [5, 8], within: 2}"
    assert judged(SWEEP, claim, values, tmp_path, documents=100).outcome == "holds"
    values[("A", 8.0)] = 92 + NOISE[::-1] / 10
    claim = "higher: {column: A, at: 8, than: 5}"
    assert judged(SWEEP, claim, values, tmp_path, documents=100).outcome == "undetermined"
    assert judged(SWEEP, claim, values, tmp_path, documents=10**6).outcome == "holds"


@pytest.mark.parametrize(
    ("units", "n", "rows", "outcome"),
    [
        ("task", 6, "average", "holds"),
        ("task", 6, "most", "holds"),
        ("corpus", 1, "most", "undetermined"),
        ("group", 2, "average", "undetermined"),
        ("corpus", 0, "every", "holds"),  # a claim on every row is about the rows
    ],
)
def test_units_are_tasks_corpora_or_groups(tmp_path, units, n, rows, outcome):
    text = "".join(
        line.replace("}", f", group: g{i % 2}}}") + "\n" if "{task:" in line else line + "\n"
        for i, line in enumerate(f"{TABLE}units: {units}".splitlines())
    )
    claim = f"better: {{columns: [A], over: [B], rows: {rows}}}"
    found = judged(text, claim, A_FIRST, tmp_path)
    assert found.outcome == outcome
    words = explained(text, found)
    assert (f"Tested over {n} units, each a {units}: p ≥ {2**-n:.3g}" in words) == bool(n)
    assert ("nothing can be decided" in words) == (outcome == "undetermined")
    if n:
        assert decision(found).for_p == 2**-n
        assert found.n_units == n


def test_an_average_is_the_mean_over_the_rows_with_its_margin(tmp_path):
    """Ahead on five rows of six, but the mean difference of 10 is short of the margin."""
    values = A_FIRST | {"B": 79 + NOISE / 2, ("rec-vs-sci", "B"): 85 - NOISE}
    for margin, outcome in ((11.0, "fails"), (10.0, "undetermined"), (9.0, "holds")):
        claim = f"better: {{columns: [A], over: [B], rows: average, by: {margin}}}"
        found = judged(TABLE, claim, values, tmp_path, documents=10**6)
        assert found.outcome == outcome
    by_seed = (5 * (11 + NOISE / 2) + 5 + 2 * NOISE) / 6 - 9
    a, b = (np.array([0.9 + NOISE / 100] * 6), np.array([0.79 + NOISE / 200] * 6))
    b[3] = 0.85 - NOISE / 100
    errors = np.sqrt((a * (1 - a) + b * (1 - b)).mean(axis=1) / 10**6 + (2 + 2) / 10**12)
    p = decision(found)
    assert p.for_seeds == pytest.approx(ttest_1samp(by_seed, 0, alternative="greater").pvalue)
    # Rows may share their documents: the error of the mean is at most the mean of the errors.
    z = by_seed.mean() / 100 / errors.mean()
    assert p.for_documents == pytest.approx(norm.sf(z))


def test_the_printed_p_is_the_one_that_decided(tmp_path):
    values = A_FIRST | {
        (row, "A"): 81 + i + (5 - i) * NOISE[[1, 2, 0]] for i, row in enumerate(TASKS)
    }
    b = values["B"]
    by_row = [ttest_1samp(values[row, "A"] - b, 0).pvalue / 2 for row in TASKS]
    of_mean = ttest_1samp(np.mean([values[row, "A"] - b for row in TASKS], 0), 0)
    of_mean = of_mean.pvalue / 2
    claim = "better: {columns: [A], over: [B], rows: %s}"
    for rows, p in (
        ("every", max(by_row)),
        ("some", 6 * min(by_row)),
        ("most", 3 * sorted(by_row)[3]),  # four of six are ahead; three may be behind
        ("average", of_mean),
    ):
        found = judged(TABLE, claim % rows, values, tmp_path)
        assert decision(found).for_p == pytest.approx(p)
        claimed = "better: {columns: [B], over: [A], rows: %s}"
        found = judged(TABLE, claimed % rows, values, tmp_path)
        contrary = {"every": 6 * min(by_row), "some": max(by_row)}
        assert decision(found).against_p == pytest.approx(contrary.get(rows, p))


def test_identical_columns_are_named_and_support_no_claim(tmp_path):
    values = A_FIRST | {"B": A_FIRST["A"]}
    for rows in ("every", "most"):
        claim = f"better: {{columns: [A], over: [B], by: -5, rows: {rows}}}"
        found = judged(TABLE, claim, values, tmp_path, seconds={"A": 1.0, "B": 2.0})
        assert found.outcome == "undetermined"
        assert explained(TABLE, found).endswith("Identical columns: A over B.")
    text = TABLE + "claims:\n  - {says: A leads, place: p, better: {columns: [A]}}\n"
    file = experiments.read(text, PATH)
    texts = pages.Evidence.read(file, tmp_path).texts()
    sentence = "A and B are identical: the same values on every row and seed"
    assert sentence in texts["claims.md"]
    assert sentence in texts["table.md"]
    # One other value is enough.
    almost = values | {("rec-vs-sci", "B"): 90 + NOISE[::-1]}
    assert claims.identical(file, cells_of(file, runs(text, almost, tmp_path))) == []


CLAIM = "{says: s, place: p, better: {columns: [A], over: [B]}}"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (TABLE, CLAIM, "{says: s, place: p}", "expected one of better, stable, higher"),
        (TABLE, "}}", "}, higher: {column: A, at: 5, than: 6}}", "expected one of better"),
        (TABLE, "[B]", "[Bee]", "unknown column 'Bee'"),
        (TABLE, "[A], over: [B]", "[A, B, C]", "no other column to compare with"),
        (TABLE, "over", "ovr", "unknown key 'ovr'. Did you mean 'over'?"),
        (TABLE, "place: p, ", "", "expected place or own"),
        (TABLE, "place: p", "place: p, own: before the runs", "expected place or own"),
        (TABLE, "}}", "}, read_with: {gtl-tabel3: s}}", "Did you mean 'gtl-table3'?"),
        (TABLE, "[B]", "[B], x: 5", "are for figures over parameters or iterations"),
        (TABLE, "[B]", "[B], times: 2", "times is for seconds"),
        (TABLE, "}}", "}, measure: f1}", "no row shows f1; expected accuracy"),
        (TABLE, "}}", "}, also: [gtl-tabel3]}", "Did you mean 'gtl-table3'?"),
        (TABLE, "}}", "}, also: [mtc-table4]}", "unknown column of mtc-table4 'A'"),
        (TABLE, "}}", "}, read_with: {gtl-table3: s}}", "unknown claim of gtl-table3 's'"),
        (TABLE, "[B]", "[B], by: 1.0e+308", "expected less than 1000"),
        (TABLE, "}}", "}, among: [comp-vs-rex]}", "Did you mean 'comp-vs-rec'?"),
    ],
)
def test_an_error_in_a_claim_names_its_line(text, old, new, message):
    assert old in CLAIM
    text += f"claims:\n  - {CLAIM.replace(old, new)}\n"
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    assert str(error.value).startswith(f"mine.yaml:{text.count(chr(10))}: ")
    assert message in str(error.value)


def test_claims_that_are_read_together_name_each_other():
    for name in experiments.names():
        for claim in experiments.load(name).spec.claims:
            for other, says in claim.read_with.items():
                known = {each.says: each for each in experiments.load(other).spec.claims}
                assert known[says].read_with[name] == claim.says, f"{name}: {claim.says}"


def test_comparisons_of_which_one_is_enough_share_the_significance_level(tmp_path):
    """A loss that refutes a claim over one rival is too weak for a claim over two."""
    d = np.array([-3.0, -2.5, -2.1])
    p = ttest_1samp(d, 0, alternative="less").pvalue
    assert 0.05 / (6 * 2) < p < 0.05 / 6
    values = A_FIRST | {("rec-vs-sci", "A"): 80 + NOISE + d}
    for rivals, outcome in (("B", "fails"), ("B, C", "undetermined")):
        claim = f"better: {{columns: [A], over: [{rivals}]}}"
        assert judged(TABLE, claim, values, tmp_path).outcome == outcome


@pytest.mark.parametrize("extent", ["average", "most"])
def test_rows_of_a_unit_that_are_alike_do_not_count_as_independent(monkeypatch, extent):
    """Without a difference 5 per cent of claims hold; as if rows were units, many more do."""
    monkeypatch.setattr(stats, "MAX_FLIPS", 2**10)  # faster
    rng, rows, n = np.random.default_rng(0), [], 400
    for i in range(n):
        of_unit = rng.normal(0, 1, 7)
        for j in range(28):
            d = (of_unit[j // 4] + rng.normal(0, 0.2),)
            rows.append({"comparison": i, "row": j, "unit": j // 4, "d": d})
    right, naive = (
        np.mean(stats.decide(*frames(units), extent, 0.0, True).for_p <= 0.05)
        for units in (rows, [row | {"unit": row["row"]} for row in rows])
    )
    assert right <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n)
    assert naive > 0.15


@pytest.mark.parametrize(
    ("lost", "outcome"), [(0, "holds"), (1, "holds"), (2, "undetermined"), (3, "fails")]
)
def test_most_of_a_few_rows_are_counted_by_the_seeds(tmp_path, lost, outcome):
    """No permutation of four rows is significant; their own tests are."""
    text = "".join(line + "\n" for line in TABLE.splitlines() if "rec-vs-talk: {" not in line)
    text = text.replace("  sci-vs-talk: {task: gtl/sci-vs-talk}\n", "")
    values = A_FIRST | {(row, "B"): 95 + 1.01 * NOISE for row in TASKS[:lost]}
    claim = "better: {columns: [A], over: [B], rows: most}"
    found = judged(text, claim, values, tmp_path)
    assert len(found.tests) == 4
    assert found.outcome == outcome
