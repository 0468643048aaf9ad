"""Labels that look alike are named, and no label is changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from user_documents import CAT, SEA, SOURCE, TARGET, make_documents, refused, write_csv

from transferbench.own.labels import like, warn_of_alike
from transferbench.own.problem import documents_problem
from transferbench.own.read import with_labels


@pytest.mark.parametrize(
    ("one", "others"),
    [
        ("Ham", ["ham", " ham", "HAM ", "ham\u3000", "\uff48\uff41\uff4d", "ham\u200b"]),
        ("STRASSE", ["straße"]), ("да", ["Да", "\ufeffда"]), ("긍정", ["긍정 ", "긍정\u3164"]),
        ("a b", ["a\u00a0b"]), ("caf\u00e9", ["cafe\u0301"]), ("긍", ["\u1100\u1173\u11bc"]),
        ("\ufb01n", ["fin"]), ("xy", ["x\u00ady", "xy\ufe0f"]),
        ("1", ["1.0", "+1", "01", "1e0", "\u0661", "\uff11"]), ("100", ["1e2"]), ("0", ["-0"]),
    ],
)  # fmt: skip
def test_labels_that_look_alike_are_two_classes_and_warned_of_once(one, others):
    for other in others:
        source = make_documents("s.csv", [*CAT, *SEA], [one, other] * 4)
        with pytest.warns(UserWarning, match="differ only by case, blanks, Unicode form") as warned:
            problem, _ = documents_problem([source], [make_documents("t.csv", CAT, [""] * 4)], {})
        assert set(problem.classes) == {one, other}
        assert (len(warned), like(one, [other]), like(one, [one])) == (1, other, "")
        shown = re.findall(r"""('[^']*') is 4 documents of s.csv""", str(warned[0].message))
        assert len({*shown}) == 2


def test_what_cannot_be_seen_is_shown_as_an_escape():
    shown = (("긍정", "긍정 ", "'긍정 '"), ("긍정", "긍정\u200b", r"'긍정\u200b'"),
             ("긍정", "긍정\u3164", r"'긍정\u3164'"), ("é", "e\u0301", r"'e\u0301'"),
             ("да", "Да", "'Да'"))  # fmt: skip
    for one, other, text in shown:
        with pytest.warns(UserWarning, match=f"{re.escape(text)} is 2 documents of s.csv"):
            warn_of_alike({(one, "s.csv"): 1, (other, "s.csv"): 2}, Path("s.csv"))


@pytest.mark.parametrize(
    ("labels", "warned"),
    [
        (["1.1", "1.2", "1.10"], False), (["01.1", "01.10"], False), (["0.5", "0.50"], False),
        (["1", "1.0", "1.1", "1.2"], True), (["1.0", "1.00", "1.1", "1.2"], True),
    ],
)  # fmt: skip
def test_decimal_numbers_of_one_file_are_codes_of_sections(labels, warned, recwarn):
    warn_of_alike({(label, "s.csv"): 1 for label in labels}, Path("s.csv"))
    assert bool(recwarn.list) == warned


def test_another_notation_in_another_file_is_no_code(recwarn):
    of_source = {(label, "s.csv"): 1 for label in ("1.1", "1.2", "1.3")}
    warn_of_alike(of_source | {(f"{label}0", "t.csv"): 1 for label, _ in of_source}, Path("s.csv"))
    assert len(recwarn.list) == 3


@pytest.mark.parametrize(
    "labels",
    [
        ["1e2", "1e3"], ["10", "1"], ["nan", "inf"], ["C#", "C"], ["a.b", "ab"], ["-1", "1"],
        ["0", "1", "-1", "2"], ["1,000", "1"], ["1.5", "15"], ["да", "нет"], ["日", "本"],
        ["9007199254740993", "9007199254740992"], ["v1", "v1.0"], ["2020-01", "202001"], ["é", "e"],
        ["1-5", "15"], ["1e-5", "1e5"], ["a+", "a-"], ["A-", "A"], ["1,5", "15"], ["1_1", "11"],
    ],
)  # fmt: skip
def test_other_labels_are_not_warned_of(labels, recwarn):
    source = make_documents("s.csv", [*CAT, *SEA], (labels * 4)[:8])
    problem, _ = documents_problem([source], [make_documents("t.csv", CAT, [""] * 4)], {})
    assert set(problem.classes) == set(labels)
    assert not recwarn.list


def test_many_groups_are_counted(recwarn):
    counts = {(f"a{i}{end}", "s.csv"): 1 for i in range(7) for end in ("", " ")}
    warn_of_alike(counts, Path("s.csv"))
    assert len(recwarn.list) == 6
    assert "2 more groups of labels look alike" in str(recwarn.list[-1].message)


def test_a_label_of_a_target_that_looks_like_one_of_the_source_is_named():
    target = make_documents("t.csv", CAT, ["cat", "c\u00adat", "sea", ""])
    with refused(r"^t.csv: label .* none of the s.*; 'c\\xadat' differs from 'cat' only by .*: w"):
        documents_problem([SOURCE], [target], {})


#: A target without labels, and the columns of a label file.
UNLABELLED = replace(TARGET, labels=[""] * len(TARGET))
HEAD = ("file", "row", "text", "label")


def test_a_label_file_finds_documents_that_were_moved_by_name_and_text(tmp_path):
    path = write_csv(tmp_path / "l.csv", [("x/t.csv", 1, TARGET.content[0], "cat")], HEAD)
    assert list(with_labels([UNLABELLED], path)[0].labels[:2]) == ["cat", ""]


@pytest.mark.parametrize(
    ("row", "head", "message"),
    [
        (("x/t.csv", 1, "something else", "cat"), HEAD, "row 1 has another text now"),
        (("x/t.csv", 1, "cat"), ("file", "row", "label"), "is no document of a target"),
        (
            ("t.csv", 1, "Cat"),
            ("file", "row", "label"),
            r"l.csv:2: unknown label: 'Cat' differs from 'cat' only by case, .*; write it so\.$",
        ),
    ],
)
def test_a_row_of_a_label_file_that_fits_no_document_or_class_is_refused(
    tmp_path, row, head, message
):
    path = write_csv(tmp_path / "l.csv", [row], head)
    with refused(message):
        with_labels([UNLABELLED], path, classes=("cat", "sea"))


def test_alike_labels_of_source_and_target_are_counted_by_file():
    files = [make_documents(f"{n}.csv", CAT, labels) for n, labels in
             (("s", ["a", "b"] * 2), ("t", ["A", "b", "b", ""]))]  # fmt: skip
    with pytest.warns(UserWarning, match="'A' is 1 document of t.csv; 'a' is 2 documents of s.csv"):
        documents_problem([], files, {"min_df": 1})
