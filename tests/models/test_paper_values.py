"""Defaults of the models are the settings that a paper, or its authors' code, states."""

from __future__ import annotations

import ast

import pytest
from conftest import ROOT

from transferbench import models, parameters

#: Model, section of the paper (none: its authors' code, or what is known of it), the statement,
#: and the parameters that it sets. docs/papers quotes it, or the docstring of the model. Of a
#: departure from the paper it is the sentence that says so.
STATED = {
    ("dtl", "DTL 5.2", "k = 20, κ = 10, c = 2, maxIter = 50"): {
        "k": 20, "kappa": 10, "max_iter": 50},
    ("dtl", "DTL 5.4", "all four methods at k = 20"): {"k": 20},
    ("dtl", "DTL Algorithm 1", 'after each update "normalize each column"'): {
        "normalize_U": "columns", "normalize_at": "update"},
    ("dtl", "DTL Algorithm 1", 'U and H start "by random positives"'): {"start_features": "random"},
    ("gcmf", "GTL Parameter Settings", "maxIter = 100, λ = γ = 100, k = 64, p = 10"): {
        "k": 64, "p": 10, "lam": 100.0, "gamma": 100.0, "max_iter": 100},
    ("mrtl", "MRTL 5.1", "k₁ = 10, k₂ = 50, λ = 10, maxiter = 100"): {
        "k1": 10, "k2": 50, "lam": 10.0, "max_iter": 100},
    ("lnkmtc", "MTC Methods", '"neighborhood size of the k-NN graph is set to 10"'): {"p": 10},
    ("lnkmtc", "MTC Methods", "C from .1, 1, 10, 100, 500, 1000, b = 30"): {"C": 500.0, "b": 30.0},
    ("lskmtc", "MTC Methods", "graph and C as for LNKMTC, b = 1, 30 eigenvectors"): {
        "p": 10, "C": 500.0, "b": 1.0, "r": 30, "order": "ascending"},
    ("lssmtc", "", "l = 2 and λ = .75, those of its authors' code"): {"l": 2, "lam": 0.75},
    ("ncut", "MTC Experiments", "the graph of LNKMTC"): {"p": 10, "sigma": None},
    ("himls", "HiMLS 7.3", "L = 2, [p, q] = [200, 100], [40, 20]"): {
        "p": (200, 40), "q": (100, 20)},
    ("himls", "HiMLS 7.5", "50 sweeps of pre-training and 50 sweeps of fine-tuning"): {
        "pretrain": 50, "finetune": 50},
    ("himls", "HiMLS 7.5", "three values of α on one held-out fifth, with β = 1"): {
        "alpha": (0.01, 0.1, 1.0), "beta": (1.0,), "validation_fraction": 0.2},
    ("mtrick", "", "β = 1.5, k = 50 and 100 iterations"): {"beta": 1.5, "k": 50, "max_iter": 100},
    ("mtrick", "", "F_s and F_t start at P(cluster | word) of PLSA"): {"start_features": "plsa"},
    ("dkt", "", "`alpha` = 1 gives both the same weight"): {"alpha": 1.0},
    ("tritl", "", "k₁ = k₂ = 20, k₃ = 10 and 100 iterations"): {
        "k1": 20, "k2": 20, "k3": 10, "max_iter": 100, "form": "authors"},
    ("hidc", "", "k₁ = k₂ = 20, k₃ = 10 and 100 iterations"): {
        "k1": 20, "k2": 20, "k3": 10, "max_iter": 100},
    ("cd-plsa", "", "k = 64 and 100 iterations"): {"k": 64, "max_iter": 100},
    ("cocc", "", "λ = 0.25, k = 64 and 10 iterations"): {"lam": 0.25, "k": 64, "max_iter": 10},
    ("arrls", "", "σ = .1, λ = 10, γ = 1 and p = 10"): {
        "sigma": 0.1, "lam": 10.0, "gamma": 1.0, "p": 10},
    ("tca", "", "µ = 1 and q = 20"): {"mu": 1.0, "q": 20},
    ("mtfl", "", "divides ε by ten until it is at machine precision"): {
        "epsilon": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)},
}  # fmt: skip
#: HiMLSD has the settings of HiMLS.
STATED |= {("himlsd", *key[1:]): values for key, values in STATED.items() if key[0] == "himls"}


@pytest.mark.parametrize(("model", "section", "statement"), STATED)
def test_defaults_are_the_stated_values(model, section, statement):
    schema = parameters.schema(models.load(model))
    defaults = {name: schema[name].default for name in STATED[model, section, statement]}
    assert defaults == STATED[model, section, statement]
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/papers").glob("*.md")]
    doc = ast.get_docstring(ast.parse(models.get(model).path.read_text(encoding="utf-8")))
    assert any(statement in " ".join(text.split()) for text in (*pages, doc))
