"""`compare`: models beside each other, and a recommendation."""

from __future__ import annotations

import codecs
import csv
import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import strict_json

from transferbench import api
from transferbench.choose import compare
from transferbench.choose.compare import Line
from transferbench.cli.compare import _by_class, _measure
from transferbench.errors import UserError

WORDS = {"cat": "cat kitten purr whisker mouse mat", "sea": "ship sail boat wave sailor anchor"}
COMMON = "the a of and on with some many often never"
CHINESE = {
    "cat": ["小猫", "老鼠", "垫子", "睡觉", "尾巴", "抓老鼠"],
    "sea": ["大海", "轮船", "水手", "航行", "波浪", "船上"],
}
FILES = ("--source", "s.csv", "--target", "t.csv")


def write(path: Path, rows, head=("text", "label")) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def sentences(seed: int, labels, shift: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    rows = []
    for label in labels:
        own = WORDS[label].split()[shift : shift + 4]
        rows.append((" ".join(rng.choices(own, k=4) + rng.choices(COMMON.split(), k=2)), label))
    return rows


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The current folder, with a labelled source and a labelled target."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(folder / "s.csv", sentences(0, ["cat", "sea"] * 20, 0))
    write(folder / "t.csv", sentences(1, ["cat", "sea"] * 15, 2))
    return folder


def compared(call, *arguments: str, code: int = 0) -> dict:
    """Return what `compare --json` prints."""
    found, out, err = call("compare", *FILES, *arguments, "--json")
    assert found == code, err
    return strict_json(out)


def test_a_row_for_each_model_and_a_recommendation(call, here):
    code, out, err = call("compare", *FILES)
    assert code == 0, err
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    head = "model s shares accuracy f1 balanced recall warnings"
    assert lines[0].split() == head.split()
    names = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert names == ["lr", "graph-only", "cocc", "svm", "tsvm", "consensus"]
    assert [line.split()[0] for line in lines if " * " in line] == ["consensus"]
    assert "Recommended: consensus; " in out
    assert "documents: s.csv 40, t.csv 30; features: " in err


def test_json_has_every_sign_and_measure(call, here):
    found = compared(call, "-m", "dtl", "--set", "dtl.k=12")
    assert set(found) == {"classes", "source_shares", "results", "warnings", "worthless",
                          "recommended", "recommendation"}  # fmt: skip
    assert found["source_shares"] == {"cat": 0.5, "sea": 0.5}
    assert [row["model"] for row in found["results"]] == ["lr", "dtl", "consensus"]
    row = found["results"][1]
    assert row["params"]["k"] == 12
    assert sum(row["shares"].values()) == pytest.approx(1)
    assert row["scored"] == row["documents"] == 30
    for name in ("accuracy", "balanced_accuracy"):
        assert 0.5 <= row[name] <= 1
    assert 0 <= row["recall"]["cat"] <= 1


def test_what_is_not_known_is_null_in_json(call, here):
    write(here / "t.csv", [(text, "cat") for text, _ in sentences(1, ["cat", "sea"] * 15, 2)])
    row = compared(call, "-m", "lr")["results"][0]
    assert row["recall"]["cat"] >= 0
    assert row["recall"]["sea"] is None


def without_measures(found: dict) -> dict:
    """Return the answer without what only a labelled target has, and without times."""
    measures = ("accuracy", "balanced_accuracy", "f1", "recall", "scored", "seconds")
    rows = [{k: v for k, v in row.items() if k not in measures} for row in found["results"]]
    return found | {"results": rows}


def test_no_label_of_a_target_changes_what_is_recommended(call, here):
    true = compared(call, "-m", "gcmf")
    assert call("predict", *FILES, "--out", "true.csv")[0] == 0
    texts = [text for text, _ in sentences(1, ["cat", "sea"] * 15, 2)]
    for name, rows, head in (
        ("wrong", [(text, "cat") for text in texts], ("text", "label")),
        ("blank", [(text, "") for text in texts], ("text", "label")),
        ("none", [(text,) for text in texts], ("text",)),
    ):
        write(here / "t.csv", rows, head)
        found = compared(call, "-m", "gcmf")
        assert without_measures(found) == without_measures(true)
        assert call("predict", *FILES, "--out", f"{name}.csv")[0] == 0
        assert (here / f"{name}.csv").read_bytes() == (here / "true.csv").read_bytes()
    assert "accuracy" not in found["results"][0]


def test_predict_takes_the_recommended_model_and_says_why(call, here):
    code, out, _ = call("predict", *FILES, "--out", "a.csv")
    *sentence, shares, end = out.splitlines()
    assert code == 0
    assert " ".join(sentence) == compared(call)["recommendation"]
    assert shares == "shares by consensus: cat 50 % (source 50), sea 50 % (source 50)"
    assert end == "a.csv: 30 documents"
    assert call("predict", *FILES, "-m", "consensus", "--out", "b.csv")[0] == 0
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    assert call("predict", *FILES, "-m", "auto", "-m", "gcmf", "--out", "c.csv")[0] == 0
    alone, beside = (rows(here / name) for name in ("a.csv", "c.csv"))
    assert list(beside[0]) == ["file", "row", "label", "confidence", "agree", "label_gcmf"]
    assert [row["label"] for row in beside] == [row["label"] for row in alone]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_auto_is_what_is_compared_by_default(call, here):
    default = [row["model"] for row in compared(call)["results"]]
    assert [row["model"] for row in compared(call, "-m", "auto")["results"]] == default
    beside = compared(call, "-m", "auto", "-m", "mtrick")["results"]
    assert [row["model"] for row in beside] == [*default, "mtrick"]
    rows = compared(call, "--set", "tsvm.C=2")["results"]
    assert [row["params"]["C"] for row in rows if row["model"] == "tsvm"] == [2]


@pytest.fixture
def no_advice(monkeypatch):
    """No model is recommended."""
    original = compare.compare

    def install(*arguments, **options):
        found = original(*arguments, **options)
        choice = replace(found.choice, model=None, sentence="No advice: all models differ.")
        return replace(found, choice=choice)

    monkeypatch.setattr(compare, "compare", install)


def test_without_advice_predict_writes_only_what_is_named_or_forced(call, here, no_advice):
    code, out, err = call("predict", *FILES, "--out", "a.csv")
    assert (code, out) == (1, "No advice: all models differ.\n")
    assert err.splitlines()[-1] == (
        "Error: a.csv is not written; name a --model without auto, or --force takes lr."
    )
    assert not (here / "a.csv").exists()
    assert call("predict", *FILES, "--out", "a.csv", "--force")[0] == 0
    assert call("predict", *FILES, "-m", "lr", "--out", "b.csv")[0] == 0
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()
    both = ("predict", *FILES, "-m", "auto", "-m", "gcmf", "--out", "c.csv")
    assert call(*both)[0] == 1
    code, out, _ = call(*both, "--force")
    assert code == 0
    assert "shares by gcmf: " in out
    code, out, err = call("compare", *FILES)
    assert (code, out.splitlines()[-1]) == (0, "No advice: all models differ.")
    assert not re.search(r"\w \*", out)
    assert compared(call)["recommended"] is None


@pytest.mark.parametrize(
    ("command", "arguments", "example"),
    [
        ("predict", (*FILES, "--label-separator", "|", "--out", "a.csv"), "linear-svm"),
        ("predict", (*FILES, "-m", "tram", "-m", "auto", "--out", "a.csv"), "linear-svm"),
        ("predict", ("--target", "t.csv", "--clusters", "2", "--out", "a.csv"), "lskmtc"),
        ("compare", ("--target", "t.csv"), "lskmtc"),
    ],
)
def test_where_no_model_is_recommended_one_must_be_named(call, here, command, arguments, example):
    code, out, err = call(command, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no model is recommended for " in err
    assert f"name one, as in --model {example} " in err


def test_shares_are_by_class_and_of_many_the_farthest_from_the_source(call, here):
    names = [f"class{i}" for i in range(8)]
    words = {name: " ".join(f"{name}word{i}" for i in range(3)) for name in names}
    write(here / "s.csv", [(words[name], name) for name in names for _ in range(4)])
    write(here / "t.csv", [(words[name], "") for name in [*names, *names[:1] * 24]])
    code, out, _ = call("predict", *FILES, "-m", "lr", "--out", "a.csv")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("shares by lr: ")]
    first, *others = line.removeprefix("shares by lr: ").split(", ")
    assert first == "class0 78 % (source 12)"
    assert others == [f"class{i} 3 % (source 12)" for i in range(1, 6)] + ["…"]


def test_warnings_follow_the_table_in_a_line_for_each_model(here):
    with_one = [(text, "") for text, _ in sentences(1, ["cat"] * 30, 0)]
    write(here / "t.csv", [*with_one, ("zebra", ""), ("zebu", "")])
    code = subprocess.run(
        [sys.executable, "-m", "transferbench", "compare", *FILES, "--force"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    lines = code.stdout.splitlines()
    warnings = [line for line in lines if line.startswith("warning: ")]
    assert lines[-len(warnings) :] == warnings  # in one stream
    of_documents, *of_models = warnings
    assert of_documents.startswith("warning: t.csv: 2 of 32 documents have no feature left ")
    models = [m for line in of_models for m in line.split(": ")[1].split(", ")]
    assert len(models) == len(set(models)) > 1
    assert not any("t.csv" in line for line in of_models)  # it is the only target


LABEL = ("compare", *FILES, "-m", "lr", "--label-sample", "5")


def test_a_sample_to_label_is_random_fixed_and_in_the_order_of_the_files(call, here):
    assert call(*LABEL)[0] == 0
    assert (here / "label-these.csv").read_bytes().startswith(codecs.BOM_UTF8)
    found = rows(here / "label-these.csv")
    assert list(found[0]) == ["file", "row", "id", "text", "label"]
    texts = [row["text"] for row in rows(here / "t.csv")]
    numbers = [int(row["row"]) for row in found]
    assert numbers == sorted(set(numbers))
    assert [row["text"] for row in found] == [texts[i - 1] for i in numbers]
    assert {(row["file"], row["id"], row["label"]) for row in found} == {("t.csv", "", "")}
    code, out, err = call(*LABEL)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--label-file label-these.csv exists and may hold labels; name another file." in err
    code, _, err = call("compare", *FILES, "-m", "lr", "--label-file", "label-these.csv")
    assert (code, err) == (2, "Error: label-these.csv: its column `label` is empty; fill it in.\n")
    given = ("predict", *FILES, "-m", "lr", "--out", "a.csv", "--seed", "7", "--label-sample")
    assert call(*given, "5", "--label-file", "again.csv")[0] == 0
    assert (here / "again.csv").read_bytes() == (here / "label-these.csv").read_bytes()
    assert call(*given, "99", "--label-file", "all.csv")[0] == 0
    assert [row["text"] for row in rows(here / "all.csv")] == texts


def test_a_sample_spans_files_with_ids_and_matrices_have_no_text(call, here):
    write(
        here / "u.csv", [("=cat mat", "", "u1"), ("ship sail", "", "u2")], ("text", "label", "id")
    )
    arguments = ("compare", "--source", "s.csv", "--target", "u.csv,t.csv", "-m", "lr")
    assert call(*arguments, "--label-sample", "99")[0] == 0
    found = rows(here / "label-these.csv")
    assert [(row["file"], row["row"], row["id"]) for row in found[-3:]] == [
        ("t.csv", "30", ""), ("u.csv", "1", "u1"), ("u.csv", "2", "u2"),
    ]  # fmt: skip
    assert found[-2]["text"] == "'=cat mat"  # no spreadsheet runs it
    for name, n in (("s", 26), ("t", 24)):
        lines = [f"{i % 2} {1 + i % 2}:{1 + i % 3} {3 + i % 2}:1\n" for i in range(n)]
        (here / f"{name}.svm").write_text("".join(lines))
    arguments = ("compare", "--source", "s.svm", "--target", "t.svm", "-m", "lr")
    assert call(*arguments, "--label-sample", "4", "--label-file", "m.csv")[0] == 0
    assert list(rows(here / "m.csv")[0]) == ["file", "row", "id", "label"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("t.csv", "--label-file t.csv is one of the files to read or write; choose another."),
        ("no/a.csv", "--label-file no/a.csv: no file can be written there; name another place."),
        ("a.jsonl", "--label-file a.jsonl: expected a name that ends in .csv."),
    ],
)
def test_a_sample_that_cannot_be_written_is_one_line(call, here, file, message):
    code, out, err = call(*LABEL, "--label-file", file)
    assert (code, out, err) == (2, "", f"Error: {message}\n")


def test_labels_of_a_sample_score_every_model(call, here):
    texts = [(text, label if i < 12 else "") for i, (text, label) in
             enumerate(sentences(1, ["cat", "sea"] * 15, 2))]  # fmt: skip
    write(here / "t.csv", texts)
    code, out, _ = call("compare", *FILES, "-m", "lr")
    assert code == 0
    assert "100.0 [76, 100]" in out
    assert "Scored on 12 of 30 documents, those with a label; [ ] is the 95 % interval" in out


def test_the_filled_in_sample_is_a_file_of_labels(call, here):
    """It scores as labels in the target's own file do, and changes nothing else."""
    full = rows(here / "t.csv")
    write(here / "t.csv", [(row["text"],) for row in full], ("text",))
    assert call(*LABEL[:-1], "12")[0] == 0
    sample = rows(here / "label-these.csv")
    for row in sample:
        row["label"] = full[int(row["row"]) - 1]["label"]
    lines = [
        ";".join(row),
        *(";".join(row.values()) for row in sample),
    ]  # as a spreadsheet saves it
    (here / "label-these.csv").write_text("\n".join(lines))
    found = compared(call, "-m", "lr", "--label-file", "label-these.csv")
    drawn = {int(row["row"]) for row in sample}
    write(here / "t.csv", [(row["text"], row["label"] if i in drawn else "")
                           for i, row in enumerate(full, start=1)])  # fmt: skip
    beside = compared(call, "-m", "lr")
    for answer in (found, beside):
        for row in answer["results"]:
            del row["seconds"]
    assert found == beside
    assert found["results"][0]["scored"] == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,row,label\nt.csv,31,cat\n", ":2: row 31 of t.csv is no document of a target; give"),
        ("file,row,label\nt.csv,30,dog\n", "label 'dog' is none of the source's ('cat', 'sea')"),
        ("file,row\nt.csv,30\n", ":1: no column 'label' among ['file', 'row']"),
        ("file,row,label\nt.csv,30,cat\nt.csv,30,sea\n", ":3: row 30 is there twice in t.csv"),
        ("file,row,text,label\nt.csv,30,other,cat\n", ":2: row 30 has another text now in t.csv"),
        ("file,row,label\nt\0.csv,30,cat\n", ":2: file: 't\\x00.csv' has control characters"),
        ("", "labels.csv: the file is empty; expected documents."),
    ],
)
def test_a_file_of_other_labels_is_refused_in_one_line(call, here, text, message):
    (here / "labels.csv").write_text(text)
    code, out, err = call("compare", *FILES, "-m", "lr", "--label-file", "labels.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message.replace("of t.csv", f"of {here / 't.csv'}") in err


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("labels.txt", "labels.txt: unknown kind of table; expected .csv, .tsv, .jsonl, .parquet."),
        ("no.csv", "no.csv: no such file; give the path of a file of documents."),
        ("", ".: not a file; give the path of a file of documents."),
    ],
)
def test_what_is_no_file_of_labels_is_refused_in_one_line(call, here, name, message):
    (here / "labels.txt").write_text("file,row,label\nt.csv,30,cat\n")
    code, out, err = call("compare", *FILES, "-m", "lr", "--label-file", name)
    assert (code, out, err) == (2, "", f"Error: {message}\n")


