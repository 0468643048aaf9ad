"""GermEval 2018: German tweets, offensive or not.

Wiegand, Siegel and Ruppenhofer (Overview of the GermEval 2018 Shared Task on the Identification of
Offensive Language, 2018) collected training and test tweets from the timelines of different users.
A task has one part as source and the other as target. The classes are other and offense. In
`germeval/fine-…` they are other, abuse, insult and profanity. Tweets are in the order of the files.
Their marks |LBR| of line breaks do not count as words.
"""

from itertools import permutations
from pathlib import Path

import numpy as np

from transferbench.data.problems import Texts, text_builder
from transferbench.datasets import originals

FILES = originals("germeval")
#: Prefix of a task → its classes.
CLASSES = {"": ("other", "offense"), "fine-": ("other", "abuse", "insult", "profanity")}
#: Task → prefix, source, target.
PARTS = {
    f"germeval/{prefix}{source}-vs-{target}": (prefix, source, target)
    for prefix in CLASSES
    for source, target in permutations(("training", "test"))
}
TASKS = {
    task: f"Offensive German tweets, {len(CLASSES[prefix])} classes, {source} to {target}: "
    "2 domains, the first labelled"
    for task, (prefix, source, target) in PARTS.items()
}


def _read(task: str, files: dict[str, Path]) -> tuple[tuple[str, ...], dict[str, Texts]]:
    prefix, source, target = PARTS[task]
    parts = {}
    for domain, name in (("source", source), ("target", target)):
        content = files[f"germeval-2018/germeval2018.{name}.txt"].read_text(encoding="utf-8")
        rows = [line.split("\t") for line in content.strip().split("\n")]
        labels = [(fine if prefix else coarse).lower() for _, coarse, fine in rows]
        y = np.array([CLASSES[prefix].index(label) for label in labels])
        parts[domain] = [text.replace("|LBR|", " ") for text, _, _ in rows], y
    return CLASSES[prefix], parts


build = text_builder(_read)
