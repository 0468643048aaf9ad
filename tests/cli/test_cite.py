"""BibTeX that BibTeX can read: a strict parser of what `cite` prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

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
            depth = 0
            for letter in value:
                depth += (letter == "{") - (letter == "}")
                assert depth >= 0, line
            assert depth == 0, line
            text = re.sub(r"\\url\{[^{}]*\}", "", value)
            assert not re.search(r"(?<!\\)[&%$#_]", re.sub(r"\$\\\w+\$", "", text)), line
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


def test_a_table_cites_its_paper_its_data_and_the_suite(call):
    code, out, err = call("cite", "gtl-table3")
    assert (code, err) == (0, "")
    entries = parse(out)
    assert list(entries) == [
        "long2012transfer", "data-newsgroups-bydate", "data-newsgroups-19997", "data-reuters",
        "data-zhuang", "transferbench",
    ]  # fmt: skip
    assert entries["long2012transfer"]["author"].startswith("Long, Mingsheng and Wang, Jianmin and")
    assert "github.com/cswhjiang" in entries["data-reuters"]["howpublished"]
    assert "research" in entries["data-reuters"]["note"]


def test_the_suite_is_cited_as_its_citation_file_says(call):
    citation = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text("utf-8"))
    (entry,) = parse(call("cite")[1]).values()
    assert entry["version"] == citation["version"]
    assert entry["author"] == f"{{{citation['authors'][0]['name']}}}"
    assert entry["year"] == str(citation["date-released"].year)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("cocc", ["dai2007coclustering", "transferbench"]),
        ("arrls", ["long2014adaptation", "transferbench"]),
        ("cd-plsa", ["zhuang2010collaborative", "transferbench"]),
        ("comp-vs-rec", ["data-newsgroups", "transferbench"]),
        ("rcv1", ["lewis2004rcv1", "data-rcv1", "transferbench"]),
        ("lr", ["transferbench"]),
    ],
)
def test_models_tasks_and_datasets(call, name, keys):
    assert list(parse(call("cite", name)[1])) == keys


def test_an_unknown_name_is_one_line(call):
    code, out, err = call("cite", "gtl-tabel3")
    assert (code, out) == (2, "")
    assert err == (
        "Error: unknown name 'gtl-tabel3'. Did you mean 'gtl-table3'? See `transferbench list`.\n"
    )
