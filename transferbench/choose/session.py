"""Compare models on the documents of a user, from Python, the command line or an estimator.

session = Session.from_files(["labelled.csv"], ["mail.csv"], names=["lr", "gcmf"])
compared = session.compare()
session.table(compared)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from transferbench.choose import compare as comparing
from transferbench.choose.compare import Comparison
from transferbench.choose.evidence import NO_CONFIDENCE
from transferbench.choose.fits import FitPlan, plan_fits
from transferbench.parameters import Params
from transferbench.problem import Family, Problem, Truth
from transferbench.settings import Settings
from transferbench.userdata.dialect import Dialect
from transferbench.userdata.documents import Documents, Labels, ReadOptions, find_domains
from transferbench.userdata.load import load
from transferbench.userdata.separation import separations
from transferbench.userdata.vectors import Features

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Session:
    """A problem, and the models to compare on it.

    Parameters
    ----------
    problem
        The problem.
    plans
        The models, see `fits.plan_fits`.
    truth
        The labels of the targets, None if there are none.
    sampled
        True if these labels are those of a random sample, which chooses the model. Other labels
        add measures and change nothing else.
    sources, targets
        The user's documents, if the problem is made of files.
    options
        All options by which they became features.
    features
        What models see of a document, see `Loaded`.
    """

    problem: Problem
    plans: Sequence[FitPlan]
    truth: Truth | None = None
    sampled: bool = False
    sources: Sequence[Documents] = ()
    targets: Sequence[Documents] = ()
    options: Params = field(default_factory=dict)
    features: Features = "words"

    @classmethod
    def from_files(
        cls,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        names: Sequence[str],
        family: Family,
        params: Mapping[str, Mapping[str, object]],
        repeats: int = 1,
        seed: int = 0,
        labels: Labels = "any",
        label_file: Path | None = None,
        options: Params,
        read_options: ReadOptions = ReadOptions(),
        clusters: int = 0,
        using: Settings | None = None,
    ) -> Self:
        """Make a problem of files.

        The arguments are checked before the files are read, because large files take long.

        Parameters
        ----------
        sources, targets
            Names of domains, see `find_domains`.
        names, family, params, repeats, seed
            See `fits.plan_fits`.
        labels
            Labels that targets must have. With a labelled sample, only its labels are read.
        label_file
            The labelled sample.
        options, read_options, clusters, using
            See `userdata.load.load`.

        Raises
        ------
        UserError
            For a mistake in the arguments or files.
        """
        plans = plan_fits(family, names, params, repeats=repeats, seed=seed)
        loaded = load(
            find_domains(sources), find_domains(targets), family=family,
            labels="none" if label_file else labels, options=options, read_options=read_options,
            clusters=clusters, label_file=label_file, using=using,
        )  # fmt: skip
        return cls(
            loaded.problem, plans, loaded.truth, label_file is not None,
            loaded.sources, loaded.targets, loaded.options, loaded.features,
        )  # fmt: skip

    def compare(
        self, progress: Callable[[Sequence[FitPlan]], Iterable[FitPlan]] = iter
    ) -> Comparison:
        """Fit the models, and recommend one; see `compare.compare`.

        Parameters
        ----------
        progress
            Iterates over the plans, for example with a progress bar.
        """
        sample = self.truth if self.sampled else None
        has_names = self.features != "embeddings"
        found = separations(self.problem, self.sources, self.targets, self.options, has_names)
        return comparing.compare(self.problem, progress(self.plans), sample, found)

    def table(self, compared: Comparison) -> DataFrame:
        """Return a row for each target and model; see `compare.results_table`."""
        return comparing.results_table(compared, self.truth)

    def write_sample(self, path: Path, count: int, label: str) -> int:
        """Write random documents of the targets to label, and return their number.

        Parameters
        ----------
        path
            CSV, with semicolons if the target has them, and with a byte order mark, by which
            spreadsheets know UTF-8.
        count
            Largest number of documents.
        label
            The empty column of their labels.

        Raises
        ------
        UserError
            If the file cannot be written.
        """
        from transferbench.userdata import predictions  # loads pandas

        sample = predictions.sample(self.targets, count, label)
        semicolons = self.targets[0].dialect.delimiter == ";"
        dialect = Dialect(mark=True, delimiter=";" if semicolons else ",")
        predictions.write(path, sample, dialect)
        return len(sample)

    def write_predictions(
        self,
        path: Path,
        compared: Comparison,
        names: Collection[str],
        *,
        separator: str | None = None,
        with_scores: bool = False,
    ) -> int:
        """Write a row for each document of the targets, and return their number.

        Parameters
        ----------
        path
            CSV, TSV or JSON lines; CSV is written as the first file of the targets is.
        compared
            The compared models.
        names
            The models, see `predictions.predict`.
        separator
            Separator of the labels in a cell, see `predictions.predict`.
        with_scores
            True to write the score of each class, too.

        Raises
        ------
        UserError
            If the file cannot be written.
        """
        from transferbench.userdata import predictions

        fits = {name: compared.models[name].fits[0] for name in names}
        table = predictions.predict(
            self.problem, fits, self.targets, separator=separator, with_scores=with_scores,
            unranked=NO_CONFIDENCE,
        )  # fmt: skip
        predictions.write(path, table, self.targets[0].dialect)
        return len(table)
