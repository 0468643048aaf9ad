"""The answer: how far the papers reproduce, on the README, the results' README and the report."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import pandas as pd

from transferbench import experiments, plugins
from transferbench.evidence import explain, pictures, totals
from transferbench.evidence.page import (
    Block,
    Page,
    Picture,
    Section,
    Table,
    TableRow,
    Value,
    markdown,
    markdown_blocks,
    words,
)
from transferbench.evidence.pages import Evidence
from transferbench.evidence.totals import READ, WRITTEN, ByPaper, Totals
from transferbench.evidence.verdict import LOOKS
from transferbench.files import write_text
from transferbench.measures import LOWER_IS_BETTER, TITLES

#: Group of entry points for functions like `texts`, whose texts are added to those of this module.
SUMMARIES = "transferbench.summaries"
#: In the README of the project, before and after the answer.
MARK = "<!-- by transferbench tables -->"
IN_TABLES = "the values are in the tables of the experiments"
DECIDED = ("compared", "same", "different", "cannot tell")


def answer(papers: Mapping[str, Sequence[Evidence]], lines: pd.DataFrame) -> list[Block]:
    """Return the answer: sentences, a row for each kind of methods, a row for each paper."""
    # `papers`, `lines`: See `totals.of_papers` and `totals.frame`.
    # Returns: Nothing if all tables are on other data.
    of_papers = totals.by_paper(lines)
    if not of_papers.papers:
        return []
    kinds = totals.by_kind(lines)
    own, *_, simple = kinds
    every = [evidence for evidences in papers.values() for evidence in evidences]
    tolerances = [
        evidence.experiment.spec.to_percent * cell.tolerance
        for evidence in every
        for cell in evidence.compared_cells
    ]
    of_kinds: list[TableRow] = [
        [one.label, *map(str, one.counts), Value(one.confirmed)] for one in kinds
    ]
    rows: list[TableRow] = []
    for one in [*of_papers.papers, of_papers.together]:
        printed, here, _, n = one.leads
        same_of = [
            f"{o.count('same')} of {len(o.compared)}" * bool(len(o.compared))
            for o in totals.by_kind(one.lines)
        ]
        of_claims = [totals.outcomes(papers.get(one.label, every), o) for o in totals.CLAIMS]
        texts = [*same_of, f"{printed} of {n}", f"{here} of {n}"]
        rows.append([one.label, *map(Value, texts), *map(str, of_claims)])
    heads = ["the same, by paper", *("own", "variants", "rivals", "simple"),
             "own method leads in print", "here", *totals.CLAIMS.values()]  # fmt: skip
    ends = (f"{end:g}" for end in (min(tolerances), max(tolerances)))
    together, once = of_papers.together, sum(one.counts[0] for one in kinds)
    kind_heads = ["numbers of", *DECIDED, "same, not circular"]
    return [
        words("answer", own.counts, simple.counts),
        words("standard", together.leads, *ends),
        Table("How far the papers reproduce", kind_heads, of_kinds),
        Table("The answer by paper", heads, rows[:-1], rows[-1:]),
        words("values", together, once),
    ]


def blocks(known: Mapping[str, Evidence]) -> list[Block]:
    """Return the answer and the second page: its picture, its counts, and how robust they are."""
    # `known`: Evidence by name of the experiment; other experiments are left out.
    papers = totals.of_papers(known)
    lines = totals.frame(papers)
    if lines.empty:
        return []
    written, read = (totals.by_paper(lines, way) for way in (WRITTEN, READ))
    apart = [
        f"{evidence.experiment.name}: {sentence}"
        for evidences in papers.values()
        for evidence in evidences
        for sentence in evidence.counted_apart
    ]
    drawn = sum(len(frame) for frame in scatters(known).values())
    of_kinds = totals.by_kind(lines, once=False)
    twice: list[Block] = [
        words("twice"),
        Table(
            "Every printed number",
            ["numbers of", *DECIDED],
            [[one.label, *map(str, one.counts)] for one in of_kinds],
        ),
        words("by_method"),
        [_methods(one) for one in of_kinds],
    ]
    as_read_heads = (*DECIDED[1:], f"by the rule: {ROBUSTNESS[0]}", *ROBUSTNESS[1:])
    dropped = {one.label: one.correlation[1] for one in written.papers}
    n = len(written.papers)

    def table(label: str, heads: Sequence[str], rows: Sequence[TableRow]) -> Table:
        return Table(label, ["paper", *heads], rows[:n], rows[n:])

    counts = table("Counts", COUNTS, [_counts(one) for one in written.every])
    robust = table("Robustness", ROBUSTNESS, _robustness(written, WRITTEN))
    as_read = table("As we read the papers", as_read_heads, _robustness(read, READ))
    return [
        *answer(papers, lines),
        *([Picture(pictures.PAPERS, words("scatter", drawn), IN_TABLES)] if drawn else []),
        Section("Counts", [words("counts", written.together), counts, *twice]),
        Section("Robustness", [words("robustness", dropped), robust]),
        Section("As we read the papers", [words("declared"), as_read]),
        Section("Counted apart", [apart], folded=True),
    ]


COUNTS = ("cells", "unavailable", *DECIDED, "of these undecidable", "printed twice")
ROBUSTNESS = (
    "same (by chance, p)", "at half the tolerance", "at twice", "circular: same",
    "without circular cells (by chance, p)", "median difference, points", "rank correlation",
    "its method leads: in print", "here", "within a tolerance",
)  # fmt: skip


def _methods(one: Totals) -> str:
    """Return the methods of a kind, each with the numbers that are the same of those compared."""
    same = one.compared["verdict"].eq("same").groupby(one.compared["column"], sort=False)
    return f"{one.label}: " + ", ".join(
        f"{method} {n} of {compared}"
        for method, n, compared in zip(same.groups, same.sum(), same.size(), strict=True)
    )


def _counts(one: Totals) -> TableRow:
    n, compared = len(one.lines), one.counts
    undecidable = one.undecidable
    of_these = int((undecidable["verdict"] == "cannot tell").sum())
    twice = int(one.lines["again"].sum())
    return [one.label, *map(str, (n, n - compared[0], *compared, of_these, twice))]


def _robustness(of_papers: ByPaper, way: str) -> list[TableRow]:
    """Return what else the totals depend on, a row for each line."""
    chances = []
    for circular in (True, False):
        each = [one.chance(way, circular=circular) for one in of_papers.papers]
        others = [one.chance(way, circular=circular) for one in of_papers.apart]
        chances.append([*each, totals.together(each), *others])
    rows: list[TableRow] = []
    for one, by_rule, not_circular in zip(of_papers.every, *chances, strict=True):
        printed, here, near, n = one.leads
        same, n_circular = one.circular
        median, (correlation, _) = one.compared["points"].median(), one.correlation
        texts = (
            f"{by_rule.observed} {by_rule.in_brackets}",
            *(f"{one.same_at(factor)}" for factor in (1 / 2, 2)),
            f"{same} of {n_circular}" if n_circular else "",
            f"{not_circular.observed} of {len(one.compared) - n_circular} "
            f"{not_circular.in_brackets}",
            *(f"{value:{form}}" * (not math.isnan(value))
              for value, form in ((median, ".1f"), (correlation, ".2f"))),
            f"{printed} of {n}", f"{here}", f"{near}",
        )  # fmt: skip
        counts = map(str, one.counts[1:]) if way == READ else ()
        rows.append([one.label, *counts, *map(Value, texts)])
    return rows


def scatters(known: Mapping[str, Evidence]) -> dict[str, pd.DataFrame]:
    """Return the printed numbers of each paper and ours, as written and in per cent."""
    # `known`: Evidence by name of the experiment. Tables whose data differ are left out.
    # Returns: See `pictures.scatter`, by name of the paper; papers without a number are left out.
    # Losses have a panel of their own beside the other measures of their paper: they have another
    # scale.
    found = {}
    for name, evidences in totals.of_papers(known).items():
        frames = [
            pictures.as_percent(evidence.experiment, evidence.compared)
            for evidence in evidences
            if len(evidence.compared) and not evidence.experiment.spec.data_differ
        ]
        if frames:
            frame = pd.concat(frames, ignore_index=True)
            losses = frame["measure"].isin([TITLES[loss] for loss in LOWER_IS_BETTER])
            for is_loss, part in frame.groupby(losses):
                is_apart = is_loss and not losses.all()
                found[f"{name}: {', '.join(part['measure'].unique())}" if is_apart else name] = part
    return found


def draw(results: Path, known: Mapping[str, Evidence]) -> list[Path]:
    """Draw the scatter of all papers, the picture of the results' README."""
    # Returns: The file; empty if there is nothing to draw.
    if not (papers := scatters(known)):
        return []
    path = results / pictures.PAPERS
    write_text(path, pictures.scatter(papers))
    return [path]


