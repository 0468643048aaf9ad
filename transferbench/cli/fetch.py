"""transferbench fetch."""

import click

from transferbench.cli._options import completing, task, task_names
from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.argument("names", nargs=-1, type=task, shell_complete=completing(task_names))
@click.option("--dry-run", is_flag=True, help="Only show the files to fetch, and their sources.")
@click.pass_obj
def command(settings: Settings, names: tuple[str, ...], dry_run: bool) -> None:
    """Fetch and verify the original files of tasks.

    Without names, the command fetches the files of all tasks whose data are not left out, see
    TRANSFERBENCH_WITHOUT_TERMS.
    """
    from transferbench import datasets, tasks
    from transferbench.data import fetch
    from transferbench.errors import Unavailable

    files: dict[str, fetch.File] = {}
    for name in names or datasets.tasks():
        parsed = tasks.Task.parse(name)
        why = tasks.left_out(parsed, settings)
        if why and names:
            raise Unavailable(f"{name}: {why}", "see `transferbench list datasets`")
        files |= {} if why else tasks.original_files(parsed)
    if not files:
        echo("nothing to fetch: these tasks are generated, in a package, or made of your own files")
    missing = []
    for file in files.values():
        if dry_run:
            size = f"{file.size / 1e6:.1f} MB" if file.size else "of unknown size"
            source = fetch.source(file, settings) or "no allowed source"
            echo(f"{file.name}  {size}  from {source}  to {settings.data / 'raw' / file.name}")
            continue
        try:
            echo(f"{file.name}  verified  {fetch.get(file, settings)}")
        except Unavailable as error:
            missing.append(error)
    if missing:
        more = f" ({len(missing) - 1} more files likewise)" if len(missing) > 1 else ""
        raise Unavailable(f"{missing[0]}{more}")
