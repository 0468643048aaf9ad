"""Data statistics that the papers print, beside those of our tasks: results/data-statistics/."""

import re
from collections import Counter
from typing import Any

import pandas as pd

from transferbench import datasets, settings, strict_yaml
from transferbench.datasets import newsgroups
from transferbench.evidence import pages
from transferbench.evidence.page import Block, Page, Section, Table, markdown, words

PAPERS = {"gtl": "GTL", "dtl": "DTL", "mrtl": "MRTL", "mtc": "MTC", "himls": "HiMLS"}


def comparisons(row: dict[str, Any]) -> list[dict[str, str]]:
    """Return a comparison for each figure of a printed row."""
    # `row`: Row of the YAML file; its task and domain must exist.
    # Returns: The comparison is equal, differs, rough (not judged) or unknown (here).
    task = row.get("task", "")
    ours = task_statistics(task, row.get("domain"), row.get("class")) if task else {}
    ours |= row.get("measured", {})
    compared = []
    for name, printed in row["printed"].items():
        value = ours.get(name, "")
        line = {key: row[key] for key in ("paper", "place", "row")} | {
            "statistic": name,
            "printed": printed,
            "ours": f"{value:#.4g}" if isinstance(value, float) else str(value),
            "comparison": judge(printed, value) if name in ours else "unknown",
            "task": task,
        }
        compared.append(line)
    return compared


def task_statistics(
    task: str, domain: str | None = None, label: str | None = None
) -> dict[str, Any]:
    """Return statistics of a task from its dataset's FACTS."""
    # `domain`: Domain to describe; by default all of them.
    # `label`: Class of the domain to describe; by default all of them.
    # Returns: Statistics by name; `groups` are the newsgroups of the domain or class. Empty for a
    # task that was never built here, and so has no digest.
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
    """Return how our figure compares, which is rounded to the decimals of the printed one."""
    if isinstance(ours, float | int) and printed[0].isalpha():
        return "rough"
    decimals = len(printed.partition(".")[2])
    same = (ours if isinstance(ours, str) else f"{ours:.{decimals}f}") == printed
    return "equal" if same else "differs"


def render() -> dict[str, str]:
    """Return table.csv and table.md by name."""
    path = settings.experiments_dir() / "statistics" / f"{pages.STATISTICS}.yaml"
    content = strict_yaml.load(path)[0]
    compared = pd.DataFrame([line for row in content["rows"] for line in comparisons(row)])
    blocks: list[Block] = [words("statistics", Counter(compared["comparison"]))]
    heads = ["place", "row", "statistic", "printed", "ours", "comparison"]
    for paper, title in PAPERS.items():
        rows = compared.loc[compared["paper"] == paper, heads].to_numpy().tolist()
        notes = [
            f"{row['row']}: {row['note']}"
            for row in content["rows"]
            if row["paper"] == paper and "note" in row
        ]
        blocks.append(Section(title, [Table(title, heads, rows), notes]))
    page = Page(pages.STATISTICS, content["title"], blocks, {"All numbers": "table.csv"})
    return {"table.csv": pages.to_csv(compared), "table.md": markdown(page)}
