"""WebKB: content of the pages, and the parser."""

from __future__ import annotations

import numpy as np
from conftest import originals
from packing import pack_tar

from transferbench.data import archive
from transferbench.datasets import webkb

PLAIN = {"weighting": "tf", "unit_length": False}
HEADER = "HTTP says: words\r\nContent-type: text/html\r\n \r\n"


def pages() -> dict[str, bytes]:
    return dict(archive.members(*originals("mtc/webkb4").values()))


def test_html_is_parsed_by_the_standard():
    html = """<!DOCTYPE nonsense><!WA0><title>Tea &amp; cake</title><script>var no = "<p>"</script>
        <style>no {}</style><!-- no --><IMG SRC=no ALT="no"><p>un<b>closed <br>one<br>two &eacute;
        """
    assert webkb._text(html).split() == ["Tea", "&", "cake", "un", "closed", "one", "two", "é"]
    assert webkb._text("kept <!-- from here on nothing").split() == ["kept"]
    html = "<html><frameset cols=2><frame src=no><noframes><!WA1><b>In&uuml; words</b></noframes>"
    assert webkb._text(html).split() == ["Inü", "words"]


def test_pages_are_ordered_by_path_and_divided_by_university(tmp_path):
    words = {"student": "thesis", "faculty": "papers", "course": "exam", "project": "code"}
    made_up = {
        f"webkb/{label}/{place}/http:^^{label}": f"{HEADER}<b>{word}</b> {place} {word}".encode()
        for place in webkb.UNIVERSITIES
        for label, word in words.items()
    }
    made_up["webkb/course/texas/http:^^other"] = f"{HEADER}exam \xe9cole".encode("latin-1")
    made_up["webkb/student/texas/http:^^zero"] = f"{HEADER}<img src=no>".encode()
    files = dict.fromkeys(webkb.FILES, pack_tar(tmp_path / "made-up.tar", made_up))
    problem, truth = webkb.build("mtc/webkb4", files, **PLAIN)
    assert (problem.family, problem.classes) == ("clustering", webkb.CLASSES)
    assert truth.names == webkb.UNIVERSITIES
    assert [len(domain.seen) for domain in problem.domains] == [4, 6, 4, 4]
    texas = [
        [0, 0, 2, 0, 1, 0],
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 2, 1, 0],
        [2, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 2],
        [0, 0, 0, 0, 0, 0],
    ]
    # code, cole, cornell, exam, papers, texas, thesis, washington, wisconsin
    X = problem.domains[1].X.toarray()
    np.testing.assert_array_equal(X[:, [0, 1, 3, 4, 5, 6]], texas)
    np.testing.assert_array_equal(truth.Y[1].argmax(axis=1), [2, 2, 1, 3, 0, 0])
    transfer, transfer_truth = webkb.build("webkb/wisconsin-vs-texas", files, **PLAIN)
    assert (transfer.family, transfer_truth.names) == ("transfer", ("source", "target"))
    np.testing.assert_array_equal(transfer.domains[1].X.toarray(), X[:, [0, 1, 3, 4, 5, 6, 8]])
    np.testing.assert_array_equal(transfer_truth.Y[1], truth.Y[1])
    assert [len(domain.seen) for domain in transfer.sources] == [4]


def test_stop_words_are_kept_on_request(tmp_path):
    made_up = {
        f"webkb/{label}/{place}/http:^^{label}": f"{HEADER}the {label}".encode()
        for label in webkb.CLASSES
        for place in webkb.UNIVERSITIES
    }
    files = dict.fromkeys(webkb.FILES, pack_tar(tmp_path / "made-up.tar", made_up))
    for stop_words, number in (("english", 4), ("none", 5)):
        problem, _ = webkb.build("mtc/webkb4", files, **PLAIN, stop_words=stop_words)
        assert problem.domains[1].X.shape == (4, number)
