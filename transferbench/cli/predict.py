"""transferbench predict."""

import textwrap
from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.cli._user import WIDTH, UserData, print_shares, print_warnings, user_data
from transferbench.messages import counted


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="File to write, .csv or .jsonl."
)
@user_data
@click.option("--clusters", type=click.IntRange(2), help="Number of clusters, without a source.")
@click.option("--scores", is_flag=True, help="Also write the score of each class.")
def command(user: UserData, clusters: int | None, out: Path, scores: bool) -> None:
    """Label your own documents.

    \b
    transferbench predict --source labelled.csv --target mail.csv --out found.csv
    transferbench predict --source labelled.csv --target mail.csv -m cocc -m lr --out found.csv
    transferbench predict --target a.csv --target b.csv -m lskmtc --clusters 4 --out found.csv

    Each line of the output is a document: file, row, id, label or cluster, and confidence, which
    ranks documents but is no probability. Of several models the first gives the label; `agree` is
    the share of models with the same one. Labels of targets are not read.
    """
    from transferbench.errors import Failure, UserError
    from transferbench.userdata import predictions
    from transferbench.userdata.load import MAX_CLASSES

    user.check_files(out)
    if bool(user.sources) == bool(clusters):
        raise UserError(
            "expected either --source (labelled documents) or --clusters N, and not both."
        )
    if clusters and clusters > MAX_CLASSES:
        raise UserError(f"--clusters {clusters}: expected at most {MAX_CLASSES}.")
    if user.family != "transfer":
        user.check_named()
    plans = user.plans(user.compared(only_advice=True) if user.auto else user.named)
    loaded = user.read("none", clusters or 0)
    compared = user.compare(loaded, plans)
    entries, doubts = compared.entries, compared.doubts
    reference = next(iter(entries))
    if user.auto:
        best = compared.choice.model
        models = dict.fromkeys([best, *user.named] if best else [])
        models = models or dict.fromkeys(user.named or [reference] if user.force else [])
        entries = {model: entries[model] for model in models}
        echo(textwrap.fill(compared.choice.sentence, WIDTH))
    fits = {model: entry.fits[0] for model, entry in entries.items() if entry.fits}
    print_shares(loaded, fits)
    print_warnings(loaded, entries, doubts)
    if not fits:
        raise Failure(
            f"{out} is not written; name a --model without auto, or --force takes {reference}."
        )
    first = next(iter(fits))
    if not user.force and (entries[first].worthless or any(doubt.worthless for doubt in doubts)):
        raise Failure(
            f"{out} is not written, as the result of {first} is worthless by the warnings above; "
            "--force writes it."
        )
    found = predictions.rows(
        loaded.problem, fits, loaded.targets, separator=user.reading.separator, with_scores=scores
    )
    predictions.write(out, found)
    echo(f"{out}: {counted(sum(map(len, loaded.targets)), 'document')}")
