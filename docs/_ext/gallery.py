"""Pages of the committed results: one for each experiment, and the list of all."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from transferbench import experiments
from transferbench.experiments import statistics

#: Pages of an experiment, in the order in which they are shown.
PAGES = ("figure.md", "readings.md", "regret.md", "table.md", "claims.md")
#: Experiments by the first part of their names.
GROUPS = {
    "gtl": "GCMF and graph co-regularised transfer (the GTL paper)",
    "dtl": "DTL, dual transfer learning",
    "mrtl": "MRTL, multi-relevance transfer learning",
    "mtc": "LNKMTC and LSKMTC, multi-task clustering",
    "himls": "HiMLS and HiMLSD, multi-label learning",
    "readings": "Readings: what the papers leave open",
    "": "Beyond the papers",
}


def pages(results: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of the page of each experiment and of the list of all.

    results: the folder of committed results. target: the folder of the site's result pages; the
    figures are copied there.
    """
    titles = {**experiments.titles(), statistics.NAME: statistics.read()["title"]}
    with_results = [name for name in titles if (results / name).is_dir()]
    for name in with_results:
        copy_figures(results / name, target / name)
        yield f"{name}.md", "".join(page(results / name, titles[name]))
    yield "index.md", "".join(index(results, {name: titles[name] for name in with_results}))


def copy_figures(folder: Path, target: Path) -> None:
    """Copy the figures and the data of an experiment next to its page."""
    target.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        copy = target / file.name
        if file.suffix not in (".svg", ".csv") or file.name == "runs.csv":
            continue
        if not copy.exists() or copy.read_bytes() != file.read_bytes():
            shutil.copyfile(file, copy)


def page(folder: Path, title: str) -> Iterator[str]:
    """Yield the parts of an experiment's page: its committed pages, one below the other."""
    name = folder.name
    yield f"# {name}\n\n{title}.\n\n"
    yield f"Repeat it with `transferbench reproduce {name}`"
    settings = f"; `transferbench describe {name}` shows rows, columns and settings"
    yield f"{settings * (name != statistics.NAME)}.\n\n"
    for file in PAGES:
        if (folder / file).exists():
            text = (folder / file).read_text(encoding="utf-8")
            yield body(text, name, file.removesuffix(".md")) + "\n\n"


def body(text: str, name: str, part: str) -> str:
    """Return a committed page as a section: its heading lower, its links below `name`."""
    rest = text.partition("\n")[2]
    heading = {"table": "Table", "figure": "Figure", "claims": "Claims", "readings": "Readings"}
    text = f"# {heading.get(part, part.capitalize())}\n{rest}"
    text = re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE)
    text = re.sub(r"\[(\w+)\.md\]\(\1\.md\)", r"[the \1](#\1)", text)
    return re.sub(r"\]\(([\w-]+\.(?:svg|csv))\)", rf"]({name}/\1)", text)


def index(results: Path, titles: dict[str, str]) -> Iterator[str]:
    """Yield the parts of the list of all results, by paper, with a figure where there is one."""
    yield "# All results\n\n"
    yield f"{len(titles)} experiments have committed results. Each page has the table or figure, "
    yield "and the paper's sentences tested against our runs.\n\n"
    left = dict(titles)
    for prefix, heading in GROUPS.items():
        names = [name for name in left if name.startswith(f"{prefix}-") or not prefix]
        yield f"## {heading}\n\n::::{{grid}} 1 2 2 3\n:gutter: 2\n\n"
        for name in names:
            yield f":::{{grid-item-card}} {name}\n:link: {name}\n:link-type: doc\n"
            if (results / name / "figure.svg").exists():
                yield f":img-bottom: {name}/figure.svg\n"
            yield f"\n{left.pop(name)}\n:::\n"
        yield "::::\n\n"
    yield "```{toctree}\n:hidden:\n\n" + "\n".join(titles) + "\n```\n"
