"""What does `predict` need for many texts, and how well are their nearest neighbours found?

Texts have two classes and two domains and are made from newsgroup posts with a fixed seed, see
`made_texts`. DOCUMENTS of the environment is the number in each domain, by default 10,000.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

import transferbench
from transferbench import artefacts, settings
from transferbench.core import graph
from transferbench.data import fetch
from transferbench.data.text import count, select, weight
from transferbench.datasets import newsgroups

from .iteration import TASK, cpu

DOCUMENTS = int(os.environ.get("DOCUMENTS", "10000"))
#: Pieces of a text, and words in a row of each, from a post of its class and domain.
PIECES, WORDS = 8, 12
MODELS = ("lr", "dtl", "cocc", "graph-only", "gcmf", "auto")
BASELINES = ("LogisticRegression", "SelfTraining", "LabelSpreading")
#: LabelSpreading compares all pairs: of 100,000 + 100,000 texts it would take half an hour.
MAX_SPREADING = 20_000
#: Neighbours, and rows whose exact neighbours are computed.
P, PROBE = 10, 1000
TEXTS = ("posts", "made texts")
SEARCHES = ("exact", "sparse_dot_topn", "scikit-learn, brute", "rare words")


class Predict:
    """`predict` beside scikit-learn on the same two files: the whole command."""

    params = (*BASELINES, *MODELS)
    param_names = ("command",)

    def setup_cache(self) -> dict[str, dict[str, float]]:
        return predict(DOCUMENTS, self.params)

    setup_cache.timeout = 7200

    def track_predict_seconds(self, found, command: str) -> float:
        """CPU seconds."""
        return found[command]["seconds"]

    track_predict_seconds.unit = "seconds"

    def track_predict_over_logistic_regression(self, found, command: str) -> float:
        """Ratio to the CPU seconds of scikit-learn's LogisticRegression."""
        return found[command]["seconds"] / found["LogisticRegression"]["seconds"]

    track_predict_over_logistic_regression.unit = "ratio"

    def track_predict_memory(self, found, command: str) -> float:
        """Peak of the memory."""
        return found[command]["MiB"]

    track_predict_memory.unit = "MiB"

    def track_predict_accuracy(self, found, command: str) -> float:
        """Accuracy on the target."""
        return found[command]["accuracy"]

    track_predict_accuracy.unit = "fraction"


class Neighbours:
    """Searches for the ten nearest documents, on the real posts and on the made texts."""

    params = (TEXTS, SEARCHES)
    param_names = ("texts", "search")

    def setup_cache(self) -> dict[tuple[str, str], tuple[float, float]]:
        texts = {"posts": posts()[1], "made texts": (t for _, t in made_texts(DOCUMENTS)["target"])}
        return {
            (name, search): measured
            for name, each in texts.items()
            for search, measured in search_all(each).items()
        }

    setup_cache.timeout = 7200

    def track_neighbours_seconds(self, found, texts: str, search: str) -> float:
        """CPU seconds; those of exact searches are of PROBE rows, times the number of rows."""
        return found[texts, search][0]

    track_neighbours_seconds.unit = "seconds"

    def track_neighbours_recall(self, found, texts: str, search: str) -> float:
        """Share of the nearest documents that is found."""
        return found[texts, search][1]

    track_neighbours_recall.unit = "fraction"


class Reuse:
    """A second fit of GCMF with another λ: graphs and the start are read, not made."""

    def track_reused_over_first(self) -> float:
        """Ratio of the CPU seconds."""
        problem, _ = transferbench.load_task(TASK)
        return reuse(problem)

    track_reused_over_first.unit = "ratio"


def posts() -> tuple[np.ndarray, list[str]]:
    """Return the groups and the texts of all 18,821 posts."""
    return newsgroups.posts(
        [fetch.get(file, settings.load()) for file in newsgroups.FILES.values()]
    )


