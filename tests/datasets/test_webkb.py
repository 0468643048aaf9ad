"""WebKB: content of the pages, and the parser."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import originals
from packing import pack_tar

from transferbench.data import archive
from transferbench.datasets import webkb

PLAIN = {"weighting": "tf", "unit_length": False}
HEADER = "HTTP says: words\r\nContent-type: text/html\r\n \r\n"


def pages() -> dict[str, bytes]:
    return dict(archive.members(*originals("mtc/webkb4").values()))


def test_the_patterns_match_exactly_the_pages():
    names = list(pages())
    assert len(names) == 226 + 252 + 255 + 308
    for origin in webkb.FILES["webkb/webkb-4univ-4class-raw.tar.gz"].origins:
        assert all(re.fullmatch(origin.pattern, name)[1] == name for name in names)
        assert re.fullmatch(origin.pattern, f"Repository-1a2b/{names[0]}")[1] == names[0]
        for other in ("webkb/staff/texas/http:^^a", "webkb/course/misc/http:^^a", "webkb/README"):
            assert not re.fullmatch(origin.pattern, other)


#: Words of the pages 0, 9 and last of a university, by another parser of the standard (html5lib).
ITEMS = {
    "cornell": [94, 1189, 3],
    "texas": [31, 115, 203],
    "washington": [224, 120, 1003],
    "wisconsin": [253, 1247, 32],
}


@pytest.mark.parametrize("name", webkb.UNIVERSITIES)
def test_pages_0_9_and_the_last_have_the_right_words(name):
    of_it = [page for path, page in sorted(pages().items()) if f"/{name}/" in path]
    for at, words in zip((0, 9, -1), ITEMS[name], strict=True):
        _, html = re.split(r"\r?\n[ \t]*\r?\n", of_it[at].decode("latin-1"), maxsplit=1)
        assert len(re.findall("[a-z]{2,}", webkb._text(html).lower())) == words


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
