"""Email spam: content of the files, and the reader on made-up files in the same format."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import originals

from transferbench.data import tasks
from transferbench.datasets import email_spam
from transferbench.errors import Unavailable

PLAIN = {"min_df": 1, "weighting": "tf", "unit_length": False}


def test_the_tasks():
    pairs = [f"email-spam/inbox-{p}" for p in ("0-to-1", "0-to-2", "1-to-0", "1-to-2", "2-to-0")]
    assert list(email_spam.TASKS) == [
        "email-spam", "email-spam/inboxes", *pairs, "email-spam/inbox-2-to-1", "email-spam/task-b"
    ]  # fmt: skip
    assert tasks.Task.named("task-b").name == "email-spam/task-b"
    assert tasks.Task.named("email-spam:min_df=3").name == "email-spam:min_df=3"


@pytest.mark.parametrize("name", email_spam.TASKS)
def test_dictionaries_are_never_mixed_and_inboxes_differ(name):
    files = list(tasks.needed(tasks.Task.named(name)))
    assert len(files) == len(set(files)) >= 2
    assert len({file.rpartition("/")[2][:6] for file in files}) == 1
    assert not [file for file in files if "tune" in file]


def test_the_papers_task_has_the_public_mails_as_source_and_three_users():
    assert list(email_spam.SPLITS["email-spam"]) == ["source", "user-1", "user-2", "user-3"]
    files = tasks.needed(tasks.Task.named("email-spam"))
    public = next(iter(files.values()))
    assert public.name == "email-spam/task_a_labeled_train.tf"
    assert public.digest == "git-blob:d6bbc2a546d8aadc4601e54d00c8623ae624d2b1"
    assert len(email_spam.SPLITS["email-spam/task-b"]) == 16


def test_without_the_public_mails_the_papers_task_is_unavailable(home):
    with pytest.raises(
        Unavailable, match=r"could not obtain email-spam/task_a_labeled_train.tf; "
    ) as error:
        tasks.load(tasks.Task.named("email-spam"), home)
    assert "d6bbc2a546d8aadc4601e54d00c8623ae624d2b1" in str(error.value)
    assert "bytes" not in str(error.value)
    assert "\n" not in str(error.value)


#: Class, different words and words of the mails 0, 9 and last of a domain.
ITEMS = {
    ("email-spam/inbox-0-to-1", "source"): [
        ("ham", 170, 370),
        ("ham", 139, 220),
        ("spam", 77, 174),
    ],
    ("email-spam/inbox-0-to-1", "target"): [
        ("ham", 139, 271),
        ("spam", 40, 43),
        ("spam", 105, 224),
    ],
    ("email-spam/inbox-1-to-2", "target"): [("spam", 47, 49), ("spam", 54, 58), ("spam", 55, 64)],
    ("email-spam/task-b", "source"): [("ham", 620, 1834), ("ham", 105, 223), ("ham", 235, 637)],
    ("email-spam/task-b", "user-1"): [("ham", 37, 51), ("spam", 126, 224), ("ham", 36, 51)],
    ("email-spam/task-b", "user-15"): [("spam", 89, 172), ("ham", 58, 68), ("spam", 11, 11)],
}


@pytest.mark.parametrize(("name", "domain"), ITEMS)
def test_mails_0_9_and_the_last_are_the_right_ones(name, domain):
    problem, truth = email_spam.build(name, originals(name), **PLAIN)
    at = truth.names.index(domain)
    X, Y = problem.domains[at].X, truth.Y[at]
    items = [
        (problem.classes[Y[i].argmax()], np.diff(X.indptr)[i], X[[i]].sum()) for i in (0, 9, -1)
    ]
    assert items == ITEMS[name, domain]


@pytest.fixture
def made_up(tmp_path):
    """Writes every file of task A; returns the builder's files."""

    def write(**changes):
        mails = {
            "task_a_labeled_train": "1 1:3 2:1\n-1 2:2 5:1\n-1 2:1\n",
            "task_a_u00_eval_lab": "-1 1:1 7:4\n1 9:1\n",
            "task_a_u01_eval_lab": "1 7:2\n-1 5:3\n",
            "task_a_u02_eval_lab": "-1 2:1 3:1\n1 12:6\n",
        } | changes
        for name, text in mails.items():
            (tmp_path / f"{name}.tf").write_text(text)
        return {f"email-spam/{name}.tf": tmp_path / f"{name}.tf" for name in mails}

    return write


def test_made_up_public_mails_and_inboxes_are_read(made_up):
    """Words 1, 2, 3, 5, 7, 9, 12 occur; each file alone would have fewer columns."""
    problem, truth = email_spam.build("email-spam", made_up(), **PLAIN)
    assert problem.classes == ("ham", "spam")
    assert truth.names == ("source", "user-1", "user-2", "user-3")
    assert [len(domain.seen) for domain in problem.domains] == [3, 2, 2, 2]
    assert [domain.seen.all() for domain in problem.domains] == [True, False, False, False]
    source, user_1, _, user_3 = (domain.X.toarray() for domain in problem.domains)
    np.testing.assert_array_equal(
        source, [[3, 1, 0, 0, 0, 0, 0], [0, 2, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(user_1, [[1, 0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 0, 1, 0]])
    np.testing.assert_array_equal(user_3, [[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 6]])
    np.testing.assert_array_equal(problem.domains[0].Y, [[0, 1], [1, 0], [1, 0]])
    np.testing.assert_array_equal(truth.Y[1], [[1, 0], [0, 1]])


def test_words_of_a_single_mail_are_dropped_by_default(made_up):
    problem, _ = email_spam.build("email-spam", made_up(), weighting="tf", unit_length=False)
    np.testing.assert_array_equal(problem.domains[1].X.toarray(), [[1, 0, 0, 4], [0, 0, 0, 0]])
    lengths = email_spam.build("email-spam", made_up())[0].domains[0].X
    np.testing.assert_allclose(lengths.multiply(lengths).sum(axis=1), 1, rtol=1e-5)
