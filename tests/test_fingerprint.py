"""A fingerprint changes if results may change, and only then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from transferbench import fingerprint, models

EXAMPLE = Path(__file__).parent / "plugin_example" / "transferbench_example"

CODE = '''
"""Doc."""
from transferbench.core.graph import cosine_graph
def fit(problem, *, k: int = 3):
    """Doc."""
    return cosine_graph(problem, k)  # a comment
'''


def anew(path: Path) -> str:
    fingerprint.fingerprint.cache_clear()
    fingerprint._read.cache_clear()
    return fingerprint.fingerprint(path)


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
        return anew(models.get("gcmf").path)

    before, parse = gcmf(), fingerprint.ast.parse

    def changed(name):
        def edited(text, *rest):
            # The module is identified by a text that no other has.
            return parse(text + "\nEDITED = 1" if name in text else text, *rest)

        monkeypatch.setattr(fingerprint.ast, "parse", edited)
        return gcmf()

    assert changed("def cosine_graph") != before
    assert changed("class UserError") == before
    assert changed("def artefact(") == before
    fingerprint.fingerprint.cache_clear()
    fingerprint._read.cache_clear()


@pytest.fixture
def plugin(tmp_path):
    """The example with two more modules."""
    package = tmp_path / "site" / "transferbench_example"
    shutil.copytree(EXAMPLE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "helper.py").write_text("from .inner.deeper import SIZE\n")
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "deeper.py").write_text("SIZE = 1\n")
    (package.parent / "numpy.py").write_text("SIZE = 1\n")
    return package


def edit(path: Path, code: str = "SIZE = 2\n") -> None:
    path.write_text((path.read_text() if path.exists() else "") + code)


@pytest.mark.parametrize("module", ["nearest_mean.py", "pets.py"])
def test_the_modules_of_its_package_count_for_a_plug_in(plugin, module):
    known = [anew(plugin / module)]
    for name in ("helper.py", "inner/deeper.py", "inner/__init__.py", "__init__.py"):
        edit(plugin / name)
        known.append(anew(plugin / module))
    assert len(set(known)) == 5
    edit(plugin.parent / "numpy.py")
    edit(plugin / "helper.py", "# a comment")
    assert anew(plugin / module) == known[-1]
    for name, text in (("broken.py", "def half(:"), ("weights.json", "1"), ("words.txt", "# a")):
        edit(plugin / name, text)
        known.append(anew(plugin / module))
    edit(plugin / "words.txt", "# a comment")
    assert anew(plugin / module) not in known
    assert len(set(known)) == 8


def test_a_plug_in_of_a_single_module_counts_alone(plugin):
    """Beside it lie the modules of other projects, under names that it may import."""
    site = plugin.parent
    shutil.copy(plugin / "nearest_mean.py", site / "single.py")
    before = anew(site / "single.py")
    edit(site / "numpy.py")
    assert anew(site / "single.py") == before
    edit(site / "single.py")
    assert anew(site / "single.py") != before
