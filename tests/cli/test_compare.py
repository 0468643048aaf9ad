"""`compare`: models beside each other, and a recommendation."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import strict_json
from user_documents import read_csv, sentences, write_csv, write_several

import transferbench
from transferbench import artefacts
from transferbench.cli import _comparison
from transferbench.cli._terminal import echo_sentences
from transferbench.errors import UserError
from transferbench.own import advice, fits, session
from transferbench.own.text import measure
from transferbench.runs import progress

FILES = ("--source", "s.csv", "--target", "t.csv")
MEASURES = (
    "accuracy", "ahead", "ahead_p", "balanced_accuracy", "f1", "recall cat", "recall sea",
    "scored", "seconds",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current folder, with a labelled source and a labelled target.

    The evidence has documents like these.
    """
    monkeypatch.setattr(advice, "MIN_EVIDENCE", 20)
    monkeypatch.setattr(advice, "MAX_DENSITY", 1)
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(tmp_path / "data"))  # of Python
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_csv(folder / "s.csv", sentences(0, 40, 0))
    write_csv(folder / "t.csv", sentences(1, 30, 2))
    return folder


def compared(call, *arguments: str) -> dict:
    """Return what `compare --json` prints."""
    code, out, err = call("compare", *FILES, *arguments, "--json")
    assert code == 0, err
    return strict_json(out)


def test_a_row_for_each_model_and_a_recommendation(call, folder):
    code, out, err = call("compare", *FILES)
    assert code == 0, err
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    heads = "model s shares accuracy f1 balanced over lr recall warnings"
    assert lines[0].split() == heads.split()
    names = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert names == ["lr", "graph-only", "cocc", "svm", "dtl", "tsvm", "consensus"]
    assert [line.split()[0] for line in lines if " * " in line] == ["consensus"]
    why, expect = lines[lines.index("Recommended: consensus.") + 1 :][:2]
    assert why.startswith("Why: its members agree on the class shares (")
    assert re.match(
        r"On the corpora of the evidence it was \d+ to \d+ points of accuracy below", expect
    )
    assert "Evidence without labels: " in call("compare", *FILES, "-m", "lr", "--why")[1]
    assert "Scored on 30 of 30 documents, those with a label; [ ] is the 95 % interval" in out
    assert err.startswith("documents: s.csv 40, t.csv 30; features: ")
    assert "tokens=words" in err


def test_json_has_every_sign_and_measure(call, folder):
    answer = compared(call, "-m", "dtl", "--set", "dtl.k=12", "--set", "consensus.prior=equal")
    assert set(answer) == {"classes", "source_shares", "results", "warnings", "worthless",
                           "recommended", "recommendation", "evidence", "strength",
                           "expected_accuracy"}  # fmt: skip
    assert answer["source_shares"] == {"cat": 0.5, "sea": 0.5}
    assert [row["model"] for row in answer["results"]] == ["lr", "dtl", "consensus"]
    row = answer["results"][1]
    assert row["params"]["k"] == 12
    assert row["share cat"] + row["share sea"] == pytest.approx(1)
    assert row["scored"] == row["documents"] == 30
    for value in (row["accuracy"], row["balanced_accuracy"], row["recall cat"]):
        assert 0.5 <= value <= 1
    assert answer["results"][2]["params"]["prior"] == "equal"
    assert "its class shares are given, and nothing checks them." in answer["recommendation"]


def test_html_also_writes_a_page_which_says_what_the_terminal_says(call, folder):
    arguments = ("compare", *FILES, "-m", "lr", "--html", "a.html")
    code, out, err = call(*arguments)
    assert (code, err.splitlines()[-1]) == (0, "a.html: the page of this comparison")
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert "<h1>Recommended: consensus</h1>" in page
    for line in out[out.index("Why: ") :].splitlines():
        assert line in " ".join(page.split())
    code, out, _ = call(*arguments, "--json")
    assert code == 0
    assert strict_json(out)["recommended"] == "consensus"
    assert [path.name for path in folder.iterdir() if path.suffix != ".csv"] == ["a.html"]