def test_the_whole_text_tells_the_document_whatever_a_spreadsheet_makes_of_its_id(call, here):
    head, texts = "meeting report " * 20, ["cat mat", "ship sail"]
    rows = [(head + text, f"00{i}") for i, text in enumerate(texts, start=1)]
    write(here / "t.csv", rows, ("text", "id"))

    def scored(*lines):
        write(here / "labels.csv", lines, ("file", "row", "id", "text", "label"))
        return call("compare", *FILES, "-m", "lr", "--label-file", "labels.csv")

    code, out, _ = scored(("t.csv", 2, "2", head + texts[1] + "!", "sea"))
    assert (code, "Scored on 1 of 2 documents" in out) == (0, True)
    code, _, err = scored(("t.csv", 2, "002", head + texts[0], "sea"))
    assert (code, "labels.csv:2: row 2 has another text now in t.csv" in err) == (2, True)
    write(here / "t.csv", [("mat " * 9000, "1"), ("ship", "2")], ("text", "id"))
    assert scored(("t.csv", 1, "", ("mat " * 9000)[:32767], "cat"))[0] == 0  # as one cell holds it


def test_a_model_that_cannot_be_fitted_has_one_sentence(call, here):
    write(here / "t.csv", sentences(1, ["cat"], 0))
    (line,) = [r for r in compared(call, "-m", "lr-kmeans")["results"] if r["model"] == "lr-kmeans"]
    assert line["warnings"][0].endswith("; other parameters are given by --set")
    assert ".;" not in line["warnings"][0]


