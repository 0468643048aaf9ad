"""The page of all results, as text and as a reader meets it in a browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from made_runs import write_runs

from transferbench import experiments
from transferbench.cli import invoke
from transferbench.evidence import report
from transferbench.evidence.frame import observations, read_runs, summarise
from transferbench.evidence.provenance import sources
from transferbench.files import write_text

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "results"
#: A table, a figure over a parameter, curves, and a table without data.
SOME = ("gtl-table3", "gtl-figure2a", "dtl-figure4", "mrtl-table3")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def whole() -> str:
    return report.render(RESULTS)


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """The page of a few experiments, as a file."""
    results = tmp_path_factory.mktemp("results")
    for name in SOME:
        shutil.copytree(RESULTS / name, results / name)
    write_text(results / "report.html", report.render(results))
    return results / "report.html"


def data(page: str) -> dict:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert text
    return json.loads(text[1])


def test_the_committed_page_is_what_the_results_yield(whole):
    """Written at another time by another process: the same bytes."""
    assert (RESULTS / "report.html").read_text(encoding="utf-8") == whole


def test_it_needs_no_other_file_and_is_small(whole):
    assert re.findall(r'(?:src|href|action)="(?!#|data:)[^"]*"', whole) == []
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttpRequest", whole)
    assert "default-src 'none'" in whole
    # 66 experiments; the 2,700 cells of class-shares, each with its dialog, take a megabyte.
    assert len(whole.encode()) < 6_000_000


def test_every_cell_and_claim_is_on_it(whole):
    found = data(whole)
    dialogs = {
        found["texts"][cell[0]]: [found["texts"][i] for i in cell[1:]] for cell in found["cells"]
    }
    planned = 0
    for folder in sorted(RESULTS.glob("*/runs.csv")):
        file = experiments.load(folder.parent.name)
        assert f'id="{file.name}"' in whole
        for claim in file.spec.claims:
            assert html.escape(claim.says).replace("&#x27;", "&#39;") in whole
        observed = observations(file, read_runs(folder))
        for one in sources(file, observed, summarise(file, observed)).itertuples():
            planned += 1
            place = f", {file.spec.figure.label} = {one.x:g}" if one.x == one.x else ""
            facts = dialogs[f"{file.name}: {one.column}, {one.row}{place}"]
            assert facts[report.FACTS.index("Run it again")] == one.command
            assert facts[report.FACTS.index("Data digest")] == ", ".join(one.data)
    assert planned == len(found["cells"])
    numbers = [int(number) for number in re.findall(r'data-cell="(\d+)"', whole)]
    assert sorted(numbers) == list(range(planned))


def test_texts_are_escaped(tmp_path, monkeypatch):
    """Names come from files of whoever writes an experiment."""
    evil = "</script><script>alert(1)</script>"
    text = (experiments.settings.experiments_dir() / "gtl-table3.yaml").read_text(encoding="utf-8")
    folder = tmp_path / "experiments"
    folder.mkdir()
    text = text.replace("title: Average", f"title: '{evil}' #").replace(
        "comp vs rec", "<b>'c' vs r"
    )
    (folder / "gtl-table3.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(experiments.settings, "experiments_dir", lambda: folder)
    results = tmp_path / "results" / "gtl-table3"
    results.mkdir(parents=True)
    shutil.copy(RESULTS / "gtl-table3" / "runs.csv", results)
    page = report.render(results.parent)
    assert evil not in page
    assert "<b>'c'" not in page
    assert page.count("</script>") == 2
    titles = [data(page)["texts"][cell[0]] for cell in data(page)["cells"]]
    assert "gtl-table3: GCMF, <b>'c' vs r" in titles


def test_a_picture_cannot_leave_its_attribute(tmp_path):
    text = """<svg viewBox="0 0 3 6"><a b="1 &amp; 2">"'</a></svg>"""
    (tmp_path / "a.svg").write_text(text, encoding="utf-8")
    made = report.inline(tmp_path / "a.svg")
    assert (made["width"], made["height"]) == (4, 8)
    assert '"' not in made["svg"]
    read = html.unescape(str(made["svg"]))
    assert read == "<svg viewBox='0 0 3 6'><a b='1 &amp; 2'>'&apos;</a></svg>"


def test_an_outdated_page_is_an_error(small, capsys):
    arguments = ["--results", str(small.parent), "report"]
    assert invoke([*arguments, "--check"]) == 0
    copy = small.parent / "other.html"
    assert invoke([*arguments, "--out", str(copy)]) == 0
    assert copy.read_bytes() == small.read_bytes()
    copy.write_text("something else")
    capsys.readouterr()
    assert invoke([*arguments, "--out", str(copy), "--check"]) == 1
    assert "not what the results yield" in capsys.readouterr().err
    copy.write_bytes(b"\xff")  # no text at all
    assert invoke([*arguments, "--out", str(copy), "--check"]) == 1
    assert "not what the results yield" in capsys.readouterr().err


