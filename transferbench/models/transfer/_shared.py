"""Functions that transfer models share: label factors, fits of single targets, a common solver."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from transferbench.core.documents import stack_matrices
from transferbench.core.logistic import label_start
from transferbench.core.nmtf import NMTF, Factor, Term, Tie
from transferbench.core.plsa import plsa
from transferbench.core.priors import ClassPriors, class_priors, remaining_shares
from transferbench.core.scale import (
    Normalize,
    NormalizeAt,
    norm2,
    scale_columns,
    scale_to_one,
    sum_one,
)
from transferbench.parameters import Prior
from transferbench.problem import FeatureClusters, Fit, Problem, Watch

#: Start of V in targets: probabilities of logistic regression, or its 0/1 decisions.
Start = Literal["probabilities", "decisions"]
#: Start of feature clusters (F or U): topics of PLSA, or random positive values.
StartFeatures = Literal["plsa", "random"]

#: Least start of V in unlabelled documents: the precision of the regression's float32. Smaller
#: probabilities are rounded to 0, which multiplicative updates cannot change.
LEAST_START = float(np.finfo(np.float32).eps)

#: Least start of P(word, topic). Multiplicative updates cannot change 0, and one over the sum of
#: smaller values would overflow in float32 when rows are scaled.
LEAST_JOINT = 1e-30

#: Steps of PLSA in the authors' code of MTrick.
PLSA_STEPS = 50


def label_factors(
    problem: Problem,
    C: float,
    normalize: Normalize,
    start: Start = "probabilities",
    *,
    priors: ClassPriors | None = None,
    fill: bool = False,
) -> list[Factor]:
    """Return V (n, c) of each domain, normalised: fixed labels in sources, a start in targets."""
    # Rows of labelled documents of a target are fixed, too. If rows of V sum to one, such a row is
    # the label. If columns of V sum to one, its entry is one over the expected size of its class in
    # the target, as in a source. The expected size is the number of the class's labels plus its
    # share of the unlabelled documents; without priors this share is 1/c. The document then weighs
    # as much as a mean document of its class.
    # Weights of labels enter only the regression. Another way would weigh the loss of a document by
    # w: multiply its rows of X and V by √w. On comp vs sci and books vs dvd (500 documents, 50
    # labels, two draws) this lowered the mean accuracy of DTL, MTrick, MRTL, DKT and GCMF from 80.7
    # to 78.3 at w = 10.
    # `C`: Inverse regularisation of the logistic regression that gives the start.
    # `normalize`: The columns or the rows of V sum to one.
    # `start`: V starts at the probabilities or at the decisions of that regression.
    # `priors`: `column_shares` of each V; the start also has these shares.
    factors = []
    shares = priors.by_domain if priors else (None,) * len(problem.domains)
    for domain, V, share in zip(problem.domains, label_start(problem, C), shares, strict=True):
        if start == "decisions":
            V = np.eye(V.shape[1])[V.argmax(axis=1)]
        else:
            # A class without a labelled document stays empty.
            rounded = ~domain.seen[:, None] & V.any(axis=0)
            V = np.where(rounded, np.maximum(V, LEAST_START), V)
        fixed = bool(domain.seen.all())
        labelled = domain.seen if domain.seen.any() and not fixed else None
        if share is not None:
            share = remaining_shares(domain, share)
        if labelled is not None and normalize == "columns":
            unlabelled = np.sum(~labelled) * (1 / V.shape[1] if share is None else share)
            V[labelled] /= (V[labelled].sum(axis=0) + unlabelled).clip(1)
        factor = Factor(V, fixed, labelled, normalize, share, fill)
        factor.scale(scale_columns)
        factors.append(factor)
    return factors


def word_topics(
    problem: Problem, topics: int, *, max_iter: int = 20, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the topics of PLSA on the documents of all domains."""
    # `max_iter`: Number of steps of EM. The authors' code of TriTL and HIDC takes 20.
    # `words`: P(word | topic) (m, topics).
    # `shares`: P(topic) (topics,). The weight of a document in it is its share of the sum of X.
    X = stack_matrices([domain.X for domain in problem.domains])
    by_document, words, _ = plsa([X], topics, max_iter=max_iter, seed=seed)
    size = np.asarray(X.sum(axis=1)).ravel()
    return words, size @ by_document / (size.sum() or 1.0)


def topics_of_words(problem: Problem, topics: int, *, seed: int) -> np.ndarray:
    """Return P(topic | word) (m, topics) of PLSA on the documents of all domains."""
    # PLSA takes 20 steps of EM. P(word, topic) is at least `LEAST_JOINT`. So a word of no document
    # is uniform, and every word has at least a small part in each group of topics.
    words, shares = word_topics(problem, topics, seed=seed)
    return scale_to_one(np.maximum(words * shares, LEAST_JOINT), "rows")


class FactorStart:
    """Start of feature clusters and their associations with classes: topics, or random numbers."""

    # `topics`: Topics (m, k) of the words, of which clusters are columns; None for random numbers.
    # With topics, associations start at 1/c.

    def __init__(
        self,
        problem: Problem,
        topics: np.ndarray | None,
        seed: int,
        normalize: Normalize,
        fill: bool = False,
    ) -> None:
        self.m, self.c = problem.domains[0].X.shape[1], len(problem.classes)
        self.topics, self.rng = topics, np.random.default_rng(seed)
        self.normalize, self.fill = normalize, fill

    def clusters(self, first: int, end: int, kind: str = "") -> Factor:
        """Return U (m, end − first), the clusters first to end − 1, of a kind for `Factor`."""
        topics = self.topics
        U = self.rng.random((self.m, end - first)) if topics is None else topics[:, first:end]
        return Factor(U, normalize=self.normalize, fill=self.fill, kind=kind)

    def association(self, k: int) -> Factor:
        """Return H (k, c)."""
        shape = k, self.c
        return Factor(self.rng.random(shape) if self.topics is None else np.full(shape, 1 / self.c))


