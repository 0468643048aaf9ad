"""Outputs of the tutorials' cells: the build shows kept ones, `make docs RUN=1` makes them.

`docs/_outputs/tutorials/NAME.json` is a notebook: the cells of a page and their outputs. As a
program, this file runs all cells, each page in an empty folder, and writes the outputs of a page
again if those of a cell differ.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).parent.parent
#: Seconds that a cell may take.
LIMIT = 120
#: A number that is measured: it has a decimal point. Others count or name something.
MEASURED = re.compile(r"\d+\.(\d+)(?:e([-+]?\d+))?")
#: What is drawn is not compared.
DRAWN = re.compile(r"(<svg\b[^>]*>).*?</svg>", re.DOTALL)
LEXER = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
#: A line that a command writes every few seconds.
PROGRESS = re.compile(r"^\d+/\d+ runs.*\n", re.MULTILINE)


def file_of(page: Path) -> Path:
    """Return the notebook with the kept outputs of a page."""
    return DOCS / "_outputs" / page.parent.name / f"{page.stem}.json"


def kept(page: Path) -> dict[str, Any]:
    """Return the cells of a page that have kept outputs, by their source."""
    import nbformat

    file = file_of(page)
    cells = nbformat.read(file, 4).cells if file.exists() else []
    return {cell.source: cell for cell in cells}


def differs(cell: Any, written: str) -> bool:
    """Return True if a kept output differs, in a number with a point by more than its rounding."""
    # Such a number may differ by one unit of its last digit, or .5 per cent, as processors round
    # differently; in a cell with the tag `varies`, which prints seconds, by anything.
    tags = cell.metadata.get("tags", ())
    if "remove-cell" in tags:
        return False
    before, after = (DRAWN.sub(r"\1", shown) for shown in (text(cell.outputs), written))
    if MEASURED.sub("0.0", before).split() != MEASURED.sub("0.0", after).split():
        return True
    pairs = zip(MEASURED.finditer(before), MEASURED.finditer(after), strict=True)
    return "varies" not in tags and any(
        abs(float(old[0]) - float(new[0]))
        > max(0.005 * float(old[0]), 1.01 * 10.0 ** (int(old[2] or 0) - len(old[1])))
        for old, new in pairs
    )


def text(outputs: list[Any]) -> str:
    """Return the value of a cell's last line and what the cell printed."""
    values = [output.data for output in outputs if output.output_type == "execute_result"]
    streams = {output.name: output.text for output in outputs if output.output_type == "stream"}
    shown = [value.get("text/html", value["text/plain"]) for value in values]
    return "\n".join([*shown, streams.get("stdout", ""), streams.get("stderr", "")])


def run(page: Path) -> Any:
    """Run the cells of a page in an empty folder; a cell that fails has an error as its output."""
    from myst_nb.core.read import myst_nb_reader_plugin
    from nbclient import NotebookClient

    notebook = myst_nb_reader_plugin(str(page))
    with TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=LIMIT,
            interrupt_on_timeout=True,
            allow_errors=True,
            coalesce_streams=True,
            record_timing=False,
            resources={"metadata": {"path": folder}},
        ).execute()
    return notebook


def keep(page: Path) -> list[str]:
    """Run the cells of a page and keep their outputs; return a line for each cell that fails."""
    import nbformat

    old, notebook, failed, new = kept(page), run(page), [], []
    for cell, line in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        if cell.cell_type != "code":
            continue
        cell.id = f"cell-{len(new)}"
        for output in list(cell.outputs):
            if output.output_type == "stream":
                output.text = PROGRESS.sub("", output.text)
                if not output.text:
                    cell.outputs.remove(output)
        errors = [output for output in cell.outputs if output.output_type == "error"]
        failed += [
            f"{page}:{line + 1}: the cell fails or takes over {LIMIT} seconds: {error.ename}"
            for error in errors
        ]
        new += [old.get(cell.source)] if errors else [cell]
    new = [cell for cell in new if cell]
    known = [*old] == [cell.source for cell in new]
    if not known or any(differs(old[cell.source], text(cell.outputs)) for cell in new):
        sys.stderr.write(f"{page}: its outputs have changed and are written again\n")
        file_of(page).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=new, metadata=LEXER), file_of(page))
    return failed


def show(client: Any) -> None:
    """Give the cells of a notebook their kept outputs."""
    cells = kept(client.path)
    client.notebook.metadata |= LEXER
    for number, cell in enumerate(client.notebook.cells):
        if cell.cell_type == "code" and cell.source in cells:
            cell.outputs = cells[cell.source].outputs
        elif cell.cell_type == "code":
            why = "this cell has no kept output; run `make docs RUN=1`"
            client.logger.warning(why, line=client.cell_line(number), subtype="outputs")


def setup(app: Any) -> dict[str, bool]:
    """Let myst-nb, which is to run nothing, show the kept outputs."""
    from myst_nb.core.execute import NotebookClientBase

    NotebookClientBase.start_client = show
    return {"parallel_read_safe": True}


def main() -> int:
    """Run all tutorials, or those that are named; return 1 if a cell fails."""
    # The cells run this checkout, with the program of this environment, and write into `results`.
    os.environ["PYTHONPATH"] = str(DOCS.parent)
    os.environ["PATH"] = sysconfig.get_path("scripts") + os.pathsep + os.environ["PATH"]
    os.environ.setdefault("TRANSFERBENCH_DATA", str(DOCS.parent / "data"))
    os.environ["TRANSFERBENCH_RESULTS"] = "results"
    pages = [Path(name) for name in sys.argv[1:]] or sorted(DOCS.glob("tutorials/*.md"))
    texts = {page: page.read_text("utf-8") for page in pages}
    failed = [line for page in pages if "\n```{code-cell}" in texts[page] for line in keep(page)]
    sys.stderr.writelines(f"{line}\n" for line in failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
