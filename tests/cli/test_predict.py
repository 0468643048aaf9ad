"""The user's own data: `predict`, `compare`, and a task from a YAML file in other commands."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

WORDS = {"cat": "cat kitten purr whisker mouse mat", "sea": "ship sail boat wave sailor anchor"}
COMMON = "the a of and on with some many often never"


def sentences(seed: int, number: int, shift: int) -> list[tuple[str, str]]:
    """Return texts of four words of their class and two common ones; `shift` selects the words."""
    rng = random.Random(seed)
    rows = []
    for i in range(number):
        label = ("cat", "sea")[i % 2]
        own = WORDS[label].split()[shift : shift + 4]
        rows.append((" ".join(rng.choices(own, k=4) + rng.choices(COMMON.split(), k=2)), label))
    return rows


def write(path: Path, rows, head=("text", "label")) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


USED = ("documents: ", "options: ", "shares by ")


@pytest.fixture
def call(call):
    """Function that runs a command as `call`, without the lines on what is used, and the shares."""

    def command(*arguments: str) -> tuple[int, str, str]:
        code, *texts = call(*arguments)
        out, err = (
            "".join(line for line in text.splitlines(keepends=True) if not line.startswith(USED))
            for text in texts
        )
        return code, out, err

    return command


def scored(call, *arguments: str) -> list[dict]:
    """Return the results that `evaluate --json` prints."""
    code, out, err = call("compare", *arguments, "--json")
    assert code == 0, err
    results: list[dict] = json.loads(out)["results"]
    return results


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder, with a labelled file, two targets, one of them with ids, and a task."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(folder / "s.csv", sentences(0, 40, 0))
    write(folder / "t.csv", sentences(1, 30, 2))
    write(folder / "u.csv", [(*row, f"u{i}") for i, row in enumerate(sentences(2, 20, 1))],
          ("text", "label", "id"))  # fmt: skip
    (folder / "mine.yaml").write_text("source: s.csv\ntargets: [t.csv, u.csv]\n")
    return folder


GCMF = ("-m", "gcmf", "--set", "k=8", "--set", "p=5")
FILES = ("--source", "s.csv", "--target", "t.csv", "--target", "u.csv")


def test_predictions_are_written_for_every_document_of_every_target(call, here):
    (here / "found").mkdir()
    code, out, err = call("predict", *FILES, *GCMF, "--out", "found/all.csv")
    assert (code, out, err) == (0, "found/all.csv: 50 documents\n", "")
    with (here / "found/all.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["file", "row", "id", "label", "confidence"]
    assert [row["file"] for row in rows] == ["t.csv"] * 30 + ["u.csv"] * 20
    assert [int(row["row"]) for row in rows] == [*range(1, 31), *range(1, 21)]
    assert [row["id"] for row in rows] == [""] * 30 + [f"u{i}" for i in range(20)]
    right = [row["label"] == ("cat", "sea")[i % 2] for i, row in enumerate(rows)]
    assert sum(right) >= 45
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)
    assert sorted(os.listdir(here / "found")) == ["all.csv"]  # noqa: PTH208


def test_json_lines_hold_the_same(call, here):
    assert call("predict", *FILES, *GCMF, "--out", "a.csv")[0] == 0
    assert call("predict", *FILES, *GCMF, "--out", "a.jsonl")[0] == 0
    rows = [json.loads(line) for line in (here / "a.jsonl").read_text().splitlines()]
    with (here / "a.csv").open(newline="") as file:
        assert [{k: str(v) for k, v in row.items()} for row in rows] == list(csv.DictReader(file))


def predicted(call, *arguments: str) -> list[dict[str, str]]:
    """Return the rows that `predict` writes with these arguments."""
    code, _, err = call("predict", "--source", "s.csv", *arguments, *GCMF, "--out", "a.csv")
    assert (code, err) == (0, "")
    with Path("a.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_files_of_one_domain_are_predicted_as_one_file(call, here):
    rows = sentences(1, 30, 2)
    whole = predicted(call, "--target", "t.csv")
    (here / "mail").mkdir()
    write(here / "mail/2.csv", rows[20:])
    first = [{"text": text} for text, _ in rows[:20]]
    (here / "mail/1.jsonl").write_text("\n".join(map(json.dumps, first)))
    for name in ("mail", "mail/*", "mail/2.csv,mail/1.jsonl"):
        parts = predicted(call, "--target", name)
        expected = [("mail/1.jsonl", str(i + 1)) for i in range(20)]
        expected += [("mail/2.csv", str(i + 1)) for i in range(10)]
        assert [(row["file"], row["row"]) for row in parts] == expected
        for column in ("label", "confidence"):
            assert [row[column] for row in parts] == [row[column] for row in whole]


def test_each_target_is_a_domain(call, here):
    separate = predicted(call, "--target", "t.csv", "--target", "u.csv")
    together = predicted(call, "--target", "[tu].csv")
    assert [row["id"] for row in together] == [row["id"] for row in separate]
    assert [row["confidence"] for row in together] != [row["confidence"] for row in separate]
    rows = scored(call, "--source", "s.csv", "--target", "[tu].csv", *GCMF)
    assert [row["scored"] for row in rows if row["model"] == "gcmf"] == [50]


def test_a_source_of_several_files(call, here):
    rows = sentences(0, 40, 0)
    whole = predicted(call, "--target", "t.csv")
    write(here / "s.csv", rows[:13])
    write(here / "s2.csv", rows[13:])
    given = ("--target", "t.csv", *GCMF, "--out", "a.csv")
    assert call("predict", "--source", "s2.csv,s.csv", *given)[0] == 0
    with (here / "a.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == whole


def test_labels_of_a_target_change_no_prediction(call, here):
    for name, label in (("true", None), ("false", "sea"), ("none", "")):
        rows = [(text, label if label is not None else own) for text, own in sentences(1, 30, 2)]
        write(here / "t.csv", rows)
        assert call("predict", *FILES, *GCMF, "--out", f"{name}.csv")[0] == 0
    assert (here / "true.csv").read_text() == (here / "false.csv").read_text()
    assert (here / "true.csv").read_text() == (here / "none.csv").read_text()


def test_evaluate_and_run_agree_on_the_same_task(call, here, home):
    ours = {row["target"]: row for row in scored(call, *FILES, *GCMF) if row["model"] == "gcmf"}
    assert list(ours) == ["t", "u"]
    # The full path: the server of another test's runs may have another current folder.
    code, out, err = call("run", str(here / "mine.yaml"), *GCMF, "--json", "--no-reference")
    assert code == 0, err
    measured = json.loads(out)["metrics"]
    for name, values in measured.items():
        assert {measure: ours[name][measure] for measure in values} == values


def test_documents_without_a_label_are_predicted_but_not_scored(call, here):
    rows = sentences(1, 30, 2)
    write(here / "t.csv", [(text, label if i < 10 else "") for i, (text, label) in enumerate(rows)])
    assert {row["target"]: row["scored"] for row in scored(call, *FILES, "-m", "lr")} == {
        "t": 10, "u": 20,
    }  # fmt: skip
    out = call("compare", *FILES, "-m", "lr")[1]
    assert "Scored on 10 of 30 documents, those with a label; [ ] is the 95 % interval" in out
    write(here / "t.csv", [(text, "") for text, _ in rows])
    first, *_, last = scored(call, *FILES, "-m", "lr")
    assert first["accuracy"] is None
    assert last["accuracy"] > 0.8
    assert call("compare", *FILES, "-m", "lr")[1].count("Scored on") == 1


def test_without_a_source_documents_are_clustered(call, here):
    targets = ("--target", "t.csv", "--target", "u.csv")
    code, out, err = call("predict", *targets, "-m", "lnkmtc", "--set", "b=4", "--clusters", "2",
                          "--out", "a.csv")  # fmt: skip
    assert (code, err) == (0, "")
    with (here / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["file", "row", "id", "cluster", "confidence"]
    assert {row["cluster"] for row in rows} == {"1", "2"}
    given = (*targets, "-m", "lnkmtc", "--set", "b=4", "-m", "kmeans", "--repeats", "2")
    code, out, err = call("compare", *given)
    assert code == 0
    assert out.splitlines()[2].split() == ["model", "s", "accuracy", "nmi", "warnings"]
    assert "recommended" not in out + err
    places = [(row["target"], row["model"], row["scored"]) for row in scored(call, *given)]
    assert places == [
        ("t", "lnkmtc", 30), ("t", "kmeans", 30), ("u", "lnkmtc", 20), ("u", "kmeans", 20),
    ]  # fmt: skip
    write(here / "t.csv", [("cat purr", "")])
    assert "t.csv: no document has a label" in call("compare", *given)[2]


def test_a_worthless_result_is_written_only_by_force(call, here):
    texts = ["", "zebra zebu", *["cat kitten purr"] * 9]
    write(here / "t.csv", [(text, "") for text in texts])
    arguments = ("predict", "--source", "s.csv", "--target", "t.csv", "-m", "lr", "--option",
                 "min_df=1", "--out", "a.csv")  # fmt: skip
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    of_documents, of_model, end = err.splitlines()
    assert of_documents.startswith("warning: t.csv: 1 of 11 documents have no feature left ")
    assert "; 1 of 11 documents share no feature with the source" in of_documents
    assert of_model.startswith("warning: lr: all 11 documents are in one class, cat; ")
    assert end == (
        "Error: a.csv is not written, as the result of lr is worthless by the warnings above; "
        "--force writes it."
    )
    assert not (here / "a.csv").exists()
    assert call(*arguments, "--force")[0] == 0
    assert len((here / "a.csv").read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--source": "no.csv"}, "no.csv: no such file; give the path of a file of documents."),
        ({"--target": "bad.csv"}, "bad.csv:2: 1 columns"),
        ({"--source": "one.csv"}, "the one label 'cat'; expected documents of two classes"),
        ({"--model": "gmcf"}, "Did you mean 'gcmf'?"),
        ({"--model": "lnkmtc"}, "lnkmtc is a clustering model and this is a transfer problem"),
        ({"--model": "nmf"}, "nmf: it finds clusters, which have no names; choose another model."),
        ({"--set": "q=1"}, "unknown parameter of dtl 'q'"),
        ({"--set": "kappa=30"}, "dtl: kappa must be at most k"),
        ({"--option": "min_fd=1"}, "Did you mean 'min_df'?"),
        ({"--option": "min_df"}, "expected NAME=VALUE"),
        ({"--option": "min_df=99"}, "no feature is left"),
        ({"--text-column": "body"}, "no column 'body' among ['text', 'label']"),
        ({"--id-column": "nr"}, "no column 'nr'"),
        ({"--out": "a.xlsx"}, "expected a name that ends in .csv or .jsonl"),
        ({"--out": "s.csv"}, "one of the files to read"),
        ({"--target": "*.csv", "--out": "t.csv"}, "one of the files to read"),
        ({"--target": "*.tsv"}, "*.tsv: no file there"),
        ({"--target": "t.csv,t.csv"}, "t.csv: given twice"),
        ({"--target": "s.csv"}, "s.csv: given twice; name each file once, as source or target."),
        ({"--target": "t.csv,no.csv"}, "no.csv: no such file"),
        (
            {"--target": "t.csv,m.svm"},
            "t.csv: not like m.svm; expected files of one",
        ),
        ({"--out": "s.csv/a.csv"}, "s.csv/a.csv: no file can be written there; name"),
        ({"--out": "found/a.csv"}, "found/a.csv: no file can be written there; name"),
        ({"--clusters": "3"}, "expected either --source"),
        ({"--source": None, "--clusters": "1000000000"}, "--clusters 1000000000: expected at most"),
        ({"--source": None}, "expected either --source"),
        ({"--target": None}, "Missing option '--target'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_the_old_file_unchanged(call, here, change, message):
    (here / "bad.csv").write_text("text,label\nonly one\n")
    write(here / "one.csv", [("cat", "cat")])
    (here / "old.csv").write_text("old")
    (here / "m.svm").write_text("cat 1:1\n")
    before = sorted(here.rglob("*"))
    options = {"--source": "s.csv", "--target": "t.csv", "--model": "dtl", "--out": "old.csv"}
    options |= change
    arguments = [part for pair in options.items() if pair[1] is not None for part in pair]
    code, out, err = call("predict", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    assert (here / "old.csv").read_text() == "old"
    assert sorted(here.rglob("*")) == before


def test_a_failing_model_leaves_no_partial_file(call, here, monkeypatch):
    from transferbench import models

    def broken(*arguments, **options):
        raise RuntimeError("full")

    monkeypatch.setattr(models, "fit", broken)
    before = sorted(here.rglob("*"))
    code, _, err = call("predict", *FILES, "-m", "lr", "--out", "a.csv")
    assert code == 1
    assert err == "Failure in transferbench: RuntimeError: full (--debug shows where)\n"
    assert sorted(here.rglob("*")) == before


@pytest.mark.slow
def test_an_own_task_can_be_described_and_be_a_row_of_an_experiment(here, home):
    """Run each command in a new process, as the paths start at its current folder."""
    (here / "exp.yaml").write_text(
        "title: mine\n"
        "paper: {title: t, authors: a, venue: v, place: p}\n"
        "metric: accuracy\nrepeats: 1\n"
        "rows: {t: {task: ./mine.yaml, domain: t}, u: {task: mine.yaml, domain: u}}\n"
        "columns: {LR: {model: lr, params: {C: 1.0, intercept: true}}}\n"
    )

    def shell(*arguments: str) -> str:
        command = [sys.executable, "-m", "transferbench", "--offline"]
        command += ["--data", str(home.data), "--results", str(home.results), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    described = shell("describe", "./mine.yaml")
    assert described.startswith("own:path=mine.yaml\n\nA transfer task of your own.")
    assert 'documents: {"s": 40, "t": 30, "u": 20}' in described
    assert "exp: 1 of 1 runs finished" in shell("reproduce", "./exp.yaml")
    table = (home.results / "exp" / "table.md").read_text()
    assert "| t | " in table
    assert "0 runs to do, 1 finished" in shell("reproduce", "./exp.yaml", "--dry-run")
    write(here / "t.csv", sentences(1, 28, 2))
    assert "1 run to do, 0 finished" in shell("reproduce", "./exp.yaml", "--dry-run")


def test_model_and_parameters_are_checked_before_files_are_read(call):
    files = ["--source", "absent.csv", "--target", "absent.csv", "--out", "labels.csv"]
    code, _, err = call("predict", *files, "--model", "gcnf")
    assert (code, "unknown model 'gcnf'" in err) == (2, True)
    code, _, err = call("predict", *files, "--model", "gcmf", "--set", "kk=3")
    assert (code, "unknown parameter of gcmf 'kk'" in err) == (2, True)
    code, _, err = call("predict", *files, "--model", "lskmtc")
    assert (code, "lskmtc is a clustering model" in err) == (2, True)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def svmlight(path: Path, seed: int, scale: float = 1.0) -> None:
    rng = random.Random(seed)
    lines = []
    for i in range(24):
        columns = sorted(rng.sample(range(1 + i % 2, 21, 2), 4))
        values = " ".join(f"{c}:{scale * rng.uniform(0.8, 1.2):.6g}" for c in columns)
        lines.append(f"{i % 2} {values}\n")
    path.write_text("".join(lines))


@pytest.mark.parametrize("model", ["svm", "tsvm", "lr-kmeans", "kmeans", "gcmf"])
def test_every_model_takes_svmlight_files(call, here, model):
    """Their matrices had 64-bit indices, which some solvers refuse."""
    svmlight(here / "s.svm", 1)
    svmlight(here / "t.svm", 2)
    source = [] if model == "kmeans" else ["--source", "s.svm"]
    rows = scored(call, *source, "--target", "t.svm", "-m", model)
    assert {row["model"]: row["accuracy"] for row in rows}[model] > 0.9


@pytest.mark.parametrize(
    ("scale", "warning"),
    [
        (1e-300, "s.svm: the largest number is 1.2e-300, so all were divided by 2**-996; "),
        (1e30, "s.svm: the largest number is 1.2e+30, so all were divided by 2**100; "),
        (1e-5, "own: view 0: documents have lengths of about 2.01e-05, parameters expect about 1"),
    ],
)
def test_an_extreme_scale_is_a_warning_on_one_line(call, here, scale, warning):
    svmlight(here / "s.svm", 1, scale)
    svmlight(here / "t.svm", 2, scale)
    files = ("--source", "s.svm", "--target", "t.svm")
    code, out, err = call("compare", *files, "-m", "mtrick", "--json", "--force")
    assert code == 0
    lines = [line for line in err.splitlines() if warning in line]
    assert {line.partition(": ")[0] for line in lines} == {"warning"}
    assert json.loads(out)["results"][-1]["accuracy"] > 0.9


def test_a_problem_that_a_model_cannot_solve_is_one_line_with_code_2(call, here):
    write(here / "one.csv", [("cat purr", ""), ("ship sail", "")])
    code, _, err = call("predict", "--target", "one.csv", "-m", "ncut", "--clusters", "2",
                        "--option", "min_df=1", "--out", "o.csv")  # fmt: skip
    assert code == 2
    assert "2 documents to cut into 2 clusters; expected more documents" in err.splitlines()[-1]


@pytest.mark.parametrize("at", ["--source", "--target", "--out"])
def test_a_loop_of_links_is_one_line(call, here, at):
    (here / "loop.csv").symlink_to("pool.csv")
    (here / "pool.csv").symlink_to("loop.csv")
    files = {"--source": "s.csv", "--target": "t.csv", "--out": "o.csv"} | {at: "loop.csv"}
    code, _, err = call("predict", *(word for pair in files.items() for word in pair), *GCMF)
    assert (code, err.count("\n")) == (2, 1)


def test_what_is_used_is_printed(here, home, capfd):
    from transferbench.cli import invoke

    options = ["--option", "stop_words=english", "--option", "min_df=3"]
    assert invoke(["compare", *FILES, "-m", "lr", *options]) == 0
    err = capfd.readouterr().err
    assert err.startswith("documents: s.csv 40, t.csv 30, u.csv 20; features: 12\n")
    assert "stop_words=english, token_pattern=" in err
    assert "tokens=words" in err


def test_parameters_are_for_every_model_that_has_them(call, here):
    given = ("-m", "dtl", "-m", "cocc", "--set", "k=12", "--set", "cocc.k=16")
    rows = scored(call, *FILES, *given)
    places = [(row["model"], row["target"]) for row in rows]
    assert places == [(m, t) for t in ("t", "u") for m in ("lr", "dtl", "cocc", "consensus")]
    assert {row["model"]: row["params"].get("k") for row in rows} == {
        "lr": None, "dtl": 12, "cocc": 16, "consensus": None,
    }  # fmt: skip


def test_predictions_of_several_models_with_all_scores(call, here):
    models = ("-m", "lr", "-m", "gcmf", "--set", "gcmf.k=8", "--set", "p=5")
    assert call("predict", *FILES, *models, "--out", "a.csv", "--scores")[0] == 0
    rows = read_csv(here / "a.csv")
    assert list(rows[0]) == ["file", "row", "id", "label", "confidence", "agree", "label_gcmf",
                             "score_cat", "score_sea"]  # fmt: skip
    for row in rows:
        assert float(row["score_cat"]) + float(row["score_sea"]) == pytest.approx(1, abs=1e-5)
        assert row["confidence"] == row[f"score_{row['label']}"]
        assert float(row["agree"]) == (1 if row["label"] == row["label_gcmf"] else 0.5)
    alone = predicted(call, *FILES[2:])
    assert [row["label_gcmf"] for row in rows] == [row["label"] for row in alone]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "gcfm.k=3"), "Did you mean 'gcmf'?"),
        (("--set", "gcmf.q=3"), "unknown parameter of gcmf 'q'"),
        (("-m", "cocc", "--set", "zeta=3"), "unknown parameter of gcmf 'zeta'"),
    ],
)
def test_mistakes_with_several_models_are_found_before_files_are_read(call, arguments, message):
    files = ("--source", "absent.csv", "--target", "absent.csv")
    code, _, err = call("compare", *files, "-m", "gcmf", *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_a_task_of_ones_own_has_the_same_warnings(call, here):
    write(here / "t.csv", [(f"zebra{i % 3} zebu", ("cat", "sea")[i % 2]) for i in range(30)])
    (here / "mine.yaml").write_text("source: s.csv\ntargets: [t.csv]\n")
    task = str(here / "mine.yaml")
    files = ("--source", "s.csv", "--target", "t.csv")
    code, _, evaluated = call("compare", *files, "-m", "lr")
    assert code == 1
    code, _, err = call("run", task, "-m", "lr")
    assert code == 1
    lines = [line for line in err.splitlines() if line.startswith("warning: lr: t: ")]
    reasons = [line.removeprefix("warning: lr: t: ").removesuffix(".") for line in lines]
    assert "30 of 30 documents share no feature with the source" in reasons[0]
    assert [reason for reason in reasons if reason not in evaluated] == []
    assert err.endswith("lr: worthless by the warnings above; --force exits with 0.\n")
    assert call("run", task, "-m", "lr", "--json")[0] == 1  # a stored record
    assert call("run", task, "-m", "lr", "--force")[0] == 0
    assert call("compare", *files, "-m", "lr", "--force")[0] == 0


HIMLS = ("-m", "himls", "--set", "p=6", "--set", "q=6")


@pytest.fixture
def labelled_twice(here):
    """Two sources and a target whose documents have one or two labels."""

    def rows(seed, number, shift):
        one, two = sentences(seed, number, shift), sentences(seed + 50, number, shift)
        pairs = zip(one, two[1:] + two[:1], strict=True)
        both = [(f"{a[0]} {b[0]}", f"{a[1]}|{b[1]}") for a, b in list(pairs)[: number // 3]]
        return one[number // 3 :] + both

    for name, seed, number in (("m", 0, 42), ("m2", 7, 30), ("n", 1, 30)):
        write(here / f"{name}.csv", rows(seed, number, 1))
    return here


@pytest.mark.parametrize("model", [HIMLS, ("-m", "linear-svm"), ("-m", "tram")])
def test_several_labels_are_predicted(call, labelled_twice, model):
    given = ("--source", "m.csv", "--target", "n.csv", *model)
    code, out, _ = call("predict", *given, "--out", "a.csv")
    assert (code, out) == (0, "a.csv: 30 documents\n")
    with Path("a.csv").open(newline="") as file, Path("n.csv").open(newline="") as truth:
        rows, true = list(csv.DictReader(file)), [r["label"] for r in csv.DictReader(truth)]
    right = [
        {*row["label"].split("|")} == {*t.split("|")} for row, t in zip(rows, true, strict=True)
    ]
    assert sum(right) >= 24
    for row in rows:
        numbers = [float(number) for number in row["confidence"].split("|") if number]
        assert len(numbers) == len([label for label in row["label"].split("|") if label])
        assert sorted(numbers, reverse=True) == numbers
        assert all(0.5 <= number <= 1 for number in numbers)


def test_several_labels_are_scored_for_each_target(call, labelled_twice):
    sources = ("--source", "m.csv", "--source", "m2.csv")
    targets = ("--target", "n.csv", "--target", "m2.csv")
    code, out, err = call("compare", *sources, *targets[:2], *HIMLS)
    assert code == 0
    assert "note: tasks: m, m2 + n" in err or "note: tasks: m + n, m2" in err
    head, _, line, *_ = out.splitlines()
    assert "example F1  Jaccard  Hamming loss" in head
    assert line.startswith("himls ")
    (row,) = scored(call, *sources, *targets[:2], *HIMLS)[1:]
    assert row["f1"] > 0.7
    first, second, both = scored(call, *sources[:2], *targets, "-m", "linear-svm")
    assert [row["target"] for row in (first, second, both)] == ["n", "m2", "all"]
    assert both["scored"] == first["scored"] + second["scored"] == 60
    assert both["f1"] == pytest.approx((first["f1"] + second["f1"]) / 2)
    out = call("compare", *sources[:2], *targets, "-m", "linear-svm")[1]
    assert "all targets:\n\nmodel       s     example F1  Jaccard  Hamming loss  warnings\n" in out


def test_another_separator_and_whole_labels(call, labelled_twice):
    for name in ("m", "n"):
        file = labelled_twice / f"{name}.csv"
        file.write_text(file.read_text().replace("|", ";"))
    given = ("--source", "m.csv", "--target", "n.csv", "-m", "linear-svm")
    (row,) = scored(call, *given, "--label-separator", ";")
    assert row["f1"] > 0.8
    assert call("predict", *given, "--label-separator", ";", "--out", "a.jsonl")[0] == 0
    labels = {json.loads(line)["label"] for line in Path("a.jsonl").read_text().splitlines()}
    assert labels <= {"", "cat", "sea", "cat;sea", "sea;cat"}
    code, _, err = call("compare", *given[:4], *GCMF, "--label-separator", ";")
    assert code == 2
    assert "gcmf is a transfer model and this is a multilabel problem" in err


def test_several_labels_and_a_transfer_model(call, labelled_twice):
    code, _, err = call("compare", "--source", "m.csv", "--target", "n.csv", *GCMF)
    assert code == 2
    assert "looks like several labels; name --label-separator '|' and a multi-label model" in err


def test_several_labels_of_a_matrix(call, labelled_twice):
    rng = random.Random(5)

    def line(label):
        columns = {3 * part + 1 + i for part in range(2) for i in range(3)}
        kept = [c for c in sorted(columns) if f"{(c - 1) // 3}" in label or rng.random() < 0.1]
        return " ".join([label, *(f"{c}:1" for c in kept or [7]), "8:1"])

    lines = [line(rng.choice(["0", "1", "0|1"])) for _ in range(60)]
    Path("m.svm").write_text("\n".join(lines[:40]))
    Path("n.svm").write_text("\n".join(lines[40:]))
    given = ("--source", "m.svm", "--target", "n.svm", "-m", "linear-svm")
    (row,) = scored(call, *given)
    assert row["f1"] > 0.8


def test_a_task_of_several_labels_from_a_yaml_file(call, labelled_twice):
    text = "family: multilabel\nsource: [m.csv, m2.csv]\ntargets: n.csv\n"
    Path("many.yaml").write_text(text)
    code, out, err = call("run", "./many.yaml", "-m", "linear-svm")
    assert code == 0, err
    assert "linear-svm  m" in out
    Path("many.yaml").write_text(f"{text}separator: ','\n")
    code, _, err = call("run", "./many.yaml", "-m", "linear-svm")
    assert (code, "example F1" in _) == (0, True), err
    Path("many.yaml").write_text(text.replace("targets", "tasks"))
    code, _, err = call("run", "./many.yaml", "-m", "linear-svm")
    assert code == 2
    assert "a task of multilabel" in err


def test_labels_of_targets_are_not_read_beside_a_file_of_labels(call, here):
    write(here / "s.csv", sentences(0, 40, 0))
    write(here / "t.csv", [(text, "none of the source's") for text, _ in sentences(1, 40, 0)])
    write(here / "l.csv", [("t.csv", 1, "cat")], ("file", "row", "label"))
    flags = ("-m", "lr", "--out", "x.csv", "--label-file", "l.csv")
    assert call("predict", "--source", "s.csv", "--target", "t.csv", *flags)[0] == 0


def test_a_source_needs_no_ids(call, here):
    write(here / "s.csv", sentences(0, 40, 0))
    texts = [(text, i) for i, (text, _) in enumerate(sentences(1, 4, 0))]
    write(here / "t.csv", texts, ("text", "nr"))
    flags = ("-m", "lr", "--out", "x.csv", "--id-column", "nr")
    assert call("predict", "--source", "s.csv", "--target", "t.csv", *flags)[0] == 0
    lines = (here / "x.csv").read_text().splitlines()
    assert [row["id"] for row in csv.DictReader(lines)] == ["0", "1", "2", "3"]


def test_the_sample_and_the_predictions_are_different_files(call, here):
    write(here / "s.csv", sentences(0, 40, 0))
    write(here / "t.csv", sentences(1, 40, 0))
    flags = ("--label-sample", "3", "--label-file", "x.csv", "--out", "x.csv")
    code, _, err = call("predict", "--source", "s.csv", "--target", "t.csv", *flags)
    assert code == 2
    assert "--label-file x.csv is one of the files to read or write" in err
    assert not (here / "x.csv").exists()
