"""transferbench predict."""

from pathlib import Path

import click

from transferbench.cli import _user
from transferbench.cli._terminal import echo
from transferbench.messages import counted


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, .csv or .jsonl; needed unless only a sample to label is written.",
)
@_user.user_data
@click.option("--clusters", type=click.IntRange(2), help="Number of clusters, without a source.")
@click.option("--scores", is_flag=True, help="Also write the score of each class.")
def command(
    user: _user.UserData,
    clusters: int | None,
    out: Path | None,
    scores: bool,
) -> None:
    """Label your own documents.

    \b
    transferbench predict --source labelled.csv --target mail.csv --out found.csv
    transferbench predict --source s.csv --target t.csv --labels label-these.csv --out found.csv
    transferbench predict --target a.csv --target b.csv -m lskmtc --clusters 4 --out found.csv

    The output has your rows and columns, and `predicted` (or `cluster`) and `confidence`, which
    ranks documents but is no probability. Of several models the first gives the label; `agree` is
    the share of models with the same one. Labels of targets are not read, but those of --labels.
    """
    from transferbench.choose.evidence import NO_CONFIDENCE
    from transferbench.errors import Failure, UserError
    from transferbench.userdata import predictions
    from transferbench.userdata.load import MAX_CLASSES

    if not (out or user.label_sample):
        raise UserError("--out is missing; name the file to write, .csv or .jsonl.")
    _user.check_files(user, out)
    if bool(user.sources) == bool(clusters):
        raise UserError("expected either --source or --clusters N, and not both.")
    if clusters and clusters > MAX_CLASSES:
        raise UserError(f"--clusters {clusters}: expected at most {MAX_CLASSES}.")
    names = _user.to_fit(user, labelling=True) if out else []
    loaded, compared = _user.fit_models(user, names, "none", clusters=clusters or 0)
    if not out:
        return
    entries = compared.entries
    if user.auto:
        best = compared.choice.model
        chosen = [best, *user.named] if best else user.named or [next(iter(entries))]
        wanted = dict.fromkeys(chosen if best or user.force else ())
        entries = {model: entries[model] for model in wanted}
        _user.print_choice(compared.choice, user.why)
    fits = {model: entry.fits[0] for model, entry in entries.items() if entry.fits}
    _user.print_shares(loaded.problem, fits)
    _user.print_warnings(compared, entries)
    if not fits:
        remedy = f"name a --model without auto, or add --force to use {chosen[0]}"
        raise Failure(f"{out} is not written; {remedy}.")
    first = next(iter(fits))
    if compared.is_worthless(first) and not user.force:
        why = f"the result of {first} is worthless by the warnings above"
        raise Failure(f"{out} is not written, as {why}; --force writes it.")
    table = predictions.predict(
        loaded.problem, fits, loaded.targets, separator=user.separator,
        with_scores=scores, unranked=NO_CONFIDENCE,
    )  # fmt: skip
    predictions.write(out, table)
    echo(f"{out}: {counted(sum(map(len, loaded.targets)), 'document')}")
