"""transferbench evaluate."""

from __future__ import annotations

from pathlib import Path

import click

from transferbench.cli._own import own_data


@click.command()
@own_data
def command(
    sources: tuple[Path, ...], targets: tuple[Path, ...], model: str,
    assignments: tuple[str, ...], seed: int, text_column: str, label_column: str,
    id_column: str | None, options: tuple[str, ...],
) -> None:  # fmt: skip
    """Score a model on labelled documents of your own.

    \b
    transferbench evaluate --source labelled.csv --target mail.csv --model gcmf

    The model sees no label of a target; documents of a target without a label are not scored.
    Without a source the targets are clustered, in as many clusters as they have labels.
    """
    from transferbench.cli._own import fitted, gather
    from transferbench.cli._report import aligned
    from transferbench.errors import UserError
    from transferbench.metrics import evaluate

    columns = text_column, label_column, id_column
    problem, truth, documents = gather(sources, targets, options, columns, "some")
    for part in documents:
        if not any(part.labels):
            raise UserError(f"{part.path}: no document has a label; `predict` needs none.")
    found = evaluate(fitted(problem, documents, model, assignments, seed), truth)
    measures = list(next(iter(found.values())))
    table = [["target", "documents", *(f"{measure} %" for measure in measures)]]
    scored = dict(zip(truth.names, truth.scored, strict=True))
    for (name, values), part in zip(found.items(), documents, strict=True):
        figures = [f"{100 * value:.2f}" for value in values.values()]
        table.append([str(part.path), str(int(scored[name].sum())), *figures])
    click.echo("\n".join(aligned(table)))
