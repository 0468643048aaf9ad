"""Pages of models: formulas, order of sections, and examples that run."""

from __future__ import annotations

import importlib
import re
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from conftest import ROOT, slow_unless

from transferbench import models
from transferbench.errors import Unavailable

SECTIONS = [
    "When to use it",
    "Example",
    "Topics",
    "Results",
    "Parameters",
    "Notes",
    "Departures from the paper",
]


@pytest.fixture
def extension(monkeypatch):
    """A function that imports a module of docs/_ext."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    return importlib.import_module


@pytest.fixture
def in_mathml(extension):
    """A function that returns the elements of a formula."""
    to_html = extension("formulas").to_html
    return lambda text: ET.fromstring(to_html(text))


@pytest.mark.parametrize("name", models.registry())
def test_the_formulas_of_a_model_have_no_unicode_notation_left(name, in_mathml):
    doc = importlib.import_module(models.get(name).module).__doc__
    blocks = [block for block in doc.split("\n\n") if block.startswith("    ")]
    assert any("min " in block for block in blocks)
    for block in blocks:
        html = in_mathml(block)
        written = "".join(html.itertext())
        assert not re.search(
            "[_^√½Σᵀ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉ᵖˢᴸˡ\u0302]", written.replace("^", "")
        ), written
        # Every letter and digit of the docstring is there.
        plain = (
            unicodedata.normalize("NFD", block)
            .translate(str.maketrans("₁₂¹²³⁻ᵖˢᴸˡ", "12123−psLl"))
            .replace("½", "12")
        )
        assert sorted(re.findall(r"[a-zA-Z0-9]", plain.replace("over", ""))) == sorted(
            re.findall(r"[a-zA-Z0-9]", written.replace("over", ""))
        )


def test_a_formula_has_a_row_for_each_line_and_wraps_between_terms(in_mathml):
    html = in_mathml(
        "    min over W  Σ_i ‖y_i − Wᵀx_i‖² + λ ‖W‖²\n    s.t. W ≥ 0,  rows sum to one"
    )
    heads = html.findall("div[@class='head']")
    assert ["".join(head.itertext()) for head in heads] == ["minW", "s.t."]
    terms, constraints = html.findall("div[@class='terms']")
    assert len(terms.findall(".//math")) == 2
    assert terms.find(".//msubsup") is None
    assert ["".join(e.itertext()) for e in terms.findall(".//munder")] == ["∑i"]
    assert "rows sum to one" in "".join(constraints.itertext())


def test_scripts_roots_and_stacked_matrices_are_elements(in_mathml):
    html = in_mathml("    [H₁; H₂] V_τᵀ + √d_i")
    assert len(html.findall(".//mtr")) == 2
    assert ["".join(e.itertext()) for e in html.findall(".//msubsup")] == ["Vτ⊤"]
    assert html.find(".//msqrt/msub") is not None


def test_an_unknown_character_is_an_error(extension):
    with pytest.raises(ValueError, match="no MathML"):
        extension("formulas").to_html("    a ⊗ b")


@pytest.mark.parametrize("name", slow_unless("himlsd".__ne__, models.registry()))
def test_the_example_of_a_model_runs(name, extension, capsys):
    code = extension("model_pages").code(models.get(name))
    try:
        exec(compile(code, name, "exec"), {})
    except (Unavailable, ValueError) as error:  # an optional library is missing
        if "is not installed" not in str(error):
            raise
        pytest.skip(str(error))
    assert capsys.readouterr().out or name == "nmf"


@pytest.mark.parametrize("name", models.registry())
def test_a_page_has_its_sections_in_order(name, extension):
    text = extension("model_pages").page(models.get(name))
    heads = re.findall("^## (.*)", text, re.MULTILINE)
    assert heads == [head for head in SECTIONS if head in heads]
    always = [head for head in SECTIONS[:5] if head != "Topics"]
    assert [head for head in heads if head != "Topics"][:4] == always
    assert ("Topics" in heads) == (name in models.WITH_TOPICS)
    assert text.index('class="objective"') < text.index("## When")


def test_the_title_is_the_proper_name(extension):
    title = {
        name: extension("model_pages").parts(model)[0] for name, model in models.registry().items()
    }
    assert title["gcmf"] == "GCMF"
    assert title["lr-kmeans"] == "LR → k-means"
    assert title["kmeans"] == "k-means"
