"""Embeddings of texts: each text once, stored, and made again if the file is damaged."""

from __future__ import annotations

import numpy as np
import pytest
from fake_encoder import FakeEncoder, vector_of

from transferbench.data import sentences
from transferbench.data.sentences import ENTRY, SIZE, embed, stored_path
from transferbench.errors import UserError

TEXTS = ["one", "two two", "", "one", "three three three", "Ünï 語"]


@pytest.fixture
def encoder(monkeypatch) -> FakeEncoder:
    return FakeEncoder(monkeypatch)


def expected(texts) -> np.ndarray:
    return np.vstack([vector_of(text) for text in texts])


def test_each_text_is_embedded_once_and_stored_without_its_words(encoder, home):
    seen = []
    vectors = embed(TEXTS, home, on_progress=lambda *numbers: seen.append(numbers))
    assert (vectors.shape, vectors.dtype) == ((6, SIZE), np.float32)
    np.testing.assert_array_equal(vectors, expected(TEXTS))
    assert encoder.texts == sorted(set(TEXTS))
    assert (seen[0], seen[-1]) == ((0, 5), (5, 5))
    content = stored_path(home, 128).read_bytes()
    assert len(content) == 5 * ENTRY.itemsize
    assert b"three" not in content
    encoder.calls.clear()
    np.testing.assert_array_equal(embed(["two two", "new", "one"], home)[[0, 2]], vectors[[1, 0]])
    assert encoder.calls == [["new"]]
    embed(["one"], home, max_pieces=256)
    assert encoder.calls == [["new"], ["one"]]  # of more word pieces, another embedding
    assert embed([], home).shape == (0, SIZE)


def test_damaged_entries_are_made_again(encoder, home):
    embed(TEXTS, home)
    path = stored_path(home, 128)
    content = bytearray(path.read_bytes())
    content[40] ^= 1  # in the first embedding, of ""
    path.write_bytes(content[:-3])  # the last one, of the longest text, was not written completely
    encoder.calls.clear()
    np.testing.assert_array_equal(embed(TEXTS, home), expected(TEXTS))
    assert encoder.texts == ["", "three three three"]
    encoder.calls.clear()
    np.testing.assert_array_equal(embed(TEXTS, home), expected(TEXTS))
    assert encoder.calls == []


def test_an_interruption_keeps_what_is_finished(encoder, home, monkeypatch):
    monkeypatch.setattr(sentences, "STEP", 8)
    embed_step = encoder.embed

    def interrupted(texts):
        if "three three three" in texts:
            raise KeyboardInterrupt
        return embed_step(texts)

    monkeypatch.setattr(encoder, "embed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embed(TEXTS, home)
    monkeypatch.setattr(encoder, "embed", embed_step)
    done = encoder.texts
    assert len(done) == 4
    encoder.calls.clear()
    np.testing.assert_array_equal(embed(TEXTS, home), expected(TEXTS))
    assert encoder.texts == sorted({*TEXTS} - {*done})


@pytest.mark.parametrize("obstacle", ["no room", "a file in place of the folder", "a folder"])
def test_without_a_place_to_store_them_embeddings_are_still_made(encoder, home, obstacle):
    path = stored_path(home, 128)
    if obstacle == "no room":
        home = home.replace(max_artefacts=0)
    elif obstacle == "a folder":
        path.mkdir(parents=True)
    else:
        home.data.mkdir()
        path.parent.write_text("")
    np.testing.assert_array_equal(embed(TEXTS, home), expected(TEXTS))
    assert not path.is_file() or not path.stat().st_size


def test_the_number_of_word_pieces_is_checked():
    for number in (2, 513):
        with pytest.raises(UserError, match="expected 3 to 512 word pieces"):
            sentences.Encoder.from_files(None, None, number)


def test_the_encoder_equals_a_slow_one_on_made_up_weights():
    """One text at a time, one head at a time, in float64."""
    rng = np.random.default_rng(0)
    size, inner = SIZE, 8
    W = {f"embeddings.{n}_embeddings.weight": rng.normal(size=(5, size))
         for n in ("word", "position", "token_type")}  # fmt: skip
    layers = [f"encoder.layer.{i}" for i in range(sentences.LAYERS)]
    for name in layers:
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            W[f"{name}.attention.{part}.weight"] = rng.normal(size=(size, size)) / 20
            W[f"{name}.attention.{part}.bias"] = rng.normal(size=size)
        W[f"{name}.intermediate.dense.weight"] = rng.normal(size=(inner, size)) / 20
        W[f"{name}.intermediate.dense.bias"] = rng.normal(size=inner)
        W[f"{name}.output.dense.weight"] = rng.normal(size=(size, inner))
        W[f"{name}.output.dense.bias"] = rng.normal(size=size)
    norms = ["embeddings"] + [f"{n}{p}" for n in layers for p in (".attention.output", ".output")]
    for name in norms:
        W[f"{name}.LayerNorm.weight"] = rng.uniform(0.5, 2, size)
        W[f"{name}.LayerNorm.bias"] = rng.normal(size=size)
    ids = np.array([[0, 3, 1], [2, 2, 4]])
    found = sentences._encode({n: a.astype(np.float32) for n, a in W.items()}, ids)
    np.testing.assert_allclose(found, [slow(W, text) for text in ids], rtol=0, atol=1e-5)


def slow(W, ids) -> np.ndarray:
    from scipy.special import erf

    def norm(name, x):
        z = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return z * W[f"{name}.LayerNorm.weight"] + W[f"{name}.LayerNorm.bias"]

    def linear(name, x):
        return x @ W[f"{name}.weight"].T + W[f"{name}.bias"]

    tables = [W[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type")]
    x = norm("embeddings", tables[0][ids] + tables[1][: len(ids)] + tables[2][0])
    for layer in range(sentences.LAYERS):
        name = f"encoder.layer.{layer}"
        q, k, v = (linear(f"{name}.attention.self.{p}", x) for p in ("query", "key", "value"))
        heads = []
        for head in np.split(np.arange(SIZE), sentences.HEADS):
            weights = np.exp(q[:, head] @ k[:, head].T / np.sqrt(32))
            heads.append(weights / weights.sum(1, keepdims=True) @ v[:, head])
        x = norm(
            f"{name}.attention.output",
            x + linear(f"{name}.attention.output.dense", np.hstack(heads)),
        )
        inner = linear(f"{name}.intermediate.dense", x)
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = norm(f"{name}.output", x + linear(f"{name}.output.dense", inner))
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)
