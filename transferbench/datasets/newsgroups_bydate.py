"""20 Newsgroups by date, as Jason Rennie counted its words: 18,774 posts, 61,188 words.

The MRTL paper states the 18,774 posts of this collection. The GTL paper states "approximately
25,800 features", and here 25,804 words are in six posts or more. The counts are rebuilt here from
the 18,846 posts themselves. They have 2,435,219 entries, which sum to 4,562,219. Posts and words
have the published order. Published files of two other groups agree with the counts in every value.
These are all 5,880 rows of three domains of DAM, which MRTL follows, and all 2,716,795 weights of
the three pairs that Zhuang and Luo distributed; see `zhuang`.

The counts were made with the program rainbow, whose rules are used here:

1. Posts that are no plain text are left out (22); see `newsgroups_19997.is_plain`.
2. The header, all up to the first empty line, is skipped.
3. Words are runs of 2 to 99 letters a to z in lower case; any other byte separates. No stop words.
4. Words that occur once in all these posts are left out.
5. Posts with fewer than two different words are left out then (50).
6. Posts are in the order training, test; then group; then date. The date is that of the header in
   the 19,997 originals, without its time zone. Words are in the order of appearance.

Three pairs of posts, in alt.atheism, misc.forsale and comp.windows.x, are of the same second. The
published files cannot show their order. Here their numbers give the order.

`mrtl/<pair>-bydate` has the counts of every word at unit length, as DAM's files have them.
`gtl/<pair>-bydate` has the words in six of the 18,774 posts or more. Zhuang and Luo's recipe
weights them, at raw length.
"""

import email.utils
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import members
from transferbench.data.declared import declared
from transferbench.data.problems import problem_from_counts
from transferbench.data.text import document_frequency
from transferbench.datasets import newsgroups
from transferbench.datasets import newsgroups_19997 as originally
from transferbench.problem import Problem, Truth

BY_DATE, TASKS = declared(__file__)
FILES = BY_DATE | originally.FILES

DATE = re.compile(r"^Date:(.*)$", re.M)
#: Posts of the same second whose published order is not that of their numbers.
TIED = ("51584 51556", "53668 53665", "54304 54306 54303 54305", "76169 76168", "77820 77808")
RANK = {number: i for tied in TIED for i, number in enumerate(tied.split())}


def build(task: str, files: dict[str, Path]) -> tuple[Problem, Truth]:
    """Build one task."""
    name = task.removesuffix("-bydate")
    split, is_gtl = newsgroups.SPLITS[name], name.startswith("gtl/")
    weights, groups, words = rennie(*files.values())
    if is_gtl:
        frequent = document_frequency(weights) >= 6
        weights, rows = recipe(weights, groups, next(iter(split.values())), frequent)
        groups, words = groups[rows], words[frequent]
    content = newsgroups.by_domain(split, weights, groups, words)
    return problem_from_counts(task, "transfer", content, unit_length=not is_gtl)


def recipe(
    counts: sp.csr_array, groups: np.ndarray, top_categories: Iterable[str], words: np.ndarray
) -> tuple[sp.csr_array, np.ndarray]:
    """Return Zhuang and Luo's weights of the posts of some top categories."""
    # A count is multiplied by log2(N / document frequency) in single precision. N and the
    # frequencies also count the posts of comp.windows.x.
    # `rows`: (N,) the row of each post in `counts`.
    # Shapes: weights (N, d).
    rows = np.flatnonzero(np.isin([group.split(".")[0] for group in groups], list(top_categories)))
    selected = counts[rows][:, np.flatnonzero(words)]
    idf = np.log2(len(rows) / np.maximum(document_frequency(selected), 1)).astype(np.float32)
    return sp.csr_array(selected.astype(np.float32).multiply(idf)), rows


@lru_cache(maxsize=1)
def rennie(by_date: Path, originals: Path) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return the counts (18774, 61188), int32, the group of each post, and the words."""
    dates = {tuple(name.split("/")[1:]): _date(post) for name, post in members(originals)}
    posts = {
        tuple(name.split("/")): post for name, post in members(by_date) if originally.is_plain(post)
    }
    order = sorted(
        posts,
        key=lambda post: (
            post[0].endswith("test"), post[1], dates[post[1:]], RANK.get(post[2], int(post[2]))
        ),
    )  # fmt: skip
    words = [
        [w for w in re.findall(r"[a-z]+", _body(posts[post]).lower()) if 2 <= len(w) < 100]
        for post in order
    ]
    occurrences = Counter(chain.from_iterable(words))
    words = [[w for w in post if occurrences[w] > 1] for post in words]
    several = [i for i, post in enumerate(words) if len(set(post)) > 1]  # posts of several words
    number = {w: j for j, w in enumerate(dict.fromkeys(chain(*(words[i] for i in several))))}
    columns = np.array([number[w] for i in several for w in words[i]], np.int32)
    rows = np.repeat(np.arange(len(several)), [len(words[i]) for i in several])
    shape = (len(several), len(number))
    counts = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape)
    groups = np.array([order[i][1] for i in several])
    return counts, groups, np.array([*number], dtype=object)


def _body(post: bytes) -> str:
    return post.decode("latin-1").partition("\n\n")[2]


def _date(post: bytes) -> tuple[int, ...]:
    """Return year, month, day, hour, minute and second of a post's header."""
    header = post.decode("latin-1").partition("\n\n")[0]
    date = DATE.search(header)
    parsed = email.utils.parsedate(date[1]) if date else None
    return parsed[:6] if parsed else ()
