"""Label-free criteria: how far to trust a fit, judged without any label of a target."""

from dataclasses import replace

import numpy as np

from transferbench import models
from transferbench.core.documents import label_start
from transferbench.core.priors import labelled_shares
from transferbench.measures import explained_variance, normalize_scores
from transferbench.parameters import Params
from transferbench.problem import Domain, Fit, Problem

#: Criteria by name, each from 0 to 1; more is better.
MEANINGS = {
    "confidence": "mean confidence in the decisions",
    "shares": "overlap of the decided class shares with the source's",
    "agreement": "share of documents decided as by logistic regression",
    "explained": "share of the documents' variance that lies between the decided classes",
    "reverse-lr": "accuracy on the source of logistic regression trained on the decisions",
    "reverse": "accuracy on the source of the same model trained on the decisions",
}

#: Most documents of a problem whose reverse accuracy is computed.
MAX_DOCUMENTS = 50_000


def criteria(
    model: str, problem: Problem, params: Params, seed: int | None, fit: Fit
) -> dict[str, dict[str, float]]:
    """Return the criteria of MEANINGS of each target: {target: {criterion: value}}.

    model, params and seed made the fit of a transfer problem; the model is fitted once more for
    each target. A criterion that the model or logistic regression cannot give is left out.
    """
    labelled, lr = labelled_shares(problem), label_start(problem)
    reverse = reverse_accuracies(model, problem, params, seed, fit)
    found = {}
    for domain, scores, P in zip(problem.domains, fit.scores, lr, strict=True):
        if domain.seen.all():
            continue
        decided = scores.argmax(axis=1)
        shares = np.bincount(decided, minlength=len(problem.classes)) / len(decided)
        values = {
            "confidence": float(normalize_scores(scores).max(axis=1).mean()),
            "shares": float(np.minimum(labelled, shares).sum()),  # 1 − total variation distance
            "agreement": float(np.mean(decided == P.argmax(axis=1))),
            "explained": explained_variance(domain.X, decided),
            "reverse-lr": reverse_accuracy("lr", problem, domain, decided, {}, None),
            "reverse": reverse.get(domain.name),
        }
        found[domain.name] = {name: v for name, v in values.items() if v is not None}
    return found


def reverse_accuracies(
    model: str, problem: Problem, params: Params, seed: int | None, fit: Fit
) -> dict[str, float]:
    """Return the reverse accuracy of each target, see `reverse_accuracy`; of large problems none.

    It takes about as long as the fit, so problems of more than MAX_DOCUMENTS are left out.
    """
    if sum(len(domain.seen) for domain in problem.domains) > MAX_DOCUMENTS:
        return {}
    found = {
        domain.name: reverse_accuracy(model, problem, domain, scores.argmax(axis=1), params, seed)
        for domain, scores in zip(problem.domains, fit.scores, strict=True)
        if not domain.seen.all()
    }
    return {name: value for name, value in found.items() if value is not None}


def reverse_accuracy(
    model: str,
    problem: Problem,
    target: Domain,
    decided: np.ndarray,
    params: Params,
    seed: int | None,
) -> float | None:
    """Return the accuracy on the sources of a model trained on a target's decisions (n,).

    If all decisions are one class, every document of the sources gets it. None if the model cannot
    be fitted.
    """
    sources = problem.sources
    y = np.concatenate([domain.Y.argmax(axis=1) for domain in sources])
    if len(np.unique(decided)) == 1:
        return float(np.mean(y == decided[0]))
    labelled = replace(
        target, Y=np.eye(len(problem.classes))[decided], seen=np.ones(len(decided), bool)
    )
    unlabelled = [
        replace(domain, Y=np.zeros_like(domain.Y), seen=np.zeros_like(domain.seen))
        for domain in sources
    ]
    reverse = replace(problem, domains=(labelled, *unlabelled))
    try:
        fit = models.fit(model, reverse, params, seed=seed, watch=None)
    except (ValueError, ArithmeticError):
        return None
    back = np.concatenate([scores.argmax(axis=1) for scores in fit.scores[1:]])
    return float(np.mean(back == y))
