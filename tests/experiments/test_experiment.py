"""Every experiment file is complete; a wrong one is a one-line error with its line."""

from __future__ import annotations

import pytest
from small_experiment import GOOD, PATH

from transferbench import experiments, models, parameters
from transferbench.data import tasks
from transferbench.errors import UserError

GRID = "grid: {max_iter: [5, 6]}, choose: [accuracy, f1]"


def options(given: str) -> tuple[str, str]:
    """Return what to replace in GOOD, and by what, to give the column LG these options."""
    return "    model: lr\n", f"    model: lr\n    options: {given}\n"


@pytest.mark.parametrize("name", experiments.names())
def test_every_experiment_in_the_folder_is_complete(name):
    """Loading it checks names and parameters; a table needs more."""
    file = experiments.load(name)
    spec = file.spec
    papers = {"gtl", "dtl", "mrtl", "mtc", "himls"}
    assert name.split("-")[0] in papers | {
        *(
            "modern",
            "amazon",
            "mulan",
            "readings",
            "newsgroups",
            "transfer",
            "choice",
            "class",
            "skada",
            "clustering",
            "multilabel",
        )
    }
    assert all(len(tolerance.reason) > 40 for tolerance in spec.tolerance)
    for label, column in spec.columns.items():
        stated = column.params | column.grid
        assert set(stated) <= set(parameters.schema(models.load(column.model)))
        printed = [row for row in spec.rows if file.published(row, label)]
        assert not file.compared.published or bool(printed) != column.control, (
            f"{label}: published values or control: true"
        )
        assert column.note or not (column.control or column.reading_of)
    for row in spec.rows.values():
        assert tasks.Task.named(row.task).base == row.task.partition(":")[0], "full task names"
        named = spec.rows.get(row.reading_of)
        assert named is None or (row.metric == named.metric and row.group != named.group)
    if spec.control_of:
        published = experiments.load(spec.control_of).spec.published
        shared = [row for row in spec.rows if published.get(row, {}).keys() & spec.columns.keys()]
        table = experiments.load(spec.control_of)
        assert shared
        assert spec.unit == table.spec.unit
        assert all(file.metric(row) == table.metric(row) for row in shared)
    planned = list(file.runs())
    assert len({(p.row, p.column, p.x, p.run.identity) for p in planned}) == len(planned)


def test_planned_runs_and_published_values():
    file = experiments.read(GOOD, PATH)
    assert file.name == "mine"
    cells = [(p.row, p.column, p.run.model, p.run.seed) for p in file.runs()]
    assert cells == [
        ("one", "LG", "lr", None), *(("one", "NMF", "nmf", seed) for seed in range(3))
    ]  # fmt: skip
    assert len(list(file.runs(repeats=1))) == 2
    assert file.published("one", "LG") == (81.71, None)
    assert file.published("one", "NMF") == (79.11, 0.05)
    assert file.published("one", "no") is None


def test_a_printed_deviation_has_a_standard_error_of_the_repeats_that_the_paper_states():
    repeats = "published_repeats: {number: 16, place: p, unstated: []}\n"
    for text, error in (
        (GOOD, 0.05),  # nothing stated: as if over one
        (GOOD + repeats, 0.0125),
        (GOOD + repeats.replace("[]", "[NMF]"), 0.05),
    ):
        file = experiments.read(text, PATH)
        assert file.published_error("one", "NMF") == pytest.approx(error)
        assert file.published_error("one", "LG") == 0


def test_options_of_a_column_change_its_tasks_alone_and_keep_its_published_values():
    text = GOOD.replace(*options("{min_df: 7, unit_length: false}"))
    text = text.replace("comp-vs-rec}", 'comp-vs-rec:weighting=tf"}').replace("{task: ", '{task: "')
    file = experiments.read(text, PATH)
    assert {(p.column, p.run.task) for p in file.runs()} == {
        ("LG", "gtl/comp-vs-rec:min_df=7,unit_length=false,weighting=tf"),
        ("NMF", "gtl/comp-vs-rec:weighting=tf"),
    }
    assert file.published("one", "LG") == (81.71, None)
    assert file.spec.competitors == ["LG", "NMF"]


def test_a_reading_has_the_published_values_of_what_it_reads_and_competes_with_nothing():
    rows = "comp-vs-rec}\n  again: {task: gtl/comp-vs-sci, group: others, reading_of: one}"
    column = "  LG2: {model: lr, reading_of: LG, params: {C: 2.0, intercept: true}}\n"
    text = GOOD.replace("comp-vs-rec}", rows).replace("  NMF:", f"{column}  NMF:")
    file = experiments.read(text, PATH)
    for row in ("one", "again"):
        assert file.published(row, "LG2") == file.published(row, "LG") == (81.71, None)
        assert file.tolerance(row) == 1
    assert file.spec.competitors == ["LG", "NMF"]
    for old, new, message in (
        ("reading_of: LG", "reading_of: LF", "Did you mean"),
        ("reading_of: one", "reading_of: ones", "Did you mean"),
    ):
        with pytest.raises(UserError, match=message):
            experiments.read(text.replace(old, new), PATH)
    text = text.replace("{value: 1.0, ", "{value: 7, rows: [one], ")
    assert experiments.read(text, PATH).tolerance("again") == 7