def test_equal_shares_are_taken_by_the_recommended_model(call, here):
    found = compared(call, "-m", "dtl", "--set", "consensus.prior=equal")
    assert [row["model"] for row in found["results"]] == ["lr", "dtl", "consensus"]
    assert found["results"][-1]["params"]["prior"] == "equal"
    assert found["recommended"] == "consensus"
    assert (
        "; its decisions have the class shares of its parameter prior." in found["recommendation"]
    )


@pytest.mark.slow
def test_repeats_give_means_and_deviations(call, here):
    arguments = ("-m", "dtl", "-m", "gcmf", "--repeats", "2")
    one = compared(call, *arguments)
    assert one["results"][-1]["accuracy_std"] >= 0
    assert one["results"][0]["accuracy_std"] is None  # no seed
    code, out, _ = call("compare", *FILES, *arguments)
    assert code == 0
    assert "±" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.slow
def test_ten_to_one_classes_warn_of_what_is_far_from_the_source(call, here):
    write(here / "s.csv", sentences(0, ["cat", *["sea"] * 10] * 40, 0))
    write(here / "t.csv", sentences(1, ["cat", *["sea"] * 10] * 30, 0))
    found = compared(call, "-m", "gcmf")
    by_model = {row["model"]: row for row in found["results"]}
    assert found["source_shares"]["cat"] == pytest.approx(1 / 11)
    assert found["recommended"] == "consensus"
    assert by_model["consensus"]["recall"]["cat"] > 0.6
    assert not any("of the source's" in str(row["warnings"]) for row in found["results"])
    write(here / "t.csv", sentences(1, ["cat", "sea"] * 150, 0))
    _, row, _ = compared(call, "-m", "gcmf")["results"]
    assert row["shares"]["cat"] > 0.4
    (warning,) = row["warnings"]
    assert warning.endswith(" % of the source's; if you know better: --set prior=…")


