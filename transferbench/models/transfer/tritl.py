"""TriTL: triplex transfer learning (Zhuang et al., 2012): three kinds of concepts.

    min  Σ_τ ‖X_τ − [F¹, F²_τ, F³_τ] [S¹; S²; S³_τ] G_τᵀ‖²
    s.t. F, S, G ≥ 0,  columns of F and rows of G_τ sum to one,  G_τ = Y_τ in sources

X_τ (m, n_τ) holds the features × documents of domain τ, scaled as described below. There are three
kinds of concepts (feature clusters). All domains share the identical concepts F¹ (m, k₁) and their
association S¹ (k₁, c) with the classes. Alike concepts F²_τ (m, k₂) belong to one domain, and all
domains share their association S² (k₂, c). Distinct concepts F³_τ (m, k₃) and their association
S³_τ (k₃, c) belong to one domain. G_τ (n_τ, c) holds the classes of documents; the argmax of a row
is the decision. If there are several targets, all of them share F¹, S¹ and S² (TriTL₁ of the MRTL
paper). With pool_tasks = false, each target is fitted alone with the sources (TriTL₀).

The paper was not available, so the model is reconstructed from the authors' published code. The
code has k₁ = k₂ = 20, k₃ = 10 and 100 iterations. Its form is "authors":

- Every document is scaled to sum one. X as a whole is not scaled.
- F¹ and F² start at P(word | topic) of PLSA on the documents of all domains (20 steps). F³ and S
  start uniform. G_τ of a target starts at (P + 1/c) / 2, where P is from logistic regression. Equal
  columns of F³ stay equal, so the k₃ distinct concepts are one.
- Every factor is updated from the values of the last iteration, then all are normalised. Unlike
  updates in turn, this may increase the objective.

The published code starts G_τ at random, and has the start above as a comment. Here PLSA does not
stop early.

The form "alternating" is the usual one of such models. X is divided by its sum, F and S start at
random, G_τ starts at P, and updates follow in turn, domain by domain. With start_features = "plsa"
all F start at P(topic | word) of PLSA, as in MTrick's code, after the 20 steps above. All S then
start at 1/c, and the topics are F¹, F²_τ and F³_τ in this order. The authors' form does not depend
on start_features. The experiment mrtl-table2 has all three. If rows of F sum to one, the objective
may rise.

An extension of the paper: if a document of a target has a label, its row of G_τ is fixed at this
label. Weights of labels enter only the regression that gives the start.
"""

from typing import Literal

import numpy as np

from transferbench.core.nmtf import NMTF, Term
from transferbench.core.scale import Normalize, NormalizeAt, rows_sum_one, sum_one
from transferbench.models.transfer._shared import (
    FactorStart,
    Start,
    StartFeatures,
    fit_each_target,
    label_factors,
    topics_of_words,
    word_topics,
)
from transferbench.parameters import Count, CountOrZero, Positive, Precision
from transferbench.problem import Fit, Problem, Watch

Form = Literal["authors", "alternating"]


def fit(
    problem: Problem,
    *,
    k1: CountOrZero = 20,
    k2: CountOrZero = 20,
    k3: CountOrZero = 10,
    max_iter: Count = 100,
    C: Positive = 1.0,
    start: Start = "probabilities",
    start_features: StartFeatures = "random",
    form: Form = "authors",
    normalize_F: Normalize = "columns",
    normalize_at: NormalizeAt = "domain",
    pool_tasks: bool = True,
    dtype: Precision = "float32",
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit TriTL.

    Parameters
    ----------
    k1, k2, k3
        Numbers of identical, alike and distinct concepts.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression that gives the start.
    start
        Start of G: the probabilities or the decisions of that regression. In the authors' form they
        are P.
    start_features
        Start of F in the alternating form: topics of PLSA, or random values; see the module's
        docstring. The authors' form has its own start.
    form
        Scale of X, start and order of updates; see above.
    normalize_F
        The columns or the rows of every F sum to one.
    normalize_at
        The alternating form normalises F and G right after their own updates, or after all updates
        of a domain. The authors' form updates all factors, then normalises all.
    pool_tasks
        Fit all targets at once; otherwise fit each target alone with the sources.
    dtype
        Precision of the matrices and factors during the fit.

    Returns
    -------
    Fit
        Scores G_τ (n_τ, c) of every domain, and the objective after each iteration.
    """
    k = k1 + k2 + k3

    def fit_together(problem: Problem, watch: Watch | None) -> Fit:
        Gs = label_factors(problem, C, "rows", start)
        if form == "authors":
            scale = rows_sum_one
            words, _ = word_topics(problem, max(1, k1 + k2), seed=seed)
            topics = np.hstack([words[:, : k1 + k2], np.full((len(words), k3), 1 / len(words))])
            for G in Gs:
                if not G.fixed:
                    mixed = (G.value + 1 / len(problem.classes)) / 2
                    keep = False if G.fixed_rows is None else G.fixed_rows[:, None]
                    G.value = np.where(keep, G.value, mixed)
        else:
            scale, topics = sum_one, None
            if start_features == "plsa":
                topics = topics_of_words(problem, max(1, k), seed=seed)
        begin = FactorStart(problem, topics, seed, normalize_F)
        F1, S1, S2 = begin.clusters(0, k1, "identical"), *map(begin.association, (k1, k2))
        by_domain = [
            (
                begin.clusters(k1, k1 + k2, "alike"),
                begin.clusters(k1 + k2, k, "distinct"),
                begin.association(k3),
            )
            for _ in Gs
        ]
        terms = [
            Term(scale(domain.X), G, ((F1, S1), (F2, S2), (F3, S3)))
            for domain, G, (F2, F3, S3) in zip(problem.domains, Gs, by_domain, strict=True)
        ]
        model = NMTF(terms, normalize_at=normalize_at, dtype=dtype)

        def at_once() -> None:
            model.update_jointly(*model.factors)
            model.end_domain(*model.factors)

        def in_turn() -> None:
            for G, (F2, F3, S3) in zip(Gs, by_domain, strict=True):
                model.update(F1, F2, F3, G)
                model.end_domain(F1, F2, F3, G)
                model.update(S1, S2, S3)

        return model.solve(at_once if form == "authors" else in_turn, max_iter, Gs, watch)

    if pool_tasks:
        return fit_together(problem, watch)
    return fit_each_target(problem, fit_together, watch)
