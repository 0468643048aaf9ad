"""Topics of documents without labels, side by side in domains."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import ROOT
from sklearn.decomposition import NMF
from user_documents import read_csv, write_csv, write_jsonl

from transferbench import tasks
from transferbench.api import settings
from transferbench.own import corpus
from transferbench.topics import compare_numbers, find_topics

THEMES = {
    "delivery": "parcel courier driver depot doorstep tracking",
    "money": "refund invoice payment account bank charge",
    "app": "login password update screen button crash",
    "paper": "catalogue leaflet stamp envelope postcard printer",
}
COMMON = ["the", "of", "and", "you", "with", "for", "that", "this"]
OLD, NEW = ["delivery", "money", "paper"], ["delivery", "money", "app"]


def texts(seed: int, themes: list[str], n: int = 90) -> list[str]:
    """Return texts of five words of a theme, which take turns, and three common ones."""
    rng = random.Random(seed)
    return [
        " ".join(rng.choices(THEMES[themes[i % len(themes)]].split(), k=5) + rng.sample(COMMON, 3))
        for i in range(n)
    ]


def weighted(*domains: list[str]) -> tuple[list[sp.csr_array], np.ndarray]:
    """Return weighted words of each domain, and the words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words=COMMON)
    X = sp.csr_array(vectorizer.fit_transform([t for domain in domains for t in domain]))
    ends = np.cumsum([0, *map(len, domains)])
    parts = [X[a:b] for a, b in pairwise(ends)]
    return parts, vectorizer.get_feature_names_out()


def found(k: int = 4, **options):
    (old, new), words = weighted(texts(1, OLD), texts(2, NEW))
    return find_topics({"old": old, "new": new}, words, k, **options)


def theme_of(words) -> str:
    (name,) = [name for name, of in THEMES.items() if {*words} <= {*of.split()}]
    return name


def test_planted_topics_are_found_and_named_where_they_live():
    topics = found(words=5)
    assert sorted(theme_of(topic.words) for topic in topics.topics) == sorted(THEMES)
    (gained,), (lost,) = topics.only_in("new", "old"), topics.only_in("old", "new")
    assert (theme_of(gained.words), theme_of(lost.words)) == ("app", "paper")
    assert gained.differences["new"].low > 0 > lost.differences["new"].high
    assert gained.name == f"{gained.number} {', '.join(gained.words[:3])}"
    for name in ("old", "new"):
        assert sum(topic.shares[name] for topic in topics.topics) == pytest.approx(1)
        assert sum(topic.mean_shares[name] for topic in topics.topics) == pytest.approx(1)


def test_shares_are_the_parts_of_the_factorisation_that_scikit_learn_finds():
    (old, new), words = weighted(texts(1, OLD), texts(2, NEW))
    topics = found()
    model = NMF(4, random_state=0)
    W = model.fit_transform(sp.csr_matrix(sp.vstack([old, new])))
    parts = np.einsum("ij,jw->ij", W, model.components_)
    shares = parts / parts.sum(axis=1, keepdims=True)
    together = np.vstack([topics.shares["old"], topics.shares["new"]])
    order = np.argsort(-(shares[:90].mean(axis=0) + shares[90:].mean(axis=0)))
    np.testing.assert_allclose(together, shares[:, order], atol=1e-10)
    for topic, j in zip(topics.topics, order, strict=True):
        component = model.components_[j] / model.components_[j].sum()
        expected = [component[list(words).index(word)] for word in topic.words]
        np.testing.assert_allclose(topic.weights, expected)
        assert topic.mean_shares["new"] == pytest.approx(shares[90:, j].mean())
        assert topic.shares["new"] == np.mean(shares[90:].argmax(axis=1) == j)


def test_the_same_seed_gives_the_same_topics():
    one, two = found(seed=3), found(seed=3)
    assert one.topics == two.topics
    assert all((one.shares[name] == two.shares[name]).all() for name in one.shares)