def test_chinese_texts_work_by_default_and_say_how(call, here):
    rng = random.Random(0)
    for name, half in (("s.csv", slice(0, 4)), ("t.csv", slice(2, 6))):
        labels = ["cat", "sea"] * 20
        rows = [("".join(rng.choices(CHINESE[c][half], k=4)) + "。", c) for c in labels]
        write(here / name, rows)
    code, out, err = call("compare", *FILES, "-m", "lr", "--json")
    assert code == 0, err
    assert "tokens=characters" in err
    assert "note: features are pairs of characters" in err
    assert min(row["accuracy"] for row in json.loads(out)["results"]) > 0.9


def test_where_the_methods_disagree_no_model_is_recommended(call, here):
    """All documents are of one class, and the methods differ in where they cut it."""
    write(here / "t.csv", sentences(1, ["cat"] * 30, 0))
    code, out, err = call("compare", *FILES)
    assert code == 0
    assert " * " not in out
    (last,) = [line for line in err.splitlines() if line.startswith("warning: consensus: ")]
    assert re.search(r"its members agree little \(0\.\d\d, below 0\.7\); label a sample", last)
    found = compared(call, "-m", "tsvm")
    assert found["recommended"] is None
    start = "No model is recommended: the methods agree too little to trust one (0."
    assert found["recommendation"].startswith(start)
    code, out, err = call("predict", *FILES, "--out", "a.csv")
    assert (code, " ".join(out.splitlines())) == (1, found["recommendation"])
    assert err.splitlines()[-1] == (
        "Error: a.csv is not written; name a --model without auto, or --force takes lr."
    )
    assert not (here / "a.csv").exists()
    assert call("predict", *FILES, "--out", "a.csv", "--force")[0] == 0
    assert {row["label"] for row in rows(here / "a.csv")} == {"cat"}


