"""transferbench predict."""

from pathlib import Path
from typing import Annotated

import click
from annotated_types import Ge

from transferbench.cli._comparison import (
    fit_models,
    part_to_compare,
    print_choice,
    print_shares,
    print_warnings,
)
from transferbench.cli._options import Checked
from transferbench.cli._terminal import echo, echo_sentences
from transferbench.cli._user import UserData, user_data
from transferbench.messages import counted


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, .csv, .tsv or .jsonl. You can omit it only with --label-sample.",
)
@user_data
@click.option(
    "--clusters",
    type=Checked(Annotated[int, Ge(2)]),
    help="Number of clusters; use it without --source.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Also write the class that comes second, and the score of each class.",
)
def command(
    user: UserData,
    clusters: int | None,
    out: Path | None,
    scores: bool,
) -> None:
    """Label your own documents.

    \b
    transferbench predict --source labelled.csv --target mail.csv --out found.csv
    transferbench predict --source s.csv --target t.csv --labels label-these.csv --out found.csv
    transferbench predict --target a.csv --target b.csv -m lskmtc --clusters 4 --out found.csv

    The output has your rows and columns, and adds `predicted` (or `cluster`) and `confidence`.
    Confidence ranks documents but is no probability; a labelled sample (--labels) calibrates it. If
    several models are fitted, the first one gives the label, and `agree` is the share of models
    that give the same label. A document without any known feature gets confidence 0 and a `note`.
    The command ignores labels in target files. It uses the labels in the file of --labels, and
    copies them to the output unchanged.
    """
    from transferbench.errors import Failure, UserError
    from transferbench.own.advice import expected_accuracy
    from transferbench.own.problem import MAX_CLASSES
    from transferbench.own.sample import sample_of

    if not (out or user.label_sample):
        raise UserError("--out is missing; name the file to write, .csv, .tsv or .jsonl.")
    user.check_outputs(out)
    if bool(user.sources) == bool(clusters):
        raise UserError("expected either --source or --clusters N, and not both.")
    if clusters and clusters > MAX_CLASSES:
        raise UserError(f"--clusters {clusters}: expected at most {MAX_CLASSES}.")
    names = user.models_to_fit(labelling=True) if out else []
    session = user.open_session(names, "none", clusters=clusters or 0)
    user.write_sample(session)
    if not out:
        return
    part = part_to_compare(session) if user.auto else session
    compared = fit_models(part, crossed=user.auto or user.sampled, untrained=False)
    wanted = list(compared.models)
    if user.auto:
        best = compared.choice.model
        chosen = [best, *user.named] if best else user.named or wanted[:1]
        wanted = list(dict.fromkeys(chosen)) if best or user.force else []
        print_choice(compared.choice, user.why)
        if compared.choice.strength == "weak":
            remedy = "label a sample: --label-sample 50"
            if user.sampled:
                remedy = "label more documents: --label-sample with a larger number adds to them"
            echo(f"note: the recommendation is weak; {remedy}.", err=True)
        compared = session.fit_whole(compared, wanted)
    fits = {name: compared.models[name].fits[0] for name in wanted if compared.models[name].fits}
    print_shares(session.problem, fits)
    if not user.auto and (sample := sample_of(session.problem)):
        for name in fits:
            echo_sentences(expected_accuracy(compared.models[name], sample))
    print_warnings(compared, wanted)
    if not fits:
        remedy = f"name a --model without auto, or add --force to use {chosen[0]}"
        raise Failure(f"{out} is not written; {remedy}.")
    first = next(iter(fits))
    if compared.is_worthless(first) and not user.force:
        why = f"the result of {first} is worthless by the warnings above"
        raise Failure(f"{out} is not written, as {why}; --force writes it.")
    count = session.write_predictions(
        out, compared, fits, separator=user.separator, with_scores=scores
    )
    echo(f"{out}: {counted(count, 'document')}")
