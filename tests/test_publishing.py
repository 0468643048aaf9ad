"""What a release needs: one version everywhere, and files that their readers accept."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import transferbench
from transferbench import datasets, experiments, models

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if p.stem != "config"]


def read(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_citation_and_changelog_have_the_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == transferbench.__version__
    first = re.search(r"^## (\S+?)(?:,|$)", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert first == transferbench.__version__
    pyproject = tomllib.loads(read("pyproject.toml"))
    assert pyproject["tool"]["hatch"]["version"]["path"] == "transferbench/__init__.py"


def test_the_citation_is_complete_and_its_keywords_are_models_and_datasets():
    citation = yaml.safe_load(read("CITATION.cff"))
    demanded = {"cff-version", "message", "title", "authors", "abstract", "type", "license"}
    assert demanded | {"version", "date-released", "keywords", "references"} == citation.keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(citation["date-released"]))
    known = {*models.registry(), *datasets.modules()}
    for reference in citation["references"]:
        assert {"type", "title", "authors", "keywords"} <= reference.keys()
        assert set(reference["keywords"]) <= known, reference["title"]
        assert reference["type"] != "conference-paper" or reference["conference"]["name"]


def test_the_citation_names_every_paper_with_all_its_authors():
    references = {
        each["title"]: [author["family-names"] for author in each["authors"]]
        for each in yaml.safe_load(read("CITATION.cff"))["references"]
    }
    papers = [experiments.load(name).spec.paper for name in experiments.names()]
    named = {p.title: p.authors for p in papers if p.venue != "this project"}
    assert references.keys() >= named.keys()
    for title, authors in named.items():
        surnames = [name.split(". ")[-1] for name in re.split(", | and ", authors)]
        assert references[title] == surnames


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_bounded_and_has_no_more_rights_than_it_needs(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        if "uses" in job:  # another workflow, which is tested as well
            assert (ROOT / job["uses"]).is_file()
            continue
        assert job["timeout-minutes"] <= 60, name
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= workflow["jobs"].keys()
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert "secrets." not in str(step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit(path):
    used = re.findall(
        r"^ *(?:- )?uses: (?!\./)(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_an_action_has_one_commit_in_all_workflows():
    text = "".join(map(read, WORKFLOWS))
    pins = set(re.findall(r"uses: (\S+)@([0-9a-f]{40})", text))
    assert len({action for action, _ in pins}) == len(pins)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_checkout_keeps_no_credentials_and_a_cache_key_names_files(path):
    for job in yaml.safe_load(read(path))["jobs"].values():
        for step in job.get("steps", []):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            for patterns in re.findall(r"hashFiles\((.*?)\)", str(step)):
                for pattern in re.findall(r"[\w/.*-]+", patterns):
                    assert list(ROOT.glob(pattern)), pattern


def test_the_wheel_is_tested_on_every_python_and_the_locked_versions_are_audited():
    jobs = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]
    pythons = jobs["wheel"]["strategy"]["matrix"]["python"]
    assert pythons == [f"3.{minor}" for minor in range(11, 11 + len(pythons))]
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    stated = {line.rpartition(" ")[2] for line in classifiers if ":: Python :: 3." in line}
    assert set(jobs["locked"]["strategy"]["matrix"]["python"]) == stated <= set(pythons)
    assert any("pip_audit --strict" in step.get("run", "") for step in jobs["audit"]["steps"])


def test_nothing_is_uploaded_that_was_not_tested_and_attested():
    jobs = yaml.safe_load(read(".github/workflows/release.yml"))["jobs"]
    order = ["upload"]
    while "needs" in jobs[order[-1]]:
        order.append(jobs[order[-1]]["needs"])
    assert order == ["upload", "attest", "test", "build", "checks"]
    assert jobs["checks"]["uses"] == "./.github/workflows/tests.yml"
    assert set(jobs["test"]["strategy"]["matrix"]["kind"]) == {"whl", "tar.gz"}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_the_fields_that_it_needs(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert field["attributes"]["label"]


def test_the_image_is_pinned_by_its_digest():
    images = re.findall(r"^FROM (.+)$", read("Containerfile"), re.MULTILINE)
    assert images
    for image in images:
        assert re.fullmatch(r"docker\.io/library/python:3\.\d+-\S+@sha256:[0-9a-f]{64}", image)


def test_the_container_installs_what_make_test_needs():
    text = read("Containerfile")
    assert "\nRUN make install\n" in text
    assert "\ninstall: $(TESTED)" in read("Makefile")
    assert "\ntest: $(TESTED)" in read("Makefile")
    (extras,) = re.findall(r"^ENV EXTRAS=(\S+)", text, re.MULTILINE)
    known = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= known.keys()
