"""The pages of all results, as text and in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import missing, shared
from selectolax.lexbor import LexborHTMLParser

from transferbench import experiments
from transferbench.evidence import report
from transferbench.evidence.explain import command
from transferbench.evidence.frame import observations, summarise
from transferbench.evidence.verdict import LOOKS
from transferbench.runs import store

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "results"
#: A table, a figure over a parameter, curves, and a table without data.
SOME = ("gtl-table3", "gtl-figure2a", "dtl-figure4", "mrtl-table3")


def copy(names: tuple[str, ...], results: Path) -> Path:
    """Copy the committed results of some experiments into a folder; return it."""
    for name in names:
        shutil.copytree(RESULTS / name, results / name, dirs_exist_ok=True)
    return results


def write(names: tuple[str, ...], results: Path) -> None:
    """Write the pages of some experiments into report/ of a folder with their results."""
    _, errors = report.write(copy(names, results), results / "report")
    assert errors == []


@pytest.fixture(scope="session")
def results(tmp_path_factory) -> Path:
    """The committed results of a few experiments, and their pages in report/."""
    names = (*SOME, "transfer-scaling", "multilabel")
    return shared(tmp_path_factory, "several", partial(write, names))


@pytest.fixture(scope="session")
def pages(results) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in (results / "report").glob("*.html")}


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A folder with the pages of a few experiments."""
    return shared(tmp_path_factory, "few", partial(write, SOME)) / "report"


def facts(page: str) -> dict[str, dict[str, str]]:
    """Return the facts of a page's dialogs."""
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert text
    return json.loads(text[1])


def test_a_page_needs_nothing_but_links_to_the_others(pages):
    for text in pages.values():
        for target in re.findall(r'(?:src|href|action)="(?!#|data:)([^"#]*)[^"]*"', text):
            assert target in pages
        assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttpRequest", text)


def test_a_page_may_run_its_own_script_alone(pages):
    for text in pages.values():
        policy = re.search('http-equiv="Content-Security-Policy" content="(.*?)"', text)[1]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        (script,) = re.findall("<script>(.*?)</script>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert rules == {
            "default-src": "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
            "img-src": "data:",
            "style-src": "'unsafe-inline'",
            "script-src": f"'sha256-{digest}'",
        }
        assert not re.search(r"<[^>]* on\w+=", text)


def test_ids_are_unique_and_valid_and_their_references_exist(pages):
    for text in pages.values():
        found = LexborHTMLParser(text)
        ids = [node.attributes["id"] for node in found.css("[id]")]
        assert len(ids) == len(set(ids))
        assert all(ids)
        assert not any(re.search(r"\s", name) for name in ids)
        named = re.findall(r'(?:href="#|url\(#)([^")]*)', text)
        assert {*map(html.unescape, named)} <= {*ids}


def test_a_board_comes_before_the_values_and_their_legend(pages):
    page = pages["multilabel.html"]
    places = [page.index(words) for words in (">Board<", "one run each", ">Methods<")]
    assert places == sorted(places)


def test_every_cell_and_claim_has_its_place(results, pages):
    for path in sorted(results.glob("*/runs.jsonl")):
        file = experiments.load(path.parent.name)
        page = pages[f"{file.name}.html"]
        assert f'href="{file.name}.html"' in pages["index.html"]
        for claim in file.spec.claims:
            says = html.escape(claim.says).replace("&#x27;", "&#39;")
            assert says in page
            assert says in pages["index.html"]
        found = facts(page)
        dialogs = {each["title"]: each for each in found.values()}
        for address, each in found.items():
            if "number" in each:  # without a finished run there is none
                assert each["number"].startswith(f"{file.name}#{address}@")
            assert ("number" in each) == (not each["ours"].startswith("none"))
        observed = observations(file, store.read(path))
        planned = summarise(file, observed)
        if file.spec.figure and file.spec.figure.iterations:
            planned = list({(one.row, one.column): one for one in planned}.values())
        for one in planned:
            place = f", {file.spec.figure.label} = {one.x:g}" if one.x == one.x else ""
            dialog = dialogs[f"{file.name}: {one.column}, {one.row}{place}"]
            assert dialog["runs"] == command(each.run for each in one.records)
            assert dialog.get("data", "") == ", ".join(
                dict.fromkeys(r.data for r in one.records if r.data)
            )
        assert page.count("aria-haspopup") == len(dialogs) == len(planned)


