"""Email spam: content of the files, and the reader on made-up files in the same format."""

from __future__ import annotations

import numpy as np
import pytest

from transferbench.data import tasks
from transferbench.datasets import email_spam
from transferbench.errors import Unavailable

PLAIN = {"min_df": 1, "weighting": "tf", "unit_length": False}


@pytest.mark.parametrize("name", email_spam.TASKS)
def test_dictionaries_are_never_mixed_and_inboxes_differ(name):
    files = list(tasks.needed(tasks.Task.named(name)))
    assert len(files) == len(set(files)) >= 2
    assert len({file.rpartition("/")[2][:6] for file in files}) == 1
    assert not [file for file in files if "tune" in file]


def test_without_the_public_mails_the_papers_task_is_unavailable(home):
    with pytest.raises(
        Unavailable, match=r"could not obtain email-spam/task_a_labeled_train.tf; "
    ) as error:
        tasks.load(tasks.Task.named("email-spam"), home)
    assert "d6bbc2a546d8aadc4601e54d00c8623ae624d2b1" in str(error.value)
    assert "bytes" not in str(error.value)
    assert "\n" not in str(error.value)


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
