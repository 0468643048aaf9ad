"""CD-PLSA: collaborative dual PLSA (Zhuang et al., CIKM 2010).

    min  −Σ_r Σ_dw x_r(d, w) log Σ_yz P_r(d|z) P(y, z) P_r(w|y)

x_r (n_r, m) holds the documents of domain r, divided by the sum of all domains. y = 1…k are
concepts (word clusters), and z are the c classes of documents. Each domain has its own words of a
concept, P_r(w|y), and its own documents of a class, P_r(d|z). All domains share the association
P(y, z). In sources P_r(d|z) is fixed, and it is equal for all documents with the label z. The
decision is the largest P(z|d), which is proportional to P_r(d|z) P(z). EM fits all domains at once.
Every step computes the expected counts of (w, y), (d, z) and (y, z) from the last parameters, then
normalises them. The objective never rises.

The paper was not available, so the model is reconstructed from the authors' published code. The
code has k = 64 and 100 iterations. P(w|y) starts at PLSA on the documents of all domains (200
steps), and P(y, z) starts at random. P(r), the share of a domain in all counts, is constant and
changes nothing. The code starts P(d|z) of a target uniform, and says that the paper has the
predictions of a classifier. Here they are the probabilities of logistic regression, as in the other
models. PLSA does not stop early.

An extension of the paper: if a document of a target has a label, its P(d|z) is 0 in the other
classes, and EM keeps zeros. Weights of labels enter only the regression that gives the start.
"""

import numpy as np

from transferbench.core.documents import with_labels
from transferbench.core.dual_plsa import expected_counts, proportions
from transferbench.core.logistic import label_start
from transferbench.core.scale import scale_to_one
from transferbench.models.transfer._shared import word_topics
from transferbench.parameters import Count, Positive
from transferbench.problem import FeatureClusters, Fit, Problem, Watch

#: Steps of PLSA in the authors' code.
PLSA_STEPS = 200


def fit(
    problem: Problem,
    *,
    k: Count = 64,
    max_iter: Count = 100,
    C: Positive = 1.0,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Fit CD-PLSA.

    Parameters
    ----------
    k
        Number of concepts.
    max_iter
        Number of iterations.
    C
        Inverse regularisation of the logistic regression.

    Returns
    -------
    Fit
        P(z|d) (n, c) of every domain, and the objective after each iteration. A document without
        words has equal probabilities.
    """
    Xs = proportions(problem)
    topics, _ = word_topics(problem, k, max_iter=PLSA_STEPS, seed=seed)
    Ws = [topics.astype(np.float64)] * len(Xs)
    H = np.random.default_rng(seed).random((k, len(problem.classes)))
    H /= H.sum()
    Vs = [scale_to_one(P, "columns") for P in label_start(problem, C)]

    def expect() -> tuple[float, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        expected = [expected_counts(X, W, H, V) for X, W, V in zip(Xs, Ws, Vs, strict=True)]
        return -sum(likelihood for likelihood, *_ in expected), [
            (words, pairs, documents) for _, words, pairs, documents in expected
        ]

    trace = []
    _, counts = expect()
    for iteration in range(1, max_iter + 1):
        Ws = [scale_to_one(words, "columns") for words, _, _ in counts]
        H = np.sum([pairs for _, pairs, _ in counts], axis=0)
        H /= H.sum() or 1.0
        Vs = [
            V if domain.seen.all() else scale_to_one(documents, "columns")
            for domain, V, (_, _, documents) in zip(problem.domains, Vs, counts, strict=True)
        ]
        objective, counts = expect()
        trace.append(objective)
        scores = tuple(
            with_labels(domain, scale_to_one(V * H.sum(axis=0), "rows", fill=True))
            for domain, V in zip(problem.domains, Vs, strict=True)
        )
        if watch:
            watch(iteration, max_iter, scores)
    factors = tuple((FeatureClusters("", W, H),) for W in Ws)
    return Fit(scores, tuple(trace), factors=factors)