def test_texts_are_escaped(tmp_path, monkeypatch):
    """Names come from files of whoever writes an experiment."""
    evil = "</script><script>alert(1)</script>"
    text = (experiments.settings.experiments_dir() / "gtl-table3.yaml").read_text(encoding="utf-8")
    folder = tmp_path / "experiments"
    folder.mkdir()
    text = text.replace("title: Average", f"title: '{evil}' #").replace(
        "comp vs rec", "<b>'c' vs r"
    )
    text = re.sub(r"    read_with:\n(      .*\n)+", "", text)  # the others are not in this folder
    (folder / "gtl-table3.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(experiments.settings, "experiments_dir", lambda: folder)
    results = tmp_path / "results" / "gtl-table3"
    results.mkdir(parents=True)
    shutil.copy(RESULTS / "gtl-table3" / "runs.jsonl", results)
    pages, errors = report.render(results.parent)
    assert not errors
    for name, scripts in (("index.html", 2), ("gtl-table3.html", 2)):
        assert evil not in pages[name]
        assert "<b>'c'" not in pages[name]
        assert pages[name].count("</script>") == scripts
    titles = [each["title"] for each in facts(pages["gtl-table3.html"]).values()]
    assert "gtl-table3: GCMF, <b>'c' vs r" in titles


@pytest.fixture
def look(browser):
    """Opens a page and fails where it complains or asks for anything but itself."""
    said: list[str] = []
    pages = []

    def open_(path: Path, width: int = 1280, scheme: str = "light"):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("requestfailed", lambda request: said.append(request.url))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("data:", path.parent.as_uri())) or said.append(request.url)
            ),
        )
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.close()
    assert said == []


TABLE = "gtl-table3.html"
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
WIDTH = "document.scrollingElement.scrollWidth"


def column(page, number: int) -> list[float]:
    cells = page.locator(".results").first.locator(f"tbody td:nth-child({number}) b")
    return [float(text) for text in cells.all_inner_texts()]


def test_a_column_sorts_by_mouse_and_by_keyboard(look, small):
    page = look(small / TABLE)
    table = page.locator(".results").first
    head = table.locator("thead th").nth(2)
    rows = table.locator("tbody th")
    as_written, values = rows.all_inner_texts(), column(page, 3)
    head.get_by_role("button").click()
    assert column(page, 3) == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the head has the focus
    assert column(page, 3) == sorted(values)
    assert head.get_attribute("aria-sort") == "ascending"
    assert sorted(rows.all_inner_texts()) == sorted(as_written) != rows.all_inner_texts()
    first = table.locator("thead th").first
    first.get_by_role("button").click()
    assert rows.all_inner_texts() == sorted(as_written)
    assert head.get_attribute("aria-sort") is None
    averages = table.locator("tfoot th").all_inner_texts()
    assert averages == [
        "average", "average of Zhuang and Luo's files", "average of Reuters at raw length"
    ]  # fmt: skip


def test_a_cell_opens_and_closes(look, small):
    page = look(small / TABLE)
    cell = page.locator(".results tbody tr").first.get_by_role("button").nth(6)
    cell.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="gtl-table3: GCMF, comp vs rec")
    said = dialog.inner_text()
    for text in (
        "transferbench run gtl/comp-vs-rec-bydate --model gcmf --repeats 10",
        "4: 97.9", "5a6238a02d162fd1", "scikit-learn", "10 of 10 runs", "MiB",
    ):  # fmt: skip
        assert text in said
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert cell.evaluate("(one) => one === document.activeElement")
    cell.click()
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


def test_boards_are_sorted_and_filtered_by_corpus_kind_and_name(look, pages, tmp_path):
    path = tmp_path / "boards.html"
    path.write_text(pages["boards.html"], "utf-8")
    page = look(path)
    board = page.locator("section", has=page.get_by_role("heading", name="multilabel"))
    rows = board.locator("tbody tr:visible")

    def methods() -> list[str]:
        return [text.removesuffix(" ★") for text in rows.locator("th").all_inner_texts()]

    every = methods()
    assert (every[0], every[-1], len(every)) == ("TRAM", "HiMLSD", 8)
    board.get_by_label("Tasks").select_option("RCV1")
    assert sorted(methods()) == sorted(every) != methods()
    assert methods()[0] == "LS-ML", "TRAM is behind it on each of the three tasks"
    assert {*rows.locator("td:last-child").all_inner_texts()} == {"3"}
    board.get_by_role("button", name="rank ↑").click()
    assert methods()[-1] == "LS-ML"
    board.get_by_label("Tasks").select_option("all corpora")
    assert methods() == every[::-1], "the head sorts the tasks of every corpus"
    board.get_by_label("Kind of method").select_option("the papers' own methods")
    assert methods() == ["HiMLSD", "HiMLS"]
    board.get_by_label("Method", exact=True).fill("d")
    assert methods() == ["HiMLSD"]
    assert board.get_by_role("status").inner_text() == "1 of 8 methods"
    board.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.querySelectorAll('tr[hidden]').length === 0")
    assert methods() == every[::-1]