def test_a_control_has_the_published_values_of_another_experiment():
    start = GOOD[: GOOD.index("published:")].replace("one:", "comp vs rec:")
    file = experiments.read(start + "control_of: gtl-table3\n", PATH)
    table = experiments.load("gtl-table3")
    assert file.published("comp vs rec", "LG") == table.published("comp vs rec", "LG")
    assert file.tolerance("comp vs rec") == table.tolerance("comp vs rec")
    for named in ("gtl-table33", "mine.yaml"):
        with pytest.raises(UserError, match=f"unknown experiment '{named}'"):
            experiments.read(start + f"control_of: {named}\n", PATH)
    with pytest.raises(UserError, match="expected control_of or published, not both"):
        experiments.read(GOOD + "control_of: gtl-table3\n", PATH)


def test_a_column_may_have_a_task_of_its_own():
    text = GOOD.replace("{model: nmf,", "{model: nmf, task: generated/small,")
    file = experiments.read(text, PATH)
    planned = {(p.column, p.run.task) for p in file.runs()}
    assert planned == {("LG", "gtl/comp-vs-rec"), ("NMF", "generated/small")}
    with pytest.raises(UserError, match="unknown domain 'x'"):
        experiments.read(text.replace("comp-vs-rec}", "comp-vs-rec, domain: x}"), PATH)
    text = GOOD.replace(
        "{model: nmf,", "{model: nmf, task: zhuang/comp-vs-sci, options: {unit_length: true},"
    )
    planned = {p.run.task for p in experiments.read(text, PATH).runs() if p.column == "NMF"}
    assert planned == {"zhuang/comp-vs-sci:unit_length=true"}


def test_an_option_of_both_row_and_column_is_refused():
    text = GOOD.replace(*options("{min_df: 7}")).replace("comp-vs-rec}", "comp-vs-rec:min_df=5}")
    with pytest.raises(UserError, match=r"mine\.yaml:10: .* min_df given twice; remove one\."):
        experiments.read(text, PATH)


def test_options_of_a_column_are_checked_on_every_task():
    rows = "comp-vs-rec}\n  two: {task: generated/small}"
    text = GOOD.replace("comp-vs-rec}", rows).replace(*options("{stop_words: none}"))
    with pytest.raises(
        UserError, match=r"mine\.yaml:11: unknown option of task generated/small 'stop_words'"
    ):
        experiments.read(text, PATH)


