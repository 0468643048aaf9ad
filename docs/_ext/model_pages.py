"""Pages of models: what one is, when to use it, its standing, an example, its parameters."""

import importlib
import re
from collections import defaultdict
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from docstring_rst import restructured

from transferbench import experiments, models
from transferbench.models import NONNEGATIVE, Model

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "results"
#: Boards of each family; the first one that has the model gives the picture.
BOARDS = {
    "transfer": ("transfer-text", "transfer-small"),
    "clustering": ("clustering",),
    "multilabel": ("multilabel",),
}
REVIEWS = "[amazon-reviews](../../../results/amazon-reviews/table.md)"
INBOXES = "[mrtl-spam-inboxes](../../../results/mrtl-spam-inboxes/table.md)"
#: What is known of single models beside their rank, with the page that shows it.
KNOWN = {
    "cocc": f"On opinions ({REVIEWS}) it gains a little. "
    "It gives no confidence that ranks documents.",
    "consensus": "It is the default of `predict`, and [recommended]"
    "(../../choose.md#what-is-recommended) where no label of the target is known. "
    "It was designed on the corpora of this board, so its place is optimistic.",
    "gcmf": f"It suits topics. On opinions ({REVIEWS}) it is close to guessing, and on mail "
    f"({INBOXES}) it falls below logistic regression.",
    "graph-only": "On newsgroups and Reuters it is about as good as GCMF, without its factors "
    "([findings](../../findings.md)).",
    "lr": "Compare every other model with it.",
    "lr-target": "It needs some labelled documents of the target, and uses no source.",
    "mrtl": f"On mail ({INBOXES}) it falls below logistic regression, from which it starts.",
    "nmf": "It finds clusters and no classes: use it to see what the documents alone show.",
    "tsvm": f"It gains on mail ({INBOXES}), and a little on opinions ({REVIEWS}).",
}
#: Parameters of the example where its few documents need others than the paper's.
SMALL = {"gcmf": ", k=4, p=3"}
DOCUMENTS = """\
import random

from sklearn.feature_extraction.text import TfidfVectorizer

from transferbench.estimators import {estimator}

random.seed(0)
words = {{"cat": "purr mew kitten whisker climb", "dog": "bark leash puppy fetch bone"}}
labels = ["cat", "dog"] * 20
texts = [random.choices(words[label].split() + ["the", "my", "runs"], k=6) for label in labels]
X = TfidfVectorizer(analyzer=list).fit_transform(texts)
"""
EXAMPLES = {
    "transfer": DOCUMENTS
    + """\
domain = [1] * 20 + [-2] * 20  # a source, then a target{labelled}

classifier = TransferClassifier("{name}"{small})
classifier.fit(X, labels, sample_domain=domain{sample})
print(classifier.transduction_[20:])  # the labels found; those given for the target are not read
""",
    "clustering": DOCUMENTS
    + """\
task = [1] * 20 + [2] * 20

clusterer = MultiTaskClusterer("{name}", n_clusters=2{small}).fit(X, sample_domain=task)
print(clusterer.labels_)  # the cluster of each document
""",
    "multilabel": DOCUMENTS
    + """\
Y = [[label == "cat", label == "dog"] for label in labels[:20]] + [[-1, -1]] * 20  # −1: unknown

classifier = MultiLabelClassifier("{name}"{small}).fit(X, Y)
print(classifier.transduction_[20:])  # a column for each label
""",
}
ESTIMATORS = {
    "transfer": "TransferClassifier",
    "clustering": "MultiTaskClusterer",
    "multilabel": "MultiLabelClassifier",
}
#: Topics on the page of a model.
MOST_TOPICS = 8
#: A task for the command line; its data are fetched.
TASKS = {"transfer": "comp-vs-rec", "clustering": "mtc/rec-vs-talk", "multilabel": "mulan/enron"}


