"""20 Newsgroups as collected: 19,997 posts with all their headers, 1,000 of each group but one.

The DTL paper prints numbers that hold for this collection alone. Its accuracies of logistic
regression are k/4000 for a whole k, so targets have four times 1,000 posts. It also prints 15,981
words in 15 posts or more; the rules below give 15,986. `dtl/<pair>-19997` has that paper's split.
`dai/<pair>-19997` has the split of Dai, Xue, Yang and Yu (KDD 2007), from which the DTL paper
copies three of its columns.

The headers name the class. The line Newsgroups holds the name of the group in every post but one.
Xref and Followup-To hold it where a post has them. So "sci" is a word of every post of sci, in the
source and in the target. headers=unnamed leaves out these three lines. It also leaves out Path,
which lists hosts.

Words are two letters a to z or more, and occur in 15 of the 19,997 posts or more. scikit-learn's
English stop words are left out. After that, 21 posts that are no plain text are left out, see
`is_plain`. 20 of them are in sources of `dtl/`, and none is in its targets. Values are counts times
ln(N / document frequency) at raw length. N and the frequencies are those of the posts of the
papers' 16 sub-categories.
"""

import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from transferbench.data.archive import members
from transferbench.data.declared import declared
from transferbench.data.problems import problem_from_counts
from transferbench.data.text import count, document_frequency, select
from transferbench.datasets import newsgroups
from transferbench.problem import Problem, Truth

#: Lines of a post's header that a word is taken from: all, all but those that name the group, none.
Headers = Literal["all", "unnamed", "none"]
#: Header lines that name the group, or list hosts, with the lines that continue them.
NAMING = re.compile(r"^(newsgroups|xref|path|followup-to):.*\n([ \t].*\n)*", re.IGNORECASE | re.M)
#: Number of bytes at the start of a post that decide whether it is plain text.
HEAD = 4096
PRINTABLE, BLANK = bytes(range(32, 127)) + b"\t\n\v\f\r", b" \t\n\v\f\r"

FILES, TASKS = declared(__file__)


def build(
    task: str,
    files: dict[str, Path],
    *,
    headers: Headers = "all",
    weighting: Literal["tf", "tf-idf"] = "tf-idf",
    unit_length: bool = False,
) -> tuple[Problem, Truth]:
    """Build one task.

    Parameters
    ----------
    headers
        Lines of the header whose words count. unnamed leaves out the four lines described above.
    weighting
        Counts alone, or counts times the idf above.
    unit_length
        Divide each row by its Euclidean length.
    """
    weights, vocabulary, groups = _corpus(*files.values(), headers)
    if weighting == "tf-idf":
        counted = np.isin(groups, newsgroups.SIXTEEN)
        df = document_frequency(weights[np.flatnonzero(counted)])
        weights = sp.csr_array(weights.multiply(np.log(counted.sum() / np.maximum(df, 1))))
        weights.eliminate_zeros()  # words of every post, such as "subject"
    split = newsgroups.SPLITS[task.removesuffix("-19997")]
    content = newsgroups.by_domain(split, weights, groups, vocabulary)
    return problem_from_counts(task, "transfer", content, unit_length=unit_length)


@lru_cache(maxsize=1)
def _corpus(path: Path, headers: Headers) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Return counts (n, d) of the posts that are plain text, and the group of each."""
    posts = dict(sorted(members(path)))

    def words(post: bytes) -> str:
        head, empty_line, body = post.decode("latin-1").partition("\n\n")
        if headers == "all":
            return head + empty_line + body
        return body if headers == "none" else NAMING.sub("", f"{head}\n") + body

    counts, vocabulary = count(map(words, posts.values()), "[a-z]{2,}")
    columns = select(counts, vocabulary, stop_words="english", min_df=15)
    groups = np.array([name.split("/")[1] for name in posts])
    plain = np.array([is_plain(post) for post in posts.values()])
    return counts[:, columns][np.flatnonzero(plain)], vocabulary[columns], groups[plain]


def is_plain(post: bytes) -> bool:
    """Return True if the start of a post passes the program rainbow's two tests of plain text."""
    # First, more than 95 per cent of its bytes are printable. Second, it is not uuencoded. It
    # counts as uuencoded if more than half of its complete lines have one length, from 50 to 80,
    # and less than a tenth of its bytes are blank.
    head = post[:HEAD]
    printable, blank = (len(head) - len(head.translate(None, b)) for b in (PRINTABLE, BLANK))
    if not head or 100 * printable // len(head) <= 95:
        return False
    lines = head.split(b"\n")[:-1]
    length, n = Counter(map(len, lines)).most_common(1)[0] if lines else (0, 0)
    return not (50 <= length <= 80 and n > len(lines) // 2 and blank < len(head) // 10)
