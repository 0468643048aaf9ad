"""Functions of the Python interface; the command line uses the same code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transferbench import measures, models, parameters, settings, tasks
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
    """Return all parameters of a model for problems of a family."""
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
