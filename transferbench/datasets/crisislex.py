"""CrisisLexT6: tweets during six disasters, on-topic if they are about the disaster.

Olteanu, Castillo, Diaz and Vieweg collected the tweets (CrisisLex: A Lexicon for Collecting and
Filtering Microblogged Communications in Crises, ICWSM 2014). There are about 10,000 English tweets
of each disaster. They were found by keywords or by place, and crowd workers labelled them. A task
has the labelled tweets of one disaster as source and those of another as target, in the order of
the files.
"""

import csv
from pathlib import Path

import numpy as np

from transferbench.data.declared import declared
from transferbench.data.problems import Content, content_of_texts, text_builder

CLASSES = ("off-topic", "on-topic")
FILES, TASKS = declared(__file__)
DISASTERS = ("sandy", "alberta", "boston", "oklahoma", "queensland", "west-texas")
FILE_OF = dict(zip(DISASTERS, FILES, strict=True))


def needed(task: str) -> list[str]:
    """Return the files of the source and of the target."""
    return [FILE_OF[disaster] for disaster in task.removeprefix("crisislex/").split("-vs-")]


def _read(task: str, files: dict[str, Path]) -> Content:
    parts = {}
    for domain, path in zip(("source", "target"), files.values(), strict=True):
        with path.open(encoding="utf-8", newline="") as stream:
            _, *rows = csv.reader(stream, skipinitialspace=True)
        y = np.array([CLASSES.index(label) for *_, label in rows])
        parts[domain] = [text for _, text, _ in rows], y
    return content_of_texts(CLASSES, parts)


build = text_builder(_read)