def test_each_file_of_the_user_is_a_unit():
    rows = "one: {task: a.yaml}\n  two: {task: b.yaml}\n  tree: {task: generated/small}"
    text = GOOD.replace("one: {task: gtl/comp-vs-rec}", rows)
    for units, expected in (("task", ["a.yaml", "b.yaml", "generated/small"]),
                            ("corpus", ["own", "own", "generated"])):  # fmt: skip
        file = experiments.read(text + f"units: {units}\n", PATH)
        assert [file.unit(row) for row in file.spec.rows] == expected


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("title: t\n", "title: t\nunits: group\n", 2, "expected a group for every row"),
        ("[79.11, 0.05]", "[79.11, 1.0e+308]", 13, "published.one.NMF"),
        ("title: t\n", "titel: t\n", 1, "unknown key 'titel'. Did you mean 'title'?"),
        ("metric: accuracy\n", "", 1, "missing key metric"),
        ("metric: accuracy", "metric: acuracy", 3, "'accuracy', 'f1', 'balanced_accuracy', 'nmi'"),
        ("repeats: 3", "repeats: many", 4, "repeats: expected a valid integer"),
        ("repeats: 3", "repeats: 0", 4, "greater than or equal to 1"),
        ("gtl/comp-vs-rec", "gtl/comp-vs-rek", 6, "Did you mean 'gtl/comp-vs-rec'?"),
        ("gtl/comp-vs-rec}", "gtl/comp-vs-rec, sed: 1}", 6, "unknown key 'sed'"),
        ("model: lr", "model: lrr", 9, "unknown model 'lrr'. Did you mean 'lr'?"),
        ("    model: lr\n", "", 8, "missing key columns.LG.model"),
        (*options("{min_fd: 3}"), 10, "'min_fd'. Did you mean 'min_df'?"),
        (*options("{min_df: -3}"), 10, "parameter min_df: expected integer ≥ 0, got -3"),
        (*options("{weighting: tfidf}"), 10, "expected one of tf, log-tf, tf-idf, got 'tfidf'"),
        (
            *options("{text: gtl/comp-vs-sci}"),
            10,
            "unknown option of task gtl/comp-vs-rec 'text'",
        ),
        (*options("[min_df]"), 10, "options: expected a valid dictionary"),
        ("{C: 1.0,", "{c: 1.0,", 10, "unknown parameter of lr 'c'"),
        ("{C: 1.0,", "{C: -1.0,", 10, "expected number > 0, got -1.0"),
        ("one: {LG", "oen: {LG", 13, "unknown row 'oen'. Did you mean 'one'?"),
        ("{LG: 81.71", "{LR: 81.71", 13, "unknown column 'LR'. Did you mean 'LG'?"),
        ("81.71", "high", 13, "published.one.LG"),
        ("{value: 1.0, reason: because}", "{value: 1.0}", 14, "missing key tolerance.0.reason"),
        (
            "{value: 1.0, reason: because}",
            "[{value: 1, reason: a, rows: [one]},\n {value: 1, reason: a, rows: [oen]}]",
            15,
            "unknown row 'oen'. Did you mean 'one'?",
        ),
        (
            "tolerance: {value: 1.0, reason: because}",
            "tolerance: [{value: 1, reason: a}, {value: 2, reason: b, rows: [one]}]",
            14,
            "expected one tolerance for one",
        ),
        (
            "reason: because}",
            "reason: because}\npublished_repeats: {number: 0, place: p}",
            15,
            "greater than or equal to 1",
        ),
        (
            "reason: because}",
            "reason: because}\npublished_repeats: {number: 9, place: p, unstated: [LR]}",
            15,
            "unknown column 'LR'. Did you mean 'LG'?",
        ),
        ("tolerance: {value: 1.0, reason: because}", "", 1, "they go together"),
        ("rows:\n", "rows: [\n", 7, "expected valid YAML"),
        ("repeats: 3", "repeats: 3\nrepeats: 4", 5, "duplicate key 'repeats'"),
        ("  NMF: {", "  LG: {", 11, "duplicate key 'LG'"),
        ("repeats: 3", "repeats: true", 4, "valid integer"),
        ("81.71", ".nan", 13, "published.one.LG"),
        ("value: 1.0", "value: .inf", 14, "less than inf"),
        ("rows:\n  one: {task: gtl/comp-vs-rec}", "rows: {}", 5, "at least 1 item"),
        ("comp-vs-rec}", "comp-vs-rec, domain: targt}", 6, "Did you mean 'target'?"),
        ("metric: accuracy", "metric: nmi", 3, "expected accuracy or f1 or balanced_accuracy or"),
        ("params: {max_iter: 5}", "grid: {max_iter: [5, 6]}", 11, "grid and choose together"),
        ("params: {max_iter: 5}", GRID.replace("6", "-6"), 11, "expected integer ≥ 1, got -6"),
        ("params: {max_iter: 5}", GRID.replace("5, 6", "5"), 11, "at least 2 items"),
        ("params: {max_iter: 5}", GRID.replace("f1", "nmi"), 11, "expected accuracy or f1"),
        ("comp-vs-rec}", "comp-vs-rec, metric: nmi}", 6, "expected accuracy or f1"),
        ("comp-vs-rec}", "comp-vs-rec, domain: all}", 6, "'all'. Known: source, target"),
        (
            "tolerance: {value: 1.0, reason: because}",
            "figure: {label: C, params: [C], values: [1.0, 0.0]}",
            14,
            "lr: parameter C: expected number > 0, got 0.0",
        ),
        (
            "reason: because}",
            "reason: because}\nregret: {reference: LG, combined: [LG, NMF]}",
            15,
            "expected a column to choose",
        ),
        (GOOD, "- a list", 1, "expected a mapping"),
        (GOOD, "", 1, "expected a mapping"),
        (GOOD, "!!python/object:os.system {}", 1, "expected valid YAML"),
    ],
)
def test_a_mistake_is_a_one_line_error_with_its_line(old, new, line, message):
    assert old in GOOD
    with pytest.raises(UserError) as error:
        experiments.read(GOOD.replace(old, new, 1), PATH)
    text = str(error.value)
    assert text.startswith(f"mine.yaml:{line}: "), text
    assert message in text
    assert "\n" not in text


