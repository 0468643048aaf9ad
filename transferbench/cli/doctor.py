"""transferbench doctor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from transferbench.cli._terminal import echo, echo_json
from transferbench.messages import install_hint
from transferbench.settings import Settings


@click.command()
@click.option(
    "--network/--no-network",
    default=True,
    show_default=True,
    help="Try to reach the sources of the data.",
)
@click.option(
    "--verbose",
    "-v",
    is_flag=True,
    help="Also print how to install extras, and every original file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(settings: Settings, network: bool, verbose: bool, as_json: bool) -> int:
    """Show what is installed, cached and reachable.

    The exit code is 1 if a required library is missing, a folder cannot be written, or no original
    file is cached or can be reached.

    \b
    With --json, an object with
      python, system, transferbench, libraries   versions
      extras                  missing libraries of each
      engines                 true if it can be used
      data, results           folder, writable, free_bytes, cached (bytes by kind)
      memory_bytes, settings, mirrors
      originals               name, corpus, source, state (cached, found, untried,
                              dead or none)
      faults                  texts
    """
    from transferbench.cli import _checks

    found = _checks.environment(settings, network)
    if as_json:
        echo_json(found)
    else:
        _print(found, verbose)
    return 1 if found["faults"] else 0


def _print(found: Mapping[str, Any], verbose: bool) -> None:
    lines = {
        "python": f"{found['python']}, {found['system']}",
        "libraries": _names({"transferbench": found["transferbench"], **found["libraries"]}),
        "extras": _extras(found["extras"]),
        "engines": ", ".join(name for name, installed in found["engines"].items() if installed),
        "memory": f"{_size(found['memory_bytes'])} for this process",
        "data": _folder(found["data"]),
        "results": _folder(found["results"]),
        "settings": found["settings"],
        "mirrors": ", ".join(found["mirrors"]) or "none",
        "originals": _originals(found["originals"]),
    }
    for name, text in lines.items():
        echo(f"{name:<10} {text}")
    for name, extra in found["extras"].items() if verbose else ():
        if extra["missing"]:
            echo(f"  extra {name}: {install_hint(name)}")
    for file in found["originals"] if verbose else ():
        echo(f"  {file['name']}: {file['source'] or 'no allowed source'} ({file['state']})")
    for fault in found["faults"]:
        echo(f"fault      {fault}", style="bad")


def _names(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _extras(extras: Mapping[str, Mapping[str, Any]]) -> str:
    """Return which extras are installed and, of the others, what they lack."""
    there = [name for name, extra in extras.items() if not extra["missing"]]
    lacking = [f"{n} ({', '.join(e['missing'])})" for n, e in extras.items() if e["missing"]]
    text = f"{', '.join(there) or 'none'}"
    return f"{text}; missing: {', '.join(lacking)}" if lacking else text


def _folder(folder: Mapping[str, Any]) -> str:
    cached = "".join(f", {kind} {_size(size)}" for kind, size in folder["cached"].items() if size)
    free = f" ({_size(folder['free_bytes'])} free{cached})"
    return f"{folder['folder']}{free if folder['writable'] else '  CANNOT BE WRITTEN'}"


def _originals(files: list[Mapping[str, Any]]) -> str:
    """Return the corpora by state, the worst state of their files."""
    words = {
        "none": "no allowed source",
        "dead": "DO NOT ANSWER",
        "untried": "not tried",
        "found": "reachable",
        "cached": "cached",
    }
    worst: dict[str, str] = {}
    for file in files:
        states = (worst.get(file["corpus"], "cached"), file["state"])
        worst[file["corpus"]] = min(states, key=list(words).index)
    by_state = {
        words[state]: [corpus for corpus, its in worst.items() if its == state]
        for state in reversed(words)
    }
    return "; ".join(f"{word}: {', '.join(names)}" for word, names in by_state.items() if names)


def _size(size: float | None) -> str:
    if size is None:
        return "unknown"
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
