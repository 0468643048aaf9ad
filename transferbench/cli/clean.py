"""transferbench clean."""

import time
from collections.abc import Iterable
from pathlib import Path

import click

from transferbench.cli._terminal import echo, echo_table
from transferbench.errors import UserError
from transferbench.files import TEMPORARY
from transferbench.settings import Settings

KINDS = ("built", "originals", "artefacts", "embeddings", "temporary")
#: Age from which a temporary file is no longer being written.
IDLE_SECONDS = 3600.0


def _files(settings: Settings) -> dict[str, Iterable[Path]]:
    """Return the files that may be removed, by kind."""
    # Temporary files were being written when their process was killed. Files of no kind belong to
    # the user. Folders are searched when the files of a kind are iterated.
    from transferbench import datasets
    from transferbench.artefacts import NAMES
    from transferbench.data import sentences

    originals = {name for module in datasets.modules().values() for name in module.FILES}
    return {
        "built": (settings.data / "built").rglob("*.task"),
        "originals": (settings.data / "raw" / name for name in originals),
        "artefacts": (settings.data / "artefacts").glob(NAMES),
        "embeddings": (settings.data / "embeddings").glob(sentences.NAMES),
        "temporary": (
            path
            for folder in (settings.data, settings.results)
            for path in folder.rglob(TEMPORARY)
            if path.lstat().st_mtime < time.time() - IDLE_SECONDS
        ),
    }


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(KINDS))
@click.option("--yes", is_flag=True, help="Remove the files; without it, only show them.")
@click.pass_obj
def command(settings: Settings, kinds: tuple[str, ...], yes: bool) -> None:
    """Show the files that can be removed, with sizes; remove them with --yes.

    \b
    built       built tasks; they are built again when they are needed
    originals   original files; they are fetched again when they are needed
    artefacts   results that runs share, such as graphs; they are made again when needed
    embeddings  embeddings of your texts, without the texts; they are made again when needed
    temporary   files that killed commands left an hour ago or earlier
    """
    if yes and not kinds:
        raise UserError("name what to remove, for example `transferbench clean built --yes`.")
    lines = [["", "files", "MB"]]
    by_kind = _files(settings)
    for kind in dict.fromkeys(kinds or KINDS):
        files = [path for path in by_kind[kind] if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        lines.append([kind, f"{len(files)}", f"{size / 1e6:.1f}"])
        for path in files if yes else ():
            path.unlink()
    echo_table(lines)
    echo("removed" if yes else "nothing is removed without --yes")
