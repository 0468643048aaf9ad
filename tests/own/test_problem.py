"""Problems from the user's own documents; labels of targets never reach a model."""

from __future__ import annotations

import math
import re
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from unicodedata import category, normalize

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from user_documents import (
    CAT,
    SEA,
    SOURCE,
    TARGET,
    domains,
    made_places,
    make_documents,
    refused,
    write_csv,
    write_documents,
    write_jsonl,
)

import transferbench
from transferbench.own import problem as own_problem
from transferbench.own.documents import Documents
from transferbench.own.problem import (
    documents_problem,
    text_features,
    used_options,
    word_pattern,
)


def test_text_weights_follow_the_options():
    """Compare with tf-idf computed here, document by document."""
    built, _ = documents_problem([SOURCE], [TARGET], {"min_df": "3", "stop_words": "english"})
    texts = [re.findall(r"\w\w+", text.lower()) for text in SOURCE.content + TARGET.content]
    df = Counter(word for text in texts for word in set(text))
    vocabulary = sorted(w for w in df if df[w] >= 3 and w not in ("the", "on", "and", "at"))
    assert vocabulary == ["cat", "kitten", "sea"]
    expected = []
    for text in texts:
        row = [text.count(w) * (math.log(12 / (1 + df[w])) + 1) for w in vocabulary]
        length = math.sqrt(sum(x * x for x in row))
        expected.append([x / length if length else 0 for x in row])
    weights = np.vstack([domain.X.toarray() for domain in built.domains])
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    assert built.classes == ("cat", "sea")
    assert [domain.name for domain in built.domains] == ["s", "t"]


def test_target_labels_never_reach_a_model():
    built, truth = documents_problem([SOURCE], [TARGET], {})
    blank, nothing = documents_problem(
        [SOURCE], [make_documents("t.csv", TARGET.content, [""] * 3)], {}
    )
    for one, other in zip(built.domains, blank.domains, strict=True):
        np.testing.assert_array_equal(one.Y, other.Y)
        np.testing.assert_array_equal(one.seen, other.seen)
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    assert not built.targets[0].Y.any()
    np.testing.assert_array_equal(truth.Y[1], [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(truth.scored[1], [True, True, False])
    assert not truth.scored[0].any()
    assert not nothing.scored[1].any()


def test_several_files_keep_their_order_and_get_unique_names():
    one, two = (
        make_documents("a/x.csv", CAT, ["cat"] * 4),
        make_documents("b/x.csv", SEA, ["sea"] * 4),
    )
    built, truth = documents_problem(
        [one, two], [make_documents("c/x.csv", CAT[::-1], ["cat"] * 4), TARGET], {}
    )
    assert truth.names == ("x", "x-2", "x-3", "t")
    assert [domain.seen.all() for domain in built.domains] == [True, True, False, False]
    assert [domain.Y.sum(axis=0).tolist() for domain in built.sources] == [[4, 0], [0, 4]]


def test_without_a_source_the_problem_is_clustering():
    built, truth = documents_problem([], [SOURCE, TARGET], {})
    assert built.family == truth.family == "clustering"
    assert not any(domain.Y.any() or domain.seen.any() for domain in built.domains)
    assert [int(scored.sum()) for scored in truth.scored] == [8, 2]
    built, truth = documents_problem([], [SOURCE, TARGET], {}, clusters=3)
    assert built.classes == ("1", "2", "3")
    assert not any(scored.any() for scored in truth.scored)


def matrix(path: str, X, labels: str = "ab") -> Documents:
    X = sp.csr_array(np.asarray(X, float))
    return Documents(Path(path), X, list(labels), made_places(path, len(labels)), Path(path).suffix)


def test_matrices_of_counts_have_the_defaults_of_texts(tmp_path):
    for name, more in zip("st", ("", "a 1:1\n"), strict=True):
        (tmp_path / f"{name}.svm").write_text(f"a 1:1\nb 1:2 2:10\n{more}")
    files = domains(*(tmp_path / f"{name}.svm" for name in "st"))
    load = partial(own_problem.load, *files, family="transfer", labels="any")
    built, given = load(options={}), load(options={"weighting": "log-tf-idf", "unit_length": True})
    asis = load(options={"weighting": "tf", "unit_length": "false"})
    assert (built.options["weighting"], built.options["unit_length"]) == ("log-tf-idf", True)
    for one, other in zip(built.problem.domains, given.problem.domains, strict=True):
        np.testing.assert_array_equal(one.X.toarray(), other.X.toarray())
    np.testing.assert_array_equal(asis.problem.domains[0].X.toarray(), [[1, 0], [2, 10]])
    binary = matrix("s.npz", np.eye(2))
    assert used_options([binary], {}) == used_options([binary], {"weighting": "log-tf-idf"})


def test_matrices_of_other_numbers_are_unchanged_by_default():
    source = matrix("s.svm", [[0, 2, 0], [0, 0.5, 3]])
    target = matrix("t.svm", [[0, 4], [0, 1], [0, 1]], "aba")
    built, _ = documents_problem([source], [target], {})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[2, 0], [0.5, 3]])
    np.testing.assert_array_equal(built.domains[1].X.toarray(), [[4, 0], [1, 0], [1, 0]])
    built, _ = documents_problem([source], [target], {"unit_length": "true", "min_df": 2})
    np.testing.assert_array_equal(built.domains[0].X.toarray(), [[1], [1]])


