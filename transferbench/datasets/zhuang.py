"""20 Newsgroups as Zhuang and Luo preprocessed it: the form that the GTL paper cites.

Zhuang and Luo distributed weighted words of comp against sci, rec against sci and sci against talk.
A file has the posts of one sub-category, in lines "word document value"; words and documents are
numbers from 1, the words have no names. `zhuang/<pair>` has these values as distributed, at raw
length. The last line of each file, the last word of the last document with the value 1.1e-05, sets
the size of a matrix; it is kept. A word that occurs in no file of a task has no column (13 of comp
against sci, none of the others).

The recipe, learned from these files: take the counts of Rennie's "bydate" matrices (18,774 posts
without headers and subject; 61,188 lower-case words of two letters or more, stop words included).
Keep the words in 16 or more posts (sci against talk: 6) of the n posts of both top categories, with
comp.windows.x. Multiply each count by log2(n / document frequency). The counts are exactly those of
the DAM paper's matrices, as far as these have the same posts.

`zhuang/<pair>-rebuilt` applies the recipe to the posts of `newsgroups`, for all six pairs: no files
are known for comp against rec, comp against talk and rec against talk. These posts begin with their
subject, 6 to 8 words, and posts that consist of a subject alone (0.2 %) are additional documents.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.data.fetch import File, Url
from transferbench.data.text import count, document_frequency, select
from transferbench.datasets import newsgroups
from transferbench.datasets._problems import problem_from_counts
from transferbench.problem import Problem, Truth

TENSOR = (
    "https://raw.githubusercontent.com/EdwinYeh/research-tensor/"
    "1380828fdb8281e0f7ca550400b1b50f53ab5eee/baseline/data_code/data"
)
TOOLKIT = (
    "https://raw.githubusercontent.com/FuzhenZhuang/Transfer-Learning-Toolkit/"
    "24b5323b354aee844b8b7df9fcad17fdfb191dc4/utilities/TLLibrary64/CCR3/data"
)
LICENCE = (
    "20 Newsgroups is distributed for research, copyright of each post remains with its author; no "
    "licence is stated for Zhuang and Luo's matrices, their readme asks for citation."
)
#: By pair, the address of its files and the number of words.
PAIRS = {
    "comp-vs-sci": (f"{TENSOR}/comp%20vs.%20sci/TrainSelect_{{}}.data", 6960),
    "rec-vs-sci": (f"{TENSOR}/rec%20vs.%20sci/TrainSelect_{{}}.data", 7270),
    "sci-vs-talk": (f"{TOOLKIT}/{{}}_select.data", 16249),
}
#: Numbers of the groups in the names of the files, in alphabetical order of 20 Newsgroups.
NUMBERS = dict(zip(newsgroups.GROUPS, (*range(2, 6), *range(8, 16), *range(17, 21)), strict=True))
#: By pair, size and SHA-256 of each file, by the number of its group.
DIGESTS = {
    "comp-vs-sci": (
        (1_576_657, "8db9e97c766bc75e94174390d559e7625fb2b1e942c753da2ebcc963f7b27942"),
        (1_449_643, "51fa58ec6905a65b20f0e771846c9aa6953a5714eafd747f2ea11c482e1d8b4b"),
        (1_482_570, "f245c69230ae3ece8752a0d9cc4313ff7e287a463a53f16b919e97739e6242ea"),
        (1_356_788, "067f596cf5dab9f64d5d0b0ca9e93664cf50f34f358fe7f0f8c6bc973ea7c2c5"),
        (2_282_876, "fdd18bc87a3241f204b873108ffb043dfa77eccd196797112462229c95577750"),
        (1_557_730, "72e793499b0b91cb11ef08a925b5abf23a85b63de939a31b5a19898527acb2e4"),
        (2_001_360, "0f141f6ec0a7ad4097dce65f2bf201878aed8ca55196a87929a13dbdb1606e4f"),
        (2_013_024, "018b9d5113c6477f39093e1ce74cecf4bdef3b84cc5aaf09f6eb3add2854e92c"),
    ),
    "rec-vs-sci": (
        (1_701_917, "a0a08e429ddeb1bc80e5d1efcdd7e83a991d489a2f01f945134c960ec868151d"),
        (1_638_258, "5ebdb3644e24c7728f5bde2e11d37b8f72aa8030efeb14102e403f997c164702"),
        (1_733_598, "f9fef925301533ad15b08c42da2973d589d12d7bffeeb5c2f1b45f7b1a217416"),
        (1_858_085, "c214b03f7b8ce72cd9b68d6143aab5f264d659e27c325ce5f11e247f109fc155"),
        (2_282_760, "a8bfa733e2c512e29241b45bb7660732665a4436b8374e0cff1683b8935d1877"),
        (1_548_239, "b9a75e3eb2d1e74acf2fbfc1b1c2853617d39b12017a3704108a26891a5efb29"),
        (2_018_590, "dbbb16f1511aee0bc45e77cc28d05e6a9d684daee85a6b06db19d0d56343e6d5"),
        (2_020_463, "4290a42f2c5a48d92518cc97882acd0119c1da1074d28d14687644c6724578f0"),
    ),
    "sci-vs-talk": (
        (2_355_882, "7dcdaa7bc5b13ce0dea82784bfeb2ff86744f3979884988fc07318db665a010b"),
        (1_582_648, "99eec9ac75de46e532728d418dd769a9d0a4a2625e64eb449b7e8cd4d957bdc6"),
        (2_120_986, "0938e68d636cd6f1ad8a66e705c0766ac67ca36b118ca2e3d6b4018a7aa028c9"),
        (2_105_311, "6741ed0afeec4d00d25a669874037c935dd41520757b2c897877e3f12178d66f"),
        (2_331_795, "b27ff36666da2affcb925eaf72bfe6c2d6a702c1af186142ccac77417629e01a"),
        (2_998_034, "615c89ca272db634d2ca0fb0dfd97a17715e801cf17962ec4760241c446f5525"),
        (2_173_927, "cfdb6a9499c4fdfbe7173d3f5757e74a8b8ae9b560e9c4ff4c5a12481b011283"),
        (1_509_954, "35ccdbeab5919fbe32285b6342789985934b172b94d61009f66972ad23b1d737"),
    ),
}


def _groups(pair: str) -> list[str]:
    """Return the sub-categories of a pair, in alphabetical order."""
    tops = pair.split("-vs-")
    return [group for group, name in newsgroups.GROUPS.items() if name.split(".")[0] in tops]


def _path(pair: str, group: str) -> str:
    """Return the name of the file that has the posts of a sub-category of a pair."""
    name = PAIRS[pair][0].rpartition("/")[2].format(NUMBERS[group])
    return f"zhuang-newsgroups/{pair}/{name}"


FILES = {
    _path(pair, group): File(
        name=_path(pair, group),
        size=size,
        digest=f"sha256:{sha256}",
        origins=(Url(PAIRS[pair][0].format(NUMBERS[group])),),
        licence=LICENCE,
    )
    for pair, digests in DIGESTS.items()
    for group, (size, sha256) in zip(_groups(pair), digests, strict=True)
} | newsgroups.FILES
#: Task → pair.
TASK_PAIRS = {f"zhuang/{pair}": pair for pair in PAIRS} | {
    f"zhuang/{P}-vs-{Q}-rebuilt": f"{P}-vs-{Q}"
    for P, Q in combinations(("comp", "rec", "sci", "talk"), 2)
}
TASKS = {
    task: f"20 Newsgroups, {pair.replace('-vs-', ' against ')}, Zhuang and Luo's weights"
    f"{' rebuilt' if task.endswith('-rebuilt') else ''}: 2 domains, the first labelled"
    for task, pair in TASK_PAIRS.items()
}
FACTS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def needed(task: str) -> list[str]:
    """Return the files of a pair, or those of the posts."""
    if task.endswith("-rebuilt"):
        return list(newsgroups.FILES)
    return [_path(TASK_PAIRS[task], group) for group in _groups(TASK_PAIRS[task])]


def build(
    task: str,
    files: dict[str, Path],
    *,
    split: Literal["gtl", "dtl"] = "gtl",
    unit_length: bool = False,
) -> tuple[Problem, Truth]:
    """Build one task.

    split: the paper whose sub-categories are the source and the target; they differ in sci.
    unit_length: divide each row by its Euclidean length.
    """
    pair = TASK_PAIRS[task]
    weights = (_rebuilt if task.endswith("-rebuilt") else _distributed)(pair, files)
    parts = {}
    for domain, classes in newsgroups.SPLITS[f"{split}/{pair}"].items():
        blocks = [
            (weights[group], c) for c, groups in enumerate(classes.values()) for group in groups
        ]
        X = sp.vstack([X for X, _ in blocks], format="csr")
        parts[domain] = X, np.repeat([c for _, c in blocks], [X.shape[0] for X, _ in blocks])
    # "tf": the weights as they are.
    return problem_from_counts(
        task, "transfer", pair.split("-vs-"), parts, weighting="tf", unit_length=unit_length
    )


def _distributed(pair: str, files: dict[str, Path]) -> dict[str, sp.csr_array]:
    """Return by sub-category the weights (documents, words) of a pair's files."""
    weights = {}
    for group in _groups(pair):
        lines = np.fromfile(files[_path(pair, group)], sep=" ").reshape(-1, 3)
        words, rows = lines[:, :2].astype(np.intp).T - 1
        shape = (rows.max() + 1, PAIRS[pair][1])
        weights[group] = sp.csr_array((lines[:, 2], (rows, words)), shape=shape)
    return weights


def _rebuilt(pair: str, files: dict[str, Path]) -> dict[str, sp.csr_array]:
    """Return by sub-category the weights (documents, words) of the posts, by the recipe."""
    groups, texts = newsgroups.posts(files[name] for name in newsgroups.FILES)
    names = [newsgroups.GROUPS[group] for group in _groups(pair)]
    if "comp" in pair:
        names.append("comp.windows.x")
    chosen = np.flatnonzero(np.isin(groups, names))
    counts, vocabulary = count((texts[i] for i in chosen), "[a-z]{2,}")
    min_df = 6 if pair == "sci-vs-talk" else 16
    counts = counts[:, select(counts, vocabulary, stop_words="none", min_df=min_df)]
    idf = np.log2(len(chosen) / document_frequency(counts))
    weights = sp.csr_array(counts.multiply(idf))
    return {group: weights[groups[chosen] == newsgroups.GROUPS[group]] for group in _groups(pair)}
