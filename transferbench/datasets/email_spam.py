"""Email spam: the ECML/PKDD 2006 Discovery Challenge, labelled public mails and users' inboxes.

The files contain word counts in SVMlight's format, "<label> <word>:<count> …". Words are numbers.
The label is +1 for spam and -1 for other mail, as in the challenge. The MRTL paper states the
reverse, which changes no accuracy. Half of each file is spam. Task A has 4,000 public mails and
three inboxes of 2,500. Task B has 100 public mails and 15 inboxes of 400. The dictionaries of A and
B differ, so their files are never mixed. Inbox 0 belongs to user 1. A mail may contain a word
thousands of times; the weighting "log-tf" reduces the effect. The DAM paper published the inboxes
of task A in the form of the options weighting=tf, min_df=1.

Task A's public mails have three origins. One git blob id verifies them. If all origins are out of
reach and no mirror has the mails, `email-spam` is unavailable. The papers state the FACTS of
`email-spam`. The FACTS of the other tasks were computed from the built tasks.
"""

from itertools import permutations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.declared import declared
from transferbench.data.problems import Counts, builder

FILES, TASKS = declared(__file__)
#: The public mails and the inboxes of the tasks A and B.
PUBLIC_A, *USERS_A = [name for name in FILES if "task_a" in name]
PUBLIC_B, *USERS_B = [name for name in FILES if "task_b" in name]


INBOXES_A, INBOXES_B = (
    {f"user-{i}": name for i, name in enumerate(users, 1)} for users in (USERS_A, USERS_B)
)
#: Task → domain → file, the source first.
SPLITS = {
    "email-spam": {"source": PUBLIC_A, **INBOXES_A},
    "email-spam/inboxes": INBOXES_A,
    **{
        f"email-spam/inbox-{i}-to-{j}": {"source": USERS_A[i], "target": USERS_A[j]}
        for i, j in permutations(range(len(USERS_A)), 2)
    },
    "email-spam/task-b": {"source": PUBLIC_B, **INBOXES_B},
}


def needed(task: str) -> list[str]:
    """Return the file of each domain."""
    return list(SPLITS[task].values())


def _read(task: str, files: dict[str, Path]) -> tuple[tuple[str, ...], dict[str, Counts]]:
    from sklearn.datasets import load_svmlight_files

    # Read together, so that all have the same number of columns.
    arrays = load_svmlight_files([str(path) for path in files.values()], zero_based=False)
    return ("ham", "spam"), {
        domain: (sp.csr_array(counts), (labels > 0).astype(np.intp))
        for domain, counts, labels in zip(SPLITS[task], arrays[::2], arrays[1::2], strict=True)
    }


#: By default, words of a single mail are dropped.
build = builder(_read, min_df=2)
