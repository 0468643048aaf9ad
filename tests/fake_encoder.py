"""A stand-in for the encoder of sentence embeddings; it needs no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transferbench.data import sentences


class FakeEncoder:
    """Embeds a text by a generator whose seed is the text; notes the texts of each call.

    Parameters
    ----------
    monkeypatch
        Of the test, in which this replaces the encoder.
    """

    def __init__(self, monkeypatch: Any) -> None:
        self.calls: list[list[str]] = []
        monkeypatch.setattr(sentences.fetch, "get", lambda file, _: Path(file.name))
        monkeypatch.setattr(sentences.Encoder, "from_files", lambda *files: self)

    @property
    def texts(self) -> list[str]:
        """The texts that were embedded, sorted."""
        return sorted(text for call in self.calls for text in call)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.vstack([vector_of(text) for text in texts])


def vector_of(text: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(sentences.SIZE)
    return np.float32(vector / np.linalg.norm(vector))
