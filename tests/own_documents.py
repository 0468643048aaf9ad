"""The user's own documents for the tests."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from transferbench.userdata.documents import Documents


def write_csv(path: Path, rows, head=("text", "label"), delimiter=",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([head, *rows])
    return path


def write_jsonl(path: Path, rows, head=("text", "label")) -> Path:
    lines = [json.dumps(dict(zip(head, row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


CAT = ["the cat sat on a mat", "cat and kitten purr", "kitten on the mat", "a mouse fears the cat"]
SEA = ["ship and boat at sea", "the boat sails the sea", "a sailor on the ship", "sea and sail"]


def make_documents(path: str, texts: list[str], labels: list[str]) -> Documents:
    return Documents(Path(path), texts, labels)


SOURCE = make_documents("s.csv", [*CAT, *SEA], ["cat"] * 4 + ["sea"] * 4)
TARGET = make_documents("t.csv", ["kitten and cat", "sailor at sea", "the cat"], ["cat", "sea", ""])
