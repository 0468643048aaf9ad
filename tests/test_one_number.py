"""One number, followed from the words of a toy corpus to the page that shows it."""

from __future__ import annotations

import json

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

WORDS = {"cars": "engine wheel road", "food": "bread soup salt"}
ENDS = ("fast", "old", "cheap", "new", "good", "small")
TASK = """\
source: [source.csv]
targets: [target.csv]
options: {min_df: 1}
"""
EXPERIMENT = """\
title: Toy
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
repeats: 1
rows: {toy: {task: toy.yaml}}
columns: {LR: {model: lr, params: {C: 1.0, intercept: true}}}
published: {toy: {LR: 50.0}}
tolerance: {value: 1.0, reason: a toy}
"""


def documents(order: int) -> list[tuple[str, str]]:
    """Twelve documents of two classes; the last of the target has the words of the other class."""
    texts = [(f"{words} {end}", label) for label, words in WORDS.items() for end in ENDS]
    return texts[::order]


def test_a_value_is_that_of_its_words_everywhere(call, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, target = documents(1), documents(-1)
    target[-1] = (target[0][0], target[-1][1])
    for name, rows in (("source", source), ("target", target)):
        lines = "".join(f"{text},{label}\n" for text, label in rows)
        (tmp_path / f"{name}.csv").write_text(f"text,label\n{lines}")
    (tmp_path / "toy.yaml").write_text(TASK)
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    code, _, err = call("reproduce", "mine.yaml")
    assert code == 0, err

    # By hand: TF-IDF of all documents, logistic regression on the source.
    weigh = TfidfVectorizer().fit([text for text, _ in source + target])
    model = LogisticRegression().fit(
        weigh.transform([t for t, _ in source]), [y for _, y in source]
    )
    decided = model.predict(weigh.transform([text for text, _ in target]))
    accuracy = float(np.mean(decided == [label for _, label in target]))
    assert 0.5 < accuracy < 1

    (line,) = (home.results / "mine" / "runs.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["metrics"]["target"]["accuracy"] == accuracy
    assert record["documents"] == {"target": 12}
    shown = f"{100 * accuracy:.2f}"
    assert f"| toy | {shown} / 50.00 ▲ |" in (home.results / "mine" / "table.md").read_text()
    assert f"{100 * accuracy:.6g}," in (home.results / "mine" / "table.csv").read_text()
    assert f"ours      {shown} %" in call("explain", "mine", "toy", "LR")[1]
    assert call("report")[0] == 0
    assert shown in (home.results / "report" / "mine.html").read_text()
