"""Data statistics that the papers print, beside those of our tasks: results/data-statistics/."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from transferbench import datasets, settings, strict_yaml
from transferbench.datasets import newsgroups
from transferbench.files import write_text

NAME = "data-statistics"
PAPERS = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "MTC", "himls": "HiMLS"}


class Entry(NamedTuple):
    """A printed figure and ours; verdict: equal, differs, rough (not judged) or unknown (here)."""

    paper: str
    place: str
    row: str
    statistic: str
    printed: str
    ours: str
    verdict: str
    task: str


def read() -> dict[str, Any]:
    """Return the title and the rows of the file of printed statistics."""
    path = settings.experiments_dir() / "statistics" / f"{NAME}.yaml"
    content: dict[str, Any] = strict_yaml.load(path)[0]
    return content


def entries(row: dict[str, Any]) -> list[Entry]:
    """Return an entry for each figure of a printed row; its task and domain must exist."""
    task, place = row.get("task", ""), (row["paper"], row["place"], row["row"])
    known = of_task(task, row.get("domain"), row.get("class")) if task else {}
    known |= row.get("measured", {})
    return [
        Entry(*place, name, printed, shown(known.get(name, "")), verdict, task)
        for name, printed in row["printed"].items()
        for verdict in [judge(printed, known[name]) if name in known else "unknown"]
    ]


def of_task(task: str, domain: str | None = None, label: str | None = None) -> dict[str, Any]:
    """Return statistics of a task, of one domain or of one class of it, from the dataset's FACTS.

    `groups` are the newsgroups that the domain or the class is made of.
    """
    facts = datasets.tasks()[task].FACTS[task]
    documents, classes = facts["documents"], facts.get("classes", ())
    found = {"documents": documents[domain] if domain else sum(documents.values())}
    found |= {"classes": len(classes)} if classes else {}
    found |= {"features": facts["features"][0]} if "features" in facts else {}
    if domain and label:
        found["documents"] = facts["per_class"][domain][classes.index(label)]
    if domain and (split := newsgroups.SPLITS.get(task)):
        parts = [split[domain][label]] if label else split[domain].values()
        found["groups"] = ", ".join(group for part in parts for group in part)
    return found


def judge(printed: str, ours: float | str) -> str:
    """Return the verdict on our figure, rounded to the decimals of the printed one."""
    if isinstance(ours, float | int) and printed[0].isalpha():
        return "rough"
    decimals = len(printed.partition(".")[2])
    same = (ours if isinstance(ours, str) else f"{ours:.{decimals}f}") == printed
    return "equal" if same else "differs"


def shown(value: float | str) -> str:
    """Return a statistic as a text."""
    return f"{value:#.4g}" if isinstance(value, float) else str(value)


def pages() -> dict[str, str]:
    """Return table.csv and table.md by name."""
    content = read()
    rows = [(row, entries(row)) for row in content["rows"]]
    found = [entry for _, made in rows for entry in made]
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([Entry._fields, *found])
    counts = {v: sum(e.verdict == v for e in found) for v in ("equal", "differs", "rough")}
    lines = [
        f"# {NAME}: {content['title']}\n\n{len(found)} comparisons of a printed figure with ours: "
        f"{counts['equal']} equal, {counts['differs']} differ (≠, then ours), {counts['rough']} "
        "printed roughly and not judged (ours in brackets), the others not known here (–). Without "
        "a sign ours is equal; an empty cell is not printed. Rows name the tasks `gtl/…`, `dtl/…` "
        "and `mrtl/…` unless they say authors' file; groups are newsgroups, density is the share "
        "of labels that a document has, label sets are different ones. Ours "
        "are facts that each build of a task checks, or were measured on the files of the data. "
        "Numbers: [table.csv](table.csv).",
    ]
    for paper, title in PAPERS.items():
        own = [(row, made) for row, made in rows if row["paper"] == paper]
        names = list(dict.fromkeys(entry.statistic for _, made in own for entry in made))
        lines += [f"\n## {title}\n", f"| | | {' | '.join(names)} |"]
        lines += ["|---" * (len(names) + 2) + "|"]
        for row, made in own:
            cells = {entry.statistic: cell(entry) for entry in made}
            texts = [row["place"], row["row"], *(cells.get(name, "") for name in names)]
            lines.append(f"| {' | '.join(texts)} |")
        lines += ["", *(f"- {row['row']}: {row['note']}" for row, _ in own if "note" in row)]
    return {"table.csv": text.getvalue(), "table.md": "\n".join(lines) + "\n"}


def cell(entry: Entry) -> str:
    """Return the printed figure, and ours if it is another."""
    marks = {"equal": "", "differs": f" ≠ {entry.ours}", "rough": f" ({entry.ours})"}
    return entry.printed + marks.get(entry.verdict, " –")


def write(folder: Path) -> list[Path]:
    """Write the pages to the folder; return their paths."""
    made = pages()
    for name, text in made.items():
        write_text(folder / name, text)
    return [folder / name for name in made]


def outdated(folder: Path) -> list[Path]:
    """Return the pages in the folder that are missing or differ from what is made now."""
    paths = {folder / name: text for name, text in pages().items()}
    return [p for p, t in paths.items() if not p.is_file() or p.read_text("utf-8", "replace") != t]
