"""The user's own documents for the tests."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from transferbench.errors import UserError
from transferbench.own.documents import Documents, DomainFiles, find_domains

#: Words of two classes, and those of both.
WORDS = {"cat": "cat kitten purr whisker mouse mat", "sea": "ship sail boat wave sailor anchor"}
COMMON = "the a of and on with some many often never"


def sentences(seed: int, labels: list[str] | int, shift: int) -> list[tuple[str, str]]:
    """Return texts of four words of their class and two common ones, and their labels.

    Parameters
    ----------
    seed
        Seed of the random words.
    labels
        Labels of the texts, or how many texts; then cat and sea take turns.
    shift
        Index of the first word of a class that is used.
    """
    rng = random.Random(seed)
    if isinstance(labels, int):
        labels = [("cat", "sea")[i % 2] for i in range(labels)]
    return [
        (
            " ".join(
                rng.choices(WORDS[label].split()[shift : shift + 4], k=4)
                + rng.choices(COMMON.split(), k=2)
            ),
            label,
        )
        for label in labels
    ]


def write_csv(path: Path, rows, head=("text", "label"), delimiter=",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([head, *rows])
    return path


def read_csv(path: Path | str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_several(path: Path, seed: int, number: int) -> Path:
    """Write documents with one or two labels, separated by |."""
    one, two = sentences(seed, number, 1), sentences(seed + 50, number, 1)
    pairs = [*zip(one, two[1:] + two[:1], strict=True)][: number // 3]
    both = [(f"{a[0]} {b[0]}", f"{a[1]}|{b[1]}") for a, b in pairs]
    return write_csv(path, one[number // 3 :] + both)


def write_jsonl(path: Path, rows, head=("text", "label")) -> Path:
    lines = [json.dumps(dict(zip(head, row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


CAT = ["the cat sat on a mat", "cat and kitten purr", "kitten on the mat", "a mouse fears the cat"]
SEA = ["ship and boat at sea", "the boat sails the sea", "a sailor on the ship", "sea and sail"]


def make_documents(path: str, texts: list[str], labels: list[str]) -> Documents:
    return Documents(Path(path), texts, labels, made_places(path, len(texts)))


def made_places(path: str, n: int) -> pd.DataFrame:
    """Return a table without columns for n documents of a file."""
    index = pd.MultiIndex.from_product([[path], range(1, n + 1)], names=("file", "row"))
    return pd.DataFrame(index=index)


SOURCE = make_documents("s.csv", [*CAT, *SEA], ["cat"] * 4 + ["sea"] * 4)
TARGET = make_documents("t.csv", ["kitten and cat", "sailor at sea", "the cat"], ["cat", "sea", ""])


def write_documents(path: Path, documents: Documents = SOURCE) -> Path:
    """Write documents of texts as a table, by default those of the source."""
    return write_csv(path, zip(documents.content, documents.labels, strict=True))


def domains(*paths: Path | str) -> list[list[DomainFiles]]:
    """Return the domains of each file or folder, as of a source and a target."""
    return [find_domains([f"{path}"]) for path in paths]


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Check that the block raises a UserError of one line that matches a pattern."""
    with pytest.raises(UserError) as error:
        yield
    assert re.search(message, str(error.value))
    assert "\n" not in str(error.value)