def test_a_method_of_a_board_leads_to_its_description_and_its_runs(look, pages, tmp_path):
    for name in ("boards.html", "multilabel.html"):
        (tmp_path / name).write_text(pages[name], "utf-8")
    ids = [node.attributes["id"] for node in LexborHTMLParser(pages["multilabel.html"]).css("[id]")]
    board = LexborHTMLParser(pages["boards.html"])
    links = [node.attributes["href"] for node in board.css("tbody a")]
    assert {link.partition("#")[0] for link in links} == {"multilabel.html"}
    assert {html.unescape(link.partition("#")[2]) for link in links} <= {*ids}
    assert len(links) == 3 * len(board.css("tbody tr"))
    page = look(tmp_path / "boards.html")
    page.get_by_role("row", name="HiMLSD").get_by_role("link").nth(1).click()
    assert "--model himlsd" in page.get_by_role("dialog", name="multilabel: HiMLSD").inner_text()


def test_in_a_site_a_method_of_a_board_leads_to_the_page_of_its_model(tmp_path):
    results = copy(("multilabel",), tmp_path)
    found, _ = report.render(
        results, {"transferbench": "../i.html", "Reference": "../r/index.html"}
    )
    links = {node.attributes["href"] for node in LexborHTMLParser(found["boards.html"]).css("th a")}
    assert "../r/models/himlsd.html" in links


def test_labels_of_a_board_are_no_html(tmp_path):
    results = copy(("multilabel",), tmp_path)
    folder = results / "mine"
    shutil.move(results / "multilabel", folder)
    text = experiments.load("multilabel").text
    label = "'\"><b>"
    text = text.replace("board: linear SVM", f"board: {json.dumps(label)}")
    text = text.replace("\n  linear SVM:", f"\n  {json.dumps(label)}:")
    (folder / experiments.COPY).write_text(text.partition("\nclaims:")[0] + "\n", "utf-8")
    found, errors = report.render(results)
    assert not errors
    assert (
        html.escape(label).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
        in found["boards.html"]
    )
    assert label not in found["boards.html"]


def test_the_numbers_of_a_board_are_a_file(pages):
    (link,) = LexborHTMLParser(pages["boards.html"]).css("a[download]")
    text = unquote(link.attributes["href"].removeprefix("data:text/csv;charset=utf-8,"))
    assert text == (RESULTS / "boards" / "multilabel.csv").read_text("utf-8")


def test_the_index_links_each_board_and_names_its_first_methods(pages):
    assert 'href="boards.html#multilabel"' in pages["index.html"]
    assert "8 methods; the first by mean rank: TRAM, LS-ML, L2F" in pages["index.html"]


def shown(page) -> set[str]:
    return set(
        page.locator("li[data-paper]:visible").evaluate_all(
            "(all) => all.map((one) => one.id.slice(3))"
        )
    )


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, set(SOME)),
        ({"paper": "Dual Transfer Learning"}, {"dtl-figure4"}),
        ({"method": "dtl"}, {"dtl-figure4", "mrtl-table3"}),
        ({"method": "gcmf", "verdict": "worse"}, {"gtl-table3"}),
        ({"method": "dtl", "verdict": "worse"}, set()),
        ({"verdict": "unavailable"}, {"mrtl-table3"}),
        ({"verdict": "fails"}, {"gtl-table3", "gtl-figure2a", "dtl-figure4"}),
        ({"text": "graph WEIGHTS"}, {"gtl-figure2a"}),
    ],
)
def test_experiments_are_filtered(look, small, choices, expected):
    page = look(small / "index.html")
    for name, choice in choices.items():
        field = page.locator(f"#by-{name}")
        field.fill(choice) if name == "text" else field.select_option(choice)
    assert shown(page) == expected
    said = page.get_by_role("status").inner_text()
    assert said.startswith(f"{len(expected)} of {len(SOME)} experiments")
    headed = page.locator(".paper h3:visible").count()
    assert headed == len({name.partition("-")[0] for name in expected})
    assert page.locator("#claims").is_visible() == (page.locator("tr[data-of]:visible").count() > 0)
    claims = page.locator("tr[data-of]:visible")
    assert {row.get_attribute("data-of") for row in claims.all()} <= expected
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("status").get_by_text(f"{len(SOME)} of").wait_for()
    assert shown(page) == set(SOME)


