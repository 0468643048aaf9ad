"""The reference: docstrings describe every parameter, and the pages are made from them."""

from __future__ import annotations

import importlib
import json
import re

import pytest
from conftest import ROOT

from transferbench import datasets, models, parameters, settings, strict_yaml


@pytest.fixture
def generate(monkeypatch):
    """The extension that makes the pages; it needs the extra `docs`."""
    pytest.importorskip("sphinx", reason="the extra [docs] is not installed")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    return importlib.import_module("generate")


def test_descriptions_are_read_from_a_numpydoc_section():
    def fit(k, lam, gamma):
        """Fit.

        Parameters
        ----------
        k
            Clusters of
            words.
        lam, gamma
            Weights.

        Returns
        -------
        Fit
            Scores.
        """

    expected = {"k": "Clusters of words.", "lam": "Weights.", "gamma": "Weights."}
    assert parameters.descriptions(fit) == expected


def test_every_model_and_dataset_has_a_page(generate):
    pages = dict(generate.pages())
    assert {f"models/{name}.md" for name in models.registry()} <= pages.keys()
    for dataset in datasets.every():
        page = pages[f"datasets/{dataset.name}.md"]
        listed = re.findall(r"(?m)^\| `([a-z-]+)` \|", page.partition("## Terms")[2])
        assert tuple(listed) == dataset.terms


def test_a_docstring_becomes_restructured_text(generate):
    lines = ["Sum *a*.", "", "    a + b", "", "So:", "- x_ of", "  y"]
    generate.to_rst(None, "module", "", None, None, lines)
    expected = "Sum \\*a\\*.\n\n.. code-block:: text\n\n    a + b\n\nSo:\n\n- x\\_ of\n  y\n"
    assert "\n".join(lines) == expected


def test_the_json_schema_knows_the_keys_of_committed_experiments(generate):
    schema = dict(generate.pages())["../_static/experiment.schema.json"]
    keys = json.loads(schema)["properties"].keys()
    for file in settings.experiments_dir().glob("*.yaml"):
        assert strict_yaml.load(file)[0].keys() <= keys


def test_the_json_schema_describes_every_key(generate):
    schema = json.loads(dict(generate.pages())["../_static/experiment.schema.json"])
    for part in (schema, *schema["$defs"].values()):
        assert "Parameters" not in part.get("description", "")
        for key, described in part.get("properties", {}).items():
            assert described.get("description"), (part["title"], key)
