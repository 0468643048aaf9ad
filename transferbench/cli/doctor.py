"""transferbench doctor."""

import os
import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from transferbench import __version__
from transferbench.cli._terminal import echo, echo_json
from transferbench.settings import Settings, config_path

INDEX = "package index: "


@click.command()
@click.option(
    "--network/--no-network",
    default=True,
    show_default=True,
    help="Try to reach the sources of the data.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(settings: Settings, network: bool, as_json: bool) -> int:
    """Show what is installed, cached and reachable.

    The exit code is 1 if a required library is missing, a folder cannot be written, or no original
    file is cached or can be reached. `fetch --dry-run` shows every original file with its source.

    \b
    With --json, an object with
      python, libraries   versions
      extras              missing libraries of each that is not installed
      engines             those that can be used
      memory_gib, settings, mirrors
      data, results       folder, free_gib, writable
      originals           corpora by the state of their files
      faults              texts
    """
    found = _environment(settings, network)
    if as_json:
        echo_json(found)
    else:
        for name, value in found.items():
            if name != "faults":
                echo(f"{name:<10} {_text(value)}")
        for fault in found["faults"]:
            echo(f"faults     {fault}", fg="red")
    return 1 if found["faults"] else 0


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_text(part)}" for name, part in value.items())
    return ", ".join(value) or "none" if isinstance(value, list) else str(value)


def _environment(settings: Settings, network: bool) -> dict[str, Any]:
    """Return what --json prints; network: try to reach the sources of the data."""
    import platform

    from transferbench.messages import hide_passwords, install_hint
    from transferbench.runs import engines, memory

    extras = _requirements()
    versions = {name: _version(name) for name in extras.pop("")}
    lacking = {extra: [n for n in names if not _version(n)] for extra, names in extras.items()}
    folders = {name: _folder(getattr(settings, name)) for name in ("data", "results")}
    originals = _originals(settings, network)
    faults = [f"{n} is missing; reinstall transferbench." for n, v in versions.items() if not v]
    faults += [
        f"{name}: the folder cannot be written; choose another with --{name}."
        for name, folder in folders.items()
        if not folder["writable"]
    ]
    if originals.keys() <= {"no answer", "no allowed source"}:
        faults.append("no original file is cached or can be reached; give a --mirror.")
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
        "memory_gib": round((memory.total() or 0) / 2**30, 1) or "unknown",
        **folders,
        "settings": f"{path}{'' if path.is_file() else ' (none)'}",
        "mirrors": [hide_passwords(mirror) for mirror in settings.mirrors],
        "originals": originals,
        "faults": faults,
    }


def _requirements() -> dict[str, list[str]]:
    """Return the distributions of each extra for users, by "" those that are required."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("transferbench") or ():
        name, *found = re.findall(r"""^[\w.-]+|(?<=extra == ["'])[\w-]+""", line)
        extras.setdefault("".join(found), []).append(name)
    return {extra: names for extra, names in extras.items() if extra not in ("test", "browser")}


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


def _originals(settings: Settings, network: bool) -> dict[str, list[str]]:
    """Return the corpora by the state of their original files; ask each server once."""
    from concurrent.futures import ThreadPoolExecutor

    from transferbench import datasets
    from transferbench.data import fetch

    files = {f.name: f for module in datasets.modules().values() for f in module.FILES.values()}
    plans = [(name.partition("/")[0], fetch.plan(file, settings)) for name, file in files.items()]
    servers = sorted({_server(plan.source) for _, plan in plans if plan.source and not plan.cached})
    with ThreadPoolExecutor(max_workers=8) as pool:
        states = pool.map(lambda server: _state(server, network), servers)
        answers = {"": "no allowed source", **dict(zip(servers, states, strict=True))}
    found: dict[str, list[str]] = {}
    for corpus, plan in plans:
        state = "cached" if plan.cached else answers[_server(plan.source or "")]
        found[state] = list(dict.fromkeys([*found.get(state, []), corpus]))
    return found


def _server(source: str) -> str:
    """Return what to ask for a source: a server, a project of the index, or the folder itself."""
    if source.startswith(INDEX):
        return source.removeprefix(INDEX).split()[0]
    address = urlsplit(source)
    return f"{address.scheme}://{address.netloc}/" if source.startswith("http") else source


def _state(server: str, network: bool) -> str:
    """Return if a server, or the package index for a project, answers within ten seconds."""
    import subprocess
    import sys
    import urllib.error
    import urllib.request

    if Path(server).exists() or not network:
        return "reachable" if Path(server).exists() else "not tried"
    try:
        if "://" in server:
            request = urllib.request.Request(server, method="HEAD")
            urllib.request.urlopen(request, timeout=10).close()
            return "reachable"
        call = [sys.executable, "-P", "-m", "pip", "index", "versions", server]
        subprocess.run(call, capture_output=True, timeout=10, check=True)
    except urllib.error.HTTPError:
        return "reachable"
    except (OSError, subprocess.SubprocessError):
        return "no answer"
    return "reachable"
