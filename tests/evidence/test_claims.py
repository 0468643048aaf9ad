"""Claims are judged by tests fixed in advance; an error in a claim names its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_runs import cells_of, write_runs
from scipy.stats import binomtest, norm, t, ttest_1samp
from small_experiment import GOOD

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import claims, pages
from transferbench.runs.record import pack
from transferbench.stats import paired_error

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
        ("better: {columns: [A]}", NOISY, "open"),
        ("better: {columns: [A], rows: most}", ONE_LOST, "holds"),
        ("better: {columns: [A], rows: most}", THREE_LOST, "open"),
        ("better: {columns: [B], over: [A], rows: most}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", ONE_LOST, "holds"),
        ("better: {columns: [B], over: [A], rows: some}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", NOISY, "open"),
        ("better: {columns: [A], rows: average, by: 9.9}", A_FIRST, "holds"),
        ("better: {columns: [A], rows: average, by: 10.1}", A_FIRST, "fails"),
        ("better: {columns: [A], value: 85}", A_FIRST, "holds"),
        ("better: {columns: [B], value: 85}", A_FIRST, "fails"),
        ("better: {columns: [A], value: 85}", A_FIRST | {"A": 85 + NOISE}, "open"),
        ("better: {columns: [A], over: [B], fewer_errors: 0.4}", A_FIRST, "holds"),
        ("better: {columns: [A], over: [B], fewer_errors: 0.6}", A_FIRST, "fails"),
        ("better: {columns: [A], rows: average, fewer_errors: 0.45}", A_FIRST, "holds"),
        ("better: {columns: [B], over: [A], by: -11}", A_FIRST, "holds"),
        ("better: {columns: [A]}", A_FIRST | {"B": "failed"}, "open"),
        ("better: {columns: [A], over: [B]}", A_FIRST | {"C": "unavailable"}, "holds"),
    ],
)
def test_outcomes_of_a_table(tmp_path, claim, values, outcome):
    found = judged(TABLE, claim, values, tmp_path)
    assert found.outcome == outcome, found.tests
    assert bool(found.reason) == any(isinstance(v, str) for v in values.values()) * (
        outcome == "open"
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
    values = {("A", 5.0): 90, ("A", 6.0): 91 + NOISE / 100, ("A", 7.0): 90.9 + 4 * NOISE, "C": 7}
    values["A", 8.0] = 90  # three equal seeds have p = 1 / 8
    claim = "stable: {{column: A, x: [5, {}], within: 2}}"
    assert judged(SWEEP, claim.format(6), values, tmp_path).outcome == "holds"
    found = judged(SWEEP, claim.format(8), values, tmp_path)
    p = ttest_1samp(90 + 2 - (90.9 + 4 * NOISE), 0, alternative="greater").pvalue
    assert decision(found).for_p == pytest.approx(p)
    assert (found.outcome, p > 1 / 8) == ("open", True)


def test_the_documents_are_the_same_at_every_x(tmp_path):
    """A mean over several x has no smaller error for their number."""
    values = {("A", x): y + NOISE / 100 for x, y in ((5.0, 80), (6.0, 80), (7.0, 82), (8.0, 82))}
    claim = "higher: {column: A, at: [7, 8], than: [5, 6]}"
    found = judged(SWEEP, claim, values | {"C": 7}, tmp_path, documents=1000)
    error = np.sqrt((0.8 * 0.2 + 0.82 * 0.18) / 1000 + (2 + 2) / 1000**2)
    assert decision(found).for_p == pytest.approx(norm.sf(0.02 / error), rel=1e-2)


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
    for last, outcome in ((2.0, "holds"), (0.0, "open")):

        def curve(seed, last=last):
            return {"curve": {"target": (0.5, 0.5)}, "trace": (2.1 + 0.01 * seed, last)}

        found = judged(text, claim, {"A": 90 + NOISE, "C": 70}, tmp_path, A=curve)
        assert found.outcome == outcome
    assert found.reason.endswith("a value that is not above 0 has no logarithm")


def test_seconds_are_compared_as_ratios_and_less_is_better(tmp_path):
    def judged_cost(predicate: str, **seconds: float):
        more = {"seconds": seconds, "documents": 20}  # which do not count
        return judged(COST, f"better: {{columns: [A], {predicate}}}", A_FIRST, tmp_path, **more)

    for times, outcome in ((2, "holds"), (3, "fails")):
        found = judged_cost(f"over: [B], times: {times}", A=1.0, B=2.5)
        assert found.outcome == outcome
        assert claims.comparisons(experiments.read(COST, PATH), found)[0][3] == "× 2.50"
    for theirs, outcome in ((1.09, "open"), (1.11, "holds")):
        found = judged_cost("over: [B]", A=1.0, B=theirs)
        assert found.outcome == outcome
        assert "Differences below 1.1 times are too small to count" in explained(COST, found)
    for most, outcome in ((1.5, "holds"), (0.5, "fails")):
        assert judged_cost(f"value: {most}", A=1.0).outcome == outcome


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
    assert line[5:] == ("0.0017", "1", "1 of 2")


CLOSE = A_FIRST | {"A": 80.3 + NOISE / 100, "B": 80 - NOISE / 100}


@pytest.mark.parametrize("rows", ["every", "some", "most", "average"])
def test_a_difference_too_small_to_matter_decides_nothing(tmp_path, rows):
    claim = f"better: {{columns: [A], over: [B], rows: {rows}}}"
    found = judged(TABLE, claim, CLOSE, tmp_path)
    assert found.outcome == "open"
    assert "No difference that matters: A over B." in explained(TABLE, found)
    claim = f"better: {{columns: [B], over: [A], rows: {rows}}}"
    assert judged(TABLE, claim, CLOSE, tmp_path).outcome == "open"


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
    assert outcome == "fails" or p.for_p == pytest.approx(expected)
    # With fewer documents the same difference is not significant.
    assert judged(TABLE, claim, values, tmp_path, documents=20).outcome == "open"
    # Without an error nothing is decided, whatever the number of rows.
    found = judged(TABLE, claim, values, tmp_path)
    assert found.outcome == "open"
    assert "No error is known for a single run: " in explained(TABLE, found)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [({}, "holds"), ({"right": {}}, "open"), ({"data": "other"}, "open")],
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
    d = C - (0.01 + 0.99 * K)  # of C's rival, one error in 100 counts as avoided
    z = d.mean() / paired_error([d])
    assert change or decision(found).for_p == pytest.approx(norm.sf(z))
    found = judged(
        TABLE, "better: {columns: [C], over: [K]}", values, tmp_path, documents=400, **more
    )
    if not change:
        assert decision(found).for_p == pytest.approx(binomtest(14, 16).pvalue / 2)


F1 = TABLE.replace("metric: accuracy", "metric: f1")
#: Single runs of C and K, and seeds that are all equal.
EQUAL = {"A": 100, "B": 50, "C": 100, "K": 0}
TWO_POINTS = A_FIRST | {"A": 82 + NOISE / 10, "B": 80 - NOISE / 10}


@pytest.mark.parametrize("right", [0, 11, 20])
@pytest.mark.parametrize("stated", [0, 60, 100])
def test_a_single_run_is_tested_exactly_against_a_stated_value(tmp_path, right, stated):
    claim = f"better: {{columns: [C], value: {stated}}}, among: [comp-vs-rec]"
    found = judged(TABLE, claim, EQUAL | {"C": 100 * right / 20}, tmp_path, documents=20)
    for side, p in (("greater", decision(found).for_p), ("less", decision(found).against_p)):
        assert p == pytest.approx(binomtest(right, 20, stated / 100, alternative=side).pvalue)


def test_a_mean_over_seeds_is_tested_with_the_error_at_the_stated_value(tmp_path):
    """Right on all of 20 documents, a mean shows no error of its own."""
    claim = "better: {columns: [A], value: 60}, among: [comp-vs-rec]"
    values = EQUAL | {"A": 80 + NOISE}
    p = decision(judged(TABLE, claim, values, tmp_path, documents=20)).for_p
    assert p == pytest.approx(norm.sf(0.2 / np.sqrt(0.6 * 0.4 / 20 + 2 / 20**2)), rel=1e-2)
    found = judged(TABLE, claim, EQUAL, tmp_path, documents=20)
    assert (found.outcome, decision(found).for_p) == ("open", 1 / 8)  # of three equal seeds


def test_the_variances_of_seeds_and_documents_add(tmp_path):
    claim = "better: {columns: [A], over: [B]}, among: [comp-vs-rec]"
    for documents, outcome in ((0, "holds"), (100_000, "holds"), (1000, "open")):
        found = judged(TABLE, claim, TWO_POINTS, tmp_path, documents=documents)
        assert found.outcome == outcome
    a, b = (np.array(TWO_POINTS[name]) / 100 for name in "AB")
    documents = np.mean(a * (1 - a) + b * (1 - b)) / 1000 + (2 + 2) / 1000**2
    seeds = np.var(a - b, ddof=1) / 3
    ratio, dof = 0.02 / np.sqrt(seeds + documents), 2 * (1 + documents / seeds) ** 2
    assert decision(found).for_p == pytest.approx(t.sf(ratio, dof))


def test_curves_and_other_measures_are_tested_over_the_seeds_alone(tmp_path):
    claim, values = "better: {columns: [A], over: [B]}", TWO_POINTS
    # One document of 100 can change a point: two points are too few, however close the seeds.
    for documents, outcome in ((100, "open"), (1000, "holds")):
        found = judged(F1, claim, values, tmp_path, documents=documents)
        spread = np.hypot(np.std(values["A"] - values["B"], ddof=1) / np.sqrt(3), 100 / documents)
        p = t.sf(2 / spread, 2)
        assert (found.outcome, decision(found).for_p) == (outcome, pytest.approx(p))
    values = {("A", x): 90 + x * NOISE / 50 for x in (5.0, 6.0, 7.0, 8.0)} | {"C": 7}
    claim = "stable: {column: A, x: [5, 8], within: 2}"
    assert judged(SWEEP, claim, values, tmp_path, documents=100).outcome == "holds"
    # But two points of a curve that differ are also tested over the documents.
    values["A", 8.0] = 92 + NOISE[::-1] / 10
    claim = "higher: {column: A, at: 8, than: 5}"
    for documents, outcome in ((100, "open"), (10**6, "holds")):
        assert judged(SWEEP, claim, values, tmp_path, documents=documents).outcome == outcome


@pytest.mark.parametrize(
    ("claim", "text", "values"),
    [
        ("better: {columns: [A], over: [B]}", F1, {}),
        ("better: {columns: [C], over: [B], rows: average}", F1, {}),
        ("better: {columns: [A], over: [B]}", F1, {"A": [90, 80, 70], "B": [80, 70, 60]}),
        ("better: {columns: [B], over: [C], times: 2}", COST, {}),
        ("higher: {column: A, at: [5, 6], than: [7, 8]}", SWEEP, {}),
    ],
)
def test_equal_seeds_of_which_no_documents_are_known_prove_nothing(tmp_path, claim, text, values):
    """They may be one run."""
    text = text.replace("metric: accuracy", "metric: f1")
    values = EQUAL | {("A", x): 90 - 10 * (x > 6) for x in (5.0, 6.0, 7.0, 8.0)} | values
    seconds = {"B": 1.0, "C": 9.0}
    found = judged(text, claim, values, tmp_path, documents=1000, seconds=seconds)
    p = decision(found)
    assert (found.outcome, p.for_p, p.against_p) == ("open", 1, 1)
    assert "All seeds give the same difference, so no error is known: " in explained(text, found)


def test_few_equal_seeds_decide_nothing_and_the_claim_says_so(tmp_path):
    claim = "better: {columns: [A], over: [B]}"
    found = judged(TABLE, claim, EQUAL, tmp_path, documents=10_000)
    assert (found.outcome, decision(found).for_p) == ("open", 1 / 8)
    assert "Fewer than five equal seeds decide nothing: A over B." in explained(TABLE, found)
    more = {name: {"right": {"target": pack(np.arange(100) < n)}} for name, n in EQUAL.items()}
    found = judged(TABLE, claim, EQUAL, tmp_path, documents=100, **more)
    assert decision(found).for_p == 1 / 8  # also if all seeds decide on each document alike
    some = EQUAL | {(row, "B"): 50 + NOISE for row in TASKS[1:]}
    found = judged(TABLE, claim, some, tmp_path, documents=10_000)
    assert "decide nothing, on 1 of 6 rows: A over B." in explained(TABLE, found)
    # Two points are .01 closer than the limit, which nothing shows; a third one is noisy.
    steps = {("A", x): y for x, y in ((5.0, 70), (6.0, 71.99), (7.0, 71.9 + NOISE / 100))}
    steps |= {("A", 8.0): 71, "C": 7}
    for last in (6, 7, 8):
        claim = f"stable: {{column: A, x: [5, {last}], within: 2}}"
        found = judged(SWEEP, claim, steps, tmp_path, documents=100)
        assert (found.outcome, decision(found).for_p >= 1 / 8) == ("open", True)


def test_the_page_is_written(tmp_path):
    text = TABLE + "claims:\n  - {says: A leads, place: Section 5, better: {columns: [A]}}\n"
    runs(text, A_FIRST, tmp_path)
    file = experiments.read(text, PATH)
    page = pages.Evidence.read(file, tmp_path).texts()["claims.md"]
    head = next(line for line in page.splitlines() if line.endswith("A leads"))
    assert "holds" in head.lower()
    assert f"\n\n{head}\n\n*Section 5*\n" in page
    assert "A ahead of every other method on every row." in page
    assert "A over B | 6 of 6" in page
    assert "K" not in page


@pytest.mark.parametrize(
    ("units", "n", "rows", "outcome"),
    [
        ("task", 6, "average", "holds"),
        ("task", 6, "most", "holds"),
        ("corpus", 1, "most", "open"),
        ("group", 2, "average", "open"),
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
    assert ("nothing can be decided" in words) == (outcome == "open")
    if n:
        assert decision(found).for_p == 2**-n
        assert found.n_units == n
        assert "seeds" not in explained(text, judged(text, claim, EQUAL, tmp_path))


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
        assert found.outcome == "open"
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
    for rivals, outcome in (("B", "fails"), ("B, C", "open")):
        claim = f"better: {{columns: [A], over: [{rivals}]}}"
        assert judged(TABLE, claim, values, tmp_path).outcome == outcome
