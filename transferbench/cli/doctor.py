"""transferbench doctor."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import click

from transferbench.cli._terminal import echo
from transferbench.settings import Settings


@click.command()
@click.option(
    "--network/--no-network",
    default=True,
    show_default=True,
    help="Try to reach the sources of the data.",
)
@click.pass_obj
def command(settings: Settings, network: bool) -> int:
    """Show what is installed, cached and reachable."""
    import platform

    from transferbench.runs import engines, worker
    from transferbench.settings import config_path

    echo(f"python      {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, version in worker.versions().items():
        echo(f"{name:<18} {version}")
    writable = [_folder("data", settings.data), _folder("results", settings.results)]
    echo(f"settings    {config_path()}{'' if config_path().is_file() else ' (none)'}")
    echo(f"mirrors     {', '.join(settings.mirrors) or 'none'}")
    echo(f"engines     {', '.join(filter(engines.installed, engines.NAMES))}")
    _files(settings, network)
    return 0 if all(writable) else 1


def _folder(label: str, folder: Path) -> bool:
    """Print a folder. Return True if it can be written or created."""
    import os

    existing = next(path for path in (folder, *folder.parents) if path.exists())
    writable = existing.is_dir() and os.access(existing, os.W_OK)
    echo(f"{label:<11} {folder}{'' if writable else '  CANNOT BE WRITTEN'}")
    return writable


def _files(settings: Settings, network: bool) -> None:
    from transferbench.data import datasets, fetch

    for module in datasets.modules().values():
        for file in module.FILES.values():
            plan = fetch.plan(file, settings)
            reach = "" if plan.cached or not network else _reach(plan.source)
            echo(f"{file.name}: {plan.source or 'no allowed source'}{reach}")


def _reach(source: str | None) -> str:
    """Return a note on whether the server of a source answers."""
    from urllib.parse import urlsplit

    if source and source.startswith("package index: "):
        answers = _index_answers(source.removeprefix("package index: ").split()[0])
    elif source and source.startswith("http"):
        answers = _server_answers(f"{urlsplit(source).scheme}://{urlsplit(source).netloc}/")
    else:
        return ""
    return " (answers)" if answers else " (DOES NOT ANSWER)"


@cache
def _index_answers(project: str) -> bool:
    """Ask the package index for a project; wait at most ten seconds."""
    import subprocess
    import sys

    call = [sys.executable, "-P", "-m", "pip", "index", "versions", project]
    try:
        return subprocess.run(call, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@cache
def _server_answers(address: str) -> bool:
    """Ask a server for its root; wait at most ten seconds."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=10):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
