"""The page of a comparison: what it shows, what it escapes, and that it loads nothing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from selectolax.lexbor import LexborHTMLParser
from user_documents import sentences, write_csv, write_several

from transferbench.evidence import html
from transferbench.own import document_map
from transferbench.own import page as comparison_page
from transferbench.own import session as sessions
from transferbench.own.compare import Comparison
from transferbench.own.fits import plan_fits
from transferbench.own.session import Session

EVIL = "<script>alert('\"&amp;')</script>"


def compared(
    sources, targets, *names: str, family="transfer", **more
) -> tuple[Session, Comparison]:
    session = Session.from_files(
        list(map(str, sources)), list(map(str, targets)), plan_fits(family, names, {}),
        options={}, **more,
    )  # fmt: skip
    return session, session.compare()


def page(folder: Path, session: Session, comparison: Comparison) -> LexborHTMLParser:
    path = folder / "page.html"
    comparison_page.write(path, session, comparison, session.table(comparison))
    text = path.read_text(encoding="utf-8")
    found = LexborHTMLParser(text)
    assert [node.text(deep=True) for node in found.css("script")] == [html.SCRIPT]
    assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?(https?:|//)", text)
    levels = [int(node.tag[1]) for node in found.css("h1, h2, h3")]
    assert levels[0] == 1
    assert 1 not in levels[1:]
    assert all(table.css_first("caption") for table in found.css("table"))
    ids = [node.attributes["id"] for node in found.css("[id]")]
    assert len(ids) == len(set(ids))
    return found


def titles(found: LexborHTMLParser) -> list[str]:
    """Return the titles of the parts, without that of the warnings."""
    return [text for node in found.css("main > h2") if (text := node.text()) != "Warnings"]


def table_of(found: LexborHTMLParser, caption: str) -> list[list[str]]:
    """Return the cells of the table whose caption begins so, without its heads."""
    for table in found.css("table"):
        if table.css_first("caption").text().startswith(caption):
            return [[n.text() for n in row.css("th, td")] for row in table.css("tbody tr")]
    raise AssertionError(caption)


ALL = [
    "The compared models", "Class shares", "Right and wrong decisions", "Confidence",
    "Map of the documents", "Words that separate the domains", "What was compared",
]  # fmt: skip


@pytest.fixture
def evil(tmp_path) -> tuple[Session, Comparison]:
    """Two targets that differ from the source; names, labels and texts are tags of HTML."""

    def write(name: str, seed: int, word: str) -> Path:
        rows = [
            (f"{text} {word} {EVIL} \x1b\u202e", f"<b>{label}&lt;")
            for text, label in sentences(seed, 40, 0)
        ]
        return write_csv(tmp_path / name, rows)

    source = write("<script>s.csv", 0, "old")
    targets = [write('t"><script>.csv', 1, "new"), write("u&amp;.csv", 2, "other")]
    return compared([source], targets, "lr")


def test_a_page_has_every_section_and_escapes_what_files_contain(tmp_path, evil):
    found = page(tmp_path, *evil)
    assert titles(found) == ALL
    assert found.css_first("title").text() == found.css_first("h1").text()
    text = found.body.text()
    for part in ("<script>s.csv", 't"><script>', "u&amp;", "<b>cat&lt;", EVIL):
        assert part in text
    assert not re.search("[\x1b\u202e]", text)
    captions = [node.text() for node in found.css("caption")]
    assert {f"Words of {name}" for name in ('t"><script>', "u&amp;")} <= {*captions}
    points = [node.text() for node in found.css("svg.picture title")]
    assert len(points) == 2 * 120
    assert any(p.startswith("<script>s.csv, row 1; label: <b>cat&lt;: ") for p in points)
    assert any("; label: <b>sea&lt;; decision: <b>" in p for p in points)


def test_the_tables_have_the_values_of_the_comparison(tmp_path, evil):
    session, comparison = evil
    found = page(tmp_path, session, comparison)
    row = session.table(comparison).to_dict("records")[0]
    name = session.targets[0].path.stem
    matrix = [[*map(int, line[1:])] for line in table_of(found, f"Labels of {name} ")]
    assert np.trace(matrix) / 40 == row["accuracy"]
    for label, *counts, recall in table_of(found, f"Documents of {name} by label (40)"):
        with_it, right, missed, _ = map(int, counts)
        assert right + missed == with_it
        assert recall == f"{100 * row[f'recall {label}']:.1f} %"
    for separation in comparison.separations.values():
        strongest = separation.words[0]
        assert strongest.name in ("new", "other", "old")
        assert strongest.of_target == (strongest.in_target > strongest.in_sources)


def test_a_labelled_sample_is_decided_by_fits_that_had_not_seen_it(tmp_path):
    source = write_csv(tmp_path / "s.csv", sentences(0, 40, 0))
    rows = sentences(1, 30, 2)
    target = write_csv(tmp_path / "t.csv", [(text,) for text, _ in rows], ("text",))
    lines = [(str(target), i + 1, rows[i][1]) for i in range(12)]
    label_file = write_csv(tmp_path / "l.csv", lines, ("file", "row", "label"))
    found = page(
        tmp_path, *compared([source], [target], "lr", "svm", labels="none", label_file=label_file)
    )
    text = found.body.text()
    assert "The documents are those of the labelled sample." in text
    assert " of 12 documents are decided as labelled" in text
    assert "Expect an accuracy of " in text
    ((n, mean, right),) = table_of(found, "Accuracy by confidence")
    assert (n, float(right[:-2]) in {round(100 * i / 12, 1) for i in range(13)}) == ("12", True)
    assert 50 <= float(mean[:-2]) <= 100
    assert "confidence (rank)" not in text


def test_without_a_sample_the_confidence_is_called_a_rank(tmp_path, evil):
    found = page(tmp_path, *evil)
    assert "confidence (rank)" in found.body.text()
    assert "it is no probability" in found.body.text()
    assert "Accuracy by confidence" not in found.body.text()
    confidences = [float(row[2]) for row in table_of(found, "The least certain decisions of lr")]
    assert confidences == sorted(confidences)


def test_labels_written_from_right_to_left_keep_their_places_in_a_sentence(tmp_path):
    label = {"cat": "ספורט", "sea": "כלכלה"}
    files = [
        write_csv(tmp_path / f"{i}.csv", [(t, label[name]) for t, name in sentences(i, 30, 0)])
        for i in range(2)
    ]
    page(tmp_path, *compared(files[:1], files[1:], "lr"))
    text = re.sub(r"<(style|svg|title)\b.*?</\1>", "", (tmp_path / "page.html").read_text("utf-8"),
                  flags=re.DOTALL)  # fmt: skip
    assert "<bdi>כלכלה</bdi>/<bdi>ספורט</bdi>" in text
    assert not re.search(r"(?<!<bdi>)\b[א-ת]+(?!</bdi>)\b", re.sub("<caption.*", "", text))


def test_topics_of_stop_words_name_the_option_that_removes_them(tmp_path):
    texts = [f"the of and {word} with you" for word, _ in zip("ab" * 15, range(30), strict=True)]
    files = [
        write_csv(tmp_path / f"{i}.csv", [(f"{t} {'xy'[k % 2]}{i}{i}", "pq"[k % 2])
                                          for k, t in enumerate(texts)])
        for i in range(2)
    ]  # fmt: skip
    found = page(tmp_path, *compared(files[:1], files[1:], "lr", "dtl"))
    assert "--option stop_words=english" in found.body.text()


def test_parts_that_make_no_sense_are_left_out(tmp_path):
    films = [
        write_several(tmp_path / name, seed, 40) for seed, name in enumerate(("a.csv", "b.csv"))
    ]
    found = page(tmp_path, *compared(films[:1], films[1:], "linear-svm", family="multilabel"))
    assert titles(found)[:4] == [*ALL[:3], ALL[4]]
    assert "wrongly given" in found.body.text()
    a, b = (write_csv(tmp_path / f"{i}.csv", sentences(i, 30, 0)) for i in range(2))
    found = page(tmp_path, *compared([], [a, b], "kmeans", family="clustering"))
    assert titles(found) == [ALL[0], ALL[2], ALL[4], ALL[6]]
    assert found.css_first("h1").text() == "Compared: kmeans"
    unlabelled = write_csv(tmp_path / "u.csv", [(t,) for t, _ in sentences(3, 30, 0)], ("text",))
    assert ALL[2] not in titles(page(tmp_path, *compared([a], [unlabelled], "lr")))


def test_topics_of_a_factorisation_are_on_the_page_and_on_one_of_their_own(tmp_path, evil, call):
    sources, targets = (
        [file.path for file in files] for files in (evil[0].sources, evil[0].targets)
    )
    found = page(tmp_path, *compared(sources, targets[:1], "lr", "dtl"))
    assert titles(found) == [*ALL[:-1], "Topics", ALL[-1]]
    name = targets[0].stem
    topics = table_of(found, f"{name}: ")
    assert "kitten" in str(topics)
    assert any(EVIL in text for _, _, text in table_of(found, f"Typical documents of {name}"))
    out = tmp_path / "topics.html"
    files = ("--source", str(sources[0]), "--target", str(targets[0]))
    code, _, err = call("topics", "dtl", *files, "--html", str(out))
    assert (code, "Error" in err) == (0, False)
    own = LexborHTMLParser(out.read_text("utf-8"))
    assert titles(own) == ["Clusters side by side", "Topics by domain", "What was fitted"]
    beside = {row[0]: row for row in table_of(own, "Clusters and their shares")}
    assert all(beside[name][2] == share for name, share, *_ in topics)
    assert table_of(own, f"{name}: ") == topics
    assert call("topics", "nmf", *files, "--html", str(out))[0] == 0
    found = LexborHTMLParser(out.read_text("utf-8")).body.text()
    assert "its document clusters" in found
    assert "cluster 1 " in found


def test_a_part_of_large_files_shows_the_documents_that_were_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "MAX_EVIDENCE", 29)
    monkeypatch.setattr(sessions, "PART", 24)
    rows = [(f"{text} number{i}", label) for i, (text, label) in enumerate(sentences(0, 60, 0))]
    parts = (rows[:30], rows[30:])
    files = [write_csv(tmp_path / f"{name}.csv", of) for name, of in zip("st", parts, strict=True)]
    session, _ = compared(files[:1], files[1:], "lr")
    part = session.part()
    assert [len(each) for each in part.rows] == [30, 24]  # and 15 of each class of a source
    found = page(tmp_path, part, part.compare())
    assert "domain t, 30 documents, of them compared: 24 documents" in found.body.text()
    for node in found.css("svg.picture title"):
        file, row, number = re.search(r"(\w)\.csv, row (\d+);.*number(\d+)", node.text()).groups()
        assert int(number) == int(row) - 1 + 30 * (file == "t")


def test_many_documents_are_drawn_at_random_the_same_number_of_each_domain(
    tmp_path, evil, monkeypatch
):
    monkeypatch.setattr(document_map, "MAX_POINTS", 50)
    session, comparison = evil
    fit = comparison.models["lr"].fits[0]
    made = document_map.draw(session, fit, session.truth, session.problem.classes, "lr")
    assert [*map(int, re.findall(r"(\d+) of 40 in ", made[1][1]))] == [16, 16, 16]
    assert made == document_map.draw(session, fit, session.truth, session.problem.classes, "lr")


def test_further_domains_share_the_last_colour(tmp_path, evil, monkeypatch):
    monkeypatch.setattr(document_map, "COLOURS", document_map.COLOURS[:2])
    found = page(tmp_path, *evil)
    assert "2 others (80)" in found.css_first("svg.picture").text()


def test_many_classes_share_a_colour_and_list_their_mistakes(tmp_path):
    classes = [f"c{i:02}" for i in range(14)]
    rows = [(f"{label} word{i % 3} {classes[i % 5]}", label) for i, label in enumerate(classes * 6)]
    counts = Counter(document_map.grouped([label for _, label in rows]))
    assert len(counts) == len(document_map.COLOURS)
    assert counts["8 others"] == 48
    source = write_csv(tmp_path / "s.csv", rows)
    other = [(text, classes[(i + (i < 4)) % 14]) for i, (text, _) in enumerate(rows[:40])]
    found = page(tmp_path, *compared([source], [write_csv(tmp_path / "t.csv", other)], "lr"))
    assert len(table_of(found, "Documents of t by label (40)")) == 14
    assert "Labels of t in the rows" not in found.body.text()


def test_files_of_one_name_are_told_apart(tmp_path):
    (tmp_path / "b").mkdir()
    files = [tmp_path / "s.csv", tmp_path / "t.csv", tmp_path / "b" / "t.csv"]
    for i, file in enumerate(files):
        write_csv(file, sentences(i, 30, 0))
    found = page(tmp_path, *compared(files[:1], files[1:], "lr"))
    places = [node.text().partition(", row ")[0] for node in found.css("svg.picture title")]
    assert Counter(places) == {"s.csv": 60, str(files[1]): 60, str(files[2]): 60}


def test_names_of_files_and_classes_are_no_marks_of_ours(tmp_path):
    """As `nan`, which stands for no value, and `_std`, which ends the name of a deviation."""
    label = {"cat": "cat_std", "sea": "nan"}
    files = [tmp_path / "s.csv", tmp_path / "nan.csv"]
    for i, file in enumerate(files):
        write_csv(file, [(text, label[name]) for text, name in sentences(i, 30, 0)])
    found = page(tmp_path, *compared(files[:1], files[1:], "lr"))
    assert table_of(found, "Models compared on nan")
    assert "standard deviation" not in found.body.text()


def test_long_labels_are_shortened(tmp_path):
    long = {"cat": f"first{'-' * 3000}last", "sea": f"other{'x' * 3000}"}
    files = [
        write_csv(tmp_path / f"{i}.csv", [(t, long[label]) for t, label in sentences(i, 30, 0)])
        for i in range(2)
    ]
    session, comparison = compared(files[:1], files[1:], "lr", "dtl")
    found = page(tmp_path, session, comparison)
    assert re.search("first-+…-+last", str(table_of(found, "Labels of 1 ")))
    for node in found.css("main > :not(details)"):
        assert "x" * 100 not in node.text()


def test_documents_without_two_dimensions_have_no_map(tmp_path, evil):
    session, _ = evil
    domains = [replace(d, views=(np.eye(40)[:, :2] + 1.0,)) for d in session.problem.domains[:1]]
    problem = replace(session.problem, family="multilabel", domains=tuple(domains), features=())
    assert document_map._places(problem, [np.arange(40)]) is None


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_page_is_accessible_and_fits_the_screen(browser, tmp_path, evil, width, scheme):
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("the extra `browser` is not installed")
    page(tmp_path, *evil)
    shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    complaints: list[str] = []
    shown.on("console", lambda message: complaints.append(message.text))
    shown.goto((tmp_path / "page.html").as_uri())
    shown.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.evaluate("document.scrollingElement.scrollWidth") == width
    found = Axe().run(shown)
    assert found.violations_count == 0, found.generate_report()
    assert complaints == []
    shown.close()