def test_no_label_of_a_target_changes_what_is_recommended(call, folder):
    def without_measures(answer: dict) -> dict:
        rows = [{k: v for k, v in r.items() if k not in MEASURES} for r in answer["results"]]
        return answer | {"results": rows}

    true = compared(call, "-m", "svm")
    texts = [text for text, _ in sentences(1, 30, 2)]
    for rows, head in (
        ([(text, "cat") for text in texts], ("text", "label")),
        ([(text, "") for text in texts], ("text", "label")),
        ([(text,) for text in texts], ("text",)),
    ):
        write_csv(folder / "t.csv", rows, head)
        other = compared(call, "-m", "svm")
        assert without_measures(other) == without_measures(true)
        if "sea" not in {row[-1] for row in rows} and head[-1] == "label" and rows[0][1]:
            assert other["results"][0]["recall sea"] is None  # there is none
    assert "accuracy" not in other["results"][0]


def test_predict_takes_the_recommended_model_and_says_why(call, folder, monkeypatch):
    fit, fitted = fits.models.fit, []

    def noting(name, *arguments, **options):
        fitted.append(name)
        return fit(name, *arguments, **options)

    monkeypatch.setattr(fits.models, "fit", noting)
    code, out, _ = call("predict", *FILES, "-m", "auto", "-m", "svm", "--out", "a.csv")
    *sentence, shares, _, end = out.splitlines()
    assert (code, fitted) == (0, ["lr", "consensus", "svm"])
    said = compared(call, "-m", "lr")["recommendation"]
    assert " ".join(sentence) == said.replace("\n", " ")
    assert shares == "shares by consensus: cat 50 % (source 50), sea 50 % (source 50)"
    assert end == "a.csv: 30 documents"
    rows = read_csv("a.csv")
    columns = ["text", "label", "predicted", "confidence", "agree", "predicted_svm", "note"]
    assert list(rows[0]) == columns
    assert call("predict", *FILES, "-m", "consensus", "--out", "b.csv")[0] == 0
    assert [r["predicted"] for r in read_csv("b.csv")] == [r["predicted"] for r in rows]


def test_without_advice_predict_writes_only_what_is_named_or_forced(call, folder, monkeypatch):
    original = session.Session.compare

    def no_advice(*arguments, **options):
        result = original(*arguments, **options)
        choice = replace(result.choice, model=None, sentences=("No advice: all models differ.",))
        return replace(result, choice=choice)

    monkeypatch.setattr(session.Session, "compare", no_advice)
    code, out, err = call("predict", *FILES, "--out", "a.csv")
    assert (code, out) == (1, "No advice: all models differ.\n")
    assert err.splitlines()[-1] == (
        "Error: a.csv is not written; name a --model without auto, or add --force to use lr."
    )
    assert not (folder / "a.csv").exists()
    named = "predict", *FILES, "-m", "auto", "-m", "svm", "--out", "c.csv"
    code, _, err = call(*named)
    assert (code, err.splitlines()[-1].endswith("or add --force to use svm.")) == (1, True)
    code, out, _ = call(*named, "--force")
    assert (code, "shares by svm: " in out) == (0, True)
    code, out, err = call("compare", *FILES, "-m", "lr")
    assert (code, out.splitlines()[-1]) == (0, "No advice: all models differ.")
    assert not re.search(r"\w \*", out)


