"""Claims are judged by tests fixed in advance; an error in a claim names its place."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from made_runs import cells_of, write_runs
from scipy import stats
from small_experiment import GOOD

from transferbench import experiments
from transferbench.errors import UserError
from transferbench.evidence import claims, claims_page, pages, ranks
from transferbench.evidence.frame import read_runs, to_runs
from transferbench.evidence.stats import Comparison, PairedTest

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
NOISE = np.array([-0.5, 0.0, 0.5])


def runs(text: str, values: dict, tmp_path: Path, seconds: dict | None = None):
    """runs.csv of {(row, column) or column, with x in a sweep: per cent at each seed, or one}."""

    def outcome(planned):
        row, column, x, run = planned
        found = next(values[key] for key in [(row, column), (column, x), column] if key in values)
        if isinstance(found, str):
            return found
        value = float(np.broadcast_to(found, 3)[run.seed or 0])
        metrics = {"target": {"accuracy": value / 100}}
        return {"metrics": metrics, "seconds": (seconds or {}).get(column, 1.0)}

    return write_runs(tmp_path, experiments.read(text, PATH), outcome)


def judge(file, found) -> list[claims.ClaimResult]:
    return claims.judge(file, cells_of(file, found), {})


def judged(text: str, claim: str, values: dict, tmp_path: Path, **more) -> claims.ClaimResult:
    text += f"claims:\n  - {{says: s, place: p, {claim}}}\n"
    (found,) = judge(experiments.read(text, PATH), runs(text, values, tmp_path, **more))
    return found


A_FIRST = {"A": 90 + NOISE, "B": 80 + NOISE, "C": 70, "K": 99}
ONE_LOST = A_FIRST | {("rec-vs-sci", "B"): 95 + NOISE}
THREE_LOST = A_FIRST | {(row, "B"): 95 + NOISE for row in TASKS[:3]}
NOISY = A_FIRST | {("rec-vs-sci", "B"): 90 + 2 * NOISE[::-1]}


@pytest.mark.parametrize(
    ("claim", "values", "outcome"),
    [
        ("better: {columns: [A]}", A_FIRST, "holds"),
        ("better: {columns: [A], over: [K]}", A_FIRST, "fails"),
        ("better: {columns: [B]}", A_FIRST, "fails"),
        ("better: {columns: [A]}", ONE_LOST, "fails"),
        ("better: {columns: [A]}", NOISY, "undetermined"),
        ("better: {columns: [A], rows: most}", ONE_LOST, "holds"),
        ("better: {columns: [A], rows: most}", THREE_LOST, "undetermined"),
        ("better: {columns: [A], over: [C], rows: most}", ONE_LOST, "holds"),
        ("better: {columns: [B], over: [A], rows: most}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", ONE_LOST, "holds"),
        ("better: {columns: [B], over: [A], rows: some}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], rows: some}", NOISY, "undetermined"),
        ("better: {columns: [A], rows: average, by: 9.9}", A_FIRST, "holds"),
        ("better: {columns: [A], rows: average, by: 10.1}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], by: -9}", A_FIRST, "fails"),
        ("better: {columns: [B], over: [A], by: -11}", A_FIRST, "holds"),
        ("better: {columns: [C], over: [C2]}", A_FIRST, None),
        ("better: {columns: [A]}", A_FIRST | {"B": "failed"}, "undetermined"),
        ("better: {columns: [A]}", A_FIRST | {"C": "unavailable"}, "undetermined"),
        ("better: {columns: [A], over: [B]}", A_FIRST | {"C": "unavailable"}, "holds"),
    ],
)
def test_outcomes_of_a_table(tmp_path, claim, values, outcome):
    if outcome is None:
        with pytest.raises(UserError, match="unknown column 'C2'"):
            judged(TABLE, claim, values, tmp_path)
        return
    found = judged(TABLE, claim, values, tmp_path)
    assert found.outcome == outcome, [(p.label, p.rows) for p in found.comparisons]
    assert bool(found.reason) == any(isinstance(v, str) for v in values.values()) * (
        outcome == "undetermined"
    )


@pytest.mark.parametrize(
    ("lost", "outcome"), [(0, "holds"), (1, "holds"), (2, "undetermined"), (3, "fails")]
)
def test_most_of_a_few_rows_are_counted_by_the_seeds(tmp_path, lost, outcome):
    """A signed-rank test over four rows is never significant."""
    text = "".join(line + "\n" for line in TABLE.splitlines() if "rec-vs-talk: {" not in line)
    text = text.replace("  sci-vs-talk: {task: gtl/sci-vs-talk}\n", "")
    values = A_FIRST | {(row, "B"): 95 + NOISE for row in TASKS[:lost]}
    claim = "better: {columns: [A], over: [B], rows: most}"
    found = judged(text, claim, values, tmp_path)
    assert len(found.comparisons[0].rows) == 4
    assert found.outcome == outcome


def test_equal_deterministic_methods_are_undetermined(tmp_path):
    values = {"A": 90, "B": 90, "C": 70, "K": 70}
    assert judged(TABLE, "better: {columns: [C], over: [K]}", values, tmp_path).outcome == (
        "undetermined"
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
        ("A", 5.0): 90 + NOISE, ("A", 6.0): 91 + NOISE, ("A", 7.0): 90.5 + NOISE,
        ("A", 8.0): 60 + NOISE, "C": 70,
    }  # fmt: skip
    assert judged(SWEEP, claim, values, tmp_path).outcome == outcome


def test_a_failed_run_leaves_the_claim_of_a_figure_undetermined(tmp_path):
    values = {("A", 5.0): 90 + NOISE, ("A", 6.0): "timeout", ("A", 7.0): 90, ("A", 8.0): 9, "C": 7}
    found = judged(SWEEP, "stable: {column: A, x: [5, 7], within: 2}", values, tmp_path)
    assert (found.outcome, found.reason) == ("undetermined", "A at 5 to 7, one: timeout: why")


def test_a_wide_spread_leaves_stability_undetermined(tmp_path):
    spread = {5.0: 9, 6.0: -9, 7.0: 9, 8.0: -9}
    values = {("A", x): 90 + x / 100 + NOISE * s for x, s in spread.items()}
    values["C"] = 7
    claim = "stable: {column: A, x: [5, 8], within: 0.1}"
    assert judged(SWEEP, claim, values, tmp_path).outcome == "undetermined"


def test_seconds_are_compared_as_ratios_and_less_is_better(tmp_path):
    text = TABLE.replace("metric: accuracy", "metric: seconds").replace("title: t", "title: s", 1)
    seconds = {"A": 1.0, "B": 2.5, "C": 9.0, "K": 9.0}
    for times, outcome in ((2, "holds"), (3, "fails")):
        claim = f"better: {{columns: [A], over: [B], times: {times}}}"
        found = judged(text, claim, A_FIRST, tmp_path, seconds=seconds)
        assert found.outcome == outcome
        file = experiments.read(text, PATH)
        assert claims_page.comparisons(file, found)[0][3] == "× 2.50"


def test_a_claim_about_some_rows_only(tmp_path):
    claim = "better: {columns: [A], over: [B]}, among: [comp-vs-rec, sci-vs-talk]"
    found = judged(TABLE, claim, ONE_LOST, tmp_path)
    assert found.outcome == "holds"  # it fails on rec-vs-sci, which is not among them
    assert list(found.comparisons[0].rows) == ["comp-vs-rec", "sci-vs-talk"]
    assert claims_page.meaning(found.claim).endswith("every row; among comp-vs-rec, sci-vs-talk")


def test_rows_of_other_experiments_count(tmp_path):
    text = TABLE + (
        "claims:\n  - {says: s, place: p, better: {columns: [A], over: [B]}, also: [mtc-table4]}\n"
    )
    file = experiments.read(text, PATH)
    with pytest.raises(UserError, match="unknown column of mtc-table4 'A'"):
        judge(file, runs(text, A_FIRST, tmp_path))
    real = experiments.load("mtc-table3")
    pooled = next(claim for claim in real.spec.claims if claim.also)
    found = judge(real, to_runs([]))[real.spec.claims.index(pooled)]
    rows = {test.row for one in found.comparisons for test in one.tests}
    assert {"Task 1 accuracy", "mtc-table4, Task 2 accuracy"} <= rows
    assert "Task 1 NMI" not in rows


def test_the_published_rows_are_counted(tmp_path):
    found = judged(TABLE, "better: {columns: [A], over: [B]}", A_FIRST, tmp_path)
    assert found.comparisons[0].printed == (10.0, -20.0)
    file = experiments.read(TABLE, PATH)
    assert claims_page.comparisons(file, found) == [
        ("A over B", "6 of 6", "0", "+10.00", "+10.00 comp-vs-rec", "0.016", "1", "1 of 2")
    ]


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("better: {columns: [A], over: [B], by: 2}", "A more than 2 ahead of B on every row"),
        ("better: {columns: [A], over: [B], by: -2}", "A less than 2 behind B on every row"),
        (
            "better: {columns: [A, B], rows: some}",
            "A and B ahead of every other method on some row",
        ),
    ],
)
def test_a_claim_in_words(tmp_path, claim, words):
    assert claims_page.meaning(judged(TABLE, claim, A_FIRST, tmp_path).claim) == words


def test_p_over_seeds_is_the_paired_t_test():
    differences = (0.4, 0.1, 0.7, -0.2)
    for contrary, side in ((False, "greater"), (True, "less")):
        expected = stats.ttest_1samp(differences, 0, alternative=side).pvalue
        assert PairedTest("r", differences).p(contrary) == pytest.approx(expected)
    assert (PairedTest("r", (0.1,)).p(), PairedTest("r", (0.1,)).p(contrary=True)) == (0, 1)
    assert (PairedTest("r", (0.0,)).p(), PairedTest("r", (0.0,)).p(contrary=True)) == (1, 1)


def test_p_over_rows_is_wilcoxons():
    rows = [3.0, -1.0, 2.0, 5.0, 4.0, 6.0, 0.5]
    comparison = Comparison("A over B", tuple(PairedTest(str(i), (d,)) for i, d in enumerate(rows)))
    assert comparison.p() == pytest.approx(stats.wilcoxon(rows, alternative="greater").pvalue)
    # All signs: 2⁻ⁿ is the least p that n rows can have.
    ahead = Comparison("A over B", tuple(PairedTest(str(i), (1.0 + i,)) for i in range(5)))
    assert ahead.p() == pytest.approx(2**-5)
    assert Comparison("A over B", (PairedTest("r", (0.0,)),)).p() == 1
    # A margin that is not met can still be a lead, but tells against the claim.
    short = Comparison(
        "A over B", tuple(PairedTest(str(i), (1.0 + i - 9,)) for i in range(5)), margin=9.0
    )
    assert short.p() == short.p(contrary=True) == pytest.approx(2**-5)


def test_a_single_counterexample_needs_its_share_of_the_significance_level(tmp_path):
    """p of 0.03 against one of six rows is no more than chance would bring among twelve."""
    d = np.array([-3.0, -1.0, -2.0])
    p = stats.ttest_1samp(d, 0, alternative="less").pvalue
    assert 0.05 / 6 < p < 0.05
    values = A_FIRST | {("rec-vs-sci", "A"): 80 + NOISE + d}
    assert judged(TABLE, "better: {columns: [A], over: [B]}", values, tmp_path).outcome == (
        "undetermined"
    )


def test_ranks_agree_with_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs", reason="the extra `report` is not installed")
    file = experiments.load("gtl-table3")
    found = ranks.ranking(file, _committed("gtl-table3"))
    assert found
    methods = file.spec.competitors
    assert set(found.ranks) == set(methods)
    assert found.p == pytest.approx(stats.friedmanchisquare(*found.values.to_numpy().T).pvalue)
    apart = posthocs.posthoc_nemenyi_friedman(found.values.to_numpy())
    for i, one in enumerate(methods):
        for j, two in enumerate(methods):
            far = abs(found.ranks[one] - found.ranks[two]) > found.critical
            assert far == (apart.iloc[i, j] < 0.05)


def _committed(name: str):
    path = Path(__file__).parent.parent.parent / "results" / name / "runs.csv"
    file = experiments.load(name)
    return cells_of(file, read_runs(path))


def test_small_or_unfinished_tables_are_not_ranked():
    for name in ("mtc-table4", "mrtl-table3"):
        assert ranks.ranking(experiments.load(name), _committed(name)) is None


def test_the_page_is_written_with_the_table_and_found_if_outdated(tmp_path):
    text = TABLE + "claims:\n  - {says: A leads, place: Section 5, better: {columns: [A]}}\n"
    runs(text, A_FIRST, tmp_path)
    file = experiments.read(text, PATH)
    written = {path.name for path in pages.write(file, tmp_path)}
    assert "claims.md" in written
    page = (tmp_path / "claims.md").read_text()
    assert "| ✓ holds | A leads | Section 5 |" in page
    assert "✓ holds: A ahead of every other method on every row." in page
    assert "A over B | 6 of 6" in page
    assert "K" not in page.split("## Ranks")[0].split("claim names them.")[1]
    assert pages.outdated(file, tmp_path) == []
    (tmp_path / "claims.md").write_text(page.replace("holds", "fails"))
    assert pages.outdated(file, tmp_path) == [tmp_path / "claims.md"]


CLAIM = "{says: s, place: p, better: {columns: [A], over: [B]}}"


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (TABLE, CLAIM, "{says: s, place: p}", "expected one of better, stable, higher"),
        (TABLE, "}}", "}, higher: {column: A, at: 5, than: 6}}", "expected one of better"),
        (TABLE, "[B]", "[Bee]", "unknown column 'Bee'"),
        (TABLE, "[B]", "[A]", "is named under columns and under over"),
        (TABLE, "[A], over: [B]", "[A, B, C]", "no other column to compare with"),
        (TABLE, "over", "ovr", "unknown key 'ovr'. Did you mean 'over'?"),
        (TABLE, "place: p", "section: p", "unknown key 'section'"),
        (TABLE, "[B]", "[B], rows: all", "rows"),
        (TABLE, "[B]", "[B], x: 5", "are for figures over parameters or iterations"),
        (TABLE, "[B]", "[B], times: 2", "times is for seconds"),
        (TABLE, "}}", "}, measure: f1}", "no row shows f1; expected accuracy"),
        (TABLE, "}}", "}, also: [gtl-tabel3]}", "Did you mean 'gtl-table3'?"),
        (TABLE, "}}", "}, among: [comp-vs-rex]}", "Did you mean 'comp-vs-rec'?"),
        (SWEEP, "[B]", "[C], x: [7, 5]", "expected the smaller x first"),
        (SWEEP, "[B]", "[C], x: [1, 3]", "no value of the figure lies from 1 to 3"),
    ],
)
def test_an_error_in_a_claim_names_its_line(text, old, new, message):
    assert old in CLAIM
    text += f"claims:\n  - {CLAIM.replace(old, new)}\n"
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    assert str(error.value).startswith(f"mine.yaml:{text.count(chr(10))}: ")
    assert message in str(error.value)


def test_every_paper_has_claims_of_its_own():
    found = Counter[str]()
    for name in experiments.names():
        spec = experiments.load(name).spec
        found[spec.paper.title] += len(spec.claims)
        assert len({claim.says for claim in spec.claims}) == len(spec.claims)
        assert all(claim.place[0].isupper() for claim in spec.claims)
    assert all(count >= 4 for count in found.values()), found