def page(model: Model) -> str:
    """Return the page of a model in MyST Markdown."""
    title, what, objective, symbols, notes, departures = parts(model)
    own = "" if Path(model.path).is_relative_to(models.FOLDER) else " with another library"
    call = (
        f"In commands and in Python its name is `{model.name}`. It is a {model.family} model{own}."
    )
    # The target that the index of modules links is lost inside eval-rst.
    anchor = f'<span id="module-{model.module}"></span>'
    module = f".. py:module:: {model.module}\n\n.. raw:: html\n\n    {anchor}"
    sections = {
        "": f"{what}\n\n{_rst(module)}\n\n{_rst(objective)}\n\n{_rst(symbols)}\n\n{call}",
        "When to use it": f"{when(model)}\n\n{picture(model)}",
        "Example": example(model),
        "Topics": topics(model),
        "Results": results(model),
        "Parameters": _rst(f".. autofunction:: {model.module}.fit"),
        "Notes": _rst(notes),
        "Departures from the paper": _rst(departures),
    }
    texts = [f"# {title}"]
    for head, text in sections.items():
        if text.strip():
            texts.append(f"## {head}\n\n{text.strip()}" if head else text.strip())
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(texts)) + "\n"


def _rst(text: str) -> str:
    return f"```{{eval-rst}}\n{text}\n```" if text.strip() else ""


def parts(model: Model) -> tuple[str, str, str, str, str, str]:
    """Return title, sentence, objective, symbols, notes and departures of a docstring."""
    doc = importlib.import_module(model.module).__doc__ or ""
    first, *blocks = doc.strip("\n").split("\n\n")
    title, colon, what = " ".join(first.split()).partition(": ")
    if not colon:
        title, what = model.name, title
    if model.name == "kmeans":
        title = "k-means"
    objective = [blocks.pop(0)] if blocks and blocks[0].startswith("    ") else []
    symbols = [blocks.pop(0)] if blocks else []
    if symbols and symbols[0].startswith(("Departure", "An extension")):
        blocks, symbols = symbols + blocks, []
    departures: list[str] = []
    notes: list[str] = []
    section = symbols  # equations and lists belong to what stands before them
    for block in blocks:
        if re.match("Departure|An extension", block):
            section = departures
        elif not block.startswith(("- ", "    ")):
            section = notes
        section.append(re.sub(r"^Departures? from the papers?:\n(?=- )", "", block))
    groups = (objective, symbols, notes, departures)
    texts = (restructured("\n\n".join(group).rstrip(), equations=True) for group in groups)
    return title, what[:1].upper() + what[1:], *texts


@cache
def board(name: str) -> pd.DataFrame:
    """Return the standings of a board, the best first."""
    table = pd.read_csv(RESULTS / "boards" / f"{name}.csv").sort_values("rank", ignore_index=True)
    return table.assign(place=table["rank"].rank(method="min").astype(int))


def standings(model: Model) -> dict[str, pd.DataFrame]:
    """Return the rows of a model on each board of its family, that of its own name first."""
    title = parts(model)[0].lower()
    rows = {
        name: table[table["model"] == model.name].sort_values(
            "method", key=lambda methods: methods.str.lower() != title, kind="stable"
        )
        for name in BOARDS[model.family]
        for table in [board(name)]
    }
    return {name: found for name, found in rows.items() if len(found)}


def _regret(name: str, value: float) -> str:
    return f"{value:.2f}" if name == "multilabel" else f"{value:.1f}\u00a0points"


def _link(name: str) -> str:
    return f"[{name}](../../../results/boards/{name}.md)"


