"""GermEval 2018: German tweets, offensive or not.

Wiegand, Siegel and Ruppenhofer (Overview of the GermEval 2018 Shared Task on the Identification of
Offensive Language, 2018) collected training and test tweets from the timelines of different users.
A task has one part as source and the other as target. The classes are other and offense. In
`germeval/fine-…` they are other, abuse, insult and profanity. Tweets are in the order of the files.
Their marks |LBR| of line breaks do not count as words.
"""

from pathlib import Path

import numpy as np

from transferbench.data.declared import declared
from transferbench.data.problems import Content, content_of_texts, text_builder

FILES, TASKS = declared(__file__)
#: Prefix of a task → its classes.
CLASSES = {"": ("other", "offense"), "fine-": ("other", "abuse", "insult", "profanity")}


def _read(task: str, files: dict[str, Path]) -> Content:
    prefix = "fine-" if "/fine-" in task else ""
    source_and_target = task.removeprefix(f"germeval/{prefix}").split("-vs-")
    parts = {}
    for domain, name in zip(("source", "target"), source_and_target, strict=True):
        content = files[f"germeval-2018/germeval2018.{name}.txt"].read_text(encoding="utf-8")
        rows = [line.split("\t") for line in content.strip().split("\n")]
        labels = [(fine if prefix else coarse).lower() for _, coarse, fine in rows]
        y = np.array([CLASSES[prefix].index(label) for label in labels])
        parts[domain] = [text.replace("|LBR|", " ") for text, _, _ in rows], y
    return content_of_texts(CLASSES[prefix], parts)


build = text_builder(_read)
