"""Compare models on the documents of a user, from Python, the command line or an estimator.

plans = plan_fits("transfer", ["lr", "gcmf"], {})
session = Session.from_files(["labelled.csv"], ["mail.csv"], plans, options={})
compared = session.compare()
session.table(compared)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from transferbench.artefacts import Folder, open_folder
from transferbench.errors import UserError
from transferbench.models.transfer.consensus import FEW
from transferbench.own.advice import (
    NO_EVIDENCE,
    Choice,
    choose,
    choose_by_sample,
    no_recommendation,
)
from transferbench.own.compare import Comparison, results_table
from transferbench.own.dialect import Dialect
from transferbench.own.documents import Documents, Labels, ReadOptions, find_domains
from transferbench.own.doubts import data_doubts
from transferbench.own.evidence import MAX_EVIDENCE, PART, RECOMMENDED
from transferbench.own.fits import ComparedModel, FitPlan, choose_family, fit_plan, model_problem
from transferbench.own.problem import Loaded, load
from transferbench.own.sample import (
    LABEL_WEIGHT,
    random_rows,
    sample_of,
    take,
    with_sample,
    without_sample,
)
from transferbench.own.separation import Separation, separations
from transferbench.own.tables import match
from transferbench.parameters import Params
from transferbench.problem import Problem
from transferbench.settings import Settings
from transferbench.settings import load as load_settings

if TYPE_CHECKING:
    from transferbench.own.comparison_table import ComparisonTable


@dataclass(frozen=True)
class Session(Loaded):
    """A problem, and the models to compare on it."""

    # If there is a random sample of the targets, the problem has its labels as seen ones. They
    # train and choose models, see `sample.with_sample`.
    plans: Sequence[FitPlan]
    _: KW_ONLY
    #: Folder that keeps fits for the next command; None to keep none.
    folder: Folder | None = None
    #: Name of the column of the texts in the targets.
    text: str = "text"
    #: The whole problem, if `problem` is a random part of it, see `part`.
    whole: Problem | None = None
    #: Rows of the user's documents in each domain of such a part; empty if all documents are in the
    #: problem.
    rows: Sequence[np.ndarray] = ()

    @classmethod
    def from_files(
        cls,
        sources: Sequence[str],
        targets: Sequence[str],
        plans: Sequence[FitPlan],
        *,
        labels: Labels = "any",
        label_file: Path | None = None,
        label_weight: float | None = None,
        options: Params,
        read_options: ReadOptions = ReadOptions(),
        clusters: int = 0,
        using: Settings | None = None,
    ) -> Self:
        """Make a session with a problem that is made of files."""
        # `labels`: Labels that targets must have. With a labelled sample, only its labels are read.
        # `label_weight`: Number of documents of a source as which a labelled document of the sample
        # counts in training; LABEL_WEIGHT by default.
        # `using`: Settings that also name the folder that keeps fits.
        family = choose_family([p.model for p in plans], bool(sources), read_options.separator)
        if label_file and family != "transfer":
            raise UserError(
                "a labelled sample has one label for each document, a source and a target; leave "
                "it out for several labels or without a source."
            )
        loaded = load(
            find_domains(sources), find_domains(targets), family=family,
            labels="none" if label_file else labels, options=options, read_options=read_options,
            clusters=clusters, label_file=label_file, using=using,
        )  # fmt: skip
        problem = loaded.problem
        if label_file and loaded.truth:
            weight = LABEL_WEIGHT if label_weight is None else label_weight
            problem = with_sample(problem, loaded.truth, weight)
        used = using or load_settings()
        return cls(
            **{**vars(loaded), "problem": problem}, plans=plans, text=read_options.text,
            folder=open_folder(used.data, used.max_artefacts),
        )  # fmt: skip

    @property
    def sampled(self) -> bool:
        """True if documents of the targets are labelled; they train and choose models."""
        return sample_of(self.problem) is not None

    def part(self) -> Self:
        """Return the session on random documents if a domain is larger than in the evidence."""
        # A model is chosen on PART documents of each domain. All labelled documents of targets are
        # among them.
        if max(len(domain.seen) for domain in self.problem.domains) <= MAX_EVIDENCE:
            return self
        rows = random_rows(self.problem, PART, FEW)
        problem, truth = take(self.problem, self.truth, rows)
        return replace(self, problem=problem, truth=truth, whole=self.problem, rows=rows)

    def compare(
        self,
        progress: Callable[[Sequence[FitPlan]], Iterable[FitPlan]] = iter,
        *,
        crossed: bool = True,
        untrained: bool = True,
        clusters: bool = False,
    ) -> Comparison:
        """Fit the models, and recommend one."""
        # Labels of targets other than those of the sample reach no model and no recommendation:
        # the truth is only used by `table`.
        # `crossed`: False if no model is to be chosen, so that labelled documents need not be held
        # out.
        # `untrained`: True to fit each model also without the labelled documents, if there are
        # some.
        # `clusters`: True to accept a model that finds clusters in place of the classes.
        problem, sample = self.problem, sample_of(self.problem)
        without = without_sample(problem) if sample and untrained else None
        fit = self._fitter(clusters)
        fitted: dict[str, ComparedModel] = {}
        for planned in progress(self.plans):
            model = fit(problem, planned, crossed=crossed)
            if not model.fits and not fitted:
                raise UserError(f"{model.model}: {model.doubts[0]}.")
            if without and model.fits:
                model = replace(model, untrained=fit(without, planned).fits)
            fitted[model.model] = model
        doubts = tuple(data_doubts(problem, self._separations))
        worthless = [str(doubt) for doubt in doubts if doubt.worthless]
        choice = NO_EVIDENCE if problem.family == "multilabel" else Choice(None, ())
        best = fitted.get(RECOMMENDED) if problem.family == "transfer" else None
        if worthless and best:
            choice = no_recommendation(
                "; ".join(worthless), "Give other documents; labels do not help here."
            )
        elif sample and crossed:
            choice = choose_by_sample(self.whole or problem, fitted, sample)
        elif best and not sample:
            choice = choose(self.whole or problem, best, self._separations)
        return Comparison(problem, fitted, doubts, choice, self._separations)

    def fit_whole(self, compared: Comparison, names: Sequence[str]) -> Comparison:
        """Return a comparison of `part` with models that are fitted on all documents."""
        # The confidences of the first one are calibrated, for which its labels are held out.
        if compared.problem is self.problem:
            return compared
        fit = self._fitter()
        plans = [plan for plan in self.plans if plan.model in names]
        fitted = {p.model: fit(self.problem, p, crossed=p.model == names[0]) for p in plans}
        return replace(compared, problem=self.problem, models={**compared.models, **fitted})

    def _fitter(self, clusters: bool = False) -> Callable[..., ComparedModel]:
        """Return `fit_plan` with the memory, the folder and the separations of one comparison."""
        return partial(
            fit_plan, memory={}, separations=self._separations, clusters=clusters,
            embedded=self.features == "both", folder=self.folder,
        )  # fmt: skip

    def describe_in(self, name: str, row: int) -> tuple[str, str]:
        """Return the place of a document of a domain, and its text, which is empty for matrices."""
        # The place is its file and row there; without files it is its domain and number.
        domain = [domain.name for domain in self.problem.domains].index(name)
        files = [*self.sources, *self.targets]
        row = int(self.rows[domain][row]) if self.rows else row
        if not files:
            return f"{name}, document {row + 1}", ""
        file, number = files[domain].table.index[row]
        text = str(files[domain].content[row]) if files[domain].kind == "texts" else ""
        return f"{self._file_names[file]}, row {number}", text

    @cached_property
    def _file_names(self) -> dict[str, str]:
        """The name of each file by its path; the path itself if several files have the name."""
        files = (*self.sources, *self.targets)
        paths = {path for file in files for path in file.table.index.unique(0)}
        counts = Counter(Path(path).name for path in paths)
        return {path: Path(path).name if counts[Path(path).name] == 1 else path for path in paths}

    @cached_property
    def _separations(self) -> Mapping[str, Separation]:
        """Words or features that separate targets from the source; doubts name them."""
        return separations(self.problem, self.sources, self.targets, self.options)

    def table(self, compared: Comparison) -> ComparisonTable:
        """Return a row for each target and model; see `compare.results_table`."""
        # Without a truth, models are scored on labelled documents of targets that are held out.
        return results_table(compared, self.truth or sample_of(self.problem))

    def _with_texts(self) -> list[Documents]:
        """Return the targets, each text in a column also if it is a key of an object of JSON."""
        return [
            file if file.kind != "texts" or match(self.text, file.table) is not None
            else replace(file, table=file.table.assign(**{self.text: [*file.content]}))
            for file in self.targets
        ]  # fmt: skip

    def write_sample(self, path: Path, count: int, label: str, seed: int = 0) -> int:
        """Write random documents of the targets to label, and return their number."""
        # `path`: It has semicolons if the target has them. It has a byte order mark, by which
        # spreadsheets recognise UTF-8.
        from transferbench.own import predictions  # loads pandas

        sample = predictions.sample(self._with_texts(), count, label, seed)
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
        """Write a row for each document of the targets, and return their number."""
        # `path`: CSV, TSV or JSON lines. CSV gets the dialect of the first file of the targets.
        from transferbench.own import predictions

        fits = {name: compared.models[name].fits[0] for name in names}
        targets = self.targets if path.suffix.lower() == ".jsonl" else self._with_texts()
        seen = model_problem(compared.problem, next(iter(names)), self.features == "both")
        table = predictions.predict(
            seen, fits, targets, separator=separator, with_scores=with_scores
        )  # fmt: skip
        predictions.write(path, table, self.targets[0].dialect)
        return len(table)