def when(model: Model) -> str:
    """Return what the boards and the experiments say for and against a model."""
    texts = []
    for name, found in list(standings(model).items())[:1]:
        one, reference = found.iloc[0], experiments.load(name).spec.board
        wins, ties, losses = (int(one[key]) for key in ("wins", "ties", "losses"))
        count = int(one["rows"])
        if one["method"] == reference:
            texts.append("The other methods of its board are compared with it.")
        elif 2 * wins > count:
            texts.append(f"It is worth a try: it is better than {reference} on most tasks.")
        elif wins == 0:
            texts.append(f"There is little reason to use it: {reference} is never worse there.")
        elif wins > losses:
            texts.append(f"Compare it with {reference}: it is ahead more often than behind.")
        else:
            texts.append(f"Compare it with {reference} first, which is ahead more often.")
        texts.append(
            f"On the {count} tasks of the board {_link(name)} its place by mean rank is "
            f"{one['place']} of {len(board(name))}. "
            f"It is on average {_regret(name, one['regret'])} below the best method of each task."
        )
        if one["method"] != reference:
            texts.append(
                f"It is ahead of {reference} on {wins} tasks, level on {ties} "
                f"and behind on {losses}."
            )
        if one["front"]:
            texts.append("No faster method of this board comes nearer to the best.")
    if not texts:
        texts.append("It stands on no board, so nothing is known of it on many tasks.")
    texts.append(KNOWN.get(model.name, ""))
    if model.name in NONNEGATIVE:
        texts.append("Its features may not be negative: give it counts or tf-idf, not embeddings.")
    if model.family == "transfer":
        texts.append("[Which model for my data?](../../choose.md) has the evidence.")
    return " ".join(filter(None, texts))


def picture(model: Model) -> str:
    """Return the regret of all methods of a board on one axis, with that of the model marked."""
    for name, found in standings(model).items():
        table, one = board(name), found.iloc[0]
        top = max(table["regret"].max(), one["regret_high"])

        def at(value: float, top: float = top) -> str:
            return f"{100 * value / top:.1f}"

        dots = "".join(
            f'<i class="dot" style="left:{at(row.regret)}%" title="{escape(row.method)}: '
            f'{_regret(name, row.regret)}"></i>'
            for row in table.itertuples()
        )
        low, high, here = at(one["regret_low"]), at(one["regret_high"]), at(one["regret"])
        best = table.loc[table["regret"].idxmin()]
        label = (
            f"{one['method']} is {_regret(name, one['regret'])} below the best method of a task; "
            f"the least distance is {_regret(name, best['regret'])}, of {best['method']}"
        )
        other = ""
        if best["method"] != one["method"]:
            x = at(best["regret"])
            other = (
                f'<span class="below" style="left:{x}%;--at:-{x}%">{escape(best["method"])}</span>'
            )
        html = (
            f'<figure class="strip"><div role="img" aria-label="{escape(label)}">{dots}'
            f'<i class="range" style="left:{low}%;width:{float(high) - float(low):.1f}%"></i>'
            f'<i class="dot here" style="left:{here}%"></i>'
            f'<span class="above" style="left:{here}%;--at:-{here}%">{escape(one["method"])}</span>'
            f"{other}</div><figcaption>Distance to the best method of each task, mean of "
            f"{int(one['rows'])} tasks, from 0 to {_regret(name, top)}. Left is better. "
            "A dot is a method; the line is the 95 % interval.</figcaption></figure>"
        )
        return f"```{{raw}} html\n{html}\n```"
    return ""


def code(model: Model) -> str:
    """Return the example in Python of a model; none if no estimator has it."""
    if model.name == "nmf":
        return ""
    needs = model.name == "lr-target"
    return EXAMPLES[model.family].format(
        estimator=ESTIMATORS[model.family],
        name=model.name,
        small=SMALL.get(model.name, ""),
        labelled="\nsample = [False] * 20 + [True] * 6 + [False] * 14  # labelled ones" * needs,
        sample=", label_sample=sample" * needs,
    )


def example(model: Model) -> str:
    """Return the section of the example."""
    shell = f"```sh\ntransferbench run {TASKS[model.family]} --model {model.name}\n```"
    text = "On a task of a paper, whose data are fetched first:"
    if python := code(model):
        return f"```python\n{python}```\n\n{text}\n\n{shell}"
    return f"{text}\n\n{shell}"


