"""A fingerprint changes if results may change, and only then."""

from __future__ import annotations

import hashlib
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
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
    for cached in (fingerprint.fingerprint, fingerprint.untraced, fingerprint._read):
        cached.cache_clear()
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


def test_one_thread_at_a_time_parses(monkeypatch, tmp_path):
    parse, most, parsing = fingerprint.ast.parse, 0, 0

    def watched(*code):
        nonlocal most, parsing
        parsing += 1
        most = max(most, parsing)
        time.sleep(0.01)
        parsing -= 1
        return parse(*code)

    monkeypatch.setattr(fingerprint.ast, "parse", watched)
    files = [tmp_path / f"{number}.py" for number in range(4)]
    for file in files:
        file.write_text(CODE)
    with ThreadPoolExecutor(len(files)) as threads:
        assert len(set(threads.map(fingerprint.fingerprint, files))) == 1
    assert most == 1


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
    path.parent.mkdir(exist_ok=True)
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


def test_modules_of_this_package_are_not_bound_to_their_names(tmp_path):
    """So runs stay current if a file is renamed that has the same content."""
    path = models.get("lr").path
    assert fingerprint.untraced(path) == ""
    texts = {fingerprint._read(file)[0] for file in fingerprint.covered(path)}
    digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:16]
    assert anew(path) == digest


def test_names_of_files_count_for_a_plug_in(plugin):
    module = plugin / "nearest_mean.py"
    for name in ("data/a.json", "data/b.json"):
        edit(plugin / name, f"{name}")
    known = [anew(module)]
    one, two = plugin / "data" / "a.json", plugin / "data" / "b.json"
    content = one.read_text(), two.read_text()
    for path, text in ((one, content[1]), (two, content[0])):
        path.write_text(text)
    known.append(anew(module))
    one.rename(plugin / "data" / "c.json")
    known.append(anew(module))
    (plugin / "data" / "c.json").rename(plugin / "c.json")
    known.append(anew(module))
    edit(plugin / "empty", "")
    known.append(anew(module))
    edit(plugin / "empty.py", "")
    known.append(anew(module))
    assert len(set(known)) == len(known)
    assert anew(plugin / "pets.py") not in known  # the entry point may name another module
    moved = plugin.rename(plugin.with_name("renamed"))
    assert anew(moved / module.name) == known[-1]


def state(plugin: Path, line: str) -> Path:
    """Return the module of the model, with another declaration."""
    module = plugin / "nearest_mean.py"
    text = module.read_text()
    assert "DEPENDS_ON = ()\n" in text
    module.write_text(text.replace("DEPENDS_ON = ()", line))
    anew(module)
    return module


def test_a_plug_in_that_declares_nothing_is_untraced(plugin):
    assert fingerprint.untraced(plugin / "nearest_mean.py") == ""
    module = state(plugin, "")
    assert "has no line DEPENDS_ON = ()" in fingerprint.untraced(module)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("DEPENDS_ON += ()", "has no line"),
        ("DEPENDS_ON = names()", "expected DEPENDS_ON = () or a tuple of names"),
        ("DEPENDS_ON = [1]", "expected DEPENDS_ON = () or a tuple of names"),
        ("DEPENDS_ON: tuple", "expected DEPENDS_ON = () or a tuple of names"),
        ('DEPENDS_ON = ("xgbost",)', "'xgbost' is not installed"),
        ('DEPENDS_ON = ("",)', "'' is not installed"),
        ("DEPENDS_ON = ()\nDEPENDS_ON = names()", "expected DEPENDS_ON = () or a tuple of names"),
        ("DEPENDS_ON: tuple = ()", ""),
    ],
)
def test_a_declaration_is_read_and_never_run(plugin, line, why):
    found = fingerprint.untraced(state(plugin, line))
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    "code",
    [
        "import transferbench",
        "from transferbench import fit",
        "from transferbench.models import fit",
    ],
)
def test_a_plug_in_that_may_run_any_of_our_code_is_untraced(plugin, code):
    edit(plugin / "helper.py", f"\n{code}\n")
    anew(plugin / "nearest_mean.py")
    assert "may run any of our code" in fingerprint.untraced(plugin / "nearest_mean.py")


def test_installed_packages_count_by_the_version_that_is_declared(plugin, monkeypatch):
    module = plugin / "nearest_mean.py"
    known = [anew(module)]
    state(plugin, 'DEPENDS_ON = ("zz-other",)')
    known.append(anew(module))
    installed = plugin.parent / "zz_other-1.0.dist-info"
    installed.mkdir()
    monkeypatch.syspath_prepend(plugin.parent)
    for version in ("1.0", "1.1"):
        (installed / "METADATA").write_text(f"Name: zz-other\nVersion: {version}\n")
        known.append(anew(module))
        assert fingerprint.untraced(module) == ""
    assert len(set(known)) == len(known)
    (installed / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:"}')
    anew(module)
    assert "installed from a folder" in fingerprint.untraced(module)


def test_a_linked_folder_and_a_module_without_a_package_are_untraced(plugin, tmp_path):
    shutil.copy(plugin / "nearest_mean.py", plugin.parent / "single.py")
    assert "not in a package" in fingerprint.untraced(plugin.parent / "single.py")
    (tmp_path / "elsewhere").mkdir()
    (plugin / "linked").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    anew(plugin / "nearest_mean.py")
    assert "link to a folder" in fingerprint.untraced(plugin / "nearest_mean.py")
