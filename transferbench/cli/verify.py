"""transferbench verify."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from transferbench.cli._options import JOBS, completing, experiment_names
from transferbench.cli._results import with_runs
from transferbench.cli._runs import seconds
from transferbench.cli._terminal import echo, echo_table, say
from transferbench.errors import UserError
from transferbench.messages import counted
from transferbench.settings import Settings, checkout


@click.command()
@click.argument(
    "names", nargs=-1, metavar="[EXPERIMENT | FILE.zip]...",
    shell_complete=completing(experiment_names),
)  # fmt: skip
@click.option(
    "--seconds", type=seconds,
    help="Repeat only runs that took at most this time.  [default: 2; with --base 30]",
)  # fmt: skip
@click.option("--jobs", "-j", **JOBS)
@click.option(
    "--base", metavar="COMMIT",
    help="In a clone: compare the code of this commit with the present one, to the last digit.",
)  # fmt: skip
@click.option(
    "--accept-skipped", is_flag=True,
    help="With --base: accept a model with a value of a parameter whose runs all take longer.",
)  # fmt: skip
@click.option(
    "--add-parameters", is_flag=True,
    help="In a clone: repeat nothing; add new parameters, at their defaults, to committed runs.",
)  # fmt: skip
@click.pass_obj
def command(
    settings: Settings, /, names: tuple[str, ...], seconds: float | None, jobs: int,
    base: str | None, accept_skipped: bool, add_parameters: bool,
) -> int:  # fmt: skip
    """Repeat finished runs of experiments, and compare the new measures with the saved ones.

    For each model, the command repeats its quickest run in the named experiments. Without names it
    searches all experiments that have results. If a model is in a file, the command repeats all its
    runs, the quickest first, until they would take two minutes. Nothing is reused from earlier
    runs, and the saved results stay as they are.

    FILE.zip is a file that `share` wrote. The models in it are code. The command lists them before
    it runs them, and on a terminal it asks you first.

    With --base the command repeats runs of each model whose code has changed since a commit, by
    both versions side by side: the quickest run, and for each value of each parameter, each dataset
    and size, the quickest run that has it. If all results are equal to the last digit, finished
    runs of the earlier code stay current.

    The exit code is 1 if a measure differs from the saved one by more than repeats of the run
    differ from each other. The command lists runs whose data or optional library is unavailable.
    They change the exit code only if no run is left.
    """
    from transferbench import bundle, experiments, repeats
    from transferbench.evidence import verify
    from transferbench.user_files import check_files

    if base is not None or add_parameters or accept_skipped:
        return _compare_code(settings, names, seconds, base, accept_skipped, add_parameters)
    seconds = seconds or 2.0
    with TemporaryDirectory() as folder:
        if any(name.endswith(".zip") for name in names):
            check_files(map(Path, names), settings.max_bytes)
            names = tuple(bundle.unpack(Path(name), Path(folder)) for name in names)
            settings = settings.replace(results=Path(folder))
            _check_zips(names, settings)
        found = with_runs(settings, experiments.expand(names), None)
        measured = verify.committed(found, settings.results)
        chosen = verify.quickest(measured, seconds)
        runs = list(chosen["run"].unique())
        answers = repeats.repeat(runs, settings, n_jobs=jobs, limit=60 + 30 * seconds)
    compared = verify.compare(chosen, answers)
    echo_table(verify.measures_table(compared))
    if compared.empty:
        message = f"no finished run of up to {seconds:g} s can be made again"
        raise UserError(f"{message}; try more --seconds.")
    sentence, same = verify.summary(compared, measured)
    echo(sentence)
    return 0 if same else 1


def _compare_code(
    settings: Settings, names: tuple[str, ...], seconds: float | None, base: str | None,
    accept_skipped: bool, add_parameters: bool,
) -> int:  # fmt: skip
    """Prove the code equal to that of a commit, or add new parameters to committed runs."""
    from transferbench import restamp

    if (root := checkout()) is None:
        raise UserError("run it in a clone: a proof compares two commits.")
    if names or (base is None) != add_parameters:
        raise UserError("expected --base COMMIT or --add-parameters, without experiments.")
    if base is None:
        changed = restamp.add_parameters(*(root / f for f in restamp.committed_files(root)))
        echo(f"{counted(changed, 'line')} got a parameter at its default")
        return 0
    lines = restamp.prove_equal(
        root, base, settings, seconds or restamp.MAX_SECONDS, accept_skipped
    )
    for line in lines:
        echo(line)
    return 0


def _check_zips(names: Sequence[str], settings: Settings) -> None:
    """Check that files which zips need are here; list their code and, on a terminal, ask."""
    from transferbench import experiments, models, tasks

    code = set[str]()
    for name in names:
        experiment = experiments.load(name, settings.results)
        needed = {tasks.users_path(run.task, settings) for run in experiment.added_runs} - {""}
        if missing := sorted(path for path in needed if not Path(path).exists()):
            remedy = "ask its author for them and for the data that they name"
            listed = ", ".join(missing)
            raise UserError(f"{name}.zip needs files that are not in it: {listed}; {remedy}.")
        code |= {c.model for c in experiment.spec.columns.values() if models.is_external(c.model)}
    if not code:
        return
    listed = ", ".join(c.removeprefix(f"{settings.results.as_posix()}/") for c in sorted(code))
    say(f"warning: this zip runs code with your rights: {listed}; trust its author", err=True)
    if sys.stdin.isatty() and sys.stderr.isatty() and not click.confirm("Run it?", err=True):
        raise UserError("nothing was run; read the files in the folder models of the zip first.")
