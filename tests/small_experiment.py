"""A small valid experiment file for tests to change."""

from __future__ import annotations

from pathlib import Path

GOOD = """\
title: t
paper: {title: t, authors: a, venue: v, place: p}
metric: accuracy
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
PATH = Path("mine.yaml")
