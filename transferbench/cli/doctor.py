"""transferbench doctor."""

from __future__ import annotations

from functools import cache

import click

from transferbench.settings import Settings


@click.command()
@click.option(
    "--network/--no-network",
    default=True,
    show_default=True,
    help="Try the places that data come from.",
)
@click.pass_obj
def command(settings: Settings, network: bool) -> int:  # fmt: skip
    """Tell what is installed, cached, reachable."""
    import os
    import platform

    from transferbench.data import datasets, fetch
    from transferbench.runs import engines, worker
    from transferbench.settings import config_path

    click.echo(f"python      {platform.python_version()}, {platform.system()} {platform.machine()}")
    for name, version in worker.versions().items():
        click.echo(f"{name:<18} {version}")
    sound = True
    for label, folder in (("data", settings.data), ("results", settings.results)):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        usable = there.is_dir() and os.access(there, os.W_OK)
        sound &= usable
        click.echo(f"{label:<11} {folder}{'' if usable else '  CANNOT BE WRITTEN'}")
    click.echo(f"settings    {config_path()}{'' if config_path().is_file() else ' (none)'}")
    click.echo(f"mirrors     {', '.join(settings.mirrors) or 'none'}")
    found = [name for name in engines.NAMES if engines.installed(name)]
    click.echo(f"engines     {', '.join(found)}")
    for module in datasets.modules().values():
        for file in module.FILES.values():
            plan = fetch.plan(file, settings)
            reach = "" if plan.cached or not network else _reach(plan.source)
            click.echo(f"{file.name}: {plan.source or 'nowhere that is allowed'}{reach}")
    return 0 if sound else 1


def _reach(source: str | None) -> str:
    """Whether the place that a source names answers at all."""
    from urllib.parse import urlsplit

    if source and source.startswith("package index: "):
        place = source.removeprefix("package index: ").split()[0]
    elif source and source.startswith("http"):
        place = f"{urlsplit(source).scheme}://{urlsplit(source).netloc}/"
    else:
        return ""
    return " (answers)" if _answers(place) else " (DOES NOT ANSWER)"


@cache
def _answers(place: str) -> bool:
    """Asks a project's index by pip, or a server by its address, once, for ten seconds at most."""
    import subprocess
    import sys
    import urllib.error
    import urllib.request

    if not place.startswith("http"):
        call = [sys.executable, "-P", "-m", "pip", "index", "versions", place]
        try:
            return subprocess.run(call, capture_output=True, timeout=10).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False
    try:
        with urllib.request.urlopen(urllib.request.Request(place, method="HEAD"), timeout=10):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, urllib.error.URLError):
        return False
