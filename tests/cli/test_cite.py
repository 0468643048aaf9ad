"""BibTeX that BibTeX can read: a strict parser of what `cite` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transferbench import citing, datasets, experiments, models

#: Fields that BibTeX demands.
DEMANDED = {
    "inproceedings": {"author", "title", "booktitle", "year"},
    "article": {"author", "title", "journal", "year"},
    "misc": {"title"},
}
NOWHERE = Path("nowhere")


def parse(text: str) -> dict[str, dict[str, str]]:
    """Return the entries by key; fail for anything that is not plain BibTeX."""
    entries = {}
    for entry in text.split("\n\n"):
        head, *lines, end = entry.strip("\n").split("\n")
        kind, key = re.fullmatch(r"@(\w+)\{([a-z0-9-]+),", head).groups()
        assert end == "}"
        fields = {}
        for line in lines:
            name, value = re.fullmatch(r"  (\w+) = \{(.+)\},", line).groups()
            assert value.count("{") == value.count("}"), line
            plain = re.sub(r"\\url\{[^{}]*\}|\$\\\w+\$", "", value)
            assert not re.search(r"(?<!\\)[&%$#_]", plain), line
            assert name not in fields
            fields[name] = value
        assert DEMANDED[kind] <= fields.keys(), entry
        assert "author" in fields or "key" in fields  # else BibTeX cannot sort it
        assert key not in entries
        entries[key] = fields
    return entries


def test_every_experiment_dataset_and_model_has_valid_entries():
    names = [*experiments.names(), *experiments.papers(), *datasets.modules(), *models.registry()]
    for name in names:
        entries = parse(citing.bibtex(name, NOWHERE))
        assert list(entries)[-1] == "transferbench", name


OF_A_TABLE = [
    "long2012transfer", "data-newsgroups-bydate", "data-newsgroups-19997", "data-reuters",
    "data-zhuang", "transferbench",
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("", ["transferbench"]),
        ("gtl-table3", OF_A_TABLE),
        ("cocc", ["dai2007coclustering", "transferbench"]),
        ("arrls", ["long2014adaptation", "transferbench"]),
        ("cd-plsa", ["zhuang2010collaborative", "transferbench"]),
        ("comp-vs-rec", ["data-newsgroups", "transferbench"]),
        ("rcv1", ["lewis2004rcv1", "data-rcv1", "transferbench"]),
        ("lr", ["transferbench"]),
    ],
)
def test_models_tasks_and_datasets(call, name, keys):
    assert list(parse(call("cite", *name.split())[1])) == keys
