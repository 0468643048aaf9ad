"""The user's own data: `predict`, `compare`, and a task from a YAML file in other commands."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from user_documents import read_csv, sentences, write_csv, write_several

USED = ("documents: ", "options: ", "shares by ")
FILES = ("--source", "s.csv", "--target", "t.csv", "--target", "u.csv")


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
    """Return the results that `compare --json` prints."""
    code, out, err = call("compare", *arguments, "--json")
    assert code == 0, err
    results: list[dict] = json.loads(out)["results"]
    return results


def predicted(call, *arguments: str) -> list[dict[str, str]]:
    """Return the rows that `predict` writes with these arguments."""
    code, _, err = call("predict", *arguments, "-m", "lr", "--out", "a.csv")
    assert code == 0, err
    return read_csv("a.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a labelled file, two targets, one of them with ids, and a task."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_csv(folder / "s.csv", sentences(0, 40, 0))
    write_csv(folder / "t.csv", sentences(1, 30, 2))
    with_ids = [(*row, f"u{i}") for i, row in enumerate(sentences(2, 20, 1))]
    write_csv(folder / "u.csv", with_ids, ("text", "label", "id"))
    (folder / "mine.yaml").write_text("source: s.csv\ntargets: [t.csv, u.csv]\n")
    return folder


def test_predictions_are_written_for_every_document_of_every_target(call, folder):
    (folder / "found").mkdir()
    gcmf = ("-m", "gcmf", "--set", "k=8", "--set", "p=5", "--out", "found/all.csv")
    assert call("predict", *FILES, *gcmf) == (0, "found/all.csv: 50 documents\n", "")
    rows = read_csv("found/all.csv")
    assert list(rows[0]) == [
        *("file", "row", "text", "label", "id"),
        *("predicted", "confidence", "note"),
    ]
    assert [row["file"] for row in rows] == ["t.csv"] * 30 + ["u.csv"] * 20
    assert [int(row["row"]) for row in rows] == [*range(1, 31), *range(1, 21)]
    assert [row["id"] for row in rows] == [""] * 30 + [f"u{i}" for i in range(20)]
    right = [row["predicted"] == row["label"] for row in rows]
    assert sum(right) >= 45
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)
    assert sorted(os.listdir(folder / "found")) == ["all.csv"]  # noqa: PTH208


def test_json_lines_hold_the_same(call, folder):
    rows = predicted(call, *FILES)
    assert call("predict", *FILES, "-m", "lr", "--out", "a.jsonl")[0] == 0
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert [{k: str(row.get(k, "")) for k in rows[0]} for row in lines] == rows


def test_one_table_keeps_its_rows_and_columns(call, folder):
    """Blank rows are left out of both, and a list of JSON stays one."""
    texts = [text for text, _ in sentences(1, 30, 2)]
    lines = [{"Nr": i, "TEXT": text, "tags": ["a", "b"]} for i, text in enumerate(texts)]
    content = "\n".join(map(json.dumps, [*lines[:7], {"TEXT": " "}, *lines[7:]]))
    (folder / "t.jsonl").write_text(content)
    code, _, err = call("predict", *FILES[:2], "--target", "t.jsonl", "-m", "lr", "--out", "a.csv")
    assert (code, err.splitlines()[0]) == (0, "warning: t.jsonl: 1 blank rows are skipped")
    rows = read_csv("a.csv")
    assert list(rows[0]) == ["Nr", "TEXT", "tags", "predicted", "confidence", "note"]
    assert [row["TEXT"] for row in rows] == texts
    assert (rows[3]["Nr"], rows[3]["tags"]) == ("3", '["a", "b"]')
    assert (
        call("predict", *FILES[:2], "--target", "t.jsonl", "-m", "lr", "--out", "a.jsonl")[0] == 0
    )
    first = json.loads((folder / "a.jsonl").read_text().splitlines()[0])
    assert (first["Nr"], first["tags"]) == (0, ["a", "b"])


def test_a_text_inside_an_object_has_a_column_of_its_own_in_csv(call, folder):
    texts = [text for text, _ in sentences(1, 30, 2)]
    lines = [json.dumps({"id": i, "doc": {"body": text}}) for i, text in enumerate(texts)]
    (folder / "t.jsonl").write_text("\n".join(lines))
    files = (*FILES[:2], "--target", "t.jsonl", "--text-column", "doc.body", "-m", "lr")
    files = (*files, "--source-text-column", "text")
    assert call("predict", *files, "--out", "a.csv", "--label-sample", "9")[0] == 0
    rows = read_csv("a.csv")
    assert list(rows[0])[:3] == ["id", "doc", "doc.body"]
    assert [row["doc.body"] for row in rows] == texts
    assert {row["doc.body"] for row in read_csv("label-these.csv")} <= {*texts}
    assert call("predict", *files, "--out", "a.jsonl")[0] == 0
    first = json.loads((folder / "a.jsonl").read_text().splitlines()[0])
    assert list(first)[:3] == ["id", "doc", "predicted"]
    label = dict(sentences(1, 30, 2))
    sample = [{**row, "label": label[row["doc.body"]]} for row in read_csv("label-these.csv")]
    write_csv(folder / "l.csv", [tuple(row.values()) for row in sample], tuple(sample[0]))
    code, _, err = call("predict", *files, "--labels", "l.csv", "--out", "b.csv")
    assert (code, "Error" in err) == (0, False)


def test_files_of_one_domain_are_predicted_as_one_file(call, folder):
    whole = predicted(call, *FILES[:4])
    (folder / "mail").mkdir()
    rows = sentences(1, 30, 2)
    write_csv(folder / "mail/2.csv", rows[20:])
    first = [{"text": text} for text, _ in rows[:20]]
    (folder / "mail/1.jsonl").write_text("\n".join(map(json.dumps, first)))
    for name in ("mail", "mail/2.csv,mail/1.jsonl"):
        parts = predicted(call, *FILES[:2], "--target", name)
        expected = [("mail/1.jsonl", str(i + 1)) for i in range(20)]
        expected += [("mail/2.csv", str(i + 1)) for i in range(10)]
        assert [(row["file"], row["row"]) for row in parts] == expected
        for column in ("predicted", "confidence"):
            assert [row[column] for row in parts] == [row[column] for row in whole]
    sources = sentences(0, 40, 0)
    write_csv(folder / "s.csv", sources[:13])
    write_csv(folder / "s2.csv", sources[13:])
    assert predicted(call, "--source", "s2.csv,s.csv", *FILES[2:4]) == whole


def test_compare_and_run_agree_on_the_same_task(call, folder):
    ours = {row["target"]: row for row in scored(call, *FILES, "-m", "lr") if row["model"] == "lr"}
    # The full path: the server of another test's runs may have another current folder.
    code, out, err = call("run", str(folder / "mine.yaml"), "-m", "lr", "--json")
    assert code == 0, err
    measured = json.loads(out)["metrics"]
    assert list(ours) == list(measured) == ["t", "u"]
    for name, values in measured.items():
        assert {measure: ours[name][measure] for measure in values} == values


def test_without_a_source_documents_are_clustered(call, folder):
    targets = ("--target", "t.csv", "--target", "u.csv")
    models = ("-m", "lnkmtc", "--set", "b=4", "-m", "kmeans")
    code, _, err = call("predict", *targets, *models[:4], "--clusters", "2", "--out", "a.csv")
    assert (code, err) == (0, "")
    rows = read_csv("a.csv")
    assert list(rows[0])[-3:] == ["cluster", "confidence", "note"]
    assert {row["cluster"] for row in rows} == {"1", "2"}
    code, out, err = call("compare", *targets, *models, "--repeats", "2")
    assert (code, "recommended" in out + err) == (0, False)
    heads = "model s accuracy nmi over lnkmtc warnings"
    assert out.splitlines()[2].split() == heads.split()
    places = [(r["target"], r["model"], r["scored"]) for r in scored(call, *targets, *models)]
    assert places == [
        ("t", "lnkmtc", 30), ("t", "kmeans", 30), ("u", "lnkmtc", 20), ("u", "kmeans", 20),
    ]  # fmt: skip


def test_no_model_is_recommended_for_documents_that_the_source_has(call, folder):
    more = "a new text about a cat and the sea,\n"
    (folder / "t.csv").write_text((folder / "s.csv").read_text("utf-8") + more, "utf-8")
    code, out, err = call("compare", *FILES, "-m", "lr")
    assert code == 1, err
    assert "Recommended: no model." in out
    assert "documents are also in the source" in " ".join(out.split())
    rows = [line.split() for line in out.splitlines() if line.startswith(("lr ", "consensus"))]
    assert [row[-1] == "worthless" for row in rows] == [True, True, False, False]
    assert not [row for row in rows if "*" in row]


def test_a_worthless_result_is_written_only_by_force(call, folder):
    texts = ["", "zebra zebu", *["cat kitten purr"] * 9]
    write_csv(folder / "t.csv", [(text, "?") for text in texts])
    arguments = ("predict", *FILES[:4], "-m", "lr", "--option", "min_df=1", "--out", "a.csv")
    code, out, err = call(*arguments)
    assert (code, out) == (1, "")
    empty, unrelated, of_model, end = err.splitlines()
    assert empty.startswith("warning: t: 1 of 11 documents have no feature left ")
    assert unrelated.startswith("warning: t: 1 of 11 documents share no feature with the source")
    assert of_model.startswith("warning: lr: t: all 11 documents are in one class, cat; ")
    assert end == (
        "Error: a.csv is not written, as the result of lr is worthless by the warnings above; "
        "--force writes it."
    )
    assert not (folder / "a.csv").exists()
    assert call(*arguments, "--force")[0] == 0
    assert len(read_csv("a.csv")) == 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--source": "no.csv"}, "no.csv: no such file; give the path of a file of documents."),
        ({"--target": "bad.csv"}, "bad.csv:2: 1 value, but"),
        ({"--text-column": "row"}, "column 'row': transferbench writes a column of this name"),
        ({"--model": "gmcf"}, "Did you mean 'gcmf'?"),
        ({"--model": "lnkmtc"}, "lnkmtc is a clustering model and this is a transfer problem"),
        ({"--model": "nmf"}, "nmf: it finds clusters, which have no names; choose another model."),
        ({"--set": "q=1"}, "unknown parameter of dtl 'q'"),
        ({"--set": "kappa=30"}, "dtl: kappa must be at most k"),
        ({"--option": "min_df"}, "expected NAME=VALUE"),
        ({"--text-column": "body"}, "no column 'body' among 'text', 'label'"),
        ({"--target": "s.csv"}, "s.csv: given twice; name each file once, as source or target."),
        ({"--source": None}, "expected either --source"),
        ({"--out": "a.xlsx"}, "expected a name that ends in .csv, .tsv or .jsonl"),
        ({"--target": "*.csv", "--out": "t.csv"}, "one of the files to read"),
        ({"--target": "loop.csv"}, "loop.csv: no such file"),
        ({"--out": "found/a.csv"}, "found/a.csv: no file can be written there; name"),
        ({"--out": f"{'ö' * 126}.csv"}, ".csv: no file can be written there; name"),
        ({"--clusters": "3"}, "expected either --source"),
        ({"--source": None, "--clusters": "1000000000"}, "--clusters 1000000000: expected at most"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_the_old_file_unchanged(call, folder, change, message):
    (folder / "bad.csv").write_text("text,label\nonly one\n")
    (folder / "old.csv").write_text("old")
    if "loop.csv" in change.values():
        (folder / "loop.csv").symlink_to("loop.csv")
    before = sorted(folder.rglob("*"))
    options = {"--source": "s.csv", "--target": "t.csv", "--model": "dtl", "--out": "old.csv"}
    options |= change
    arguments = [part for pair in options.items() if pair[1] is not None for part in pair]
    code, out, err = call("predict", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: ")
    assert message in err
    assert (folder / "old.csv").read_text() == "old"
    assert sorted(folder.rglob("*")) == before


def svmlight(path: Path, seed: int, scale: float) -> None:
    rng = random.Random(seed)
    lines = []
    for i in range(24):
        columns = sorted(rng.sample(range(1 + i % 2, 21, 2), 4))
        values = " ".join(f"{c}:{scale * rng.uniform(0.8, 1.2):.6g}" for c in columns)
        lines.append(f"{i % 2} {values}\n")
    path.write_text("".join(lines))


def test_models_take_svmlight_files_and_an_extreme_scale_is_a_warning(call, folder):
    """Their matrices had 64-bit indices, which some solvers refuse."""
    svmlight(folder / "s.svm", 1, 1e30)
    svmlight(folder / "t.svm", 2, 1e30)
    models = [part for model in ("svm", "tsvm", "lr-kmeans", "mtrick") for part in ("-m", model)]
    files = ("--source", "s.svm", "--target", "t.svm")
    code, out, err = call("compare", *files, *models, "--json", "--force")
    assert code == 0
    (line,) = (line for line in err.splitlines() if "the largest number" in line)
    assert line.startswith("warning: s.svm: the largest number is 1.2e+30, so all were divided by ")
    accuracies = {row["model"]: row["accuracy"] for row in json.loads(out)["results"]}
    assert {model: a for model, a in accuracies.items() if a <= 0.9} == {}


def test_predictions_of_several_models_with_all_scores(call, folder):
    rows = predicted(call, *FILES, "-m", "svm", "--scores")
    assert list(rows[0])[-8:-1] == ["predicted", "confidence", "agree", "predicted_lr", "second",
                                  "score_cat", "score_sea"]  # fmt: skip
    for row in rows:
        assert float(row["score_cat"]) + float(row["score_sea"]) == pytest.approx(1, abs=1e-5)
        assert row["confidence"] == row[f"score_{row['predicted']}"]
        assert {row["predicted"], row["second"]} == {"cat", "sea"}
        assert float(row["agree"]) == (1 if row["predicted"] == row["predicted_lr"] else 0.5)


def test_a_task_of_ones_own_has_the_same_warnings(call, folder):
    zebras = [(f"zebra{i % 3} zebu", ("cat", "sea")[i % 2]) for i in range(30)]
    write_csv(folder / "t.csv", zebras)
    (folder / "mine.yaml").write_text("source: s.csv\ntargets: [t.csv]\n")
    task = str(folder / "mine.yaml")
    code, _, err = call("run", task, "-m", "lr")
    assert code == 1
    first = "warning: lr: t: 30 of 30 documents share no feature with the source; keep more"
    assert first in err
    assert err.endswith("lr: worthless by the warnings above.\n")
    assert call("run", task, "-m", "lr", "--json")[0] == 1  # a stored record


@pytest.fixture
def labelled_twice(folder):
    """Two sources and a target whose documents have one or two labels."""
    for name, seed, number in (("m", 0, 42), ("m2", 7, 30), ("n", 1, 30)):
        write_several(folder / f"{name}.csv", seed, number)
    return folder


MANY = ("--source", "m.csv", "--target", "n.csv")


def test_several_labels_are_predicted(call, labelled_twice):
    for name in ("m", "n"):
        file = labelled_twice / f"{name}.csv"
        file.write_text(file.read_text().replace("|", ";"))
    option = ("--label-separator", ";")
    code, out, _ = call("predict", *MANY, *option, "-m", "linear-svm", "--out", "a.csv")
    assert (code, out) == (0, "a.csv: 30 documents\n")
    rows, true = read_csv("a.csv"), [row["label"] for row in read_csv("n.csv")]
    right = [
        {*row["predicted"].split(";")} == {*labels.split(";")}
        for row, labels in zip(rows, true, strict=True)
    ]
    assert sum(right) >= 24


def test_several_labels_are_scored_for_each_target(call, labelled_twice):
    himls = ("-m", "himls", "--set", "p=6", "--set", "q=6")
    code, out, _ = call("compare", *MANY, "--source", "m2.csv", *himls)
    assert code == 0
    head, _, line, *_ = out.splitlines()
    assert "example F1  Jaccard  Hamming loss" in head
    assert line.startswith("himls ")
    targets = (*MANY, "--target", "m2.csv", "-m", "linear-svm")
    first, second, both = scored(call, *targets)
    assert [row["target"] for row in (first, second, both)] == ["n", "m2", "all"]
    assert both["scored"] == first["scored"] + second["scored"] == 60
    assert both["f1"] == pytest.approx((first["f1"] + second["f1"]) / 2)
    assert "all:\n\nmodel " in call("compare", *targets)[1]


def test_labels_of_a_target_change_no_prediction(call, folder):
    tables = []
    for label in (None, "sea", ""):
        rows = [(text, label if label is not None else own) for text, own in sentences(1, 30, 2)]
        write_csv(folder / "t.csv", rows)
        found = predicted(call, *FILES)
        tables.append([(row["predicted"], row["confidence"]) for row in found])
    assert tables[0] == tables[1] == tables[2]
    write_csv(folder / "t.csv", [(text, "none of the source's") for text, _ in rows])
    write_csv(folder / "l.csv", [("t.csv", 1, "cat")], ("file", "row", "label"))
    found = predicted(call, *FILES, "--labels", "l.csv")
    assert (found[0]["predicted"], found[0]["confidence"]) == ("cat", "1.0")
    # One label of weight 10 moves scores a little.
    assert [(row["predicted"], row["confidence"]) for row in found] != tables[0]