@pytest.mark.parametrize("command", [("compare",), ("predict", "--out", "a.csv")])
@pytest.mark.parametrize("model", [(), ("-m", "cocc")])
def test_shared_documents_are_named(call, here, command, model):
    """From a twentieth of a target on they are a doubt, from nine tenths on it is worthless."""
    shared, other = sentences(0, ["cat", "sea"] * 20, 0), sentences(1, ["cat", "sea"] * 15, 2)
    write(here / "t.csv", shared[:4] + other)
    write(here / "u.csv", other)
    code, _, err = call(*command, *FILES, "--target", "u.csv", *model)
    assert code == 0
    (line,) = [line for line in err.splitlines() if "also in the source" in line]
    assert re.match(r"warning: t\.csv: \d of 34 documents are also in the source \(s\), so ", line)
    write(here / "t.csv", shared[::-1])
    assert call(*command, *FILES, *model)[0] == 1
    assert call(*command, *FILES, *model, "--force")[0] == 0
    write(here / "t.csv", shared)
    code, out, err = call(*command, *FILES, *model, "--force")
    assert (code, out) == (2, "")
    assert (
        "Error: own: domain t has the features of s, document by document, so that any result"
        in err
    )


def test_predict_fits_only_the_reference_and_the_recommended_model(call, here, monkeypatch):
    fit, fitted = compare.models.fit, []

    def noting(name, *arguments, **options):
        fitted.append(name)
        return fit(name, *arguments, **options)

    monkeypatch.setattr(compare.models, "fit", noting)
    assert call("predict", *FILES, "--out", "a.csv")[0] == 0
    assert fitted == ["lr", "consensus"]


