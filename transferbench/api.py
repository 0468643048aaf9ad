"""Functions of the Python interface; the command line uses the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench import measures, models, parameters, settings, tasks
from transferbench.errors import UserError
from transferbench.parameters import Params
from transferbench.problem import Family, Fit, Problem, Truth, Watch

if TYPE_CHECKING:
    from pandas import DataFrame


def load_task(name: str, **options: Any) -> tuple[Problem, Truth]:
    """Load a task by name; fetch and build it on first use.

        problem, truth = transferbench.load_task("comp-vs-rec", weighting="tf")

    Parameters
    ----------
    name
        Name of the task (`transferbench list tasks`), or path of your own files.
    **options
        Options of the dataset (`transferbench describe comp-vs-rec`). The option `order` is a
        number. If it is above 0, the documents of each domain are permuted.

    Returns
    -------
    problem : Problem
        Document × feature matrices (n, d) and labels (n, c) of seen rows for each domain.
    truth : Truth
        All labels (n, c).

    Raises
    ------
    UserError
        If the task or an option is unknown.
    Unavailable
        If the data cannot be obtained.
    """
    return tasks.load(tasks.Task.parse(name, **options), settings.load())


def fit(
    model: str, problem: Problem, *, seed: int = 0, watch: Watch | None = None, **params: Any
) -> Fit:
    """Fit a model by name.

        result = transferbench.fit("gcmf", problem, seed=0, k=64)

    If the data have an unusual scale, a warning is given.

    Parameters
    ----------
    model
        Name of the model (`transferbench list models`).
    problem
        Data that the model may see.
    seed
        Seed of random models. Deterministic models ignore it.
    watch
        watch(iteration, planned, scores) is called after each iteration of models with a trace.
    **params
        Parameters of the model (`transferbench describe gcmf`); the defaults are the paper's.

    Returns
    -------
    Fit
        Scores (n, c) of each domain, and the trace of the objective.

    Raises
    ------
    UserError
        If the model or a parameter is unknown, a value is invalid, or the problem is of another
        family.
    ValueError, FloatingPointError
        If the model cannot solve the problem.
    """
    resolved = resolve(model, problem.family, params)
    return models.fit(model, problem, resolved, seed=seed, watch=watch)


def resolve(model: str, family: Family, params: Params) -> Params:
    """Return all parameters of a model for problems of a family.

    Parameters
    ----------
    model
        Name of the model.
    family
        Family of the problems.
    params
        Given parameters; the others have the paper's values.

    Raises
    ------
    UserError
        If the model or a parameter is unknown, a value is invalid, or the model is of another
        family.
    """
    models.check_family(model, family)
    return parameters.resolve(models.load(model), params, model)


def evaluate(fit: Fit, truth: Truth) -> dict[str, dict[str, float]]:
    """Return the measures of each scored domain: {'target': {'accuracy': 0.99, 'f1': 0.99}}.

    Measures are fractions from 0 to 1. If there are several multi-label domains, "all" has the
    measures of all their documents together.

    Parameters
    ----------
    fit
        Scores of each domain.
    truth
        Labels of each domain.

    Raises
    ------
    ValueError
        If scores are NaN or differ in shape from the truth.
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
    labels: str | None = None,
    label_weight: float | None = None,
    **reading: Any,
) -> DataFrame:
    """Compare models without labels of the target, and recommend one.

        table = transferbench.compare(source="labelled.csv", target="mail.csv")
        print(table, table.attrs["recommendation"])
        transferbench.compare("amazon/books-vs-dvd", models=["gcmf"], repeats=3)

    Models use only the labels of sources. If a target has labels, measures are added; they do not
    affect the recommendation. A labelled sample affects it. The sample trains the models, and each
    model is judged on documents whose label is held out. Labelled documents of a target in a
    problem have the same effect; the option `labelled` of a task draws them.

    Logistic regression and the model that may be recommended are always compared. If the problem or
    the first model is multi-label, multi-label models are compared, and none is recommended. The
    quick models are compared on at most 10,000 documents of each domain that has more than 10,033;
    they are drawn at random.

    Parameters
    ----------
    problem
        A problem, a pair of problem and truth, or the name of a task. Leave it out to give source
        and target.
    source, target
        Files as on the command line.
    models
        Names of models; by default the quick ones.
    params
        {model: {name: value}}; {"consensus": {"prior": "equal"}} states that the classes of the
        target have equal shares.
    repeats
        Number of seeds of random models.
    options
        Options of the task that is made of the files (`transferbench describe own`).
    labels
        File of a random sample of the targets with labels, as `--label-sample` writes it.
    label_weight
        Number of documents of a source as which a labelled document of this sample counts in
        training. The default is 10.
    **reading
        Options to read the files, such as text="body". features="both" takes words and sentence
        embeddings. See `userdata.documents.ReadOptions`.

    Returns
    -------
    DataFrame
        A row for each model; see `choose.compare.results_table`.

    Raises
    ------
    UserError
        If there is a mistake in the arguments or files.
    """
    from transferbench.artefacts import open_folder
    from transferbench.choose.evidence import REFERENCE
    from transferbench.choose.fits import choose_family, model_names, plan_fits
    from transferbench.choose.sample import LABEL_WEIGHT
    from transferbench.choose.session import Session
    from transferbench.parameters import Positive
    from transferbench.userdata.documents import ReadOptions

    models = [models] if isinstance(models, str) else models
    of_files = problem is None and source and target
    if not of_files and (problem is None or source or target or options or reading or labels):
        expected = "a problem or the name of a task, or else source and target, with options"
        raise UserError(f"expected {expected}.")
    if label_weight is not None and not labels:
        raise UserError("label_weight weighs the labels of a sample; expected labels, too.")
    weight = LABEL_WEIGHT if label_weight is None else label_weight
    weight = parameters.convert(weight, Positive, "label_weight")
    truth = None
    if problem is None:
        how = ReadOptions(**parameters.resolve(ReadOptions.__init__, reading, "compare"))  # type: ignore[arg-type]
        family = choose_family(models, True, how.separator)
        session = Session.from_files(
            *([n] if isinstance(n, str) else n for n in (source, target)),
            names=model_names(family, models, signed=how.features == "embeddings"),
            family=family, params=params or {}, repeats=repeats,
            label_file=Path(labels) if labels else None, label_weight=weight,
            options=options or {}, read_options=how,
        )  # fmt: skip
    else:
        if isinstance(problem, str):
            problem, truth = load_task(problem)
        elif isinstance(problem, tuple):
            problem, truth = problem
        if problem.family not in REFERENCE or not problem.targets:
            expected = "expected a source with labels and a target to compare"
            raise UserError(f"{problem.name}: {expected}.")
        names = model_names(problem.family, models, signed=problem.domains[0].signed)
        plans = plan_fits(problem.family, names, params or {}, repeats=repeats)
        used = settings.load()
        folder = open_folder(used.data, used.max_artefacts)
        session = Session(problem, plans, truth, folder=folder)
    session = session if models else session.part()
    return session.table(session.compare())


