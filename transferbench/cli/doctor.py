"""transferbench doctor."""

import os
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from transferbench import __version__
from transferbench.cli._terminal import echo
from transferbench.settings import Settings, config_path


@click.command()
@click.pass_obj
def command(settings: Settings) -> int:
    """Show what is installed, which folders are used, and which original files are cached.

    The exit code is 1 if a required library is missing, a folder cannot be written, or no original
    file is cached or has a source. No network is used. `fetch --dry-run` shows every original file
    with its source.
    """
    found = _environment(settings)
    faults = found.pop("faults")
    for name, value in found.items():
        echo(f"{name:<10} {_text(value)}")
    for fault in faults:
        echo(f"faults     {fault}", fg="red")
    return 1 if faults else 0


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_text(part)}" for name, part in value.items())
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)


def _environment(settings: Settings) -> dict[str, Any]:
    """Return what is printed, by name, and the faults."""
    import platform

    from transferbench.messages import hide_passwords, install_hint
    from transferbench.runs import engines
    from transferbench.runs.engines.local import total_memory

    extras: dict[str, list[str]] = {}  # by "" the distributions that are always required
    for line in metadata.requires("transferbench") or ():
        name, *found = re.findall(r"""^[\w.-]+|(?<=extra == ["'])[\w-]+""", line)
        extras.setdefault("".join(found), []).append(name)
    extras = {extra: found for extra, found in extras.items() if extra not in ("test", "browser")}
    versions = {name: _version(name) for name in extras.pop("")}
    lacking = {extra: [n for n in names if not _version(n)] for extra, names in extras.items()}
    folders = {name: _folder(getattr(settings, name)) for name in ("data", "results")}
    originals = _originals(settings)
    faults = [f"{n} is missing; reinstall transferbench." for n, v in versions.items() if not v]
    faults += [
        f"{name}: the folder cannot be written; choose another with --{name}."
        for name, folder in folders.items()
        if not folder["writable"]
    ]
    if originals.keys() <= {"no allowed source"}:
        faults.append("no original file is cached or has an allowed source; give a --mirror.")
    path = config_path()
    return {
        "python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        "libraries": {
            "transferbench": __version__,
            **{name: version or "missing" for name, version in versions.items()},
        },
        "extras": {
            extra: f"{', '.join(names)} missing; {install_hint(extra)}" if names else "installed"
            for extra, names in lacking.items()
        },
        "engines": list(filter(engines.installed, engines.names())),
        "memory_gib": round((total_memory() or 0) / 2**30, 1) or "unknown",
        **folders,
        "settings": f"{path}{'' if path.is_file() else ' (none)'}",
        "mirrors": [hide_passwords(mirror) for mirror in settings.mirrors],
        "originals": originals,
        "faults": faults,
    }


def _version(distribution: str) -> str:
    """Return the version of an installed distribution, else ""."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _folder(folder: Path) -> dict[str, Any]:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return {
        "folder": str(folder),
        "free_gib": round(shutil.disk_usage(existing).free / 2**30, 1),
        "writable": existing.is_dir() and os.access(existing, os.W_OK),
    }


def _originals(settings: Settings) -> dict[str, list[str]]:
    """Return the corpora by the state of their original files."""
    from transferbench import datasets
    from transferbench.data import fetch

    files = {f.name: f for module in datasets.modules().values() for f in module.FILES.values()}
    found: dict[str, dict[str, None]] = {}
    for name, file in files.items():
        plan = fetch.plan(file, settings)
        state = "to fetch" if plan.source else "no allowed source"
        corpora = found.setdefault("cached" if plan.cached else state, {})
        corpora[name.partition("/")[0]] = None
    return {state: list(corpora) for state, corpora in found.items()}