def test_no_common_feature_names_the_options(call, here):
    write(here / "t.csv", [(f"zebra{i % 3} zebu", "cat") for i in range(30)])
    code, _, err = call("compare", *FILES, "-m", "lr")
    assert code == 1
    assert "30 of 30 documents share no feature with the source; keep more features: " in err
    assert "--option min_df=1" in err
    (text,) = compared(call, "-m", "lr", "--force")["warnings"]
    assert text.startswith("t.csv: 30 of 30 documents share no feature with the source; ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*FILES, "--text-column", "label", "--label-column", "text"), "is it the right column"),
        ((*FILES, "-m", "gcfm"), "Did you mean 'gcmf'?"),
        ((*FILES, "-m", "lskmtc"), "lskmtc is a clustering model"),
        ((*FILES, "-m", "dtl", "--set", "dtl.q=1"), "unknown parameter of dtl 'q'"),
        ((*FILES, "--out", "a.csv"), "No such option '--out'"),
        ((*FILES, "--label-separator", "|", "-m", "dtl"), "dtl is a transfer model"),
        (("--source", "s.csv"), "Missing option '--target'"),
    ],
)
def test_a_mistake_is_one_line(call, here, arguments, message):
    code, out, err = call("compare", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_python_takes_the_name_of_one_model_and_a_target_without_labels(here):
    write(here / "t.csv", [(text,) for text, _ in sentences(1, ["cat", "sea"] * 15, 2)], ("text",))
    table = api.compare(source="s.csv", target="t.csv", models="lr")
    assert list(table["model"]) == ["lr", "consensus"]
    assert "accuracy" not in table
    for name in ("s.csv", "t.csv"):
        (here / name).write_text((here / name).read_text().replace("text", "body", 1))
    renamed = api.compare(source="s.csv", target="t.csv", models="lr", text="body")
    assert renamed["share cat"].tolist() == table["share cat"].tolist()
    with pytest.raises(UserError, match="Did you mean 'text'"):
        api.compare(source="s.csv", target="t.csv", txt="body")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repeats": 0}, "repeats: expected integer ≥ 1, got 0."),
        ({"params": {"nosuch": {"k": 1}}}, "unknown compared model 'nosuch'. Known: consensus, lr"),
        ({"problem": "no-such-task"}, "expected a problem or the name of a task, or else source"),
        ({"target": ()}, "expected a problem or the name of a task, or else source and target"),
        ({"models": "lskmtc"}, "lskmtc is a clustering model"),
    ],
)
def test_a_mistake_in_python_is_one_line(here, arguments, message):
    given = {"source": "s.csv", "target": "t.csv", "models": "lr"} | arguments
    with pytest.raises(UserError) as error:
        api.compare(**given)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_options_of_files_are_refused_for_a_problem(here):
    with pytest.raises(UserError, match="or else source and target, with options"):
        api.compare("gtl/comp-vs-rec", options={"min_df": 1})


