"""transferbench predict."""

from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.cli._user import FILE, WORTHLESS, UserData, escape_formulas, user_data
from transferbench.messages import counted


@click.command()
@user_data("targets", "models")
@click.option("--clusters", type=click.IntRange(2), help="Number of clusters, without a source.")
@click.option("--out", type=FILE, required=True, help="File to write, .csv or .jsonl.")
@click.option("--scores", is_flag=True, help="Also write the score of each class.")
@escape_formulas
def command(
    user: UserData, clusters: int | None, out: Path, scores: bool, escape_formulas: bool
) -> None:
    """Label your own documents.

    \b
    transferbench predict --source labelled.csv --target mail.csv --model cocc --out found.csv
    transferbench predict --source topics.csv --target new.csv --model himls --out found.csv
    transferbench predict --target a.csv --target b.csv --model lnkmtc --clusters 4 --out found.csv
    transferbench predict --source old/ --target "mail/*.csv" -m cocc -m lr --out found.csv

    The files of a folder, of a pattern or of a list (a.csv,b.csv) are one domain, their documents
    in alphabetical order of the files' paths; with --each-file each file is a domain. Several
    --target are several domains. A domain is texts or matrices, not both.

    Each line of the output is a document of a target: file, row in it (the first is 1), id if there
    is one, label (or number of its cluster, the same over all files if the model clusters them
    together), confidence. The confidence is the label's share of the document's scores (of their
    softmax, if they can be negative): it ranks documents, but is no probability. --scores adds
    these shares for all classes. Labels of targets are not read. Which model? See `compare`.

    Of several models the first gives label and confidence; there are also `agree`, the share of
    models with the same label, and the labels of the others, label_MODEL. A result that is
    worthless by the printed warnings is written only with --force.

    A multi-label model gives several labels. In a source the column holds `a|b`, or `|` for no
    label; --label-separator names another text than |. Each source is a task, and a target belongs
    to the task of the most similar source. The output has the labels with a score of .5 or more,
    best first, and their scores, both with | between; --set ensure_one_label=true gives every
    document at least one.

    Labels, ids and names are written as they were read. A spreadsheet takes one that begins with =,
    +, -, @ or a tab, and is no number, for a formula. The command then warns; --escape-formulas
    writes ' before it, and the label is no longer equal to the source's.
    """
    from transferbench.errors import UserError, Worthless
    from transferbench.userdata.load import MAX_CLASSES

    user.check_out(out)
    if bool(user.sources) == bool(clusters):
        raise UserError(
            "expected either --source (labelled documents) or --clusters N, and not both."
        )
    if clusters and clusters > MAX_CLASSES:
        raise UserError(f"--clusters {clusters}: expected at most {MAX_CLASSES}.")
    params = user.params(list(dict.fromkeys(user.models)), user.family)
    loaded = user.read("none", clusters or 0)
    names = [str(documents.path) for documents in loaded.targets]
    fits, worthless = user.fit(loaded.problem, params, names)
    if worthless and not user.force:
        raise Worthless(f"{out} is not written, as the result is {WORTHLESS}; --force does it.")
    user.write(out, loaded, fits, with_scores=scores, escape=escape_formulas)
    echo(f"{out}: {counted(sum(map(len, loaded.targets)), 'document')}")