@pytest.mark.parametrize(
    ("command", "arguments", "example"),
    [
        ("predict", (*FILES, "--label-separator", "|", "--out", "a.csv"), "linear-svm"),
        ("predict", (*FILES, "-m", "tram", "-m", "auto", "--out", "a.csv"), "linear-svm"),
        ("predict", ("--target", "t.csv", "--clusters", "2", "--out", "a.csv"), "lskmtc"),
        ("compare", ("--target", "t.csv"), "lskmtc"),
    ],
)
def test_where_no_model_is_recommended_one_must_be_named(call, folder, command, arguments, example):
    code, out, err = call(command, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no model is recommended for " in err
    assert f"name one, as in --model {example} " in err


LABEL = (*FILES, "-m", "lr", "--label-sample", "5")


def test_a_sample_to_label_is_random_and_fixed(call, folder):
    assert call("compare", *LABEL)[0] == 0
    assert (folder / "label-these.csv").read_bytes().startswith(codecs.BOM_UTF8)
    sample = read_csv("label-these.csv")
    assert list(sample[0]) == ["file", "row", "text", "label"]
    texts = [row["text"] for row in read_csv("t.csv")]
    numbers = [int(row["row"]) for row in sample]
    assert len({*numbers}) == 5
    assert numbers != sorted(numbers), "who labels the first ones has a random sample"
    assert [row["text"] for row in sample] == [texts[i - 1] for i in numbers]
    assert {(row["file"], row["label"]) for row in sample} == {("t.csv", "")}
    code, _, err = call("compare", *LABEL)
    assert (code, err.count("\n")) == (2, 1)
    assert "--labels label-these.csv exists and may hold labels; name another file." in err
    code, _, err = call("compare", *FILES, "-m", "lr", "--labels", "label-these.csv")
    assert (code, err) == (2, "Error: label-these.csv: its column `label` is empty; fill it in.\n")
    write_csv(folder / "t.csv", [("=cat", "u1"), ("ship", "u2")], ("text", "id"))
    arguments = ("predict", *FILES, "-m", "lr", "--out", "a.csv", "--label-sample", "99")
    assert call(*arguments, "--labels", "all.csv")[0] == 0
    rows = [tuple(row.values()) for row in read_csv("all.csv")]
    assert sorted(rows) == [("t.csv", "1", "'=cat", "u1", ""), ("t.csv", "2", "ship", "u2", "")]


def test_the_users_column_of_labels_is_emptied_whatever_its_case(call, folder):
    write_csv(folder / "t.csv", [("a cat", "cat"), ("a ship", "sea")], ("text", "Label"))
    assert call("compare", *LABEL)[0] == 0
    sample = read_csv("label-these.csv")
    assert list(sample[0]) == ["file", "row", "text", "Label"]
    assert {row["Label"] for row in sample} == {""}


@pytest.fixture
def labelled(call, folder, monkeypatch) -> list[dict[str, str]]:
    """Twelve rows of t.csv, which has no labels now; label-these.csv has them. Fits are kept."""
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0)
    full = read_csv("t.csv")
    write_csv(folder / "t.csv", [(row["text"],) for row in full], ("text",))
    assert call("compare", *LABEL[:-1], "12")[0] == 0
    sample = read_csv("label-these.csv")
    for row in sample:
        row["label"] = full[int(row["row"]) - 1]["label"]
    # As a spreadsheet saves it.
    lines = [";".join(sample[0]), *(";".join(row.values()) for row in sample)]
    (folder / "label-these.csv").write_text("\n".join(lines))
    return [row for i, row in enumerate(full, start=1) if str(i) in {r["row"] for r in sample}]


def test_a_sample_to_label_ends_the_output_and_models_are_compared_only_if_asked(call, folder):
    last = "label-these.csv: 5 documents to label; fill in the column label, then give "
    for more, has_table in (((), False), (("-m", "lr"), True), (("--json",), True)):
        code, out, err = call("compare", *FILES, *more, "--label-sample", "5")
        assert (code, bool(out)) == (0, has_table)
        assert err.splitlines()[-1].startswith(last)
        (folder / "label-these.csv").unlink()


def test_suffixes_in_capitals_are_written(call, folder):
    (folder / "t.csv").rename(folder / "T.CSV")
    files = ("--source", "s.csv", "--target", "T.CSV", "-m", "lr")
    assert call("predict", *files, "--out", "O.CSV")[0] == 0
    assert call("predict", *files, "--out", "O.JSONL")[0] == 0
    assert call("compare", *files, "--html", "P.HTML")[0] == 0
    assert call("compare", *files, "--label-sample", "3", "--labels", "L.CSV")[0] == 0
    assert len(read_csv("O.CSV")) == 30
    assert [len((folder / name).read_bytes()) > 0 for name in ("O.JSONL", "P.HTML", "L.CSV")]


def test_a_long_comparison_says_about_how_long_it_takes(call, folder, monkeypatch):
    monkeypatch.setattr(_comparison, "LONG", 0)
    _, _, err = call("compare", *FILES, "-m", "lr")
    assert "less if fits are saved: 2 models, 2 classes, 70 documents" in err
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert "less if fits" not in call("compare", *FILES, "-m", "lr")[2]


def test_a_pipe_gets_lines_of_progress(call, folder, monkeypatch):
    monkeypatch.setattr(progress, "PERIOD", 0.0)
    _, _, err = call("compare", *FILES, "-m", "lr")
    assert re.search(r"^1/2 runs, about .*: consensus$", err, re.MULTILINE)


