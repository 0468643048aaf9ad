"""A mistake in the JSON file of a dataset is one line that names the file and the remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from transferbench.data.declared import declared
from transferbench.errors import UserError
from transferbench.terms import TERMS

FILE = {"size": 3, "digest": "sha256:0", "origins": ["https://a.example/f"]}
GOOD = {"licence": "None is stated.", "terms": ["unknown"], "files": {"d/f": FILE}, "tasks": {}}


def write(folder: Path, content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "pets.json").write_text(text, "utf-8")
    return str(folder / "pets.py")


def test_a_file_has_the_licence_and_each_field(tmp_path):
    files, tasks = declared(write(tmp_path, GOOD))
    file = files["d/f"]
    assert (file.size, file.digest, file.licence) == (3, "sha256:0", GOOD["licence"])
    assert (file.origins[0].label, tasks) == ("https://a.example/f", {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"tasks": {},}', "not valid JSON"),
        ("[1]", "{}: the file: expected an object {{...}}, got [1]."),
        ("[" * 100_000, "not valid JSON"),
        ('{"tasks": {"a/b": "c", "a/b": "d"}}', "'a/b' is there twice"),
        (GOOD | {"term": []}, "{}: unknown key 'term'. Did you mean 'terms'?"),
        (GOOD | {"terms": [1]}, "{}: terms: item 1: expected a text, got 1."),
        (GOOD | {"tasks": {"a/b": ["c"]}}, "{}: tasks: a/b: expected a text, got ['c']."),
        (GOOD | {"facts": {"a/b": 3}}, "{}: facts: a/b: expected an object {{...}}, got 3."),
        (
            GOOD | {"files": {"d/f": FILE | {"size": "3"}}},
            "size: expected a whole number, got '3'.",
        ),
        (GOOD | {"files": {"d/f": FILE | {"size": True}}}, "expected a whole number, got True."),
        (
            GOOD | {"files": {"d/f": FILE | {"origins": "https://a"}}},
            "{}: files: d/f: origins: expected a list [...], got 'https://a'.",
        ),
        (
            GOOD | {"files": {"d/f": FILE | {"origins": [{"url": 1, "pattern": "x"}]}}},
            "{}: files: d/f: origins: item 1: url: expected a text, got 1.",
        ),
        (
            GOOD | {"files": {"d/f": FILE | {"origins": [{"url": "https://a"}]}}},
            "{}: d/f: TypeError",
        ),
        (
            GOOD | {"licence": 1, "terms": {}},
            "text, got 1. terms: expected a list [...], got {{}}.",
        ),
        (GOOD | {"terms": "unknown"}, "{}: terms: expected a list [...], got 'unknown'."),
        (GOOD | {"terms": ["reserch-only"]}, "'reserch-only'. Did you mean 'research-only'?"),
        ({"files": {"d/f": FILE}}, "{}: files without a licence; state it in one line"),
        (
            GOOD | {"files": {"d/f": {"size": 3, "origins": []}}},
            "argument: 'digest'; expected size",
        ),
        (GOOD | {"files": {"d/f": FILE | {"sha1": "0"}}}, "{}: unknown key of files: d/f 'sha1'."),
    ],
)
def test_a_mistake_is_one_line(tmp_path, content, message):
    with pytest.raises(UserError) as error:
        declared(write(tmp_path, content))
    assert message.format(tmp_path / "pets.json") in str(error.value)
    assert "\n" not in str(error.value)


def test_the_tutorial_has_the_list_of_terms():
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "add-a-dataset.md"
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| (.+) \|$", page.read_text("utf-8"))
    assert dict(rows) == TERMS
