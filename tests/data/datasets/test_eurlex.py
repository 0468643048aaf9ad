"""EUR-Lex, on made-up files in the format of its authors."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from transferbench.data import tasks
from transferbench.data.datasets import eurlex
from transferbench.errors import UserError

WORDS = {
    "3": "oliv oil oil price",
    "5": "oil market",
    "7": "border visa visa",
    "9": "court visa oil",
}
QRELS = {
    "DC_l1": "3.x.x.x 3 1\n3.x.x.x 5 1\n19.x.x.x 7 1\n19.x.x.x 9 1\n3.x.x.x 9 1\n1.x.x.x 244 1\n",
    "DC_leaves": "3.60.59.x 3 1\n3.60.x.x 5 1\n19.10.x.x 7 1\n19.20.x.x 9 1\n",
    "DC_leaves_l2": "3.60.x.x 3 1\n3.60.x.x 5 1\n19.10.x.x 7 1\n19.20.x.x 9 1\n",
    "subject_matter": "oils_and_fats 3 1\nagriculture 3 1\noils_and_fats 5 1\n",
}


@pytest.fixture
def law(tmp_path):
    """Writes the two files; returns their folder."""

    def write(qrels=QRELS, lines=None, folder="eurlex_id2class/"):
        lines = lines or [f"{number},'{words}'" for number, words in WORDS.items()]
        head = [
            "@relation eurlex",
            "",
            "@attribute ID numeric",
            "@attribute text string",
            "",
            "@data",
        ]
        with gzip.open(tmp_path / eurlex.TEXTS, "wt", encoding="utf-8") as file:
            file.write("\n".join([*head, *lines, ""]))
        with zipfile.ZipFile(tmp_path / eurlex.CLASSES, "w") as archive:
            for kind, text in qrels.items():
                archive.writestr(f"{folder}id2class_eurlex_{kind}.qrels", text)
        return str(tmp_path)

    return write


def test_eurlex_files_are_read(law):
    problem, truth = eurlex.build("eurlex/directory-codes", {}, path=law(), topics=2, tasks=2)
    assert problem.classes == ("19.x.x.x", "3.x.x.x")
    assert truth.names == ("task-1", "task-2")
    # Sub-categories 3.60 (2 documents) and 19.10 (1) are the first of their top, 19.20 the second.
    np.testing.assert_array_equal(truth.Y[0], [[0, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 1]])
    assert [view.shape[1] for view in problem.domains[0].views] == [7, 2]
    tfidf = problem.domains[0].X.toarray()
    np.testing.assert_allclose((tfidf**2).sum(axis=1), 1, rtol=1e-5)
    # market, oil, oliv, price, visa … in alphabetical order; "oil" twice in the first document.
    order = sorted({word for words in WORDS.values() for word in words.split()})
    assert order == ["border", "court", "market", "oil", "oliv", "price", "visa"]
    assert (tfidf[0] > 0).tolist() == [word in WORDS["3"].split() for word in order]
    assert sum(domain.seen.sum() for domain in problem.domains) == 2


def test_eurlex_options(law):
    folder = law(folder="")
    problem, truth = eurlex.build(
        "eurlex/subject-matters", {}, path=folder, views="tf-idf", tasks=1
    )
    assert problem.classes == ("agriculture", "oils_and_fats")
    np.testing.assert_array_equal(truth.Y[0], [[1, 1], [0, 1], [0, 0], [0, 0]])
    problem, _ = eurlex.build(
        "eurlex/directory-codes-all", {}, path=folder, views="tf-idf", tasks=1, features=1
    )
    assert problem.classes == ("19.10.x.x", "19.20.x.x", "3.60.59.x", "3.60.x.x")
    assert (problem.domains[0].X.toarray().ravel() > 0).tolist() == [True, True, False, True]  # oil


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qrels": {"DC_l1": "3.x.x.x 3 1\n"}}, "has no id2class_eurlex_DC_leaves_l2.qrels"),
        ({"qrels": QRELS | {"DC_l1": "3.x.x.x 3\n"}}, "expected lines of a class"),
        ({"qrels": QRELS | {"DC_l1": "3.x.x.x 4 1\n"}}, "no document of"),
        ({"lines": ["no comma"]}, "expected lines of a number and words"),
    ],
)
def test_eurlex_files_in_another_format_are_refused(law, home, changes, message):
    task = tasks.Task.named("eurlex/directory-codes", path=law(**changes))
    with pytest.raises(UserError, match=message):
        tasks.load(task, home)


def test_bad_files_in_the_data_folder_are_a_user_error(law, home):
    folder = home.data / "own" / "eurlex"
    folder.mkdir(parents=True)
    for file in eurlex.own_files(Path(law(lines=["no comma"]))):
        file.rename(folder / file.name)
    with pytest.raises(UserError, match=r"words after @data; correct your files\.$"):
        tasks.load(tasks.Task.named("eurlex/subject-matters"), home)
