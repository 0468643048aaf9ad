"""An experiment's runs and published values; a mistake is a one-line error with its line."""

from __future__ import annotations

from math import inf

import pytest
from small_experiment import GOOD, PATH

from transferbench import experiments
from transferbench.errors import UserError

GRID = "grid: {max_iter: [5, 6]}, choose: [accuracy, f1]"
SPLITS = """\
{title: t, paper: {title: t, authors: a, venue: v, place: p}, metric: f1, repeats: 2,
rows: {one: {task: "mulan/emotions", domain: all}},
repeats_over: splits,
columns: {
  ML-kNN: {model: ml-knn, params: {}},
  HiMLS: {model: himls, params: {}}}}
"""
TOLERANCE = "tolerance: {value: 1.0, reason: because}"


def read(*changes: tuple[str, str]):
    """Return the experiment of GOOD with texts replaced."""
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return experiments.read(text, PATH)


def options(given: str) -> tuple[str, str]:
    """Return the change of GOOD that gives the column LG these options."""
    return "    model: lr\n", f"    model: lr\n    options: {given}\n"


def test_planned_runs_and_published_values():
    file = read()
    assert file.name == "mine"
    assert [(p.row, p.column, p.run.model, p.run.seed) for p in file.runs()] == [
        ("one", "LG", "lr", None), *(("one", "NMF", "nmf", seed) for seed in range(3))
    ]  # fmt: skip
    assert len(list(file.runs(repeats=1))) == 2
    assert file.published("one", "LG") == (81.71, None)
    assert file.published("one", "NMF") == (79.11, 0.05)
    assert file.published("one", "no") is None


def test_a_kind_changes_no_run():
    file = read(("    model: lr\n", "    model: lr\n    kind: simple\n"))
    assert (file.spec.columns["LG"].kind, file.spec.columns["NMF"].kind) == ("simple", None)
    assert list(file.runs()) == list(read().runs())


def test_the_deprecated_key_proposed_gives_its_columns_the_kind_own():
    change = ("    model: lr\n", "    model: lr\n    kind: own\n")
    with pytest.warns(FutureWarning, match=r"mine\.yaml:3: .* give its columns kind: own"):
        file = read(("metric:", "proposed: [LG]\nmetric:"))
    assert file.spec.columns == read(change).spec.columns
    assert file.spec.proposed == read(change).spec.proposed == ("LG",)


def test_each_split_is_a_repeat_of_every_method():
    file = experiments.read(SPLITS, PATH)
    planned = [(p.column, p.repeat, p.run.seed, p.run.task.options["split"]) for p in file.runs()]
    assert planned == [
        *(("ML-kNN", split, None, split) for split in range(2)),
        *(("HiMLS", split, split, split) for split in range(2)),
    ]
    assert len({p.run.task for p in file.runs()}) == 2


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("gtl/comp-vs-rec", r"mine.yaml:3: unknown option of task gtl/comp-vs-rec 'split'"),
        ("mulan/emotions:split=1", r"mine.yaml:3: mulan/emotions:split=1: split given twice"),
    ],
)
def test_a_task_without_splits_or_with_one_has_no_repeats_over_splits(task, message):
    with pytest.raises(UserError, match=message):
        experiments.read(SPLITS.replace("mulan/emotions", task), PATH)


@pytest.mark.parametrize(
    ("repeats", "error"),
    [("", (0.05, inf)), ("unstated: []", (0.0125, 15)), ("unstated: [NMF]", (0.05, inf))],
)
def test_a_printed_deviation_has_the_standard_error_of_the_stated_repeats(repeats, error):
    stated = f"published_repeats: {{number: 16, place: p, {repeats}}}\n" if repeats else ""
    file = read(("tolerance:", f"{stated}tolerance:"))
    assert file.published_error("one", "NMF") == pytest.approx(error)
    assert file.published_error("one", "LG") == (0, inf)


def test_circular_cells_are_named_by_row_and_column():
    entries = "circular: [{columns: [LG], why: a}, {rows: [one], why: b}]\n"
    file = read(("tolerance:", f"{entries}tolerance:"))
    assert [entry.why for entry in file.circular("one", "LG")] == ["a", "b"]
    assert [entry.why for entry in file.circular("one", "NMF")] == ["b"]
    for key, name in (("rows", "ona"), ("columns", "LQ")):
        wrong = f"circular: [{{{key}: [{name}], why: a}}]\n"
        with pytest.raises(UserError, match=rf"unknown {key[:-1]} '{name}'"):
            read(("tolerance:", f"{wrong}tolerance:"))


def test_options_and_the_task_of_a_column_change_its_runs_alone():
    file = read(
        options("{min_df: 7, unit_length: false}"),
        ("{task: gtl/comp-vs-rec}", '{task: "gtl/comp-vs-rec:weighting=tf"}'),
        ("{model: nmf,", "{model: nmf, task: zhuang/comp-vs-sci,"),
    )
    assert {(p.column, str(p.run.task)) for p in file.runs()} == {
        ("LG", "gtl/comp-vs-rec:min_df=7,unit_length=false,weighting=tf"),
        ("NMF", "zhuang/comp-vs-sci"),
    }
    assert file.published("one", "LG") == (81.71, None)