def results(name: str) -> DataFrame:
    """Return the results of an experiment's runs as a table.

        table = transferbench.results("gtl-table3")
        table[table.chosen].groupby(["row", "column"]).value.mean()  # the published table's cells

    Parameters
    ----------
    name
        Name of an experiment, or path of its file. Your own experiment is known by name as soon as
        it has results.

    Returns
    -------
    DataFrame
        A row for each planned run and scored domain. For a curve, there is a row for each
        iteration, too.

    Raises
    ------
    UserError
        If the experiment is unknown, or if its runs are missing or damaged.

    Notes
    -----
    The table has the columns of a line of runs.jsonl, and these columns:

    - experiment, row, column: position in the published table or figure. A column whose setting is
      chosen in several ways appears several times, as in the table.
    - x: position on the figure's x axis; NaN in a table and for horizontal lines.
    - setting: NAME=VALUE of the column's grid.
    - chosen: True if the table shows this setting.
    - domain: the scored domain; empty if the run did not finish.
    - measure, value: in the table's unit; NaN if the run did not finish.
    - repeat: the seed, or the split of an experiment that repeats over splits.
    - status: done, failed, crashed, timeout, memory, unavailable, missing (not run), or
      outdated (of other data or code than the newest runs).
    - reason: the reason why the run did not finish.
    - run: the `Run`: task, model, all parameters, seed.
    """
    from transferbench import experiments
    from transferbench.evidence import frame
    from transferbench.runs import store

    folder = settings.load().results
    experiment = experiments.load(name, folder)
    records = store.read(folder / experiment.name / store.NAME)
    observed = frame.observations(experiment, records)
    return frame.to_observations_frame(experiment, observed)
