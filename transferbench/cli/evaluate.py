"""transferbench evaluate."""

from __future__ import annotations

import click

from transferbench.cli._own import OwnData, own_data
from transferbench.cli._terminal import echo


@click.command()
@own_data
def command(own: OwnData) -> None:
    """Score a model on your own labelled documents.

    \b
    transferbench evaluate --source labelled.csv --target mail.csv --model gcmf

    --source and --target name files as for `predict`. The model sees no label of a target;
    documents of a target without a label are not scored. Without a source the targets are
    clustered, in as many clusters as they have labels. A multi-label model (himls, …) takes several
    labels in a column, `a|b`; `predict` says more.
    """
    from transferbench.cli._report import aligned
    from transferbench.data.userdata.multilabel import MEASURES
    from transferbench.errors import UserError
    from transferbench.metrics import evaluate

    problem, truth, targets = own.read("some")
    for target in targets:
        if not any(target.labels):
            raise UserError(f"{target.path}: no document has a label; `predict` needs none.")
    metrics = evaluate(own.fit(problem, targets), truth)
    measures = list(next(iter(metrics.values())))
    shown = MEASURES if truth.family == "multilabel" else {}
    rows = [["target", "documents", *(f"{shown.get(name, name)} %" for name in measures)]]
    scored = [int(mask.sum()) for mask in truth.scored if mask.any()]
    paths = dict(zip(metrics, [str(target.path) for target in targets], strict=False))
    for (name, values), size in zip(metrics.items(), [*scored, sum(scored)], strict=False):
        percent = [f"{100 * value:.2f}" for value in values.values()]
        rows.append([paths.get(name, name), str(size), *percent])
    echo("\n".join(aligned(rows)))
