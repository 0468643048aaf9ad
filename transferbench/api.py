"""The Python interface; the command line uses the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transferbench import measures, models, parameters, settings
from transferbench.data import tasks
from transferbench.errors import UserError
from transferbench.parameters import Params
from transferbench.problem import Family, Fit, Problem, Truth, Watch

if TYPE_CHECKING:
    from pandas import DataFrame


def load_task(name: str, **options: Any) -> tuple[Problem, Truth]:
    """Load a task by name; fetch and build it on first use.

        problem, truth = transferbench.load_task("comp-vs-rec", weighting="tf")

    options: those of the dataset (`transferbench describe comp-vs-rec`), and order, whose number
    permutes the documents of each domain; 0 does not. Return the problem, with (n, d) document ×
    feature matrices and (n, c) labels of seen rows for each domain, and the truth, with all labels
    (n, c). Raise UserError for an unknown task or option, Unavailable if the data cannot be
    obtained.
    """
    return tasks.load(tasks.Task.named(name, **options), settings.load())


def fit(
    model: str, problem: Problem, *, seed: int = 0, watch: Watch | None = None, **params: Any
) -> Fit:
    """Fit a model by name; return scores (n, c) of each domain and the trace of the objective.

        result = transferbench.fit("gcmf", problem, seed=0, k=64)

    params: parameters of the model (`transferbench describe gcmf`); the defaults are the paper's.
    seed is ignored by deterministic models. watch(iteration, planned, scores) is called after each
    iteration of models with a trace. Warn of data in an unusual scale. Raise UserError for an
    unknown model or parameter, an invalid value, or a model for another family of problems;
    ValueError or FloatingPointError if the model cannot solve the problem.
    """
    resolved = resolve(model, problem.family, params)
    return models.fit(model, problem, resolved, seed=seed, watch=watch)


def resolve(model: str, family: Family, params: Params) -> Params:
    """Return all parameters of a model for problems of a family. Raise UserError as `fit`."""
    models.check_family(model, family)
    return parameters.resolve(models.load(model), params, model)


def evaluate(fit: Fit, truth: Truth) -> dict[str, dict[str, float]]:
    """Return the measures of each scored domain: {'target': {'accuracy': 0.99, 'f1': 0.99}}.

    All are fractions between 0 and 1. Several multi-label domains also have "all", for their
    documents together. Raise ValueError if scores are NaN or differ in shape from the truth.
    """
    return measures.evaluate(fit, truth)


def compare(
    problem: Problem | str | tuple[Problem, Truth] | None = None,
    *,
    source: str | Sequence[str] = (),
    target: str | Sequence[str] = (),
    models: str | Sequence[str] = (),
    params: Mapping[str, Mapping[str, object]] | None = None,
    repeats: int = 1,
    options: Params | None = None,
    **reading: Any,
) -> DataFrame:
    """Compare models without labels of the target, and recommend one.

        table = transferbench.compare(source="labelled.csv", target="mail.csv")
        print(table, table.attrs["recommendation"])
        transferbench.compare("amazon/books-vs-dvd", models=["gcmf"], repeats=3)

    problem: a problem, with its truth or without, or the name of a task; or else source and target,
    files as on the command line, with options (`transferbench describe own`) and what `Reading` in
    `userdata.documents` declares, such as text="body". Only the sources' labels are used; labels of
    a target add measures. models: by default the quick ones; logistic regression and the
    recommended model are always compared. params: {model: {name: value}}; with {"consensus":
    {"prior": "equal"}} you state that the classes of the target have equal shares. repeats: seeds
    of random models. See `choose.compare.table` for the columns. A multi-label model, or problem,
    compares multi-label models, and none is recommended. Raise UserError for a mistake.
    """
    from transferbench.choose import compare as comparing
    from transferbench.choose.evidence import REFERENCE
    from transferbench.userdata.documents import Reading, find_domains
    from transferbench.userdata.load import load

    models = [models] if isinstance(models, str) else models
    arguments = problem is not None, bool(source), bool(target)
    for_files = bool(options or reading)
    if arguments not in ((True, False, False), (False, True, True)) or (for_files and not source):
        raise UserError(
            "expected a problem or the name of a task, or else source and target, with options."
        )
    truth = None
    if problem is None:
        how = Reading(**parameters.resolve(Reading.__init__, reading, "compare"))  # type: ignore[arg-type]
        family = comparing.choose_family(models, True, how.separator)
        loaded = load(
            *(find_domains([n] if isinstance(n, str) else n) for n in (source, target)),
            family=family,
            labels="any",
            options=options or {},
            reading=how,
            max_bytes=settings.load().max_bytes,
        )
        problem, truth = loaded.problem, loaded.truth
    elif isinstance(problem, str):
        problem, truth = load_task(problem)
    elif isinstance(problem, tuple):
        problem, truth = problem
    if problem.family not in REFERENCE or not problem.targets:
        raise UserError(f"{problem.name}: expected a source with labels and a target to compare.")
    names = comparing.model_names(problem.family, models)
    plans = comparing.plan(problem.family, names, params or {}, repeats=repeats)
    return comparing.table(comparing.compare(problem, plans), truth)


def results(name: str) -> DataFrame:
    """Return the observations of an experiment, by name or path of its file, from its runs.csv.

    Your own experiment is known by name as soon as it has results.

        table = transferbench.results("gtl-table3")
        table[table.chosen].groupby(["row", "column"]).value.mean()  # the published table's cells

    It has a line for each planned run and scored domain; of a curve over iterations, one for each
    iteration. The columns are

    experiment, row, column : the place in the published table or figure. A column whose setting is
        chosen in several ways appears once for each, as in the table.
    x : the place on the figure's x axis; NaN in a table and for level lines.
    setting : NAME=VALUE of the column's grid; empty without a grid.
    chosen : True if the table shows this setting.
    seed : <NA> for a deterministic method, which runs once.
    domain : the scored domain; empty if the run did not finish.
    measure, value : accuracy, f1, …, in the table's unit; NaN if the run did not finish.
    documents : the number of scored documents; NaN if runs.csv does not have it.
    status : done, failed, crashed, timeout, memory, unavailable, or missing (not run).
    reason : why the run did not finish; empty otherwise.
    seconds, load_seconds, peak_mib : what the run cost: wall time of the fit and of loading the
        task, largest resident memory.
    threads, iterations, trace, data, code, versions, finished, key, diagnostics : as in runs.csv.
    run : the `Run`: task, model, all parameters, seed.

    Raise UserError for an unknown experiment, or if its runs.csv is missing or damaged.
    """
    from transferbench import experiments
    from transferbench.evidence import frame

    folder = settings.load().results
    experiment = experiments.load(name, folder)
    runs = frame.read_runs(folder / experiment.name / "runs.csv")
    return frame.observations(experiment, runs)