NOTHING = make_documents("t.csv", ["zebra", ""], ["", ""])
SVM = matrix("s.svm", np.eye(2))


def labelled(*labels: str) -> Documents:
    """Return documents of a source with these labels, each of which occurs four times."""
    return make_documents("s.csv", CAT * len(labels), [*labels] * 4)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (labelled("cat"), TARGET, {}, "s.csv: the one label 'cat'; expected"),
        (labelled("0", "1"), TARGET, {}, "t.csv: label 'cat' is"),
        (
            make_documents("s.csv", CAT * 3, [*"abcdefghijkk"]),
            TARGET,
            {},
            "11 different labels.*is it the right column",
        ),
        (SOURCE, NOTHING, {}, "t.csv: no feature is left"),
        (make_documents("s.csv", ["", "!"], ["a", "b"]), NOTHING, {}, "no feature is left"),
        (SOURCE, TARGET, {"min_df": 99}, "s.csv: no feature is left of its documents"),
        (SOURCE, TARGET, {"min_fd": 2}, r"Did you mean 'min_df'\?"),
        (SOURCE, TARGET, {"token_pattern": "("}, r"token_pattern '\('"),
        (SOURCE, TARGET, {"token_pattern": "(a)(b)"}, "several groups"),
        (SVM, NOTHING, {}, "t.csv: not like s.svm"),
        (matrix("s.npz", np.eye(2)), matrix("t.npz", np.eye(3)[:2]), {}, "t.npz: 3 features"),
        (SVM, matrix("t.svm", np.eye(2)), {"stop_words": "none"}, "unknown parameter"),
        (matrix("s.svm", np.eye(2) / 9), SVM, {"weighting": "log-tf"}, "in row 0; expected finite"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_documents_that_make_no_problem_are_refused_in_one_line(source, target, options, message):
    with refused(message):
        documents_problem([source], [target], options)


def features_of(texts: list[str], **options) -> set[str]:
    """Return the features of texts, each of which occurs twice."""
    files = [make_documents(f"{name}.csv", texts, ["a", "b"] * len(texts)) for name in "st"]
    return set(text_features(files, **options)[1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी की भाषा", {"हिन्दी", "की", "भाषा"}),
        ("বাংলা", {"বাংলা"}), ("தமிழ்", {"தமிழ்"}), ("తెలుగు", {"తెలుగు"}), ("ਪੰਜਾਬੀ", {"ਪੰਜਾਬੀ"}),
        ("שָׁלוֹם, עוֹלָם", {normalize("NFC", word) for word in ("שָׁלוֹם", "עוֹלָם")}),
        ("كِتَابٌ", {"كِتَابٌ"}), ("می\u200cخواهم", {"می\u200cخواهم"}), ("ක්\u200dර", {"ක්\u200dර"}),
        ("𑄌𑄋𑄴𑄟𑄳𑄦", {"𑄌𑄋𑄴𑄟𑄳𑄦"}), ("𞤆𞤵𞤤𞤢𞥄𞤪", {"𞤆𞤵𞤤𞤢𞥄𞤪".lower()}),
        ("İstanbul istanbul I\u0307stanbul", {"istanbul"}), ("über\u00adsetzen", {"übersetzen"}),
        ("e\u0301te\u0301 été", {"été"}), ("m\u0303a", {"m\u0303a"}),
        ("ab\u200c cd\u200d", {"ab", "cd"}), ("a\u200c b x👩\u200d💻y ab😀cd", {"ab", "cd"}),
    ],
)  # fmt: skip
def test_words_of_any_script_keep_their_marks_and_joiners(text, words):
    assert features_of([text]) == words


def test_every_mark_of_unicode_is_part_of_a_word():
    pattern = re.compile(word_pattern())
    marks = [c for c in map(chr, range(sys.maxunicode + 1)) if category(c).startswith("M")]
    assert len(marks) > 2000
    assert all(pattern.fullmatch(f"a{mark}b") for mark in marks)
    others = [c for c in map(chr, range(0x30000)) if category(c)[0] in "PSZ" and c != "_"]
    assert pattern.findall("ab".join(others)) == ["ab"] * (len(others) - 1)


@given(st.text(st.characters(max_codepoint=0x24F, blacklist_characters="\u00adİ")))
def test_words_of_latin_letters_are_two_or_more_letters_or_digits(text):
    assert re.findall(word_pattern(), text.lower()) == re.findall(r"\w\w+", text.lower())


def test_words_are_found_in_linear_time():
    begin = time.process_time()
    for part in ("a\u200c", "ab" + 40 * "\u200d", "\U00011100", "ab😀", "a\u0301", "\u200d"):
        re.findall(word_pattern(), 30_000 * part)
    assert time.process_time() - begin < 3


def test_documents_that_vowel_signs_tell_apart_are_told_apart():
    """The words of both classes have the same letters, and differ in their vowel signs."""
    words = {"a": ["दिन", "मिल", "चिर", "किल"], "b": ["दीन", "मील", "चीर", "कील"]}
    rng = np.random.default_rng(0)
    labels = ["a", "b"] * 40
    files = [
        make_documents(f"{name}.csv", [" ".join(rng.choice(words[y], 4)) for y in labels], labels)
        for name in "st"
    ]
    problem, truth = documents_problem(files[:1], files[1:], {"characters": 0})
    scores = transferbench.fit("lr", problem).scores[1]
    assert (scores.argmax(axis=1) == truth.Y[1].argmax(axis=1)).all()


def test_a_pattern_of_the_user_is_one_of_python():
    assert features_of(["हिन्दी abc"], token_pattern=r"\w\w+") == {"abc"}


@pytest.mark.parametrize("texts", [["😀😀 🚢🚢", "🚢🚢"], ["a b", "1 2 b"], ["", "!"]])
def test_texts_without_words_name_the_cause_and_other_features(texts):
    files = [make_documents(f"{name}.csv", texts, ["a", "b"]) for name in "st"]
    with refused("^(?!.*token_pattern ').*a word has two or more letters.*tokens=characters"):
        documents_problem(files[:1], files[1:], {})


def test_other_features_of_texts_without_words_work():
    texts = ["😀😀 🚢🚢", "a"]
    assert features_of(texts, tokens="characters") == {"😀😀", "🚢🚢"}
    assert features_of(texts, token_pattern=r"\S+") == {"😀😀", "🚢🚢", "a"}


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        (["猫在垫子上睡觉", "小猫喜欢抓老鼠", "船在海上航行", "海上有大船"], "characters"),
        (["แมวนอนบนเสื่อ", "เรือแล่นในทะเล"], "characters"),
        (["고양이가 매트 위에 있다", "배가 바다에 있다"], "words"),
        ([*CAT, "猫 is a cat"] * 2, "words"),
    ],
    ids=["Chinese", "Thai", "Korean", "English"],
)
def test_the_script_decides_about_words_or_characters(texts, tokens):
    files = [make_documents("s.csv", texts, ["a", "b"] * (len(texts) // 2))]
    assert used_options(files, {})["tokens"] == tokens
    english = make_documents("t.csv", CAT * 9, [""] * 36)
    assert used_options([*files, english], {})["tokens"] == "words"
    assert used_options(files, {"tokens": "words"})["tokens"] == "words"
    assert used_options(files, {"token_pattern": r"\w+"})["tokens"] == "words"


#: Ways to make a target of the documents of a source.
COPIES = {
    "path": lambda source, target: target.mkdir(),
    "link": lambda source, target: target.symlink_to(source),
    "copy": lambda source, target: target.write_bytes(source.read_bytes()),
    "without labels": lambda source, target: write_csv(target, [(t, "") for t in SOURCE.content]),
}


@pytest.mark.parametrize("family", ["transfer", "multilabel"])
@pytest.mark.parametrize("kind", [*COPIES, "other format"])
def test_a_target_with_the_documents_of_the_source_is_refused(tmp_path, kind, family):
    source, target = write_documents(tmp_path / "s.csv"), tmp_path / "t.csv"
    if kind == "other format":
        rows = zip(SOURCE.content, SOURCE.labels, strict=True)
        target = write_jsonl(tmp_path / "t.jsonl", rows)
    else:
        COPIES[kind](source, target)
    if kind == "path":
        target = target / ".." / "s.csv"
    with refused(r"(given twice; name|domain t has the features of s,)"):
        own_problem.load(
            *domains(source, target), family=family, labels="any", options={"min_df": 1}
        )