def test_no_topic_is_named_as_lacking_between_two_halves_of_one_corpus():
    """The intervals of all topics together miss 0 in at most about 5 per cent of the draws."""
    (X,), words = weighted(texts(3, [*THEMES], 300))
    missed = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).permutation(300)
        halves = {"one": X[rows[:150]], "two": X[rows[150:]]}
        topics = find_topics(halves, words, 4)
        assert not topics.only_in("one", "two") + topics.only_in("two", "one")
        ends = [topic.differences["two"] for topic in topics.topics]
        missed += any(of.low > 0 or of.high < 0 for of in ends)
    assert missed <= 6  # more has a probability of 0.4 % at 5 %


def test_the_interval_is_welchs_for_all_topics_together_if_the_variances_are_equal():
    from scipy.stats import ttest_ind

    first = np.random.default_rng(0).random((30, 4))
    other = np.vstack([first, first]) + 0.1
    other[:30] = other[:30].mean(axis=0) + (other[:30] - other[:30].mean(axis=0)) * 1.4
    for of in (first + 0.1, other):  # of equal and of larger variance
        ((value, low, high),) = corpus._differences([first, of])
        test = ttest_ind(of, first, equal_var=False).confidence_interval(1 - 0.05 / 4)
        np.testing.assert_allclose(value, of.mean(axis=0) - first.mean(axis=0))
        if of is other:
            assert (low < test.low).all()
            assert (high > test.high).all()
        else:
            np.testing.assert_allclose([low, high], [test.low, test.high])


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 60, 600])
def test_intervals_of_parts_of_one_skewed_corpus_seldom_miss_the_truth(size):
    """Shares are mostly 0 with a few large ones; a small part may have none of the large ones."""
    rng = np.random.default_rng(0)
    shares = rng.gamma(0.15, 1, (1200, 12))
    shares /= shares.sum(axis=1, keepdims=True)
    missed = 0
    for _ in range(100):
        rows = rng.permutation(1200)
        ((_, low, high),) = corpus._differences([shares[rows[size:]], shares[rows[:size]]])
        missed += bool(((low > 0) | (high < 0)).any())
    assert missed <= 12  # more has a probability of .1 % at 5 %


def test_coherence_is_that_of_the_domain_with_the_largest_share():
    (old, new), words = weighted(texts(1, OLD), texts(2, NEW))
    domains = {"old": old, "new": new}
    index = {word: w for w, word in enumerate(words)}
    for topic in find_topics(domains, words, 4).topics:
        lives = domains[max(domains, key=topic.shares.__getitem__)]
        occurs = sp.csc_array(lives > 0)[:, [index[word] for word in topic.words]]
        assert topic.coherence == pytest.approx(corpus.coherence_of(sp.csc_array(occurs)))


def test_a_small_domain_has_topics_of_its_own():
    (old, new), words = weighted(texts(1, OLD, 600), texts(2, NEW, 60))
    topics = find_topics({"old": old, "new": new}, words, 4, words=5)
    (gained,) = topics.only_in("new", "old")
    assert theme_of(gained.words) == "app"


