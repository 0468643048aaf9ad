"""Tasks with embeddings: same documents and labels as the gtl/ tasks, one embedding a post."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import originals, reachable

from transferbench import datasets, settings, tasks
from transferbench.baselines import embedded
from transferbench.data import fetch
from transferbench.data.facts import Facts, same_values
from transferbench.datasets import newsgroups
from transferbench.errors import Unavailable
from transferbench.messages import install_hint

TASK = "embedded/comp-vs-rec"
NEEDED = "needs the extra modern"
TEXTS = ["a graphics card for the mac", "", "engine oil " * 300, "Ünïcode ÇAFÉ 日本語's end"]
#: Entries 0 and 383 of their embeddings by sentence-transformers 6.2 and PyTorch 2.15.
EXPECTED = [
    (-0.0244273, 0.0522935),
    (-0.1188383, -0.0157173),
    (-0.0650473, -0.0102356),
    (0.0144000, -0.0372608),
]


@pytest.fixture(autouse=True)
def _clear_caches():
    embedded._embed_group.cache_clear()
    yield
    embedded._embed_group.cache_clear()


@pytest.fixture(scope="module")
def files():
    """The originals of the posts; the model's files are not needed for `count_words`."""
    return originals("gtl/comp-vs-rec") | {name: Path(name) for name in embedded.MODEL}


@pytest.fixture(scope="module")
def model():
    for name in ("safetensors", "tokenizers"):
        pytest.importorskip(name, reason=NEEDED)
    with reachable("the model of the embeddings"):
        return [fetch.get(file, settings.load()) for file in embedded.MODEL.values()]


def count_words(texts, *model) -> np.ndarray:
    """Return the number of words, repeated; replaces embeddings, which take minutes."""
    words = [len(re.findall("[a-z]{2,}", text)) for text in texts]
    return np.repeat(np.array(words, np.float32)[:, None] + 1, embedded.SIZE, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("task", embedded.TASKS)
def test_first_view_and_labels_equal_the_gtl_task_and_facts_hold(task, files, monkeypatch):
    monkeypatch.setattr(embedded, "embed", count_words)
    gtl = task.replace("embedded/", "gtl/")
    problem, truth = embedded.build(task, files)
    corpus = {name: files[name] for name in newsgroups.FILES}
    groups, texts = newsgroups.posts(corpus.values())
    plain, expected = newsgroups.build(gtl, corpus)
    facts, known = Facts.from_problem(problem, truth), datasets.facts(task)
    # The values of the second view of each domain are those of the real embeddings.
    values = [value for i, value in enumerate(known["values"]) if i % 2 == 0]
    assert same_values(facts.values[::2], values)
    facts.check(task, known | {"values": facts.values})
    assert (problem.name, problem.classes) == (task, plain.classes)
    for domain, same in zip(problem.domains, plain.domains, strict=True):
        assert (domain.X != same.X).nnz == 0
        np.testing.assert_array_equal(domain.Y, same.Y)
        np.testing.assert_array_equal(domain.seen, same.seen)
        rows = newsgroups.labels(newsgroups.SPLITS[gtl][domain.name], groups) >= 0
        words = count_words([text for text, row in zip(texts, rows, strict=True) if row])
        np.testing.assert_array_equal(domain.views[1], words)
    for Y, other in zip(truth.Y, expected.Y, strict=True):
        np.testing.assert_array_equal(Y, other)


@pytest.mark.slow
def test_embeddings_equal_those_of_sentence_transformers(model):
    vectors = embedded.embed(TEXTS, *model)
    assert (vectors.shape, vectors.dtype) == ((4, embedded.SIZE), np.float32)
    np.testing.assert_allclose(vectors[:, [0, -1]], EXPECTED, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    backwards = embedded.embed(TEXTS[::-1], *model)
    np.testing.assert_allclose(backwards[::-1], vectors, rtol=0, atol=1e-6)


def test_the_cached_task_depends_on_the_digests_of_the_model(home, monkeypatch):
    before = tasks.Task.parse(TASK).built_path(home)
    changed = {name: replace(file, digest="sha256:0") for name, file in embedded.MODEL.items()}
    monkeypatch.setattr(embedded, "FILES", embedded.FILES | changed)
    assert before != tasks.Task.parse(TASK).built_path(home)


def test_without_the_extra_the_error_names_the_remedy(files, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    monkeypatch.setattr(tasks.fetch, "get", lambda file, _: files[file.name])
    with pytest.raises(Unavailable) as error:
        tasks.load(tasks.Task.parse(TASK), home)
    assert str(error.value) == f"safetensors is not installed; {install_hint('modern')}."
    assert not tasks.Task.parse(TASK).built_path(home).exists()
