"""`transferbench.compare`: compare models on a problem or on files, and recommend one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transferbench import parameters, settings
from transferbench.api import load_task
from transferbench.artefacts import open_folder
from transferbench.errors import UserError
from transferbench.own.documents import ReadOptions
from transferbench.own.evidence import REFERENCE
from transferbench.own.fits import choose_family, model_names, plan_fits
from transferbench.own.session import Session
from transferbench.parameters import Params, Positive
from transferbench.problem import Problem, Truth

if TYPE_CHECKING:
    from transferbench.own.comparison_table import ComparisonTable


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
) -> ComparisonTable:
    """Compare models without labels of the target, and recommend one.

        table = transferbench.compare(source="labelled.csv", target="mail.csv")
        print(table, table.choice.sentences)
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
        embeddings. See `own.documents.ReadOptions`.

    Returns
    -------
    ComparisonTable
        A pandas DataFrame with a row for each target and model. Its attribute `choice` has `model`,
        the recommended model or None, `sentences`, `strength`, `evidence` and `accuracy`, the
        accuracy to expect with the ends of its interval or None.

    Raises
    ------
    UserError
        If there is a mistake in the arguments or files.
    """
    models = [models] if isinstance(models, str) else models
    of_files = problem is None and source and target
    if not of_files and (problem is None or source or target or options or reading or labels):
        expected = "a problem or the name of a task, or else source and target, with options"
        raise UserError(f"expected {expected}.")
    if label_weight is not None:
        if not labels:
            raise UserError("label_weight weighs the labels of a sample; expected labels, too.")
        label_weight = parameters.convert(label_weight, Positive, "label_weight")
    truth = None
    if problem is None:
        how = ReadOptions(**parameters.resolve(ReadOptions.__init__, reading, "compare"))  # type: ignore[arg-type]
        family = choose_family(models, True, how.separator)
        names = model_names(family, models, signed=how.features == "embeddings")
        session = Session.from_files(
            [source] if isinstance(source, str) else source,
            [target] if isinstance(target, str) else target,
            plan_fits(family, names, params or {}, repeats=repeats),
            label_file=Path(labels) if labels else None, label_weight=label_weight,
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
        session = Session(problem, plans, truth=truth, folder=folder)
    session = session if models else session.part()
    return session.table(session.compare())
