"""The memory that this process may use: the machine's, or less in a container or a Slurm job."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path


def total(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the smallest of all limits in bytes; None if the system does not report any.

    root: folder with `proc` and `sys`.
    """
    limits = [*_machine(), *_control_groups(root), *_slurm(environment)]
    return min(limits, default=None)


def _machine() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _control_groups(root: Path) -> Iterator[int]:
    """Yield the limits of this process's control groups (versions 1 and 2) and of their parents.

    In a container a group's path may be that of the host: then only its parents are found.
    """
    groups = ""
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if "memory" in controllers.split(","):
            mounts, file = ["memory"], "memory.limit_in_bytes"
        elif not controllers:
            mounts, file = ["", "unified"], "memory.max"
        else:
            continue
        group = Path(path.lstrip("/"))
        for mount in mounts:
            for folder in (group, *group.parents):
                with suppress(OSError, ValueError):  # no such group, or "max": no limit
                    yield int((root / "sys/fs/cgroup" / mount / folder / file).read_text())


def _slurm(environment: Mapping[str, str]) -> Iterator[int]:
    """Yield the limits of a Slurm job on this node; Slurm writes 0 for all of the memory."""
    units = {
        "SLURM_MEM_PER_NODE": "1",
        "SLURM_MEM_PER_CPU": environment.get("SLURM_CPUS_ON_NODE")
        or environment.get("SLURM_CPUS_PER_TASK", ""),
        "SLURM_MEM_PER_GPU": environment.get("SLURM_GPUS_ON_NODE", ""),
    }
    for name, count in units.items():
        size = re.fullmatch(r"(\d+)([KMGT]?)B?", environment.get(name, "").upper())
        if size and count.isdecimal() and int(size[1]) * int(count):
            power = {"K": 10, "M": 20, "G": 30, "T": 40}[size[2] or "M"]
            yield int(size[1]) * int(count) << power