def test_blank_texts_are_not_drawn_to_be_labelled(call, folder):
    rows = [(i, "" if i < 10 else f"a cat {i}", "") for i in range(20)]
    write_csv(folder / "t.csv", rows, ("id", "text", "label"))
    _, _, err = call("compare", *LABEL[:-1], "20")
    assert "10 documents without a text cannot be drawn" in err
    assert all(row["text"] for row in read_csv("label-these.csv"))


def test_the_filled_in_sample_trains_and_chooses_the_model(call, folder, labelled):
    answer = compared(call, "-m", "lr", "--labels", "label-these.csv")
    lr, best = answer["results"]
    assert (answer["recommended"], answer["strength"]) == ("consensus", "weak")  # 12 are few
    assert (best["recommended"], best["scored"], best["documents"]) == (True, 12, 30)
    assert {row["untrained"] for row in (lr, best)} <= {i / 12 for i in range(13)}
    expected, low, high = answer["expected_accuracy"]
    assert low < expected <= high
    code, out, _ = call("compare", *FILES, "-m", "lr", "--labels", "label-these.csv")
    assert code == 0
    assert out.split("\n")[0].split()[3:5] == ["accuracy", "untrained"]
    assert "trained on the other four fifths of the sample" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100
    table = transferbench.compare(
        source="s.csv", target="t.csv", models="lr", labels="label-these.csv", label_weight=500
    )
    assert table["untrained"].tolist() == [lr["untrained"], best["untrained"]]
    with pytest.raises(UserError, match="label_weight weighs the labels of a sample; expected"):
        transferbench.compare(source="s.csv", target="t.csv", label_weight=2.0)


def test_predict_takes_the_sample_keeps_its_labels_and_notes_that_it_is_small(
    call, folder, labelled
):
    arguments = "predict", *FILES, "--labels", "label-these.csv", "--out", "a.csv", "--scores"
    code, out, err = call(*arguments)
    assert (code, out.splitlines()[0]) == (0, "Weakly recommended: consensus.")
    assert "of 12 labelled documents" in out
    assert "note: the recommendation is weak; label more documents:" in err
    code, out, _ = call(*arguments, "-m", "svm")
    assert code == 0
    assert re.search(
        r"svm: expect an accuracy of \d+ % on the unlabelled documents \(95 % interval: \d+ to \d+",
        " ".join(out.split()),
    )
    same = "predict", *FILES, "--labels", "label-these.csv", "--out", "label-these.csv"
    before = (folder / "label-these.csv").read_bytes()
    code, _, err = call(*same)
    assert (code, "is one of the files to read or write" in err) == (2, True)
    assert (folder / "label-these.csv").read_bytes() == before
    for more in (("--label-separator", "|", "-m", "linear-svm"), ("--label-weight", "1e9")):
        code, _, err = call(
            "predict", *FILES, "--labels", "label-these.csv", "--out", "b.csv", *more
        )
        assert (code, err.count("\n")) == (2, 1), err
    by_text = {row["text"]: row for row in read_csv("a.csv")}
    for row in labelled:
        found = by_text[row["text"]]
        of_user = (found["predicted"], found["confidence"], found["note"])
        assert of_user == (row["label"], "1.0", "your label")
    assert sum(row["note"] == "your label" for row in by_text.values()) == len(labelled)
    assert {float(row["score_cat"]) + float(row["score_sea"]) for row in by_text.values()}


def test_a_second_command_on_the_same_files_fits_nothing(call, folder, monkeypatch):
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0)
    assert call("compare", *FILES, "-m", "lr")[0] == 0

    def fail(*arguments, **options):
        raise AssertionError("it was fitted again")

    monkeypatch.setattr(fits.models, "fit", fail)
    code, out, err = call("predict", *FILES, "--out", "a.csv")
    assert (code, out.splitlines()[0]) == (0, "Recommended: consensus."), err
    assert len(read_csv("a.csv")) == 30


def test_large_files_are_chosen_on_a_part_and_fitted_whole(call, folder, monkeypatch):
    monkeypatch.setattr(session, "MAX_EVIDENCE", 29)
    monkeypatch.setattr(session, "PART", 24)
    code, _, err = call("predict", *FILES, "--out", "a.csv")
    assert code == 0, err
    assert "note: the model is chosen on random documents: 40 of s, 24 of t." in err
    assert len(read_csv("a.csv")) == 30
    assert compared(call)["results"][0]["documents"] == 24
    assert compared(call, "-m", "lr")["results"][0]["documents"] == 30  # as it is named