def test_python_returns_a_frame_with_the_recommendation(here):
    table = api.compare(source="s.csv", target="t.csv", models=["gcmf"], params={"gcmf": {"k": 8}})
    assert list(table.model) == ["lr", "gcmf", "consensus"]
    assert table.attrs["recommended"] == "consensus"
    assert table.loc[table.recommended, "model"].tolist() == ["consensus"]
    assert (table["share cat"] + table["share sea"]).round(9).eq(1).all()
    assert table.accuracy.between(0.8, 1).all()


PLACE = {"target": "t", "model": "lr", "recommended": False, "seconds": 1.0, "documents": 300}


def test_numbers_of_many_classes_stay_short():
    assert _by_class([0.1] * 9 + [0.9]) == "10–90"
    line = Line(**PLACE, scored=5, measures={"f1": 0.7954}, deviations={"f1": 0.0012})
    assert _measure(line, "f1", interval=False) == "79.5±0.1"


@pytest.mark.parametrize(
    ("scored", "accuracy", "interval"),
    [
        (50, 0.84, "84.0 [71, 92]"),
        (20, 1.0, "100.0 [84, 100]"),
        (199, 0.5, "50.0 [43, 57]"),
        (200, 0.5, "50.0"),
    ],
)
def test_the_accuracy_on_few_documents_has_a_wilson_interval(scored, accuracy, interval):
    """The numbers are of Wilson's formula: (p + z²/2n ± z √(pq/n + z²/4n²)) / (1 + z²/n)."""
    line = Line(**PLACE, scored=scored, measures={"accuracy": accuracy})
    assert _measure(line, "accuracy", interval=True) == interval
    assert _measure(line, "f1", interval=False) == ""