def test_badges_of_an_experiment_add_up_to_its_published_cells(results, pages):
    for path in results.glob("*/runs.jsonl"):
        spec = experiments.load(path.parent.name).spec
        printed = 0
        for row, values in spec.published.items() if not spec.figure else ():
            kept = [name for name in values if not spec.columns[name].reading_of]
            printed += 0 if spec.rows[row].reading_of or spec.control_of else len(kept)
        entry = LexborHTMLParser(pages["index.html"]).css_first(f'[id="of/{path.parent.name}"]')
        badges = [
            node.text(deep=True) for node in entry.css(".badge") if "claim" not in node.text()
        ]
        assert sum(int(re.search(r"\d+", badge)[0]) for badge in badges) == printed


def test_a_cell_has_one_sign_and_the_colour_of_its_verdict(pages):
    found = LexborHTMLParser(pages[TABLE])
    cells = [cell for cell in found.css("table.results td") if cell.css_first(".mark")]
    assert len(cells) > 100
    for cell in cells:
        (mark,) = cell.css(".mark")
        (name,) = {*cell.attributes["class"].split()} - {"n"}
        look = LOOKS[name.replace("-", " ")]
        assert mark.text().startswith(look.text)
        assert sum(cell.text().count(sign.sign) for sign in {*LOOKS.values()}) == 1


def test_rows_in_another_form_are_explained_below_their_table(pages):
    shown, _ = pages[TABLE].split("<details", 1)
    assert "comp vs sci, file (<code>zhuang/comp-vs-sci</code>)" in shown


def test_the_values_come_first_and_what_is_read_less_is_folded(pages):
    parts = ["answer", "filter", "boards", "claims"]
    index = [pages["index.html"].index(f'id="{name}"') for name in parts]
    assert index == sorted(index)
    shown, folded = pages[TABLE].split("<details", 1)
    assert "<h2>Published columns</h2>" in shown
    assert shown.index('class="results') < shown.index("<h2>Claims and what our runs show</h2>")
    for title in ("Readings", "Controls", "Verdicts", "Notes", "Methods and settings"):
        assert f"<summary><h2>{title}</h2>" in folded


@pytest.mark.slow
def test_the_pages_of_all_results():
    """One test, so that they are made once."""
    pages, errors = report.render(RESULTS)
    assert not errors
    test_a_page_needs_nothing_but_links_to_the_others(pages)
    test_every_cell_and_claim_has_its_place(RESULTS, pages)
    test_a_page_may_run_its_own_script_alone(pages)
    test_ids_are_unique_and_valid_and_their_references_exist(pages)
    test_badges_of_an_experiment_add_up_to_its_published_cells(RESULTS, pages)
    test_the_values_come_first_and_what_is_read_less_is_folded(pages)


def test_the_field_of_any_page_searches_the_index(look, small):
    page = look(small / TABLE)
    page.get_by_label("Search all results").fill("graph only rec vs sci")
    page.keyboard.press("Enter")
    page.wait_for_url("**/index.html?*")
    assert "gtl-table3" in shown(page)


def test_the_address_of_a_cell_opens_it(look, small):
    path = small / TABLE
    page = look(path)
    for address, name in (
        ("comp-vs-rec/GCMF", "gtl-table3: GCMF, comp vs rec"),
        ("comp-vs-sci,-file/LG-weak", "gtl-table3: LG weak, comp vs sci, file"),  # folded
    ):
        page.goto("about:blank")
        page.goto(f"{path.as_uri()}#{address}")
        dialog = page.get_by_role("dialog", name=name)
        dialog.wait_for()
        assert f"gtl-table3#{address}@" in dialog.inner_text()
        assert page.locator("td.found").evaluate("(one) => one.id") == address
        assert page.locator("td.found").is_visible()


