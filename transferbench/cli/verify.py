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

    from transferbench import verify
    from transferbench.errors import UserError
    from transferbench.evidence import bundles
    from transferbench.runs.record import Limits

    if not names:
        names = (*have_run(settings), *map(str, bundles.paths(settings.results)))
    opened = [bundles.read(Path(name)) for name in names if bundles.is_bundle(name)]
    named = [name for name in names if not bundles.is_bundle(name)]
    sources = [(verify.measured(each.runs, each.path.name), each.files) for each in opened]
    if named or not opened:
        sources.append((verify.committed(named, settings), {}))
    parts, left = [], []
    with tempfile.TemporaryDirectory() as folder:
        trusted = Path(folder) if trust else None
        for measured, files in sources:
            chosen, rows = verify.repeatable(verify.quickest(measured, seconds), files, trusted)
            parts.append(chosen)
            left += rows
        measured = pd.concat(parts, ignore_index=True)
        limits = Limits(60 + 30 * seconds)
        compared = verify.compare(measured, verify.run_again(measured, settings, jobs, limits))
    echo_table(verify.table(compared) + left)
    if compared.empty:
        message = f"no finished run of up to {seconds:g} s can be made again"
        raise UserError(f"{message}; try more --seconds{', or --trust' if left else ''}.")
    sentence, same = verify.summary(compared)
    echo(sentence + (f"; {len(left)} not repeated" if left else ""))
    return 0 if same else 1