def test_models_with_the_same_warnings_share_a_line(call, here):
    for name, n in (("s", 26), ("t", 24)):
        lines = [f"{i % 2} {1 + i % 2}:{1 + i % 3}e-5 {3 + i % 2}:1e-5\n" for i in range(n)]
        (here / f"{name}.svm").write_text("".join(lines))
    code, _, err = call("compare", "--source", "s.svm", "--target", "t.svm", "-m", "dtl", "--force")
    assert code == 0, err
    alone, both = (line for line in err.splitlines() if "parameters expect about 1" in line)
    assert alone.startswith("warning: lr: own: view 0: documents have lengths of about")
    assert "; all 24 documents are in one class" in alone
    assert both.startswith("warning: dtl, consensus: own: view 0: documents have lengths of about")
    assert both.endswith(" length one.")


@pytest.fixture
def failing(monkeypatch):
    """Function that makes the fit of a model raise an error."""
    original = compare.models.fit

    def install(model: str, error: Exception) -> None:
        def fit(name, *arguments, **options):
            if name == model:
                raise error
            return original(name, *arguments, **options)

        monkeypatch.setattr(compare.models, "fit", fit)

    return install


def test_a_model_without_memory_loses_its_fit_only(here, failing):
    failing("dtl", MemoryError())
    table = api.compare(source="s.csv", target="t.csv", models=["dtl"])
    assert list(table.model) == ["lr", "dtl", "consensus"]
    assert table.warnings.iloc[1] == ["out of memory; other parameters are given by --set"]


@pytest.fixture
def several(here) -> Path:
    """Files m.csv and n.csv whose documents have one or two labels, and a task of them."""
    for name, seed, number in (("m.csv", 0, 42), ("n.csv", 1, 30)):
        one = sentences(seed, ["cat", "sea"] * (number // 2), 1)
        two = sentences(seed + 50, ["cat", "cat", "sea"] * (number // 3), 1)
        pairs = zip(one, two, strict=True)
        write(here / name, [(f"{a[0]} {b[0]}", f"{a[1]}|{b[1]}") for a, b in pairs])
    (here / "many.yaml").write_text("family: multilabel\nsource: m.csv\ntargets: n.csv\n")
    return here


def test_several_labels_are_compared_without_a_recommendation(call, several):
    files = ("--source", "m.csv", "--target", "n.csv", "--label-separator", "|")
    code, out, _ = call("compare", *files)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[:4]] == [
        "model", "linear-svm", "tram", "ml-knn",
    ]  # fmt: skip
    assert "No model is recommended" in out
    code, out, _ = call("compare", *files[:4], "-m", "linear-svm", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["recommended"] is None
    (line,) = found["results"]
    assert (line["documents"], line["none"]) == (30, 0)
    assert line["f1"] > 0.8
    assert 1 <= found["source_labels"] <= 2


def test_a_task_of_several_labels_is_compared(several):
    table = api.compare("./many.yaml", models="linear-svm")
    assert list(table.model) == ["linear-svm"]
    with pytest.raises(UserError, match="dtl is a transfer model and this is a multilabel"):
        api.compare("./many.yaml", models="dtl")


def test_a_task_without_a_source_is_refused(here):
    (here / "groups.yaml").write_text("family: clustering\ntasks: [s.csv, t.csv]\n")
    with pytest.raises(UserError, match="expected a source with labels and a target to compare"):
        api.compare("./groups.yaml")


def test_several_labels_are_compared_in_python(several):
    table = api.compare(source="m.csv", target="n.csv", models="linear-svm")
    assert list(table.model) == ["linear-svm"]
    assert table.attrs["recommended"] is None
    assert "No model is recommended" in table.attrs["recommendation"]


def test_a_model_without_a_fit_of_several_labels_has_its_reason(call, several, failing):
    failing("tram", ValueError("no neighbours."))
    files = ("--source", "m.csv", "--target", "n.csv")
    code, out, err = call("compare", *files, "-m", "tram")
    assert code == 0, err
    assert out.splitlines()[2].split() == ["tram", "worthless"]
    assert "warning: tram: no neighbours; other parameters are given by --set." in err
    code, out, _ = call("compare", *files, "-m", "tram", "--json")
    row = json.loads(out)["results"][1]
    assert (row["model"], row["seconds"], row["f1"], len(row["warnings"])) == (
        "tram",
        None,
        None,
        1,
    )
