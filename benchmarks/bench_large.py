"""Benchmark of large data: `predict` on texts, the search for neighbours, shared artefacts.

    python benchmarks/bench_large.py [predict] [neighbours] [reuse] [--documents 100000]

`make bench` runs all with 10,000 documents a domain. Texts have two classes and two domains and are
made from newsgroup posts with a fixed seed, see `made_texts`.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
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

TASK = "gtl/comp-vs-rec"
#: A text is so many pieces, each so many words in a row of a post of its class and domain.
PIECES, WORDS = 8, 12
MODELS = ("lr", "dtl", "cocc", "graph-only", "gcmf", "auto")
BASELINES = ("LogisticRegression", "SelfTraining", "LabelSpreading")
#: LabelSpreading compares all pairs: of 100,000 + 100,000 texts it would take half an hour.
MAX_SPREADING = 20_000
#: Neighbours, and rows whose exact neighbours are computed.
P, PROBE = 10, 1000


def cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def posts() -> tuple[np.ndarray, list[str]]:
    """Return the groups and the texts of all 18,821 posts."""
    return newsgroups.posts(
        [fetch.get(file, settings.load()) for file in newsgroups.FILES.values()]
    )


def made_texts(documents: int) -> dict[str, Iterator[tuple[str, str]]]:
    """Return labels and texts by domain; classes and domains are those of comp against rec."""
    groups, texts = posts()
    rng = np.random.default_rng(0)

    def made(split: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
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


def predict(documents: int) -> None:
    """Compare `predict` with scikit-learn on the same two files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for domain, rows in made_texts(documents).items():
            with (folder / f"{domain}.csv").open("w", newline="", encoding="utf-8") as stream:
                csv.writer(stream).writerows([("label", "text"), *rows])
        source, target, out = folder / "source.csv", folder / "target.csv", folder / "out.csv"
        print(f"{documents:,} + {documents:,} texts   CPU s  wall s  MiB  accuracy")
        for baseline in BASELINES[: 3 if documents <= MAX_SPREADING else 2]:
            measure(baseline, ["-c", SCIKIT_LEARN, baseline, source, target, out], target, out)
        for model in MODELS:
            files = ["--source", source, "--target", target, "--out", out]
            command = ["-m", "transferbench", "predict", *files, "--model", model, "--force"]
            measure(model, command, target, out)


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
    writer.writerow(["row", "label", "confidence"])
    for i, p in enumerate(P, start=1):
        writer.writerow([i, classes[p.argmax()], f"{p.max():.6g}"])
"""


def measure(name: str, arguments: list[object], target: Path, out: Path) -> None:
    """Print CPU and wall seconds, peak memory and accuracy of a Python process."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    assert status == 0, name
    labels = [
        [row["label"] for row in csv.DictReader(path.open(newline="", encoding="utf-8"))]
        for path in (target, out)
    ]
    right = np.mean([a == b for a, b in zip(*labels, strict=True)])
    seconds, mebibytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"{name:20} {seconds:8.1f} {wall:8.1f} {mebibytes:7.0f} {right:7.3f}", flush=True)


def neighbours(documents: int) -> None:
    """Compare searches on the real posts and on the made texts of the target."""
    search_all("posts", posts()[1])
    search_all("made texts", (text for _, text in made_texts(documents)["target"]))


def search_all(name: str, texts: Iterable[str]) -> None:
    """Print time and recall of each search.

    Times of exact searches are those of `PROBE` rows times the number of rows.
    """
    counts, tokens = count(texts, r"\w\w+")
    columns = select(counts, tokens, stop_words="none", min_df=2)
    X = sp.csr_matrix(weight(counts[:, columns], "tf-idf", True))
    words, n = sp.csr_matrix(X.T), X.shape[0]
    rows = np.random.default_rng(0).permutation(n)[:PROBE]

    def brute() -> None:
        from sklearn.neighbors import NearestNeighbors

        NearestNeighbors(n_neighbors=P + 1, metric="cosine").fit(X).kneighbors(X[rows])

    print(f"{n:,} {name}, p = {P}   CPU s  recall")
    searches = {
        "exact": lambda: graph._exact_neighbours(X, words, rows, P),
        "sparse_dot_topn": lambda: sp_matmul_topn(X[rows], words, P + 1, sort=True),
        "scikit-learn, brute": brute,
    }
    for search, call in searches.items():
        print(f"{search:20} {cpu(call) * n / len(rows):8.1f}    1.00", flush=True)
    found: list[graph.Graph] = []
    seconds = cpu(lambda: found.append(graph.cosine_graph(X, P, search="rare-words")))
    print(f"{'rare words':20} {seconds:8.1f} {found[0].recall:7.2f}", flush=True)


def reuse() -> None:
    """Fit GCMF for several λ: graphs and the start are made once."""
    problem, _ = transferbench.load_task(TASK)
    with tempfile.TemporaryDirectory() as folder:

        def fit(lam: float) -> None:
            with artefacts.use(artefacts.Folder(Path(folder), 2**30)):
                transferbench.fit("gcmf", problem, lam=lam)

        first = cpu(lambda: fit(1.0))
        again = cpu(lambda: fit(10.0))
    print(
        f"GCMF with graphs and start made {first:.2f} s, reused {again:.2f} s: {again / first:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["predict", "neighbours", "reuse"])
    parser.add_argument("--documents", type=int, default=10_000, help="documents of each domain")
    given = parser.parse_args()
    for part in given.what or ["predict", "neighbours", "reuse"]:
        reuse() if part == "reuse" else globals()[part](given.documents)
