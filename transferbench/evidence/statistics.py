"""Data statistics that the papers print, beside those of our tasks: results/data-statistics/."""

from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

from transferbench import datasets, settings, strict_yaml
from transferbench.datasets import newsgroups
from transferbench.evidence import pages

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
    made = []
    for name, printed in row["printed"].items():
        value = known.get(name, "")
        ours = f"{value:#.4g}" if isinstance(value, float) else str(value)
        verdict = judge(printed, value) if name in known else "unknown"
        made.append(Entry(*place, name, printed, ours, verdict, task))
    return made


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


def render() -> dict[str, str]:
    """Return table.csv and table.md by name."""
    content = read()
    found = [entry for row in content["rows"] for entry in entries(row)]
    marks = {"equal": "", "differs": " ≠ {}", "rough": " ({})", "unknown": " –"}
    page = pages.fill(
        "statistics.md.j2",
        name=NAME,
        title=content["title"],
        rows=content["rows"],
        papers=PAPERS,
        entries=found,
        counts=Counter(entry.verdict for entry in found),
        # The printed figure, and ours if it is another.
        cells={each[:4]: each.printed + marks[each.verdict].format(each.ours) for each in found},
    )
    return {"table.csv": pages.to_csv(pd.DataFrame(found)), "table.md": page}
