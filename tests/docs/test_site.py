"""The built site in a browser; skipped unless `make docs` has built it."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
from conftest import ROOT

SITE = (ROOT / "docs" / "_build" / "html").resolve()
PAGES = ("index", "choose", "tutorials/own-data", "results/gtl-table3", "reference/models/gcmf")


@pytest.fixture(autouse=True)
def _built():
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits_a_phone(browser, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    found = Axe().run(page)
    page.close()
    assert found.violations_count == 0, found.generate_report()


def test_the_search_returns_no_boilerplate():
    """Parameters that many models share, and the changelog, are not in the index."""
    text = (SITE / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    for word, allowed in (("neighbour", 9), ("keyword", 1)):
        places = index["terms"].get(word, [])
        names = [index["docnames"][n] for n in (places if isinstance(places, list) else [places])]
        of_models = [name for name in names if name.startswith("reference/models/")]
        assert len(of_models) <= allowed, of_models
        assert "changelog" not in names


def test_outputs_of_tutorials_are_not_broken():
    """A kernel sends them in pieces of 100 characters."""
    text = (SITE / "tutorials" / "check-a-number.html").read_text("utf-8")
    assert "a deviation, so the value is a mean of several runs (3,925" in text


def test_every_link_of_a_page_leads_to_a_file():
    texts = {page: page.read_text("utf-8") for page in SITE.rglob("*.html")}
    places = {page: set(re.findall(r'id="([^"]*)"', text)) for page, text in texts.items()}
    for page, text in texts.items():
        assert "myst xref-missing" not in text
        for link, place in re.findall(r'href="([^"#:]*)(?:#([^"]*))?"', text):
            target = (page.parent / unquote(link.partition("?")[0])).resolve() if link else page
            assert target.is_file(), (page, link)
            assert not place or place in places[target], (page, link, place)


def test_each_page_links_the_results(browser):
    for name in ("index", "choose", "reference/models/gcmf"):
        page = browser.new_page()
        page.goto((SITE / f"{name}.html").as_uri())
        page.locator(".frame").get_by_role("link", name="Results").click()
        assert page.url.endswith("/results/index.html")
        page.locator(".frame").get_by_role("link", name="transferbench").click()
        assert page.url == (SITE / "index.html").as_uri()
        page.close()


#: What a reader recognises a site by: its colours, its letters, and where its header stands.
LOOK = """() => {
  const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
  const places = [...document.querySelectorAll(".frame :is(a, input)")].map((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [one.textContent, x, y, width, height].join();
  });
  return [color, backgroundColor, fontFamily, ...places];
}"""


@pytest.mark.parametrize("width", [400, 1280])
def test_documentation_and_results_have_one_frame(browser, width):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="light")
    looks = {}
    for name in ("papers/index", "results/index", "results/gtl-table3"):
        page.goto((SITE / f"{name}.html").as_uri())
        for theme in ("light", "dark"):  # by the switch of the documentation
            page.evaluate("(theme) => localStorage.setItem('theme', theme)", theme)
            page.reload()
            looks[name, theme] = page.evaluate(LOOK)
    page.close()
    for theme in ("light", "dark"):
        assert looks["papers/index", theme] == looks["results/index", theme]
        assert looks["papers/index", theme] == looks["results/gtl-table3", theme]
    assert looks["papers/index", "light"][1] != looks["papers/index", "dark"][1]


@pytest.mark.parametrize(("name", "words"), [("choose", "GCMF"), ("results/index", "gtl-table3")])
def test_the_header_searches(browser, name, words):
    page = browser.new_page()
    page.goto((SITE / f"{name}.html").as_uri())
    page.locator(".frame input").fill(words)
    page.keyboard.press("Enter")
    page.get_by_role("link", name=words).first.wait_for()
    page.close()
