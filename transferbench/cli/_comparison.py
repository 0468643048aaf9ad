"""A comparison of models in the terminal: progress, class shares, recommendation and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from transferbench.cli._terminal import echo, echo_sentences
from transferbench.messages import duration

if TYPE_CHECKING:
    from transferbench.own.advice import Choice
    from transferbench.own.compare import Comparison
    from transferbench.own.fits import FitPlan
    from transferbench.own.session import Session
    from transferbench.problem import Fit, Problem

#: Largest number of classes whose shares are printed: those that differ most from the source's.
MAX_SHARES = 6
#: Seconds from which a forecast is printed.
LONG = 10


def fit_models(session: Session, *, crossed: bool = True, untrained: bool = True) -> Comparison:
    """Fit and compare the models, and print the progress; see `Session.compare`."""
    from transferbench.core.parallel import threads, use_threads
    from transferbench.own.fits import expected_seconds
    from transferbench.runs.machine import cores
    from transferbench.runs.progress import ProgressBar

    problem = session.problem
    expected = {
        plan.model: expected_seconds(
            problem, plan, session.features == "both", folds=session.sampled and crossed
        )
        for plan in session.plans
    }
    if (seconds := sum(expected.values())) > LONG:
        sizes = f"{len(expected)} models, {len(problem.classes)} classes"
        n = sum(len(domain.seen) for domain in problem.domains)
        about = f"{duration(seconds)}, less if fits are saved"
        echo(f"this takes about {about}: {sizes}, {n:,} documents", err=True)
    bar, lock, ended = ProgressBar(expected, expected), Lock(), Event()

    def watched(plans: Iterable[FitPlan]) -> Iterator[FitPlan]:
        for plan in plans:
            with lock:
                bar.update(plan.model)
            yield plan
            with lock:
                bar.end(plan.model)

    def beat() -> None:
        while not ended.wait(1):
            with lock:
                bar.update()

    Thread(target=beat, daemon=True).start()
    try:
        # Libraries see no quota of cores.
        with use_threads(), use_threads(min(threads(), cores())):
            return session.compare(watched, crossed=crossed, untrained=untrained)
    finally:
        ended.set()
        bar.close()


def part_to_compare(session: Session) -> Session:
    """Return the session on a random part of large domains, and print a note about it."""
    # See `Session.part`.
    part = session.part()
    if part is not session:
        sizes = ", ".join(f"{len(d.seen):,} of {d.name}" for d in part.problem.domains)
        echo(f"note: the model is chosen on random documents: {sizes}.", err=True)
    return part


def print_shares(problem: Problem, fits: Mapping[str, Fit]) -> None:
    """Print the class shares of the models' decisions in each target, and of the source."""
    from transferbench.own.compare import shares_beside_source

    more = ", …" if len(problem.classes) > MAX_SHARES else ""
    for model, fit in fits.items():
        by_target = shares_beside_source(problem, fit, MAX_SHARES)
        for target, shares in by_target.items():
            parts = [
                f"{c} {100 * of:.0f} % (source {100 * source:.0f})" for c, source, of in shares
            ]
            where = f" in {target}" if len(by_target) > 1 else ""
            echo(f"shares by {model}{where}: {', '.join(parts)}{more}")


def print_choice(choice: Choice, why: bool) -> None:
    """Print the sentences of the recommendation and, if `why` is True, its evidence."""
    for sentence in [*choice.sentences, *([choice.evidence] if why else [])]:
        echo_sentences(sentence)


def print_warnings(compared: Comparison, models: Iterable[str]) -> None:
    """Print the doubts about the documents and about decisions of models to stderr."""
    from transferbench.own.text import warning_lines

    for line in warning_lines(compared, models):
        echo(f"warning: {line}.", err=True)
