"""A fingerprint changes if results may change, and only then."""

from __future__ import annotations

import pytest

from transferbench import fingerprint, models

CODE = '''
"""Doc."""
from transferbench.core.graph import cosine_graph
def fit(problem, *, k: int = 3):
    """Doc."""
    return cosine_graph(problem, k)  # a comment
'''


@pytest.fixture
def mark(tmp_path):
    count = iter(range(99))

    def of(text: str) -> str:
        path = tmp_path / f"m{next(count)}.py"
        path.write_text(text)
        return fingerprint.fingerprint(path)

    return of


def test_comments_docstrings_and_layout_do_not_count(mark):
    other = CODE.replace("# a comment", "").replace('"""Doc."""', '"""Other."""')
    assert mark(CODE) == mark(other.replace("*, k", "*,\n        k"))


@pytest.mark.parametrize(
    ("old", "new"), [("= 3", "= 4"), ("k)", "k + 1)"), ("core.graph", "core.g")]
)
def test_code_counts(mark, old, new):
    assert mark(CODE) != mark(CODE.replace(old, new))


def test_imported_code_counts_and_plumbing_does_not(monkeypatch, tmp_path):
    def gcmf() -> str:
        fingerprint.fingerprint.cache_clear()
        fingerprint._read.cache_clear()
        return fingerprint.fingerprint(models.get("gcmf").path)

    before, parse = gcmf(), fingerprint.ast.parse

    def changed(name):
        def edited(text, *rest):
            # The module is identified by a text that no other has.
            return parse(text + "\nEDITED = 1" if name in text else text, *rest)

        monkeypatch.setattr(fingerprint.ast, "parse", edited)
        return gcmf()

    assert changed("def cosine_graph") != before
    assert changed("class UserError") == before
    fingerprint.fingerprint.cache_clear()
    fingerprint._read.cache_clear()


def test_summaries_are_read_without_importing():
    assert fingerprint.summary(models.get("gcmf").path).startswith("GCMF: graph co-regularised")
