"""What a release needs: one version everywhere, complete citations, workflows with few rights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import transferbench
from transferbench import citing, datasets, experiments, models

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_citation_and_changelog_have_the_version():
    assert yaml.safe_load(read("CITATION.cff"))["version"] == transferbench.__version__
    first = re.search(r"^## (\S+?)(?:,|$)", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert first == transferbench.__version__


def test_references_name_models_datasets_and_every_paper_with_all_its_authors():
    names = {*models.registry(), *datasets.modules(), "transferbench"}
    surnames = {}
    for entry in citing.ENTRY.finditer(citing.REFERENCES.read_text("utf-8")):
        assert set(entry["keywords"].split(", ")) <= names
        (authors,) = re.findall(r"author = \{(.*)\}", entry["text"])
        surnames[entry["title"]] = [name.split(",")[0] for name in authors.split(" and ")]
    papers = [experiments.load(name).spec.paper for name in experiments.names()]
    cited = {p.title: p.authors for p in papers if p.venue != "this project"}
    for title, authors in cited.items():
        assert surnames[title] == [n.split(". ")[-1] for n in re.split(", | and ", authors)]
    for reference in yaml.safe_load(read("CITATION.cff"))["references"]:
        assert [author["family-names"] for author in reference["authors"]] == surnames[
            reference["title"]
        ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_bounded_pinned_and_has_no_more_rights_than_it_needs(path):
    workflow = yaml.safe_load(read(path))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        if "uses" in job:  # another workflow, which is tested as well
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["timeout-minutes"] <= 60, name
        for step in job["steps"]:
            assert "secrets." not in str(step)
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    for action in re.findall(r"^ *(?:- )?uses: (?!\./)(.+)$", read(path), re.MULTILINE):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
