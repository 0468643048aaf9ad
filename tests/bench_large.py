"""Benchmark of what large data need: neighbours, text, shared artefacts, one fit on workers.

    python tests/bench_large.py      (make bench)

Each figure is a ratio of CPU times, or of memory, measured in one run; for text beside
scikit-learn's `TfidfVectorizer`, read from the same file with `csv`.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import transferbench
from transferbench import artefacts, settings
from transferbench.core.graph import cosine_graph
from transferbench.data import fetch
from transferbench.datasets import newsgroups

TASK = "gtl/comp-vs-rec"
#: Documents of the graphs: the newsgroup documents of one domain, repeated.
COPIES = (4, 8, 16)
ROWS = 100_000  # documents of the text file


def cpu(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def neighbours() -> None:
    print("neighbours, p = 10   exact s  rare words s  ratio  recall")
    for copies in COPIES:
        X = transferbench.load_task(TASK, copies=copies)[0].domains[1].X
        exact = cpu(lambda X=X: cosine_graph(X, 10))
        found = []
        rare = cpu(lambda X=X, f=found: f.append(cosine_graph(X, 10, search="rare-words")))
        n, recall = X.shape[0], found[0].recall
        print(f"{n:>9,} documents {exact:10.1f} {rare:13.1f} {rare / exact:6.2f} {recall:7.2f}")


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


def text(folder: Path) -> None:
    """Compare `predict` by LR from a labelled file with csv and TfidfVectorizer on that file."""
    path = folder / "documents.csv"
    files = [fetch.get(file, settings.load()) for file in newsgroups.FILES.values()]
    _, texts = newsgroups.posts(files)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "text"])
        for i in range(ROWS):
            writer.writerow([i % 2, texts[i % len(texts)][:800]])
    ours = ["-m", "transferbench", "predict", "--source", path, "--target", path]
    ours += ["--model", "lr", "--set", "C=1e-6", "--out", folder / "out.csv"]
    theirs = ["-c", VECTORIZER, path, path]
    (seconds, size), (their_seconds, their_size) = usage(ours), usage(theirs)
    print(
        f"{ROWS:,} + {ROWS:,} texts: predict {seconds:.1f} s, {size:.0f} MiB; TfidfVectorizer "
        f"{their_seconds:.1f} s, {their_size:.0f} MiB: {seconds / their_seconds:.2f} times the "
        f"time, {size / their_size:.2f} times the memory"
    )


VECTORIZER = """
import csv, sys
from sklearn.feature_extraction.text import TfidfVectorizer
texts = [row["text"] for path in sys.argv[1:] for row in csv.DictReader(open(path, newline=""))]
TfidfVectorizer(min_df=2).fit_transform(texts)
"""


def usage(arguments: list) -> tuple[float, float]:
    """Return CPU seconds and peak MiB of a Python process."""
    process = subprocess.Popen([sys.executable, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    neighbours()
    reuse()
    with tempfile.TemporaryDirectory() as temporary:
        text(Path(temporary))