def made_texts(documents: int) -> dict[str, Iterator[tuple[str, str]]]:
    """Return labels and texts by domain; classes and domains are those of comp against rec."""
    groups, texts = posts()
    rng = np.random.default_rng(0)

    def made(split: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
        y = newsgroups.labels(split, groups)
        of_class = [[texts[i].split() for i in np.flatnonzero(y == c)] for c in range(len(split))]
        pools = [[words for words in pool if len(words) >= WORDS] for pool in of_class]
        for i in range(documents):
            pool = pools[i % len(pools)]
            text: list[str] = []
            for words in (pool[j] for j in rng.integers(len(pool), size=PIECES)):
                start = rng.integers(len(words) - WORDS + 1)
                text += words[start : start + WORDS]
            yield list(split)[i % len(pools)], " ".join(text)

    return {name: made(split) for name, split in newsgroups.SPLITS[TASK].items()}


def predict(documents: int, commands: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return CPU seconds, MiB and accuracy of each command, in a process of its own."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for domain, rows in made_texts(documents).items():
            with (folder / f"{domain}.csv").open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream).writerows([("label", "text"), *rows])
        source, target, out = folder / "source.csv", folder / "target.csv", folder / "out.csv"
        for each in commands:
            if each in BASELINES:
                if each == "LabelSpreading" and documents > MAX_SPREADING:
                    found[each] = dict.fromkeys(("seconds", "MiB", "accuracy"), np.nan)
                    continue
                command = ["-c", SCIKIT_LEARN, each, source, target, out]
            else:
                files = ["--source", source, "--target", target, "--out", out]
                command = ["-m", "transferbench", "predict", *files, "--model", each, "--force"]
            found[each] = run(command, target, out)
    return found


SCIKIT_LEARN = """
import csv, sys
import numpy as np
from scipy.sparse import vstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
kind, source, target, out = sys.argv[1:]
rows = [list(csv.DictReader(open(path, newline=""))) for path in (source, target)]
classes, y = np.unique([row["label"] for row in rows[0]], return_inverse=True)
vectorizer = TfidfVectorizer(min_df=2)
X = vectorizer.fit_transform(row["text"] for row in rows[0])
Z = vectorizer.transform(row["text"] for row in rows[1])
every, known = vstack([X, Z], format="csr"), np.concatenate([y, np.full(Z.shape[0], -1)])
regression = LogisticRegression(max_iter=1000)
if kind == "LogisticRegression":
    P = regression.fit(X, y).predict_proba(Z)
elif kind == "SelfTraining":
    P = SelfTrainingClassifier(regression).fit(every, known).predict_proba(Z)
else:
    spreading = LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=100)
    P = spreading.fit(every, known).label_distributions_[len(y):]
with open(out, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["row", "label", "predicted", "confidence"])
    for i, p in enumerate(P, start=1):
        writer.writerow([i, "", classes[p.argmax()], f"{p.max():.6g}"])
"""


#: Runs Python with the arguments and prints its seconds and memory. It is a small process between:
#: the peak of a child is at least what its parent had when it started it.
MEASURED = """
import resource, subprocess, sys
nowhere = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
subprocess.run([sys.executable, *sys.argv[1:]], check=True, **nowhere)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def run(arguments: list[object], target: Path, out: Path) -> dict[str, float]:
    """Run Python with one thread; return its CPU seconds and peak memory, and the accuracy."""
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    seconds, mebibytes = map(float, done.stdout.split())
    true, decided = (
        [row[column] for row in csv.DictReader(path.open(newline="", encoding="utf-8"))]
        for path, column in ((target, "label"), (out, "predicted"))
    )
    return {
        "seconds": seconds,
        "MiB": mebibytes,
        "accuracy": float(np.mean([a == b for a, b in zip(true, decided, strict=True)])),
    }


def search_all(texts: Iterable[str]) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and recall of each search."""
    counts, tokens = count(texts, r"\w\w+")
    columns = select(counts, tokens, stop_words="none", min_df=2)
    X = sp.csr_matrix(weight(counts[:, columns], "tf-idf", True))
    words, n = sp.csr_matrix(X.T), X.shape[0]
    rows = np.random.default_rng(0).permutation(n)[:PROBE]

    def brute() -> None:
        from sklearn.neighbors import NearestNeighbors

        NearestNeighbors(n_neighbors=P + 1, metric="cosine").fit(X).kneighbors(X[rows])

    exact = (
        lambda: graph._exact_neighbours(X, words, rows, P),
        lambda: sp_matmul_topn(X[rows], words, P + 1, sort=True),
        brute,
    )
    found = {
        search: (cpu(call) * n / len(rows), 1.0)
        for search, call in zip(SEARCHES, exact, strict=False)
    }
    made: list[graph.Graph] = []
    seconds = cpu(lambda: made.append(graph.cosine_graph(X, P, search="rare-words")))
    return found | {SEARCHES[-1]: (seconds, made[0].recall)}


def reuse(problem: transferbench.Problem) -> float:
    """Return the CPU seconds of a second fit of GCMF, with another λ, over those of the first."""
    with tempfile.TemporaryDirectory() as folder:

        def fit(lam: float) -> None:
            with artefacts.use(artefacts.Folder(Path(folder), 2**30)):
                transferbench.fit("gcmf", problem, lam=lam)

        first = cpu(lambda: fit(1.0))
        return cpu(lambda: fit(10.0)) / first
