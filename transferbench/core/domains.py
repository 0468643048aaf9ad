"""What transfer models share: label factors of every domain, and targets taken one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from transferbench.core.init import label_start
from transferbench.core.nmtf import NMTF, Factor, Term, Tie
from transferbench.core.scale import Normalize, norm2, scale_to_one, sum_one
from transferbench.problem import Fit, Problem, Watch

#: What V_t starts at: logistic regression's probabilities, or the 0/1 of its decisions.
Start = Literal["probabilities", "decisions"]


def label_factors(
    problem: Problem, C: float, normalize: Normalize, start: Start = "probabilities"
) -> dict[str, Factor]:
    """'V <domain>' → V (n, c), normalised: labels, fixed, in sources; a start elsewhere.

    C is the inverse regularisation of the logistic regression that gives the start.
    """
    factors = {}
    for domain, V in zip(problem.domains, label_start(problem, C), strict=True):
        if start == "decisions":
            V = np.eye(V.shape[1])[V.argmax(axis=1)]
        fixed = bool(domain.seen.all())
        factors[f"V {domain.name}"] = Factor(
            scale_to_one(V, normalize), fixed=fixed, normalize=normalize
        )
    return factors


def each_target(problem: Problem, fit_one: Callable[..., Fit], watch: Watch | None) -> Fit:
    """Fits of every target with the sources alone, put together, their traces end to end.

    `fit_one(problem, watch=…)` fits one, always from the same seed, as if there were no other
    target. A source's scores are its labels. `watch` hears of one long run; until a target's turn
    comes its scores are zeros.
    """
    scores = [domain.Y for domain in problem.domains]
    trace: list[float] = []
    places = [i for i, domain in enumerate(problem.domains) if not domain.seen.all()]
    for turn, place in enumerate(places):
        domains = (*problem.sources, problem.domains[place])

        def relay(
            iteration: int, planned: int, now: tuple[np.ndarray, ...],
            turn: int = turn, place: int = place,
        ) -> None:  # fmt: skip
            scores[place] = now[-1]
            if watch:
                watch(turn * planned + iteration, len(places) * planned, tuple(scores))

        alone = Problem(problem.name, problem.family, problem.classes, domains)
        fit = fit_one(alone, watch=relay)
        scores[place] = fit.scores[-1]
        trace += fit.trace
    return Fit(tuple(scores), tuple(trace))


def shared_association(
    problem: Problem,
    *,
    k: int,
    weight: float = 1.0,
    closeness: float = 0.0,
    max_iter: int,
    C: float,
    start: Start = "probabilities",
    dtype: str,
    seed: int,
    watch: Watch | None = None,
) -> Fit:
    """Sources and one target that share the association S, each with its feature clusters F.

        min  Σ_s ‖X_s − F_s S Y_sᵀ‖² + w ‖X_t − F_t S G_tᵀ‖² + α Σ_s ‖F_s − F_t‖²

    Rows of F (m, k) and G (n, c) sum to one, X is divided by its sum, w = weight and
    α = closeness · ‖X_s‖² / m. F and S start at random positives, G as `label_factors` has it.
    """
    rng = np.random.default_rng(seed)
    m = problem.domains[0].X.shape[1]
    factors = {
        "S": Factor(rng.random((k, len(problem.classes)))),
        **label_factors(problem, C, "rows", start),
    }
    terms, ties = [], []
    target = f"F {problem.domains[-1].name}"
    for domain in problem.domains:
        X, f = sum_one(domain.X), f"F {domain.name}"
        factors[f] = Factor(rng.random((m, k)), normalize="rows")
        terms.append(Term(X, ((f, "S"),), f"V {domain.name}", weight if f == target else 1.0))
        if f != target:
            ties.append(Tie(f, target, closeness * norm2(X) / m))
    model = NMTF(factors, terms, dtype, ties)

    def sweep() -> None:
        for term in terms:
            f = term.parts[0][0]
            model.update(f, term.v)
            model.normalize(f, term.v)
        model.update("S")

    return model.solve(sweep, max_iter, [term.v for term in terms], watch)