def fit_each_target(
    problem: Problem,
    fit_one: Callable[..., Fit],
    watch: Watch | None,
    *,
    prior: Prior = "equal",
    C: float = 1.0,
) -> Fit:
    """Fit each target alone with the sources; return all scores, and the traces in sequence."""
    # `fit_one`: `fit_one(problem, watch=…)` fits one target. If prior is not "equal", it also gets
    # `prior`, the target's shares as `class_priors` returns them for all targets. Its seed does not
    # depend on the other targets.
    # `watch`: Called with one sequence of iterations of all fits. The scores of a target are zero
    # until its fit begins.
    # `prior`: Shares of the classes in the targets; see `class_priors`.
    # Returns: The scores of a source are its labels. If several fits have a diagnostic, the least
    # value is returned. Feature clusters of sources are those of the first target's fit.
    scores = [domain.Y for domain in problem.domains]
    factors: list[tuple[FeatureClusters, ...]] = [()] * len(problem.domains)
    sources = [i for i, domain in enumerate(problem.domains) if domain.seen.all()]
    trace: list[float] = []
    targets = [i for i, domain in enumerate(problem.domains) if not domain.seen.all()]

    def on_iteration(
        turn: int, target: int, iteration: int, planned: int, current: tuple[np.ndarray, ...]
    ) -> None:
        scores[target] = current[-1]
        if watch:
            watch(turn * planned + iteration, len(targets) * planned, tuple(scores))

    priors = class_priors(problem, prior, C)
    diagnostics = dict(priors.diagnostics)
    for turn, target in enumerate(targets):
        share = priors.by_domain[target]
        prior_of_target = {} if share is None else {"prior": tuple(share.tolist())}
        single = replace(problem, domains=(*problem.sources, problem.domains[target]))
        fit = fit_one(single, watch=partial(on_iteration, turn, target), **prior_of_target)
        scores[target] = fit.scores[-1]
        for i, clusters in zip([*sources, target], fit.factors, strict=bool(fit.factors)):
            factors[i] = factors[i] or clusters
        trace += fit.trace
        for name, value in fit.diagnostics.items():
            diagnostics[name] = min(value, diagnostics.get(name, value))
    of_domains = tuple(factors) if any(factors) else ()
    return Fit(tuple(scores), tuple(trace), diagnostics=diagnostics, factors=of_domains)


def shared_association(
    problem: Problem,
    *,
    k: int,
    weight: float = 1.0,
    closeness: float = 0.0,
    max_iter: int,
    C: float,
    start: Start = "probabilities",
    start_features: StartFeatures,
    normalize_at: NormalizeAt,
    prior: Prior,
    dtype: str,
    seed: int,
    watch: Watch | None,
) -> Fit:
    """Fit MTrick or DKT: the sources and one target share S, and each has feature clusters F."""
    #     min  Σ_s ‖X_s − F_s S Y_sᵀ‖² + w ‖X_t − F_t S G_tᵀ‖² + α Σ_s ‖F_s − F_t‖²
    # Each target is fitted alone, as the last domain. Rows of F (m, k) and G (n, c) sum to one.
    # Rows of zeros become uniform; F has such rows for words that a domain lacks. X is divided by
    # its sum. S starts at 1/c, and G starts as in `label_factors`.
    # `closeness`: α = closeness · ‖X_s‖² / m: how close the feature clusters of the domains are.
    # `C`: Inverse regularisation of the logistic regression that gives the start.
    # `start`: G_t starts at the probabilities or at the decisions of that regression.
    # `start_features`: F starts at P(topic | word) of PLSA in every domain, or at random positive
    # values.
    # `normalize_at`: F and G are normalised right after their own updates, or after both updates.
    # `prior`: Shares of the classes in the targets; see `class_priors`.
    # `dtype`: Precision of the matrices and factors during the fit.
    m, c = problem.domains[0].X.shape[1], len(problem.classes)

    def fit_one(problem: Problem, watch: Watch | None, prior: Prior = "equal") -> Fit:
        S = Factor(np.full((k, c), 1 / c))
        priors = class_priors(problem, prior, C)
        Gs = label_factors(problem, C, "rows", start, priors=priors, fill=True)
        topics = None
        if start_features == "plsa":
            words, share = word_topics(problem, k, max_iter=PLSA_STEPS, seed=seed)
            topics = scale_to_one(words * share, "rows", fill=True)
        begin = FactorStart(problem, topics, seed, "rows", fill=True)
        Fs = [begin.clusters(0, k) for _ in Gs]
        Xs = [sum_one(domain.X) for domain in problem.domains]
        weights = [1.0] * len(problem.sources) + [weight]
        terms = [Term(X, G, ((F, S),), w) for X, F, G, w in zip(Xs, Fs, Gs, weights, strict=True)]
        ties = [Tie(F, Fs[-1], closeness * norm2(X) / m) for X, F in zip(Xs, Fs, strict=True)][:-1]
        model = NMTF(terms, ties, normalize_at=normalize_at, dtype=dtype)

        def sweep() -> None:
            for F, G in zip(Fs, Gs, strict=True):
                model.update(F, G)
                model.end_domain(F, G)
            model.update(S)

        return model.solve(sweep, max_iter, Gs, watch)

    return fit_each_target(problem, fit_one, watch, prior=prior, C=C)
