from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from small_experiment import PLAIN

from transferbench import datasets, plugins, settings, tasks
from transferbench.contract import make_clustering as make_clustering
from transferbench.contract import make_multilabel as make_multilabel
from transferbench.contract import make_problem as make_problem
from transferbench.data import fetch
from transferbench.errors import Unavailable
from transferbench.problem import Problem
from transferbench.settings import Settings

ROOT = Path(__file__).parent.parent

# Commands that tests start end at SIGHUP and SIGINT, also where the tests run under nohup
# or in the background of a shell.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


#: Fixtures that start programs, of which each takes seconds: their tests are slow.
PROGRAMS = {"browser", "cluster", "installed", "shell"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start programs."""
    for item in items:
        if PROGRAMS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Settings:
    """Settings of a new user: empty folders, no network, no committed results."""
    monkeypatch.setattr(Settings, "committed", tmp_path / "committed")
    names = ("DATA", "RESULTS", "MIRROR", "OFFLINE", "WITHOUT_TERMS", "MAX_SIZE", "MAX_ARTEFACTS")
    for name in names:
        monkeypatch.delenv(f"TRANSFERBENCH_{name}", raising=False)
    return Settings(data=tmp_path / "data", results=tmp_path / "results", offline=True)


@pytest.fixture
def call(home, capfd):
    """Function that runs a command with empty folders and no network: (code, out, err)."""
    from transferbench.cli import invoke

    def command(*arguments: str) -> tuple[int, str, str]:
        folders = ["--data", str(home.data), "--results", str(home.results), "--offline"]
        code = invoke([*folders, *arguments])
        return (code, *capfd.readouterr())

    return command


#: Tasks whose original files are only on the open network: their tests may skip in CI too.
ELSEWHERE = {"email-spam", "eurlex/directory-codes"}


@contextlib.contextmanager
def reachable(what: str):
    """Skip the test if original files are unavailable; fail in CI, which must have them."""
    try:
        yield
    except Unavailable as error:
        if os.environ.get("CI") and what not in ELSEWHERE:
            raise
        pytest.skip(f"{what} is neither cached nor reachable: {error}")


def originals(task: str) -> dict[str, Path]:
    """Return the verified original files of a task by name; see `reachable`."""
    found = settings.load()
    with reachable(task):
        needed = tasks.original_files(tasks.Task.parse(task))
        return {name: fetch.get(file, found) for name, file in needed.items()}


@pytest.fixture(scope="session")
def real() -> Settings:
    """Settings with which 20 Newsgroups is available; see `reachable`."""
    found = settings.load()
    with reachable("20 Newsgroups"):
        tasks.load(tasks.Task.parse("gtl/comp-vs-rec"), found)
    return found


def slow_unless(quick: Callable[[Any], bool], values: Iterable[Any]) -> list[Any]:
    """Return the values as parameters of a test; `make test` runs only the quick ones.

    A tuple is several parameters.
    """
    marked = []
    for value in values:
        of_test = value if isinstance(value, tuple) else (value,)
        slow = pytest.param(*of_test, marks=pytest.mark.slow)
        marked.append(value if quick(value) else slow)
    return marked


def reproduce(folder: Path, experiment: str) -> Path:
    """Run an experiment of one's own, "plain", into data/ and results/ of a folder; return it."""
    from transferbench.cli import invoke

    (folder / "plain.yaml").write_text(experiment, encoding="utf-8")
    folders = ["--data", str(folder / "data"), "--results", str(folder / "results"), "--offline"]
    assert invoke([*folders, "reproduce", str(folder / "plain.yaml")]) == 0
    return folder


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first of the test processes fills and the others read."""
    root = factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, draft = root / name, root / f"{name}-draft"
    with FileLock(root / f"{name}.lock"):
        if not folder.exists():
            draft.mkdir(exist_ok=True)
            make(draft)
            draft.rename(folder)
    return folder


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory) -> Path:
    """A folder with an experiment, plain.yaml, and the data and results of its runs."""
    return shared(tmp_path_factory, "reproduced", lambda folder: reproduce(folder, PLAIN))


@pytest.fixture
def plain(reproduced, home, tmp_path) -> Path:
    """The file of an experiment that has been reproduced."""
    shutil.copytree(reproduced / "data", home.data)
    shutil.copytree(reproduced / "results", home.results)
    return Path(shutil.copy(reproduced / "plain.yaml", tmp_path / "plain.yaml"))


def strict_json(text: str) -> Any:
    """Parse JSON that has no NaN and no Infinity."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def problem() -> Problem:
    return make_problem()[0]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Function that installs a plug-in package, {file: source}, for the processes of this test."""

    def install(files: dict[str, str], points: str) -> Path:
        site = tmp_path / "site"
        package = site / "plugged"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        for name, source in files.items():
            stated = "\nDEPENDS_ON = ()\n"  # so its finished runs are not repeated
            (package / name).write_text(textwrap.dedent(source) + stated, encoding="utf-8")
        info = site / "plugged-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(textwrap.dedent(points))
        monkeypatch.setenv("PYTHONPATH", str(site))
        return site

    return install


@pytest.fixture(autouse=True)
def _fresh_registries():
    """Clear the cached registries after each test, because a test may change their folders."""
    yield
    plugins.points.cache_clear()
    datasets.of_plugins.cache_clear()
    tasks._parse.cache_clear()


@pytest.fixture
def ctrl_c():
    """Let both signals raise KeyboardInterrupt, as the program does; a call sends one."""
    former = {n: signal.signal(n, signal.default_int_handler) for n in (2, 15)}
    yield lambda number=2: signal.raise_signal(number)
    for number, handler in former.items():
        signal.signal(number, handler)


#: Of the browser: nothing but the pages is loaded.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def missing(reason: str) -> None:
    """`.ci/run` installs the browser; elsewhere the browser tests are skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the extra `browser` is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        missing(f"no browser: {', '.join(names)}")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()
