"""WebKB: web pages of four universities' computer science departments, crawled in January 1997.

The classes student, faculty, course and project of the "4 Universities" set are used. In
`mtc/webkb4` each university is a clustering task. `webkb/<one>-vs-<other>` has the labelled pages
of one university as source and those of another as target. A file has the server's header, an empty
line and HTML, which is parsed by the HTML standard. The text is separated at tags, and has no
markup, comments, scripts and styles. It includes the text for browsers without frames. Pages of a
task are in the order of their paths. Some pages contain only a redirection and may have no feature.
Features are words of two letters a to z or more: the 2,000 of highest document frequency over the
universities of the task together. By default scikit-learn's English stop words are left out.
"""

import re
from itertools import permutations
from pathlib import Path

import numpy as np

from transferbench.data.archive import members
from transferbench.data.declared import declared
from transferbench.data.problems import Content, builder
from transferbench.data.text import StopWords, count, select

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
CLASSES = ("student", "faculty", "course", "project")
MAX_FEATURES = 2000
FILES, TASKS = declared(__file__)
#: Task → domain → university.
SPLITS = {"mtc/webkb4": {name: name for name in UNIVERSITIES}} | {
    f"webkb/{source}-vs-{target}": {"source": source, "target": target}
    for source, target in permutations(UNIVERSITIES, 2)
}


def _read(task: str, files: dict[str, Path], *, stop_words: StopWords = "english") -> Content:
    split = SPLITS[task]
    texts, labels, universities = [], [], []
    for path, page in sorted(members(*files.values())):
        _, label, university, _ = path.split("/")
        if university in split.values():
            html = re.split(r"\r?\n[ \t]*\r?\n", page.decode("latin-1"), maxsplit=1)[-1]
            texts.append(_text(html))
            labels.append(CLASSES.index(label))
            universities.append(university)
    counts, words = count(texts, "[a-z]{2,}")
    columns = select(counts, words, stop_words=stop_words, min_df=1, max_features=MAX_FEATURES)
    y, university_of = np.array(labels), np.array(universities)
    parts = {
        domain: (
            counts[np.flatnonzero(university_of == name)][:, columns],
            y[university_of == name],
        )
        for domain, name in split.items()
    }
    return Content(CLASSES, parts, words[columns])


build = builder(_read, lambda task: "clustering" if task == "mtc/webkb4" else "transfer")


def _text(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    # By the standard, the content of "noframes" is plain text: parse it again as HTML.
    unframed = [_text(node.text()) for node in tree.css("noframes")]
    tree.strip_tags(["script", "style", "noframes"])
    return " ".join([tree.root.text(separator=" ") if tree.root else "", *unframed])