def test_without_results_the_remedy_is_named(tmp_path, capsys):
    assert invoke(["--results", str(tmp_path), "report"]) == 2
    assert "run `reproduce` first" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def missing(reason: str) -> None:
    """What the browser tests need is installed by .ci/run; elsewhere they skip."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the extra `browser` is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        missing(f"no browser: {', '.join(names)}")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def look(browser):
    """Opens a page and fails where it complains or asks for anything but itself."""
    said: list[str] = []
    pages = []

    def open_(path: Path, width: int = 1280, scheme: str = "light", at: str = ""):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("requestfailed", lambda request: said.append(request.url))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("data:", path.as_uri())) or said.append(request.url)
            ),
        )
        page.goto(path.as_uri() + at)
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.close()
    assert said == []


#: The fold of the experiment that most tests look at.
TABLE = "#gtl-table3"
UNFOLD = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
WIDTH = "document.scrollingElement.scrollWidth"


def test_the_whole_page_opens_and_fits_a_phone(look):
    page = look(RESULTS / "report.html", width=360)
    assert page.title().startswith("transferbench")
    assert page.evaluate(WIDTH) == 360
    assert page.locator("img[data-svg]").count() == page.locator("img").count() > 0
    page.evaluate(UNFOLD)
    assert page.evaluate(WIDTH) == 360
    page.locator("img[data-svg]").first.wait_for(state="detached")
    page.evaluate("Promise.all([...document.images].map((one) => one.decode()))")  # or it fails


def column(page, number: int) -> list[float]:
    cells = page.locator(f"#gtl-table3 .results tbody tr td:nth-child({number}) b")
    return [float(text) for text in cells.all_inner_texts()]


def test_a_column_sorts_by_mouse_and_by_keyboard(look, small):
    page = look(small, at=TABLE)
    head = page.locator("#gtl-table3 .results thead th").nth(2)
    rows = page.locator("#gtl-table3 .results tbody th")
    as_written, values = rows.all_inner_texts(), column(page, 3)
    head.get_by_role("button").click()
    assert column(page, 3) == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the head has the focus
    assert column(page, 3) == sorted(values)
    assert head.get_attribute("aria-sort") == "ascending"
    assert sorted(rows.all_inner_texts()) == sorted(as_written) != rows.all_inner_texts()
    first = page.locator("#gtl-table3 .results thead th").first
    first.get_by_role("button").click()
    assert rows.all_inner_texts() == sorted(as_written)
    assert head.get_attribute("aria-sort") is None
    averages = page.locator("#gtl-table3 .results tfoot th").all_inner_texts()
    assert averages == ["average", "average of the rebuilt"]


def test_a_cell_opens_and_closes(look, small):
    page = look(small, at=TABLE)
    cell = page.locator("#gtl-table3 .results tbody tr").first.get_by_role("button").nth(6)
    cell.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="gtl-table3: GCMF, comp vs rec")
    said = dialog.inner_text()
    for text in (
        "transferbench run zhuang/comp-vs-rec-rebuilt --model gcmf --repeats 5",
        "4: 98.8", "269d0c9d8e198334", "scikit-learn", "5 of 5 runs", "MiB",
    ):  # fmt: skip
        assert text in said
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert cell.evaluate("(one) => one === document.activeElement")
    cell.click()
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


def shown(page) -> list[str]:
    return page.locator("article:visible").evaluate_all("(all) => all.map((one) => one.id)")


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, set(SOME)),
        ({"paper": "Dual Transfer Learning"}, {"dtl-figure4"}),
        ({"method": "dtl"}, {"dtl-figure4", "mrtl-table3"}),
        ({"method": "gcmf", "verdict": "below"}, {"gtl-table3"}),
        ({"method": "dtl", "verdict": "below"}, set()),
        ({"verdict": "unavailable"}, {"mrtl-table3"}),
        ({"verdict": "fails"}, {"gtl-table3"}),
        ({"text": "graph WEIGHTS"}, {"gtl-figure2a"}),
    ],
)
def test_experiments_are_filtered(look, small, choices, expected):
    page = look(small)
    for name, choice in choices.items():
        field = page.locator(f"#by-{name}")
        field.fill(choice) if name == "text" else field.select_option(choice)
    assert set(shown(page)) == expected
    assert page.get_by_role("status").inner_text() == f"{len(expected)} of {len(SOME)} experiments"
    linked = page.locator("#contents li[data-of]:visible").all_inner_texts()
    assert set(linked) == expected
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("status").get_by_text(f"{len(SOME)} of").wait_for()
    assert set(shown(page)) == set(SOME)


def test_a_link_opens_its_experiment_even_if_it_is_filtered_out(look, small):
    page = look(small)
    assert page.locator("article .results:visible").count() == 0
    page.locator("#by-text").fill("graph weights")
    page.evaluate("location.hash = 'gtl-table3'")
    page.locator(f"{TABLE} .results").wait_for()
    assert set(shown(page)) == set(SOME)
    page.locator(f"#contents [href='{TABLE}'][aria-current]").wait_for()


def test_contents_stay_in_sight(look, small):
    page = look(small, at="#without")
    assert page.get_by_role("link", name="gtl-figure2a").first.is_visible()
    phone = look(small, width=360, at="#without")
    link = phone.locator("#contents").get_by_role("link", name="gtl-table3")
    assert not link.is_visible()
    phone.get_by_text("Contents and filter").click()
    link.click()
    phone.locator(f"{TABLE} .results").wait_for()
    assert not link.is_visible()


# Every visible table has a hint if it is wider than its frame, and none if it is not.
HINTS_ARE_RIGHT = """(article) => [...document.querySelectorAll(`${article} .scroll`)]
    .filter((scroll) => scroll.checkVisibility())
    .every((scroll) => scroll.parentElement.previousElementSibling.hidden
        === (scroll.scrollWidth - scroll.clientWidth <= 1))"""


def test_a_wide_table_says_that_it_scrolls(look, small):
    hint = f"{TABLE} .hint:not([hidden])"
    look(small, width=2400, at=TABLE).wait_for_function(HINTS_ARE_RIGHT, arg=TABLE)
    page = look(small, width=360, at=TABLE)
    page.locator(hint).first.wait_for()
    page.wait_for_function(HINTS_ARE_RIGHT, arg=TABLE)
    box = page.locator(f"{TABLE} .wide").first
    assert "more-right" in box.get_attribute("class")
    page.locator(f"{TABLE} .scroll").first.evaluate("(one) => one.scrollTo(9999, 0)")
    page.locator(f"{TABLE} .more-left:not(.more-right)").wait_for()


def test_the_best_of_each_row_is_marked(small):
    page = small.read_text(encoding="utf-8")
    table = page[page.index('id="gtl-table3"') :]
    row = re.search(r"orgs vs people</th>(.*?)</tr>", table, re.DOTALL)[1]
    values = [float(value) for value in re.findall(r"<b[^>]*>([\d.]+)</b>", row)]
    assert re.findall(r'<b class="best">([\d.]+)', row) == [f"{max(values):.2f}"]


BACKGROUND = """async () => {
  const image = document.querySelector("#gtl-figure2a img");
  await image.decode();
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.drawImage(image, 0, 0);
  return canvas.getImageData(2, 2, 1, 1).data[0];
}"""


def test_figures_follow_the_colour_scheme(look, small):
    for scheme, expected in (("light", 0xFF), ("dark", 0x1C)):
        page = look(small, scheme=scheme, at="#gtl-figure2a")
        page.locator("#gtl-figure2a img:not([data-svg])").first.wait_for()
        assert page.evaluate(BACKGROUND) == expected


def test_regret_is_shown(tmp_path):
    file = experiments.load("choice")

    def outcome(planned):
        value = 0.9 if planned.column == file.spec.regret.reference else 0.8
        return {"metrics": {"target": {"accuracy": value}}}

    (tmp_path / "choice").mkdir()
    write_runs(tmp_path / "choice", file, outcome)
    page = report.render(tmp_path)
    table = re.search(r'<table class="evidence regret.*?</table>', page, re.DOTALL)[0]
    reference, other = (
        re.search(rf'<th scope="row">{name}</th>(.*?)</tr>', table, re.DOTALL)[1]
        for name in (file.spec.regret.reference, "CoCC")
    )
    assert ">0.00</td>" in reference
    assert ">10.00</td>" in other


def test_folded_parts_are_printed(look, small):
    page = look(small)
    folded = "document.querySelectorAll('details:not([open])').length"
    before = page.evaluate(folded)
    assert before > 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(folded) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(folded) == before


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_it_is_accessible(look, small, width, scheme):
    """No violation of any of axe-core's rules, folded or not, with a cell open or not."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("the extra `browser` is not installed")
    page = look(small, width, scheme)
    page.evaluate(UNFOLD)  # with the drawer of the contents
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.locator("#gtl-table3 td button").first.click()
    found = Axe().run(page, context="dialog")
    assert found.violations_count == 0, found.generate_report()
