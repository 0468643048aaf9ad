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
    clustered, in as many clusters as they have labels.
    """
    from transferbench.cli._report import aligned
    from transferbench.errors import UserError
    from transferbench.metrics import evaluate

    problem, truth, targets = own.read("some")
    for target in targets:
        if not any(target.labels):
            raise UserError(f"{target.path}: no document has a label; `predict` needs none.")
    metrics = evaluate(own.fit(problem, targets), truth)
    measures = list(next(iter(metrics.values())))
    rows = [["target", "documents", *(f"{measure} %" for measure in measures)]]
    scored = dict(zip(truth.names, truth.scored, strict=True))
    for (name, values), target in zip(metrics.items(), targets, strict=True):
        percent = [f"{100 * value:.2f}" for value in values.values()]
        rows.append([str(target.path), str(int(scored[name].sum())), *percent])
    echo("\n".join(aligned(rows)))
