"""transferbench verify."""

import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from transferbench.cli._options import JOBS, completing, experiment_names, have_run
from transferbench.cli._runs import seconds
from transferbench.cli._terminal import echo, echo_table, say
from transferbench.errors import UserError
from transferbench.settings import Settings


@click.command(short_help="Repeat some finished runs, and compare.")
@click.argument(
    "names", nargs=-1, metavar="[EXPERIMENT | FILE.zip]...",
    shell_complete=completing(experiment_names),
)  # fmt: skip
@click.option(
    "--seconds", type=seconds, default=2.0, show_default=True,
    help="Repeat only runs that took at most this time.",
)  # fmt: skip
@click.option("--jobs", "-j", **JOBS)
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], seconds: float, jobs: int) -> int:
    """Repeat finished runs of experiments, and compare the new measures with the saved ones.

    For each model, the command repeats its quickest run in the named experiments. Without names it
    searches all experiments that have results. If a model is in a file, the command repeats all its
    runs, the quickest first, until they would take two minutes. Nothing is reused from earlier
    runs, and the saved results stay as they are.

    FILE.zip is a file that `share` wrote. The models in it are code. The command lists them before
    it runs them, and on a terminal it asks you first.

    The exit code is 1 if a measure differs from the committed one by more than repeats of the run
    differ from each other. The command lists runs whose data or optional library is unavailable.
    They change the exit code only if no run is left.
    """
    from transferbench import bundle, experiments
    from transferbench.evidence import verify
    from transferbench.runs import runner
    from transferbench.runs.record import Limits
    from transferbench.user_files import check_files

    with TemporaryDirectory() as folder:
        if any(name.endswith(".zip") for name in names):
            check_files(map(Path, names), settings.max_bytes)
            names = tuple(bundle.unpack(Path(name), Path(folder)) for name in names)
            settings = settings.replace(results=Path(folder))
            _check_files(names, settings)
            _name_code(names, settings.results)
        names = tuple(experiments.expand(names)) or have_run(settings)
        measured = verify.committed(names, settings)
        chosen, limits = verify.quickest(measured, seconds), Limits(60 + 30 * seconds)
        # No name of an experiment starts with a dot.
        anew = settings.replace(results=Path(folder) / ".anew", max_artefacts=0)
        runs = list(chosen["run"].unique())
        records = runner.run(runs, anew, n_jobs=jobs, limits=lambda run: limits)
    compared = verify.compare(chosen, records)
    echo_table(verify.measures_table(compared))
    if compared.empty:
        message = f"no finished run of up to {seconds:g} s can be made again"
        raise UserError(f"{message}; try more --seconds.")
    sentence, same = verify.summary(compared, measured)
    echo(sentence)
    return 0 if same else 1


def _check_files(names: Iterable[str], settings: Settings) -> None:
    """Raise UserError if a task file that the author of a zip used is missing here."""
    from transferbench import experiments, tasks

    for name in names:
        used = {run.task.built for run in experiments.load(name, settings.results).added_runs}
        needed = {tasks.users_path(task, settings) for task in used} - {""}
        if missing := sorted(path for path in needed if not Path(path).exists()):
            remedy = "ask its author for them and for the data that they name"
            listed = ", ".join(missing)
            raise UserError(f"{name}.zip needs files that are not in it: {listed}; {remedy}.")


def _name_code(names: Iterable[str], results: Path) -> None:
    """List the code that the runs of a zip execute; on a terminal, ask whether to run it.

    Raises
    ------
    UserError
        If the answer is no.
    """
    from transferbench import experiments, models

    columns = [c for n in names for c in experiments.load(n, results).spec.columns.values()]
    code = sorted({column.model for column in columns if models.is_external(column.model)})
    if not code:
        return
    listed = ", ".join(name.removeprefix(f"{results.as_posix()}/") for name in code)
    say(f"warning: this zip runs code with your rights: {listed}; trust its author", err=True)
    if sys.stdin.isatty() and sys.stderr.isatty() and not click.confirm("Run it?", err=True):
        raise UserError("nothing was run; read the files in the folder models of the zip first.")
