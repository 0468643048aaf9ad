"""Data statistics that the papers print, beside those of our tasks: results/data-statistics/."""

import re
from collections import Counter
from typing import Any

import pandas as pd

from transferbench import datasets, settings, strict_yaml
from transferbench.datasets import newsgroups
from transferbench.evidence import pages
from transferbench.evidence.page import Block, Page, Section, Table, markdown, words

NAME = "data-statistics"
PAPERS = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "MTC", "himls": "HiMLS"}


def entries(row: dict[str, Any]) -> list[dict[str, str]]:
    """Return an entry for each figure of a printed row; its task and domain must exist.

    verdict: equal, differs, rough (not judged) or unknown (here).
    """
    task = row.get("task", "")
    ours = of_task(task, row.get("domain"), row.get("class")) if task else {}
    ours |= row.get("measured", {})
    made = []
    for name, printed in row["printed"].items():
        value = ours.get(name, "")
        entry = {key: row[key] for key in ("paper", "place", "row")} | {
            "statistic": name,
            "printed": printed,
            "ours": f"{value:#.4g}" if isinstance(value, float) else str(value),
            "verdict": judge(printed, value) if name in ours else "unknown",
            "task": task,
        }
        made.append(entry)
    return made


def of_task(task: str, domain: str | None = None, label: str | None = None) -> dict[str, Any]:
    """Return statistics of a task, of one domain or of one class of it, from the dataset's FACTS.

    `groups` are the newsgroups that the domain or the class is made of. A task that was never built
    here, and so has no digest, has no statistics.
    """
    facts = datasets.facts(task)
    if "digest" not in facts:
        return {}
    documents, classes = facts["documents"], facts.get("classes", ())
    of_dataset = {"documents": documents[domain] if domain else sum(documents.values())}
    of_dataset |= {"classes": len(classes)} if classes else {}
    of_dataset |= {"features": facts["features"][0]} if "features" in facts else {}
    if domain and label:
        of_dataset["documents"] = facts["per_class"][domain][classes.index(label)]
    if domain and (split := newsgroups.SPLITS.get(re.sub("-(bydate|19997)$", "", task))):
        parts = [split[domain][label]] if label else split[domain].values()
        of_dataset["groups"] = ", ".join(group for part in parts for group in part)
    return of_dataset


def judge(printed: str, ours: float | str) -> str:
    """Return the verdict on our figure, rounded to the decimals of the printed one."""
    if isinstance(ours, float | int) and printed[0].isalpha():
        return "rough"
    decimals = len(printed.partition(".")[2])
    same = (ours if isinstance(ours, str) else f"{ours:.{decimals}f}") == printed
    return "equal" if same else "differs"


def render() -> dict[str, str]:
    """Return table.csv and table.md by name."""
    path = settings.experiments_dir() / "statistics" / f"{NAME}.yaml"
    content = strict_yaml.load(path)[0]
    every_entry = [entry for row in content["rows"] for entry in entries(row)]
    counts = Counter(entry["verdict"] for entry in every_entry)
    blocks: list[Block] = [words("statistics", counts)]
    heads = ["place", "row", "statistic", "printed", "ours", "verdict"]
    for paper, title in PAPERS.items():
        rows = [[entry[head] for head in heads] for entry in every_entry if entry["paper"] == paper]
        notes = [
            f"{row['row']}: {row['note']}"
            for row in content["rows"]
            if row["paper"] == paper and "note" in row
        ]
        blocks.append(Section(title, [Table(title, heads, rows), notes]))
    page = Page(NAME, content["title"], blocks, {"All numbers": "table.csv"})
    return {"table.csv": pages.to_csv(pd.DataFrame(every_entry)), "table.md": markdown(page)}