def texts(results: Path, known: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the texts of README.md, of the results and of the project, and those of SUMMARIES."""
    # `results`: Folder of results; the README above it has the answer between two MARKs.
    every = blocks(known)
    if not every:
        return {}
    links = {"What the digits of the printed numbers say": "audit.md"}
    parts = [*every, Section("Experiments", [words("signs"), _experiments(known)])]
    files = {"README.md": markdown(Page("Results", "how far the papers reproduce", parts, links))}
    readme = results.parent / "README.md"
    if readme.is_file() and MARK in (text := readme.read_text(encoding="utf-8")):
        before, _, after = text.split(MARK)
        opening = [*takewhile(lambda block: isinstance(block, str | Table), every)]
        files["../README.md"] = f"{before}{MARK}\n{markdown_blocks(opening)}\n{MARK}{after}"
    for point in plugins.points().select(group=SUMMARIES):
        with plugins.left_out_if_broken(point.name):
            files |= point.load()(results, known)
    return files


def _experiments(known: Mapping[str, Evidence]) -> Table:
    """Return a row for each experiment: title, verdicts as written, corpora, the last run."""
    rows: list[TableRow] = []
    for name in experiments.names():
        if name not in known:
            continue
        evidence, spec = known[name], known[name].experiment.spec
        judged = [] if spec.control_of else evidence.compared_cells
        counts = Counter(LOOKS[cell.verdict].text for cell in judged)
        verdicts = " ".join(
            f"{counts[look.text]} {look.text}" for look in LOOKS.values() if counts[look.text]
        )
        tasks = (str(row.task) for row in spec.rows.values())
        data = dict.fromkeys(task.partition(":")[0].rpartition("/")[0] or task for task in tasks)
        made = max(record.finished for cell in evidence.cells for record in cell.records)
        link = Value(name, address=f"{name}/{'figure' if spec.figure else 'table'}.md")
        rows.append([link, spec.title, verdicts, ", ".join(data), made[:10]])
    return Table("Experiments", ["experiment", "what", "verdicts", "data", "last run"], rows)


#: Largest differences that `closing` shows.
LARGEST = 5


def closing(
    evidences: Mapping[str, Evidence], *, by_paper: bool
) -> Iterator[list[list[str]] | str]:
    """Yield the tables and sentences that `reproduce` ends with."""
    # `by_paper`: True for a line for each paper with all its tables, False for one for each
    # experiment.
    named = totals.of_papers(evidences) if by_paper else {n: [e] for n, e in evidences.items()}
    lines = totals.frame(named)
    lines = lines[lines["way"] == WRITTEN]
    untested = [v for v in ("within", "outside") if (lines["verdict"] == v).any()]
    what = "paper" if by_paper else "experiment"
    rows = [[what, *DECIDED, *untested, *totals.CLAIMS.values()]]
    for label, evidence in named.items():
        one = Totals(label, lines[lines["paper"] == label])
        claimed = [totals.outcomes(evidence, outcome) for outcome in totals.CLAIMS]
        counts = [*one.counts, *map(one.count, untested)]
        if len(one.lines) or any(claimed):
            shown = map(str, counts) if counts[0] else [""] * len(counts)
            rows.append([label, *shown, *map(str, claimed)])
    if len(rows) > 1:
        yield rows
    yield from _largest(evidences)


def _largest(evidences: Mapping[str, Evidence]) -> Iterator[list[list[str]] | str]:
    """Yield the largest differences from print, and the commands for the first."""
    cells = [
        (-abs(cell.difference) * evidence.experiment.spec.to_percent, evidence, cell)
        for evidence in evidences.values()
        for cell in evidence.compared_cells
        if not math.isnan(cell.difference)
    ]
    if not cells:
        return
    largest = sorted(cells, key=lambda found: found[0])[:LARGEST]
    several = len(evidences) > 1
    yield "Largest differences:"
    yield [
        [*(["experiment"] if several else []), *explain.HEADS],
        *(explain.difference_row(e.experiment, cell, named=several) for _, e, cell in largest),
    ]
    _, evidence, cell = largest[0]
    yield explain.hint(evidence.experiment, cell)
