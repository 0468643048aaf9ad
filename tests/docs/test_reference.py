"""The pages that are made from the code: complete, and correct Markdown."""

from __future__ import annotations

import json
import sys

import pytest
import yaml
from conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import docstrings
import reference

from transferbench import datasets, models, parameters, settings
from transferbench.cli import main


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return dict(reference.pages())


@pytest.mark.parametrize("name", models.registry())
def test_every_parameter_of_a_model_has_a_meaning(name):
    known = parameters.schema(models.load(name))
    found = reference.parameter_meanings(name)
    assert not [each for each in known if not found.get(each)]


def test_every_model_dataset_and_command_is_described(pages):
    assert {f"models/{name}.md" for name in models.registry()} <= pages.keys()
    assert {f"datasets/{name}.md" for name in datasets.modules()} <= pages.keys()
    for name in main.list_commands(None):
        assert f"## transferbench {name}\n" in pages["command-line.md"]


def test_tables_have_as_many_cells_as_columns(pages):
    for name, text in pages.items():
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        for line in rows:
            bare = line.replace("\\|", "")
            assert bare.count("|") in (3, 4, 5), f"{name}: {line}"


def test_meanings_are_read_from_a_docstring():
    doc = """Return U.

    k: clusters, of which kappa (κ) are common. lam (λ), gamma: weights.
    seed: of the draw. Raises ValueError for k of 0.
    """
    found = docstrings.meanings(doc, ["k", "kappa", "lam", "gamma", "start"], "start is random. X.")
    assert found["k"] == "clusters, of which kappa (κ) are common"
    assert found["lam"] == found["gamma"] == "weights"
    assert "common" in found["kappa"]
    assert found["start"] == "start is random"


def test_a_docstring_becomes_markdown():
    doc = "Sum *a*.\n\n    a + b\n\nkey  : of\n       both\nother: x\n\nSo:\n- one\n  more\n"
    assert docstrings.to_markdown(doc) == (
        "Sum \\*a\\*.\n\n```text\na + b\n```\n\n\n- `key`: of\n  both\n- `other`: x\n\n"
        "So:\n\n- one\n  more"
    )


def test_the_json_schema_knows_the_keys_of_committed_experiments():
    keys = json.loads(reference.json_schema())["properties"].keys()
    for file in settings.experiments_dir().glob("*.yaml"):
        assert yaml.safe_load(file.read_text(encoding="utf-8")).keys() <= keys
