"""Email spam: the ECML/PKDD 2006 Discovery Challenge, labelled public mails and users' inboxes.

The files contain word counts in SVMlight's format, "<label> <word>:<count> …". Words are numbers;
the label is +1 for spam and -1 for other mail (the challenge's convention; the MRTL paper states
the reverse, which changes no accuracy). Half of each file is spam. Task A has 4,000 public mails
and three inboxes of 2,500; task B has 100 public mails and 15 inboxes of 400. The dictionaries of A
and B differ, so their files are never mixed. Inbox 0 belongs to user 1. A mail may contain a word
thousands of times; the weighting "log-tf" reduces the effect. The DAM paper published the inboxes
of task A in the form of the options weighting=tf, min_df=1.

Task A's public mails have three origins, verified by one git blob id; if all are out of reach and
no mirror has them, `email-spam` is unavailable. Its FACTS are those that the papers state; those of
the other tasks were computed from the built tasks.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.fetch import File, Url
from transferbench.data.options import UnequalIn, Weighting
from transferbench.datasets._class_sizes import cut
from transferbench.datasets._problems import problem_from_counts
from transferbench.parameters import Count
from transferbench.problem import Problem, Truth

ORIGIN = (
    "https://raw.githubusercontent.com/shohoku11wrj/Spam-Filter/"
    "36b41aabee9f953bd799a8a0bc4993d80a9b23cd/SpamFilterData"
)
ORIGIN_2 = (
    "https://raw.githubusercontent.com/soj3/TransferLearning/"
    "c4be191e8f7136fcb42073afc5e9256868e449a6/data-sets"
)
LICENCE = (
    "Email spam was published for the ECML/PKDD 2006 Discovery Challenge; no licence is stated for "
    "the data."
)


def _file(name: str, folder: str, size: int | None, digest: str, *others: str) -> File:
    urls = (f"{ORIGIN}/{folder}/{name.rpartition('/')[2]}", *others)
    return File(
        name=f"email-spam/{name}",
        size=size,
        digest=digest,
        origins=tuple(map(Url, urls)),
        licence=LICENCE,
    )


INBOXES_A = (
    (2_402_441, "b067310a31af5f551efd2a26adc3f9c487fbeb20fc3322116924edde2f265088"),
    (2_532_283, "094636b62ea46b02fb4744200f40b65e3ad11134e1c59ef2bae5ef807c7e4ef4"),
    (1_782_618, "b63c35f64a9fcdeb6bd26503520f5f081f7356ffdf2876b91575c4c4fe456f07"),
)
INBOXES_B = (
    (427_560, "76bbd7d5051e7ed93be6863e9e1ea760c0438c33f4d40aab9a89bb572845eff2"),
    (483_157, "a21a0445b71b71e7d91efe130c584caa39fe63ef133e87e36459bbd1d1f89da2"),
    (559_202, "9461963d0e8eb85913407adbac88d246ec65e17c44b0dcf3f0f59952793a7d52"),
    (378_753, "7915d1b155869bb36af5b2c5abcfa3589c925c21d62e684d8290b4ece9cac466"),
    (271_995, "fc0cdaa2f5fea06da1480accf3af65f88089dc6b8792a2dc0cfefc25917ed12f"),
    (632_041, "a343292f4d43c520063931e797e737010c9e4e83ef01ab8533556a16e670ab22"),
    (368_737, "82744c9c20869350ed3d55981550122c7f440cdeb5d4ad4da7349b304c61e37f"),
    (477_917, "a3fabecfc03a4a1ea8b140e4ddd86683cb1103791e93aa0b9b70cf16f7e31e53"),
    (411_340, "1c0defafcade34aebaba6738ecc1871fea53266335e743c47f6c95a1d570c2d9"),
    (417_027, "f556f2fe4606f56f7a8319409e9f8fe117782df95ab104dc749624f2da2a5114"),
    (364_046, "c9fb683897630b9a43348eef1eb2b3195434daf0ba5944b57dd51ef1093dae81"),
    (425_389, "9a4692ba855e6201f76344bb2e79056db0caaca58a6532e1bb58cb690b0a26b4"),
    (372_587, "e31ba5fddad7f05b1260c6f04ed88a43a7f73ebb81dfc5189cfa2163b00900aa"),
    (483_327, "f024308b6454ee7735ddbfbfe87c0e011e93d15040a7181ab64680a022cb2434"),
    (322_858, "a291c4b52a2445f388e17bcb2c61660287d087a94e2d1f1a6fd796b59e91dad6"),
)
PUBLIC_A = _file(
    "task_a_labeled_train.tf",
    "data_task_a/data_task_a",
    None,
    "git-blob:d6bbc2a546d8aadc4601e54d00c8623ae624d2b1",
    f"{ORIGIN_2}/data_task_a/task_a_labeled_train.tf",
    "https://raw.githubusercontent.com/hnjzlishuang/DAM/"
    "ac51f0357cbe85e403aadb2b25dfdf7b12d6dd76/data_Emailspam/emailspam/task_a_u03_eval_lab.tf",
)
PUBLIC_B = _file(
    "task_b/task_b_labeled_train.tf",
    "data_task_b/data_task_b",
    130_628,
    "sha256:01b9387df5a2667f63da943a904de64724299c30090a7ed3e58c906b66bca4e5",
)
USERS_A, USERS_B = (
    [
        _file(f"{prefix}_u{user:02}_eval_lab.tf", folder, size, f"sha256:{sha256}")
        for user, (size, sha256) in enumerate(inboxes)
    ]
    for prefix, folder, inboxes in (
        ("task_a", "evaluation_data_labeled/task_a_lab", INBOXES_A),
        ("task_b/task_b", "evaluation_data_labeled/task_b_lab", INBOXES_B),
    )
)
FILES = {file.name: file for file in (PUBLIC_A, *USERS_A, PUBLIC_B, *USERS_B)}


def _split(source: File, users: list[File]) -> dict[str, str]:
    return {"source": source.name} | {f"user-{i}": file.name for i, file in enumerate(users, 1)}


#: Task → domain → file, the source first.
SPLITS: dict[str, dict[str, str]] = {
    "email-spam": _split(PUBLIC_A, USERS_A),
    "email-spam/inboxes": {f"user-{i}": file.name for i, file in enumerate(USERS_A, 1)},
    **{
        f"email-spam/inbox-{i}-to-{j}": {"source": USERS_A[i].name, "target": USERS_A[j].name}
        for i, j in permutations(range(len(USERS_A)), 2)
    },
    "email-spam/task-b": _split(PUBLIC_B, USERS_B),
}
TASKS = {
    task: f"Email spam, {'inbox to inbox' if '/inbox-' in task else 'public mails to inboxes'}: "
    f"{len(split)} domains, the first labelled"
    for task, split in SPLITS.items()
} | {"email-spam/inboxes": "Email spam, the inboxes of task A: 3 domains, none labelled"}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def needed(task: str) -> list[str]:
    """Return the file of each domain."""
    return list(SPLITS[task].values())


def build(
    task: str,
    files: dict[str, Path],
    *,
    min_df: Count = 2,
    weighting: Weighting = "tf-idf",
    unit_length: bool = True,
    class_sizes: str = "",
    unequal_in: UnequalIn = "target",
) -> tuple[Problem, Truth]:
    """Build one task.

    min_df: drop words in fewer mails, counted over all domains; 2 drops the words of a single mail.
    weighting, unit_length: see `text.weight`; fitted on all domains together.
    class_sizes, unequal_in: cut the classes, see `_class_sizes.cut`; weights and document
    frequencies are those of the documents that remain. Raises ValueError for
    a file in another format or with unlabelled mails.
    """
    from sklearn.datasets import load_svmlight_files

    names = needed(task)
    # Read together, so that all have the same number of columns.
    arrays = load_svmlight_files([str(files[name]) for name in names], zero_based=False)
    parts = {}
    for domain, name, counts, labels in zip(
        SPLITS[task], names, arrays[::2], arrays[1::2], strict=True
    ):
        if not np.isin(labels, (-1, 1)).all():
            raise ValueError(f"{name}: expected labels -1 and 1, got {sorted({*labels.tolist()})}")
        parts[domain] = sp.csr_array(counts), (labels > 0).astype(np.intp)
    return problem_from_counts(
        task,
        "transfer",
        ("ham", "spam"),
        cut(parts, ("ham", "spam"), class_sizes, unequal_in if "source" in parts else "both"),
        min_df=min_df,
        weighting=weighting,
        unit_length=unit_length,
        sources=int("source" in parts),
    )
