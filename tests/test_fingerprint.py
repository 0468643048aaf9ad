"""A fingerprint changes if results may change, and only then."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from conftest import slow_unless

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
    assert not fingerprint._Plugin(path).files
    assert not fingerprint._Plugin(path).notes
    assert fingerprint.untraced(path) == ""
    texts = {fingerprint._read(file)[0] for file in reached(path)}
    digest = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:16]
    assert anew(path) == digest


def reached(path: Path) -> set[Path]:
    """Return a module and the modules of this package that it imports."""
    found, waiting = set(), [path]
    while waiting:
        if (file := waiting.pop()) not in found:
            found.add(file)
            waiting += fingerprint._read(file)[1]
    return found


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


HELPER = "zz_helper"
#: Code of the plug-in that imports the helper, or one of its modules.
IMPORTS = {
    "import": f"import {HELPER}",
    "import as": f"import {HELPER}.inner.deep as other",
    "from": f"from {HELPER}.inner import deep",
    "from a module": f"from {HELPER}.inner.deep import SIZE",
    "star": f"from {HELPER} import *",
    "in a function": f"def late():\n    from {HELPER} import inner",
    "in a try": f"try:\n    import {HELPER}\nexcept ImportError:\n    pass",
    "__import__": f"other = __import__('{HELPER}.inner')",
    "import_module": f"from importlib import import_module\nother = import_module('{HELPER}')",
    "importlib": f"import importlib\nother = importlib.import_module(name='{HELPER}.inner')",
    "by a module of its own": "from . import helper",
    "by its own name": "import transferbench_example.helper",
}


@pytest.fixture
def beside(plugin, monkeypatch):
    """A package beside the plug-in, on the path, with a module that imports a single module."""
    monkeypatch.syspath_prepend(plugin.parent)
    (plugin / "helper.py").write_text(f"import {HELPER}\n")
    inner = plugin.parent / HELPER / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("import zz_single\n")
    (inner / "__init__.py").write_text("")
    (inner / "deep.py").write_text("SIZE = 1\n")
    (inner / "data.json").write_text("1")
    (plugin.parent / "zz_single.py").write_text("import zz_space.part as part\n")
    (plugin.parent / "zz_space").mkdir()
    (plugin.parent / "zz_space" / "part.py").write_text("SIZE = 1\n")
    (plugin.parent / "zz_unused.py").write_text("SIZE = 1\n")
    return plugin


@pytest.mark.parametrize("code", IMPORTS.values(), ids=IMPORTS)
@pytest.mark.parametrize("module", slow_unless("pets.py".__eq__, ["nearest_mean.py", "pets.py"]))
def test_helpers_outside_the_package_count(beside, module, code):
    before = anew(beside / module)
    edit(beside.parent / HELPER / "inner" / "deep.py")
    assert anew(beside / module) == before
    edit(beside / module, f"\n{code}\n")
    known = [before, anew(beside / module)]
    for name in ("deep.py", "data.json", "new.txt", "__init__.py"):
        edit(beside.parent / HELPER / "inner" / name, "\nSIZE = 3\n")
        known.append(anew(beside / module))
    for name in ("zz_single.py", "zz_space/part.py"):
        edit(beside.parent / name)
        known.append(anew(beside / module))
    assert len(set(known)) == len(known)
    edit(beside.parent / "zz_unused.py")
    assert anew(beside / module) == known[-1]
    fingerprint.untraced.cache_clear()
    assert fingerprint.untraced(beside / module) == ""


def test_files_that_a_helper_outside_a_package_may_read_count(beside, monkeypatch):
    module, text = beside / "nearest_mean.py", beside.parent / "zz_space" / "x.txt"
    edit(module, f"\nimport {HELPER}\nexec('import zz_late')\n")
    known = [anew(module)]
    for content in ("1", "2"):
        text.write_text(content)
        known.append(anew(module))
    (beside.parent / "zz_late.py").write_text("SIZE = 1\n")
    known.append(anew(module))
    assert len(set(known)) == len(known)
    (text.parent / "unused.py").write_text("SIZE = 1\n")
    (text.parent / ".hidden").write_text("1")
    assert anew(module) == known[-1]
    for name, most in (("MAX_BESIDE", 0), ("MAX_BYTES_BESIDE", 0)):
        monkeypatch.setattr(fingerprint, name, most)
        fingerprint.untraced.cache_clear()
        assert re.match("part.py may read .* too many|zz_single", fingerprint.untraced(module))
        monkeypatch.undo()
        monkeypatch.syspath_prepend(beside.parent)
    fingerprint.untraced.cache_clear()
    assert fingerprint.untraced(module) == ""


def test_helpers_that_swap_contents_count(beside):
    for name in ("one", "two"):
        folder = beside.parent / f"zz_{name}"
        folder.mkdir()
        (folder / "util.py").write_text(f"SIZE = '{name}'\n")
    edit(beside / "pets.py", "\nimport zz_one.util, zz_two.util\n")
    before = anew(beside / "pets.py")
    one, two = (beside.parent / f"zz_{name}" / "util.py" for name in ("one", "two"))
    content = one.read_text()
    one.write_text(two.read_text())
    two.write_text(content)
    assert anew(beside / "pets.py") != before


def test_installed_packages_count_by_version(beside, monkeypatch):
    def changed(code: str, name: str, version: str) -> bool:
        edit(beside / "pets.py", f"\n{code}\n")
        before = anew(beside / "pets.py")
        found = fingerprint.distribution

        def other(wanted):
            real = found(wanted)
            if wanted.lower() != name:
                return real
            return Fake(real, version)

        monkeypatch.setattr(fingerprint, "distribution", other)
        after = anew(beside / "pets.py")
        monkeypatch.undo()
        monkeypatch.syspath_prepend(beside.parent)
        return after != before

    assert not changed("import numpy.linalg", "numpy", "99")  # every record has its version
    assert not changed("import json, os.path", "click", "99")
    assert changed("from click import core", "click", "99")


class Fake:
    """A distribution of another version."""

    def __init__(self, real, version):
        self.real, self.version = real, version

    def __getattr__(self, name):
        return getattr(self.real, name)


HIDING = {
    "import_module": "import importlib\nfor name in ('a', 'b'):\n    importlib.import_module(name)",
    "relative": "import importlib\nimportlib.import_module('.a', 'some' + 'where')",
    "__import__": "other = __import__('os' + '')",
    "another name": "from importlib import import_module as load\nload('a')",
    "passed on": "import importlib\nload = importlib.import_module",
    "runpy": "import runpy\nrunpy.run_path('beside.py')",
    "file": "import importlib.util as u\nspec = u.spec_from_file_location('a', 'b.py')",
    "exec": "exec(open('beside.py').read())",
    "sys.path": "import sys\nsys.path.insert(0, '/elsewhere')",
    "sys": "import sys as system\nsystem.path += ['/elsewhere']",
    "path": "from sys import path",
    "resolve_name": "import pkgutil\nSIGN = pkgutil.resolve_name('zz:SIGN')",
    "resolve_name by another name": "from pkgutil import resolve_name as find\nfind('zz:SIGN')",
    "exec of an import": "exec('import os; os.run = exec')",
    "exec by another name": "run = exec",
    "eval passed on": "found = list(map(eval, ['1']))",
    "compile passed on": "run = compile",
    "builtins": "import builtins as b\nrun = b.exec",
    "from builtins": "from builtins import exec as run",
    "getattr": "import builtins\ngetattr(builtins, '__imp' + 'ort__')('zz')",
    "vars": "import builtins\nvars(builtins)['exec']('1')",
    "getattr of importlib": "import importlib\ngetattr(importlib, 'import_' + 'module')('zz')",
    "__builtins__": "__builtins__['exec']('1')",
    "globals": "globals()['__builtins__']",
    "pickle": "import pickle\nSIGN = pickle.loads(b'')",
    "from pickle": "from pickle import Unpickler",
    "dill": "import dill as d\nd.load(open('a', 'rb'))",
    "marshal": "import marshal\nload = marshal.load",
    "joblib": "import joblib\nmodel = joblib.load('a.joblib')",
    "pickle passed on": "import pickle\nload = getattr(pickle, 'lo' + 'ad')",
    "pandas": "import pandas\npandas.read_pickle('a')",
    "numpy": "import numpy as np\nnp.load('a.npy', allow_pickle=True)",
    "__doc__": "SIZE = len(__doc__ or '')",
    "__doc__ of a function": "def late():\n    'two'\nSIZE = len(late.__doc__)",
    "source": "import inspect\nSIZE = len(inspect.getsource(inspect))",
    "entry points": "from importlib.metadata import entry_points\nall = entry_points()",
}


@pytest.mark.parametrize("code", HIDING.values(), ids=HIDING)
def test_code_that_hides_an_import_is_untraced(beside, code):
    module = beside / "nearest_mean.py"
    for place in (module, beside.parent / "zz_space" / "part.py"):
        content = place.read_text()
        edit(beside / "nearest_mean.py", f"\nimport {HELPER}\n")
        edit(place, f"\n{code}\n")
        fingerprint.untraced.cache_clear()
        assert place.name in fingerprint.untraced(module)
        place.write_text(content)
    fingerprint.untraced.cache_clear()


def test_ordinary_code_is_traced(beside):
    edit(
        beside / "nearest_mean.py",
        "\nimport os, sys\nhere = os.path.join(sys.prefix, 'a')\nmodule = sys.modules[__name__]\n"
        "def late(model):\n    import zz_not_installed\n    model.eval()\n    eval('1')\n"
        "    model.compile()\n    late.__doc__ = 'late'\n"
        "import importlib.metadata, json, pickle, re\n"
        "version = importlib.metadata.version('numpy')\n"
        "text = json.loads(json.dumps('1')), pickle.dumps(1), re.compile('a')\n"
        "import numpy as np\nX = np.load('a.npy', allow_pickle=False)\n",
    )
    (beside / "tests.py").write_text("exec(open('a').read())\n")  # nothing imports it
    fingerprint.untraced.cache_clear()
    assert fingerprint.untraced(beside / "nearest_mean.py") == ""


def test_a_linked_folder_and_a_module_without_a_package_are_untraced(beside, tmp_path):
    shutil.copy(beside / "nearest_mean.py", beside.parent / "single.py")
    assert "not in a package" in fingerprint.untraced(beside.parent / "single.py")
    (tmp_path / "elsewhere").mkdir()
    (beside / "data").symlink_to(tmp_path / "elsewhere")
    fingerprint.untraced.cache_clear()
    assert "link to a folder" in fingerprint.untraced(beside / "nearest_mean.py")
