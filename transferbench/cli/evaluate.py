"""transferbench evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from transferbench.cli._terminal import echo, echo_json, echo_table
from transferbench.cli._user import WORTHLESS, UserData, by_class, user_data

if TYPE_CHECKING:
    from transferbench.problem import Fit, Truth


@click.command()
@user_data("targets", "models")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object only.")
def command(user: UserData, as_json: bool) -> int:
    """Score models on your own labelled documents.

    \b
    transferbench evaluate --source labelled.csv --target mail.csv --model cocc
    transferbench evaluate --source s.csv --target t.csv -m dtl -m gcmf --set gcmf.k=32

    --source and --target name files as for `predict`. The models see no label of a target;
    documents of a target without a label are not scored. Logistic regression is scored beside
    them. Without a source the targets are clustered, in as many clusters as they have labels. A
    multi-label model (himls, …) takes several labels in a column, `a|b`; `predict` says more.
    Warnings need no labels; if the first model's result is worthless by them, the exit code is 1
    unless --force is given.
    """
    from transferbench.measures import ALL, headings

    names = list(dict.fromkeys([*user.models, *(["lr"] if user.family == "transfer" else [])]))
    params = user.params(names, user.family)
    loaded = user.read("some")
    paths = [str(target.path) for target in loaded.targets]
    problem, truth = loaded.problem, loaded.truth
    fits, worthless = user.fit(problem, params, paths)
    measured = {model: _measured(fit, truth) for model, fit in fits.items()}
    n = len(next(iter(measured.values())))
    paths += [ALL] * (n - len(paths))
    rows = [
        {"target": path, "model": model, "params": params[model], **values}
        for model, domains in measured.items()
        for path, values in zip(paths, domains, strict=True)
    ]
    if as_json:
        answer = {"classes": problem.classes, "worthless": worthless, "results": rows}
        echo_json(answer)
    else:
        measures = list(rows[0])[4:]
        titles = headings(truth.family)
        heads = [f"{titles.get(name, name)} %" for name in measures]
        table = [["target", "model", "documents", *heads]]
        for i in range(n):
            for row in rows[i::n]:  # all models of a target
                percent = [
                    by_class(list(v.values())) if isinstance(v, dict) else f"{100 * v:.2f}"
                    for v in (row[name] for name in measures)
                ]
                table.append([row["target"], row["model"], str(row["documents"]), *percent])
        echo_table(table)
    if worthless and not user.force:
        echo(f"The result is {WORTHLESS}; --force exits with code 0.", err=True)
    return int(worthless and not user.force)


def _measured(fit: Fit, truth: Truth) -> list[dict[str, Any]]:
    """Return the measures of each scored domain, in order."""
    from transferbench.choose.compare import recall
    from transferbench.measures import ALL, evaluate

    domains = []
    by_domain = evaluate(fit, truth)
    for name, Y, rows, scores in zip(truth.names, truth.Y, truth.scored, fit.scores, strict=True):
        if not rows.any():
            continue
        values: dict[str, Any] = {"documents": int(rows.sum())} | by_domain[name]
        if truth.family == "transfer":
            recalls = zip(truth.classes, recall(Y[rows], scores[rows]).tolist(), strict=True)
            values["recall"] = {name: v for name, v in recalls if v == v}  # without NaN
        domains.append(values)
    if ALL in by_domain:  # of several multi-label domains
        domains.append(
            {"documents": sum(domain["documents"] for domain in domains)} | by_domain[ALL]
        )
    return domains
