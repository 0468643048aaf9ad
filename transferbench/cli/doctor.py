"""transferbench doctor."""

import os
import re
import shutil

import click

from transferbench import __version__
from transferbench.cli._terminal import echo_table
from transferbench.settings import Settings


@click.command()
@click.pass_obj
def command(settings: Settings) -> int:
    """Show the installed libraries, and the folders and mirrors in use.

    The exit code is 1 if a folder cannot be written. `fetch --dry-run` shows the sources of the
    original files.
    """
    import platform
    from importlib import metadata

    from transferbench.messages import hide_passwords
    from transferbench.runs.machine import cores, total_memory
    from transferbench.runs.process import can_list_processes

    missing, writable = [], True
    libraries = [f"transferbench {__version__}"]
    for line in metadata.requires("transferbench") or ():
        name, *extra = re.findall(r"""^[\w.-]+|(?<=extra == ["'])[\w-]+""", line)
        try:
            libraries.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(f"{name} (extra {extra[0]})" if extra else name)
    facts = {"python": f"{platform.python_version()}, {platform.system()} {platform.machine()}"}
    facts["libraries"] = ", ".join(dict.fromkeys(libraries))
    facts["missing"] = ", ".join(missing) or "none"
    facts["cores"] = f"{cores()} of {os.cpu_count()} may be used"
    facts["memory"] = f"{(total_memory() or 0) / 2**30:.1f} GiB"
    if not can_list_processes():
        facts["runs"] = "without /proc, a process that a model detaches may outlive its run"
    for name in ("data", "results"):
        folder = getattr(settings, name)
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        facts[name] = f"{folder}, {shutil.disk_usage(existing).free / 2**30:.1f} GiB free"
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            facts[name] += f": the folder cannot be written; choose another with --{name}."
            writable = False
    facts["mirrors"] = ", ".join(map(hide_passwords, settings.mirrors)) or "none"
    echo_table([*facts.items()])
    return 0 if writable else 1
