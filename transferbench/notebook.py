"""Summaries of results for notebooks: a small table as HTML, or as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transferbench.problem import Fit, Problem, Truth

#: Rows of a table that are shown; names are cut to so many characters.
MAX_ROWS, MAX_NAME = 20, 60


@dataclass(frozen=True)
class Summary:
    """A title, the names of the columns, and rows of values.

    `str(summary)` is the table as text; a notebook shows it as HTML.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        lines = aligned([self.head, *self._shown()])
        return "\n".join([self.title, *lines, *filter(None, [self._left_out()])])

    def _repr_html_(self) -> str:
        def line(tag: str, row: tuple[str, ...]) -> str:
            cells = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
            return f"<tr>{cells}</tr>"

        body = "".join(line("td", row) for row in self._shown())
        return (
            f"<table><caption>{escape(self.title)}</caption><thead>{line('th', self.head)}</thead>"
            f"<tbody>{body}</tbody></table>{escape(self._left_out())}"
        )

    def _shown(self) -> list[tuple[str, ...]]:
        return [tuple(map(_text, row)) for row in self.rows[:MAX_ROWS]]

    def _left_out(self) -> str:
        more = len(self.rows) - MAX_ROWS
        return f"and {more} more rows" if more > 0 else ""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines whose columns are aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def of_problem(problem: Problem) -> Summary:
    """Return the domains of a problem: documents, labelled ones, features of each view."""
    rows = tuple(
        (
            domain.name,
            len(domain.seen),
            int(domain.seen.sum()),
            " + ".join(str(view.shape[1]) for view in domain.views),
        )
        for domain in problem.domains
    )
    title = f"{problem.name}: {problem.family} problem; classes {_names(problem.classes)}"
    return Summary(title, ("domain", "documents", "labelled", "features"), rows)


def of_truth(truth: Truth) -> Summary:
    """Return the domains of a truth: documents, scored ones, and documents of each class."""
    shown = truth.classes[:10]
    rows = tuple(
        (name, len(Y), int(scored.sum()), *(int(n) for n in Y[:, : len(shown)].sum(axis=0)))
        for name, Y, scored in zip(truth.names, truth.Y, truth.scored, strict=True)
    )
    title = f"truth of a {truth.family} problem; classes {_names(truth.classes)}"
    return Summary(title, ("domain", "documents", "scored", *shown), rows)


def of_fit(fit: Fit) -> Summary:
    """Return the scores of a fit: documents and the range of scores of each domain."""
    rows = tuple(
        (i, *scores.shape, *((float(scores.min()), float(scores.max())) if scores.size else ()))
        for i, scores in enumerate(fit.scores, 1)
    )
    trace = f"; objective {_text(float(fit.trace[-1]))} after {len(fit.trace)}" if fit.trace else ""
    known = "".join(f"; {name} {_text(value)}" for name, value in fit.diagnostics.items())
    title = f"fit with scores of {fit.columns}{trace}{known}"
    return Summary(title, ("domain", "documents", fit.columns, "least score", "largest"), rows)


def of_results(table: Any) -> Summary:
    """Return the mean value of each row, column and measure in results that are finished.

    table: a DataFrame, see `transferbench.results`. The settings are those that the published table
    shows.
    """
    runs = table.drop_duplicates("key")
    status = ", ".join(f"{n} {name}" for name, n in runs.status.value_counts().items())
    done = table[(table.status == "done") & table.chosen]
    keys = ["row", "column", "measure"]
    grouped = done.groupby(keys, sort=False).value.agg(["mean", "std", "count"]).reset_index()
    name = ", ".join(map(str, table.experiment.unique()))
    head = (*keys, "mean", "deviation", "values")
    return Summary(
        f"{name}: runs {status}", head, tuple(grouped.itertuples(index=False, name=None))
    )


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(_text, names[:10]))
    return f"{shown}, … ({len(names)})" if len(names) > 10 else shown


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= MAX_NAME else f"{text[: MAX_NAME - 1]}…"
