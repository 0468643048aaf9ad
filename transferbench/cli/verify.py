"""transferbench verify."""

import tempfile
from pathlib import Path

import click

from transferbench.cli._options import have_run, several_experiments
from transferbench.cli._runs import seconds
from transferbench.cli._terminal import echo, echo_table
from transferbench.settings import Settings


@click.command()
@several_experiments
@click.option(
    "--seconds",
    type=seconds,
    default=2.0,
    show_default=True,
    help="The longest that a run to be made again may have taken.",
)
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, help="Runs at a time.",
              show_default=True)  # fmt: skip
@click.option("--trust", is_flag=True, help="Run the code that bundles contain or name.")
@click.pass_obj
def command(
    settings: Settings, names: tuple[str, ...], seconds: float, jobs: int, trust: bool
) -> int:
    """Make runs again and compare: of experiments with results, or of a bundle, FILE.zip.

    For each model, its quickest run in the experiments named is made from scratch, and in each
    bundle that of each model. Without names, all experiments and the bundles in results/submitted.
    Records and results stay as they are. The exit code is 1 if a measure differs from the committed
    one by more than repeats of the run differ from each other. Runs whose data or optional library
    is unavailable are listed; they do not change the exit code unless no run is left.

    Nothing of a bundle is run except models that are installed here; its Python files are listed
    with their digests and need --trust.
    """
    import pandas as pd

    from transferbench import bundle, verify
    from transferbench.errors import UserError
    from transferbench.runs.record import Limits

    zips = [name for name in names if name.lower().endswith(".zip")]
    named = [name for name in names if name not in zips]
    if not names:
        named = list(have_run(settings))
        zips = sorted(map(str, (settings.results / "submitted").glob("*.zip")))
    parts, left = [], []
    with tempfile.TemporaryDirectory() as folder:
        if named or not zips:
            parts.append(verify.quickest(verify.committed(named, settings), seconds))
        for path in zips:
            part, rows = verify.shared(
                bundle.read(Path(path)), seconds, Path(folder) if trust else None
            )
            parts.append(part)
            left += rows
        measured = pd.concat(parts, ignore_index=True)
        if measured.empty:
            for row in left:
                echo("  ".join(filter(None, row)))
            message = f"no finished run of up to {seconds:g} s can be made again"
            raise UserError(f"{message}; try more --seconds{', or --trust' if left else ''}.")
        limits = Limits(60 + 30 * seconds)
        compared = verify.compare(measured, verify.run_again(measured, settings, jobs, limits))
    echo_table(verify.table(compared) + left)
    sentence, same = verify.summary(compared)
    echo(sentence + (f"; {len(left)} not repeated" if left else ""))
    return 0 if same else 1
