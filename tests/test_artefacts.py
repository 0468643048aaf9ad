"""An artefact is what the function returns, byte for byte, however it was obtained."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
import scipy.sparse as sp
import varied_values
from varied_values import parts

from transferbench import artefacts
from transferbench.artefacts import Folder, artefact, use

ROOM = 2**20
calls: list[str] = []


@artefact
def slow(X, k: int = 1, *, pause: float = 0.0):
    calls.append("slow")
    time.sleep(pause)
    return X * k


@artefact
def outer(X, pause: float):
    calls.append("outer")
    time.sleep(pause)
    return slow(X, pause=pause) + slow(X, 2, pause=pause)


varied = artefact(varied_values.varied)


@pytest.fixture(autouse=True)
def _store_everything(monkeypatch):
    calls.clear()
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(artefacts, "untraced", lambda path: "")  # these tests are in no package


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "artefacts").mkdir()
    return Folder(tmp_path / "artefacts", ROOM)


@pytest.fixture
def X():
    return np.random.default_rng(0).random((4, 6))


def test_without_a_folder_the_function_is_only_called(X, tmp_path):
    for nowhere in (None, Folder(tmp_path / "missing", ROOM)):
        with use(nowhere) as usage:
            slow(X), slow(X)
        assert usage.reused == 0
    assert len(calls) == 4
    assert not (tmp_path / "missing").exists()


def test_a_result_comes_back_with_its_types_and_layouts(folder, X):
    expected = parts(varied(X))
    with use(folder):
        assert parts(varied(X)) == expected
    assert len(list(folder.path.iterdir())) == 1
    memory: artefacts.Memory = {}
    for store in (folder, memory, memory):
        with use(store) as usage:
            assert parts(varied(X)) == expected
    assert usage.reused > 0
    assert memory


OTHERS = {
    "nothing": lambda X: (slow, (X,), {}),
    "data": lambda X: (slow, (X + 1e-15,), {}),
    "dtype": lambda X: (slow, (X.astype(np.float32),), {}),
    "shape": lambda X: (slow, (X.reshape(6, 4),), {}),
    "layout": lambda X: (slow, (np.asfortranarray(X),), {}),
    "ones by rows": lambda _: (slow, (np.ones((4, 4)),), {}),
    "ones by columns": lambda _: (slow, (np.ones((4, 4), order="F"),), {}),
    "sparse": lambda X: (slow, (sp.csr_array(X),), {}),
    "transposed": lambda X: (slow, (sp.csr_array(X.T).T,), {}),
    "parameter": lambda X: (slow, (X, 2), {}),
    "type of parameter": lambda X: (slow, (X, 1.0), {}),
    "keyword": lambda X: (slow, (X,), {"pause": 0.01}),
    "function": lambda X: (outer, (X, 0.0), {}),
}


def test_the_key_depends_on_everything_that_the_result_depends_on(folder, X, monkeypatch):
    def make(function, args, kwargs):
        with use(folder):
            function(*args, **kwargs)
        return {path.name for path in folder.path.iterdir()}

    known = make(slow, (X,), {})
    for name, other in OTHERS.items():
        names = make(*other(X))
        assert (names == known) == (name == "nothing"), name
        known = names
    assert make(slow, (X.copy(), 1), {"pause": 0.0}) == known  # other objects, same content
    monkeypatch.setattr(artefacts, "fingerprint", lambda path: "edited")
    names = make(slow, (X,), {})
    assert len(names) == len(known) + 1
    monkeypatch.setattr(artefacts, "environment", lambda: ["numpy 99"])
    assert len(make(slow, (X,), {})) == len(names) + 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
    ],
)
def test_a_damaged_file_is_made_anew(folder, X, damage):
    with use(folder):
        slow(X)
        (file,) = folder.path.iterdir()
        good = file.read_bytes()
        file.write_bytes(damage(good))
        np.testing.assert_array_equal(slow(X), X)
        assert len(calls) == 2
        slow(X)
        assert len(calls) == 2
    assert [file] == list(folder.path.iterdir())


def test_code_that_may_change_unseen_leaves_no_artefact(folder, X, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(artefacts, "LEAST_SECONDS", 0.0)
    with use(folder):
        slow(X)
    assert [*folder.path.iterdir()] == []


def test_an_artefact_that_cannot_be_written_is_made_each_time(folder, X, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with use(folder):
        for _ in range(2):
            np.testing.assert_array_equal(slow(X), X)
    assert len(calls) == 2
    assert not list(folder.path.iterdir())


def test_the_oldest_artefacts_are_removed_to_make_room_and_files_of_others_stay(folder, X):
    for name in ("thesis.pdf", "slow-notes.artefact", "slow-0123.artefact", ".part"):
        (folder.path / name).write_bytes(bytes(10_000))
        os.utime(folder.path / name, (0, 0))
    (folder.path / "folder").mkdir()
    others = set(folder.path.iterdir())

    def names():
        assert others < set(folder.path.iterdir())
        return sorted(path.name for path in set(folder.path.iterdir()) - others)

    with use(folder):
        slow(X)
        file = folder.path / names()[0]
    small = Folder(folder.path, 2 * file.stat().st_size + 100)
    left = folder.path / ".12345678.part"  # by a process that was killed
    left.write_bytes(bytes(200))
    os.utime(left, (0, 0))
    os.utime(file, (1, 1))
    with use(small):
        slow(X, 2)
        slow(X, 3)
        assert len(names()) == 2
        assert file.name not in names()
        assert left.name not in names()
        slow(np.zeros(10**6))  # larger than the folder may be
        assert len(names()) == 2


@pytest.fixture
def clock(monkeypatch):
    """Let time pass only while something sleeps."""
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "perf_counter", lambda: now)


def timed(folder, function, *args) -> tuple[float, float]:
    """Wall time of a call, and the part of it that artefacts saved."""
    with use(folder) as costs:
        start = time.perf_counter()
        function(*args)
        return time.perf_counter() - start, costs.reused


def test_reused_artefacts_have_their_cost(folder, X, clock):
    """Nested artefacts count once."""
    assert timed(folder, outer, X, 100.0) == (300, 0)
    assert timed(folder, outer, X, 100.0) == (0, 300)
    for path in folder.path.glob("outer-*"):
        path.unlink()
    # Made of two that are reused.
    assert timed(folder, outer, X, 100.0) == (100, 200)
    assert timed(folder, outer, X, 100.0) == (0, 300)


def test_artefacts_that_changed_places_are_made_anew(folder, X):
    with use(folder):
        one, two = slow(X), slow(X, 2)
        first, second = folder.path.iterdir()
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
        np.testing.assert_array_equal(slow(X), one)
        np.testing.assert_array_equal(slow(X, 2), two)
        assert len(calls) == 4
        slow(X), slow(X, 2)
        assert len(calls) == 4


def test_a_link_in_place_of_an_artefact_is_replaced(folder, X, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    with use(folder):
        slow(X)
        (file,) = folder.path.iterdir()
        file.unlink()
        file.symlink_to(victim)
        np.testing.assert_array_equal(slow(X), X)
    assert victim.read_text() == "precious"
    assert not file.is_symlink()