def test_a_reading_has_the_published_values_of_what_it_reads_and_competes_with_nothing():
    rows = "comp-vs-rec}\n  again: {task: gtl/comp-vs-sci, group: others, reading_of: one}"
    column = "  LG2: {model: lr, reading_of: LG, params: {C: 2.0, intercept: true}}\n"
    changes = [("comp-vs-rec}", rows), ("  NMF:", f"{column}  NMF:")]
    file = read(*changes)
    for row in ("one", "again"):
        assert file.published(row, "LG2") == file.published(row, "LG") == (81.71, None)
        assert file.tolerance(row) == 1
    assert file.spec.competitors == ["LG", "NMF"]
    assert read(*changes, ("{value: 1.0, ", "{value: 7, rows: [one], ")).tolerance("again") == 7
    for old, new in (("reading_of: LG", "reading_of: LF"), ("of: one", "of: ones")):
        with pytest.raises(UserError, match="Did you mean"):
            read(*changes, (old, new))


def test_a_control_has_the_published_values_of_another_experiment():
    published = GOOD[GOOD.index("published:") :]
    file = read(("one:", "comp vs rec:"), (published, "control_of: gtl-table3\n"))
    table = experiments.load("gtl-table3")
    assert file.published("comp vs rec", "LG") == table.published("comp vs rec", "LG")
    assert file.tolerance("comp vs rec") == table.tolerance("comp vs rec")


def test_a_grid_runs_every_setting():
    file = read(("params: {max_iter: 5}", f"params: {{}}, {GRID}"))
    cells = [p.run for p in file.runs() if p.column == "NMF"]
    assert [(c.params["max_iter"], c.seed) for c in cells] == [
        (5, 0), (5, 1), (5, 2), (6, 0), (6, 1), (6, 2)
    ]  # fmt: skip