def test_a_weak_recommendation_is_written_with_a_note(call, folder, monkeypatch):
    monkeypatch.setattr(advice, "MIN_EVIDENCE", 31)
    code, out, err = call("predict", *FILES, "--out", "a.csv")
    assert (code, out.splitlines()[0]) == (0, "Weakly recommended: consensus.")
    assert "Why: a domain has 30 documents, the evidence has 31 to 10,033." in out
    assert "note: the recommendation is weak; label a sample" in err
    assert (folder / "a.csv").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,row,label\nt.csv,31,cat\n", ":2: row 31 of t.csv is none of its documents; corr"),
        ("file,row,label\nz.csv,1,cat\n", ":2: row 1 of z.csv is no document of a target; name"),
        ("file,row,label\nt.csv,30,dog\n", "unknown label 'dog'. Known: cat, sea."),
        ("file,row\nt.csv,30\n", ":1: no column 'label' among 'file', 'row'"),
        ("text,label\na,cat\n", ":1: no column 'file'; expected a sample of documents"),
        ("file,row,label\nt.csv,30,cat\nt.csv,30,sea\n", ":3: row 30 is there twice in t.csv"),
        ("file,row,text,label\nt.csv,30,other,cat\n", ":2: row 30 has another text now in t.csv"),
        ("", "labels.csv: the file is empty; expected documents."),
    ],
)
def test_a_file_of_other_labels_is_refused_in_one_line(call, folder, text, message):
    (folder / "labels.csv").write_text(text)
    code, out, err = call("compare", *FILES, "-m", "lr", "--labels", "labels.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*FILES, "--text-column", "label", "--label-column", "text"), "is it the right column"),
        ((*FILES, "-m", "lskmtc"), "lskmtc is a clustering model"),
        ((*FILES, "-m", "dtl", "--set", "dlt.q=1"), "Did you mean 'dtl'?"),
        ((*FILES, "--out", "a.csv"), "No such option '--out'"),
        ((*FILES, "--label-separator", "|", "-m", "dtl"), "dtl is a transfer model"),
        (("--source", "s.csv"), "Missing option '--target'"),
        ((*LABEL, "--labels", "t.csv"), "t.csv is one of the files to read or write; choose"),
        ((*LABEL, "--labels", "no/a.csv"), "no file can be written there; name another place."),
        ((*LABEL, "--labels", "a.jsonl"), "expected a name that ends in .csv."),
        ((*FILES, "--html", "t.csv"), "--html t.csv: expected a name that ends in .html or .htm."),
        ((*FILES, "--target", "s.html", "--html", "./s.html"), "is one of the files to read or w"),
        ((*FILES, "--html", "no/a.html"), "no file can be written there; name another place."),
        ((*FILES, "--label-weight", "2"), "--label-weight weighs the labels of a sample; name its"),
    ],
)
def test_a_mistake_is_one_line(call, folder, arguments, message):
    code, out, err = call("compare", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_python_returns_a_frame_with_the_recommendation(folder):
    table = transferbench.compare(
        source="s.csv", target="t.csv", models="gcmf", params={"gcmf": {"k": 8}}
    )
    assert list(table.model) == ["lr", "gcmf", "consensus"]
    assert table.attrs["recommended"] == table.choice.model == "consensus"
    assert "\n".join(table.choice.sentences) == table.attrs["recommendation"]
    assert (table.choice.strength, table.choice.accuracy) == (table.attrs["strength"], None)
    assert table.loc[table.recommended, "model"].tolist() == ["consensus"]
    assert (table["share cat"] + table["share sea"]).round(9).eq(1).all()
    assert table.accuracy.between(0.8, 1).all()
    for name in ("s.csv", "t.csv"):
        (folder / name).write_text((folder / name).read_text().replace("text", "body", 1))
    renamed = transferbench.compare(source="s.csv", target="t.csv", models="lr", text="body")
    assert renamed["share cat"].iloc[0] == table["share cat"].iloc[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"repeats": 0}, "repeats: expected integer ≥ 1, got 0."),
        ({"params": {"nosuch": {"k": 1}}}, "unknown compared model 'nosuch'. Known: consensus, lr"),
        ({"problem": "no-such-task"}, "expected a problem or the name of a task, or else source"),
        ({"models": "lskmtc"}, "lskmtc is a clustering model"),
        ({"txt": "body"}, "unknown parameter of compare 'txt'. Did you mean 'text'?"),
    ],
)
def test_a_mistake_in_python_is_one_line(folder, arguments, message):
    with pytest.raises(UserError) as error:
        transferbench.compare(**{"source": "s.csv", "target": "t.csv", "models": "lr"} | arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("scored", "accuracy", "interval"),
    [(50, 0.84, "84.0 [71, 92]"), (20, 1.0, "100.0 [84, 100]"), (200, 0.5, "50.0")],
)
def test_the_accuracy_on_few_documents_has_a_wilson_interval(scored, accuracy, interval):
    """The numbers are of Wilson's formula: (p + z²/2n ± z √(pq/n + z²/4n²)) / (1 + z²/n)."""
    row = {"scored": scored, "accuracy": accuracy}
    assert measure(row, "accuracy", interval=True) == interval
    assert measure(row, "f1", interval=False) == ""


