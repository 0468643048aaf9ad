"""Files that looked harmless: each is read right, warned of or refused, and none in silence."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import pandas as pd
import pytest

from transferbench.errors import UserError
from transferbench.own import predictions
from transferbench.own.dialect import Dialect
from transferbench.own.documents import ReadOptions
from transferbench.own.labels import like
from transferbench.own.read import read, with_labels

ROWS = [(f"text number {i}", "ham" if i % 2 else "spam") for i in range(30)]
STRAY = [(f'"{t}' if i == 4 else f'{t}"' if i == 19 else t, n) for i, (t, n) in enumerate(ROWS)]


@pytest.fixture
def reading(tmp_path):
    """Function that reads a text as a file: its labels, and the warnings."""

    def reading(text: str, suffix: str = ".csv", labels: str = "all", **options: str):
        path = Path(tmp_path, f"file{suffix}")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read(path, ReadOptions(**options), labels)
        return found, [str(warning.message) for warning in caught]

    return reading


@pytest.mark.parametrize("gap", range(4))
def test_stray_quotes_are_seen_beside_blank_lines(reading, gap):
    text = "text,label\n" + "".join(f"{t},{n}\n" + "\n" * gap for t, n in STRAY)
    _, warned = reading(text)
    assert any("quotes enclose lines that look like rows" in line for line in warned)


def test_stray_quotes_are_seen_where_last_columns_may_be_missing(reading):
    lines = (f"{t},{n}" + ",," * (i % 3 == 0) for i, (t, n) in enumerate(STRAY))
    _, warned = reading("text,label,,\n" + "\n".join(lines))
    assert any("quotes enclose lines that look like rows" in line for line in warned)


def test_marks_before_the_first_lines_of_joined_files_are_dropped(reading):
    part = '\ufeff"text","label"\n' + "".join(f'"{t}","{n}"\n' for t, n in ROWS)
    found, warned = reading(part + part)
    assert {*found.labels} == {"ham", "spam"}
    assert len(found) == 60
    assert any("the first line is repeated" in line for line in warned)
    assert len(reading("\ufeff" + part)[0]) == 30
    lines = "".join(json.dumps({"text": t, "label": n}) + "\n" for t, n in ROWS)
    assert len(reading(f"{lines}\ufeff{lines}", ".jsonl")[0]) == 60
    svm = "ham 1:1 2:1\nspam 2:1\n"
    assert {*reading(f"\ufeff{svm}\ufeff{svm}", ".svm")[0].labels} == {"ham", "spam"}


@pytest.mark.parametrize("quoting", ["auto", "none"])
def test_a_carriage_return_outside_quotes_divides_no_document(reading, quoting):
    text = "text\n" + "".join(f"{t}\rmore\n" for t, _ in ROWS)
    with pytest.raises(UserError, match=r"file.csv:2: a carriage return stands outside quotes"):
        reading(text, labels="none", quoting=quoting)
    old_mac = "text\r" + "".join(f"{t}\r" for t, _ in ROWS)
    assert len(reading(old_mac, labels="none", quoting=quoting)[0]) == 30


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_what_is_written_is_read_again_with_any_line_end_in_texts(tmp_path, end):
    texts = ["one\rtwo", "one\ntwo", "one\r\ntwo", 'say "x"', "plain"]
    path = tmp_path / "out.csv"
    predictions.write(path, pd.DataFrame({"text": texts, "n": "1"}), Dialect(line_end=end))
    assert read(path).content == texts
    with path.open(newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["text", *texts]


@pytest.mark.parametrize("label", ["\u200b", "\u2800", "\u00a0", "\u3000"])
def test_a_label_of_which_nothing_can_be_seen_is_blank(reading, label):
    with pytest.raises(UserError, match="no label"):
        reading(f"text,label\na,{label}\n")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_texts_with_escapes_are_warned_of(tmp_path, encoding):
    """Also in an encoding that has no escapes."""
    path = tmp_path / "jp.csv"
    path.write_bytes(b"text\n" + "日本語のテキスト\n".encode("iso2022_jp") * 3)
    with pytest.warns(UserWarning, match="6 control characters, first in line 2"):
        read(path, ReadOptions(encoding=encoding))
    assert read(path, ReadOptions(encoding="iso2022_jp")).content == ["日本語のテキスト"] * 3


@pytest.mark.parametrize("encoding", ["punycode", "idna"])
def test_a_codec_for_no_texts_is_refused(reading, encoding):
    with pytest.raises(UserError, match="expected one such as utf-8"):
        reading("text\nä\n", labels="none", encoding=encoding)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("葛城", "葛\U000e0100城"), ("a b", "a  b"), ("İyi", "iyi"), ("KIRMIZI", "kırmızı"),
        ("-1", "−1"), ("don't", "don’t"), ("a-b", "a‐b"), ("ham", ' "ham"'),
    ],
)  # fmt: skip
def test_labels_that_look_alike_are_seen(one, other):
    assert like(one, [other, "x"]) == other


@pytest.mark.parametrize(("blank", "quoting"), [("\n  \n ; \n", "auto"), ("\n \n", "none")])
def test_blank_lines_before_the_names_of_columns_are_skipped(reading, blank, quoting):
    rows = [*ROWS, ('"open', "x")] if quoting == "none" else ROWS
    lines = "".join(f"{text};{label}\n" for text, label in rows)
    found, _ = reading(f"{blank}text;label\n{lines}", quoting=quoting)
    assert [*zip(found.content, found.labels, strict=True)] == rows


def test_a_document_like_the_name_of_its_only_column_is_warned_of(reading):
    found, (warned,) = reading("text\na b\nText\nc d\n", labels="none")
    assert len(found) == 3
    assert "line 3 is like the first line and is read as a document" in warned


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_blank_line_at_the_end_changes_no_verdict_on_paragraphs(reading, end):
    rows = "".join(f'"Dear {i},\n\ncome now\nyours",x\n' for i in range(20))
    found, warned = reading("text,label\n" + rows + end)
    assert (len(found), warned) == (20, [])


@pytest.mark.parametrize("gap", ["\n\n", "  \n  \n"])
def test_stray_quotes_from_the_first_to_the_last_row_are_seen(reading, gap):
    rows = [f'"{ROWS[0][0]}', *(t for t, _ in ROWS[1:-1]), f'{ROWS[-1][0]}"']
    _, warned = reading("text,label\n" + "".join(f"{t},x\n{gap}" for t in rows))
    assert any("quotes enclose lines that look like rows" in line for line in warned)


@pytest.mark.parametrize("quoting", ["auto", "none"])
def test_another_line_end_divides_no_document_of_a_single_column(reading, quoting):
    with pytest.raises(UserError, match=r"file.csv:2: a line feed stands outside quotes"):
        reading("text\r\na\nb\r\nc\r\n", labels="none", quoting=quoting)
    assert len(reading("text,label\r\na,x\nb,y\r\n\n", quoting=quoting)[0]) == 2


@pytest.mark.parametrize("label", ['"', "'"])
def test_a_quote_alone_is_a_label(reading, label):
    found, _ = reading(json.dumps({"text": "a", "label": label}), ".jsonl")
    assert found.labels == [label]


def test_a_mark_in_svmlight_is_no_document(reading):
    found, _ = reading("ham 1:1\n\ufeff\n\ufeff# joined\nspam 2:1\n", ".svm")
    assert found.labels == ["ham", "spam"]


def test_a_file_of_labels_names_no_option_that_it_ignores(reading, tmp_path):
    documents, _ = reading("text\na\n", labels="none")
    path = tmp_path / "labels.csv"
    path.write_text('file,row,label\nfile.csv,1,"ham\n')
    with pytest.raises(UserError, match=r"is not closed; put a value .*, and double its quotes\.$"):
        with_labels([documents], path)


def test_a_model_to_which_source_and_target_look_equal_is_refused_in_one_line(call, tmp_path):
    paths = [tmp_path / "s.csv", tmp_path / "t.csv"]
    for path, end in zip(paths, ("", " !!!"), strict=True):
        path.write_text("text,label\n" + "".join(f"{t}{end},{n}\n" for t, n in ROWS))
    files = ["--source", str(paths[0]), "--target", str(paths[1])]
    code, _, err = call("predict", *files, "-m", "lr", "--out", str(tmp_path / "o.csv"))
    assert code == 2, err
    *_, last = err.splitlines()
    assert last.startswith("Error: ")
    assert "has the features of" in last