def topics(model: Model) -> str:
    """Return the largest topics of comp-vs-rec's target by a model with clusters of features."""
    file = RESULTS / "topics" / f"{model.name}.csv"
    if not file.exists():
        return ""
    table = pd.read_csv(file, dtype={"topic": str})
    target = table[table["domain"] == "target"]
    classes = [name for name in target if name.startswith(("class ", "cluster "))]
    heads = " / ".join(name.removeprefix("class ") for name in classes)
    text = (
        "These are its largest clusters of words on the target of `comp-vs-rec`. "
        f"{quality_sentence(model.name)} [How to read topics](../../how-to/topics.md)\n\n"
        "```sh\ntransferbench topics " + f"{model.name} comp-vs-rec\n```\n\n"
        f"| topic | share | {heads} | words |\n"
        "|---|---:|---:|---|\n"
    )
    for _, one in target.head(MOST_TOPICS).iterrows():
        parts = " / ".join(f"{100 * one[name]:.0f}" for name in classes)
        share = f"{100 * one['share']:.1f}\u00a0%"
        text += f"| {one['topic']} | {share} | {parts} | {one['words'].replace(' ', ', ')} |\n"
    return text


@cache
def topic_quality() -> pd.DataFrame:
    """Return a row for each model with committed topics of comp-vs-rec: those of the target."""
    rows = {}
    for file in sorted((RESULTS / "topics").glob("*.csv")):
        table = pd.read_csv(file)
        target = table[table["domain"] == "target"]
        words = target["words"].str.split().explode()
        rows[file.stem] = {
            "topics": len(target),
            "effective number": np.exp(-(target["share"] * np.log(target["share"])).sum()),
            "coherence": target["coherence"].mean(),
            "diversity": words.nunique() / len(words),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def quality_sentence(name: str) -> str:
    """Return what the quality of a model's topics is."""
    one = topic_quality().loc[name]
    return (
        f"There are {one['topics']:.0f} topics, and their effective number is "
        f"{one['effective number']:.1f}. Their coherence is {one['coherence']:.2f}, and their "
        f"diversity {one['diversity']:.2f}."
    )


@cache
def pages_of_models() -> dict[str, list[tuple[str, str, str]]]:
    """Return file, title and columns of every experiment with results, by model."""
    found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for name in experiments.names():
        spec = experiments.load(name).spec
        files = [RESULTS / "boards" / f"{name}.md"] if spec.board else []
        files += [RESULTS / name / f"{kind}.md" for kind in ("table", "figure")]
        file = next((file for file in files if file.exists()), None)
        columns = defaultdict(list)
        for label, column in spec.columns.items():
            columns[column.model].append(label)
        for model, labels in columns.items() if file else ():
            shown = "; ".join(labels[:3]) + (
                f" and {len(labels) - 3} more" if len(labels) > 3 else ""
            )
            found[model].append((file.relative_to(ROOT).as_posix(), spec.title, shown))
    return found


def results(model: Model) -> str:
    """Return the places of a model on the boards, and the pages of results that have it."""
    text = ""
    if places := standings(model):
        text += "| board | method | place | distance to the best | ahead, level, behind |\n"
        text += "|---|---|---:|---:|---:|\n"
        for name, found in places.items():
            for _, one in found.iterrows():
                counts = ",\u00a0".join(str(int(one[key])) for key in ("wins", "ties", "losses"))
                text += f"| {_link(name)} | {one['method']} | {one['place']} of {len(board(name))} "
                text += f"| {_regret(name, one['regret'])} | {counts} |\n"
    if rows := pages_of_models().get(model.name):
        text += "\nThese pages have it:\n\n| page | shows | as |\n|---|---|---|\n"
        for file, title, labels in rows:
            name = Path(file).parent.name if "boards" not in file else Path(file).stem
            title, labels = (part.replace("|", r"\|") for part in (title, labels))
            text += f"| [{name}](../../../{file}) | {title} | {labels} |\n"
    return text or "No committed experiment runs it."
