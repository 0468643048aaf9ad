"""Claims of a paper as predicates over the runs: what a `claims:` entry may hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, Self

from annotated_types import Ge, Gt, Lt, MinLen
from pydantic import model_validator

from transferbench.experiments.fault import Fault, StrictModel, below, check_known
from transferbench.measures import COSTS, LOWER_IS_BETTER, MeasureName
from transferbench.parameters import Positive, Weight

if TYPE_CHECKING:
    from transferbench.experiments.schema import Figure, Schema

#: Smallest difference that matters to a claim without a threshold of its own: half a point in per
#: cent or .005 of a fraction; of costs and objectives a ratio, 10 per cent.
MATTERS = 0.005
MATTERS_RATIO = 1.1
Finite = Annotated[float, Gt(-math.inf), Lt(math.inf)]
#: Values of x: one, or all from the first to the last.
Span = Finite | tuple[Finite, Finite]


class Better(StrictModel):
    """Each of `columns` is better than each of `over` by more than `by`.

    Without `over`, they are compared with every other column that is no control. The comparison
    must hold on every row, most, some, or on the average of the rows; in a figure, at each `x`.
    Seconds and MiB are compared as ratios: `times` as fast, or as small. `value` is a number that
    the paper states, to compare with in place of columns. `fewer_errors` is the share of a rival's
    errors (what its value lacks to 1, or 100 per cent) that must be avoided.
    """

    columns: Annotated[tuple[str, ...], MinLen(1)]
    over: tuple[str, ...] = ()
    rows: Literal["every", "most", "some", "average"] = "every"
    by: Finite = 0.0
    times: Positive = 1.0
    value: Finite | None = None
    fewer_errors: Annotated[float, Ge(0), Lt(1)] = 0.0
    x: Span | None = None

    @model_validator(mode="after")
    def _check_columns_differ(self) -> Self:
        if set(self.columns) & set(self.over):
            raise Fault("a column is named under columns and under over; remove one.")
        if self.over and self.value is not None:
            raise Fault("expected over or value, not both.", "value")
        if self.by and self.fewer_errors:
            raise Fault("expected by or fewer_errors, not both.", "fewer_errors")
        return self

    def rivals(self, competitors: Iterable[str]) -> tuple[str, ...]:
        """Return the columns to compare with, or the stated value as a text.

        competitors: the columns that are no controls.
        """
        if self.value is not None:
            return (f"{self.value:g}",)
        return self.over or tuple(name for name in competitors if name not in self.columns)


class Stable(StrictModel):
    """On every row, the values of the column at `x` differ by at most `within`."""

    column: str
    x: tuple[Finite, Finite]
    within: Positive


class Higher(StrictModel):
    """On every row, the mean of the column `at` some x is more than `by` above that at `than`."""

    column: str
    at: Span
    than: Span
    by: Finite = 0.0


class Claim(StrictModel):
    """A sentence of the paper, in our words, and one predicate that tests it.

    `measure` selects the rows that show it (default: the experiment's metric), `among` selects
    rows by name; rows of the experiments under `also` count as rows of this one. Objectives are
    compared by log10. A difference smaller than `matters`, in the table's unit (of costs and
    objectives a ratio such as 1.1), decides nothing; see MATTERS for the defaults. A claim with
    `by`, `times` or `within` has that threshold alone.
    """

    says: str
    place: str
    better: Better | None = None
    stable: Stable | None = None
    higher: Higher | None = None
    measure: MeasureName | None = None
    matters: Weight | None = None
    among: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check_one_predicate(self) -> Self:
        if [self.better, self.stable, self.higher].count(None) != 2:
            raise Fault("expected one of better, stable, higher.")
        if self.matters is not None and self.has_threshold:
            raise Fault("the claim has a threshold (by, times or within); remove one.", "matters")
        return self

    @property
    def predicate(self) -> Better | Stable | Higher:
        """The predicate that is given."""
        given = self.better or self.stable or self.higher
        assert given is not None
        return given

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the predicate names."""
        given = self.predicate
        return (*given.columns, *given.over) if isinstance(given, Better) else (given.column,)

    @property
    def has_threshold(self) -> bool:
        """True if the predicate states how large a difference must be, or may be."""
        given = self.predicate
        if isinstance(given, Better) and (given.value is not None or given.fewer_errors):
            return True
        return isinstance(given, Stable) or bool(given.by) or getattr(given, "times", 1.0) != 1

    def matters_on(self, ratio: bool, unit: int) -> float:
        """Return the smallest difference that matters, on the scale that is compared.

        ratio: True for costs and objectives, compared by log10; unit: the table's, 100 or 1.
        """
        if self.has_threshold:
            return 0.0
        if ratio:
            return math.log10(MATTERS_RATIO if self.matters is None else self.matters)
        return MATTERS * unit if self.matters is None else self.matters

    def check(self, spec: Schema) -> None:
        """Raise Fault if rows, columns, the measure or values of x are not the experiment's."""
        check_known("row", self.among, spec.rows, "among")
        self._check_measure(spec)
        given = self.predicate
        with below(type(given).__name__.lower()):
            check_known("column", self.columns, spec.columns)
            if isinstance(given, Better) and not given.rivals(spec.competitors):
                raise Fault("no other column to compare with; name one under over.")
            for span in (getattr(given, key, None) for key in ("x", "at", "than")):
                if span is not None:
                    _check_span(span, spec.figure)

    def _check_measure(self, spec: Schema) -> None:
        rows = [spec.rows[name] for name in self.among] or spec.rows.values()
        shown = dict.fromkeys(row.metric or spec.metric for row in rows)
        measure = self.measure or spec.metric
        if measure not in shown:
            raise Fault(f"no row shows {measure}; expected {' or '.join(shown)}.")
        ratio = measure in COSTS or bool(spec.figure and spec.figure.objective)
        if ratio and self.matters is not None and self.matters < 1:
            raise Fault("expected a ratio, at least 1, such as 1.1.", "matters")
        given = self.better
        if given and given.times != 1 and (measure not in COSTS or given.by):
            raise Fault(f"times is for {' and '.join(COSTS)}, in place of by.", "better", "times")
        if given and given.fewer_errors and measure in LOWER_IS_BETTER:
            raise Fault(f"no errors can be fewer in {measure}.", "better", "fewer_errors")


def _check_span(span: Span, figure: Figure | None) -> None:
    if figure is None or not (figure.params or figure.iterations):
        raise Fault("x, at and than are for figures over parameters or iterations.")
    first, last = span if isinstance(span, tuple) else (span, span)
    if first > last:
        raise Fault(f"expected the smaller x first, got {first:g} and {last:g}.")
    if figure.params and not any(first <= value <= last for value in figure.values):
        raise Fault(f"no value of the figure lies from {first:g} to {last:g}.")
