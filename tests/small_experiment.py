"""Small valid experiment files for tests."""

from __future__ import annotations

from pathlib import Path

HEAD = """\
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy"""
GOOD = (
    HEAD
    + """
repeats: 3
rows:
  one: {task: gtl/comp-vs-rec}
columns:
  LG:
    model: lr
    params: {C: 1.0, intercept: true}
  NMF: {model: nmf, params: {max_iter: 5}}
published:
  one: {LG: 81.71, NMF: [79.11, 0.05]}
tolerance: {value: 1.0, reason: because}
"""
)
PATH = Path("mine.yaml")
#: One that runs in a second, on documents that are made up.
PLAIN = """\
title: Plain clusters
paper: {title: none, authors: none, venue: none, place: none}
metric: accuracy
unit: percent
repeats: 2
rows:
  made up: {task: "generated/clusters:documents=200"}
columns:
  k-means: {model: kmeans, params: {n_init: 1, pool_tasks: false, max_iter: 100}}
  kernels: {model: kernel-kmeans, params: {sigma: 1.0, pool_tasks: false, max_iter: 100}}
"""
