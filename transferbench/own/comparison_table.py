"""The table that `transferbench.compare` returns."""

from pandas import DataFrame

from transferbench.own.advice import Choice


class ComparisonTable(DataFrame):  # type: ignore[misc]
    """A DataFrame with a row for each target and model; parts of it are plain DataFrames."""

    @property
    def choice(self) -> Choice:
        """The recommended model, the reason, and what to expect."""
        found = self.attrs
        return Choice(
            model=found["recommended"],
            sentences=tuple(found["recommendation"].splitlines()),
            evidence=found["evidence"],
            accuracy=found["expected_accuracy"],
            strength=found["strength"],
        )
