"""Every command and every block of Python in the documentation is executed.

The blocks of a page run in order, in one empty folder and one namespace. A block after a comment
`% test: parsed` takes long or needs another machine: it is only parsed. A cell of a notebook must
write what the site shows.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import click
import pandas as pd
import pytest
from conftest import ROOT

from transferbench import bundle, files, strict_yaml
from transferbench.cli import invoke, main
from transferbench.data import archive, fetch, matrices
from transferbench.own import dialect

DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in (*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("how-to/*.md"))
    if "```" in path.read_text(encoding="utf-8")
    and path.name != "estimators.md"  # tests/own/test_estimators_with_skada.py
)
BLOCK = re.compile(
    r"(?P<parsed>^% test: parsed\n+)?^(?P<fence>`{3,})(?P<kind>sh|python|\{code-cell\}[^\n]*)\n"
    r"(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
#: Committed results that pages read.
READ = ("gtl-table3", "gtl-figure2c")


class Block(NamedTuple):
    """A block of a page.

    Parameters
    ----------
    line
        Its first line in the page.
    kind
        Its language.
    text
        Its text.
    parsed
        True if it is parsed and not run.
    cell
        True for a cell of a notebook.
    """

    line: int
    kind: str
    text: str
    parsed: bool
    cell: bool


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page; kind is sh or python."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        body = re.sub(r"^:[\w-]+:.*\n", "", match["text"], flags=re.MULTILINE).strip()
        kind = "sh" if match["kind"] == "sh" or body.startswith("%%sh") else "python"
        line = text[: match.start()].count("\n") + 1
        cell = match["kind"].startswith("{code-cell}")
        found.append(Block(line, kind, body, bool(match["parsed"]), cell))
    return found


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each transferbench command of a block; a \\ continues a line."""
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if "transferbench " in line]


def parse(arguments: list[str]) -> None:
    """Check a command's name, options and arguments without running it."""
    context = main.make_context("transferbench", list(arguments))
    name, command, rest = main.resolve_command(context, [*context._protected_args, *context.args])
    assert command is not None
    command.make_context(name, rest, parent=context)


