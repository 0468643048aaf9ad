"""WebKB: web pages of four universities' computer science departments, as crawled in January 1997.

Of the "4 Universities" set, the classes student, faculty, course and project; each university is a
clustering task. A page is a header as its server sent it, an empty line and HTML, which is read as
the HTML standard says: text without markup, comments, scripts and styles, parted where a tag
stands; also what browsers without frames show. Pages of a task stand in the order of their paths;
some hold no more than a redirection and may be left without any feature.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from transferbench.data.fetch import File, Members
from transferbench.data.text import StopWords, Weighting
from transferbench.parameters import Count

if TYPE_CHECKING:
    from transferbench.problem import Problem, Truth

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
CLASSES = ("student", "faculty", "course", "project")
PAGES = rf"(?:[^/]+/)?(webkb/(?:{'|'.join(CLASSES)})/(?:{'|'.join(UNIVERSITIES)})/http:[^/]+)"
LICENCE = (
    "WebKB was collected by the CMU text learning group for research; no licence is stated, and "
    "copyright of each page remains with its author."
)
ORIGINAL = File(
    name="webkb/webkb-4univ-4class-raw.tar.gz",
    size=1_312_908,
    digest="tree:00c265c3a9744bf129eff13c5effb441721eb1a877f63a3580e7716afb824a0b",
    origins=tuple(
        Members(url, PAGES)
        for url in (
            "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/webkb-data.gtar.gz",
            "https://github.com/JoshPF/WebKBUniPagePredictor/archive/"
            "badf76bb353dcaa13f8802ef73a5cd21ee7e315c.tar.gz",
        )
    ),
    licence=LICENCE,
)
FILES = {ORIGINAL.name: ORIGINAL}
TASKS = {"mtc/webkb4": "WebKB pages by student, faculty, course, project: 4 clustering tasks"}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def build(
    task: str,
    files: dict[str, Path],
    *,
    stop_words: StopWords = "english",
    token_pattern: str = "[a-z]{2,}",
    min_df: Count = 1,
    max_features: Count = 2000,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
) -> tuple[Problem, Truth]:
    """The task as a Problem and its Truth.

    stop_words, token_pattern: what is counted. min_df: features in fewer pages are dropped.
    max_features: only so many, of highest document frequency. weighting and unit_length: see
    `text.weight`. All are over the four universities together.
    """
    import numpy as np

    from transferbench.data.archive import members
    from transferbench.data.datasets._counted import assemble
    from transferbench.data.text import count, select

    texts, labels, places = [], [], []
    for path, page in sorted(members(files[ORIGINAL.name])):
        _, label, place, _ = path.split("/")
        texts.append(_text(re.split(r"\r?\n[ \t]*\r?\n", page.decode("latin-1"), maxsplit=1)[-1]))
        labels.append(CLASSES.index(label))
        places.append(place)
    counts, vocabulary = count(texts, token_pattern)
    columns = select(
        counts, vocabulary, stop_words=stop_words, min_df=min_df, max_features=max_features
    )
    y, at = np.array(labels), np.array(places)
    parts = {name: (counts[at == name], y[at == name]) for name in UNIVERSITIES}
    return assemble(
        task,
        "clustering",
        CLASSES,
        parts,
        columns=columns,
        weighting=weighting,
        unit_length=unit_length,
    )


def _text(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    # To the standard, which supposes that frames are shown, what stands for them is no markup.
    unframed = [_text(node.text()) for node in tree.css("noframes")]
    tree.strip_tags(["script", "style", "noframes"])
    return " ".join([tree.root.text(separator=" ") if tree.root else "", *unframed])