def test_the_order_of_documents_and_features_and_the_other_domain_first_change_nothing():
    (old, new), words = weighted(texts(1, OLD), texts(2, NEW))
    topics = find_topics({"old": old, "new": new}, words, 4, words=5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(90), rng.permutation(len(words))
    again = find_topics(
        {"new": new[rows][:, columns], "old": old[:, columns]}, words[columns], 4, words=5
    )
    ones, twos = ({theme_of(t.words): t for t in of.topics} for of in (topics, again))
    for theme, one in ones.items():
        two = twos[theme]
        assert {*one.words} == {*two.words}
        assert one.shares == pytest.approx(two.shares, abs=1e-3)
        low, high = one.differences["new"][1:]
        assert two.differences["old"][1:] == pytest.approx((-high, -low), abs=1e-3)
    gained, again_gained = (of.only_in("new", "old") for of in (topics, again))
    assert gained
    assert [theme_of(t.words) for t in gained] == [theme_of(t.words) for t in again_gained]


def test_typical_documents_are_long_enough_and_have_the_largest_shares():
    short = ["parcel", "refund"]
    (X,), words = weighted([*texts(1, OLD), *short])
    topics = find_topics({"all": X}, words, 3, typical=200)
    lengths = np.diff(X.indptr)
    for j, topic in enumerate(topics.topics):
        rows = [*topic.typical["all"]]
        assert not {90, 91} & {*rows}
        assert (lengths[rows] >= np.median(lengths) / 2).all()
        shares = topics.shares["all"][rows, j]
        assert (np.diff(shares) <= 0).all()
        assert not topic.differences


def test_a_document_without_a_word_has_no_topic_and_does_not_count():
    (X,), words = weighted(texts(1, OLD))
    empty = sp.csr_array(sp.vstack([X, sp.csr_array((5, X.shape[1]))]))
    topics, without = (find_topics({"all": of}, words, 3) for of in (empty, X))
    assert not topics.shares["all"][90:].any()
    for one, two in zip(topics.topics, without.topics, strict=True):
        assert one.shares["all"] == pytest.approx(two.shares["all"], abs=1e-4)
    frame = topics.documents_frame()
    assert frame["topic"].tolist()[90:] == [""] * 5
    table = topics.shares_frame()
    assert table.drop(columns=["domain", "row"])[90:].isna().all(axis=None)
    for topic in topics.topics:
        mean = table[f"topic {topic.number}"].mean()
        assert mean == pytest.approx(topic.mean_shares["all"])
    assert frame["row"].tolist() == [*range(1, 96)]


def test_more_topics_than_words_or_documents_are_refused():
    (X,), words = weighted(texts(1, OLD, 12))
    with pytest.raises(ValueError, match="only 12 different words or documents"):
        find_topics({"all": X}, words, 13)


def test_the_planted_number_of_topics_is_the_best_and_the_most_stable():
    (old, new), words = weighted(texts(1, OLD, 150), texts(2, NEW, 150))
    numbers = compare_numbers({"old": old, "new": new}, words, (4, 7, 9), words=5)
    assert [number.k for number in numbers] == [4, 7, 9]
    best = corpus.choose_number(numbers)
    assert best.k == 4
    assert numbers[2].stability < best.stability
    assert numbers[2].found.alike()
    assert not best.found.alike()


def test_topics_of_function_words_are_marked():
    rng = random.Random(0)
    plain = [" ".join(rng.sample(COMMON, 6)) for _ in range(40)]
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    X = sp.csr_array(vectorizer.fit_transform([*texts(1, OLD), *plain]))
    topics = find_topics({"all": X}, vectorizer.get_feature_names_out(), 4, words=5)
    marked = [topic for topic in topics.topics if topic.is_function]
    assert marked
    assert all(2 * len({*t.words} & {*COMMON}) > len(t.words) for t in marked)
    assert not any({*t.words} <= {*COMMON} for t in topics.topics if not t.is_function)


def write_files(folder: Path) -> tuple[str, ...]:
    """Write old.csv and new.csv, and return the arguments that name them."""
    for name, seed, themes in (("old", 1, OLD), ("new", 2, NEW)):
        of_file = texts(seed, themes)
        rows = [(f"{name}-{i}", text, "=x") for i, text in enumerate(of_file)]
        write_csv(folder / f"{name}.csv", rows, ("id", "text", "label"))
    targets = (str(folder / "old.csv"), str(folder / "new.csv"))
    return ("--target", targets[0], "--target", targets[1])


def test_files_without_labels_have_topics_side_by_side(call, tmp_path):
    files = write_files(tmp_path)
    code, out, err = call("topics", *files, "--k", "4", "--documents", "1")
    assert (code, "90" in err) == (0, True)
    said = " ".join(out.split())
    gained = re.search(r"new has, old lacks: (.*?)\. old has, new lacks: (.*?)\. ", said)
    assert gained is not None
    first, second = (re.sub(r"^\d+ | \(.*", "", of).split(", ") for of in gained.groups())
    assert (theme_of(first), theme_of(second)) == ("app", "paper")
    assert re.search(r"^    new\.csv, row \d+ \(\d+ %\): ", out, re.MULTILINE)
    code, out, _ = call("topics", *files, "--k", "4", "--json")
    answer = json.loads(out)
    assert (code, answer["k"], len(answer["topics"])) == (0, 4, 4)
    table = tmp_path / "topics.csv"
    assert call("topics", *files, "--k", "4", "--csv", str(table))[0] == 0
    for row, topic in zip(read_csv(table), answer["topics"], strict=True):
        assert row["typical new"] == " ".join(map(str, topic["typical"]["new"]))
        difference = topic["differences"]["new"]
        assert float(row["low new"]) == pytest.approx(difference["low"], abs=1e-3)
    assert answer["quality"]["diversity"] == pytest.approx(
        len({w for t in answer["topics"] for w in t["words"]}) / 40
    )


def test_labels_are_not_read(call, tmp_path):
    files = write_files(tmp_path)
    _, before, _ = call("topics", *files, "--k", "4")
    for name in ("old", "new"):
        path = tmp_path / f"{name}.csv"
        rows = [(row["id"], row["text"], i % 3) for i, row in enumerate(read_csv(path))]
        write_csv(path, rows, ("id", "text", "label"))
    assert call("topics", *files, "--k", "4")[1] == before
    source = ("--source", files[1], "--target", files[3])
    assert call("topics", *source, "--k", "4")[1] == before


def test_tables_of_documents_join_the_users_files(call, tmp_path):
    files = write_files(tmp_path)
    shares, largest, table = (tmp_path / f"{name}-out.csv" for name in ("s", "d", "t"))
    outputs = ("--shares", str(shares), "--by-document", str(largest), "--csv", str(table))
    assert call("topics", *files, "--k", "4", *outputs)[0] == 0
    topics = pd.read_csv(table)
    of_document, all_shares = pd.read_csv(largest), pd.read_csv(shares)
    assert [*of_document] == ["domain", "file", "row", "id", "label", "topic", "share", "words"]
    assert [*all_shares][:5] == ["domain", "file", "row", "id", "label"]
    users = pd.concat(pd.read_csv(f).assign(file=f, row=range(1, 91)) for f in (files[1], files[3]))
    joined = of_document.merge(users, on=["file", "row", "id", "label"])
    assert len(joined) == 180
    columns = [f"topic {number}" for number in topics["topic"]]
    np.testing.assert_allclose(all_shares[columns].sum(axis=1), 1, atol=1e-4)
    assert all_shares[columns].max(axis=1).tolist() == of_document["share"].tolist()
    for domain in ("old", "new"):
        means = all_shares[all_shares["domain"] == domain][columns].mean()
        assert topics[f"mean share {domain}"].tolist() == pytest.approx(means.tolist(), abs=1e-3)
        counts = of_document[of_document["domain"] == domain]["topic"].value_counts() / 90
        expected = [counts.get(number, 0) for number in topics["topic"]]
        assert topics[f"share {domain}"].tolist() == pytest.approx(expected, abs=1e-3)
        rows = topics[f"typical {domain}"].dropna().astype(str).str.split().explode().astype(int)
        assert rows.between(1, 90).all()


def test_the_users_columns_stay_beside_ours(call, tmp_path):
    """A nested text stays in its object, and each file loses its own column of texts alone."""
    rows = [(i, {"body": text, "by": "x"}, "mine") for i, text in enumerate(texts(1, OLD))]
    file = write_jsonl(tmp_path / "old.jsonl", rows, ("id", "doc", "topic"))
    largest = tmp_path / "out.csv"
    arguments = ("--target", str(file), "--text-column", "doc.body", "--k", "3")
    assert call("topics", *arguments, "--by-document", str(largest))[0] == 0
    table = pd.read_csv(largest)
    assert [*table][:6] == ["domain", "file", "row", "id", "doc", "your topic"]
    assert table["your topic"].unique().tolist() == ["mine"]
    assert json.loads(table["doc"][0])["by"] == "x"
    rows = [(text, "b") for text in texts(1, OLD)]
    one = write_csv(tmp_path / "one.csv", rows, ("body", "text"))
    two = write_csv(tmp_path / "two.csv", rows, ("text", "body"))
    named = ("--source", str(one), "--source-text-column", "body", "--target", str(two))
    assert call("topics", *named, "--k", "3", "--by-document", str(largest))[0] == 0
    table = pd.read_csv(largest)
    assert table["text"][:90].eq("b").all()
    assert table["body"][90:].eq("b").all()
    assert table["text"][90:].isna().all()
    assert table["body"][:90].isna().all()


@pytest.mark.parametrize("flag", ["--csv", "--shares", "--by-document"])
def test_the_file_of_stop_words_is_never_written_over(call, tmp_path, flag):
    files = write_files(tmp_path)
    words = write_csv(tmp_path / "stop.csv", [("the",)], ("of",))
    before = words.read_bytes()
    option = ("--option", f"stop_words={words}")
    code, _, err = call("topics", *files, *option, flag, str(words))
    assert (code, "is one of the files to read" in err, words.read_bytes()) == (2, True, before)
    command = ("predict", "--source", files[1], "--target", files[3], *option)
    code, _, err = call(*command, "-m", "lr", "--out", str(words))
    assert (code, "is one of the files to read" in err, words.read_bytes()) == (2, True, before)


def test_a_document_that_shares_no_word_with_a_topic_has_none():
    (X,), words = weighted([*texts(1, OLD), "bonjour monsieur", "bonjour monsieur"])
    topics = find_topics({"all": X}, words, 2)
    assert not topics.shares["all"][90:].any()
    assert not {90, 91} & {row for topic in topics.topics for row in topic.typical["all"]}


def test_equal_texts_have_a_page_without_a_map(call, tmp_path):
    same = write_csv(tmp_path / "same.csv", [("ball goal team win",)] * 20, ("text",))
    page = tmp_path / "page.html"
    assert call("topics", "--target", str(same), "--k", "1", "--html", str(page))[0] == 0
    assert "Map of the documents" not in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"domains": {}}, "no matrix"),
        ({"features": ["a"]}, "with 1 columns"),
        ({"k": 0}, "k = 0"),
        ({"words": 0}, "words=0"),
        ({"relevance": 2.0}, "relevance=2.0"),
        ({"domains": {"a": -np.eye(30)[:, :24]}}, "0 or more"),
        ({"domains": {"a": np.zeros((9, 24))}}, "only 0 different words"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    (X,), words = weighted(texts(1, [*THEMES]))
    arguments = {"domains": {"all": X}, "features": words, "k": 3} | change
    with pytest.raises(ValueError, match=message):
        find_topics(**arguments)
    topics = find_topics({"one": X[:40], "two": X[40:60], "three": X[60:]}, words, 3)
    for pair in (("two", "three"), ("one", "one"), ("one", "four")):
        with pytest.raises(ValueError, match="'one', the first"):
            topics.only_in(*pair)


def test_stop_words_of_a_file_are_in_no_topic_and_a_note_names_the_option(call, tmp_path):
    files = write_files(tmp_path)
    code, out, err = call("topics", *files, "--k", "6", "--json")
    assert (code, "--option stop_words=english" in err) == (0, True)
    words = tmp_path / "stop.txt"
    words.write_text(", ".join([*COMMON, "PARCEL"]), encoding="utf-8")
    chosen = ("--option", f"stop_words={words}")
    code, out, err = call("topics", *files, "--k", "4", "--json", *chosen)
    left = {word for topic in json.loads(out)["topics"] for word in topic["words"]}
    assert (code, left & {*COMMON, "parcel"}, "say little" in err) == (0, set(), False)
    task = tmp_path / "task.yaml"
    rows = [(text, "ab"[i % 2]) for i, text in enumerate(texts(1, OLD))]
    write_csv(tmp_path / "s.csv", rows)
    task.write_text(
        "source: s.csv\ntargets: [old.csv]\nlabel: label\noptions: {stop_words: stop.txt}\n"
    )
    write_csv(tmp_path / "old.csv", rows[::-1][:60])
    for gone in ("parcel", "refund"):
        words.write_text(gone, encoding="utf-8")
        problem, _ = tasks.load(tasks.Task.parse(str(task)), settings.load())
        assert ({"parcel", "refund"} - {*problem.features}) == {gone}


def test_several_numbers_of_topics_are_compared(call, tmp_path):
    files = write_files(tmp_path)
    page = tmp_path / "page.html"
    stop = tmp_path / "stop.txt"
    stop.write_text(" ".join(COMMON), encoding="utf-8")
    options = ("--option", f"stop_words={stop}", "--words", "5")
    code, out, _ = call("topics", *files, "--k", "4,7,9", *options, "--html", str(page))
    compared = re.findall(r"^(\d) (\*?) +\S+ +\S+ +\S+ +(\S+)$", out, re.MULTILINE)
    assert (code, [k for k, *_ in compared]) == (0, ["4", "7", "9"])
    near = [k for k, _, of in compared if float(of) >= 0.9 * max(float(p) for *_, p in compared)]
    assert [k for k, star, _ in compared if star] == [near[-1]]
    assert "rule of thumb" in " ".join(out.split())
    text = page.read_text("utf-8")
    assert "Number of topics" in text
    assert text.count("<svg") == 2
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    assert "in common" in call("topics", *files, "--k", "9", *options)[2]


def test_one_file_and_many_files_have_topics(call, tmp_path):
    one = write_csv(tmp_path / "one.csv", [(text,) for text in texts(1, OLD)], ("text",))
    code, out, _ = call("topics", "--target", str(one), "--k", "3")
    assert (code, "lacks" in out, "difference" in out) == (0, False, False)
    many = []
    for i in range(5):
        path = tmp_path / f"part{i}.csv"
        many += ["--target", str(write_csv(path, [(t,) for t in texts(i, OLD)], ("text",)))]
    code, out, _ = call("topics", *many, "--k", "3")
    assert (code, "largest" in out, "part0 %" in out) == (0, True, False)


def test_a_task_has_topics_without_a_model(call):
    task = "generated/transfer:documents=80,features=60,words=9"
    code, out, _ = call("topics", task, "--k", "5", "--documents", "1")
    assert (code, "source %" in out) == (0, True)
    assert re.search(r"^    target, document \d+ \(\d+ %\)$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "3"], "expected either a task or files"),
        (["T", "--k", "3"], "is a file; write --target before each file"),
        (["--target", "T", "--k", "0"], "--k: expected"),
        (["--target", "T", "--k", "three"], "--k: expected"),
        (["--target", "T", "--k", "91"], "give a smaller --k"),
        (["--target", "T", "--set", "k=3"], "by --k"),
        (["--target", "T", "--label-separator", "|"], "labels are not read; leave it out"),
        (["--target", "T", "--features", "both"], "topics are made of words"),
        (["--target", "T", "--option", "stop_words=german"], "expected none, english, or a file"),
        (["--target", "T", "--csv", "T"], "is one of the files to read"),
        (["dtl", "--target", "T"], "leave out dtl"),
        (["dtl", "comp-vs-rec", "--k", "3"], "set parameters of dtl by --set"),
        (["lr", "comp-vs-rec"], "leave out the model"),
    ],
)
def test_a_mistake_without_a_model_is_one_line(call, tmp_path, arguments, message):
    path = write_csv(tmp_path / "t.csv", [(text,) for text in texts(1, OLD)], ("text",))
    code, _, err = call("topics", *(str(path) if a == "T" else a for a in arguments))
    (line,) = [
        line for line in err.splitlines() if not line.startswith(("documents: ", "options: "))
    ]
    assert (code, line.startswith("Error: ")) == (2, True)
    assert message in line


def test_the_topics_of_the_example_files_are_those_that_their_texts_were_written_for(call):
    files = [str(ROOT / "docs" / "examples" / f"tickets-{year}.csv") for year in (2024, 2025)]
    arguments = ("--target", files[0], "--target", files[1], "--option", "stop_words=english")
    code, out, _ = call("topics", *arguments, "--k", "5,8,10")
    said = " ".join(out.split())
    gained, lost = re.findall(r"tickets-\d+ has, tickets-\d+ lacks: (.*?)\. ", said)
    assert (code, bool(re.search(r"^8 \*", out, re.MULTILINE))) == (0, True)
    assert {"app", "subscription"} <= {*re.findall(r"\w+", gained)}
    assert "hotline" in lost
    assert not {"station", "parcel", "refund", "battery"} & {*re.findall(r"\w+", gained + lost)}