def run(arguments: list[str]) -> None:
    """Run a command in this process; it must succeed."""
    assert invoke(["--debug", *arguments]) == 0, shlex.join(arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch, real):
    """An empty working folder with results of its own, among them a few committed ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFERBENCH_DATA", str(real.data))
    monkeypatch.setenv("TRANSFERBENCH_RESULTS", "results")
    monkeypatch.setenv("MPLBACKEND", "agg")
    for name in READ:
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    shutil.copy(ROOT / "docs" / "examples" / "kim2014.csv", tmp_path)
    return tmp_path


def execute(text: str, name: str, namespace: dict[str, object]) -> object:
    """Run a block of Python and return the value of its last line, as a notebook does."""
    tree = ast.parse(text, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last else None


@pytest.fixture
def outputs(monkeypatch):
    """The module with the kept outputs; to read them, it needs the extra `docs`."""
    monkeypatch.syspath_prepend(DOCS / "_ext")
    return importlib.import_module("outputs")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_block_of_a_page_works_and_the_site_shows_what_it_writes(
    page, folder, outputs, capsys
):
    namespace: dict[str, object] = {"__name__": "__main__"}
    kept = outputs.kept(page) if importlib.util.find_spec("nbformat") else {}
    if any(block.cell for block in blocks(page)):
        shutil.rmtree(folder / "results")  # the kept outputs were made without results
    for block in blocks(page):
        if "IPython" in block.text:
            pytest.importorskip("IPython")
        name, value = f"{page.name}:{block.line}", None
        capsys.readouterr()
        if block.kind == "python" and not block.parsed:
            value = execute(block.text, name, namespace)
        elif block.kind == "python":
            ast.parse(block.text, name)
        else:
            for arguments in commands(block.text):
                (parse if block.parsed else run)(arguments)
        if block.cell and kept:
            shown = getattr(value, "_repr_html_", value.__repr__)() if value is not None else ""
            out, err = capsys.readouterr()
            written = f"{shown}\n{out}\n{outputs.PROGRESS.sub('', err)}"
            assert not outputs.differs(kept[block.text], written), (
                f"{name}: run `make docs RUN=1`; expected, then found:\n"
                f"{outputs.text(kept[block.text].outputs)}\n{written}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_each_cell_has_a_kept_output(page):
    file = DOCS / "_outputs" / page.parent.name / f"{page.stem}.json"
    cells = json.loads(file.read_text("utf-8"))["cells"] if file.exists() else []
    kept = ["".join(cell["source"]) for cell in cells]
    assert kept == [block.text for block in blocks(page) if block.cell], "run `make docs RUN=1`"


@pytest.mark.parametrize(
    ("written", "tags", "expected"),
    [
        ("gcmf  99.19  4.02 8", [], False),
        ("gcmf 99.2   4.01 8", [], False),
        ("gcmf 96.19 4.02 8", [], True),
        ("gcmf 99.19 4.20 8", [], True),
        ("gcmf 99.19 4.02 9", [], True),
        ("gcmf 99.19 4.02 8.0", [], True),
        ("gcmf 96.19 11.5 8", ["varies"], False),
        ("gcmf 99.19 4.02 9", ["varies"], True),
        ("lr 99.19 4.02 8", ["varies"], True),
        ("gcmf 99.19 8", ["varies"], True),
        ("lr", ["remove-cell"], False),
    ],
)
@pytest.mark.parametrize("drawn", [(), ("<svg a>1.0\n x</svg>\n", "<svg a>2 y z</svg>\n")])
def test_an_output_differs_in_a_word_a_count_or_by_two_per_cent(
    outputs, written, tags, expected, drawn
):
    before, after = drawn or ("", "")
    shown = f"{before}gcmf 99.19 4.02 8"
    stream = SimpleNamespace(output_type="stream", name="stdout", text=shown)
    cell = SimpleNamespace(outputs=[stream], metadata={"tags": tags})
    written = after + written
    assert outputs.differs(cell, written) == expected


@pytest.mark.slow
def test_a_slow_cell_fails_alone(outputs, tmp_path, monkeypatch, capsys):
    pytest.importorskip("myst_nb")
    page = tmp_path / "tutorials" / "page.md"
    page.parent.mkdir()
    monkeypatch.setattr(outputs, "DOCS", tmp_path)
    monkeypatch.setattr(outputs, "LIMIT", 15)
    cells = "import time; print('first')", "time.sleep(1000)", "print('last')"
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n\n"
    page.write_text(head + "".join(f"```{{code-cell}}\n{cell}\n```\n\n" for cell in cells))
    assert outputs.keep(page) == [
        f"{page}:11: the cell fails or takes over 15 seconds: KeyboardInterrupt"
    ]
    kept = outputs.kept(page)
    assert [*kept] == [cells[0], cells[2]]
    assert [cell.outputs[0].text for cell in kept.values()] == ["first\n", "last\n"]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_every_command_of_a_page_parses(page):
    for block in blocks(page):
        for arguments in commands(block.text) if block.kind == "sh" else ():
            parse(arguments)


def test_pages_with_commands_are_found():
    assert len(PAGES) >= 15
    assert sum(len(blocks(page)) for page in PAGES) >= 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_block_of_a_page_is_closed(page):
    fences = re.findall(r"^ *(`{3,})", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert fences[::2] == fences[1::2]


def test_an_unknown_option_is_found():
    with pytest.raises(click.NoSuchOption):
        parse(["reproduce", "gtl-table3", "--nonsense"])


#: Pages that the build of the documentation makes; it checks links to them.
MADE = ("docs/reference/models/", "docs/reference/datasets/", "docs/_build/")
WRITTEN = [
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *ROOT.glob("data/*.md"), *DOCS.rglob("*.md"))
    if not path.relative_to(ROOT).as_posix().startswith(MADE)
]


@pytest.mark.parametrize("page", WRITTEN)
def test_links_and_targets_of_make_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        target = os.path.normpath((ROOT / page).parent / link)
        path = os.path.relpath(target, ROOT)
        assert path.startswith(MADE) or Path(target).exists(), link
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:`|^)(?:\S+=\S+ )?make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_limits_of_size_are_those_of_the_code():
    page = (ROOT / ".github" / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    limits = {
        "a tar or zip of original data": f"{archive.MAX_UNPACKED >> 20} MiB",
        "its members": f"{files.MAX_MEMBERS:,}; a name or the further fields of one, "
        f"{archive.MAX_HEADER >> 20} MiB",
        "a zip of `share`, all": f"{bundle.MAX_UNPACKED >> 20} MiB and {files.MAX_MEMBERS:,}",
        "a file of yours": "1 GiB",
        "a line of a text file": f"{dialect.MAX_LINE >> 20} MiB",
        "rows or columns": f"{matrices.MAX_SIDE:,}",
        "YAML": f"{strict_yaml.MAX_CHARACTERS:,} characters, {strict_yaml.MAX_DEPTH} levels",
        "a file that is fetched": f"{fetch.MAX_SIZE >> 20} MiB",
    }
    for start, limit in limits.items():
        assert any(row.startswith(f"| {start}") and limit in row for row in rows), start


def test_the_table_of_topic_models_is_that_of_the_benchmark():
    measured = pd.read_csv(ROOT / "benchmarks" / "results" / "topics.csv")
    measured = measured[measured["k"] == 20].set_index(["corpus", "system"])
    page = (ROOT / "docs" / "how-to" / "topics.md").read_text("utf-8")
    lines = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([-.\d |]+) \|$", page, re.MULTILINE)
    rows = {(corpus, system): [*map(float, of.split(" | "))] for corpus, system, of in lines}
    assert {*rows} == {*measured.index}
    for name, printed in rows.items():
        columns = ["coherence", "diversity", "purity", "seconds", "memory_mb"]
        expected = measured.loc[name, columns].tolist()
        assert printed[:3] == pytest.approx(expected[:3], abs=0.0051)
        assert printed[3:] == pytest.approx(expected[3:], abs=0.51)
