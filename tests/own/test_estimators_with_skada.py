"""The estimators work with skada's splitters and scorers, and as the docs say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, make_problem
from sklearn import config_context
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from transferbench.estimators import TransferClassifier

DOCS = ROOT / "docs" / "estimators.md"
SPLITTERS = ("SourceTargetShuffleSplit", "DomainShuffleSplit", "StratifiedDomainShuffleSplit")
#: Scorer → least score of a model that is nearly always right.
SCORERS = {
    "SupervisedScorer": 0.9,
    "CircularValidation": 0.9,
    "ImportanceWeightedScorer": 0.9,
    "MixValScorer": 0.5,
    "PredictionEntropyScorer": -0.5,
    "SoftNeighborhoodDensity": 0.5,
    "DeepEmbeddedValidation": -1.0,
}


@pytest.fixture
def skada():
    """skada's metrics and splitters; metadata routing is on, as after importing skada."""
    from sklearn import get_config, set_config

    routing = get_config()["enable_metadata_routing"]
    metrics = pytest.importorskip("skada.metrics", reason="needs the extra modern (skada)")
    from skada import model_selection

    with config_context(enable_metadata_routing=True):
        yield metrics, model_selection
    set_config(enable_metadata_routing=routing)


def documents(targets: int = 2):
    """Return X dense, all labels, labels with those of targets hidden, and domains."""
    problem, truth = make_problem(targets=targets, documents=60)
    X = np.vstack([domain.X.toarray() for domain in problem.domains])
    y = np.concatenate([Y.argmax(axis=1) for Y in truth.Y])
    domain = np.repeat([1, *range(-2, -2 - targets, -1)], 60)
    return X, y, np.where(domain < 0, -1, y), domain


CLASSIFIER = TransferClassifier("gcmf", k=6, p=4, max_iter=20)


@pytest.mark.filterwarnings("error", "ignore:.*documents were not fitted")
@pytest.mark.parametrize(
    ("splitter", "scorer"),
    [
        *((SPLITTERS[0], scorer) for scorer in SCORERS),
        *((s, "SupervisedScorer") for s in SPLITTERS[1:]),
    ],
)
def test_cross_validation(skada, splitter, scorer):
    metrics, model_selection = skada
    X, y, hidden, domain = documents()
    params = {"sample_domain": domain}
    if scorer == "SupervisedScorer":
        params["target_labels"] = y
    piped = make_pipeline(MaxAbsScaler(), CLASSIFIER)
    scores = cross_val_score(
        piped if scorer == "DeepEmbeddedValidation" else CLASSIFIER,
        X,
        hidden,
        cv=getattr(model_selection, splitter)(n_splits=2, test_size=0.2, random_state=0),
        scoring=getattr(metrics, scorer)(),
        params=params,
        error_score="raise",
    )
    assert len(scores) == 2
    assert scores.min() >= SCORERS[scorer]


@pytest.mark.slow
def test_code_of_the_docs_runs():
    """In a process of its own, because skada changes scikit-learn's configuration."""
    text = DOCS.read_text(encoding="utf-8")
    parts = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert sum("assert" in part for part in parts) >= len(parts) - 1 > 8
    if importlib.util.find_spec("skada") is None:  # run what comes before it
        parts = parts[: next(i for i, part in enumerate(parts) if "skada" in part)]
    command = [sys.executable, "-c", "\n".join(parts)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