@pytest.fixture
def failing(monkeypatch):
    """Function that makes the fit of a model raise an error."""
    original = fits.models.fit

    def install(model: str, error: Exception) -> None:
        def fit(name, *arguments, **options):
            if name == model:
                raise error
            return original(name, *arguments, **options)

        monkeypatch.setattr(fits.models, "fit", fit)

    return install


def test_a_model_without_memory_loses_its_fit_only(folder, failing):
    failing("consensus", MemoryError())
    table = transferbench.compare(source="s.csv", target="t.csv", models=["lr"])
    assert table.warnings.iloc[1] == ["out of memory; give other parameters"]


def test_the_error_of_a_users_model_loses_its_fit_only(call, folder):
    (folder / "mine.py").write_text("def fit(problem):\n    raise KeyError('x')\n")
    code, out, err = call("compare", *FILES[:4], "-m", "mine.py", "-m", "lr")
    assert code == 0, err
    assert "its code ended with KeyError: 'x'" in out + err


@pytest.fixture
def several(folder) -> Path:
    """Files m.csv and n.csv whose documents have one or two labels, and a task of them."""
    write_several(folder / "m.csv", 0, 42)
    write_several(folder / "n.csv", 1, 30)
    (folder / "many.yaml").write_text("family: multilabel\nsource: m.csv\ntargets: n.csv\n")
    return folder


def test_several_labels_are_compared_without_a_recommendation(call, several, failing):
    failing("tram", ValueError("no neighbours."))
    files = ("--source", "m.csv", "--target", "n.csv", "--label-separator", "|")
    code, out, err = call("compare", *files)
    assert code == 0
    first, _, tram, last = (line.split() for line in out.splitlines()[:4])
    assert (first[0], tram, last[0]) == ("model", ["tram", "worthless"], "ml-knn")
    assert "Recommended: no model." in out
    assert "warning: tram: no neighbours; give other parameters." in err
    code, out, _ = call("compare", *files[:4], "-m", "linear-svm", "-m", "tram", "--json")
    answer = json.loads(out)
    assert (code, answer["recommended"]) == (0, None)
    row, failed = answer["results"]
    assert (row["documents"], row["none"], row["f1"] > 0.8) == (30, 0, True)
    assert (failed["seconds"], failed["f1"], len(failed["warnings"])) == (None, None, 1)


def test_tasks_are_compared_in_python(several):
    table = transferbench.compare("./many.yaml", models="linear-svm")
    assert list(table.model) == ["linear-svm"]
    assert "Recommended: no model." in table.attrs["recommendation"]
    with pytest.raises(UserError, match="dtl is a transfer model and this is a multilabel"):
        transferbench.compare("./many.yaml", models="dtl")
    with pytest.raises(UserError, match="or else source and target, with options"):
        transferbench.compare("./many.yaml", options={"min_df": 1})
    (several / "groups.yaml").write_text("family: clustering\ntasks: [s.csv, t.csv]\n")
    with pytest.raises(UserError, match="expected a source with labels and a target to compare"):
        transferbench.compare("./groups.yaml")


def test_an_option_in_a_sentence_stays_in_one_line(capsys):
    for length in range(80, 100):
        echo_sentences(f"{'a' * length} try --label-weight 1")
        assert "--label-weight" in capsys.readouterr().out