#: Of a picture: titles and colours of its marks.
MARKS = """(all) => all.map((one) => [
  one.querySelector("title").textContent,
  getComputedStyle(one.querySelector("path") ?? one).fill,
])"""


@pytest.mark.parametrize(
    ("scheme", "colours"),
    [
        ("light", {"same": "rgb(63, 125, 32)", "better": "rgb(11, 98, 168)"}),
        ("dark", {"same": "rgb(143, 208, 107)", "better": "rgb(109, 182, 242)"}),
    ],
)
def test_a_mark_says_its_values_and_has_the_colour_of_its_verdict(look, small, scheme, colours):
    page = look(small / TABLE, scheme=scheme)
    page.evaluate(UNFOLD)
    tints = dict(page.locator("svg.picture").first.locator("g:has(> title)").evaluate_all(MARKS))
    assert len(tints) == 63
    name = "gtl-table3: GCMF, comp vs rec: ours 97.92 %, printed 92.36 %, difference +5.6; "
    pairs = page.locator("svg.picture").nth(1).locator("use:has(> title)")
    marks = pairs.evaluate_all(MARKS)
    assert len(marks) == 2 * 63
    of_cell = {colour for title, colour in marks if title == f"{name}different, ours is better"}
    assert colours["better"] in of_cell
    assert f"{name}different, ours is better" in tints
    same = {colour for title, colour in marks if title.endswith("; the same")}
    assert colours["same"] in same
    assert len(same) == 2  # and the printed ones


def test_a_title_is_under_the_mouse_where_a_text_covers_the_mark(look, small):
    page = look(small / TABLE)
    text = page.locator("svg.picture").first.get_by_text("+5.6 ▲")
    found = """(one) => {
      const { x, y, width, height } = one.getBoundingClientRect();
      const below = document.elementFromPoint(x + width / 2, y + height / 2);
      return below.closest("g:has(> title)").querySelector("title").textContent;
    }"""
    assert text.evaluate(found).startswith("gtl-table3: GCMF, comp vs rec: ours 97.92 %")


def test_figures_follow_the_colour_scheme(look, small):
    for scheme, expected in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(28, 31, 35)")):
        page = look(small / "gtl-figure2a.html", scheme=scheme)
        paper = page.locator("svg.picture path").first
        assert paper.evaluate("(one) => getComputedStyle(one).fill") == expected


@pytest.mark.parametrize("name", ["index.html", TABLE])
def test_nothing_scrolls_sideways_at_1280_and_three_columns_are_seen_at_390(look, small, name):
    page = look(small / name)
    page.evaluate(UNFOLD)
    wide = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".scroll").evaluate_all(wide) == 0
    page = look(small / name, 390)
    assert page.evaluate(WIDTH) == 390
    third = page.locator("table").first.locator("thead th").nth(2)
    assert third.evaluate("(one) => one.getBoundingClientRect().right") <= 390


def test_one_experiment_has_a_page_without_an_index(results, tmp_path, call, monkeypatch):
    monkeypatch.setattr("transferbench.cli.report.PERIOD", -1)
    code, out, err = call(
        "--results", str(results), "report", "gtl-figure2a", "--out", str(tmp_path)
    )
    assert code == 0
    assert out.split() == [str(tmp_path / "gtl-figure2a.html")]
    assert err == "pages: 0 of 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["gtl-figure2a.html"]
    assert 'href="index.html' not in (tmp_path / "gtl-figure2a.html").read_text("utf-8")


def test_a_page_holds_no_text_of_a_picture_file(tmp_path):
    results = copy(("gtl-figure2a",), tmp_path)
    (results / "gtl-figure2a" / "figure.svg").write_text("<svg><script>alert(1)</script></svg>")
    pages, _ = report.render(results)
    assert "alert" not in pages["gtl-figure2a.html"]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_it_is_accessible(look, small, width, scheme):
    """No violation of any of axe-core's rules, folded or not, with a cell open or not."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("the extra `browser` is not installed")
    for path in small.glob("*.html"):
        page = look(path, width, scheme)
        page.evaluate(UNFOLD)
        assert page.evaluate(WIDTH) == width
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    page = look(small / TABLE, width, scheme)
    page.locator("td button").first.click()
    found = Axe().run(page, context="dialog")
    assert found.violations_count == 0, found.generate_report()
