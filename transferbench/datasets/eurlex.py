"""EUR-Lex: 19,348 documents of European Union law and their classes (Loza Mencía, Fürnkranz 2010).

The multi-label paper uses these data in Tables 1 and 10. They are an ARFF file of tf-idf weights of
5,000 words, with the directory codes as labels. The git blob id of the file verifies it. Attributes
of the type {0,1} are the labels (codes are named tag_11.30.40.0), and all others are the weights.

The labels are the 20 directory codes of the first level. A document has code 11 if it has any label
tag_11.…. The paper's Table 1 counts the deepest codes (412 labels, cardinality 1.292, diversity
1,615). But its Hamming losses are near 2 · density · (1 − F1), which implies a density of about
.06. The density of the first level is .059, and that of the deepest is .003.

There are two views: the published weights, where each document is scaled to length one, and topics
by PLSA. Both are choices. The paper states no scale. Its PLSA uses term counts, which these files
lack; here PLSA uses the weights.

Within each code of the first level, the codes of the second level are assigned to the tasks in
turn. A document belongs to its largest code. The paper states neither its assignment nor the
fraction it trains on. So the task of a document depends on true labels, including those of test
documents. `tasks=1` and `tasks_from` avoid this.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.formats import read_arff
from transferbench.data.problems import MultilabelData, multilabel_builder, topic_view
from transferbench.data.text import weight

FILES, TASKS = declared(__file__)
#: The first numbers of a directory code.
Code = tuple[int, ...]


def _read(task: str, files: dict[str, Path]) -> MultilabelData:
    (path,) = files.values()
    table, Y_all, labels = read_arff(path)
    # The first two levels of each code: tag_11.30.40.0 → (11, 30).
    numbers = [label.removeprefix("tag_").split(".") for label in labels]
    codes: list[Code] = [(int(first), int(second)) for first, second, *_ in numbers]
    second, Y_subcategories = _union(Y_all, codes)
    first, Y = _union(Y_all, [code[:1] for code in codes])
    X = sp.csr_array(table)
    views = [weight(X, "tf", True), topic_view(X)]
    classes, top_categories = [str(c) for (c,) in first], [str(c) for c, _ in second]
    return MultilabelData(classes, views, Y, Y_subcategories, top_categories, X)


build = multilabel_builder(_read)


def _union(Y: np.ndarray, groups: list[Code]) -> tuple[list[Code], np.ndarray]:
    """Return the different groups of labels, and the documents that have a label of each group."""
    # `Y`: (n, m) 0/1, the labels of the documents.
    # `groups`: The group of each label, a column of Y.
    # `Y`: (n, groups) 0/1, 1 if a document has any label of the group.
    names = sorted(set(groups))
    member = np.array([[group == name for name in names] for group in groups])
    return names, (Y @ member.astype(np.int64) > 0).astype(np.int8)