def test_aliases_are_refused_before_they_are_expanded():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
        for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
    )
    with pytest.raises(UserError, match=r"mine\.yaml:2: alias \*a is not allowed"):
        experiments.read(bomb, PATH)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "[" * 20_000, "mine.yaml:1: more than 50 lists within lists"),
        ("- " * 60 + "a", "mine.yaml:1: more than 50 lists within lists"),
        ("# long\n" * 2**15, "mine.yaml:18725: more than 131,072 characters"),
        ("a: 1\nb: !!timestamp x", "mine.yaml:2: a tag"),
        ("!!bool x", "mine.yaml:1: a tag"),
    ],
)
def test_valid_but_unsafe_yaml_is_refused(text, message):
    with pytest.raises(UserError, match=message):
        experiments.read(text, PATH)


def test_a_huge_grid_is_refused_before_it_is_expanded():
    grid = f"grid: {{max_iter: {list(range(1, 10_002))}}}, choose: [f1]"
    with pytest.raises(UserError, match="the grid has 10,001 settings; expected at most 10,000"):
        experiments.read(GOOD.replace("params: {max_iter: 5}", grid), PATH)


@pytest.mark.parametrize("name", ["records", "gtl-table3"])
def test_a_users_file_cannot_have_the_name_of_ours(tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text(GOOD)
    with pytest.raises(UserError, match="is taken"):
        experiments.load(str(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("...yaml", "cannot be in a folder"),
        ("....yaml", "cannot be in a folder"),
        (".a.yaml", "cannot be in a folder"),
        ("a\x1b[1m.yaml", "cannot be in a folder"),
        ("a\\b.yaml", "cannot be in a folder"),
        ("a .yaml", "cannot be in a folder"),
        ("aux.yml", "cannot be in a folder"),
        ("boards.yaml", "is taken"),
        ("Records.yaml", "is taken"),
        ("repeats-3.yaml", "is taken"),
        ("report.yaml", "is taken"),
        ("index.yaml", "is taken"),
        ("GTL-table3.yaml", "is taken"),
    ],
)
def test_a_name_that_is_no_folder_of_results_is_refused(tmp_path, name, message):
    (tmp_path / name).write_text(GOOD)
    with pytest.raises(UserError, match=message) as error:
        experiments.load(str(tmp_path / name))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["my table (2)", "übung_1.0", "repeats", "constant"])
def test_other_names_are_accepted(tmp_path, name):
    (tmp_path / f"{name}.yaml").write_text(GOOD)
    assert experiments.load(str(tmp_path / f"{name}.yaml")).name == name


def test_titles_are_those_of_the_loaded_experiments():
    assert experiments.titles() == {n: experiments.load(n).spec.title for n in experiments.names()}


def test_a_loaded_file_is_not_checked_again_until_it_changes(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD)
    first = experiments.load(str(path))
    assert experiments.load(str(path)) is first
    path.write_text(GOOD.replace("title: t\n", "title: u\n", 1))
    assert experiments.load(str(path)).spec.title == "u"


def test_the_error_shows_an_unknown_or_unreadable_file(tmp_path):
    with pytest.raises(UserError, match="Did you mean 'gtl-table3'"):
        experiments.load("gtl-tabel3")
    with pytest.raises(UserError, match="cannot be read"):
        experiments.load(str(tmp_path / "no.yaml"))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="cannot be read"):
        experiments.load(str(tmp_path / "binary.yaml"))


def test_a_grid_runs_every_setting():
    text = GOOD.replace("params: {max_iter: 5}", GRID.replace("choose", "params: {}, choose"))
    cells = [p.run for p in experiments.read(text, PATH).runs() if p.column == "NMF"]
    assert [(c.params["max_iter"], c.seed) for c in cells] == [
        (5, 0), (5, 1), (5, 2), (6, 0), (6, 1), (6, 2)
    ]  # fmt: skip


def test_all_names_that_are_unknown_are_told_at_once():
    text = GOOD.replace("gtl/comp-vs-rec", "gtl/comp-vs-rek").replace("model: lr\n", "model: lrr\n")
    text = text.replace("metric: accuracy", "metric: nmi").replace("max_iter: 5", "max_iter: no")
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    places = [line.split(": ")[0] for line in str(error.value).splitlines()]
    assert places == ["mine.yaml:3", "mine.yaml:6", "mine.yaml:9", "mine.yaml:11"]


def test_all_places_of_one_check_are_told_at_once():
    claims = "claims:\n- {says: a, place: p, better: {columns: [XX]}}\n"
    claims += "- {says: b, place: p, stable: {column: LG, x: [1, 2], within: 1.0}}\n"
    text = GOOD.replace("{LG: 81.71, NMF:", "{LQ: 81.71, NFM:") + claims
    with pytest.raises(UserError) as error:
        experiments.read(text, PATH)
    lines = str(error.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"mine.yaml:{n}" for n in (13, 13, 16, 17)]
    assert "'LQ'" in lines[0]
    assert "'NFM'. Did you mean 'NMF'?" in lines[1]