def test_each_file_of_the_user_is_a_unit():
    rows = "one: {task: a.yaml}\n  two: {task: b.yaml}\n  tree: {task: generated/small}"
    for units, expected in (("task", ["a.yaml", "b.yaml", "generated/small"]),
                            ("corpus", ["own", "own", "generated"])):  # fmt: skip
        file = read(
            ("one: {task: gtl/comp-vs-rec}", rows), ("title: t\n", f"title: t\nunits: {units}\n")
        )
        assert [file.unit(row) for row in file.spec.rows] == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        # keys and types
        ("title: t\n", "titel: t\n", 1, "unknown key 'titel'. Did you mean 'title'?"),
        ("metric: accuracy\n", "", 1, "missing key metric"),
        ("metric: accuracy", "metric: acuracy", 3, "'accuracy', 'f1', 'balanced_accuracy', 'nmi'"),
        ("repeats: 3", "repeats: 0", 4, "greater than or equal to 1"),
        ("gtl/comp-vs-rec}", "gtl/comp-vs-rec, sed: 1}", 6, "unknown key 'sed'"),
        ("    model: lr\n", "", 8, "missing key columns.LG.model"),
        ("81.71", ".nan", 13, "published.one.LG"),
        ("params: {max_iter: 5}", GRID.replace("5, 6", "5"), 11, "at least 2 items"),
        (GOOD, "- a list", 1, "expected a mapping"),
        # names
        ("gtl/comp-vs-rec", "gtl/comp-vs-rek", 6, "Did you mean 'gtl/comp-vs-rec'?"),
        ("comp-vs-rec}", "comp-vs-rec, domain: targt}", 6, "Did you mean 'target'?"),
        ("comp-vs-rec}", "comp-vs-rec, domain: all}", 6, "'all'. Known: source, target"),
        ("model: lr", "model: lrr", 9, "unknown model 'lrr'. Did you mean 'lr'?"),
        (*options("{min_fd: 3}"), 10, "'min_fd'. Did you mean 'min_df'?"),
        ("{C: 1.0,", "{c: 1.0,", 10, "unknown parameter of lr 'c'"),
        ("one: {LG", "oen: {LG", 13, "unknown row 'oen'. Did you mean 'one'?"),
        ("{LG: 81.71", "{LR: 81.71", 13, "unknown column 'LR'. Did you mean 'LG'?"),
        (TOLERANCE, TOLERANCE.replace("1.0", "1, rows: [one, oen]"), 14, "Did you mean 'one'?"),
        (GOOD[GOOD.index("published:") :], "control_of: gtl-table33", 12, "Did you mean 'gtl-ta"),
        # parts that do not fit together
        ("title: t\n", "title: t\nunits: group\n", 2, "expected a group for every row"),
        (TOLERANCE, "", 1, "they go together"),
        (TOLERANCE, f"{TOLERANCE}\ncontrol_of: gtl-table3", 12, "control_of or published"),
        ("tolerance: {value: 1.0, reason: because}",
         "tolerance: [{value: 1, reason: a}, {value: 2, reason: b, rows: [one]}]",
         14, "expected one tolerance for one"),
        ("metric: accuracy", "metric: nmi", 3, "Known: accuracy, balanced_accuracy, f1, peak_mib"),
        ("params: {max_iter: 5}", "grid: {max_iter: [5, 6]}", 11, "grid and choose together"),
        ("params: {max_iter: 5}", GRID.replace("6", "-6"), 11, "expected integer ≥ 1, got -6"),
        ("params: {max_iter: 5}", GRID.replace("f1", "nmi"), 11, "measure of these models 'nmi'"),
        (TOLERANCE, "figure: {label: C, params: [C], values: [1.0, 0.0]}", 14,
         "lr: parameter C: expected number > 0, got 0.0"),
        (TOLERANCE, f"{TOLERANCE}\nregret: {{combined: [LG, NMF]}}", 15,
         "expected a column to choose"),
        (TOLERANCE, f"{TOLERANCE}\nextends: gtl-table33", 15, "Did you mean 'gtl-table3'"),
        (TOLERANCE, f"{TOLERANCE}\nboard: LGG", 15, "Did you mean 'LG'?"),
        (TOLERANCE, f"{TOLERANCE}\ndeclared: [NMF]", 15, "expected a reading (with reading_of)"),
        ("published:", "  a: {model: nmf, params: {max_iter: 6}, reading_of: NMF}\n"
         "  b: {model: nmf, params: {max_iter: 7}, reading_of: NMF}\ndeclared: [a, b]\npublished:",
         14, "expected one reading of 'NMF', got a and b"),
        (TOLERANCE, f"{TOLERANCE}\ncircular: [{{rows: [], why: a}}]", 15, "at least 1 item"),
        (TOLERANCE, f"{TOLERANCE}\ncircular: [{{why: ' '}}]", 15, "at least 1 character"),
        ("published:\n  one: {LG: 81.71, ", "circular: [{columns: [LG], why: a}]\n"
         "published:\n  one: {", 12, "expected a cell with a published value"),
        ("81.71", "-5", 13, "expected numbers from 0 to 100 (percent), got -5.0"),
        ("[79.11, 0.05]", "[79.11, 1.0e+14]", 13, "expected numbers from 0 to 100 (percent)"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_one_line_error_with_its_line(old, new, line, message):
    with pytest.raises(UserError) as error:
        read((old, new))
    text = str(error.value)
    assert text.startswith(f"mine.yaml:{line}: "), text
    assert message in text
    assert "\n" not in text


def test_an_option_of_both_row_and_column_is_refused():
    with pytest.raises(UserError, match=r"mine\.yaml:10: .* min_df given twice; remove one\."):
        read(options("{min_df: 7}"), ("comp-vs-rec}", "comp-vs-rec:min_df=6}"))


def test_all_mistakes_are_reported_at_once_by_line():
    claims = "claims:\n- {says: a, place: p, better: {columns: [XX]}}\n"
    with pytest.raises(UserError) as error:
        read(
            ("gtl/comp-vs-rec", "gtl/comp-vs-rek"), ("model: lr\n", "model: lrr\n"),
            ("metric: accuracy", "metric: nmi"), ("max_iter: 5", "max_iter: no"),
            ("{LG: 81.71, NMF:", "{LQ: 81.71, NFM:"), (TOLERANCE, f"{TOLERANCE}\n{claims}"),
        )  # fmt: skip
    places = [int(line.split(":")[1]) for line in str(error.value).splitlines()]
    assert places == [3, 6, 9, 11, 13, 13, 16]


def test_a_misspelled_key_hides_only_that_the_right_one_is_missing():
    with pytest.raises(UserError) as error:
        read(("metric: accuracy\n", "metric: acuracy\nmetrik: f1\n"))
    unknown, wrong = sorted(str(error.value).splitlines(), reverse=True)
    assert "unknown key 'metrik'. Did you mean 'metric'?" in unknown
    assert wrong.startswith("mine.yaml:3: metric: expected ")


@pytest.mark.parametrize("name", ["...yaml", ".a.yaml", "a\x1b[1m.yaml", "a .yaml", "gtl.yaml",
                                  "GTL-table3.yaml", "a\\b.yaml"])  # fmt: skip
def test_a_name_that_is_taken_or_no_folder_is_refused(tmp_path, name):
    (tmp_path / name).write_text(GOOD)
    with pytest.raises(UserError, match=r"is taken|cannot be in a folder") as error:
        experiments.load(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_users_file_is_loaded_by_path_and_checked_once_until_it_changes(tmp_path):
    path = tmp_path / "my table (2).yaml"
    path.write_text(GOOD)
    first = experiments.load(str(path))
    assert first.name == "my table (2)"
    assert experiments.load(str(path)) is first
    path.write_text(GOOD.replace("title: t\n", "title: u\n", 1))
    assert experiments.load(str(path)).spec.title == "u"


def test_an_unknown_name_or_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(UserError, match="Did you mean 'gtl-table3'"):
        experiments.load("gtl-tabel3")
    with pytest.raises(UserError, match="transferbench run gtl/comp-vs-rec"):
        experiments.load("gtl/comp-vs-rec")
    with pytest.raises(UserError, match="cannot be read"):
        experiments.load(str(tmp_path / "no.yaml"))
